//! Networks, latency contracts and shares, drawn from a seed or written down.

use std::collections::BTreeSet;

use wayleave_recheck::{
    BrokenShare, Claim, HeldShare, HoseCharge, JitterTerm, PacketiserTerm, PromisedFlow, PromisedShare, ShareTimes,
    StatedCertainty, check_all_shares, check_shares,
};
use wayleave_repo_checks::Random;
use wayleave_topology::{
    Classes, Hop, LinkId, LinkSpec, Network, NetworkBuilder, Node, NodeId, NodeKind, PortSpec, Route,
};
use wayleave_units::{Bytes, Rate, Time};

/// A direction of a cable: rate in bit/s, propagation in ns.
pub(crate) type Direction = Option<(u64, u64)>;

/// Nodes whose names begin with `h` are hosts. Processing in ns by node; cables with both directions.
pub(crate) fn network(nodes: &[(String, u64)], cables: &[(String, String, Direction, Direction)]) -> Network {
    let mut builder = NetworkBuilder::default();
    for (name, processing) in nodes {
        let kind = if name.starts_with('h') { NodeKind::Host } else { NodeKind::Switch };
        let (processing, jitter) = (Time::from_nanos(*processing), Time::from_nanos(*processing / 3));
        builder.add(Node { name: name.clone(), kind, processing, jitter }).unwrap();
    }
    for (one, other, forward, backward) in cables {
        let [from, to] = [one, other].map(|name| builder.find_node(name).unwrap());
        let spec = |from, to, (rate, propagation): (u64, u64)| LinkSpec {
            from,
            to,
            rate: Rate::from_bits_per_second(rate),
            propagation: Time::from_nanos(propagation),
            mtu: Bytes::new(1500),
            port: PortSpec::uniform(8, Bytes::new(500_000)),
        };
        match (forward, backward) {
            (Some(forward), Some(backward)) if forward == backward => {
                let spec = spec(from, to, *forward);
                let port = spec.port.clone();
                builder.add_cable(spec, port).unwrap();
            }
            _ => {
                forward.map(|forward| builder.add_link(spec(from, to, forward)).unwrap());
                backward.map(|backward| builder.add_link(spec(to, from, backward)).unwrap());
            }
        }
    }
    builder.build()
}

/// Everything that a check takes.
pub(crate) struct Scene {
    pub(crate) network: Network,
    pub(crate) closed: BTreeSet<LinkId>,
    pub(crate) max_frame: Vec<Bytes>,
    pub(crate) flows: Vec<PromisedFlow>,
    pub(crate) shares: Vec<PromisedShare>,
    pub(crate) times: ShareTimes,
}

impl Scene {
    pub(crate) fn claim(&self) -> Claim<'_> {
        Claim {
            network: &self.network,
            budgets: vec![vec![Time::from_micros(20); 8]; self.network.links().len()],
            max_frame: self.max_frame.clone(),
            packetiser: PacketiserTerm::Subtracted,
            jitter: JitterTerm::Any,
            shaping: true,
            flows: self.flows.clone(),
            disjoint: Vec::new(),
            claimed_queues: Vec::new(),
            exact_claims: true,
        }
    }

    /// The names of shares without a path where all links are up.
    pub(crate) fn check_open(&self) -> Vec<String> {
        let classes = self.network.classes().unwrap();
        let broken = check_shares(&self.claim(), classes, &BTreeSet::new(), &self.shares);
        let name = |one| if let BrokenShare::NoPath { share, .. } = one { Some(share) } else { None };
        broken.into_iter().filter_map(name).collect()
    }

    pub(crate) fn check(&self) -> Vec<BrokenShare> {
        let classes = self.network.classes().unwrap();
        let times = Some(&self.times);
        check_all_shares(&self.claim(), classes, &self.closed, &self.shares, times, &mut |_, _| {}).broken
    }
}

/// A flow of 1,500 B.
pub(crate) fn flow(name: &str, network: &Network, route: Route, rate: Rate) -> PromisedFlow {
    PromisedFlow {
        name: name.to_owned(),
        from: network.link(route.hops[0].link).from,
        to: network.link(route.hops[route.hops.len() - 1].link).to,
        route,
        covered: 0,
        rate,
        burst: Bytes::new(1_500),
        deadline: Time::from_millis(10),
        promised_bound: Time::from_millis(1),
    }
}

/// A walk that never turns back to where it was, by chance; `None` if it ends nowhere.
fn walk(network: &Network, from: NodeId, to: NodeId, chance: &mut Random) -> Option<Route> {
    for _ in 0..40 {
        let (mut at, mut hops, mut seen) = (from, Vec::new(), BTreeSet::from([from]));
        while at != to {
            let open: Vec<LinkId> = network
                .links_from(at)
                .iter()
                .copied()
                .filter(|&link| {
                    let next = network.link(link).to;
                    next == to || (network.node(next).kind == NodeKind::Switch && !seen.contains(&next))
                })
                .collect();
            if open.is_empty() {
                break;
            }
            let link = *chance.pick(&open);
            at = network.link(link).to;
            seen.insert(at);
            hops.push(Hop { link, queue: 0 });
        }
        if at == to {
            return Some(Route { hops });
        }
    }
    None
}

