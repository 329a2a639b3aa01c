//! Networks from the files of other tools: what attributes mean, who is a host, and what is said about what was assumed.

use crate::common::graphs::{links, names, options, read, remarks, with_rate, wrong};
use wayleave_formats::{
    DelayUnit, GraphFormat, HostRule, ImportOptions, RateUnit, Source, parse_builder, read_network, write_graph,
};
use wayleave_topology::{Network, NodeKind};

// --- node-link JSON -----------------------------------------------------------------------------------------------

#[test]
fn node_link_json_of_networkx_is_read_with_edges_or_links() {
    for key in ["edges", "links"] {
        let text = format!(
            r#"{{"directed": false, "multigraph": false, "graph": {{"name": "two"}},
                "nodes": [{{"kind": "host", "id": 1}}, {{"kind": "switch", "id": "s"}}],
                "{key}": [{{"bandwidth": "2.5 Gbps", "delay": "10us", "mtu": 1500, "source": 1, "target": "s"}}]}}"#
        );
        let imported = read("x.json", &text, &options());
        assert_eq!(imported.topology.name, "two");
        assert_eq!(links(&imported.topology.network), ["1->s 2.5Gbit 10us", "s->1 2.5Gbit 10us"]);
        assert_eq!(names(&imported.topology.network, NodeKind::Host), ["1"]);
        assert!(imported.is_foreign && imported.remarks.is_empty(), "{:?}", imported.remarks);
    }
}

#[test]
fn a_directed_multigraph_keeps_every_link() {
    let text = r#"{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": "a"}, {"id": "b"}], "edges": [
        {"source": "a", "target": "b", "key": 0, "rate_bps": 1e9, "delay_ns": 5},
        {"source": "a", "target": "b", "key": 1, "rate_bps": 2000000000, "delay_ns": 0.5}]}"#;
    let imported = read("x.json", text, &ImportOptions { hosts: HostRule::None, ..options() });
    assert_eq!(links(&imported.topology.network), ["a->b 1Gbit 5ns", "a->b#2 2Gbit 1ns"]);
}

#[test]
fn graphs_of_d3_mean_places_in_the_list_and_tuples_are_joined() {
    let text = r#"{"nodes": [{"name": "x"}, {"name": "y"}], "links": [{"source": 0, "target": 1}]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["x", "y"]);
    let text = r#"{"nodes": [{"id": [0, 0]}, {"id": [0, 1]}], "edges": [{"source": [0, 0], "target": [0, 1]}]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["0,0", "0,1"]);
}

#[test]
fn lists_of_names_say_who_is_a_host() {
    let text = r#"{"name": "CEV", "link_rate_bps_suggested": 100000000.0, "end_systems": ["a", "b"], "switches": ["s"],
        "links_bidirectional": [["a", "s"], ["b", "s"]]}"#;
    let imported = read("x.json", text, &options());
    let network = &imported.topology.network;
    assert_eq!((imported.topology.name.as_str(), names(network, NodeKind::Host)), ("CEV", vec!["a", "b"]));
    assert_eq!(links(network)[0], "a->s 100Mbit 0ns");
    assert!(remarks(&imported)[0].contains("2 of 2 links have no rate: 100Mbit (the file's own default)"));
    // What a person says counts more than what a file suggests.
    assert_eq!(links(&read("x.json", text, &with_rate()).topology.network)[0], "a->s 10Gbit 0ns");
}

