//! uFAB's maxima in the simulator: at each member of a hose, of what it sends and of what it receives, for every number of members.

use std::sync::Arc;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, Service};
use wayleave_scenarios::{Buffering, EdgeScheme, Scenario, Sharing};
use wayleave_schemes::ufab::{Settings, Surplus};
use wayleave_sim::Outcome;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time};

use super::networks::{Cables, endless, fixed_window, run, star};

const LINE: Rate = Rate::from_gbit(10);

/// The tolerance of `verify` above a maximum (`TURNS` in `crates/verify/src/classes.rs`), per cent.
const TURNS: f64 = 5.0;

/// The least part of a maximum that is used where nothing else limits, per cent.
const USED: f64 = 90.0;

/// Traffic of a hose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    AllToOne,
    OneToAll,
    AllToAll,
}

const PATTERNS: [Pattern; 3] = [Pattern::AllToOne, Pattern::OneToAll, Pattern::AllToAll];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Star,
    LeafSpine,
    FatTree,
}

const SHAPES: [Shape; 3] = [Shape::Star, Shape::LeafSpine, Shape::FatTree];

/// Terms of a hose, in Mbit/s.
#[derive(Clone, Copy, Debug)]
struct Terms {
    min: u64,
    max: u64,
}

/// The settings of bandwidth contracts.
fn contracts() -> Settings {
    Settings { surplus: Surplus::Weights, ..Settings::beside_other_classes() }
}

/// A network with at least 32 hosts, all links of 10 Gbit/s. Consecutive hosts are below different switches.
fn build(shape: Shape) -> (Arc<Network>, Vec<NodeId>) {
    const DELAY: u64 = 2_000;
    let mut cables = Cables::new();
    let mut edges = Vec::new();
    let per_edge = match shape {
        Shape::Star => {
            let star = star(&[LINE; 32], 5_000);
            return (star.network, star.hosts);
        }
        Shape::LeafSpine => {
            let spines = [0, 1, 2, 3].map(|at| cables.switch(&format!("spine{at}")));
            for leaf in 0..8 {
                edges.push(cables.switch(&format!("leaf{leaf}")));
                spines.iter().for_each(|&spine| _ = cables.join(edges[leaf], spine, LINE, DELAY));
            }
            4
        }
        Shape::FatTree => {
            let cores: Vec<NodeId> = (0..9).map(|at| cables.switch(&format!("core{at}"))).collect();
            for pod in 0..6 {
                let above: Vec<NodeId> = (0..3).map(|at| cables.switch(&format!("agg{pod}.{at}"))).collect();
                for (at, &switch) in above.iter().enumerate() {
                    cores[3 * at..3 * at + 3].iter().for_each(|&core| _ = cables.join(switch, core, LINE, DELAY));
                }
                for edge in 0..3 {
                    let edge = cables.switch(&format!("edge{pod}.{edge}"));
                    above.iter().for_each(|&switch| _ = cables.join(edge, switch, LINE, DELAY));
                    edges.push(edge);
                }
            }
            2
        }
    };
    let mut hosts = Vec::new();
    for round in 0..per_edge {
        for (at, &edge) in edges.iter().enumerate() {
            let host = cables.host(&format!("h{at}.{round}"));
            cables.join(host, edge, LINE, DELAY);
            hosts.push(host);
        }
    }
    (cables.build(), hosts)
}

/// Services a0, a1 and so on, each with the same terms at all of its members.
fn hoses(network: &Network, hoses: &[(Terms, Vec<NodeId>)]) -> Policy {
    let service = |(index, (terms, members)): (usize, &(Terms, Vec<NodeId>))| {
        let (min, max) = (Some(Rate::from_mbit(terms.min)), Some(Rate::from_mbit(terms.max)));
        let bandwidth = Bandwidth { min, max, ..Bandwidth::default() };
        let destination_port = std::num::NonZeroU16::new(index as u16 + 1);
        let filter = Match { protocol: Some(Protocol::TCP), destination_port, ..Match::default() };
        Service {
            name: format!("a{index}"),
            filter: Some(filter),
            endpoints: members.clone(),
            bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
            ..Service::default()
        }
    };
    let services = hoses.iter().enumerate().map(service).collect();
    Policy::new(network, "hoses", PolicyLevel::Machine, Vec::new(), None, services).unwrap()
}

fn pairs(pattern: Pattern, members: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let all = members.iter().flat_map(|&from| members.iter().map(move |&to| (from, to)));
    all.filter(|&(from, to)| match pattern {
        Pattern::AllToOne => to == members[0],
        Pattern::OneToAll => from == members[0],
        Pattern::AllToAll => true,
    })
    .filter(|(from, to)| from != to)
    .collect()
}

