//! Shapes of built networks, and refusals of a builder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use wayleave_topology::builders::{Cabling, Chain, FatTree, LeafSpine, build, testbeds};
use wayleave_topology::{
    Hop, HopDistances, LinkSpec, Network, NetworkBuilder, NetworkError, Node, NodeKind, PortSpec, Route, RouteError,
};
use wayleave_units::{Bytes, Rate, Time};

fn shape(network: &Network) -> (usize, usize, usize) {
    (network.switches().count(), network.hosts().count(), network.links().count())
}

#[test]
fn a_fat_tree_has_its_textbook_sizes() {
    for k in [2, 4, 6, 8] {
        let network = build::fat_tree(&FatTree { k, ..FatTree::default() }).unwrap();
        let (k, hosts) = (k as usize, (k * k * k / 4) as usize);
        assert_eq!(shape(&network), (5 * k * k / 4, hosts, 2 * 3 * hosts), "k = {k}");
    }
}

#[test]
fn the_scalability_study_has_17280_servers_at_k_12() {
    let network = build::fat_tree(&FatTree { k: 12, hosts_per_edge: Some(240), ..FatTree::default() }).unwrap();
    assert_eq!(network.hosts().count(), 17_280);
}

#[test]
fn every_pair_of_pods_has_k_half_squared_shortest_paths() {
    let network = build::fat_tree(&FatTree::default()).unwrap();
    let (from, to) = (network.find_node("h1").unwrap(), network.find_node("h16").unwrap());
    let distances = HopDistances::to(&network, to);
    assert_eq!(distances.from(from), Some(6));
    // Up: 1 + 2 + 4, down: 4 + 2 + 1.
    assert_eq!(distances.shortest_path_links(&network, from).len(), 14);
}

