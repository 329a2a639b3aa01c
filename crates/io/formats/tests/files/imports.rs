//! The files of other simulators: HPCC's topologies and flows, htsim's topologies and connection matrices, and
//! distributions of flow sizes.

use crate::common::scenarios::{SPEC, messages, read_with};
use wayleave_formats::{
    InputErrors, Source, Topology, parse_builder, read_flow_sizes, read_hpcc_flows, read_hpcc_topology,
    read_htsim_flows, read_htsim_topology,
};
use wayleave_scenarios::{FlowSizes, FlowSpec, Workload};
use wayleave_topology::builders::Cabling;
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

fn hpcc(text: &str) -> Result<Topology, InputErrors> {
    read_hpcc_topology(&Source::new("s.yaml", text), &Cabling::default())
}

fn htsim(text: &str) -> Result<Topology, InputErrors> {
    read_htsim_topology(&Source::new("s.yaml", text), &Cabling::default())
}

fn star() -> (Network, Vec<NodeId>) {
    let network = parse_builder("star:hosts=4,queues=4").unwrap().network;
    let hosts = network.hosts().collect();
    (network, hosts)
}

fn hpcc_flows(text: &str) -> Result<Vec<FlowSpec>, InputErrors> {
    let (network, hosts) = star();
    read_hpcc_flows(&Source::new("s.yaml", text), &network, &hosts)
}

fn matrix(text: &str) -> Result<Vec<FlowSpec>, InputErrors> {
    let (network, hosts) = star();
    read_htsim_flows(&Source::new("s.yaml", text), &network, &hosts)
}

/// Two racks of two hosts under two spines.
const LEAF_SPINE: &str = "Nodes 4\nTiers 2\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 500\nQueue_Up 20000\n\nTier 1\nDownlink_speed_Gbps 50\nRadix_Down 2\n\
    Downlink_Latency_ns 2000\nQueue_Down 30000\n";

// --- HPCC ---------------------------------------------------------------------------------------------------------

#[test]
fn an_hpcc_topology_keeps_its_numbers() {
    // The remarks below the links are part of the release's files.
    let text = "5 2 4\n0 4\n1 0 100Gbps 1000ns 0.000000\n2 0 800Kbps 0.001ms 0\n0 4 40Gb/s 1us 0\n3 4 25Gbps 1us 0\n\n\
                First line: total node #, switch node #, link #\n";
    let topology = hpcc(text).unwrap();
    let network = topology.network;
    let names: Vec<&str> = network.nodes().map(|(_, node)| node.name.as_str()).collect();
    assert_eq!((topology.name.as_str(), names), ("s", vec!["s0", "h1", "h2", "h3", "s4"]));
    let link = |name: &str| network.link(network.find_link(name).unwrap()).clone();
    assert_eq!(link("h2->s0").rate, Rate::from_bits_per_second(800_000));
    assert_eq!((link("s0->s4").rate, link("s4->s0").propagation), (Rate::from_gbit(40), Time::from_micros(1)));
    assert_eq!(network.links().len(), 8);
    assert_eq!(network.queues(network.find_link("s4->h3").unwrap()).len(), 8);
    assert_eq!(network.queues(network.find_link("h3->s4").unwrap()).len(), 1);
}

