//! One host with hand-written calls: departures, waiting items, and their order.

use proptest::prelude::*;
use wayleave_scheme_api::{
    Bucket, ClassId, CustomTunnel, Departure, ExcessAction, LocalFlow, PathIndex, PathUse, Tunnel, TunnelEntry,
    TunnelPacket, TunnelQueue,
};
use wayleave_units::{Bytes, Rate, Time};

use super::*;
use crate::clock::Instant;

/// A byte a nanosecond.
const LINE: Rate = Rate::from_gbit(8);
const FRAME: u32 = 1_000;
/// Picoseconds that a frame takes.
const STEP: Instant = 1_000_000;

/// Flows by their numbers, each with its number of remaining frames; they take the last of their paths.
#[derive(Default)]
struct Left(Vec<u32>);

impl FlowQueries<usize, u32> for Left {
    fn next_bytes(&self, flow: usize) -> Option<u32> {
        (self.0[flow] > 0).then_some(FRAME)
    }
    fn choose(&mut self, _: PairBacklog<usize, u32>, departure: Departure) -> u32 {
        departure.paths - 1
    }
    fn local(&self, _: PairBacklog<usize, u32>) -> LocalFlow {
        LocalFlow(0)
    }
}

type Host = HostStack<usize, u32>;

fn opening(class: u32, paths: u32, tunnel: Option<CustomTunnel>) -> Opening {
    Opening { class: ClassId(class), paths, round_trip: Time::from_micros(10), tunnel, path_role: None }
}

fn host(pairs: u32, paths: u32) -> Host {
    let mut host = Host::new(2);
    (0..pairs).for_each(|pair| host.open(pair, opening(0, paths, None)));
    host
}

fn bucket(rate: Rate, excess: ExcessAction) -> Option<Bucket> {
    Some(Bucket { rate, burst: Bytes::new(FRAME.into()), excess })
}

fn packet(name: u32) -> PairBacklog<usize, u32> {
    PairBacklog::Packet(name, FRAME)
}

/// Returns the departures of a class whose pairs always have packets, with their times: an event loop for one class.
fn serve(host: &mut Host, mut now: Instant, count: usize) -> Vec<(u32, Instant)> {
    let mut sent = Vec::new();
    while sent.len() < count {
        match host.serve(ClassId(0), now, &mut Left::default()) {
            ClassStep::Go(pair, ..) => {
                sent.push((pair, now));
                host.queue_up(pair, now, &mut Left::default());
            }
            ClassStep::Waits(at) => {
                now = at;
                assert!(host.on_class_wake(ClassId(0), at));
            }
            other => panic!("{other:?}"),
        }
    }
    sent
}

#[test]
fn a_pair_without_limits_never_waits() {
    let mut host = host(1, 1);
    for name in 0..100 {
        assert_eq!(host.admit(0, packet(name), FRAME, 0, &mut Left::default()), AdmitOutcome::Go(None));
    }
    assert!(host.is_idle(0));
}

#[test]
fn the_pairs_of_a_class_take_turns_at_its_rate() {
    let mut host = host(3, 1);
    host.limit_class(ClassId(0), bucket(LINE, ExcessAction::Waits), FRAME, 0);
    assert_eq!(host.admit(0, packet(0), FRAME, 0, &mut Left::default()), AdmitOutcome::Go(None));
    let mut steps = Vec::new();
    for pair in [0, 1, 2, 0, 1, 2] {
        if host.wait(pair, packet(pair)) {
            steps.push(host.advance(pair, 0, &mut Left::default()));
        }
    }
    // The first one returns the time at which the class is to be served.
    assert_eq!(steps, [PairStep::ClassWaits(ClassId(0), STEP), PairStep::Idle, PairStep::Idle]);
    assert!(host.on_class_wake(ClassId(0), STEP));
    let turns = serve(&mut host, STEP, 6);
    assert_eq!(turns.iter().map(|(pair, _)| *pair).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(turns.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6].map(|frame| frame * STEP));
}

