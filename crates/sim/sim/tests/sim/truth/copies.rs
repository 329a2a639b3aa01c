//! Packets over several routes at once: the copy that counts, and the remaining traffic when links fail.

use std::sync::Arc;

use wayleave_scenarios::{
    Copies, Discipline, Element, ElementChange, FlowEndpoints, Outage, PacketKind, Scenario, Traffic,
};
use wayleave_sim::{FlowOutcome, Outcome};
use wayleave_topology::{Hop, LinkId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{Cables, burst, run, takes};

const GBIT: Rate = Rate::from_gbit(1);
/// Additional delay of the path over c, in ns.
const LONGER: u64 = 30_000;

/// Returns a network of a host, a switch, two paths to another switch, and a host.
fn network() -> Arc<Network> {
    let mut cables = Cables::new();
    let (from, to) = (cables.host("h1"), cables.host("h2"));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| cables.switch(name));
    for (one, other, propagation) in [(from, a, 0), (a, b, 0), (b, d, 0), (a, c, LONGER), (c, d, 0), (d, to, 0)] {
        cables.join(one, other, GBIT, propagation);
    }
    cables.build()
}

fn link(network: &Network, name: &str) -> LinkId {
    network.find_link(name).unwrap()
}

fn over(network: &Network, middle: &str) -> Route {
    let names = ["h1->a".to_owned(), format!("a->{middle}"), format!("{middle}->d"), "d->h2".to_owned()];
    Route { hops: names.iter().map(|name| Hop { link: link(network, name), queue: 0 }).collect() }
}

fn scenario(network: &Arc<Network>, mut traffic: Traffic, copies: &[&str], cuts: &[(&str, u64)]) -> Scenario {
    let mut scenario = Scenario::new("copies", network.clone(), Time::from_millis(2));
    scenario.switches.discipline = Discipline::StrictPriority;
    scenario.hosts.discipline = Discipline::StrictPriority;
    traffic.route = Some(over(network, "b"));
    let routes: Vec<Route> = copies.iter().map(|middle| over(network, middle)).collect();
    let reset = Time::from_millis(1);
    traffic.copies = (!routes.is_empty()).then_some(Copies { routes, window: 64, reset });
    scenario.traffic.push(traffic);
    scenario.outages = cuts
        .iter()
        .map(|&(name, at)| {
            let what = Element::Link(link(network, name));
            Outage { at: Time::from_nanos(at), what, change: ElementChange::Fails }
        })
        .collect();
    scenario
}

fn ends(network: &Network) -> FlowEndpoints {
    FlowEndpoints::Pairs(vec![(network.find_node("h1").unwrap(), network.find_node("h2").unwrap())])
}

/// 1,000 B every 10 us, for 1 ms.
fn steady(network: &Network) -> Traffic {
    let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(800) };
    let mut traffic = Traffic::packets("steady", ends(network), kind, Bytes::new(1000));
    traffic.stop = Some(Time::from_millis(1));
    traffic
}

fn whole(outcome: &Outcome) -> &FlowOutcome {
    outcome.flows.iter().find(|flow| flow.copy.is_none()).unwrap()
}

fn copy(outcome: &Outcome, number: u32) -> &FlowOutcome {
    outcome.flows.iter().find(|flow| flow.copy == Some(number)).unwrap()
}

/// Catches a receiver that counts the wrong copy, or both. On an idle network the copy over the shorter path is
/// passed up four frame times after its release (the second copy of a packet is behind it on the first link), the
/// other 30 us later.
#[test]
fn the_first_copy_counts_and_the_second_is_removed() {
    let network = network();
    let (from, to) = (network.find_node("h1").unwrap(), network.find_node("h2").unwrap());
    let outcome = run(&scenario(&network, burst("one", from, to, 1000, 1, 0), &["c"], &[]), 1);
    // Tags come off: 1,000 B on the first link, 4 B less behind every switch.
    let sizes = [1000, 996, 992, 988];
    let path_delay: u64 = sizes.iter().map(|&size| takes(size, GBIT)).sum();
    assert_eq!(whole(&outcome).delay.max(), Some(path_delay));
    assert_eq!(copy(&outcome, 0).delay.max(), Some(path_delay));
    assert_eq!(copy(&outcome, 1).delay.max(), Some(takes(1000, GBIT) + path_delay + LONGER * 1000));
    let counts = |flow: &FlowOutcome| (flow.sent, flow.delivered, flow.duplicates);
    assert_eq!(counts(whole(&outcome)), (1, 1, 1));
    assert_eq!(counts(copy(&outcome, 1)), (1, 1, 0));
}

/// Catches copies that share the fate of the first: a link of either path fails while packets are on it, and nothing
/// is lost. Without a copy, or with both paths cut, the same failure loses the packets in flight and all later ones.
#[test]
fn a_cut_loses_nothing_while_one_path_is_left() {
    let network = network();
    for cut in ["a->b", "b->d", "a->c", "c->d"] {
        let outcome = run(&scenario(&network, steady(&network), &["c"], &[(cut, 500_000)]), 1);
        let flow = whole(&outcome);
        assert!(flow.sent >= 99, "{cut}");
        assert_eq!((flow.delivered, flow.sent), (flow.sent, copy(&outcome, 0).sent), "{cut}");
        let failed = copy(&outcome, u32::from(cut.contains('c')));
        assert!(failed.drops > 40 && failed.drops + failed.delivered == failed.sent, "{cut}");
    }
    let alone = run(&scenario(&network, steady(&network), &[], &[("a->b", 500_000)]), 1);
    assert!(whole(&alone).drops > 40);
    let both = run(&scenario(&network, steady(&network), &["c"], &[("a->b", 500_000), ("c->d", 500_000)]), 1);
    assert!(whole(&both).delivered + 40 < whole(&both).sent);
}
