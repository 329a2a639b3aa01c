//! Tests of the observation of contracts.

use wayleave_store::Observed;

use super::*;
use wayleave_repo_checks::Random;

/// The reference keeps every change with its time. Minutes have 60 ticks; a minute is closed at any tick of the next
/// one.
#[test]
fn the_worst_value_of_a_minute_is_that_of_all_its_changes_whenever_it_is_closed() {
    for seed in 1..400_u64 {
        let mut random = Random::new(seed);
        let unknown = [UnknownReason::AgentSilent, UnknownReason::RateAboveRule].map(Observation::Unknown);
        let values = [Observation::Kept, unknown[0], unknown[1], Observation::Broken];
        let value = |random: &mut Random| *random.pick(&values);
        let first = value(&mut random);
        let (mut worst, mut changes) = (Worst::new(first), vec![(0, first)]);
        let (mut tick, mut observed) = (0, 0);
        while observed < 20 {
            tick += 1 + random.below(20);
            // Every minute is closed, at the latest before the next one ends.
            while tick / 60 > observed + 1 || (tick / 60 > observed && random.one_in(2)) {
                let before = changes.iter().rev().find(|(at, _)| *at < observed * 60).map(|(_, value)| *value);
                let within = changes.iter().filter(|(at, _)| at / 60 == observed).map(|(_, value)| *value);
                let expected = within.chain(before).max();
                assert_eq!(Some(worst.close()), expected, "seed {seed}, minute {observed}: {changes:?}");
                observed += 1;
            }
            let new = value(&mut random);
            changes.push((tick, new));
            worst.set(new, tick / 60 > observed);
        }
    }
}

/// Packets are lost 1 s and 30 s after the begin of minute 11, and in minute 9, which is decided already.
#[test]
fn lost_packets_break_their_minute_and_leave_the_one_before_unknown_if_they_may_be_of_it() {
    use wayleave_topology::builders::{Cabling, build};
    let network = build::star(2, Cabling::default()).unwrap();
    let hosts: Vec<NodeId> = network.hosts().collect();
    let at = |second: u64| WallTime::from_nanos(600_000_000_000 + second * 1_000_000_000);
    let (kept, broken) = (Observed::Kept, Observed::Broken);
    let maybe = Observed::Unknown(UnknownReason::MaybeBroken as u8);
    for (after, expected) in [(1, [kept, maybe, broken]), (30, [kept, kept, broken])] {
        let mut tracker = Tracker { minute: Some(9), ..Tracker::default() };
        let track = Track {
            is_reported: false,
            id: Arc::new(Id::new("shop", "web")),
            state: State::Enforced,
            reason: None,
            is_unmet: false,
            first: 2,
            begun: 3,
            ended: None,
            nodes: hosts.iter().map(|&host| (host, true)).collect(),
            nodes_now: None,
            observed: Worst::new(Observation::Kept),
            missed: 0,
            open: None,
            is_recorded: true,
        };
        tracker.tracks.insert(7, track);
        for host in &hosts {
            let mut node = NodeTrack::new(1);
            (node.silent, node.unlisted) = (Worst::new(false), Worst::new(false));
            tracker.nodes.insert(*host, node);
        }
        let mut kept = Vec::new();
        let missed = |second| (7, at(second), Missed { lost: 1, late: 0 });
        for (now, missed) in [(15, vec![]), (75, vec![missed(60 + after)]), (135, vec![missed(0)])] {
            tracker.on_missed(missed);
            assert!(tracker.close(at(now - 1), |_, _| hosts.iter().copied().collect()).is_none());
            let closed = tracker.close(at(now), |_, _| hosts.iter().copied().collect()).unwrap();
            kept.push(tracker.tracks[&7].open);
            let events = closed.changes.iter().filter(|change| matches!(change, MinuteChange::State { .. }));
            assert_eq!(events.count(), usize::from(now == 75), "{now}");
        }
        assert_eq!(kept, expected.map(Some), "{after}");
    }
}

/// A contract begins at 10:02 and ends at 10:34 of minute 10, or of the next one; it is broken at 10:05, or never, and
/// minutes are closed 15 s after their end. The minute before is still observed then, or not.
#[test]
fn a_minute_in_which_a_contract_begins_or_ends_counts_only_if_it_was_broken() {
    let at = |second: u64| WallTime::from_nanos(600_000_000_000 + second * 1_000_000_000);
    let end = |ended| MinuteChange::End { serial: 7, ended };
    let record = |begun| {
        let (tenant, name) = ("shop".to_owned(), "web".to_owned());
        MinuteChange::Contract { serial: 7, tenant, name, begun }
    };
    let [begin, close] = [
        |minute| MinuteChange::Begin { serial: 7, minute, observed: Observed::Broken },
        |minute| MinuteChange::Close { serial: 7, minute },
    ];
    let broken_in = |from: u64, to: u64| vec![record(from), begin(from), close(to), end(to)];
    let cases: [(Option<u64>, u64, Vec<MinuteChange>); 6] = [
        (None, 34, vec![]),
        (Some(5), 34, broken_in(10, 11)),
        // It stays broken until its end, 4 s and 34 s after the begin of the next minute.
        (Some(5), 64, broken_in(10, 12)),
        (Some(5), 94, broken_in(10, 12)),
        (Some(70), 94, vec![record(11), begin(11), close(12), end(12)]),
        (None, 94, vec![record(11), end(11)]),
    ];
    for ((broken, ended, expected), first) in cases.into_iter().flat_map(|case| [(case.clone(), 9), (case, 10)]) {
        let mut tracker = Tracker { minute: Some(first), ..Tracker::default() };
        let id = Arc::new(Id::new("shop", "web"));
        tracker.serials.insert(id.clone(), 7);
        let mut found = Vec::new();
        for second in 0..300 {
            let phase = tracker.phase(at(second)).unwrap();
            if second == 2 {
                let track = Track {
                    is_reported: false,
                    id: id.clone(),
                    state: State::Enforced,
                    reason: None,
                    is_unmet: false,
                    first: 10,
                    begun: 11,
                    ended: None,
                    nodes: Box::default(),
                    nodes_now: None,
                    observed: Worst::new(Observation::Unknown(UnknownReason::NotInForce)),
                    missed: 0,
                    open: None,
                    is_recorded: false,
                };
                tracker.tracks.insert(7, track);
            }
            if broken == Some(second) {
                let track = tracker.tracks.get_mut(&7).unwrap();
                track.observed.set(Observation::Broken, phase != Phase::Observed);
            }
            if ended == second {
                tracker.on_end(at(second), phase, &id);
            }
            found
                .extend(tracker.close(at(second), |_, _| HashSet::new()).into_iter().flat_map(|closed| closed.changes));
        }
        assert_eq!(found, expected, "broken {broken:?}, ended {ended}, observed from {first}");
        assert!(tracker.tracks.is_empty());
    }
}
