//! Hosts with several links: every link carries its part, and the paths are those that the planner counts.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use wayleave_scenarios::{
    Buffering, Discipline, Element, ElementChange, FlowEndpoints, Outage, PacketKind, Routing, Scenario, Traffic,
};
use wayleave_sim::Outcome;
use wayleave_topology::{HopDistances, LinkId, LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{endless, finished, fixed_window, once, ports, run};

fn spec(from: NodeId, to: NodeId, rate: Rate) -> LinkSpec {
    let port = PortSpec::uniform(1, Bytes::new(1_000_000));
    LinkSpec { from, to, rate, propagation: Time::from_micros(1), mtu: Bytes::new(1_500), port }
}

fn cable(builder: &mut NetworkBuilder, from: NodeId, to: NodeId, rate: Rate) -> (LinkId, LinkId) {
    builder.add_cable(spec(from, to, rate), PortSpec::uniform(1, Bytes::new(1_000_000))).unwrap()
}

/// Two hosts, each at the same two switches, which nothing else joins.
fn two_planes() -> (Arc<Network>, [NodeId; 2]) {
    let mut builder = NetworkBuilder::default();
    let mut node = |name: &str, kind| builder.add_node(name, kind).unwrap();
    let hosts = [node("h1", NodeKind::Host), node("h2", NodeKind::Host)];
    let switches = [node("a", NodeKind::Switch), node("b", NodeKind::Switch)];
    for host in hosts {
        for switch in switches {
            cable(&mut builder, host, switch, Rate::from_gbit(10));
        }
    }
    (Arc::new(builder.build()), hosts)
}

fn scenario(network: Arc<Network>, routing: Routing, traffic: Vec<Traffic>) -> Scenario {
    let mut scenario = Scenario::new("several", network, Time::from_millis(10));
    scenario.routing = routing;
    scenario.switches = ports(Discipline::Fifo, Buffering::Unlimited);
    scenario.transport = fixed_window(100);
    scenario.traffic = traffic;
    scenario
}

fn sent(outcome: &Outcome, link: LinkId) -> u64 {
    outcome.links.iter().find(|one| one.link == link).map_or(0, |one| one.sent.get())
}

fn link(network: &Network, name: &str) -> LinkId {
    network.find_link(name).unwrap()
}

/// Catches a simulator that sends over the first link only: one flow, packet by packet over both planes, has nearly 20 Gbit/s.
#[test]
fn a_sprayed_flow_has_both_links() {
    let (network, [h1, h2]) = two_planes();
    let outcome = run(&scenario(network.clone(), Routing::spraying(), vec![endless("f", h1, h2)]), 1);
    for name in ["h1->a", "h1->b", "a->h2", "b->h2"] {
        let gbit = sent(&outcome, link(&network, name)) as f64 * 8.0 / 10e6;
        assert!((9.0..=10.0).contains(&gbit), "{name}: {gbit} Gbit/s");
    }
}

/// Catches flows that all take one link: of 64 flows, each on one path, both links carry a part.
#[test]
fn flows_spread_over_both_links() {
    let (network, [h1, h2]) = two_planes();
    let flows = (0..64).map(|number| endless(&format!("f{number}"), h1, h2)).collect();
    let outcome = run(&scenario(network.clone(), Routing::ecmp(), flows), 1);
    for name in ["h1->a", "h1->b"] {
        let gbit = sent(&outcome, link(&network, name)) as f64 * 8.0 / 10e6;
        assert!(gbit > 9.0, "{name}: {gbit} Gbit/s");
    }
}

/// Catches a failed link that is never left: after the first link has failed, the second carries everything, and after its repair both.
#[test]
fn a_failed_link_of_a_host_is_left() {
    let (network, [h1, h2]) = two_planes();
    let cable = [link(&network, "h1->a"), link(&network, "a->h1")];
    let outage = |at, change| cable.map(|link| Outage { at: Time::from_millis(at), what: Element::Link(link), change });
    let mut scenario =
        scenario(network.clone(), Routing::ecmp(), (0..8).map(|n| endless(&format!("f{n}"), h1, h2)).collect());
    scenario.outages = outage(5, ElementChange::Fails).to_vec();
    let outcome = run(&scenario, 1);
    let (first, second) = (sent(&outcome, cable[0]), sent(&outcome, link(&network, "h1->b")));
    // 5 of 10 ms at 10 Gbit/s are 6.25 MB.
    assert!((5_000_000..=6_250_000).contains(&first), "{first}");
    assert!(second > 11_000_000, "{second}");
}

/// Catches a source of packets that cannot leave a failed link, and one that has no path although another link has.
#[test]
fn packets_of_sources_leave_a_failed_link() {
    let (network, [h1, h2]) = two_planes();
    let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(1) };
    let traffic = Traffic::packets("p", FlowEndpoints::Pairs(vec![(h1, h2)]), kind, Bytes::new(1_000));
    for failed in ["h1->a", "h1->b"] {
        let mut scenario = scenario(network.clone(), Routing::ecmp(), vec![traffic.clone()]);
        scenario.outages = vec![Outage {
            at: Time::from_millis(5),
            what: Element::Link(link(&network, failed)),
            change: ElementChange::Fails,
        }];
        let outcome = run(&scenario, 1);
        let (sent, delivered) = (outcome.flows[0].sent, outcome.flows[0].delivered);
        // At most what was on the link and in its queue is lost.
        assert!(sent > 1_200 && delivered + 4 >= sent, "{failed}: {delivered} of {sent}");
    }
}

