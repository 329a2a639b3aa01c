//! Policies: trees of services at contention points, with the examples of Parley, section 3.1.

use std::num::NonZeroU16;

use wayleave_contracts::{
    Bandwidth, ContentionPoint, Direction, Match, PacketFields, PerDirection, Policy, PolicyFault, PolicyLevel,
    Protocol, ServiceSpec, TimedTerms,
};
use wayleave_sharing::{MAX_RATE, Shares};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, WallTime};

fn gbit(rate: u64) -> Rate {
    Rate::from_gbit(rate)
}

/// Two racks of four hosts with 10 Gbit/s each, and 2 x 10 Gbit/s from each rack.
fn network() -> Network {
    let cabling = Cabling { rate: gbit(10), ..Cabling::default() };
    build::leaf_spine(&LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, cabling, ..LeafSpine::default() }).unwrap()
}

fn host(network: &Network, index: usize) -> NodeId {
    network.hosts().nth(index).unwrap()
}

fn rack(network: &Network) -> NodeId {
    network.link(network.links_from(host(network, 0))[0]).to
}

fn both(min: u64, max: Option<u64>) -> PerDirection<Bandwidth> {
    let min = (min > 0).then(|| gbit(min));
    let bandwidth = Bandwidth { min, max: max.map(gbit), weight: None };
    PerDirection { transmit: bandwidth, receive: bandwidth }
}

fn to_port(port: u16) -> Option<Match> {
    let destination_port = NonZeroU16::new(port);
    Some(Match { protocol: Some(Protocol::TCP), destination_port, ..Match::default() })
}

fn service(name: &str, port: u16) -> ServiceSpec {
    ServiceSpec { name: name.to_owned(), filter: to_port(port), ..ServiceSpec::default() }
}

fn part(name: &str, parent: &str) -> ServiceSpec {
    ServiceSpec { name: name.to_owned(), parent: Some(parent.to_owned()), ..ServiceSpec::default() }
}

fn policy(network: &Network, services: Vec<ServiceSpec>) -> Result<Policy, Vec<PolicyFault>> {
    let policy = Policy::new(network, "test", PolicyLevel::Machine, Vec::new(), None, services);
    policy.map_err(|errors| errors.into_iter().map(|error| error.fault).collect())
}

fn only_fault(services: Vec<ServiceSpec>) -> (PolicyFault, String) {
    let [fault]: [PolicyFault; 1] = policy(&network(), services).unwrap_err().try_into().unwrap();
    let text = fault.to_string();
    (fault, text)
}

