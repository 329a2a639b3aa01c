//! Worst loads of hoses and objectives on the links of any network: computed by hand, by enumeration, and by tiers.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use wayleave_ledger::{HoseCharge, Ledger, Model, PathSpread, ReservedShare, ShareDenial};
use wayleave_topology::builders::{Cabling, FatTree, LeafSpine, build};
use wayleave_topology::{
    Class, Classes, HopDistances, LinkId, LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec,
};
use wayleave_units::{Bytes, Rate, Time};

const MBIT: u64 = 1_000_000;

fn ledger(network: &Arc<Network>, charge: HoseCharge) -> Ledger {
    let model = Model::default();
    let budgets = |link| vec![Time::from_micros(100); model.contract_queues(network, link)];
    let budgets = network.links().map(|(_, link)| budgets(link)).collect();
    Ledger::new(network.clone(), model, budgets).unwrap().with_shares(Time::from_micros(250), charge)
}

fn classed(network: Network) -> Arc<Network> {
    Arc::new(network.with_classes(Classes::default()).unwrap())
}

/// Switches `s0`, `s1` ... joined by these cables, and hosts `h0`, `h1` ..., each at these switches. 10 Gbit/s, and a delay for each cable
/// between switches in its order; 1 us for hosts.
fn network(cables: &[(usize, usize)], hosts: &[&[usize]], delay: impl Fn(usize) -> Time) -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    let used = cables.iter().flat_map(|&(a, b)| [a, b]).chain(hosts.iter().flat_map(|at| at.iter().copied()));
    let count = used.max().unwrap() + 1;
    let switches: Vec<NodeId> =
        (0..count).map(|number| builder.add_node(&format!("s{number}"), NodeKind::Switch).unwrap()).collect();
    let port = || PortSpec::uniform(8, Bytes::new(97_000));
    let cable = |from, to, propagation| LinkSpec {
        from,
        to,
        rate: Rate::from_gbit(10),
        propagation,
        mtu: Bytes::new(1_500),
        port: port(),
    };
    for (index, &(a, b)) in cables.iter().enumerate() {
        builder.add_cable(cable(switches[a], switches[b], delay(index)), port()).unwrap();
    }
    for (number, at) in hosts.iter().enumerate() {
        let host = builder.add_node(&format!("h{number}"), NodeKind::Host).unwrap();
        for &switch in *at {
            builder.add_cable(cable(host, switches[switch], Time::from_micros(1)), port()).unwrap();
        }
    }
    classed(builder.build())
}

fn alike(_: usize) -> Time {
    Time::from_micros(1)
}

fn hosts(network: &Network, numbers: &[usize]) -> Vec<NodeId> {
    numbers.iter().map(|number| network.find_node(&format!("h{number}")).unwrap()).collect()
}

fn hose(members: Vec<NodeId>, mbit: u64, spread: PathSpread) -> ReservedShare {
    ReservedShare::Hose { min: Rate::from_mbit(mbit), members, spread, is_timed: false }
}

fn mbit_on(ledger: &Ledger, link: &str) -> u64 {
    let link = ledger.network().find_link(link).unwrap();
    ledger.promised_to(link, Class::Guaranteed).bits_per_second() / MBIT
}

/// Two switches with two hosts each: a link between switches that both have hosts carries hoses, objectives and pairs.
#[test]
fn a_line_of_two_switches_charges_the_link_between_them() {
    let network = network(&[(0, 1)], &[&[0], &[0], &[1], &[1]], alike);
    let mut ledger = ledger(&network, HoseCharge::Split);
    assert!(!ledger.has_tiers());
    ledger.reserve_share(hose(hosts(&network, &[0, 2]), 3_000, PathSpread::OnePath)).unwrap();
    assert_eq!((mbit_on(&ledger, "s0->s1"), mbit_on(&ledger, "s1->s0")), (3_000, 3_000));
    let all = hose(hosts(&network, &[0, 1, 2, 3]), 1_000, PathSpread::OnePath);
    ledger.reserve_share(all.clone()).unwrap();
    assert_eq!(mbit_on(&ledger, "s0->s1"), 5_000, "two members can send across at once");
    assert!(ledger.is_proven(&all), "one path each: any choice is covered");
    let link = network.find_link("s0->s1").unwrap();
    let denied = ledger.share_denial(&hose(hosts(&network, &[1, 3]), 101, PathSpread::OnePath));
    let (asked, left) = (Rate::from_mbit(101), Rate::from_mbit(100));
    assert_eq!(denied, Some(ShareDenial::Rate { link, asked, left }));
    let weight = ReservedShare::Objective { weight: Rate::from_mbit(2_551), members: hosts(&network, &[0, 3]) };
    assert!(matches!(ledger.share_denial(&weight), Some(ShareDenial::Rate { .. })));
    let near = ReservedShare::Objective { weight: Rate::from_mbit(700), members: hosts(&network, &[0, 1]) };
    ledger.reserve_share(near).unwrap();
    assert_eq!(ledger.promised_to(link, Class::Objective), Rate::ZERO, "members at one switch");
}

