//! Random networks with contracts of every kind: the independent calculator derives the fabric's admissions again,
//! also after failures.
//!
//! Lines, rings, trees and meshes with parallel and unidirectional links, rates of 1 to 40 Gbit/s, delays of 1 us to
//! 5 ms, buffers of 97 kB to 500 MB, and hosts with one or two links. `FABRIC_SCENES` sets the number of networks; a
//! failure prints its seed, and `FABRIC_SEED` runs that one alone.

use std::collections::{BTreeMap, BTreeSet};
use wayleave::Watch;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use wayleave::{Network, PlanOptions, SchemeOptions, Session, recheck, recheck_shares};
use wayleave_contracts::{BandwidthContract, Contract, Endpoints, FlowObjective, LatencyContract, ObjectiveContract};
use wayleave_recheck::BrokenShare;
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_topology::{
    Class, Classes, LinkId, LinkSpec, Network as Graph, NetworkBuilder, NodeId, NodeKind, PortSpec,
};
use wayleave_units::{Bytes, Rate, Time};

/// Counts of inspected objects.
#[derive(Default, Debug)]
struct Seen {
    admitted: [usize; 3],
    refused: usize,
    links: usize,
    overbooked: usize,
    proven: usize,
    measured: usize,
    /// Switch ports that minima may pass, and those with too small a buffer.
    buffers: usize,
    short_buffers: usize,
    /// Largest promised part of a link's promisable capacity, per mille.
    fullest: u64,
}

pub(crate) fn network(random: &mut ChaCha8Rng) -> Graph {
    let mut builder = NetworkBuilder::default();
    let count = random.random_range(1..8);
    let switches: Vec<NodeId> =
        (0..count).map(|at| builder.add_node(&format!("s{at}"), NodeKind::Switch).unwrap()).collect();
    let buffer = *[97_000, 1_000_000, 20_000_000, 500_000_000].choose(random).unwrap();
    let port = || PortSpec::uniform(8, Bytes::new(buffer));
    let link = |random: &mut ChaCha8Rng, from, to| LinkSpec {
        from,
        to,
        rate: Rate::from_gbit(*[1, 10, 10, 40].choose(random).unwrap()),
        propagation: *[Time::from_micros(1), Time::from_micros(20), Time::from_millis(5)].choose(random).unwrap(),
        mtu: Bytes::new(*[1_500, 1_500, 9_000].choose(random).unwrap()),
        port: port(),
    };
    // A line, a ring, or a random tree; then more cables, also parallel ones, and some unidirectional links.
    let is_line = random.random_range(0..3) < 2;
    for at in 1..count {
        let other = if is_line { at - 1 } else { random.random_range(0..at) };
        let spec = link(random, switches[at], switches[other]);
        builder.add_cable(spec, port()).unwrap();
    }
    if is_line && count > 2 && random.random_bool(0.5) {
        let spec = link(random, switches[count - 1], switches[0]);
        builder.add_cable(spec, port()).unwrap();
    }
    for _ in 0..random.random_range(0..4) {
        let (a, b) = (*switches.choose(random).unwrap(), *switches.choose(random).unwrap());
        if a != b {
            let spec = link(random, a, b);
            if random.random_bool(0.2) {
                builder.add_link(spec).unwrap();
            } else {
                builder.add_cable(spec, port()).unwrap();
            }
        }
    }
    for number in 0..random.random_range(2..9) {
        let host = builder.add_node(&format!("h{number}"), NodeKind::Host).unwrap();
        for _ in 0..*[1, 1, 1, 2].choose(random).unwrap() {
            let switch = *switches.choose(random).unwrap();
            let spec = link(random, host, switch);
            builder.add_cable(spec, port()).unwrap();
        }
    }
    builder.build().with_classes(Classes::default()).unwrap()
}

pub(crate) fn contract(random: &mut ChaCha8Rng, hosts: &[NodeId], number: usize) -> Contract {
    let count = random.random_range(2..=hosts.len());
    let members: Vec<NodeId> = hosts.sample(random, count).copied().collect();
    let name = format!("c{number}");
    let min = Rate::from_mbit(*[1, 100, 400, 1_500].choose(random).unwrap());
    match random.random_range(0..10) {
        0..3 => Contract::Latency(LatencyContract::new(
            name,
            members[0],
            members[1],
            Rate::from_mbit(random.random_range(1..300)),
            Bytes::new(random.random_range(200..6_000)),
            Time::from_millis(60),
        )),
        3..8 => Contract::Bandwidth(BandwidthContract {
            name,
            tenant: None,
            between: if random.random_bool(0.4) {
                Endpoints::Pair(members[0], members[1])
            } else {
                Endpoints::Hose(members)
            },
            min,
            max: None,
            weight: None,
            within: random.random_bool(0.4).then_some(Time::from_millis(400)),
        }),
        _ => Contract::Objective(ObjectiveContract {
            name,
            tenant: None,
            objective: FlowObjective::Completion,
            deadline: None,
            members,
            min,
        }),
    }
}

/// The link of a promise that does not hold, and the names of those that count nowhere.
fn links_of(graph: &Graph, broken: &[BrokenShare]) -> (BTreeSet<LinkId>, Vec<String>) {
    let (mut links, mut faults) = (BTreeSet::new(), Vec::new());
    for one in broken {
        match one {
            BrokenShare::Class { link, .. }
            | BrokenShare::Acknowledgements { link, .. }
            | BrokenShare::Wait { link, .. } => {
                links.extend(graph.find_link(link));
            }
            other => faults.push(other.to_string()),
        }
    }
    (links, faults)
}