#[test]
fn a_parent_without_a_minimum_has_that_of_its_parts() {
    let network = network();
    let mut hb = ServiceSpec { bandwidth: both(2, None), ..part("hbase", "dfs") };
    hb.endpoints = vec![host(&network, 0)];
    let mut vm = ServiceSpec { bandwidth: both(3, None), ..part("vm", "dfs") };
    vm.endpoints = vec![host(&network, 1)];
    let policy = policy(&network, vec![hb, vm, service("dfs", 50010)]).unwrap();
    assert_eq!(policy.terms(Direction::Transmit, None)[2].min, gbit(5));
    // Of a part that is elsewhere nothing is needed here.
    let here = ContentionPoint::Machine(host(&network, 0));
    let point = policy.point_tree(&network, here, Direction::Receive, None, None).unwrap();
    assert_eq!(point.services.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(policy.path(0), "dfs:hbase");
    assert_eq!(policy.order(), [2, 0, 1]);
}

#[test]
fn a_parent_must_guarantee_the_minima_of_its_parts() {
    let parts = || vec![ServiceSpec { bandwidth: both(2, None), ..part("a", "s") }];
    let parent = |min, max| ServiceSpec { bandwidth: both(min, max), ..service("s", 80) };
    let (_, text) = only_fault([parts(), vec![parent(1, None)]].concat());
    assert_eq!(
        text,
        "the services below it are guaranteed 2Gbit to transmit together, and it is guaranteed 1Gbit: raise min to 2Gbit, \
         leave it out, or lower theirs"
    );
    let (_, text) = only_fault([parts(), vec![parent(0, Some(1))]].concat());
    assert_eq!(text, "the maximum 1Gbit to transmit is below the minimum 2Gbit: raise max or lower min");
    assert!(policy(&network(), [parts(), vec![parent(2, Some(2))]].concat()).is_ok());
}

#[test]
fn a_change_that_breaks_the_rule_is_an_error_with_its_time() {
    let at: WallTime = "2027-01-01T00:00:00Z".parse().unwrap();
    let change = TimedTerms { at, bandwidth: both(3, None) };
    let parent = ServiceSpec { bandwidth: both(2, None), ..service("s", 80) };
    let child = ServiceSpec { bandwidth: both(1, None), changes: vec![change], ..part("a", "s") };
    let (fault, text) = only_fault(vec![parent.clone(), child.clone()]);
    assert_eq!(fault.field(), "changes");
    assert!(text.contains("guaranteed 3Gbit to transmit together from 2027-01-01T00:00:00Z on"), "{text}");
    // With the parent changed at the same time it is right, and each has its time.
    let parent = ServiceSpec { changes: vec![change], ..parent };
    let valid = policy(&network(), vec![parent.clone(), child]).unwrap();
    let min = |now| valid.terms(Direction::Receive, now)[1].min;
    let before: WallTime = "2026-12-31T23:59:59Z".parse().unwrap();
    assert_eq!([min(None), min(Some(before)), min(Some(at))], [gbit(1), gbit(1), gbit(3)]);
    let twice = ServiceSpec { changes: vec![change, change], ..parent };
    assert!(matches!(only_fault(vec![twice]).0, PolicyFault::ChangeOrder(_)));
}

#[test]
fn loops_unknown_parents_and_names_are_errors() {
    let (fault, text) = only_fault(vec![part("a", "b"), part("b", "c"), part("c", "b"), service("d", 80)]);
    assert!(matches!(fault, PolicyFault::Loop(_)));
    assert_eq!(text, "services are parts of one another: b < c < b; one of them needs another parent");
    assert_eq!(
        only_fault(vec![part("a", "a")]).1.split(';').next().unwrap(),
        "services are parts of one another: a < a"
    );
    assert_eq!(only_fault(vec![part("a", "z")]).1, "no service \"z\" in this policy");
    assert_eq!(only_fault(vec![service("a", 80), service("a", 81)]).0, PolicyFault::SameName);
    assert!(only_fault(vec![service("a:b", 80)]).1.starts_with("this is not a name of a service"));
}

#[test]
fn no_packet_belongs_to_two_services() {
    let network = network();
    let (_, text) = only_fault(vec![service("a", 80), service("b", 80)]);
    assert_eq!(
        text,
        "a packet could belong to \"a\" as well: give both a match or endpoints that no packet shares, or make one the \
         parent of the other"
    );
    let at = |name: &str, hosts: &[usize]| {
        let endpoints = hosts.iter().map(|&index| host(&network, index)).collect();
        ServiceSpec { endpoints, filter: None, ..service(name, 80) }
    };
    assert!(policy(&network, vec![at("a", &[0, 1]), at("b", &[2, 3])]).is_ok());
    assert!(only_fault(vec![at("a", &[0, 1]), at("b", &[1, 3])]).1.starts_with("a packet at h2 could"));
    assert!(only_fault(vec![at("a", &[0, 1]), service("b", 80)]).1.starts_with("a packet at h1 could"));
    let parent = at("s", &[0, 1]);
    let child = ServiceSpec { parent: Some("s".to_owned()), ..at("t", &[1, 2]) };
    assert_eq!(only_fault(vec![parent, child]).1, "h3 is not an endpoint of \"s\": add it there, or remove it here");
    let child = ServiceSpec { parent: Some("s".to_owned()), ..service("t", 81) };
    let (_, text) = only_fault(vec![service("s", 80), child]);
    assert_eq!(text, "no packet of \"s\" can be meant: its match and this one contradict one another");
    let v6 = Some(Match { source_address: Some("::1".parse().unwrap()), ..Match::default() });
    let v4 = Some(Match { destination_address: Some("10.0.0.1".parse().unwrap()), ..Match::default() });
    let [a, b] = [("a", v4), ("b", v6)].map(|(name, filter)| ServiceSpec { filter, ..service(name, 80) });
    assert!(policy(&network, vec![a, b]).is_ok(), "no packet has addresses of both families");
}

#[test]
fn a_packet_is_charged_to_the_innermost_service_of_each_end() {
    let network = network();
    let user = Match { source_address: Some("10.0.0.7".parse().unwrap()), ..Match::default() };
    let hb = ServiceSpec { filter: Some(user), tenant: Some("hbase".to_owned()), ..part("hb", "dfs") };
    let inner = part("scan", "hb");
    let dfs = ServiceSpec { endpoints: vec![host(&network, 0)], ..service("dfs", 50010) };
    let policy = policy(&network, vec![dfs, ServiceSpec { filter: to_port(50010), ..inner }, hb]).unwrap();
    let packet = |source: &str, port| PacketFields {
        protocol: Protocol::TCP,
        source_address: source.parse().unwrap(),
        source_port: NonZeroU16::new(40_000),
        destination_address: "10.0.0.1".parse().unwrap(),
        destination_port: NonZeroU16::new(port),
    };
    let at = |index, packet| policy.classify(host(&network, index), &packet);
    assert_eq!(at(0, packet("10.0.0.7", 50010)), Some(1));
    assert_eq!(at(0, packet("10.0.0.8", 50010)), Some(0));
    assert_eq!(at(1, packet("10.0.0.7", 50010)), None);
    assert_eq!(at(0, packet("10.0.0.7", 80)), None);
}

#[test]
fn minima_above_a_capacity_are_refused_with_the_contention_point() {
    let network = network();
    let dfs = |min| ServiceSpec { bandwidth: both(min, None), ..service("dfs", 80) };
    let vms = |min| ServiceSpec { bandwidth: both(min, None), ..service("vms", 81) };
    let of = |level, nodes, peak, services| Policy::new(&network, "p", level, nodes, peak, services).unwrap();
    let fits = of(PolicyLevel::Machine, Vec::new(), None, vec![dfs(6), vms(4)]);
    assert_eq!(fits.check_capacity(&network), Ok(()));
    let over = of(PolicyLevel::Machine, Vec::new(), None, vec![dfs(6), vms(5)]).check_capacity(&network).unwrap_err();
    assert_eq!(
        over.to_string(),
        "policy \"p\" guarantees 11 Gbit/s to transmit at machine h1 (h1->leaf1), but only 10 Gbit/s is available"
    );
    let over = of(PolicyLevel::Rack, Vec::new(), None, vec![dfs(16), vms(5)]).check_capacity(&network).unwrap_err();
    assert_eq!(over.point, ContentionPoint::Rack(rack(&network)));
    assert_eq!((over.asked, over.there), (gbit(21), gbit(20)));
    assert!(over.place.starts_with("the uplinks of rack leaf1 (leaf1->"), "{}", over.place);
    // A peak counts as the capacity; and of the fabric there are all uplinks.
    let peak = of(PolicyLevel::Rack, vec![rack(&network)], Some(gbit(15)), vec![dfs(16)]);
    assert_eq!(peak.check_capacity(&network).unwrap_err().there, gbit(15));
    assert_eq!(of(PolicyLevel::Fabric, Vec::new(), None, vec![dfs(40)]).check_capacity(&network), Ok(()));
    assert!(of(PolicyLevel::Fabric, Vec::new(), None, vec![dfs(41)]).check_capacity(&network).is_err());
    // A promise elsewhere does not count here.
    let elsewhere = ServiceSpec { endpoints: vec![host(&network, 3)], ..dfs(6) };
    let here = ServiceSpec { endpoints: vec![host(&network, 0)], ..vms(6) };
    assert_eq!(of(PolicyLevel::Machine, Vec::new(), None, vec![elsewhere, here]).check_capacity(&network), Ok(()));
    // A change counts as well.
    let at = "2027-01-01T00:00:00Z".parse().unwrap();
    let later = ServiceSpec { changes: vec![TimedTerms { at, bandwidth: both(12, None) }], ..dfs(6) };
    let over = of(PolicyLevel::Machine, Vec::new(), None, vec![later]).check_capacity(&network).unwrap_err();
    assert_eq!((over.at, over.asked), (Some(at), gbit(12)));
}

#[test]
fn nodes_of_the_wrong_kind_are_errors() {
    let network = network();
    let wrong = |level, node| {
        let errors = Policy::new(&network, "p", level, vec![node], None, vec![service("a", 80)]).unwrap_err();
        errors[0].fault.to_string()
    };
    assert_eq!(wrong(PolicyLevel::Machine, rack(&network)), "leaf1 is a switch: a policy of machines names hosts");
    assert!(wrong(PolicyLevel::Rack, host(&network, 0)).starts_with("h1 has no hosts below it"));
    assert!(wrong(PolicyLevel::Fabric, rack(&network)).ends_with("leave out nodes"));
}

/// Section 3.1: ten jobs with at most 1 Gbit/s on each machine, and at most 5 Gbit/s in the rack; here four machines and 2 Gbit/s.
#[test]
fn the_most_constrained_policy_decides() {
    let network = network();
    let job = |max| ServiceSpec { bandwidth: both(0, Some(max)), ..service("jobs", 80) };
    let of = |level, max| Policy::new(&network, "p", level, Vec::new(), None, vec![job(max)]).unwrap();
    let (machine, racks) = (of(PolicyLevel::Machine, 1), of(PolicyLevel::Rack, 2));
    let here = ContentionPoint::Rack(rack(&network));
    let point = racks.point_tree(&network, here, Direction::Transmit, None, Some(&machine)).unwrap();
    assert_eq!(point.capacity, gbit(20));
    let jobs: Vec<_> = point.leaves.iter().filter(|leaf| leaf.service == Some(0)).collect();
    assert_eq!(
        jobs.iter().map(|leaf| leaf.at).collect::<Vec<_>>(),
        [0, 1, 2, 3].map(|index| Some(host(&network, index)))
    );
    let mut demands = vec![Rate::ZERO; point.tree.len()];
    let mut shares = Shares::default();
    let mut share_of = |active: &[usize]| {
        demands.fill(Rate::ZERO);
        active.iter().for_each(|&job| demands[jobs[job].node.index()] = MAX_RATE);
        shares.compute(&point.tree, point.capacity, &demands);
        shares.share(jobs[0].node)
    };
    assert_eq!(share_of(&[0, 1, 2, 3]), Rate::from_mbit(500));
    assert_eq!(share_of(&[0]), gbit(1));
}