#[test]
fn what_is_wrong_with_node_link_json_is_said_at_its_place() {
    let nodes = r#"{"nodes": [{"id": "rome"}, {"id": "oslo"}], "edges": "#;
    for (edges, expected) in [
        (r#"[{"source": "rome", "target": "osol"}]}"#, "1:84 there is no node \"osol\", did you mean \"oslo\"?"),
        (r#"[{"source": "rome"}]}"#, "1:55 an edge needs its two ends, \"source\" and \"target\""),
        (r#"[["rome", "oslo", 1]]}"#, "1:55 an edge has two ends, not 3"),
        (r#"[["rome", {}]]}"#, "1:64 the id of a node is expected here, text or a number, not a mapping (key: value)"),
        (r#"["rome"]}"#, "1:55 an edge is expected here, not text"),
        (r#""rome"}"#, "1:54 a list of edges is expected, not text"),
        (
            r#"[["rome", "oslo"], ["oslo", "rome"]]}"#,
            "1:55 2 of 2 links have no rate: the first joins \"rome\" and \"oslo\", and has no attributes",
        ),
        (r#"[{"source": "rome", "target": "oslo", "rate": 10}]}"#, "1:100 the rate \"10\" has no unit"),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "10mbps"}]}"#,
            "1:100 \"10mbps\" can mean bits or bytes (Linux tc and people differ): write 10Mbit if bits per second are meant",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "bandwidth_mbps": 10}]}"#,
            "1:110 the unit in \"bandwidth_mbps\" can mean bits or bytes (Linux tc and people differ)",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "0bit"}]}"#,
            "1:100 a link needs a rate above zero, such as 10Gbit",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "20Tbit"}]}"#,
            "1:100 \"20Tbit\" is larger than the largest accepted, 10Tbit",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "fast"}]}"#,
            "1:100 \"fast\" does not begin with a number: expected a rate such as 10Gbit, 2.5Mbit/s or 500kbit",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "1Gbit", "mtu": 20}]}"#,
            "1:116 \"20\" is no MTU: from 64 to 65535 bytes are accepted",
        ),
    ] {
        assert_eq!(wrong("x.json", &format!("{nodes}{edges}"), &options())[0], expected, "{edges}");
    }
    let twice = r#"{"nodes": [{"id": 1}, {"id": "1"}], "edges": []}"#;
    assert_eq!(wrong("x.json", twice, &options()), ["1:23 the id \"1\" is taken: the first stands on line 1"]);
}

#[test]
fn plain_numbers_are_read_in_the_unit_that_a_person_gives() {
    let text =
        r#"{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "capacity": 2.5, "latency": 0.0000001}]}"#;
    assert_eq!(
        wrong("x.json", text, &options()),
        ["1:76 the rate \"2.5\" has no unit", "1:92 the delay \"0.0000001\" has no unit"]
    );
    let two = text.replace("]}", ", [\"b\", \"a\"], {\"source\": \"b\", \"target\": \"a\", \"capacity\": 1}]}");
    assert_eq!(wrong("x.json", &two, &options())[0], "1:76 2 rates have no unit: the first is \"2.5\"");
    let options = ImportOptions { rate_unit: Some(RateUnit::Gbit), delay_unit: Some(DelayUnit::Ms), ..options() };
    // A tenth of a nanosecond is a nanosecond: delays are rounded up.
    assert_eq!(links(&read("x.json", text, &options).topology.network)[0], "a->b 2.5Gbit 1ns");
}

// --- hosts and names ----------------------------------------------------------------------------------------------

/// A star of three leaves around `hub`, one of them with a leaf of its own.
const TREE: &str =
    r#"{"nodes": ["hub", "a", "b", "c", "d"], "edges": [["hub", "a"], ["hub", "b"], ["hub", "c"], ["c", "d"]]}"#;

#[test]
fn hosts_are_attached_where_the_file_names_none() {
    let imported = read("x.json", TREE, &with_rate());
    let network = &imported.topology.network;
    assert_eq!(names(network, NodeKind::Host), ["hub-h1", "a-h1", "b-h1", "c-h1", "d-h1"]);
    assert!(links(network).contains(&"d-h1->d 10Gbit 0ns".to_owned()));
    let said = remarks(&imported);
    assert_eq!(
        said[0],
        "note: the file names no hosts: a host was attached to each of 5 switches with links, such as \"hub-h1\""
    );
    let two = ImportOptions { hosts: HostRule::Attach(2), host_rate: "1Gbit".parse().ok(), ..with_rate() };
    let imported = read("x.json", TREE, &two);
    assert_eq!(imported.topology.network.hosts().count(), 10);
    assert!(links(&imported.topology.network).contains(&"d-h2->d 1Gbit 0ns".to_owned()));
}

#[test]
fn leaves_are_hosts_if_a_person_says_so() {
    let imported = read("x.json", TREE, &ImportOptions { hosts: HostRule::Leaves, ..with_rate() });
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["a", "b", "d"]);
    assert_eq!(remarks(&imported)[0], "note: taken for hosts: \"a\", \"b\" and \"d\"; for switches: \"hub\" and \"c\"");
    // Two nodes that only know each other: one would have to forward.
    let pair = r#"{"nodes": ["a", "b"], "edges": [["a", "b"]]}"#;
    let imported = read("x.json", pair, &ImportOptions { hosts: HostRule::Leaves, ..with_rate() });
    assert_eq!(imported.topology.network.hosts().count(), 0);
    assert!(remarks(&imported)[0].contains("there are no hosts"));
}