#[test]
fn members_without_a_connecting_path_are_refused() {
    let network = network(&[], &[&[0], &[1]], alike);
    let ledger = ledger(&network, HoseCharge::Split);
    let members = hosts(&network, &[0, 1]);
    let (from, to) = (members[1], members[0]);
    let denied = Some(ShareDenial::NoPath { from, to });
    assert_eq!(ledger.share_denial(&hose(members.clone(), 1, PathSpread::OnePath)), denied);
    assert_eq!(ledger.share_denial(&ReservedShare::Objective { weight: Rate::from_mbit(1), members }), denied);
}

/// A ring of four switches with a host each: opposite hosts have two paths. Three neighbours in a row send over a link at most once each.
#[test]
fn a_ring_counts_the_matching_of_the_pairs_that_may_use_a_link() {
    let network = network(&[(0, 1), (1, 2), (2, 3), (3, 0)], &[&[0], &[1], &[2], &[3]], alike);
    let members = || hosts(&network, &[0, 1, 2, 3]);
    // s0->s1 may carry (0, 1), (0, 2) and (3, 1): two of them at once, and evenly 1/2 of (0, 2) and of (3, 1), or all of (0, 1).
    let mut every = ledger(&network, HoseCharge::EveryPath);
    every.reserve_share(hose(members(), 100, PathSpread::OnePath)).unwrap();
    assert_eq!(mbit_on(&every, "s0->s1"), 200);
    let mut split = ledger(&network, HoseCharge::Split);
    let even = hose(members(), 100, PathSpread::AllPaths);
    split.reserve_share(even.clone()).unwrap();
    assert_eq!(mbit_on(&split, "s0->s1"), 100);
    assert!(split.is_proven(&even));
    let chosen = hose(members(), 100, PathSpread::OnePath);
    let first = split.reserve_share(chosen.clone()).unwrap();
    assert_eq!(mbit_on(&split, "s0->s1"), 300, "min(200, 100 + 100) besides");
    assert!(split.is_proven(&chosen));
    split.reserve_share(chosen.clone()).unwrap();
    assert_eq!(mbit_on(&split, "s0->s1"), 400, "min(400, 200 + 100) besides");
    assert!(!split.is_proven(&chosen) && !split.is_proven(&even), "four hoses' worth may meet there");
    split.release_share(first).unwrap();
    assert!(split.is_proven(&chosen));
}

/// After one link of the ring has failed everything goes the other way round, and the figures of both hold; a repair restores every bit.
#[test]
fn a_failure_moves_loads_to_links_that_were_not_charged() {
    let network = network(&[(0, 1), (1, 2), (2, 3), (3, 0)], &[&[0], &[1]], alike);
    let members = hosts(&network, &[0, 1]);
    for charge in [HoseCharge::Split, HoseCharge::EveryPath] {
        let mut ledger = ledger(&network, charge);
        ledger.reserve_share(hose(members.clone(), 300, PathSpread::OnePath)).unwrap();
        let weight = ReservedShare::Objective { weight: Rate::from_mbit(70), members: members.clone() };
        ledger.reserve_share(weight.clone()).unwrap();
        let before = ledger.clone();
        let failed = [network.find_link("s0->s1").unwrap(), network.find_link("s1->s0").unwrap()];
        ledger.turn(&failed, true);
        let loads = ["s0->s1", "s0->s3", "s3->s2", "s2->s1", "s1->s2"].map(|link| mbit_on(&ledger, link));
        assert_eq!(loads, [300; 5]);
        let detour = network.find_link("s3->s2").unwrap();
        assert_eq!(ledger.promised_to(detour, Class::Objective), Rate::from_mbit(70));
        let after = ledger.clone();
        let late = ledger.reserve_share(weight.clone()).unwrap();
        ledger.release_share(late).unwrap();
        assert!(ledger == after, "what comes and goes meanwhile leaves no trace");
        ledger.turn(&failed, false);
        assert!(ledger == before, "every bit is as it was");
    }
}