fn look_at(seed: u64, seen: &mut Seen) {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let graph = network(random);
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let network = Network::new("random", graph);
    let mut options = SchemeOptions::named("fabric").unwrap();
    // Slow links need large budgets, or nothing with a time would be admitted.
    options = options.with("guaranteed_budget", ["260us", "30ms", "200ms"].choose(random).unwrap()).unwrap();
    options = options.with("budgets", "20ms,30ms,40ms,50ms,60ms").unwrap();
    options = options.with("paths", ["one", "one", "all"].choose(random).unwrap()).unwrap();
    options = options.with("hose_charge", ["split", "split", "every-path"].choose(random).unwrap()).unwrap();
    let mut session = Session::open(&network, &PlanOptions::default().with_scheme(options)).unwrap();
    let mut asked: BTreeMap<usize, Contract> = BTreeMap::new();
    for number in 0..random.random_range(3..30) {
        let contract = contract(random, &hosts, number);
        let (kind, is_admitted) = match contract.as_latency() {
            Some(latency) => (0, session.admit(latency).decision.is_ok()),
            None => {
                let kind = if matches!(contract, Contract::Objective(_)) { 2 } else { 1 };
                (kind, session.admit_share(&contract).0.is_ok())
            }
        };
        seen.admitted[kind] += usize::from(is_admitted);
        seen.refused += usize::from(!is_admitted);
        asked.insert(number, contract);
    }
    let report = recheck(&session.context(), &mut Watch::none()).unwrap();
    assert!(report.is_sound(), "seed {seed}: {:?}", report.violations);
    let broken = recheck_shares(&session.context(), &mut Watch::none());
    assert!(broken.is_empty(), "seed {seed}: {broken:?}");
    let ledger = session.ledger().unwrap();
    for (link, _) in network.graph.links() {
        seen.links += 1;
        let left = ledger.left_for(link, Class::Guaranteed).bits_per_second();
        let promised = ledger.promised_to(link, Class::Guaranteed).bits_per_second();
        seen.fullest = seen.fullest.max((promised * 1_000).checked_div(promised + left).unwrap_or(0));
    }
    seen.short_buffers += ledger.short_buffers().count();
    let is_switch = |link: LinkId| network.graph.node(network.graph.link(link).from).kind == NodeKind::Switch;
    seen.buffers += network.graph.links().filter(|&(link, _)| is_switch(link) && ledger.pairs_on(link) > 0).count();
    for (_, share) in ledger.shares() {
        *(if ledger.is_proven(share) { &mut seen.proven } else { &mut seen.measured }) += 1;
    }
    // Cables fail and come back: both find the same links overbooked. Shares without a path are named by the calculator and count
    // nowhere there; in the ledger they keep their places.
    let cables: Vec<LinkId> = network.graph.links().map(|(link, _)| network.graph.cable(link)).collect();
    for _ in 0..random.random_range(1..4) {
        let cable = *cables.choose(random).unwrap();
        let links: Vec<LinkId> = std::iter::once(cable).chain(network.graph.reverse(cable)).collect();
        let is_closed = session.ledger().unwrap().is_closed(cable);
        session.scheme_mut().queues_mut().unwrap().turn(&links, !is_closed);
        let (derived, faults) = links_of(&network.graph, &recheck_shares(&session.context(), &mut Watch::none()));
        let ledger = session.ledger().unwrap();
        let overbooked: BTreeSet<LinkId> =
            network.graph.links().map(|(link, _)| link).filter(|&link| !ledger.keeps_shares(link)).collect();
        let names = |links: &BTreeSet<LinkId>| -> Vec<String> {
            links.iter().map(|&link| network.graph.link(link).name.clone()).collect()
        };
        assert!(derived.is_subset(&overbooked), "seed {seed}: {:?} and {:?}", names(&derived), names(&overbooked));
        let is_parted = ledger.shares().any(|(_, share)| ledger.is_parted(share));
        assert_eq!(is_parted, !faults.is_empty(), "seed {seed}: {faults:?}");
        if !is_parted {
            assert_eq!(names(&derived), names(&overbooked), "seed {seed}");
        }
        seen.overbooked += overbooked.len();
    }
}

#[test]
fn admissions_of_a_fabric_are_derived_again_on_any_network() {
    if let Ok(seed) = std::env::var("FABRIC_SEED") {
        look_at(seed.parse().unwrap(), &mut Seen::default());
        return;
    }
    let count: u64 = std::env::var("FABRIC_SCENES").ok().map_or(200, |count| count.parse().unwrap());
    let mut seen = Seen::default();
    (0..count).for_each(|seed| look_at(seed, &mut seen));
    println!("{count} networks: {seen:?}");
    assert!(seen.admitted.iter().all(|&admitted| admitted as u64 > count / 2), "{seen:?}");
    assert!(seen.refused as u64 > count / 2 && seen.overbooked as u64 > count / 100, "{seen:?}");
    assert!(seen.short_buffers > 0 && seen.short_buffers < seen.buffers, "{seen:?}");
    assert!(seen.proven > 0 && seen.measured > 0 && seen.fullest > 950, "{seen:?}");
}
