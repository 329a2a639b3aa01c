//! Failures without notification.

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Element, ElementChange, FlowEndpoints, Outage, PacketKind, Scenario, Traffic,
    TransportConfig,
};
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{burst, finished, flow, once, ports, run, star};

const SIZE: u64 = 5_000_000;

fn outage(at: Time, link: LinkId, change: ElementChange) -> Outage {
    Outage { at, what: Element::Link(link), change }
}

/// Eight flows of 5 MB over two spines, one path for each; a full 10 Gbit/s for each, so that all are done after 5 ms.
fn eight_flows() -> (Arc<Network>, Scenario) {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let uplink_rate = Some(Rate::from_gbit(80));
    let spec = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 8, uplink_rate, cabling, ..LeafSpine::default() };
    let network = Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs: Vec<(NodeId, NodeId)> = (0..8).map(|index| (hosts[index], hosts[8 + index])).collect();
    let mut scenario = Scenario::new("silent", network.clone(), Time::from_millis(200));
    scenario.switches = ports(Discipline::Fifo, Buffering::Unlimited);
    let congestion = Congestion::fixed_window(50);
    scenario.transport =
        TransportConfig { congestion, min_timeout: Time::from_millis(1), ..TransportConfig::default() };
    scenario.traffic = vec![once("f", &pairs, SIZE)];
    (network, scenario)
}

/// Returns, for each flow, `true` if it has all its payload.
fn complete(outcome: &Outcome) -> Vec<bool> {
    outcome.flows.iter().map(|flow| flow.payload.get() == SIZE).collect()
}

/// Catches paths that avoid a link that failed silently, packets that pass over it, losses that are not counted, and
/// flows that do not resume after its repair.
#[test]
fn flows_over_a_silent_failure_stall_until_its_repair_and_others_continue() {
    let (network, mut scenario) = eight_flows();
    let link = network.find_link("leaf1->spine1").unwrap();
    let fails = |change| outage(Time::from_millis(1), link, change);
    scenario.outages = vec![fails(ElementChange::Fails)];
    scenario.duration = Time::from_millis(20);
    let reported = run(&scenario, 1);
    assert_eq!(complete(&reported), [true; 8], "everybody changes over to the other spine");
    assert_eq!(reported.links[link.index()].lost_silently, 0);

    scenario.outages = vec![fails(ElementChange::FailsSilently)];
    let silent = run(&scenario, 1);
    let stalled = complete(&silent).iter().filter(|done| !**done).count();
    assert!((1..8).contains(&stalled), "{stalled} of 8 flows go over the failed link");
    for (flow, is_done) in silent.flows.iter().zip(complete(&silent)) {
        // A window is in flight at 1 ms; then it is retransmitted repeatedly.
        assert_eq!((flow.drops > 0, flow.timeouts > 1), (!is_done, !is_done), "{flow:?}");
        assert!(is_done || flow.payload.get() < SIZE / 4, "{flow:?}");
    }
    let drops: u64 = silent.flows.iter().map(|flow| flow.drops).sum();
    for about in &silent.links {
        assert_eq!(about.lost_silently, if about.link == link { drops } else { 0 });
    }
    // No counter of the port shows this.
    assert!(silent.queues.iter().all(|queue| queue.counts.drops == 0));

    scenario.outages.push(outage(Time::from_millis(20), link, ElementChange::Works));
    scenario.duration = Time::from_millis(200);
    let repaired = run(&scenario, 1);
    assert_eq!(finished(&repaired, 0), 8, "a time-out sends again, and the rest follows");
    let most = repaired.traffic[0].completions.times().max().unwrap();
    assert!(most > 20_000_000_000, "the last flow took {most} ps");
}