#[test]
fn two_hosts_cannot_be_joined() {
    let text = r#"{"hosts": ["a", "b"], "nodes": [], "edges": [["a", "b"]]}"#;
    let expected = "1:46 \"a\" and \"b\" are both hosts: a link needs a switch on at least one end";
    assert_eq!(wrong("x.json", text, &with_rate()), [expected]);
}

#[test]
fn names_that_repeat_or_cannot_be_are_changed_and_reported() {
    let text = r#"{"nodes": [{"id": 0, "label": "None"}, {"id": 1, "label": "None"}, {"id": 2, "label": "a->b"}],
        "edges": [[0, 1], [1, 2]]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["None", "None-2", "a_b"]);
    let said = remarks(&imported);
    let expected = "note: nodes were renamed (names are unique, without \"->\" and \"#\"): \"None\" is now \"None-2\", \
                    \"a->b\" is now \"a_b\"";
    assert!(said.iter().any(|remark| remark == expected), "{said:?}");
}

#[test]
fn what_is_left_out_is_said() {
    let text = r#"{"nodes": ["a", "b", "c", "d", {"id": "e", "colour": "red"}],
        "edges": [["a", "a"], ["a", "b"], {"source": "c", "target": "d", "weight": 3}]}"#;
    let said = remarks(&read("x.json", text, &with_rate()));
    for expected in [
        "warning: 1 link joins a node with itself, the first on line 2, and was left out: \"a\"",
        "note: 1 node has no link: \"e\"",
        "note: no link joins the 2 parts around \"a\" and \"c\"",
        "warning: keys not used: \"weight\" of links (line 2)",
        "note: keys that say nothing about rates and delays: \"colour\"",
    ] {
        assert!(said.iter().any(|remark| remark == expected), "{expected}: {said:#?}");
    }
}