#[test]
fn first_lines_of_the_forks_of_hpcc_are_read() {
    // ns3-datacenter: PowerTCP's topology, then Reverie's.
    let links = "0 3 25000000000.0 1us 0\n1 3 25000000000 1us 0\n2 3 25Gbps 1us 0\n";
    for text in [format!("4 1 1 3\n3\n{links}"), format!("4 1 1 3 25000000000 25000000000\n3 \n{links}")] {
        let network = hpcc(&text).unwrap_or_else(|errors| panic!("{errors}")).network;
        assert!(network.links().all(|(_, link)| link.rate == Rate::from_gbit(25)), "{text}");
        assert_eq!((network.hosts().count(), network.switches().count()), (3, 1));
    }
    // SimAI: a server of two GPUs with an NVSwitch (2), and a switch (3).
    let text = "4 2 1 1 4 A100\n2 3\n0 2 2880Gbps 0.000025ms 0\n1 2 2880Gbps 0.000025ms 0\n0 3 100Gbps 0.0005ms 0\n1 3 100Gbps 0.0005ms 0\n";
    let network = hpcc(text).unwrap_or_else(|errors| panic!("{errors}")).network;
    let switches: Vec<&str> = network.switches().map(|node| network.node(node).name.as_str()).collect();
    assert_eq!((switches, network.links().len()), (vec!["s2", "s3"], 8));
    assert_eq!(network.link(network.find_link("h0->s2").unwrap()).propagation, Time::from_nanos(25));
    let errors = hpcc("9 8 1 0 8 H20 9\n").unwrap_err();
    assert!(errors.problems()[0].hint().unwrap().contains("(SimAI)"), "{errors}");
}

#[test]
fn a_configuration_of_hpcc_names_its_files_and_unsupported_settings() {
    let text = "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 1\n\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nCC_MODE 1\nL2_BACK_TO_ZERO 0\n";
    for errors in [hpcc(text).unwrap_err(), hpcc_flows(text).unwrap_err()] {
        let problem = &errors.problems()[0];
        assert_eq!(problem.message(), "this is the configuration of an HPCC simulation");
        assert_eq!(
            problem.hint().unwrap(),
            "name the files instead that it names: TOPOLOGY_FILE \"mix/topology.txt\" and FLOW_FILE \"mix/flow.txt\". It relies on \
             what is not simulated (docs/reference/scenarios.md, \"Not simulated\"): PFC (on unless ENABLE_PFC 0); ENABLE_QCN 1 \
             (congestion notifications (CNP)); CC_MODE 1 (DCQCN)"
        );
    }
    let dctcp = hpcc("ENABLE_PFC 0\nTOPOLOGY_FILE t.txt\nCC_MODE 8\n").unwrap_err();
    assert_eq!(dctcp.problems()[0].hint(), Some("name the files instead that it names: TOPOLOGY_FILE \"t.txt\""));
}

#[test]
fn an_hpcc_flow_of_ten_to_the_twelve_bytes_gets_a_hint_for_endless_traffic() {
    let errors = hpcc_flows("1\n0 1 3 10000 1000000000000 0.001\n").unwrap_err();
    let hint = "a flow without end is a traffic source of its own: { from: h0, to: h32, sizes: endless }";
    assert_eq!(errors.problems()[0].hint(), Some(hint));
    assert_eq!(hpcc_flows("1\n0 1 3 10000 0 0.001\n").unwrap_err().problems()[0].hint(), None);
}

#[test]
fn the_numbers_of_switches_may_be_wrapped() {
    assert_eq!(hpcc("4 2 2\n0\n1\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n").unwrap().network.switches().count(), 2);
    assert_eq!(hpcc("1 0 0\n").unwrap().network.hosts().count(), 1);
}