#[test]
fn no_shortest_path_leads_through_a_host_with_two_links() {
    let mut builder = NetworkBuilder::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
    let [from, bridge, to] = ["from", "bridge", "to"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
    for (x, y) in [(from, a), (a, bridge), (bridge, b), (a, c), (c, b), (b, to)] {
        let port = PortSpec::uniform(1, Bytes::new(1000));
        let (rate, mtu) = (Rate::from_gbit(1), Bytes::new(1500));
        let spec = LinkSpec { from: x, to: y, rate, propagation: Time::ZERO, mtu, port: port.clone() };
        builder.add_cable(spec, port).unwrap();
    }
    let network = builder.build();
    let links = HopDistances::to(&network, to).shortest_path_links(&network, from);
    let names: Vec<_> = links.iter().map(|&link| network.link(link).name.as_str()).collect();
    assert_eq!(names, ["from->a", "a->c", "c->b", "b->to"]);
}

#[test]
fn parallel_links_have_distinct_names() {
    let network = build::leaf_spine(&LeafSpine { parallel: 3, ..LeafSpine::default() }).unwrap();
    for name in ["leaf1->spine1", "leaf1->spine1#2", "leaf1->spine1#3", "spine2->leaf4#3"] {
        let id = network.find_link(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(network.link(id).name, name);
    }
}

/// uFAB, 5.1: 512 servers, 32 or 16 core switches for 1:1 or 1:2. Pods of 4 edge and 4 aggregation switches that are joined twice have 32 hosts and
/// 32 links upwards of aggregation switches, or 16.
#[test]
fn a_fat_tree_may_have_other_pods_and_cores_and_parallel_links() {
    for (cores_per_aggregation, cores) in [(8, 32), (4, 16)] {
        let network = build::fat_tree(&FatTree {
            k: 8,
            pods: Some(16),
            cores_per_aggregation: Some(cores_per_aggregation),
            parallel: 2,
            hosts_per_edge: Some(8),
            ..FatTree::default()
        })
        .unwrap();
        assert_eq!((network.hosts().count(), network.switches().count()), (512, 16 * 8 + cores));
        let up_of_pod = |from: &str, to: &str| {
            let ends = |link: &wayleave_topology::Link| [link.from, link.to].map(|node| &network.node(node).name);
            let is_up = |link: &&wayleave_topology::Link| {
                let [one, other] = ends(link);
                one.starts_with(from) && other.starts_with(to)
            };
            network.links().map(|(_, link)| link).filter(is_up).count()
        };
        assert_eq!(up_of_pod("pod3-edge", "pod3-agg"), 32);
        assert_eq!(up_of_pod("pod3-agg", "core"), 4 * cores_per_aggregation as usize);
    }
    let broken = FatTree { parallel: 0, ..FatTree::default() };
    assert!(matches!(build::fat_tree(&broken), Err(NetworkError::Parameter { name: "parallel links", .. })));
}

#[test]
fn the_testbeds_of_the_texts_have_the_sizes_that_the_texts_give() {
    let sizes = |name| {
        let network = testbeds::by_name(name).unwrap().unwrap();
        (network.switches().count(), network.hosts().count())
    };
    assert_eq!(sizes("chameleon-testbed"), (10, 8));
    assert_eq!(sizes("ufab-testbed"), (10, 8));
    assert_eq!(sizes("parley-testbed"), (11, 90));
    assert_eq!(sizes("scc-testbed"), (1, 16));
    assert_eq!(sizes("scc-oversubscribed"), (5, 120));
    assert!(testbeds::ALL.iter().all(|(name, _)| testbeds::by_name(name).is_some_and(|built| built.is_ok())));
}

/// 8 paths of 6 links: 2 aggregation switches here, 2 cores, 2 aggregation switches there. A full frame and an acknowledgement take 24 us.
#[test]
fn the_ufab_testbed_joins_pods_by_both_cores_at_the_published_round_trip() {
    let network = testbeds::by_name("ufab-testbed").unwrap().unwrap();
    let (from, to) = (network.find_node("h1").unwrap(), network.find_node("h8").unwrap());
    let distances = HopDistances::to(&network, to);
    let links = distances.shortest_path_links(&network, from);
    assert_eq!((distances.from(from), links.len()), (Some(6), 1 + 2 + 4 + 4 + 2 + 1));
    let link = network.link(links[0]);
    let on_the_wire = |bytes: u64| bytes * 8 * 1_000_000_000 / link.rate.bits_per_second();
    let round_trip = 6 * (on_the_wire(1_538) + on_the_wire(84)) + 12 * link.propagation.as_nanos();
    assert!(round_trip.abs_diff(24_000) <= 12, "{round_trip} ns");
}

#[test]
fn links_to_switches_precede_links_to_hosts() {
    let network = build::ring(&Chain { switches: 5, hosts_per_switch: 3, ..Chain::default() }).unwrap();
    for node in network.switches() {
        let kinds: Vec<_> = network.links_from(node).iter().map(|&l| network.node(network.link(l).to).kind).collect();
        assert_eq!(kinds, [vec![NodeKind::Switch; 2], vec![NodeKind::Host; 3]].concat());
        assert_eq!(network.links_to_switches(node).len(), 2);
        assert_eq!(network.links_from_switches(node).len(), 2);
    }
}

#[test]
fn a_builder_refuses_an_invalid_network() {
    let mut builder = NetworkBuilder::default();
    let a = builder.add_node("a", NodeKind::Switch).unwrap();
    let b = builder.add_node("b", NodeKind::Host).unwrap();
    let c = builder.add_node("c", NodeKind::Host).unwrap();
    assert_eq!(builder.add_node("a", NodeKind::Host), Err(NetworkError::DuplicateNode("a".into())));
    assert_eq!(builder.add_node("a->b", NodeKind::Host), Err(NetworkError::BadName("a->b".into())));
    let (name, kind, processing) = ("slow".to_owned(), NodeKind::Switch, Time::ZERO);
    let slow = Node { name, kind, processing, jitter: Time::from_millis(10_001) };
    assert!(matches!(builder.add(slow), Err(NetworkError::SlowNode { .. })));
    let spec = |from, to, rate, queues| LinkSpec {
        from,
        to,
        rate,
        propagation: Time::ZERO,
        mtu: Bytes::new(1500),
        port: PortSpec::uniform(queues, Bytes::new(1)),
    };
    let gbit = Rate::from_gbit(1);
    assert_eq!(builder.add_link(spec(a, a, gbit, 1)), Err(NetworkError::SelfLoop("a".into())));
    assert_eq!(builder.add_link(spec(b, c, gbit, 1)), Err(NetworkError::HostToHost("b".into(), "c".into())));
    assert_eq!(builder.add_link(spec(a, b, Rate::ZERO, 1)), Err(NetworkError::ZeroRate("a->b".into())));
    let too_fast = Rate::from_bits_per_second(Rate::MAX.bits_per_second() + 1);
    assert!(matches!(builder.add_link(spec(a, b, too_fast, 1)), Err(NetworkError::FastRate { .. })));
    assert!(matches!(builder.add_link(spec(a, b, gbit, 0)), Err(NetworkError::QueueCount { .. })));
    assert!(matches!(builder.add_link(spec(a, b, gbit, 9)), Err(NetworkError::QueueCount { .. })));
    assert!(matches!(build::fat_tree(&FatTree { k: 5, ..FatTree::default() }), Err(NetworkError::Parameter { .. })));
    let huge = LeafSpine { leaves: 100_000, spines: 100_000, ..LeafSpine::default() };
    assert!(matches!(build::leaf_spine(&huge), Err(NetworkError::TooLarge)));
    assert!(matches!(build::ring(&Chain { switches: 2, ..Chain::default() }), Err(NetworkError::Parameter { .. })));
}

#[test]
fn a_route_is_checked_hop_by_hop() {
    let network = build::star(3, Cabling::default()).unwrap();
    let node = |name| network.find_node(name).unwrap();
    let hop = |name, queue| Hop { link: network.find_link(name).unwrap(), queue };
    let check = |hops: Vec<Hop>| Route { hops }.validate(&network, node("h1"), node("h2"));
    assert_eq!(check(vec![hop("h1->s1", 0), hop("s1->h2", 7)]), Ok(()));
    assert_eq!(check(vec![]), Err(RouteError::Empty));
    assert!(matches!(check(vec![hop("s1->h2", 0)]), Err(RouteError::Broken { hop: 0, .. })));
    assert!(matches!(check(vec![hop("h1->s1", 0), hop("s1->h3", 0)]), Err(RouteError::WrongEnd { .. })));
    assert!(matches!(check(vec![hop("h1->s1", 0), hop("s1->h1", 0)]), Err(RouteError::Loop(_))));
    assert!(matches!(
        check(vec![hop("h1->s1", 1), hop("s1->h2", 0)]),
        Err(RouteError::NoQueue { queue: 1, queues: 1, .. })
    ));
    assert!(matches!(
        check(vec![hop("h1->s1", 0), hop("s1->h3", 0), hop("h3->s1", 0), hop("s1->h2", 0)]),
        Err(RouteError::ThroughHost(_))
    ));
}

#[test]
fn a_cable_is_two_directions_and_parallel_cables_are_several() {
    let network = build::leaf_spine(&LeafSpine { parallel: 2, ..LeafSpine::default() }).unwrap();
    for (id, link) in network.links() {
        let back = network.reverse(id).unwrap();
        let (from, to) = (network.link(back).from, network.link(back).to);
        assert_eq!((from, to, network.reverse(back)), (link.to, link.from, Some(id)));
        assert_eq!(network.cable(id), network.cable(back));
    }
    let cables: std::collections::BTreeSet<_> = network.links().map(|(id, _)| network.cable(id)).collect();
    assert_eq!(2 * cables.len(), network.links().len());
}

#[test]
fn separate_directions_are_paired_as_one_cable() {
    let mut builder = NetworkBuilder::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
    let port = PortSpec::uniform(1, Bytes::new(9000));
    let mut link = |from, to| {
        let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(1500));
        builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port: port.clone() }).unwrap()
    };
    let (there, other, back) = (link(a, b), link(b, c), link(b, a));
    let (_, single) = (link(c, a), link(a, b));
    let network = builder.build();
    assert_eq!((network.reverse(there), network.reverse(back)), (Some(back), Some(there)));
    assert_eq!((network.reverse(other), network.reverse(single)), (None, None));
    assert_eq!(network.cable(single), single);
}