/// Two members behind two spines, of which one is 10 ms away: the round trip is that of the slow one, there and back.
#[test]
fn round_trips_are_those_of_the_slowest_allowed_path() {
    let slow = |cable| Time::from_micros(if cable < 2 { 1 } else { 10_000 });
    let network = network(&[(0, 2), (1, 2), (0, 3), (1, 3)], &[&[0], &[0], &[1]], slow);
    let mut ledger = ledger(&network, HoseCharge::Split);
    let far = hose(hosts(&network, &[0, 2]), 100, PathSpread::OnePath);
    let near = hose(hosts(&network, &[0, 1]), 100, PathSpread::OnePath);
    // Transmission of 1,562 B: 1,250 ns, rounded up; processing of switches is the builder's.
    let processing = network.node(network.find_node("s0").unwrap()).processing.as_nanos();
    let host = network.node(network.find_node("h0").unwrap()).processing.as_nanos();
    let one_way = host + 4 * 1_250 + 3 * processing + 2 * 1_000 + 2 * 10_000_000;
    assert_eq!(ledger.share_paths(&far).round_trip, Time::from_nanos(2 * one_way));
    let one_way = host + 2 * 1_250 + processing + 2 * 1_000;
    assert_eq!(ledger.share_paths(&near).round_trip, Time::from_nanos(2 * one_way));
    ledger.reserve_share(near).unwrap();
    let at = |ledger: &Ledger, name| ledger.shared_link(network.find_link(name).unwrap()).unwrap().round_trip;
    assert_eq!(at(&ledger, "h0->s0"), Time::from_nanos(2 * one_way));
    assert_eq!(at(&ledger, "s0->s2"), Time::ZERO);
    ledger.reserve_share(far).unwrap();
    assert!(at(&ledger, "h0->s0") > Time::from_millis(40) && at(&ledger, "h1->s0") < Time::from_millis(1));
}

/// A pair of 5.1 Gbit/s over a fast cable whose reverse link has 1 Gbit/s: its acknowledgements would take 510 of 570
/// Mbit/s there.
#[test]
fn acknowledgements_are_charged_on_the_reverse_path() {
    let mut builder = NetworkBuilder::default();
    let port = || PortSpec::uniform(8, Bytes::new(97_000));
    let node = |builder: &mut NetworkBuilder, name: &str, kind| builder.add_node(name, kind).unwrap();
    let [s0, s1] = ["s0", "s1"].map(|name| node(&mut builder, name, NodeKind::Switch));
    let [h0, h1] = ["h0", "h1"].map(|name| node(&mut builder, name, NodeKind::Host));
    let link = |from, to, gbit| LinkSpec {
        from,
        to,
        rate: Rate::from_gbit(gbit),
        propagation: Time::from_micros(1),
        mtu: Bytes::new(1_500),
        port: port(),
    };
    builder.add_cable(link(h0, s0, 10), port()).unwrap();
    builder.add_cable(link(h1, s1, 10), port()).unwrap();
    let forward = builder.add_link(link(s0, s1, 10)).unwrap();
    let backward = builder.add_link(link(s1, s0, 1)).unwrap();
    let network = classed(builder.build());
    let mut ledger = ledger(&network, HoseCharge::Split);
    let hops = [network.find_link("h0->s0").unwrap(), forward, network.find_link("s1->h1").unwrap()];
    let hops = hops.map(|link| wayleave_topology::Hop { link, queue: 5 }).to_vec();
    let pair = |mbit| ReservedShare::Pair {
        min: Rate::from_mbit(mbit),
        route: wayleave_topology::Route { hops: hops.clone() },
        is_timed: false,
    };
    let id = ledger.reserve_share(pair(5_100)).unwrap();
    assert_eq!(ledger.promised_to(backward, Class::Guaranteed), Rate::ZERO);
    assert_eq!(ledger.left_for(backward, Class::Guaranteed), Rate::from_mbit(60));
    ledger.release_share(id).unwrap();
    let denied = ledger.share_denial(&pair(5_701));
    assert!(
        matches!(denied, Some(ShareDenial::Rate { link, .. }) if link == forward || link == hops[0].link),
        "{denied:?}"
    );
    // Hoses have minima in both directions: the slow direction is the limit, and their own acknowledgements fit
    // beside them.
    let members = hosts(&network, &[0, 1]);
    assert_eq!(ledger.share_denial(&hose(members.clone(), 510, PathSpread::OnePath)), None);
    assert!(ledger.share_denial(&hose(members, 511, PathSpread::OnePath)).is_some());
}

