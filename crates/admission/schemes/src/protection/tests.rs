//! Worked examples (one link, several links, a trap), and random networks against a search that tries everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{RequestMix, WireOverhead};
use wayleave_ledger::{Ledger, Model};
use wayleave_scheme_api::{Admission, Binding, Decision, Refusal, RefusalCode, Request};
use wayleave_topology::builders::{Cabling, Chain, FatTree, LeafSpine, build};
use wayleave_topology::{
    FailureElement, FlowId, LinkId, LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec, Route,
};
use wayleave_units::{Bytes, Rate, Time};

use super::disjoint::{self, Disjoint};
use super::{Detached, shared};
use crate::admission::chameleon::{Chameleon, Moves, Params, Rerouting};
use crate::admission::silo::{self, Silo};

fn request(network: &Network, from: &str, to: &str, protection: u8) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(10),
        burst: Bytes::new(1000),
        deadline: Time::from_millis(50),
        max_frame: None,
        route: None,
        protection,
    }
}

/// Cables between these nodes, with eight queues at every port; those whose names begin with h are hosts.
fn plan(cables: &[(&str, &str)]) -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    for (a, b) in cables {
        let [from, to] = [a, b].map(|name| {
            let kind = if name.starts_with('h') { NodeKind::Host } else { NodeKind::Switch };
            builder.find_node(name).unwrap_or_else(|| builder.add_node(name, kind).unwrap())
        });
        let port = PortSpec::uniform(8, Bytes::new(97_000));
        let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(1500));
        builder.add_cable(LinkSpec { from, to, rate, propagation, mtu, port: port.clone() }, port).unwrap();
    }
    Arc::new(builder.build())
}

fn chameleon(network: &Arc<Network>) -> Chameleon {
    // By least delay: these tests define the fastest routes.
    Chameleon::new(network.clone(), Model::default(), Params::published()).unwrap()
}

fn with_tags(network: &Arc<Network>, tags: u32) -> Chameleon {
    let model = Model::default().with_overhead(WireOverhead::Counted { tags });
    Chameleon::new(network.clone(), model, Params::published()).unwrap()
}

fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}

fn names<'n>(network: &'n Network, elements: &[FailureElement]) -> Vec<&'n str> {
    elements.iter().map(|&element| network.element_name(element)).collect()
}

fn shared_names<'n>(network: &'n Network, decision: &Decision) -> Vec<&'n str> {
    names(network, &shared(network, &routes(decision)))
}

#[test]
fn hosts_with_one_link_share_only_that_link_and_its_switch() {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let mut scheme = chameleon(&network);
    let decision = scheme.admit(&request(&network, "h1", "h16", 2)).unwrap();
    assert_eq!(routes(&decision).len(), 2);
    let expected = ["h1->pod1-edge1", "pod1-edge1", "pod4-edge2", "pod4-edge2->h16"];
    assert_eq!(shared_names(&network, &decision), expected);
    // Both copies are paid for where both pass.
    let ledger = scheme.placement().ledger();
    for link in ["h1->pod1-edge1", "pod4-edge2->h16"] {
        assert_eq!(ledger.reserved(network.find_link(link).unwrap()), Rate::from_mbit(20));
    }
    assert_eq!(scheme.placement().routes_of(decision.copies[0].flow), [decision.flow, decision.copies[0].flow]);
}

#[test]
fn hosts_with_two_links_share_nothing() {
    let network = plan(&[("ha", "s1"), ("ha", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "hb"), ("s4", "hb")]);
    let mut scheme = chameleon(&network);
    let decision = scheme.admit(&request(&network, "ha", "hb", 2)).unwrap();
    assert_eq!(shared_names(&network, &decision), [""; 0]);
    let refusal = scheme.admit(&request(&network, "ha", "hb", 3)).unwrap_err();
    let Refusal::TooFewDisjoint { asked: 3, most: 2, cut } = refusal else { panic!("{refusal:?}") };
    assert_eq!(names(&network, &cut), ["ha->s1", "ha->s2"]);
}

