//! Initial paths, and the end of a pair's data.

use super::*;

/// The number of the path that has a window, if one has.
fn open_path(bench: &Bench) -> Option<u32> {
    let open: Vec<u32> = bench.windows.iter().filter(|&(_, &window)| window > 0).map(|(&path, _)| path).collect();
    assert!(open.len() <= 1, "{:?}", bench.windows);
    open.first().copied()
}

/// 1 Gbit/s carries 3,000 B in 24 us: they leave at once, and the other paths are probed beside them.
#[test]
fn a_pair_sends_at_once_and_probes_candidates_beside() {
    let mut bench = Bench::new(3, Settings::default());
    assert_eq!(bench.kinds(), [ProbeKind::Active, ProbeKind::Candidate, ProbeKind::Candidate]);
    let first = open_path(&bench).unwrap();
    assert_eq!(bench.windows[&first], 3_000);
    bench.answer();
    assert_eq!((open_path(&bench), bench.used.len()), (Some(first), 1), "it has room, and the pair stays");
}

/// Links carry 9,500 tokens. With 8,501 of other pairs 1,000 do not fit: the pair moves once, to the only path with room. A path with
/// 8,500 has room.
#[test]
fn a_pair_whose_first_answer_has_no_room_moves_at_once() {
    for (others, moves) in [(8_500, false), (8_501, true)] {
        let mut bench = Bench::new(3, Settings::default());
        let first = open_path(&bench).unwrap();
        let free = (first + 1) % 3;
        bench.answer_beside(|path| if path.0 == free { 0 } else { others });
        let now = open_path(&bench).unwrap();
        assert_eq!(now, if moves { free } else { first }, "{others} tokens");
        assert_eq!(bench.kinds().contains(&ProbeKind::Finish), moves, "the ports of the first path are notified");
    }
}

#[test]
fn a_pair_stays_where_no_path_has_room() {
    let mut bench = Bench::new(3, Settings::default());
    let first = open_path(&bench);
    bench.answer_beside(|_| 9_000);
    assert_eq!((open_path(&bench), bench.used.len()), (first, 1));
}

/// The probe of the initial path is lost: after eight round trips the pair takes a candidate, whatever room that has.
#[test]
fn an_initial_path_that_does_not_answer_is_left() {
    let mut bench = Bench::new(3, Settings::default());
    let first = open_path(&bench).unwrap();
    bench.probes.retain(|(_, probe)| probe.kind == ProbeKind::Candidate);
    bench.answer_beside(|_| 9_000);
    assert_eq!(open_path(&bench), Some(first), "it has time to answer");
    bench.pass(Time::from_nanos(8 * T.as_nanos()));
    assert!(bench.used.len() == 2 && open_path(&bench) != Some(first), "{:?}", bench.used);
    // Another pair to the same host does not take it while there are others.
    assert!(
        bench
            .edge
            .monitor
            .choose(wayleave_topology::NodeId(9), (&[PathIndex(first)], &[]), 1, &mut SplitMix::new(1))
            .is_some()
    );
    for seed in 0..20 {
        let all = [0, 1, 2].map(PathIndex);
        let chosen = bench.edge.monitor.choose(wayleave_topology::NodeId(9), (&all, &[]), 1, &mut SplitMix::new(seed));
        assert_ne!(chosen, Some(PathIndex(first)));
    }
}

/// A pair that has been idle takes its old path again, so that nothing is reordered, while that has room.
#[test]
fn a_pair_that_resumes_takes_the_path_that_it_used() {
    for (others, returns) in [(0, true), (9_000, false)] {
        let mut bench = Bench::new(3, Settings { in_order: true, ..Settings::default() });
        let first = open_path(&bench).unwrap();
        bench.answer_beside(|path| if path.0 == first { others.min(8_000) } else { 0 });
        bench.answer();
        bench.handle(HostInput::Sent { pair: Outgoing(0), path: PathIndex(first), bytes: Bytes::new(4_000) });
        bench.answer_beside(|_| others);
        bench.demand(Demand::Ends);
        bench.pass(Time::from_nanos(16 * T.as_nanos()));
        bench.answer();
        let (begun, known) = (bench.now, bench.used.len());
        bench.demand(Demand::Begins);
        assert_eq!(open_path(&bench) == Some(first), returns, "{others} tokens of others");
        assert_eq!(bench.used.len(), known + 1);
        let wait = if returns { Time::ZERO } else { T };
        assert_eq!(bench.from, begun + wait, "another path is used when the old one is empty");
    }
}

/// Two pairs share 1 Gbit/s. When one has sent everything, the other has all tokens from the next division on, after 32 us, and not only
/// when the first one leaves its path after 16 round trips. When it resumes both have half.
#[test]
fn a_pair_that_has_ended_returns_its_tokens_at_the_next_division() {
    let mut bench = Bench::new(1, Settings::default());
    let spec = |key| PairSpec {
        class: ClassId(1),
        peer_class: ClassId(1),
        peer: wayleave_topology::NodeId(8),
        key,
        paths: 1,
        round_trip: T,
    };
    bench.handle(HostInput::Opened { pair: Outgoing(1), spec: spec(78) });
    let given = |bench: &Bench| [0, 1].map(|at: usize| bench.edge.sending[at].as_ref().unwrap().given());
    assert_eq!(given(&bench)[1], 500_000_000);
    bench.demand(Demand::Ends);
    bench.pass(Time::from_micros(32));
    assert_eq!(given(&bench), [500_000_000, 1_000_000_000], "it may begin with its part");
    bench.demand(Demand::Begins);
    assert_eq!(given(&bench), [500_000_000; 2]);
}

/// Alone on a link of 9.5 Gbit/s a pair has 28,500 B in flight. Beside 8,500 tokens of others its share is a 9.5th, 3,000 B. It resumes
/// with that after a pause of a round trip (3.4, Scenario-2), and with its window after a shorter one.
#[test]
fn a_pair_resumes_with_its_share() {
    for (pause, window) in [(23, 28_500), (24, 3_000)] {
        let mut bench = Bench::new(1, Settings { latency_bound: false, ..Settings::default() });
        let full = |bench: &mut Bench| {
            let hop = IntHop {
                rate: Rate::from_gbit(10),
                tokens: 9_500,
                windows: Bytes::new(1 << 30),
                tx: Rate::from_gbit(1),
                ..IntHop::default()
            };
            for (path, probe) in std::mem::take(&mut bench.probes) {
                let outcome = ProbeOutcome::Answered(ProbeAnswer::default());
                bench.handle(HostInput::ProbeReturned {
                    pair: Outgoing(0),
                    path,
                    probe,
                    outcome,
                    hops: &[hop],
                    round_trip: T,
                });
            }
        };
        full(&mut bench);
        bench.edge.settings.latency_bound = true;
        assert_eq!(bench.windows[&0], 28_500);
        bench.demand(Demand::Ends);
        bench.pass(Time::from_micros(pause));
        bench.demand(Demand::Begins);
        assert_eq!(bench.windows[&0], window, "after {pause} us");
    }
}