#[test]
fn more_than_sixty_four_parallel_links_are_refused() {
    let edges = vec![r#"["a", "b"]"#; 65].join(", ");
    let text = format!(r#"{{"nodes": ["a", "b"], "edges": [{edges}]}}"#);
    let said = wrong("x.json", &text, &with_rate());
    assert!(said[0].ends_with("more than 64 links between two nodes"), "{said:?}");
}

// --- GML ----------------------------------------------------------------------------------------------------------

/// In the style of Topology Zoo, with its quirks.
const ZOO: &str = r#"# converted
graph [
  DateObtained "3/02/11"
  label "Hansa"
  node [
    id 0
    label "L&#252;beck"
    Country "Germany"
    Longitude 10.68729
    Internal 1
    Latitude 53.86893
    type "Completed"
  ]
  node [
    id 3
    label "Visby"
    Longitude 18.29602
    Latitude 57.64089
  ]
  node [
    id 4
    label "Riga"
  ]
  edge [
    source 0
    target 3
    LinkSpeed "2.5"
    LinkLabel "2.5 Gbps"
    LinkSpeedUnits "G"
    LinkSpeedRaw 2500000000.0
  ]
  edge [
    source 3
    target 4
    LinkSpeed "155"
    LinkSpeedUnits "M"
  ]
  edge [
    source 3
    target 4
    id "e2"
  ]
]
"#;

#[test]
fn gml_of_topology_zoo_is_read_with_its_speeds_and_places() {
    let options = ImportOptions {
        delay_from_places: true,
        default_delay: "1ms".parse().ok(),
        hosts: HostRule::None,
        ..with_rate()
    };
    let imported = read("x.gml", ZOO, &options);
    assert_eq!(imported.topology.name, "Hansa");
    // The great circle from Luebeck to Visby is 633.9 km long (law of cosines), 3.1715 ms in a fibre.
    assert_eq!(
        links(&imported.topology.network),
        [
            "Lübeck->Visby 2.5Gbit 3.172ms",
            "Visby->Lübeck 2.5Gbit 3.172ms",
            "Visby->Riga 155Mbit 1ms",
            "Riga->Visby 155Mbit 1ms",
            "Visby->Riga#2 10Gbit 1ms",
            "Riga->Visby#2 10Gbit 1ms"
        ]
    );
    let said = remarks(&imported);
    assert!(said.contains(&"note: 1 of 3 links have no rate: 10Gbit (--default-rate)".to_owned()), "{said:?}");
    assert!(said.iter().any(|remark| remark.contains("\"type\" of nodes")), "{said:?}");
}

#[test]
fn links_without_rates_or_places_are_counted_and_the_first_is_shown() {
    let said = wrong("x.gml", ZOO, &ImportOptions { delay_from_places: true, ..options() });
    assert_eq!(
        said,
        [
            "32:3 the ends of 2 links have no longitude and latitude: this is the first",
            "38:3 1 of 3 links have no rate: the first joins \"Visby\" and \"Riga\", and has only id",
        ]
    );
}

#[test]
fn what_is_wrong_with_gml_is_said_at_its_place() {
    for (text, expected) in [
        ("", "1:1 there is no graph in this file"),
        ("graph [ node [ id 0 ]", "1:7 this \"[\" is never closed"),
        ("graph [ ] ]", "1:11 this bracket closes nothing"),
        ("graph [ node [ id ] ]", "1:18 the key \"id\" has no value"),
        ("graph [ node [ label \"x ] ]", "1:22 this quotation mark is never closed"),
        ("graph [ [ ] ]", "1:9 a key is expected here: a word such as node or label"),
        ("graph [ node [ label \"x\" ] ]", "1:9 this node needs the key \"id\", a number or a text"),
        ("graph [ node [ id [ ] ] ]", "1:19 this node needs the key \"id\", a number or a text"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", "1:23 this edge needs the key \"target\", a number or a text"),
        ("graph [ ]", "1:1 there are no nodes here: a network needs some"),
        ("graph 5", "1:7 a graph is a list in square brackets"),
        ("graph [ node [ id 0 ] ] graph [ ]", "1:25 a second graph begins here"),
    ] {
        assert_eq!(wrong("x.gml", text, &options())[0], expected, "{text}");
    }
    let deep = "a [ ".repeat(100);
    assert!(wrong("x.gml", &deep, &options())[0].ends_with("lists are nested more than 64 deep here"));
}

// --- GraphML ------------------------------------------------------------------------------------------------------

/// In the style of NetworkX and Topology Zoo: keys with numbers, defaults, a namespace.
const GRAPHML: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d32" />
  <key attr.name="delay_us" attr.type="int" for="edge" id="d33"><default>7</default></key>
  <key attr.name="label" attr.type="string" for="node" id="d30" />
  <key attr.name="kind" attr.type="string" for="node" id="d31" />
  <graph edgedefault="undirected">
    <data key="d0">1.0</data>
    <node id="0"><data key="d30">R &amp; D</data><data key="d31">server</data></node>
    <node id="1"><data key="d30">core</data></node>
    <edge source="0" target="1"><data key="d32">1000000000.0</data></edge>
    <edge source="1" target="0" directed="true"><data key="d32">2e9</data><data key="d33">9</data></edge>
  </graph>
</graphml>
"#;

#[test]
fn graphml_is_read_with_its_keys_and_their_defaults() {
    let imported = read("x.graphml", GRAPHML, &options());
    assert_eq!(
        links(&imported.topology.network),
        ["R & D->core 1Gbit 7us", "core->R & D 1Gbit 7us", "core->R & D#2 2Gbit 9us"]
    );
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["R & D"]);
    // The name of a file does not matter where its content is plain.
    assert_eq!(read("x.xml", GRAPHML, &options()).topology.name, "x");
}

#[test]
fn labels_of_yed_are_read_from_its_drawings() {
    let text = r#"<graphml><key for="node" id="d6" yfiles.type="nodegraphics"/><graph edgedefault="directed">
        <node id="n0"><data key="d6"><y:ShapeNode xmlns:y="y"><y:NodeLabel>plc<y:Model/></y:NodeLabel></y:ShapeNode></data></node>
        <node id="n1"><graph><node id="n1::n0"/></graph></node>
        <edge source="n0" target="n1"/><hyperedge/></graph></graphml>"#;
    let imported = read("x.graphml", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["plc", "n1", "n1::n0"]);
    let expected = "warning: 1 hyperedges (edges with more than two ends) were left out";
    assert!(remarks(&imported).contains(&expected.to_owned()));
}

#[test]
fn what_is_wrong_with_graphml_is_said_at_its_place() {
    for (text, expected) in [
        ("<graphml>\n  <graph>\n</graphml>", "3:1 this is no valid XML: expected 'graph' tag, not 'graphml'"),
        ("<svg/>", "1:1 the first element is \"svg\", and graphml is expected"),
        ("<graphml/>", "1:1 there is no <graph> in this file"),
        ("<graphml><graph/><graph/></graphml>", "1:18 a second graph begins here"),
        ("<graphml><graph><node/></graph></graphml>", "1:17 this node needs the attribute id"),
        (
            "<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>",
            "1:56 there is no node \"b\"",
        ),
        (
            "<graphml><graph><node id='a'/><node id='b'/>\n<edge source='a' target='b'>\n<data key='rate'>x</data></edge></graph></graphml>",
            "3:18 \"x\" does not begin with a number: expected a rate such as 10Gbit, 2.5Mbit/s or 500kbit",
        ),
        ("<!DOCTYPE graphml><graphml/>", "1:1 a document type is not read"),
    ] {
        assert_eq!(wrong("x.graphml", text, &options())[0], expected, "{text}");
    }
    let deep = "<a>".repeat(100_000);
    assert!(wrong("x.graphml", &deep, &options())[0].contains("no valid XML"));
}

// --- containerlab -------------------------------------------------------------------------------------------------

const LAB: &str = r#"name: plant
topology:
  defaults: { kind: linux }
  kinds:
    nokia_srlinux: { image: srlinux }
  groups:
    servers: { labels: { tier: edge } }
  nodes:
    leaf1: { kind: nokia_srlinux }
    leaf2: { kind: nokia_srlinux }
    br: { kind: bridge }
    pc1:
    pc2: {}
    frr1: { image: frr }
    frr2: { image: frr }
    dual: { group: servers }
    probe: { labels: { wayleave.role: switch } }
  links:
    - endpoints: ["leaf1:e1-1", "leaf2:e1-1"]
      vars: { rate: 10Gbps, delay: 5us }
    - type: veth
      endpoints: [ { node: leaf1, interface: e1-2 }, { node: pc1, interface: eth1 } ]
      vars: { rate: 1Gbit }
      mtu: 9000
    - endpoints: ["pc2:eth1", "frr1:eth1"]
    - endpoints: ["frr1:eth2", "frr2:eth1"]
    - endpoints: ["frr2:eth2", "br:p1"]
    - endpoints: ["br:p2", "leaf2:e1-2"]
    - endpoints: ["dual:eth1", "leaf1:e1-3"]
    - endpoints: ["dual:eth2", "leaf2:e1-3"]
    - endpoints: ["probe:eth1", "br:p3"]
    - endpoints: ["leaf1:mgmt0", "mgmt-net:leaf1-mgmt"]
    - { type: macvlan, endpoint: { node: pc1, interface: eth2 }, host-interface: eno0 }
"#;

#[test]
fn containerlab_labs_say_who_forwards() {
    let imported = read("plant.clab.yml", LAB, &with_rate());
    let network = &imported.topology.network;
    assert_eq!(imported.topology.name, "plant");
    assert_eq!(names(network, NodeKind::Host), ["pc1", "pc2", "dual"]);
    assert_eq!(links(network)[..3], ["leaf1->leaf2 10Gbit 5us", "leaf2->leaf1 10Gbit 5us", "leaf1->pc1 1Gbit 0ns"]);
    let pc1 = network.find_link("pc1->leaf1").unwrap();
    assert_eq!(network.link(pc1).mtu.get(), 9000);
    let said = remarks(&imported);
    for expected in [
        "note: taken for hosts: \"pc1\", \"pc2\"; for switches, by their image, sysctls or exec: \"frr1\", \"frr2\" (a label \
         wayleave.role: host or switch says otherwise)",
        "warning: links that leave the lab were left out: \"leaf1\" to \"mgmt-net\", \"pc1\" (macvlan)",
        "note: 7 of 9 links have no rate: 10Gbit (--default-rate)",
    ] {
        assert!(said.iter().any(|remark| remark == expected), "{expected}\n{said:#?}");
    }
    // The same without its ending.
    assert_eq!(links(&read("x.yaml", LAB, &with_rate()).topology.network), links(network));
}

#[test]
fn what_is_wrong_with_a_lab_is_said_at_its_place() {
    for (old, new, expected) in [
        ("\"leaf2:e1-1\"", "\"leaf3:e1-1\"", "19:33 there is no node \"leaf3\""),
        ("\"leaf2:e1-1\"", "leaf2", "19:33 \"leaf2\" is no endpoint: NODE:INTERFACE is expected"),
        ("type: veth", "type: vteh", "21:13 unknown type of link \"vteh\", did you mean \"veth\"?"),
        ("node: pc1, interface: eth1", "interface: eth1", "22:54 an endpoint needs the key \"node\""),
        ("role: switch", "role: swtich", "17:39 the label wayleave.role is host or switch, not \"swtich\""),
        ("rate: 10Gbps", "rate: 10", "20:21 the rate \"10\" has no unit"),
        ("\"pc2:eth1\", \"frr1:eth1\"", "\"pc2:eth1\"", "25:18 a link has two endpoints, not 1"),
        ("topology:", "topologie:", "1:1 the key \"topology\" is missing"),
        ("  nodes:", "  node:", "3:3 a topology needs the key \"nodes\", a mapping from names to nodes"),
    ] {
        assert!(LAB.contains(old), "{old}");
        assert_eq!(wrong("x.clab.yml", &LAB.replacen(old, new, 1), &with_rate())[0], expected, "{new}");
    }
}

// --- writing ------------------------------------------------------------------------------------------------------

#[test]
fn what_a_graph_cannot_hold_is_said() {
    let network = parse_builder("star:hosts=2,queues=4").unwrap().network;
    let (text, left_out) = write_graph(&network, "a \"b\" & c", GraphFormat::Gml);
    assert!(text.contains(r#"name "a &quot;b&quot; &amp; c""#), "{text}");
    let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["warning: a graph has no place for queues, buffers and delay budgets"]);
}

#[test]
fn the_examples_of_the_documentation_are_read() {
    let example = |name: &str, options: &ImportOptions| {
        let path = format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        read_network(&Source::read(path).unwrap(), options).unwrap_or_else(|errors| panic!("{errors}")).topology
    };
    let counts = |network: &Network| (network.hosts().count(), network.switches().count(), network.links().len());
    let plant = example("plant.clab.yml", &options());
    assert_eq!((plant.name.as_str(), counts(&plant.network)), ("plant", (3, 3, 10)));
    assert_eq!(counts(&example("campus.json", &options()).network), (2, 3, 10));
    let places = ImportOptions { delay_from_places: true, default_delay: "1ms".parse().ok(), ..with_rate() };
    assert_eq!(counts(&example("coast.gml", &places).network), (5, 5, 20));
    assert_eq!(counts(&example("coast.graphml", &with_rate()).network), (3, 3, 12));
}

#[test]
fn topologies_of_wayleave_are_still_read_as_such() {
    let text = "apiVersion: wayleave/v1\nkind: Topology\nspec: { builder: { kind: star, hosts: 2 } }\n";
    let imported = read("x.yaml", text, &options());
    assert!(!imported.is_foreign && imported.remarks.is_empty());
    assert_eq!(wrong("x.yaml", "", &options())[0], "1:1 the file is empty: a document of kind Topology is expected");
}

// --- other tools --------------------------------------------------------------------------------------------------

#[test]
fn nodes_are_known_by_their_names_where_edges_mean_names() {
    let text = r#"{"nodes":[{"name":"s1","type":"switch"},{"name":"h1","type":"host"},{"name":"h2","type":"host"}],
        "links":[{"source":"h1","target":"s1","bw":"100Mbit","delay":"5ms"},{"source":"h2","target":"s1","bw":"1Gbit"}]}"#;
    let network = read("x.json", text, &options()).topology.network;
    assert_eq!(links(&network), ["h1->s1 100Mbit 5ms", "s1->h1 100Mbit 5ms", "h2->s1 1Gbit 0ns", "s1->h2 1Gbit 0ns"]);
    // Numbers are places in the list, as d3 has them.
    let text = r#"{"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": 1, "target": 0}]}"#;
    assert_eq!(links(&read("x.json", text, &with_rate()).topology.network)[0], "b->a 10Gbit 0ns");
}

#[test]
fn topohub_says_where_nodes_are_and_how_long_links_are() {
    let text = r#"{"directed": false, "multigraph": false, "graph": {"name": "t", "demands": {}, "stats": {"nodes": 2}},
"nodes": [{"pos": [10.0, 50.0], "id": 0}, {"pos": [11.0, 50.0], "id": 1}, {"pos": [10.0, 50.0], "id": 2}],
"edges": [{"source": 0, "target": 1, "dist": 100.0}, {"source": 1, "target": 2}]}"#;
    let places = ImportOptions { delay_from_places: true, hosts: HostRule::None, ..with_rate() };
    let network = read("x.json", text, &places).topology.network;
    // 100 km at two thirds of 299,792.458 km/s are 500.35 us; one degree at 50 degrees north is 71.47 km, 357.6 us.
    assert_eq!(links(&network)[..3], ["0->1 10Gbit 501us", "1->0 10Gbit 501us", "1->2 10Gbit 358us"]);
    let said = remarks(&read("x.json", text, &with_rate()));
    assert!(said.iter().any(|remark| remark.contains("\"dist (km)\" of links (line 3)")), "{said:#?}");
}

