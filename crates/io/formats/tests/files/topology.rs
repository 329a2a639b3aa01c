//! Topologies: the explicit form, builders in files and in one line, and writing.

use crate::common::{topology, topology_yaml};
use wayleave_formats::{Source, parse_builder, read_topology, write_topology};
use wayleave_topology::builders::{Cabling, testbeds};
use wayleave_topology::{LinkId, Network, NodeKind, PortQueue};
use wayleave_units::{Bytes, Rate, Time};

fn link(network: &Network, name: &str) -> LinkId {
    network.find_link(name).unwrap_or_else(|| panic!("no link {name}"))
}

fn queue(budget_us: u64, buffer: u64) -> PortQueue {
    let budget = (budget_us > 0).then(|| Time::from_micros(budget_us));
    PortQueue { buffer: Bytes::new(buffer), budget }
}

/// Returns all properties of a network, in order.
fn description(network: &Network) -> Vec<String> {
    let nodes = network.nodes().map(|(id, node)| format!("{id:?} {node:?}"));
    let links = network.links().map(|(id, link)| {
        let (from, to, rate, delay, mtu) = (link.from, link.to, link.rate, link.propagation, link.mtu);
        format!("{id:?} {} {from:?} {to:?} {rate} {delay} {mtu} {:?}", link.name, network.queues(id))
    });
    nodes.chain(links).collect()
}

fn read_back(network: &Network) -> Network {
    let text = write_topology(network, "again");
    let read =
        read_topology(&Source::new("again.yaml", text.clone())).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(read.name, "again");
    read.network
}

#[test]
fn nodes_keep_their_order_kind_and_times() {
    let text = topology_yaml(
        "  nodes:\n    - { name: s1, kind: switch, processing: 1us, jitter: 500ns }\n    - { name: 7, kind: host }",
    );
    let network = topology(&text).unwrap().network;
    let nodes: Vec<_> = network.nodes().map(|(_, node)| node.clone()).collect();
    assert_eq!((nodes[0].name.as_str(), nodes[0].kind), ("s1", NodeKind::Switch));
    assert_eq!((nodes[0].processing, nodes[0].jitter), (Time::from_micros(1), Time::from_nanos(500)));
    assert_eq!((nodes[1].name.as_str(), nodes[1].kind, nodes[1].jitter), ("7", NodeKind::Host, Time::ZERO));
}

#[test]
fn a_link_has_its_own_values_and_otherwise_the_defaults() {
    let network = topology(&topology_yaml(
        "  defaults: { rate: 10Gbit, delay: 1us, mtu: 9000B, queues: 4, buffer: 50kB, budgets: [1ms], hostBudgets: [500us] }
  nodes: [ { name: s1, kind: switch }, { name: s2, kind: switch }, { name: h1, kind: host } ]
  links:
    - { between: [h1, s1], rate: 1Gbit, delay: 100ns, mtu: 1500B }
    - { between: [s1, s2] }",
    ))
    .unwrap()
    .network;
    let up = network.link(link(&network, "h1->s1"));
    assert_eq!((up.rate, up.propagation, up.mtu), (Rate::from_gbit(1), Time::from_nanos(100), Bytes::new(1500)));
    assert_eq!(network.queues(link(&network, "h1->s1")), [queue(500, Bytes::MAX.get())]);
    let four = [queue(1000, 50_000), queue(0, 50_000), queue(0, 50_000), queue(0, 50_000)];
    assert_eq!(network.queues(link(&network, "s1->h1")), four);
    let trunk = network.link(link(&network, "s2->s1"));
    assert_eq!(
        (trunk.rate, trunk.propagation, trunk.mtu),
        (Rate::from_gbit(10), Time::from_micros(1), Bytes::new(9000))
    );
    assert_eq!(network.queues(link(&network, "s2->s1")), four);
}

