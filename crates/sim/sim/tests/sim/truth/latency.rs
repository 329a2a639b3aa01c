//! Store and forward, to the picosecond.

use wayleave_scenarios::{Scenario, Traffic};
use wayleave_topology::{Hop, LinkId, NodeId, NodeKind, Route};
use wayleave_units::{Rate, Time};

use crate::truth::networks::{Cables, SEGMENT, burst, fixed_window, flow, listed, run, takes};

/// Two hosts, two switches, three rates: 10 Gbit/s, 3 Gbit/s (8/3 ns a byte), 100 Mbit/s. The sending host adds
/// 0.75 us, the switches 0.5 us and 0.2 us, the cables 1 us, 2.5 us and 0.3 us.
fn mixed() -> (Scenario, NodeId, NodeId, Vec<LinkId>) {
    let mut cables = Cables::new();
    let from = cables.slow("from", NodeKind::Host, 700, 50);
    let first = cables.slow("s1", NodeKind::Switch, 400, 100);
    let second = cables.slow("s2", NodeKind::Switch, 200, 0);
    let to = cables.host("to");
    let links = vec![
        cables.join(from, first, Rate::from_gbit(10), 1_000).0,
        cables.join(first, second, Rate::from_gbit(3), 2_500).0,
        cables.join(second, to, Rate::from_mbit(100), 300).0,
    ];
    (Scenario::new("mixed", cables.build(), Time::from_millis(20)), from, to, links)
}

/// Host, cables and switches.
const CONSTANTS: u64 = 750_000 + 1_000_000 + 500_000 + 2_500_000 + 200_000 + 300_000;

fn delay_of(mut scenario: Scenario, traffic: Traffic) -> Vec<u64> {
    scenario.traffic.push(traffic);
    let outcome = run(&scenario, 1);
    let delay = &flow(&outcome, 0).delay;
    vec![delay.count(), delay.min().unwrap(), delay.max().unwrap()]
}

/// Catches a constant that is left out or counted twice, and any rounding other than once a frame, upwards.
#[test]
fn one_packet_takes_the_sum_of_its_parts() {
    let (scenario, from, to, _) = mixed();
    // 1,001 B: 800.8 ns, 2,669.333... ns rounded up, 80,080 ns.
    let parts = 800_800 + 2_669_334 + 80_080_000;
    assert_eq!(takes(1_001, Rate::from_gbit(3)), 2_669_334);
    assert_eq!(delay_of(scenario, burst("one", from, to, 1_001, 1, 10_000)), [1, CONSTANTS + parts, CONSTANTS + parts]);
}

/// Catches tags that are taken off too late, too early, or at the last host.
#[test]
fn every_switch_removes_four_bytes_from_a_packet_with_a_route() {
    let (scenario, from, to, links) = mixed();
    let mut traffic = burst("tagged", from, to, 1_001, 1, 10_000);
    traffic.route = Some(Route { hops: links.into_iter().map(|link| Hop { link, queue: 0 }).collect() });
    // 1,001 B, then 997 B (2,658.666... ns), then 993 B.
    let parts = 800_800 + 2_658_667 + 79_440_000;
    assert_eq!(delay_of(scenario, traffic), [1, CONSTANTS + parts, CONSTANTS + parts]);
}

/// Catches packets that wait at a hop where they should not: behind the slowest link of a path nothing queues, and
/// before that link each packet waits for the ones ahead.
#[test]
fn the_last_packet_of_a_burst_is_delayed_by_the_slowest_link() {
    let (scenario, from, to, _) = mixed();
    let (first, second, third) = (800_000, takes(1_000, Rate::from_gbit(3)), 80_000_000);
    let alone = CONSTANTS + first + second + third;
    assert_eq!(delay_of(scenario, burst("ten", from, to, 1_000, 10, 10_000)), [10, alone, alone + 9 * third]);
}

/// Catches a completion time that is not the moment at which the last bit comes, and an ideal that is not what a flow
/// alone takes: 19 full segments and one of 100 B behind each other on the slowest link.
#[test]
fn a_lone_flow_takes_the_time_of_store_and_forward() {
    let mut cables = Cables::new();
    let (from, to) = (cables.host("from"), cables.host("to"));
    let (first, second) = (cables.switch("s1"), cables.switch("s2"));
    cables.join(from, first, Rate::from_gbit(10), 1_000);
    cables.join(first, second, Rate::from_gbit(10), 2_000);
    cables.join(second, to, Rate::from_gbit(1), 3_000);
    let mut scenario = Scenario::new("alone", cables.build(), Time::from_millis(20));
    scenario.transport = fixed_window(1_000);
    scenario.traffic = vec![listed("alone", &[(5_000, from, to, 19 * SEGMENT + 100)])];
    let outcome = run(&scenario, 1);
    let all = outcome.traffic[0].completions.all();
    let expected = 6_000_000 + 2 * 1_230_400 + 19 * 12_304_000 + 178 * 8_000;
    assert_eq!((all.times.count(), all.times.max()), (1, Some(expected)));
    assert_eq!(all.slowdown_percentile(100.0), Some(1.0));
}