/// A line, ring, mesh, tree or leaf-spine fabric with few hosts, some of them with two links, some parallel, some of one direction.
fn drawn_network(chance: &mut Random) -> Network {
    let switches = 1 + chance.below(5);
    let hosts = 3 + chance.below(3);
    let name = |kind: &str, number: u64| format!("{kind}{number}");
    let mut nodes: Vec<(String, u64)> = Vec::new();
    (0..switches).for_each(|number| nodes.push((name("s", number), *chance.pick(&[0, 300]))));
    (0..hosts).for_each(|number| nodes.push((name("h", number), *chance.pick(&[0, 0, 500]))));
    let mut ends: Vec<(String, String)> = Vec::new();
    let shape = chance.below(5);
    for number in 1..switches {
        match shape {
            // A line, a ring (closed below), a tree, a leaf-spine fabric of two spines, a mesh.
            0 | 1 => ends.push((name("s", number - 1), name("s", number))),
            2 => ends.push((name("s", chance.below(number)), name("s", number))),
            3 if number > 1 => (0..3.min(number)).for_each(|spine| ends.push((name("s", spine), name("s", number)))),
            3 => {}
            _ => (0..number).for_each(|other| {
                if number == other + 1 || !chance.one_in(3) {
                    ends.push((name("s", other), name("s", number)));
                }
            }),
        }
    }
    if shape == 1 && switches > 2 {
        ends.push((name("s", switches - 1), name("s", 0)));
    }
    if !ends.is_empty() && chance.one_in(2) {
        let twice = chance.below(ends.len() as u64) as usize;
        ends.push(ends[twice].clone());
    }
    for number in 0..hosts {
        ends.push((name("h", number), name("s", chance.below(switches))));
        if chance.one_in(4) {
            ends.push((name("h", number), name("s", chance.below(switches))));
        }
    }
    // Mostly alike, so that hosts form groups.
    let unlike = chance.one_in(2);
    let cables = ends.into_iter().map(|(one, other)| {
        let mut direction = || match unlike && chance.one_in(3) {
            true => (1_000_000 * (1 + chance.below(20)), 1_000 * chance.below(5)),
            false => (10_000_000, 1_000),
        };
        let (forward, backward) = (direction(), direction());
        match chance.below(40) {
            0 => (one, other, Some(forward), None),
            1 => (one, other, None, Some(backward)),
            _ => (one, other, Some(forward), Some(backward)),
        }
    });
    let cables: Vec<_> = cables.collect();
    let limits = [None, None, Some(Time::from_micros(15_000))];
    let classes = Classes { round_trip: *chance.pick(&limits), promise: *chance.pick(&[85, 95]), ..Classes::default() };
    network(&nodes, &cables).with_classes(classes).unwrap()
}

fn drawn_share(network: &Network, number: u64, most: u64, chance: &mut Random) -> Option<PromisedShare> {
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut members = hosts.clone();
    while members.len() > 2 && chance.one_in(2) {
        members.remove(chance.below(members.len() as u64) as usize);
    }
    let held = match chance.below(11) {
        0..=2 => {
            let (from, to) = (*chance.pick(&hosts), *chance.pick(&hosts));
            let route = (from != to).then(|| walk(network, from, to, chance)).flatten()?;
            HeldShare::Pair(from, to, route)
        }
        3 => HeldShare::Link(LinkId(chance.below(network.links().len() as u64) as u32)),
        4 => HeldShare::Objective(members),
        kind => {
            let charge = match kind {
                5 | 6 => HoseCharge::EvenSplits,
                7 => HoseCharge::EveryPath,
                _ => HoseCharge::ChosenPaths,
            };
            HeldShare::Hose { members, charge }
        }
    };
    let is_minimum = !matches!(held, HeldShare::Objective(_));
    let within = [Time::ZERO, Time::from_micros(30_000), Time::from_millis(500)];
    Some(PromisedShare {
        name: format!("share{number}"),
        min: Rate::from_bits_per_second(1 + chance.below(most)),
        held,
        there_within: (is_minimum && chance.one_in(3)).then(|| *chance.pick(&within)),
        certainty: *chance.pick(&[None, Some(StatedCertainty::Measured), Some(StatedCertainty::Proven)]),
    })
}

/// Draws everything.
pub(crate) fn drawn(seed: u64) -> Scene {
    let mut chance = Random::new(seed);
    let network = drawn_network(&mut chance);
    let links = network.links().len();
    let mut closed = BTreeSet::new();
    if chance.one_in(2) {
        (0..1 + chance.below(2)).for_each(|_| {
            let link = LinkId(chance.below(links as u64) as u32);
            closed.insert(link);
            closed.extend(network.reverse(link).filter(|_| !chance.one_in(4)));
        });
    }
    let count = 1 + chance.below(6);
    let most = *chance.pick(&[600_000, 2_000_000, 3_000_000]);
    let shares = (0..count).filter_map(|number| drawn_share(&network, number, most, &mut chance)).collect();
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut flows = Vec::new();
    for number in 0..chance.below(3) {
        let (from, to) = (*chance.pick(&hosts), *chance.pick(&hosts));
        if let Some(route) = (from != to).then(|| walk(&network, from, to, &mut chance)).flatten() {
            let rate = Rate::from_bits_per_second(1 + chance.below(4_000_000));
            flows.push(flow(&format!("flow{number}"), &network, route, rate));
        }
    }
    let max_frame = (0..links).map(|_| Bytes::new(*chance.pick(&[1_500, 1_500, 1_500, 600]))).collect();
    let budgets = (0..links).map(|_| Time::from_micros(1_000 * *chance.pick(&[60, 60, 60, 20]))).collect();
    let times = ShareTimes { budgets, token_period: Time::from_micros(32) };
    Scene { network, closed, max_frame, flows, shares, times }
}
