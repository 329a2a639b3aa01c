//! Tests of samples of two hosts and the switches between them.

use super::*;

const MS: u64 = 1_000_000;

fn clock(boot: &str, ahead_ns: u64, error_ns: Option<u64>) -> Clock {
    Clock { boot: boot.to_owned(), ahead_ns, error_ns }
}

/// Two hosts that report every second: the second reports the first's packets half a second later.
struct Hosts {
    follower: Follower,
    clocks: [Clock; 2],
    second: u64,
    level: u32,
}

impl Hosts {
    fn new(clocks: [Clock; 2]) -> Self {
        let mut hosts = Self { follower: Follower::default(), clocks, second: 0, level: 0 };
        hosts.idle(10);
        hosts
    }

    fn sends(&mut self, packets: &[(u64, u64)]) {
        let sent = wayleave_protocol::agent::SentPackets {
            serial: 7,
            to: "h2".to_owned(),
            via: vec!["s1".to_owned()],
            bound_ns: 10 * MS,
            packets: packets.to_vec(),
        };
        let (number, clock) = (self.second, self.clocks[0].clone());
        let samples = Samples { number, clock, sent: vec![sent], ..Samples::default() };
        self.follower.on_samples(Time::from_millis(1_000 * self.second), "h1", &samples);
    }

    fn report(&self, packets: &[(u64, u64)]) -> Samples {
        let (number, clock, level) = (self.second, self.clocks[1].clone(), self.level);
        Samples { number, level, clock, arrived: packets.to_vec(), ..Samples::default() }
    }

    fn reported_until(&mut self, samples: &Samples) {
        let at = Time::from_millis(1_000 * self.second) + Time::from_millis(500);
        self.follower.on_samples(at, "h2", samples);
        self.second += 1;
    }

    fn arrive(&mut self, packets: &[(u64, u64)]) {
        let report = self.report(packets);
        self.reported_until(&report);
    }

    fn idle(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.sends(&[]);
            self.arrive(&[]);
        }
    }

    fn found(&self) -> SampledPackets {
        self.follower.of("h1", 7).unwrap_or_default()
    }
}

fn same() -> [Clock; 2] {
    [clock("a", 0, None), clock("a", 0, None)]
}

#[test]
fn arrived_packets_are_timed_in_any_order_of_reports_and_others_are_lost() {
    let mut hosts = Hosts::new(same());
    hosts.sends(&[(1, 100 * MS), (2, 101 * MS), (3, 102 * MS)]);
    hosts.arrive(&[(1, 105 * MS), (3, 113 * MS), (4, 120 * MS)]);
    hosts.sends(&[(4, 118 * MS)]);
    hosts.arrive(&[]);
    assert_eq!(hosts.found(), SampledPackets::default(), "there may be more packets that look the same");
    hosts.idle(12);
    let known =
        SampledPackets { packets: 4, lost: 1, timed: 3, late: 1, worst_ns: 11 * MS, ..SampledPackets::default() };
    assert_eq!(hosts.found(), known, "nobody knows where");
    let totals = SampledPackets { worst_ns: 0, ..known };
    assert_eq!(*hosts.follower.totals(), totals);
    let worst = |after: Time, is_late| {
        let expected = SampledDelay { longest_ns: Some(11 * MS), bound_ns: 10 * MS, is_late, lost: 0 };
        assert_eq!(hosts.follower.worst(after)[&7], expected);
    };
    worst(Time::from_millis(25_000), true);
    worst(Time::from_millis(90_000), false);
    hosts.follower.retain("h1", |serial| serial != 7);
    assert_eq!(hosts.found(), SampledPackets::default());
    assert_eq!(*hosts.follower.totals(), totals, "the totals have deleted contracts");
    assert!(hosts.follower.receivers["h2"].packets.is_empty(), "nothing is remembered for ever");
}

#[test]
fn a_contract_is_cut_off_after_ten_consecutive_losses_until_one_arrives() {
    let mut hosts = Hosts::new(same());
    let packets = |numbers: std::ops::Range<u64>| numbers.map(|n| (n, 100 * MS)).collect::<Vec<_>>();
    hosts.sends(&packets(1..10));
    hosts.idle(13);
    assert_eq!(hosts.follower.cut_off().count(), 0, "nine may be bad luck");
    hosts.sends(&packets(10..12));
    hosts.idle(13);
    let cut: Vec<_> = hosts.follower.cut_off().map(|(node, serial, run)| (node, serial, run.packets)).collect();
    assert_eq!(cut, [("h1", 7, 11)]);
    let lost = |after_s: u64| hosts.follower.worst(Time::from_millis(1_000 * (hosts.second + after_s)))[&7].lost;
    assert_eq!((lost(1), lost(100)), (11, 0));
    hosts.sends(&packets(20..21));
    hosts.arrive(&[(20, 101 * MS)]);
    hosts.idle(13);
    assert_eq!(hosts.follower.cut_off().count(), 0);
}

