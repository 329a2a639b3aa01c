//! Networks from the files of other tools: meaning of attributes, roles of nodes, and remarks about assumptions.

use crate::common::graphs::{links, names, options, read, remarks, with_rate, wrong};
use wayleave_formats::{
    DelayUnit, GraphFormat, HostSelector, ImportOptions, RateUnit, Source, parse_builder, read_network, write_graph,
};
use wayleave_topology::{Network, NodeKind};

// --- node-link JSON ------------------------------------------------------------------------------------------------

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

/// Values of the graph are defaults whose source is named, also where an option counts before them; of two MTUs the one that is not used is named.
#[test]
fn defaults_of_the_graph_and_unused_second_values_are_reported() {
    let text = r#"{"graph": {"bandwidth": "5Gbit", "latency": "1ms"}, "nodes": [{"id": "a"}, {"id": "b"}],
        "edges": [{"source": "a", "target": "b", "mtu": 9000, "MTU": 1400}]}"#;
    let messages = remarks(&read("x.json", text, &options())).join("\n");
    assert!(messages.contains("1 of 1 link have no rate: 5Gbit (the file's own default)"), "{messages}");
    assert!(messages.contains("1 of 1 link have no delay: 1ms (the file's own default)"), "{messages}");
    assert!(messages.contains("\"mtu\""), "{messages}");
    let messages = remarks(&read("x.json", text, &with_rate())).join("\n");
    assert!(messages.contains("10Gbit (--default-rate, and not 5Gbit, the file's own default)"), "{messages}");
}

#[test]
fn a_directed_multigraph_keeps_every_link() {
    let text = r#"{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": "a"}, {"id": "b"}], "edges": [
        {"source": "a", "target": "b", "key": 0, "rate_bps": 1e9, "delay_ns": 5},
        {"source": "a", "target": "b", "key": 1, "rate_bps": 2000000000, "delay_ns": 0.5}]}"#;
    let imported = read("x.json", text, &options().with_hosts(HostSelector::None));
    assert_eq!(links(&imported.topology.network), ["a->b 1Gbit 5ns", "a->b#2 2Gbit 1ns"]);
}

#[test]
fn graphs_of_d3_refer_to_list_positions_and_tuples_are_joined() {
    let text = r#"{"nodes": [{"name": "x"}, {"name": "y"}], "links": [{"source": 0, "target": 1}]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["x", "y"]);
    let text = r#"{"nodes": [{"id": [0, 0]}, {"id": [0, 1]}], "edges": [{"source": [0, 0], "target": [0, 1]}]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["0,0", "0,1"]);
}

#[test]
fn lists_of_names_determine_the_hosts() {
    let text = r#"{"name": "CEV", "link_rate_bps_suggested": 100000000.0, "end_systems": ["a", "b"], "switches": ["s"],
        "links_bidirectional": [["a", "s"], ["b", "s"]]}"#;
    let imported = read("x.json", text, &options());
    let network = &imported.topology.network;
    assert_eq!((imported.topology.name.as_str(), names(network, NodeKind::Host)), ("CEV", vec!["a", "b"]));
    assert_eq!(links(network)[0], "a->s 100Mbit 0ns");
    assert!(remarks(&imported)[0].contains("2 of 2 links have no rate: 100Mbit (the file's own default)"));
    // A user's option overrides a file's default.
    assert_eq!(links(&read("x.json", text, &with_rate()).topology.network)[0], "a->s 10Gbit 0ns");
}

#[test]
fn errors_of_node_link_json_are_reported_at_their_place() {
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
            "1:100 \"20Tbit\" is too large: expected at most 10Tbit",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "fast"}]}"#,
            "1:100 \"fast\" does not begin with a number: expected a rate such as 10Gbit, 2.5Mbit/s or 500kbit",
        ),
        (
            r#"[{"source": "rome", "target": "oslo", "rate": "1Gbit", "mtu": 20}]}"#,
            "1:116 \"20\" is not an MTU: expected 64 to 65535 bytes",
        ),
    ] {
        assert_eq!(wrong("x.json", &format!("{nodes}{edges}"), &options())[0], expected, "{edges}");
    }
    let twice = r#"{"nodes": [{"id": 1}, {"id": "1"}], "edges": []}"#;
    assert_eq!(wrong("x.json", twice, &options()), ["1:23 the id \"1\" is already used on line 1"]);
}

#[test]
fn plain_numbers_are_read_in_the_configured_unit() {
    let text =
        r#"{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "capacity": 2.5, "latency": 0.0000001}]}"#;
    assert_eq!(
        wrong("x.json", text, &options()),
        ["1:76 the rate \"2.5\" has no unit", "1:92 the delay \"0.0000001\" has no unit"]
    );
    let two = text.replace("]}", ", [\"b\", \"a\"], {\"source\": \"b\", \"target\": \"a\", \"capacity\": 1}]}");
    assert_eq!(wrong("x.json", &two, &options())[0], "1:76 2 rates have no unit: the first is \"2.5\"");
    let options = options().with_rate_unit(RateUnit::Gbit).with_delay_unit(DelayUnit::Ms);
    // A tenth of a nanosecond is a nanosecond: delays are rounded up.
    assert_eq!(links(&read("x.json", text, &options).topology.network)[0], "a->b 2.5Gbit 1ns");
}

// --- hosts and names -----------------------------------------------------------------------------------------------

