//! Minima and weights are derived again from the permitted traffic of hosts.

mod hand;
mod over_time;
mod random;
mod reference;
mod scene;

use std::collections::BTreeSet;

use wayleave_recheck::{
    BrokenShare, Claim, HeldShare, HoseCharge, JitterTerm, PacketiserTerm, PromisedFlow, PromisedShare, check_shares,
};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Class, Classes, Hop, HopDistances, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

fn network() -> Network {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let network = build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap();
    network.with_classes(Classes::default()).unwrap()
}

fn hosts(network: &Network, numbers: &[usize]) -> Vec<NodeId> {
    numbers.iter().map(|number| network.find_node(&format!("h{number}")).unwrap()).collect()
}

fn route(network: &Network, from: NodeId, to: NodeId) -> Route {
    let distances = HopDistances::to(network, to);
    let (mut at, mut hops) = (from, Vec::new());
    while at != to {
        let nearer = |&&link: &&_| distances.from(network.link(link).to).map(|hops| hops + 1) == distances.from(at);
        let link = *network.links_from(at).iter().find(nearer).unwrap();
        hops.push(Hop { link, queue: 0 });
        at = network.link(link).to;
    }
    Route { hops }
}

fn check(network: &Network, latency: Option<(usize, usize, u64)>, shares: &[PromisedShare]) -> Vec<BrokenShare> {
    let flow = |(from, to, mbit): (usize, usize, u64)| {
        let ends = hosts(network, &[from, to]);
        PromisedFlow {
            name: "latency".into(),
            from: ends[0],
            to: ends[1],
            route: route(network, ends[0], ends[1]),
            covered: 0,
            rate: Rate::from_mbit(mbit),
            burst: Bytes::new(1_500),
            deadline: Time::from_millis(10),
            promised_bound: Time::from_millis(1),
        }
    };
    let claim = Claim {
        network,
        budgets: Vec::new(),
        max_frame: Vec::new(),
        packetiser: PacketiserTerm::Subtracted,
        jitter: JitterTerm::Any,
        shaping: true,
        flows: latency.map(flow).into_iter().collect(),
        disjoint: Vec::new(),
        claimed_queues: Vec::new(),
        exact_claims: true,
    };
    check_shares(&claim, network.classes().unwrap(), &BTreeSet::new(), shares)
}

fn share(mbit: u64, held: HeldShare) -> PromisedShare {
    PromisedShare { name: "share".into(), min: Rate::from_mbit(mbit), held, there_within: None, certainty: None }
}

fn hose(members: Vec<NodeId>) -> HeldShare {
    HeldShare::Hose { members, charge: HoseCharge::EvenSplits }
}

fn links(broken: &[BrokenShare]) -> usize {
    broken.iter().filter(|broken| matches!(broken, BrokenShare::Class { .. })).count()
}

/// 5.1 Gbit/s can be promised on a link of 10 Gbit/s: a hose of that fits, and one of a bit/s more does not, on the members' own links.
#[test]
fn a_hose_is_checked_against_the_maximum_of_its_members() {
    let network = network();
    let three = hosts(&network, &[1, 5, 9]);
    assert_eq!(check(&network, None, &[share(5_100, hose(three.clone()))]), []);
    let broken = check(&network, None, &[share(5_101, hose(three.clone()))]);
    assert_eq!(links(&broken), 6, "both directions of three hosts: {broken:?}");
    // Four racks of one pod and of another: 2 Gbit/s of each of two hosts leave a rack over two links, and four a pod over four.
    let eight = hosts(&network, &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(check(&network, None, &[share(5_100, hose(eight.clone()))]), []);
    let two = [share(2_550, hose(eight.clone())), share(2_551, hose(eight))];
    assert_eq!(links(&check(&network, None, &two)), 2 * (8 + 8 + 8), "hosts, racks and pods are full at once");
}

#[test]
fn latency_contracts_reduce_the_capacity_of_shares() {
    let network = network();
    let ends = hosts(&network, &[1, 2]);
    let pair = |mbit| share(mbit, HeldShare::Pair(ends[0], ends[1], route(&network, ends[0], ends[1])));
    assert_eq!(check(&network, Some((1, 2, 4_000)), &[pair(3_060)]), []);
    let broken = check(&network, Some((1, 2, 4_000)), &[pair(3_061)]);
    assert_eq!(links(&broken), 2);
    assert!(
        broken[0].to_string().contains("has 3.061 Gbit/s reserved, above the limit of 3.06 Gbit/s"),
        "{}",
        broken[0]
    );
}

#[test]
fn weights_count_fully_on_every_link_between_members() {
    let network = network();
    let members = hosts(&network, &[1, 3]);
    let objective = |mbit| share(mbit, HeldShare::Objective(members.clone()));
    assert_eq!(check(&network, None, &[objective(2_550)]), []);
    let broken = check(&network, None, &[objective(1_275), objective(1_276)]);
    assert_eq!(links(&broken), 2 * (2 + 2 * 2), "two hosts, and two links of each of two racks");
    assert!(matches!(broken[0], BrokenShare::Class { class: Class::Objective, .. }));
}

#[test]
fn a_route_that_joins_others_is_found() {
    let network = network();
    let ends = hosts(&network, &[1, 2, 3]);
    let wrong = HeldShare::Pair(ends[0], ends[2], route(&network, ends[0], ends[1]));
    assert_eq!(check(&network, None, &[share(1, wrong)]), [BrokenShare::Route { share: "share".into() }]);
}