/// Catches two cables to one switch that are taken for one: a source of 15 Gbit/s fits two of 10 when its flows spread.
#[test]
fn parallel_cables_are_separate_links() {
    let mut builder = NetworkBuilder::default();
    let [h1, h2] = ["h1", "h2"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
    let switch = builder.add_node("a", NodeKind::Switch).unwrap();
    let ups: Vec<LinkId> = (0..2).map(|_| cable(&mut builder, h1, switch, Rate::from_gbit(10)).0).collect();
    (0..2).for_each(|_| _ = cable(&mut builder, h2, switch, Rate::from_gbit(10)));
    let network = Arc::new(builder.build());
    let outcome = run(&scenario(network, Routing::spraying(), vec![endless("f", h1, h2)]), 1);
    assert!(ups.iter().all(|&up| sent(&outcome, up) > 11_000_000));
}

/// A random network in which hosts have one to three links; every pair of hosts with a path is listed.
fn random_network(random: &mut ChaCha8Rng) -> (Arc<Network>, Vec<(NodeId, NodeId)>) {
    let mut builder = NetworkBuilder::default();
    let count = random.random_range(1..6);
    let switches: Vec<NodeId> =
        (0..count).map(|at| builder.add_node(&format!("s{at}"), NodeKind::Switch).unwrap()).collect();
    for at in 1..count {
        let other = switches[random.random_range(0..at)];
        cable(&mut builder, switches[at], other, Rate::from_gbit(10));
    }
    for _ in 0..random.random_range(0..4) {
        let (one, other) = (*switches.choose(random).unwrap(), *switches.choose(random).unwrap());
        if one != other {
            cable(&mut builder, one, other, Rate::from_gbit(10));
        }
    }
    for number in 0..random.random_range(2..6) {
        let host = builder.add_node(&format!("h{number}"), NodeKind::Host).unwrap();
        for _ in 0..random.random_range(1..4) {
            cable(&mut builder, host, *switches.choose(random).unwrap(), Rate::from_gbit(10));
        }
    }
    let network = builder.build();
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to).collect();
    (Arc::new(network), pairs)
}

/// Catches a link on a path with the fewest links that carries nothing, and one on no such path that carries something: packets that are
/// sprayed over all paths of a pair use exactly the links that the planner counts.
#[test]
fn in_random_networks_all_links_of_shortest_paths_carry_packets() {
    for seed in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (network, pairs) = random_network(&mut random);
        let &(from, to) = pairs.choose(&mut random).unwrap();
        let traffic = once("f", &[(from, to)], 1_000_000);
        let outcome = run(&scenario(network.clone(), Routing::spraying(), vec![traffic]), seed);
        assert_eq!(finished(&outcome, 0), 1, "seed {seed}");
        // Acknowledgements have at most a tenth of the bytes.
        let used = outcome.links.iter().filter(|link| link.sent.get() > 0).map(|link| link.link);
        let on_paths = |from, to| -> BTreeSet<LinkId> {
            HopDistances::to(&network, to).shortest_path_links(&network, from).into_iter().collect()
        };
        let (there, back) = (on_paths(from, to), on_paths(to, from));
        let used: BTreeSet<LinkId> = used.collect();
        assert!(there.is_subset(&used), "seed {seed}: {:?} of {there:?} carry nothing", there.difference(&used));
        assert!(used.iter().all(|link| there.contains(link) || back.contains(link)), "seed {seed}: {used:?}");
    }
}

/// Catches a source whose packets all take one path although each should draw its own: 15 Gbit/s do not fit one link of 10.
#[test]
fn packets_of_sources_are_sprayed_as_well() {
    let (network, [h1, h2]) = two_planes();
    let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(15) };
    let traffic = Traffic::packets("p", FlowEndpoints::Pairs(vec![(h1, h2)]), kind, Bytes::new(1_500));
    let outcome = run(&scenario(network.clone(), Routing::spraying(), vec![traffic]), 1);
    for name in ["h1->a", "h1->b"] {
        let gbit = sent(&outcome, link(&network, name)) as f64 * 8.0 / 10e6;
        assert!((7.0..=8.0).contains(&gbit), "{name}: {gbit} Gbit/s");
    }
}