#[test]
fn errors_of_an_hpcc_topology_are_reported_at_their_place() {
    for (text, expected) in [
        ("", "1:1 unexpected end of file: NODES SWITCHES LINKS is expected"),
        ("3 1\n", "1:1 2 words: NODES SWITCHES LINKS is expected on the first line"),
        ("x 1 2\n", "1:1 \"x\" is not a number of nodes: a whole number is expected"),
        ("9999999 1 2\n", "1:1 9999999 nodes: at most 1000000 are read"),
        ("3 1 2\n", "1:6 unexpected end of file: numbers are missing: 1 more switch"),
        ("3 1 2\n3\n", "2:1 there is no node 3: expected 0 to 2"),
        ("3 1 2\n0 1\n", "2:3 more numbers than the first line announces: 1 switch"),
        ("3 2 0\n0 0\n", "2:3 switch 0 is given twice"),
        ("3 1 2\n0\n0 1 1Gbps 1us 0\n", "3:16 unexpected end of file: link 2 of 2 is missing"),
        ("3 1 1\n0\n0 1 1Gbps 1us\n", "3:1 4 words: A B RATE DELAY ERROR_RATE is expected for a link"),
        ("3 1 1\n0\n0 7 1Gbps 1us 0\n", "3:3 there is no node 7: expected 0 to 2"),
        ("3 1 1\n0\n0 1 1GBps 1us 0\n", "3:5 \"1GBps\" is not a rate: one such as 100Gbps is expected"),
        ("3 1 1\n0\n0 1 0Gbps 1us 0\n", "3:5 a link needs a rate above zero, such as 100Gbps"),
        ("3 1 1\n0\n0 1 1Gbps 1 0\n", "3:11 \"1\" has no unit: expected a time such as 500us, 1.5ms or 2s"),
        ("3 1 1\n0\n0 1 1Gbps -1us 0\n", "3:11 \"-1us\" is negative: expected a time such as 500us, 1.5ms or 2s"),
        (
            "3 1 1\n0\n0 1 1Gbps 1us 0.1\n",
            "3:15 links that lose packets at random are not simulated: an error rate of 0 is expected",
        ),
        (
            "3 1 1\n0\n1 2 1Gbps 1us 0\n",
            "3:1 \"h1\" and \"h2\" are both hosts: a link needs a switch on at least one end",
        ),
    ] {
        assert_eq!(messages(hpcc(text)), [expected], "{text:?}");
    }
}

#[test]
fn hpcc_flows_with_and_without_a_port_are_read_in_order_of_time() {
    let (_, hosts) = star();
    let flow = |nanos, from: usize, to: usize, size, queue| FlowSpec {
        start: Time::from_nanos(nanos),
        from: hosts[from],
        to: hosts[to],
        size: Bytes::new(size),
        queue: Some(queue),
    };
    let flows = hpcc_flows("3\n2 1 3 100 200000 2.000000001\n0 3 1 500 1e-3\n1 2 7 100 1 0.001\nremarks\n").unwrap();
    assert_eq!(
        flows,
        [flow(1_000_000, 0, 3, 500, 1), flow(1_000_000, 1, 2, 1, 3), flow(2_000_000_001, 2, 1, 200_000, 3)]
    );
}

#[test]
fn errors_of_hpcc_flows_are_reported_at_their_place() {
    for (text, expected) in [
        ("", "1:1 unexpected end of file: the number of flows is expected"),
        ("2 1\n", "1:1 2 words: the number of flows is expected on the first line"),
        ("2\n0 1 3 100 5 0\n", "2:14 unexpected end of file: flow 2 of 2 is missing"),
        ("1\n0 1 3 5\n", "2:1 4 words: SRC DST PG DPORT SIZE START, or the same without DPORT, is expected for a flow"),
        ("1\n0 4 3 100 5 0\n", "2:3 there is no node 4: the network has 4, counted from 0"),
        ("1\n0 1 3 100 0 0\n", "2:11 a size of 0 bytes: expected 1 to 100GB"),
        ("1\n0 1 3 100 5 -1\n", "2:13 \"-1\" is not a start in seconds: a number of at least 0 is expected"),
        ("1\n0 1 3 100 5 1e9\n", "2:13 \"1e9\" is later than the latest accepted, 100000000s"),
        ("1\n0 1 3 50000 2.0 9.5\n", "2:13 \"2.0\" is not a size: a whole number of bytes is expected"),
    ] {
        assert_eq!(messages(hpcc_flows(text)), [expected], "{text:?}");
    }
    let errors = hpcc_flows("1\n0 1 3 50000 2.0 9.5\n").unwrap_err();
    let hint = "lists of SRC DST PG PACKETS START STOP are not supported: they do not give the packet size";
    assert_eq!(errors.problems()[0].hint(), Some(hint));
}