#[test]
fn a_later_flow_does_not_overtake_a_waiting_one() {
    let mut host = host(1, 1);
    host.limit_pair(0, bucket(LINE, ExcessAction::Waits), FRAME, 0);
    let flows = &mut Left(vec![1]);
    assert_eq!(host.admit(0, packet(1), FRAME, 0, flows), AdmitOutcome::Go(None));
    assert!(host.wait(0, PairBacklog::Flow(0)));
    assert_eq!(host.advance(0, 0, flows), PairStep::PairWaits(STEP));
    // There are tokens again, and the flow still comes first.
    assert_eq!(host.admit(0, packet(2), FRAME, 5 * STEP, flows), AdmitOutcome::Wait);
    assert!(!host.wait(0, packet(2)));
    assert!(host.on_pair_wake(0, STEP));
    assert_eq!(host.advance(0, 5 * STEP, flows), PairStep::Go(PairBacklog::Flow(0), FRAME, None));
    assert_eq!(host.queued(0), u64::from(FRAME));
}

#[test]
fn a_flow_that_can_no_longer_send_leaves_the_queue() {
    let mut host = host(1, 1);
    host.limit_pair(0, bucket(LINE, ExcessAction::Waits), FRAME, 0);
    let flows = &mut Left(vec![1, 1]);
    host.admit(0, packet(1), FRAME, 0, flows);
    host.wait(0, PairBacklog::Flow(0));
    host.wait(0, PairBacklog::Flow(1));
    host.advance(0, 0, flows);
    flows.0[0] = 0;
    assert!(host.on_pair_wake(0, STEP));
    assert_eq!(host.advance(0, STEP, flows), PairStep::Go(PairBacklog::Flow(1), FRAME, None));
    assert!(host.has_gone());
    assert_eq!((host.take_gone(), host.has_gone()), (vec![0], false));
}

#[test]
fn a_dropping_limiter_blocks_neither_pairs_nor_classes() {
    let mut host = host(1, 1);
    let flows = &mut Left::default();
    host.limit_pair(0, bucket(LINE, ExcessAction::Drops), FRAME, 0);
    assert_eq!(host.admit(0, packet(1), FRAME, 0, flows), AdmitOutcome::Go(None));
    assert_eq!(host.admit(0, packet(2), FRAME, 0, flows), AdmitOutcome::Drop);
    host.limit_pair(0, None, FRAME, 0);
    host.limit_class(ClassId(0), bucket(LINE, ExcessAction::Drops), FRAME, 0);
    assert_eq!(host.admit(0, packet(3), FRAME, 0, flows), AdmitOutcome::Go(None));
    assert_eq!(host.admit(0, packet(4), FRAME, 0, flows), AdmitOutcome::Drop);
    assert!(host.is_idle(0));
}

#[test]
fn packets_waiting_when_a_limiter_begins_to_drop_are_dropped() {
    let mut host = host(1, 1);
    let flows = &mut Left::default();
    host.limit_pair(0, bucket(LINE, ExcessAction::Waits), FRAME, 0);
    host.admit(0, packet(1), FRAME, 0, flows);
    host.wait(0, packet(2));
    host.advance(0, 0, flows);
    assert!(host.limit_pair(0, bucket(LINE, ExcessAction::Drops), FRAME, 0), "it is to be looked at again");
    assert_eq!(host.advance(0, 0, flows), PairStep::Drop(packet(2), FRAME));
    assert_eq!(host.advance(0, 0, flows), PairStep::Idle);
}

#[test]
fn a_window_counts_sent_bytes_and_opens_with_answers() {
    let mut host = host(1, 2);
    let flows = &mut Left(vec![9]);
    host.set_window(0, PathIndex(1), Some(2 * u64::from(FRAME)));
    let path = Some(PathIndex(1));
    assert_eq!(
        host.admit(0, PairBacklog::Flow(0), FRAME, 0, flows),
        AdmitOutcome::Go(path),
        "the flow chooses the last"
    );
    assert_eq!(host.sent(0, PathIndex(1), FRAME - 100, FRAME, 0), Some(900));
    assert_eq!(host.admit(0, PairBacklog::Flow(0), FRAME, 0, flows), AdmitOutcome::Go(path));
    assert_eq!(host.admit(0, PairBacklog::Flow(0), FRAME, 0, flows), AdmitOutcome::Wait);
    host.wait(0, PairBacklog::Flow(0));
    assert_eq!(host.advance(0, 0, flows), PairStep::Idle);
    assert_eq!(host.waits_for_answers(0), Some(0));
    assert!(host.answered(0, PathIndex(1), 900, 7));
    assert_eq!(host.advance(0, 7, flows), PairStep::Go(PairBacklog::Flow(0), FRAME, path));
    assert!(!host.answered(0, PathIndex(1), 900, 8), "an answer that comes twice frees nothing");
}