/// Parts of a pair on the links of its paths with the fewest links, node by node, as floating point. The ledger uses
/// another method.
fn parts(network: &Network, from: NodeId, to: NodeId) -> BTreeMap<LinkId, f64> {
    let distances = HopDistances::to(network, to);
    let (mut parts, mut at) = (BTreeMap::new(), vec![(from, 1.0)]);
    while let Some((node, part)) = at.pop().filter(|_| distances.from(from).is_some()) {
        if node == to {
            continue;
        }
        let forwards = |next: NodeId| next == to || network.node(next).kind == NodeKind::Switch;
        let nearer = |link: &&LinkId| {
            let next = network.link(**link).to;
            forwards(next) && distances.from(next).map(|hops| hops + 1) == distances.from(node)
        };
        let links: Vec<LinkId> = network.links_from(node).iter().filter(nearer).copied().collect();
        for &link in &links {
            *parts.entry(link).or_insert(0.0) += part / links.len() as f64;
            at.push((network.link(link).to, part / links.len() as f64));
        }
    }
    parts
}

/// The largest plain and weighted matchings of senders to receivers on a link, by trying all.
fn by_enumeration(of: &BTreeMap<(usize, usize), f64>, members: usize) -> (u64, f64) {
    fn best(of: &BTreeMap<(usize, usize), f64>, sender: usize, members: usize, taken: u32) -> (u64, f64) {
        if sender == members {
            return (0, 0.0);
        }
        let mut found = best(of, sender + 1, members, taken);
        for receiver in (0..members).filter(|receiver| taken & (1 << receiver) == 0) {
            if let Some(part) = of.get(&(sender, receiver)) {
                let (full, even) = best(of, sender + 1, members, taken | (1 << receiver));
                found = (found.0.max(full + 1), found.1.max(even + part));
            }
        }
        found
    }
    best(of, 0, members, 0)
}

/// Cables between switches, hosts' switches, members, a minimum.
type Case = (Vec<(usize, usize)>, Vec<Vec<usize>>, u64);