#[test]
fn flows_of_hpcc_refer_to_hpcc_nodes_or_to_the_hosts_of_other_topologies() {
    let files = [
        ("t.txt", "3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 10Gbps 1us 0\n"),
        ("on-t.txt", "1\n1 2 3 100 1000 0\n"),
        ("on-star.txt", "1\n0 1 3 100 1000 0\n"),
    ];
    let ends = |topology: &str, flows: &str| {
        let spec = SPEC.replace("star:hosts=4", topology).replace("sizes: 1MB", &format!("flows: {{ hpcc: {flows} }}"));
        let file = read_with(&spec, &files).unwrap_or_else(|errors| panic!("{errors}"));
        let scenario = &file.runs[0].scenario;
        let Workload::Listed { flows, .. } = &scenario.traffic[0].workload else { panic!() };
        let name = |node: NodeId| scenario.network.node(node).name.clone();
        (name(flows[0].from), name(flows[0].to))
    };
    assert_eq!(ends("{ hpcc: t.txt }", "on-t.txt"), ("h1".to_owned(), "h2".to_owned()));
    assert_eq!(ends("star:hosts=4", "on-star.txt"), ("h1".to_owned(), "h2".to_owned()));
    // Node 0 of that topology is its switch.
    let spec = SPEC.replace("star:hosts=4", "{ hpcc: t.txt }").replace("sizes: 1MB", "flows: { hpcc: on-star.txt }");
    assert_eq!(messages(read_with(&spec, &files)), ["6:32 s0 is a switch: hosts send and receive"]);
}

// --- htsim --------------------------------------------------------------------------------------------------------

#[test]
fn two_tiers_of_htsim_are_a_leaf_spine_network() {
    let network = htsim(LEAF_SPINE).unwrap().network;
    assert_eq!((network.hosts().count(), network.switches().count(), network.links().len()), (4, 4, 16));
    let link = |name: &str| network.find_link(name).unwrap_or_else(|| panic!("no {name}"));
    let (down, up) = (network.link(link("tor1->h2")), network.link(link("tor0->agg1")));
    assert_eq!((down.rate, down.propagation), (Rate::from_gbit(100), Time::from_micros(1)));
    assert_eq!((up.rate, up.propagation), (Rate::from_gbit(50), Time::from_micros(2)));
    let buffer = |name: &str| network.queues(link(name))[0].buffer.get();
    assert_eq!([buffer("tor0->agg1"), buffer("agg1->tor0"), buffer("tor1->h2")], [20_000, 30_000, 97_000]);
    let processing = |name: &str| network.node(network.find_node(name).unwrap()).processing;
    assert_eq!([processing("tor0"), processing("agg0")], [Time::from_nanos(500), Time::ZERO]);
}

#[test]
fn three_tiers_of_htsim_are_the_textbook_fat_tree() {
    let tier = |tier: u32, up: &str| {
        format!(
            "Tier {tier}\nDownlink_speed_Gbps 10\nRadix_Down {}\n{up}Downlink_Latency_ns 1\n",
            if tier == 2 { 4 } else { 2 }
        )
    };
    let up = "Radix_Up 2\nOversubscribed 1\n";
    let text = format!("# k = 4\nnodes 16\ntiers 3\npodsize 4\n{}{}{}", tier(0, up), tier(1, up), tier(2, ""));
    let network = htsim(&text).unwrap().network;
    let count = |start: &str| network.nodes().filter(|(_, node)| node.name.starts_with(start)).count();
    assert_eq!(["h", "tor", "agg", "core"].map(count), [16, 8, 8, 4]);
    assert_eq!(network.links().len(), 2 * 48);
    // Every core meets every pod once, and the two positions of a pod meet different cores.
    for core in network.nodes().filter(|(_, node)| node.name.starts_with("core")).map(|(id, _)| id) {
        assert_eq!(network.links_from(core).len(), 4);
    }
    let cores = |name: &str| {
        let agg = network.find_node(name).unwrap();
        let ends = network.links_from(agg).iter().map(|&link| network.node(network.link(link).to).name.clone());
        ends.filter(|name| name.starts_with("core")).collect::<Vec<_>>()
    };
    assert_eq!(
        (cores("agg0"), cores("agg1")),
        (vec!["core0".into(), "core2".into()], vec!["core1".into(), "core3".into()])
    );
    assert!(network.hosts().all(|host| network.links_from(host).len() == 1));
    assert!(network.nodes().all(|(_, node)| node.kind == NodeKind::Host || node.processing == Time::ZERO));
}