#[test]
fn two_links_to_one_switch_share_the_switch_alone() {
    let network = plan(&[("ha", "s1"), ("ha", "s1"), ("s1", "s2"), ("s1", "s2"), ("s2", "hb"), ("s2", "hb")]);
    let decision = chameleon(&network).admit(&request(&network, "ha", "hb", 2)).unwrap();
    assert_eq!(shared_names(&network, &decision), ["s1", "s2"]);
    let links: BTreeSet<LinkId> = routes(&decision).iter().flat_map(|r| &r.hops).map(|hop| hop.link).collect();
    assert_eq!(links.len(), 6);
}

/// Returns a network with two paths between two hosts; the links of one have this MTU.
fn with_narrow_path(mtu: u64) -> Arc<Network> {
    let wide = plan(&[("ha", "s1"), ("ha", "s2"), ("s1", "hb"), ("s2", "hb")]);
    let mut builder = NetworkBuilder::default();
    for (_, node) in wide.nodes() {
        builder.add(node.clone()).unwrap();
    }
    for (id, link) in wide.links() {
        let mtu = Bytes::new(if link.name.contains("s2") { mtu } else { 9000 });
        let port = PortSpec { queues: wide.queues(id).to_vec() };
        let (rate, propagation) = (link.rate, link.propagation);
        builder.add_link(LinkSpec { from: link.from, to: link.to, rate, propagation, mtu, port }).unwrap();
    }
    Arc::new(builder.build())
}

#[test]
fn a_protected_contract_sends_only_frames_that_all_its_routes_carry() {
    let largest = |mtu, max_frame| {
        let network = with_narrow_path(mtu);
        let mut scheme = chameleon(&network);
        let asked = Request { max_frame, burst: Bytes::new(20_000), ..request(&network, "ha", "hb", 2) };
        let decision = scheme.admit(&asked).unwrap();
        let flows = std::iter::once(decision.flow).chain(decision.copies.iter().map(|copy| copy.flow));
        let held: Vec<_> = flows.map(|flow| scheme.placement().ledger().flow(flow).unwrap().demand.max_frame).collect();
        assert_eq!(held[0], held[1], "copies are of one size");
        held[0].map(Bytes::get)
    };
    // 1,500 B and a header, with the tags of one switch and of the sequence number: 1500 + 14 + 8 + 24.
    assert_eq!([largest(1500, None), largest(9000, None)], [Some(1546), None]);
    assert_eq!(largest(1500, Some(Bytes::new(1000))), Some(1000));
    let network = with_narrow_path(1500);
    let jumbo =
        Request { max_frame: Some(Bytes::new(5000)), burst: Bytes::new(20_000), ..request(&network, "ha", "hb", 2) };
    assert!(chameleon(&network).admit(&jumbo).is_err(), "one way does not carry it");
}

/// Copies have a tag for each switch and one for the sequence number, and bytes are counted for as many tags as the model has.
#[test]
fn a_protected_route_leaves_a_tag_for_the_sequence_number() {
    let cables: Vec<(String, String)> = ["a", "b"]
        .iter()
        .flat_map(|path| {
            let switches = (1..=6).map(|number| format!("{path}{number}"));
            let nodes: Vec<String> = ["h1".to_owned()].into_iter().chain(switches).chain(["h2".to_owned()]).collect();
            nodes.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect::<Vec<_>>()
        })
        .collect();
    let network = plan(&cables.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>());
    let admit = |tags, protection| {
        let mut scheme = with_tags(&network, tags);
        let admitted = scheme.admit(&request(&network, "h1", "h2", protection)).map(|_| ());
        if admitted.is_err() {
            assert_eq!(scheme.placement().ledger().flows().count(), 0, "nothing is left behind");
        }
        admitted
    };
    assert_eq!((admit(6, 1), admit(7, 2)), (Ok(()), Ok(())));
    let refusal = Box::new(Refusal::TooManySwitches { limit: 5 });
    assert_eq!(admit(6, 2), Err(Refusal::Copy { copy: 1, of: 2, refusal }));
}