/// A star of three leaves around `hub`, one of them with a leaf of its own.
const TREE: &str =
    r#"{"nodes": ["hub", "a", "b", "c", "d"], "edges": [["hub", "a"], ["hub", "b"], ["hub", "c"], ["c", "d"]]}"#;

#[test]
fn hosts_are_attached_if_the_file_names_none() {
    let imported = read("x.json", TREE, &with_rate());
    let network = &imported.topology.network;
    assert_eq!(names(network, NodeKind::Host), ["hub-h1", "a-h1", "b-h1", "c-h1", "d-h1"]);
    assert!(links(network).contains(&"d-h1->d 10Gbit 0ns".to_owned()));
    let messages = remarks(&imported);
    assert_eq!(
        messages[0],
        "note: the file names no hosts: a host was attached to each of 5 switches with links, such as \"hub-h1\""
    );
    let two =
        with_rate().with_hosts(HostSelector::Attach(2)).with_host_rate("1Gbit".parse::<wayleave_units::Rate>().ok());
    let imported = read("x.json", TREE, &two);
    assert_eq!(imported.topology.network.hosts().count(), 10);
    assert!(links(&imported.topology.network).contains(&"d-h2->d 1Gbit 0ns".to_owned()));
}

#[test]
fn leaves_are_hosts_on_request() {
    let imported = read("x.json", TREE, &with_rate().with_hosts(HostSelector::Leaves));
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["a", "b", "d"]);
    assert_eq!(remarks(&imported)[0], "note: taken for hosts: \"a\", \"b\" and \"d\"; for switches: \"hub\" and \"c\"");
    // Two nodes that only know each other: one would have to forward.
    let pair = r#"{"nodes": ["a", "b"], "edges": [["a", "b"]]}"#;
    let imported = read("x.json", pair, &with_rate().with_hosts(HostSelector::Leaves));
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
fn duplicate_or_invalid_names_are_changed_and_reported() {
    let text = r#"{"nodes": [{"id": 0, "label": "None"}, {"id": 1, "label": "None"}, {"id": 2, "label": "a->b"}],
        "edges": [[0, 1], [1, 2]]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["None", "None-2", "a_b"]);
    let messages = remarks(&imported);
    let expected = "note: nodes were renamed (names are unique, without \"->\" and \"#\"): \"None\" is now \"None-2\", \
                    \"a->b\" is now \"a_b\"";
    assert!(messages.iter().any(|remark| remark == expected), "{messages:?}");
}

#[test]
fn omitted_links_and_keys_are_reported() {
    let text = r#"{"nodes": ["a", "b", "c", "d", {"id": "e", "colour": "red"}],
        "edges": [["a", "a"], ["a", "b"], {"source": "c", "target": "d", "weight": 3}]}"#;
    let messages = remarks(&read("x.json", text, &with_rate()));
    for expected in [
        "warning: 1 link joins a node with itself, the first on line 2, and was left out: \"a\"",
        "note: 1 node has no link: \"e\"",
        "note: no link joins the 2 parts around \"a\" and \"c\"",
        "warning: keys not used: \"weight\" of links (line 2)",
        "note: keys not used for rates or delays: \"colour\"",
    ] {
        assert!(messages.iter().any(|remark| remark == expected), "{expected}: {messages:#?}");
    }
}

#[test]
fn more_than_sixty_four_parallel_links_are_refused() {
    let edges = vec![r#"["a", "b"]"#; 65].join(", ");
    let text = format!(r#"{{"nodes": ["a", "b"], "edges": [{edges}]}}"#);
    let messages = wrong("x.json", &text, &with_rate());
    assert!(messages[0].ends_with("more than 64 links between two nodes"), "{messages:?}");
}

// --- writing -------------------------------------------------------------------------------------------------------

#[test]
fn contents_that_a_graph_cannot_hold_are_reported() {
    let network = parse_builder("star:hosts=2,queues=4").unwrap().network;
    let (text, left_out) = write_graph(&network, "a \"b\" & c", GraphFormat::Gml);
    assert!(text.contains(r#"name "a &quot;b&quot; &amp; c""#), "{text}");
    let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["warning: graph formats cannot store queues, buffers and delay budgets"]);
}

#[test]
fn the_examples_of_the_documentation_are_read() {
    let example = |name: &str, options: &ImportOptions| {
        let path = format!("{}/../../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        read_network(&Source::read(path).unwrap(), options).unwrap_or_else(|errors| panic!("{errors}")).topology
    };
    let counts = |network: &Network| (network.hosts().count(), network.switches().count(), network.links().len());
    let plant = example("plant.clab.yml", &options());
    assert_eq!((plant.name.as_str(), counts(&plant.network)), ("plant", (3, 3, 10)));
    assert_eq!(counts(&example("campus.json", &options()).network), (2, 3, 10));
    let places =
        with_rate().with_delay_from_places(true).with_default_delay("1ms".parse::<wayleave_units::Time>().ok());
    assert_eq!(counts(&example("coast.gml", &places).network), (5, 5, 20));
    assert_eq!(counts(&example("coast.graphml", &with_rate()).network), (3, 3, 12));
}

#[test]
fn topologies_of_wayleave_are_still_read_as_such() {
    let text = "apiVersion: wayleave/v1\nkind: Topology\nspec: { builder: { kind: star, hosts: 2 } }\n";
    let imported = read("x.yaml", text, &options());
    assert!(!imported.is_foreign && imported.remarks.is_empty());
    assert_eq!(wrong("x.yaml", "", &options())[0], "1:1 the file is empty: expected a document of kind Topology");
}