#[test]
fn bundles_of_htsim_are_parallel_links() {
    // Six aggregation ports up in bundles of three reach two cores each: 12 pods of 36 hosts, 12 cores.
    let text = "Nodes 432\nTiers 3\nPodsize 36\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 6\nRadix_Up 6\n\
        Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 6\nRadix_Up 6\nDownlink_Latency_ns 1000\n\
        Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 36\nDownlink_Latency_ns 600000\nBundle 3\n";
    let network = htsim(text).unwrap().network;
    assert_eq!(network.nodes().filter(|(_, node)| node.name.starts_with("core")).count(), 12);
    assert!(network.find_link("agg0->core0#3").is_some() && network.find_link("agg0->core0#4").is_none());
    assert_eq!(network.links().len(), 2 * (432 + 72 * 6 + 72 * 6));
}

#[test]
fn errors_of_an_htsim_topology_are_reported_at_their_place() {
    for (old, new, expected) in [
        ("Nodes 4", "Nodes 5", "3:1 5 nodes cannot be split into pods of 4"),
        ("Nodes 4", "Nodes 0", "1:1 nodes has to be above zero"),
        ("Nodes 4", "Nodes", "1:1 a key and a number are expected on each line"),
        ("Nodes 4", "Nodes x", "1:7 \"x\" is not a number: a whole number is expected"),
        ("Nodes 4", "Nods 4", "1:1 unknown key \"Nods\", did you mean \"nodes\"?"),
        ("Nodes 4", "Nodes 4\nNodes 4", "2:1 \"nodes\" is given twice"),
        ("Tiers 2", "Tiers 4", "2:1 4 tiers: expected 2 or 3"),
        ("Tiers 2", "Tiers 3", "17:17 the line \"radix_up\" of tier 1 is missing"),
        ("Podsize 4", "Podsize 2", "3:1 two tiers are one pod: a podsize of 4 is expected"),
        ("Tier 1", "Tier 3", "13:1 there is no tier 3: tiers are 0, 1 and 2"),
        ("Radix_Down 2\nRadix_Up", "Radix_Down 3\nRadix_Up", "7:1 pods of 4 hosts cannot be split over switches of 3"),
        ("Radix_Down 2\nDown", "Radix_Down 4\nDown", "15:1 a radix_down of 4: 2 links come from below"),
        ("Tier 1\n", "Tier 1\nBundle 3\n", "8:1 a radix_up of 2 cannot be split into bundles of 3"),
        ("Tier 0\n", "Tier 0\nBundle 2\n", "6:1 a bundle of 2 in tier 0: expected 1 to 1"),
        ("Tier 0\n", "Tier 0\nDownlink 2\n", "6:1 unknown key \"Downlink\""),
        (
            "Tier 0\n",
            "Tier 0\nOversubscribed 4\n",
            "6:1 oversubscribed 4 times, and 200 Gbit/s below meet 100 Gbit/s above",
        ),
        ("Radix_Up 2", "Radix_Up 999999999999999999", "1:1 2000000000000000002 cables: at most 1000000 are built"),
        ("Gbps 50", "Gbps 50000", "14:1 a speed of 50000 Gbit/s: expected at most 10Tbit"),
    ] {
        assert!(LEAF_SPINE.contains(old), "{old}");
        assert_eq!(messages(htsim(&LEAF_SPINE.replacen(old, new, 1)))[0], expected, "{new}");
    }
}

#[test]
fn a_connection_matrix_is_read_in_order_of_time() {
    let (_, hosts) = star();
    let text =
        "# made by hand\nNodes 4\nConnections 2\nTriggers 0\n0->3 id 1 start 1500 size 2000000\n3->0 size 9 start 0\n";
    let flow = |nanos, from: usize, to: usize, size| FlowSpec {
        start: Time::from_nanos(nanos),
        from: hosts[from],
        to: hosts[to],
        size: Bytes::new(size),
        queue: None,
    };
    assert_eq!(matrix(text).unwrap(), [flow(0, 3, 0, 9), flow(2, 0, 3, 2_000_000)]);
}