fn case() -> impl Strategy<Value = Case> {
    (2..7usize).prop_flat_map(|switches| {
        let tree = proptest::collection::vec(any::<proptest::sample::Index>(), switches - 1);
        let more = proptest::collection::vec((0..switches, 0..switches), 0..6);
        let hosts = proptest::collection::vec(proptest::collection::vec(0..switches, 1..3), 2..6);
        (tree, more, hosts, 1..2_000u64).prop_map(|(tree, more, hosts, mbit)| {
            let tree = tree.iter().enumerate().map(|(at, parent)| (at + 1, parent.index(at + 1)));
            let cables = tree.chain(more.into_iter().filter(|(a, b)| a != b)).collect();
            (cables, hosts, mbit)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Lines, rings, trees and meshes with parallel cables and hosts with several links: what is charged is the worst of all demands.
    #[test]
    fn charges_are_the_maximum_that_members_can_send((cables, at, mbit) in case(), failed in any::<proptest::sample::Index>()) {
        let at: Vec<&[usize]> = at.iter().map(Vec::as_slice).collect();
        let network = network(&cables, &at, alike);
        let members: Vec<NodeId> = network.hosts().collect();
        let mut of: BTreeMap<LinkId, BTreeMap<(usize, usize), f64>> = BTreeMap::new();
        for (i, &from) in members.iter().enumerate() {
            for (j, &to) in members.iter().enumerate().filter(|&(j, _)| j != i) {
                for (link, part) in parts(&network, from, to) {
                    of.entry(link).or_default().insert((i, j), part);
                }
            }
        }
        let mut every = ledger(&network, HoseCharge::EveryPath);
        every.reserve_share(hose(members.clone(), mbit, PathSpread::OnePath)).unwrap();
        let mut even = ledger(&network, HoseCharge::Split);
        even.reserve_share(hose(members.clone(), mbit, PathSpread::AllPaths)).unwrap();
        for (link, described) in network.links() {
            let (worst_full, worst_even) = of.get(&link).map_or((0, 0.0), |of| by_enumeration(of, members.len()));
            let promised = |ledger: &Ledger| ledger.promised_to(link, Class::Guaranteed).bits_per_second();
            prop_assert_eq!(promised(&every), worst_full * mbit * MBIT, "{}", &described.name);
            let (charged, worst) = (promised(&even) as f64, worst_even * (mbit * MBIT) as f64);
            prop_assert!(charged >= worst - 1e-3 && charged <= worst + 1.001, "{}: {charged} of {worst}", &described.name);
            prop_assert_eq!(every.pairs_on(link), of.get(&link).map_or(0, |of| of.len() as u64));
        }
        // Tiers, where the network is regular, give equal loads.
        for (charge, spread) in [(HoseCharge::Split, PathSpread::AllPaths), (HoseCharge::Split, PathSpread::OnePath), (HoseCharge::EveryPath, PathSpread::OnePath)] {
            compare_with_tiers(&network, charge, &[hose(members.clone(), mbit, spread)], &[])?;
            let link = failed.get(&network.links().map(|(link, _)| link).collect::<Vec<_>>()).to_owned();
            compare_with_tiers(&network, charge, &[hose(members.clone(), mbit, spread)], &[link])?;
        }
    }

    /// In fat trees and leaf-spines one record for each cut is as good as one for each link, also after failures.
    #[test]
    fn tiers_are_as_exact_as_links(
        which in 0..4usize,
        hoses in proptest::collection::vec((proptest::collection::btree_set(0..16usize, 2..9), 1..1_000u64, 0..3usize), 1..6),
        failed in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
    ) {
        let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
        let network = classed(match which {
            0 => build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }),
            1 => build::fat_tree(&FatTree { k: 4, parallel: 3, cabling, ..FatTree::default() }),
            2 => build::leaf_spine(&LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 4, cabling, ..LeafSpine::default() }),
            _ => build::star(16, cabling),
        }.unwrap());
        let all: Vec<NodeId> = network.hosts().collect();
        let shares: Vec<ReservedShare> = hoses.into_iter().map(|(members, mbit, kind)| {
            let members: Vec<NodeId> = members.into_iter().map(|number| all[number]).collect();
            match kind {
                0 => hose(members, mbit, PathSpread::AllPaths),
                1 => hose(members, mbit, PathSpread::OnePath),
                _ => ReservedShare::Objective { weight: Rate::from_mbit(mbit), members },
            }
        }).collect();
        let links: Vec<LinkId> = network.links().map(|(link, _)| link).collect();
        prop_assert!(ledger(&network, HoseCharge::Split).has_tiers());
        let failed: Vec<LinkId> = failed.iter().map(|index| *index.get(&links)).collect();
        compare_with_tiers(&network, HoseCharge::Split, &shares, &[])?;
        compare_with_tiers(&network, HoseCharge::Split, &shares, &failed)?;
    }
}

/// Compares promises, delays and certainty on every link of both forms; within 1 bit/s for a number of links that has a large prime factor.
fn compare_with_tiers(
    network: &Arc<Network>,
    charge: HoseCharge,
    shares: &[ReservedShare],
    closed: &[LinkId],
) -> Result<(), TestCaseError> {
    let mut tiers = ledger(network, charge);
    if !tiers.has_tiers() {
        return Ok(());
    }
    let mut links = ledger(network, charge).without_tiers();
    let (one, other) = (tiers.clone(), links.clone());
    let mut held = Vec::new();
    for share in shares {
        prop_assert_eq!(tiers.share_denial(share).is_none(), links.share_denial(share).is_none());
        held.push((tiers.reserve_share(share.clone()).unwrap(), links.reserve_share(share.clone()).unwrap()));
    }
    tiers.turn(closed, true);
    links.turn(closed, true);
    for (link, described) in network.links() {
        for class in [Class::Guaranteed, Class::Objective] {
            let [a, b] = [&tiers, &links].map(|ledger| ledger.promised_to(link, class).bits_per_second());
            prop_assert!(a.abs_diff(b) <= 1, "{} {class:?}: {a} and {b}", described.name);
        }
        prop_assert_eq!(tiers.pairs_on(link), links.pairs_on(link), "{}", &described.name);
        prop_assert_eq!(tiers.shared_link(link), links.shared_link(link), "{}", &described.name);
    }
    for share in shares {
        prop_assert_eq!(tiers.is_proven(share), links.is_proven(share));
        prop_assert_eq!(tiers.is_parted(share), links.is_parted(share));
        prop_assert_eq!(tiers.share_paths(share), links.share_paths(share));
    }
    tiers.turn(closed, false);
    links.turn(closed, false);
    for (a, b) in held {
        tiers.release_share(a).unwrap();
        links.release_share(b).unwrap();
    }
    prop_assert!(tiers == one && links == other);
    Ok(())
}
