//! Packets that each take a time of their own at a node: maximum waiting times, and the order of packets.

use wayleave_scenarios::{Discipline, Jitter, JitterDistribution, PacketOrder, Scenario};
use wayleave_sim::Outcome;
use wayleave_topology::NodeKind;
use wayleave_units::{Rate, Time};

use crate::truth::networks::{Cables, burst, run, takes};

const FRAME: u64 = 1000;
const FAST: Rate = Rate::from_gbit(40);
const SLOW: Rate = Rate::from_gbit(10);
/// Of the switch, and of the host that sends the one packet, in ns.
const JITTER: u64 = 20_000;
const OF_HOST: u64 = 3_000;
/// Frames of the burst.
const COUNT: u64 = 40;

/// One packet from a, and a burst from b that comes after it, to d.
fn scenario(jitter: Jitter) -> Scenario {
    let mut cables = Cables::new();
    let (a, b) = (cables.slow("a", NodeKind::Host, 0, OF_HOST), cables.host("b"));
    let (d, s) = (cables.host("d"), cables.slow("s", NodeKind::Switch, 0, JITTER));
    for (host, rate) in [(a, FAST), (b, FAST), (d, SLOW)] {
        cables.join(host, s, rate, 0);
    }
    let mut scenario = Scenario::new("jitter", cables.build(), Time::from_millis(1));
    scenario.switches.discipline = Discipline::StrictPriority;
    scenario.hosts.discipline = Discipline::StrictPriority;
    scenario.traffic = vec![burst("one", a, d, FRAME, 1, 0), burst("many", b, d, FRAME, COUNT, OF_HOST + 1_000)];
    scenario.jitter = jitter;
    scenario
}

fn each(draw: JitterDistribution, order: PacketOrder) -> Jitter {
    Jitter::Each { draw, order }
}

/// The delay of the one packet, in ps.
fn delay(outcome: &Outcome) -> u64 {
    outcome.flows[0].delay.max().unwrap()
}

/// Returns the delay of the one packet without other traffic, including all jitter.
fn alone() -> u64 {
    takes(FRAME, FAST) + takes(FRAME, SLOW) + (JITTER + OF_HOST) * 1000
}

/// Catches a node that lets no packet pass, or that holds a packet for longer than its jitter. All packets that
/// arrive within the jitter precede the packet, although they came later.
#[test]
fn a_delayed_packet_waits_for_a_burst_that_arrived_after_it() {
    let outcome = run(&scenario(each(JitterDistribution::Against { traffic: 0 }, PacketOrder::Free)), 1);
    assert_eq!(delay(&outcome), alone() + COUNT * takes(FRAME, SLOW));
    assert_eq!(outcome.flows[1].delivered, COUNT);
}

/// Catches a node that lets packets of one queue pass one another although it keeps their order.
#[test]
fn with_preserved_order_a_late_packet_does_not_wait() {
    let outcome = run(&scenario(each(JitterDistribution::Against { traffic: 0 }, PacketOrder::Kept)), 1);
    assert_eq!(delay(&outcome), alone());
}

/// Catches draws that are always equal, or beyond the jitter.
#[test]
fn drawn_times_are_between_zero_and_the_jitter() {
    let mut seen = Vec::new();
    for seed in 0..200 {
        let mut scenario = scenario(each(JitterDistribution::Uniform, PacketOrder::Free));
        scenario.traffic.truncate(1);
        seen.push(delay(&run(&scenario, seed)));
    }
    let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
    let jitter = (JITTER + OF_HOST) * 1000;
    assert!(*most <= alone() && *most > alone() - jitter / 5, "{most}");
    assert!(*least >= alone() - jitter && *least < alone() - jitter * 4 / 5, "{least}");
}

/// Catches a stage that loses or doubles packets, and packets that cannot overtake at all.
#[test]
fn a_burst_keeps_its_packets_but_its_order_only_if_preserved() {
    let spread = |order| {
        let mut scenario = scenario(each(JitterDistribution::Uniform, order));
        scenario.traffic.remove(0);
        let outcome = run(&scenario, 7);
        assert_eq!(outcome.flows[0].delivered, COUNT);
        outcome.flows[0].delay.max().unwrap()
    };
    // In order the port may idle until the first packet comes; the last one waits for all others at most.
    let most = takes(FRAME, FAST) * COUNT + JITTER * 1000 + takes(FRAME, SLOW) * COUNT;
    assert!(spread(PacketOrder::Kept) <= most && spread(PacketOrder::Free) <= most);
    assert_ne!(spread(PacketOrder::Kept), spread(PacketOrder::Free));
}

#[test]
fn a_seed_reproduces_its_times() {
    let of = |seed| delay(&run(&scenario(each(JitterDistribution::Uniform, PacketOrder::Free)), seed));
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}