#[test]
fn errors_of_a_connection_matrix_are_reported_at_their_place() {
    let triggers = "triggers are not read from a connection matrix";
    for (flow, expected) in [
        ("0->4 start 0 size 9", "3:4 there is no node 4: the network has 4, counted from 0".to_owned()),
        ("x->1 start 0 size 9", "3:1 \"x\" is not a node: a whole number is expected".to_owned()),
        ("0->1 start 0 size 0", "3:19 a size of 0 means a flow without end, and the flows of a list end".to_owned()),
        ("0->1 start 0", "3:1 a flow needs a size".to_owned()),
        ("0->1 size 9", "3:1 a flow needs a start".to_owned()),
        (
            "0->1 start -5 size 9",
            "3:12 \"-5\" is not a start in picoseconds: a number of at least 0 is expected".to_owned(),
        ),
        ("0->1 stat 0 size 9", "3:6 \"stat\" is not a keyword of a flow, did you mean \"start\"?".to_owned()),
        ("0->1 start 0 size", "3:14 a number is expected after size".to_owned()),
        ("0->1 trigger 1 size 9", format!("3:6 {triggers}")),
        ("0->1 start 0 size 9 send_done_trigger 2", format!("3:21 {triggers}")),
        ("0->1 start 0 size 9 prio 2", "3:21 priorities of flows are not read from a connection matrix".to_owned()),
        ("0->1 start 0 size 9\ntrigger id 1 oneshot", format!("4:1 {triggers}")),
        ("0->1 start 0 size 9\nTriggers 1", format!("4:1 {triggers}")),
        ("0->1 start 0 size 9\nFailures 1", "4:1 failures are not read from a connection matrix".to_owned()),
        ("0->1 start 0 size 9\n1->0 start 0 size 9", "2:1 1 connections are announced, but 2 are listed".to_owned()),
        (
            "0->1 start 0 size 9\nNode 3",
            "4:1 \"Node\" begins no line of a connection matrix, did you mean \"Nodes\"?".to_owned(),
        ),
    ] {
        let text = format!("Nodes 4\nConnections 1\n{flow}\n");
        assert_eq!(messages(matrix(&text)), [expected], "{flow}");
    }
    assert_eq!(messages(matrix("")), ["1:1 unexpected end of file: Nodes N and Connections N are expected"]);
    assert_eq!(messages(matrix("Nodes 4\n0->1 start 0 size 9\n")), ["1:1 the line `Connections N` is missing"]);
}

#[test]
fn files_of_htsim_can_be_used_in_a_scenario() {
    let files = [("a.topo", LEAF_SPINE), ("a.cm", "Nodes 4\nConnections 1\n0->3 id 1 start 0 size 1000\n")];
    let spec = SPEC
        .replace("star:hosts=4", "{ htsim: a.topo, defaults: { queues: 2, mtu: 9000B } }")
        .replace("sizes: 1MB", "flows: { htsim: a.cm }, transport: dctcp");
    let file = read_with(&spec, &files).unwrap_or_else(|errors| panic!("{errors}"));
    let scenario = &file.runs[0].scenario;
    let Workload::Listed { flows, transport } = &scenario.traffic[0].workload else { panic!() };
    assert_eq!(scenario.network.node(flows[0].to).name, "h3");
    assert!(transport.is_some());
    let link = scenario.network.find_link("tor0->agg0").unwrap();
    assert_eq!((scenario.network.queues(link).len(), scenario.network.link(link).mtu), (2, Bytes::new(9000)));
}

// --- Distributions ------------------------------------------------------------------------------------------------

fn sizes(text: &str) -> Result<FlowSizes, InputErrors> {
    read_flow_sizes(&Source::new("s.yaml", text))
}