/// Returns a network whose shortest path from s to t passes b and c, which the two paths a-b-d and e-c-f need
/// (Suurballe 1974, Fig. 1).
fn trap() -> Arc<Network> {
    plan(&[
        ("h1", "s"),
        ("s", "b"),
        ("b", "c"),
        ("c", "t"),
        ("s", "e"),
        ("e", "e2"),
        ("e2", "c"),
        ("b", "d"),
        ("d", "d2"),
        ("d2", "t"),
        ("t", "h2"),
    ])
}

#[test]
fn a_trap_topology_is_solved_by_choosing_both_paths_together() {
    let network = trap();
    let mut scheme = chameleon(&network);
    let alone = scheme.admit(&request(&network, "h1", "h2", 1)).unwrap();
    let name = |hop: &wayleave_topology::Hop| network.link(hop.link).name.clone();
    let shortest: Vec<String> = alone.route.hops.iter().map(name).collect();
    assert_eq!(shortest, ["h1->s", "s->b", "b->c", "c->t", "t->h2"]);
    let decision = scheme.admit(&request(&network, "h1", "h2", 2)).unwrap();
    assert_eq!(shared_names(&network, &decision), ["h1->s", "s", "t", "t->h2"]);
    assert!(routes(&decision).iter().all(|route| route.hops.len() == 6));
}

#[test]
fn routes_that_cross_in_a_switch_are_not_disjoint() {
    // Two short paths share the switch m and no cable; a longer one avoids it.
    let network = plan(&[
        ("h1", "s"),
        ("s", "a"),
        ("a", "m"),
        ("m", "b"),
        ("b", "t"),
        ("s", "c"),
        ("c", "m"),
        ("m", "d"),
        ("d", "t"),
        ("s", "e"),
        ("e", "f"),
        ("f", "g"),
        ("g", "k"),
        ("k", "t"),
        ("t", "h2"),
    ]);
    // One path has six switches.
    let mut scheme = with_tags(&network, 7);
    let decision = scheme.admit(&request(&network, "h1", "h2", 2)).unwrap();
    assert_eq!(shared_names(&network, &decision), ["h1->s", "s", "t", "t->h2"]);
    assert_eq!(routes(&decision).iter().map(|route| route.hops.len()).collect::<Vec<_>>(), [7, 6]);
}

#[test]
fn the_promise_is_that_of_the_longest_route() {
    let network = plan(&[("h1", "s"), ("s", "t"), ("s", "a"), ("a", "t"), ("t", "h2")]);
    let mut scheme = chameleon(&network);
    let decision = scheme.admit(&request(&network, "h1", "h2", 2)).unwrap();
    let bounds = routes(&decision).iter().map(|route| scheme.placement().bound(route)).collect::<Vec<_>>();
    assert!(bounds[0] > bounds[1]);
    assert_eq!((decision.bound, scheme.placement().promised(decision.flow)), (bounds[0], Some(bounds[0])));
    // A deadline that the shorter one meets alone is not met.
    let late = Request { deadline: bounds[1], ..request(&network, "h1", "h2", 2) };
    let Refusal::Copy { copy: 2, of: 2, refusal } = scheme.admit(&late).unwrap_err() else { panic!("two routes") };
    assert_eq!(refusal.reason(), RefusalCode::Latency);
    assert!(scheme.admit(&Request { protection: 1, ..late }).is_ok());
}