/// A link that failed silently and was repaired before anything was sent has changed no path. Catches paths that
/// avoid it while it is down, or from then on.
#[test]
fn a_silent_failure_while_nothing_is_sent_changes_no_path() {
    let (network, mut scenario) = eight_flows();
    let link = network.find_link("spine2->leaf2").unwrap();
    scenario.traffic[0].start = Time::from_millis(10);
    let untouched = run(&scenario, 1);
    scenario.outages = [(1, ElementChange::FailsSilently), (5, ElementChange::Works)]
        .map(|(at, change)| outage(Time::from_millis(at), link, change))
        .to_vec();
    let repaired = run(&scenario, 1);
    assert_eq!((finished(&untouched, 0), finished(&repaired, 0)), (8, 8));
    let paths = |outcome: &Outcome| outcome.links.iter().map(|about| about.sent).collect::<Vec<_>>();
    assert_eq!(paths(&untouched), paths(&repaired));
}

/// Ten frames of 1 us leave one after the other on a cable of 100 us that fails at 104.5 us, when four have arrived and
/// six are on it; ten more leave while it is down, and ten when it works again. Both kinds of ports.
#[test]
fn packets_on_and_sent_to_a_failed_link_are_lost_and_counted() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        let star = star(&[Rate::from_gbit(10), Rate::from_gbit(10)], 100_000);
        let mut scenario = Scenario::new("cut", star.network.clone(), Time::from_millis(1));
        scenario.hosts = ports(discipline.clone(), Buffering::Unlimited);
        scenario.traffic = [0, 200_000, 400_000]
            .map(|at| burst(&format!("at {at}"), star.hosts[0], star.hosts[1], 1_250, 10, at))
            .to_vec();
        scenario.outages = [(104_500, ElementChange::FailsSilently), (300_000, ElementChange::Works)]
            .map(|(at, change)| outage(Time::from_nanos(at), star.up[0], change))
            .to_vec();
        let outcome = run(&scenario, 1);
        let counts = [0, 1, 2].map(|traffic| (flow(&outcome, traffic).delivered, flow(&outcome, traffic).drops));
        assert_eq!(counts, [(4, 6), (0, 10), (10, 0)], "{discipline:?}");
        assert_eq!(outcome.links[star.up[0].index()].lost_silently, 16, "{discipline:?}");
    }
}

/// A switch fails silently, and is announced later: from then on the failure is known, also when it is repaired.
/// Every datagram is delivered or counted.
#[test]
fn a_silent_failure_can_become_known() {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let spec = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, cabling, ..LeafSpine::default() };
    let network = Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let what = Element::Switch(network.find_node("spine1").unwrap());
    let rate = Rate::from_gbit(1);
    let mut scenario = Scenario::new("known", network.clone(), Time::from_millis(10));
    for index in 0..4 {
        let ends = FlowEndpoints::Pairs(vec![(hosts[index], hosts[4 + index])]);
        let kind = PacketKind::ConstantRate { rate };
        let mut traffic = Traffic::packets(&format!("t{index}"), ends, kind, Bytes::new(1_000));
        traffic.stop = Some(Time::from_millis(9));
        scenario.traffic.push(traffic);
    }
    let at = Time::from_millis;
    scenario.outages = vec![
        Outage { at: at(2), what, change: ElementChange::FailsSilently },
        Outage { at: at(4), what, change: ElementChange::Fails },
        // It stays known.
        Outage { at: at(5), what, change: ElementChange::FailsSilently },
    ];
    let outcome = run(&scenario, 1);
    let drops: u64 = outcome.flows.iter().map(|flow| flow.drops).sum();
    assert_eq!(drops, outcome.links.iter().map(|link| link.lost_silently).sum::<u64>());
    for flow in &outcome.flows {
        assert_eq!(flow.sent, flow.delivered + flow.drops, "{flow:?}");
        // 2 ms of 1 Gbit/s are 250 frames; sources change over when they are notified.
        assert!(flow.drops == 0 || (249..=252).contains(&flow.drops), "{flow:?}");
    }
    assert!((1..4).contains(&outcome.flows.iter().filter(|flow| flow.drops > 0).count()));
}