#[test]
fn a_pair_without_a_path_blocks_until_it_has_one() {
    let mut host = host(1, 2);
    let flows = &mut Left(vec![9]);
    for path in [0, 1] {
        host.leave_path(0, PathIndex(path));
    }
    assert_eq!(host.admit(0, packet(1), FRAME, 0, flows), AdmitOutcome::Wait);
    host.wait(0, packet(1));
    assert_eq!(host.advance(0, 0, flows), PairStep::Idle);
    assert_eq!(host.waits_for_answers(0), None, "no answer would help");
    assert!(host.use_path(0, (PathIndex(0), STEP), PathUse::Share, 3 * STEP));
    assert_eq!(host.advance(0, 0, flows), PairStep::PairWaits(3 * STEP));
    assert!(host.on_pair_wake(0, 3 * STEP));
    assert_eq!(host.advance(0, 3 * STEP, flows), PairStep::Go(packet(1), FRAME, Some(PathIndex(0))));
    assert_eq!(host.advance(0, 3 * STEP, flows), PairStep::Idle);
    assert!(!host.replace_paths(0, 2, 0), "nothing waits");
    assert!(host.window(0, PathIndex(0)).is_none() && !host.is_steered(0));
}

#[test]
fn unused_grants_are_returned_to_both_buckets() {
    let mut host = host(1, 1);
    let flows = &mut Left::default();
    host.limit_pair(0, bucket(LINE, ExcessAction::Waits), FRAME, 0);
    host.limit_class(ClassId(0), bucket(LINE, ExcessAction::Waits), FRAME, 0);
    assert_eq!(host.admit(0, packet(1), FRAME, 0, flows), AdmitOutcome::Go(None));
    host.put_back(0, FRAME, 400);
    assert_eq!(host.admit(0, packet(2), 600, 0, flows), AdmitOutcome::Go(None));
    assert_eq!(host.admit(0, packet(3), 1, 0, flows), AdmitOutcome::Wait);
}

#[test]
fn an_unknown_pair_blocks_nothing_and_nothing_panics() {
    let mut host = host(0, 1);
    let flows = &mut Left::default();
    assert_eq!(host.admit(5, packet(1), FRAME, 0, flows), AdmitOutcome::Go(None));
    assert_eq!(host.advance(5, 0, flows), PairStep::Idle);
    assert!(!host.wait(5, packet(1)) && !host.set_window(5, PathIndex(0), None) && !host.on_pair_wake(5, 0));
    assert!(!host.limit_class(ClassId(9), None, FRAME, 0));
    host.put_back(5, 1, 0);
    host.close(5);
}

/// Two packets, and then it holds back.
struct Two;

impl Tunnel for Two {
    fn on_arrival(&mut self, _: Time, _: TunnelPacket, queue: TunnelQueue) -> TunnelEntry {
        if queue.packets < 2 { TunnelEntry::Queued } else { TunnelEntry::HeldBack }
    }
}

#[test]
fn a_tunnel_drains_at_the_rate_of_its_pair_and_wakes_blocked_flows() {
    let mut host: Host = HostStack::new(1);
    host.open(0, opening(0, 1, Some(Box::new(Two))));
    host.limit_pair(0, bucket(LINE, ExcessAction::Waits), FRAME, 0);
    let of = |bytes| TunnelPacket { flow: LocalFlow(0), bytes, payload: bytes, remaining: None, unsent: None };
    for name in [1, 2] {
        let tunnel = host.tunnel_mut(0).unwrap();
        assert_eq!(tunnel.ask(0, of(FRAME)), TunnelEntry::Queued);
        tunnel.put(0, of(FRAME), name);
    }
    assert_eq!(host.tunnel_mut(0).unwrap().ask(0, of(FRAME)), TunnelEntry::HeldBack);
    host.hold_back(0, 7);
    let flows = &mut Left::default();
    assert_eq!(host.advance(0, 0, flows), PairStep::Go(packet(1), FRAME, None));
    assert_eq!(host.take_offers(), [7]);
    assert_eq!(host.advance(0, 0, flows), PairStep::PairWaits(STEP));
    assert!(!host.is_idle(0));
    assert!(host.on_pair_wake(0, STEP));
    assert_eq!(host.advance(0, STEP, flows), PairStep::Go(packet(2), FRAME, None));
    assert!(host.is_idle(0));
}