#[test]
fn queues_are_a_count_or_a_list() {
    let network = topology(&topology_yaml(
        "  nodes: [ { name: a, kind: switch }, { name: b, kind: switch } ]
  links:
    - { between: [a, b], queues: 2 }
    - { between: [a, b], queues: 3 }
    - { between: [a, b], queues: 2, buffer: 1kB, budgets: [1us, 2us] }
    - { between: [a, b], buffer: 1kB }
    - { between: [a, b], queues: [ { budget: 7us }, { buffer: 9B } ] }",
    ))
    .unwrap()
    .network;
    let queues = |name: &str| network.queues(link(&network, name)).to_vec();
    assert_eq!(queues("a->b"), vec![queue(0, 356_000); 2], "the publications' buffer for two queues");
    assert_eq!(queues("a->b#2"), vec![queue(0, 97_000); 3], "no publication has three: the default's");
    assert_eq!(queues("b->a#3"), [queue(1, 1000), queue(2, 1000)]);
    assert_eq!(queues("a->b#4"), vec![queue(0, 1000); 8]);
    assert_eq!(queues("a->b#5"), [queue(7, 356_000), queue(0, 9)]);
}

#[test]
fn a_different_number_of_queues_does_not_inherit_default_budgets() {
    let network = topology(&topology_yaml(
        "  defaults: { budgets: [100us, 500us] }
  nodes: [ { name: a, kind: switch }, { name: b, kind: switch } ]
  links: [ { between: [a, b], queues: 1 } ]",
    ))
    .unwrap()
    .network;
    assert_eq!(network.queues(link(&network, "a->b")), [queue(0, 590_000)]);
}

#[test]
fn one_direction_is_one_link_with_the_queues_of_its_port() {
    let network = topology(&topology_yaml(
        "  nodes: [ { name: s1, kind: switch }, { name: h1, kind: host } ]
  links:
    - { from: h1, to: s1, queues: 2, budgets: [1us] }
    - { from: h1, to: s1 }
    - { from: s1, to: h1 }",
    ))
    .unwrap()
    .network;
    assert_eq!(network.links().len(), 3);
    let memory = Bytes::MAX.get();
    assert_eq!(network.queues(link(&network, "h1->s1")), [queue(1, memory), queue(0, memory)]);
    assert_eq!(network.queues(link(&network, "h1->s1#2")), [queue(0, memory)]);
    assert_eq!(network.queues(link(&network, "s1->h1")).len(), 8);
}

#[test]
fn a_builder_in_a_file_and_in_one_line_give_the_same_network() {
    let pairs = [
        (
            "{ kind: fat-tree, k: 4, hostsPerEdge: 3, rate: 10Gbit, coreRate: 40Gbit, queues: 8, buffer: 97kB, \
             budgets: [100us, 1ms], hostBuffer: 590kB }",
            "fat-tree:k=4,hosts=3,rate=10Gbit,coreRate=40Gbit,queues=8,buffer=97kB,budgets=100us+1ms,hostBuffer=590kB",
        ),
        (
            "{ kind: fat-tree, k: 8, pods: 3, coresPerAggregation: 2, parallel: 2, hosts: 8 }",
            "fat-tree:k=8,pods=3,coresPerAggregation=2,parallel=2,hosts=8",
        ),
        (
            "{ kind: leaf-spine, leaves: 3, spines: 2, hosts: 5, parallel: 2, uplinkRate: 40Gbit }",
            "leaf-spine:leaves=3, spines=2, hostsPerLeaf=5, parallel=2, uplinkRate=40Gbit",
        ),
        ("{ kind: line, switches: 3, hostsPerSwitch: 2, delay: 1us }", "line:switches=3,hosts=2,delay=1us"),
        ("{ kind: ring, switches: 3, mtu: 9000B }", "ring:switches=3,mtu=9000B"),
        ("{ kind: star, hosts: 3, hostQueues: 2, hostBudgets: [1ms] }", "star:hosts=3,hostQueues=2,hostBudgets=1ms"),
        ("{ kind: testbed, name: parley-testbed }", "testbed:parley-testbed"),
        ("{ kind: fat-tree }", "fat-tree"),
    ];
    for (yaml, line) in pairs {
        let from_file =
            topology(&topology_yaml(&format!("  builder: {yaml}"))).unwrap_or_else(|e| panic!("{e}")).network;
        let from_line = parse_builder(line).unwrap_or_else(|e| panic!("{e}")).network;
        assert_eq!(description(&from_file), description(&from_line), "{line}");
    }
}

#[test]
fn a_builder_without_settings_has_the_defaults_of_the_topology_crate() {
    let network = parse_builder("star:hosts=2").unwrap().network;
    let usual = wayleave_topology::builders::build::star(2, Cabling::default()).unwrap();
    assert_eq!(description(&network), description(&usual));
}