#[test]
fn delays_are_unknown_without_clocks_that_state_their_error() {
    let late = |clocks: [Clock; 2]| {
        let mut hosts = Hosts::new(clocks);
        // 12 ms by the time of day: 2 ms more than the bound.
        hosts.sends(&[(1, 100 * MS)]);
        hosts.arrive(&[(1, 62 * MS)]);
        hosts.idle(12);
        let SampledPackets { packets, lost, timed, late, .. } = hosts.found();
        assert_eq!((packets, lost), (1, 0));
        (timed, late)
    };
    let clocks = |one, other| [clock("a", 1_000 * MS, one), clock("b", 1_050 * MS, other)];
    assert_eq!(late(clocks(None, Some(0))), (0, 0));
    assert_eq!(late(clocks(Some(MS), None)), (0, 0));
    assert_eq!(late(clocks(Some(MS), Some(MS))), (1, 0), "as late as clocks may be wrong");
    assert_eq!(late(clocks(Some(MS), Some(MS - 1))), (1, 1));
    let wrong = [clock("a", 1_100 * MS, Some(MS)), clock("b", 1_050 * MS, Some(MS))];
    assert_eq!(late(wrong), (0, 0), "it came before it was sent: the clocks are wrong by more than they say");
}

#[test]
fn a_packet_is_not_lost_while_its_receiver_may_still_report_it() {
    let lost = |reported_until: &dyn Fn(&mut Hosts)| {
        let mut hosts = Hosts::new(same());
        hosts.sends(&[(1, 100 * MS)]);
        reported_until(&mut hosts);
        hosts.idle(20);
        hosts.found().lost
    };
    assert_eq!(lost(&|hosts| hosts.arrive(&[])), 1);
    assert_eq!(lost(&|hosts| hosts.second += 1), 0, "a report is missing");
    assert_eq!(lost(&|hosts| hosts.second += 30), 0, "the receiver was silent");
    let incomplete = |hosts: &mut Hosts| {
        let report = Samples { is_incomplete: true, ..hosts.report(&[]) };
        hosts.reported_until(&report);
    };
    assert_eq!(lost(&incomplete), 0);
    let other_level = |hosts: &mut Hosts| {
        hosts.level = 1;
        hosts.arrive(&[]);
        hosts.level = 0;
    };
    assert_eq!(lost(&other_level), 0, "the receiver did not choose it");
}

/// Catches: a minute that is decided as kept while a lost packet waits for others that equal it.
#[test]
fn packets_wait_for_others_that_equal_them_until_none_comes() {
    let mut hosts = Hosts::new(same());
    hosts.sends(&[(1, 100 * MS)]);
    let at = hosts.second;
    hosts.arrive(&[]);
    for _ in 0..4 {
        hosts.sends(&[(1, 101 * MS)]);
        hosts.arrive(&[(1, 102 * MS)]);
        hosts.idle(5);
        let unsettled = |at: u64| hosts.follower.unsettled(Time::from_millis(1_000 * at)).len();
        assert_eq!((unsettled(at - 1), unsettled(at)), (0, 1));
    }
    hosts.idle(12);
    assert_eq!(hosts.follower.unsettled(Time::from_millis(1_000 * at)).len(), 0);
    assert_eq!(hosts.found().lost, 1);
}

#[test]
fn for_identical_packets_only_their_number_is_known() {
    let mut hosts = Hosts::new(same());
    hosts.sends(&[(1, 100 * MS), (1, 150 * MS), (1, 200 * MS)]);
    hosts.arrive(&[(1, 151 * MS), (1, 201 * MS)]);
    hosts.idle(12);
    let SampledPackets { packets, lost, timed, late, .. } = hosts.found();
    assert_eq!((packets, lost, timed, late), (3, 1, 0, 0));
    // Without an end nothing is counted.
    for _ in 0..70 {
        hosts.sends(&[(2, MS)]);
        hosts.arrive(&[(2, 2 * MS)]);
    }
    assert_eq!(hosts.found().packets, 3);
}

#[test]
fn the_last_node_that_saw_a_lost_packet_is_named_if_certain() {
    let lost_behind = |seen: &dyn Fn(u64) -> Option<(Vec<u64>, bool)>| {
        let mut hosts = Hosts { follower: Follower::default(), clocks: same(), second: 0, level: 0 };
        for second in 0..30 {
            hosts.sends(if second == 10 { &[(5, MS)] } else { &[] });
            if let Some((numbers, is_incomplete)) = seen(second) {
                let arrived = numbers.into_iter().map(|number| (number, 2 * MS)).collect();
                let clock = hosts.clocks[0].clone();
                let samples = Samples { number: second, is_incomplete, clock, arrived, ..Samples::default() };
                hosts.follower.on_samples(Time::from_millis(1_000 * second + 100), "s1", &samples);
            }
            hosts.arrive(&[]);
        }
        assert_eq!(hosts.found().lost, 1);
        hosts.found().lost_behind.into_iter().collect::<Vec<_>>()
    };
    let at = |second: u64| if second == 10 { vec![5] } else { Vec::new() };
    assert_eq!(lost_behind(&|second| Some((at(second), false))), [("s1".to_owned(), 1)]);
    assert_eq!(lost_behind(&|_| Some((Vec::new(), false))), [("h1".to_owned(), 1)]);
    assert_eq!(lost_behind(&|second| Some((at(second), true))), [("s1".to_owned(), 1)], "it has told that one");
    assert_eq!(lost_behind(&|_| Some((Vec::new(), true))), [], "it may not have told");
    assert_eq!(lost_behind(&|_| None), [], "it tells nothing");
}