#[test]
fn miniedit_is_read_with_its_bandwidths_in_mbit() {
    let text = r#"{"application":{"startCLI":"0"},"controllers":[],
"hosts":[{"number":"1","opts":{"hostname":"h1","nodeNum":1},"x":"1","y":"1"},{"number":"2","opts":{"hostname":"h2"}}],
"switches":[{"number":"1","opts":{"hostname":"s1","nodeNum":1,"switchType":"default"},"x":"3","y":"3"}],
"links":[{"src":"h1","dest":"s1","opts":{"bw":100,"delay":"5ms"}},{"src":"h2","dest":"s1","opts":{"bw":10}}],"version":"2"}"#;
    let imported = read("mn.json", text, &options());
    let forward: Vec<String> = links(&imported.topology.network).into_iter().step_by(2).collect();
    assert_eq!(forward, ["h1->s1 100Mbit 5ms", "h2->s1 10Mbit 0ns"]);
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["h1", "h2"]);
    let nameless = text.replace("\"hostname\":\"h2\"", "");
    assert_eq!(
        wrong("mn.json", &nameless, &options())[0],
        "2:78 a node needs its name: opts with the key \"hostname\""
    );
}

#[test]
fn topologies_of_the_p4_tutorials_are_read_with_ports() {
    let text = r#"{"hosts":{"h1":{"ip":"10.0.1.1/24"},"h2":{"ip":"10.0.2.2/24"}},
"switches":{"s1":{"runtime_json":"s1.json"},"s2":{"runtime_json":"s2.json"}},
"links":[["h1","s1-p1"],["h2","s2-p1",2],["s1-p2","s2-p2","5us",0.5]]}"#;
    let network = read("p4.json", text, &with_rate()).topology.network;
    let forward: Vec<String> = links(&network).into_iter().step_by(2).collect();
    assert_eq!(forward, ["h1->s1 10Gbit 0ns", "h2->s2 10Gbit 2ms", "s1->s2 500kbit 5us"]);
    let port = network.find_link("s1->s2").unwrap();
    assert_eq!(network.interfaces()[&port], "s1-eth2");
    assert_eq!(wrong("p4.json", &text.replace(r#"["h1","s1-p1"]"#, r#"["h1"]"#), &with_rate()).len(), 1);
}

const POLSKA: &str = "?SNDlib native format; type: network; version: 1.0
# network polska
NODES (
  # <node_id> [(<longitude>, <latitude>)]
  Gdansk ( 18.60 54.20 )
  Lodz ( 19.40 51.70 ) () ()
)
LINKS (
  L0 ( Gdansk Lodz ) 155.00 0.00 0.00 156.00 ( 155.00 156.00 622.00 468.00 )
  L1 ( Gdansk Lodz ) 0.00 0.00 0.00 156.00 ( )
)
";

#[test]
fn sndlib_is_read_with_the_capacity_that_is_installed() {
    let options = ImportOptions {
        rate_unit: Some(RateUnit::Mbit),
        delay_from_places: true,
        hosts: HostRule::None,
        ..with_rate()
    };
    let imported = read("polska.txt", POLSKA, &options);
    let forward: Vec<String> = links(&imported.topology.network).into_iter().step_by(2).collect();
    // 2.5 degrees of latitude and 0.8 of longitude are 283.1 km: 1.4165 ms.
    assert_eq!(forward, ["Gdansk->Lodz 155Mbit 1.417ms", "Gdansk->Lodz#2 10Gbit 1.417ms"]);
    for (old, new, expected) in [
        ("LINKS (", "LINKS", "9:3 \"(\" is expected here, not \"L0\""),
        ("( Gdansk Lodz ) 155", "( Gdansk ) 155", "9:15 the id of a node is expected here"),
        ("( )\n)", "( )\n", "10:47 the file ends here, and the id of a link is expected"),
        ("Lodz ) 155", "Lodz2 ) 155", "9:15 there is no node \"Lodz2\", did you mean \"Lodz\"?"),
    ] {
        assert!(POLSKA.contains(old), "{old}");
        assert_eq!(wrong("polska.txt", &POLSKA.replacen(old, new, 1), &options)[0], expected, "{new}");
    }
}

#[test]
fn files_that_are_known_and_not_read_are_refused_by_name() {
    for (file, text, expected) in [
        (
            "gns3.json",
            r#"{"name":"x","type":"topology","topology":{"computes":[],"nodes":[{"node_id":"aa"}],"links":[]}}"#,
            "a GNS3 project: not read",
        ),
        ("x.gns3", r#"{"topology": {"computes": [], "nodes": [], "links": []}}"#, "a GNS3 project: not read"),
        ("topology.yml", "nodes: [r1, r2]\nlinks: [r1-r2]\n", "a netlab topology: not read"),
        (
            "topology.yml",
            "provider: clab\nnodes: { r1: , r2: }\nlinks: [ { r1: , r2: , bandwidth: 1000 } ]\n",
            "a netlab topology: not read",
        ),
        (
            "topology.yml",
            "nodes: [r1, r2]\nlinks:\n- interfaces: [ { node: r1 }, { node: r2 } ]\n",
            "a netlab topology: not read",
        ),
        (
            "network.json",
            r#"{"AP_A": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 100, "children": {}}}"#,
            "a network.json of LibreQoS: not read",
        ),
        (
            "ShapedDevices.csv",
            "Circuit ID,Circuit Name,Device ID\n1,\"c one\",1\n",
            "a ShapedDevices.csv of LibreQoS: not read",
        ),
        (
            "polska.xml",
            "<?xml version=\"1.0\"?>\n<network xmlns=\"http://sndlib.zib.de/network\" version=\"1.0\"/>",
            "SNDlib's XML form: not read",
        ),
        ("1239.cch", "5041 @Atlanta,+GA + bb (2) -> <5038> <4062> =r1 r0\n", "a Rocketfuel map: not read"),
        (
            "inet.txt",
            "3 2\n0 1.5 2\n1 2 3\n",
            "a list of numbers, such as an Inet or Orbis file of ns-3 or a topology of HPCC: not read here",
        ),
        (
            "topology.txt",
            "3 1 2\n0\n1 0 1Gbps 1us 0\n",
            "a list of numbers, such as an Inet or Orbis file of ns-3 or a topology of HPCC: not read here",
        ),
    ] {
        assert_eq!(wrong(file, text, &options()), [format!("1:1 this is {expected}")], "{file}");
    }
}

#[test]
fn interface_names_survive_graphs() {
    let text = r#"{"nodes": [{"id": "a", "kind": "switch"}, {"id": "b", "kind": "host"}, {"id": "c", "kind": "host"}],
"edges": [{"source": "a", "target": "b", "source_interface": "eth7", "target_interface": "enp1s0", "mtu": 9000},
          {"source": "c", "target": "a", "toInterface": "x", "targetInterface": "eth3"}]}"#;
    let imported = read("x.json", text, &with_rate());
    let ports = |network: &Network| {
        network.interfaces().iter().map(|(&id, name)| format!("{} {name}", network.link(id).name)).collect::<Vec<_>>()
    };
    let expected = ["a->b eth7", "b->a enp1s0", "a->c eth3"];
    assert_eq!(ports(&imported.topology.network), expected);
    assert!(remarks(&imported).iter().any(|remark| remark.contains("\"toInterface\" of links")));
    for (format, file) in
        [(GraphFormat::NodeLink, "x.json"), (GraphFormat::Gml, "x.gml"), (GraphFormat::GraphMl, "x.graphml")]
    {
        let (text, _) = write_graph(&imported.topology.network, "x", format);
        assert_eq!(ports(&read(file, &text, &options()).topology.network), expected, "{text}");
    }
}

#[test]
fn hosts_that_are_joined_are_an_error_that_says_what_to_do() {
    let text = r#"{"hosts": ["a", "b"], "links": [["a", "b"]]}"#;
    let errors = read_network(&Source::new("x.json", text), &with_rate()).unwrap_err();
    assert!(errors.problems()[0].hint().unwrap().contains("put a switch between"), "{errors}");
}
