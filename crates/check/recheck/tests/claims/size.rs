//! A claim of the size that the recheck is meant for.

use wayleave_recheck::{Claim, JitterTerm, PacketiserTerm, PromisedFlow, check};
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{Hop, HopDistances, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

/// A shortest route, its links and queues chosen by the digits of `choice`.
fn route(network: &Network, from: NodeId, to: NodeId, mut choice: usize) -> Route {
    let distances = HopDistances::to(network, to);
    let mut hops = Vec::new();
    let mut at = from;
    while let Some(left) = distances.from(at).filter(|&left| left > 0) {
        let links = network.links_from(at).iter().copied();
        let nearer: Vec<_> = links.filter(|&l| distances.from(network.link(l).to) == Some(left - 1)).collect();
        let link = nearer[choice % nearer.len()];
        choice /= nearer.len();
        let queues = network.queues(link).len().min(7);
        hops.push(Hop { link, queue: u8::try_from((choice + hops.len()) % queues).unwrap() });
        at = network.link(link).to;
    }
    Route { hops }
}

#[test]
fn three_thousand_flows_on_640_servers_are_checked() {
    let network = build::fat_tree(&FatTree { k: 4, hosts_per_edge: Some(80), ..FatTree::default() }).unwrap();
    let hosts: Vec<_> = network.hosts().collect();
    let flow = |index: usize| {
        let (from, to) = (hosts[index * 7 % 640], hosts[(index * 31 + 1) % 640]);
        PromisedFlow {
            name: format!("f{index}"),
            from,
            to,
            route: route(&network, from, to, index * 97),
            covered: 0,
            rate: Rate::from_bits_per_second(100_000 + index as u64),
            burst: Bytes::new(100 + index as u64 % 100),
            deadline: Time::from_millis(20),
            promised_bound: Time::from_millis(20),
        }
    };
    let usable = |from: usize, to: usize| hosts[from * 7 % 640] != hosts[(to * 31 + 1) % 640];
    let claim = Claim {
        network: &network,
        budgets: network.links().map(|(id, _)| vec![Time::from_millis(3); network.queues(id).len().min(7)]).collect(),
        max_frame: vec![Bytes::new(1562); network.links().len()],
        packetiser: PacketiserTerm::Subtracted,
        jitter: JitterTerm::Ordered,
        shaping: true,
        flows: (0..3000).filter(|&index| usable(index, index)).map(flow).collect(),
        disjoint: Vec::new(),
        claimed_queues: vec![],
        exact_claims: false,
    };
    let started = std::time::Instant::now();
    let report = check(&claim);
    println!("{} flows, {} queues, {:?}", report.flows.len(), report.queues.len(), started.elapsed());
    assert!(report.flows.len() > 2900);
    assert!(report.is_sound(), "{report}");
}