#[test]
fn distributions_are_read_in_bytes_percent_and_packets() {
    let expected = FlowSizes::from_points(vec![(1460.0, 0.5), (2920.0, 1.0)]).unwrap();
    for text in
        ["1460 0.5\n2920 1\n", "1460 50\n2920 100\n", "1 1 0.5\n2 1 1.0\n", "# sizes\n\n1460\t5e-1 \r\n2920 1\r\n"]
    {
        assert_eq!(sizes(text).unwrap(), expected, "{text:?}");
    }
    // As the published files begin: the first size twice.
    let jump = FlowSizes::from_points(vec![(8760.0, 0.0), (8760.0, 0.15), (18_980.0, 1.0)]).unwrap();
    assert_eq!(sizes("6 1 0\n6 1 0.15\n13 1 1\n").unwrap(), jump);
}

#[test]
fn distributions_of_opera_have_commas() {
    let expected = FlowSizes::from_points(vec![(4000.0, 0.0), (5971.0, 0.077), (28_589_215.0, 1.0)]).unwrap();
    assert_eq!(sizes("4000,0\n5971,0.077\n28589215,1\n").unwrap(), expected);
    assert_eq!(messages(sizes("4000,0\n5971,x\n")), ["2:6 \"x\" is not a share: a number of at least 0 is expected"]);
}

#[test]
fn distributions_of_homa_begin_with_their_mean_and_have_no_sizes_between() {
    let text = "27168.4\n100  0.5\n1456  0.65\n10000  0.75\n100000  0.999\n1000000  1.0\n";
    let read = sizes(text).unwrap();
    // HomaSimulation's TestDistribution.txt states the mean of the listed sizes: 27168.4.
    assert!((read.mean() - 27_168.4).abs() < 1e-6, "{}", read.mean());
    assert_eq!([0.4, 0.6, 0.7, 0.9].map(|share| read.quantile(share)), [100, 1456, 10_000, 100_000]);
    let expected = ["4:1 the shares do not rise: point 3 has 0.4 after 0.5"];
    assert_eq!(messages(sizes("9\n1 0.1\n2 0.5\n3 0.4\n4 1\n")), expected);
}

#[test]
fn a_last_share_that_is_rounded_counts_as_one() {
    let exact = sizes("1000 0.5\n3000 1\n").unwrap();
    for text in ["1000 0.5\n3000 0.999999\n", "1000 50\n3000 99.9999\n"] {
        assert_eq!(sizes(text).ok().as_ref(), Some(&exact), "{text}");
    }
    assert_eq!(messages(sizes("1000 0.5\n3000 0.999\n")), ["2:1 the last share is 0.999, and 1 is expected"]);
}

#[test]
fn errors_of_a_distribution_are_reported_at_their_line() {
    for (text, expected) in [
        ("# nothing\n", "1:1 the file is empty: expected lines of SIZE SHARE"),
        ("100 0.5\n90 1\n", "2:1 the sizes do not rise: point 2 has 90 bytes after 100"),
        ("100 0.5\n200 0.4\n300 1\n", "2:1 the shares do not rise: point 2 has 0.4 after 0.5"),
        ("100 50\n200 40\n300 100\n", "2:1 the shares do not rise: point 2 has 0.4 after 0.5"),
        ("100 0.5\n200 0.9\n", "2:1 the last share is 0.9, and 1 is expected"),
        ("100 50\n200 90\n", "1:1 point 1 has a share of 50: expected 0 to 1"),
        ("-1 0.5\n200 1\n", "1:1 \"-1\" is not a size in bytes: a number of at least 0 is expected"),
        ("1e12 0.5\n2e12 1\n", "1:1 point 1 has a size of 1000000000000 bytes: expected 0 to 100GB"),
        ("0 1\n", "1:1 flows of 0B: expected a size of at least 1B"),
        ("100 0.5\n200 1 1\n", "2:1 SIZE SHARE is expected on each line, or PACKETS 1 SHARE"),
        ("100 2 0.5\n", "1:1 SIZE SHARE is expected on each line, or PACKETS 1 SHARE"),
        ("100 nan\n", "1:5 \"nan\" is not a share: a number of at least 0 is expected"),
    ] {
        assert_eq!(messages(sizes(text)), [expected], "{text:?}");
    }
}