proptest! {
    /// For any calls in any order: never more than the burst and the rate is let through, and nothing is lost.
    #[test]
    fn no_more_leaves_than_the_limits_allow_and_everything_leaves_in_the_end(
        arrivals in prop::collection::vec((0_u32..3, 1_u32..=FRAME, 0_u64..3 * STEP), 1..60),
        rates in prop::array::uniform3(1_u64..8),
        class_rate in 1_u64..8,
    ) {
        let mut host = host(3, 1);
        for (pair, rate) in (0..).zip(rates) {
            host.limit_pair(pair, bucket(Rate::from_gbit(rate), ExcessAction::Waits), FRAME, 0);
        }
        host.limit_class(ClassId(0), bucket(Rate::from_gbit(class_rate), ExcessAction::Waits), FRAME, 0);
        let flows = &mut Left::default();
        let (mut sent, mut times): (Vec<(Instant, u32, u32)>, _) = (Vec::new(), std::collections::BTreeSet::new());
        let mut now = 0;
        let total: u64 = arrivals.iter().map(|(_, bytes, _)| u64::from(*bytes)).sum();
        let run = |host: &mut Host, pair: u32, now, sent: &mut Vec<_>, times: &mut std::collections::BTreeSet<_>| loop {
            match host.advance(pair, now, &mut Left::default()) {
                PairStep::Go(_, bytes, _) => sent.push((now, pair, bytes)),
                PairStep::PairWaits(at) => { times.insert((at, Some(pair))); break }
                PairStep::ClassWaits(_, at) => { times.insert((at, None)); break }
                PairStep::Idle => break,
                PairStep::Drop(..) => unreachable!("no limiter drops"),
            }
        };
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            if let Some((pair, bytes, gap)) = arrivals.next() {
                let what = PairBacklog::Packet(0, bytes);
                match host.admit(pair, what, bytes, now, flows) {
                    AdmitOutcome::Go(_) => sent.push((now, pair, bytes)),
                    _ => if host.wait(pair, what) { run(&mut host, pair, now, &mut sent, &mut times) },
                }
                now += gap;
            } else if let Some(&(at, _)) = times.first() {
                now = now.max(at);
            } else {
                break;
            }
            while let Some(&(at, who)) = times.first().filter(|(at, _)| *at <= now) {
                times.remove(&(at, who));
                match who {
                    Some(pair) if host.on_pair_wake(pair, at) => run(&mut host, pair, now, &mut sent, &mut times),
                    Some(_) => {}
                    None if host.on_class_wake(ClassId(0), at) => loop {
                        match host.serve(ClassId(0), now, flows) {
                            ClassStep::Go(pair, _, bytes, _) => {
                                sent.push((now, pair, bytes));
                                times.extend(host.queue_up(pair, now, flows).map(|at| (at, Some(pair))));
                            }
                            ClassStep::PairWaits(pair, at) => { times.insert((at, Some(pair))); }
                            ClassStep::Waits(at) => { times.insert((at, None)); break }
                            ClassStep::Idle => break,
                            ClassStep::Drop(..) => unreachable!("no limiter drops"),
                        }
                    },
                    None => {}
                }
            }
        }
        prop_assert_eq!(sent.iter().map(|(_, _, bytes)| u64::from(*bytes)).sum::<u64>(), total);
        // In every window of time, of the class and of each pair.
        for (index, &(from, ..)) in sent.iter().enumerate() {
            let mut sums = [0_u64; 4];
            for &(at, pair, bytes) in &sent[index..] {
                sums[pair as usize] += u64::from(bytes);
                sums[3] += u64::from(bytes);
                let limit = |rate: u64| u64::from(FRAME) + u64::try_from(u128::from(at - from) * u128::from(rate) / 8_000).unwrap() + 1;
                prop_assert!(sums[pair as usize] <= limit(rates[pair as usize]));
                prop_assert!(sums[3] <= limit(class_rate));
            }
        }
    }
}