/// Endless flows of hose `hose` between these hosts.
fn send(scenario: &mut Scenario, hose: usize, pairs: &[(NodeId, NodeId)]) {
    for (at, &(from, to)) in pairs.iter().enumerate() {
        let mut traffic = endless(&format!("a{hose}.{at}"), from, to);
        traffic.service = Some(format!("a{hose}"));
        scenario.traffic.push(traffic);
    }
}

/// A scenario of these hoses without traffic; rates are counted from `warmup` on.
fn scenario(network: &Arc<Network>, of: &[(Terms, Vec<NodeId>)], settings: Settings, millis: [u64; 2]) -> Scenario {
    let mut scenario = Scenario::new("maxima", network.clone(), Time::from_millis(millis[0] + millis[1]));
    scenario.record.promises = true;
    scenario.record.carried_from = Time::from_millis(millis[0]);
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.transport = fixed_window(1_000);
    scenario.sharing = Some(Sharing::new(EdgeScheme::Ufab(settings), hoses(network, of)));
    scenario
}

/// What a member sent and received for a hose after the warm-up, in Mbit/s.
fn rates(scenario: &Scenario, outcome: &Outcome, hose: usize, member: NodeId) -> [f64; 2] {
    let nanos = outcome.simulated.saturating_sub(scenario.record.carried_from).as_nanos() as f64;
    let name = format!("a{hose}");
    let carried = &outcome.sharing.as_ref().unwrap().carried;
    let sum = |end: fn(&wayleave_sim::Carried) -> NodeId| {
        let of = carried.iter().filter(|path| path.service.as_ref() == Some(&name) && end(path) == member);
        of.map(|path| path.bytes.get()).sum::<u64>() as f64 * 8e3 / nanos
    };
    [sum(|path| path.from), sum(|path| path.to)]
}

/// The least and the largest part of its maximum that a member had that sent, or received, per cent.
fn extremes(shape: Shape, pattern: Pattern, count: usize, terms: Terms, settings: Settings) -> (f64, f64) {
    let (network, hosts) = build(shape);
    let members = hosts[..count].to_vec();
    // With windows below a packet a probe takes 4 kB of a small rate: a millisecond at 32 Mbit/s.
    let mut scenario = scenario(&network, &[(terms, members.clone())], settings, [8, 8]);
    let pairs = pairs(pattern, &members);
    send(&mut scenario, 0, &pairs);
    let outcome = run(&scenario, 1);
    let mut found: (f64, f64) = (f64::MAX, 0.0);
    for &member in &members {
        let [sent, received] = rates(&scenario, &outcome, 0, member).map(|rate| rate * 100.0 / terms.max as f64);
        // One side at the maximum is what it allows.
        match pattern {
            Pattern::AllToOne if member == members[0] => found.0 = found.0.min(received),
            Pattern::OneToAll if member == members[0] => found.0 = found.0.min(sent),
            Pattern::AllToAll => found.0 = found.0.min(sent).min(received),
            _ => {}
        }
        found.1 = found.1.max(sent).max(received);
    }
    found
}

fn check(shape: Shape, patterns: &[Pattern], counts: impl Iterator<Item = usize> + Clone, settings: &Settings) {
    let mut bad = Vec::new();
    for &pattern in patterns {
        for terms in [Terms { min: 200, max: 1_000 }, Terms { min: 1_000, max: 1_000 }] {
            let mut worst: (f64, f64) = (f64::MAX, 0.0);
            for count in counts.clone() {
                let (least, most) = extremes(shape, pattern, count, terms, settings.clone());
                worst = (worst.0.min(least), worst.1.max(most));
                if least < USED || most > 100.0 + TURNS {
                    bad.push(format!("{shape:?} {pattern:?} {count} members {terms:?}: {least:.1} to {most:.1} %"));
                }
            }
            println!("{shape:?} {pattern:?} {terms:?}: {:.2} to {:.2} % of the maximum", worst.0, worst.1);
        }
    }
    assert!(bad.is_empty(), "seed 1:\n{}", bad.join("\n"));
}

#[test]
fn members_of_a_star_get_their_maximum_and_no_more() {
    check(Shape::Star, &PATTERNS, 2..=32, &contracts());
}

#[test]
fn members_of_a_leaf_spine_get_their_maximum_and_no_more() {
    check(Shape::LeafSpine, &PATTERNS, 2..=32, &contracts());
}

#[test]
fn members_of_a_fat_tree_get_their_maximum_and_no_more() {
    check(Shape::FatTree, &PATTERNS, 2..=32, &contracts());
}

#[test]
fn members_that_do_not_ask_get_their_maximum_and_no_more() {
    check(Shape::Star, &PATTERNS, 2..=32, &Settings::default());
}