#[test]
fn a_topology_is_named_by_its_metadata_its_file_or_its_builder() {
    let builder = "spec: { builder: { kind: star, hosts: 1 } }";
    let named = format!("apiVersion: wayleave/v1\nkind: Topology\nmetadata: {{ name: floor }}\n{builder}");
    let unnamed = format!("apiVersion: wayleave/v1\nkind: Topology\n{builder}");
    assert_eq!(topology(&named).unwrap().name, "floor");
    assert_eq!(read_topology(&Source::new("nets/plant.yaml", unnamed)).unwrap().name, "plant");
    assert_eq!(parse_builder("star:hosts=1").unwrap().name, "star");
    assert_eq!(parse_builder("testbed:scc-testbed").unwrap().name, "scc-testbed");
}

#[test]
fn json_is_read_like_yaml() {
    let json = r#"{ "apiVersion": "wayleave/v1", "kind": "Topology", "metadata": {"name": "caf\u00e9 \ud83d\ude00"},
	"spec": {"nodes": [{"name": "s1", "kind": "switch", "jitter": null}, {"name": "h1", "kind": "host"}],
	"links": [{"between": ["h1", "s1"], "queues": 2, "buffer": "97kB"}]}}"#;
    let read = topology(json).unwrap();
    assert_eq!((read.name.as_str(), read.network.links().len()), ("café 😀", 2));
}

#[test]
fn every_testbed_and_builder_reads_back_as_it_was_written() {
    let lines = ["fat-tree:k=4", "leaf-spine:parallel=3,uplinkRate=40Gbit", "ring:switches=3", "line:switches=1"];
    let built = lines.into_iter().map(|line| parse_builder(line).unwrap().network);
    let beds = testbeds::ALL.iter().map(|(name, _)| testbeds::by_name(name).unwrap().unwrap());
    for network in built.chain(beds) {
        assert_eq!(description(&read_back(&network)), description(&network));
    }
}

#[test]
fn a_network_is_written_with_its_common_values_once() {
    let network = topology(&topology_yaml(
        "  nodes: [ { name: s1, kind: switch }, { name: s2, kind: switch }, { name: 'h 1', kind: host, processing: 2us } ]
  links:
    - { between: ['h 1', s1], hostBudgets: [500us] }
    - { between: [s1, s2] }
    - { between: [s1, s2], rate: 10Gbit }
    - { from: s1, to: s2, queues: [ { budget: 1ms, buffer: 1kB }, { buffer: 2kB } ] }",
    ))
    .unwrap()
    .network;
    assert_eq!(
        write_topology(&network, "no"),
        "apiVersion: wayleave/v1
kind: Topology
metadata: { name: \"no\" }
spec:
  defaults: { rate: 1Gbit, delay: 0ns, mtu: 1.5kB, queues: 8, buffer: 97kB, hostQueues: 1, hostBuffer: 100GB, hostBudgets: [500us] }
  nodes:
    - { name: s1, kind: switch }
    - { name: s2, kind: switch }
    - { name: \"h 1\", kind: host, processing: 2us }
  links:
    - { between: [\"h 1\", s1] }
    - { between: [s1, s2] }
    - { between: [s1, s2], rate: 10Gbit }
    - { from: s1, to: s2, queues: [{ budget: 1ms, buffer: 1kB }, { buffer: 2kB }] }
"
    );
    assert_eq!(description(&read_back(&network)), description(&network));
}

#[test]
fn a_network_without_links_or_nodes_can_be_written() {
    let network = topology(&topology_yaml("  nodes: []")).unwrap().network;
    assert_eq!(description(&read_back(&network)), Vec::<String>::new());
}

#[test]
fn the_example_files_are_read() {
    let folder = format!("{}/../../../schemas/examples", env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| read_topology(&Source::read(format!("{folder}/{name}.yaml")).unwrap()).unwrap();
    assert_eq!(read("topology-builder").network.hosts().count(), 16);
    let links = read("topology-links").network;
    assert_eq!((links.nodes().len(), links.links().len()), (4, 8));
    let back = read_back(&links);
    assert_eq!(description(&back), description(&links));
}