#[test]
fn too_few_routes_are_refused_with_the_cut_between_the_hosts() {
    let line = Arc::new(build::line(&Chain { switches: 3, ..Chain::default() }).unwrap());
    let spines = Arc::new(build::leaf_spine(&LeafSpine { spines: 2, ..LeafSpine::default() }).unwrap());
    let star = Arc::new(build::star(3, Cabling::default()).unwrap());
    type Case<'a> = (&'a Arc<Network>, [&'a str; 2], u8, u8, &'a [&'a str]);
    let cases: [Case<'_>; 4] = [
        (&line, ["h1", "h3"], 2, 1, &["s1->s2"]),
        (&spines, ["h1", "h16"], 3, 2, &["leaf1->spine1", "leaf1->spine2"]),
        (&star, ["h1", "h2"], 2, 1, &["s1"]),
        (&trap(), ["h1", "h2"], 4, 2, &["s->b", "s->e"]),
    ];
    for (network, [from, to], asked, most, expected) in cases {
        let mut scheme = chameleon(network);
        let empty = scheme.placement().ledger().clone();
        let refusal = scheme.admit(&request(network, from, to, asked)).unwrap_err();
        assert_eq!(refusal.reason(), RefusalCode::NoPath);
        let Refusal::TooFewDisjoint { asked: a, most: m, cut } = refusal else { panic!("{refusal:?}") };
        assert_eq!((a, m, names(network, &cut).as_slice()), (asked, most, expected));
        assert!(*scheme.placement().ledger() == empty);
    }
}

#[test]
fn a_host_link_with_capacity_for_one_copy_refuses_the_second() {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let mut scheme = chameleon(&network);
    let large = Request { rate: Rate::from_mbit(600), ..request(&network, "h1", "h16", 2) };
    let refusal = scheme.admit(&large).unwrap_err();
    assert_eq!(refusal.reason(), RefusalCode::Rate);
    let Refusal::Copy { copy: 2, of: 2, refusal } = refusal else { panic!("{refusal:?}") };
    let Refusal::Blocked { binding: Binding::Rate { link, left, .. }, .. } = *refusal else { panic!("{refusal:?}") };
    assert_eq!((network.link(link).name.as_str(), left), ("h1->pod1-edge1", Rate::from_mbit(400)));
    assert!(scheme.admit(&Request { protection: 1, ..large }).is_ok());
}

#[test]
fn a_full_link_is_avoided_when_paths_are_chosen_together() {
    // Two disjoint pairs; in the one that is shorter by a link, b->c admits no flow.
    let network = plan(
        &[("h1", "s"), ("s", "b"), ("b", "c"), ("c", "t"), ("s", "t"), ("b", "d"), ("d", "d2"), ("d2", "t")]
            .into_iter()
            .chain([("t", "h2"), ("h3", "b"), ("h4", "c")])
            .collect::<Vec<_>>(),
    );
    let mut scheme = chameleon(&network);
    scheme.admit(&Request { rate: Rate::from_mbit(995), ..request(&network, "h3", "h4", 1) }).unwrap();
    let wanted = request(&network, "h1", "h2", 2);
    let copies = super::along_disjoint_paths(scheme.placement_mut(), &wanted);
    let decision = copies.map_err(|refusal| panic!("{refusal:?}")).unwrap().decide(scheme.placement_mut()).unwrap();
    assert_eq!(routes(&decision).iter().map(|route| route.hops.len()).collect::<Vec<_>>(), [6, 3]);
}

#[test]
fn silo_places_no_disjoint_routes() {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let mut silo = Silo::new(network.clone(), Model::default(), silo::Params::default()).unwrap();
    let protected = request(&network, "h1", "h16", 2);
    assert_eq!(silo.admit(&protected).unwrap_err(), Refusal::NoProtection { scheme: "silo" });
    assert!(!silo.would_admit(&protected));
    assert_eq!(Refusal::NoProtection { scheme: "silo" }.reason(), RefusalCode::Policy);
}

/// The routes of every contract that is admitted share no more than their ends force them to.
fn assert_disjoint(scheme: &Chameleon, contracts: &[(FlowId, Request)]) {
    let (placement, network) = (scheme.placement(), scheme.placement().network());
    for (flow, request) in contracts {
        let flows = placement.routes_of(*flow);
        assert_eq!(flows.len(), usize::from(request.protection));
        let routes: Vec<Route> =
            flows.iter().map(|&flow| placement.ledger().flow(flow).unwrap().route.clone()).collect();
        let ends = Detached::of(network, request.from, request.to);
        for (n, one) in routes.iter().enumerate() {
            for other in &routes[..n] {
                for element in shared(network, &[one.clone(), other.clone()]) {
                    let is_allowed = match element {
                        FailureElement::Cable(link) => ends.is_shared_link(link),
                        FailureElement::Switch(switch) => ends.is_shared_switch(switch),
                    };
                    assert!(is_allowed, "{}", network.element_name(element));
                }
            }
        }
        assert!(placement.promised(*flow).unwrap() <= request.deadline);
    }
}

#[test]
fn routes_stay_disjoint_and_the_ledger_exact_over_any_sequence() {
    let network = Arc::new(build::fat_tree(&FatTree { k: 4, ..FatTree::default() }).unwrap());
    let mut seen = [0_u32; 4];
    for seed in 0..3 {
        println!("seed {seed}");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rerouting = (seed > 0).then(|| Rerouting { moves: Moves::Kept, limit: 5, ..Rerouting::default() });
        let params = Params { rerouting, ..Params::default() };
        let mut scheme = Chameleon::new(network.clone(), Model::default(), params).unwrap();
        let empty = scheme.placement().ledger().clone();
        let mut admitted: Vec<(FlowId, Request)> = Vec::new();
        for contract in RequestMix::new(&network, 8, seed).take(400) {
            let protection = rng.random_range(1..=2);
            let scale = if rng.random_range(0..4) == 0 { 8 } else { 1 };
            let plain = crate::request(&contract, &Model::default());
            let burst = Bytes::new(plain.burst.get() * scale);
            let wanted = Request { protection, burst, ..plain };
            let before = scheme.placement().ledger().clone();
            let choice = if admitted.is_empty() { 0 } else { rng.random_range(0..8) };
            match choice {
                6 => {
                    let (flow, _) = admitted.swap_remove(rng.random_range(0..admitted.len()));
                    scheme.release(flow).unwrap();
                    assert!(scheme.placement().routes_of(flow).is_empty());
                }
                7 => {
                    let at = rng.random_range(0..admitted.len());
                    match scheme.change(admitted[at].0, &wanted).unwrap() {
                        Ok(decision) => admitted[at] = (decision.flow, wanted),
                        Err(_) => assert!(before == *scheme.placement().ledger()),
                    }
                    seen[3] += 1;
                }
                _ => {
                    let would = scheme.would_admit(&wanted);
                    assert!(before == *scheme.placement().ledger());
                    match scheme.admit(&wanted) {
                        Ok(decision) => {
                            assert!(would);
                            seen[usize::from(protection) - 1] += 1;
                            admitted.push((decision.flow, wanted));
                        }
                        Err(_) => {
                            assert!(!would);
                            seen[2] += 1;
                            assert!(protection == 1 || before == *scheme.placement().ledger());
                        }
                    }
                }
            }
        }
        assert_disjoint(&scheme, &admitted);
        assert!(rebuilt(&empty, scheme.placement().ledger()) == *scheme.placement().ledger());
        for (flow, _) in admitted {
            scheme.release(flow).unwrap();
        }
        assert!(*scheme.placement().ledger() == empty);
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

/// Returns a ledger with equal reservations, made in order in an empty ledger.
fn rebuilt(empty: &Ledger, filled: &Ledger) -> Ledger {
    let mut ledger = empty.clone();
    for (_, flow) in filled.flows() {
        ledger.reserve(flow.demand, flow.route.clone());
    }
    ledger
}

/// The most disjoint paths, by trying every set of simple paths.
fn most_disjoint(
    network: &Network,
    detached: &Detached,
    paths: &[Vec<LinkId>],
    closed: &BTreeSet<FailureElement>,
) -> usize {
    let private = |path: &Vec<LinkId>| -> Vec<FailureElement> {
        let route = Route { hops: path.iter().map(|&link| wayleave_topology::Hop { link, queue: 0 }).collect() };
        let own = network.elements(&route).into_iter().filter(|element| match *element {
            FailureElement::Cable(link) => !detached.is_shared_link(link),
            FailureElement::Switch(switch) => !detached.is_shared_switch(switch),
        });
        let cabled = own.map(|element| match element {
            FailureElement::Cable(link) => FailureElement::Cable(network.cable(link)),
            switch @ FailureElement::Switch(_) => switch,
        });
        cabled.collect()
    };
    let mut most = 0;
    for (at, path) in paths.iter().enumerate() {
        let own = private(path);
        if own.iter().all(|element| !closed.contains(element)) {
            let closed = closed.iter().copied().chain(own).collect();
            most = most.max(1 + most_disjoint(network, detached, &paths[at + 1..], &closed));
        }
    }
    most
}

fn simple_paths(
    network: &Network,
    path: &mut Vec<LinkId>,
    visited: &mut Vec<NodeId>,
    to: NodeId,
    all: &mut Vec<Vec<LinkId>>,
) {
    let at = *visited.last().unwrap();
    if at == to {
        all.push(path.clone());
        return;
    }
    for &link in network.links_from(at) {
        let next = network.link(link).to;
        if visited.contains(&next) || (next != to && network.node(next).kind == NodeKind::Host) {
            continue;
        }
        path.push(link);
        visited.push(next);
        simple_paths(network, path, visited, to, all);
        path.pop();
        visited.pop();
    }
}

#[test]
fn the_maximum_number_of_disjoint_paths_is_found() {
    let mut counts = [0_u32; 5];
    for seed in 0..400 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let names = ["s0", "s1", "s2", "s3", "s4", "s5"];
        let mut cables = Vec::new();
        for a in 0..names.len() {
            for b in a + 1..names.len() {
                let parallel = [0, 0, 0, 1, 1, 2][rng.random_range(0..6)];
                cables.extend(vec![(names[a], names[b]); parallel]);
            }
        }
        for host in ["h1", "h2"] {
            for _ in 0..rng.random_range(1..=3) {
                cables.push((host, names[rng.random_range(0..names.len())]));
            }
        }
        let network = plan(&cables);
        let (from, to) = (network.find_node("h1").unwrap(), network.find_node("h2").unwrap());
        let detached = Detached::of(&network, from, to);
        if detached.is_hopeless {
            continue;
        }
        let mut all = Vec::new();
        simple_paths(&network, &mut Vec::new(), &mut vec![from], to, &mut all);
        if all.len() > 60 {
            continue;
        }
        let most = most_disjoint(&network, &detached, &all, &BTreeSet::new());
        for count in 1..=4u8 {
            match disjoint::find(&network, (from, to), &detached, count, |_| Some(1)) {
                Disjoint::Paths(paths) => {
                    assert!(most >= usize::from(count), "seed {seed}");
                    let chosen: Vec<Vec<LinkId>> = paths.clone();
                    assert_eq!(most_disjoint(&network, &detached, &chosen, &BTreeSet::new()), usize::from(count));
                    assert!(paths.iter().all(|path| all.contains(path)), "seed {seed}");
                    assert!(paths.is_sorted_by_key(Vec::len));
                }
                Disjoint::Cut { most: found, cut } => {
                    assert_eq!((usize::from(found), cut.len()), (most, most), "seed {seed}, {count} routes");
                    assert!(most < usize::from(count));
                }
            }
        }
        counts[most.min(4)] += 1;
    }
    assert!(counts[..4].iter().all(|&count| count > 5), "{counts:?}");
}
