//! No text makes a reader panic or report a position outside the file, and written files read back unchanged.

use crate::robust::check_everything;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wayleave_contracts::{Accounting, Excess, LatencyContract};
use wayleave_formats::{
    GraphFormat, HostSelector, ImportOptions, Source, read_contracts, read_network, read_topology, write_contracts,
    write_graph, write_topology,
};
use wayleave_topology::{LinkSpec, Network, NetworkBuilder, Node, NodeId, NodeKind, PortQueue, PortSpec};
use wayleave_units::{Bytes, Rate, Time, is_plain};

const DOCUMENTS: [&str; 22] = [
    include_str!("../../../../../schemas/examples/topology-builder.yaml"),
    include_str!("../../../../../schemas/examples/topology-links.yaml"),
    include_str!("../../../../../schemas/examples/contracts.yaml"),
    include_str!("../../../../../schemas/examples/contracts.csv"),
    include_str!("../../../../../schemas/examples/contracts-controller.yaml"),
    include_str!("../../../../../schemas/examples/tenants.yaml"),
    include_str!("../../../../../schemas/examples/policy.yaml"),
    "name,tenant,from,to,rate,burst,deadline,priority,starts,ends\na,acme,h1,h2,1Mbit,1kB,2ms,7,2026-11-21T08:00:00Z,\n",
    r#"{"name":"a","from":"h1","to":"h2","rate":"1Mbit","burst":"1kB","deadline":"2ms","priority":80,"starts":"2026-11-21T08:00:00.5+01:00","match":{"protocol":"tcp","sourceAddress":"10.0.0.1","destinationPort":443}}"#,
    include_str!("../../../../../schemas/examples/events.yaml"),
    include_str!("../../../../../schemas/examples/scenario.yaml"),
    include_str!("../../../../../docs/examples/scenario-sweep.yaml"),
    "4 2 3\n0 1\n0 1 40Gbps 1us 0\n0 2 1Gbps 1000ns 0.0\n1 3 1Gbps 0.001ms 0\n",
    "Nodes 9\nConnections 2\n0->3 id 1 start 1500 size 2000000\n3->8 start 0 size 9\n",
    "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 1\nRadix_Down 2\nDownlink_Latency_ns 1\n",
    r#"{"directed":false,"graph":{"name":"x"},"nodes":[{"id":0},{"id":"a","kind":"host"}],"edges":[{"source":0,"target":"a","bandwidth":"10Gbit"}]}"#,
    r#"{"end_systems":["a"],"switches":["s"],"links":[["a","s"]],"rate_bps":1e9}"#,
    "graph [\n  node [ id 0 label \"K&#246;ln\" Longitude 6.9 Latitude 50.9 ]\n  node [ id 1 ]\n  edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 ]\n]\n",
    "<graphml><key id=\"d0\" for=\"edge\" attr.name=\"rate_bps\"><default>1e9</default></key><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"><data key=\"d0\">5</data></edge></graph></graphml>",
    "name: lab\ntopology:\n  defaults: { kind: linux }\n  nodes:\n    s: { kind: bridge }\n    a:\n    b: { labels: { wayleave.role: host } }\n  links:\n    - endpoints: [\"s:e1\", \"a:e1\"]\n      vars: { rate: 10Gbps, delay: 1ms }\n    - { type: veth, endpoints: [{ node: s }, { node: b }], vars: { rate: 1Gbit } }\n",
    "graph [ directed 1 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 capacity_Gbps 1 delay_ms 0.1 ] ]",
    r#"{"apiVersion":"wayleave/v1","kind":"Contracts","spec":{"contracts":[{"name":"\u00e9\ud83d\ude00","from":"h1"}]}}"#,
];

/// Pieces that change what a document means.
const PIECES: [&str; 40] = [
    "\n", "\r\n", "\r", "\t", " ", "  ", "\u{feff}", "\0", "\u{1b}", "\u{2028}", "é", "😀", ":", ": ", ",", "-", "- ",
    "?", "? ", "[", "]", "{", "}", "\"", "'", "#", " #", "&a ", "*a", "!x ", "|", ">", "%", "@", "---\n", "...\n",
    "<<: ", "null", "0", "h1",
];

fn mutated() -> impl Strategy<Value = String> {
    let mutation = (any::<prop::sample::Index>(), 0..20usize, prop::sample::select(&PIECES[..]));
    (prop::sample::select(&DOCUMENTS[..]), vec(mutation, 1..6)).prop_map(|(document, mutations)| {
        mutations.into_iter().fold(document.to_owned(), |text, (at, removed, piece)| {
            let characters: Vec<char> = text.chars().collect();
            let at = at.index(characters.len() + 1);
            let end = (at + removed).min(characters.len());
            characters[..at].iter().copied().chain(piece.chars()).chain(characters[end..].iter().copied()).collect()
        })
    })
}

fn cut() -> impl Strategy<Value = String> {
    (prop::sample::select(&DOCUMENTS[..]), any::<prop::sample::Index>()).prop_map(|(document, end)| {
        let end = end.index(document.len() + 1);
        document
            .chars()
            .scan(0, |at, c| {
                *at += c.len_utf8();
                (*at <= end).then_some(c)
            })
            .collect()
    })
}

/// Any name that a node may have.
fn name() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "null", "yes", "1", "1e3", "-", "~", "a: b", "a #b", "'", "\"", "\\", "{", " a ", "é😀", "*a",
    ]);
    prop_oneof!["[a-z][a-z0-9]{0,8}", "\\PC{1,12}", plain.prop_map(str::to_owned)]
        .prop_filter("no name of a node", |name| !name.contains("->") && !name.contains('#') && is_plain(name))
}

/// Text that may be a name: `\PC` still has invisible characters of other categories, such as variation selectors.
fn plain_text(pattern: &'static str) -> impl Strategy<Value = String> {
    proptest::string::string_regex(pattern).unwrap().prop_filter("an invisible character", |text| is_plain(text))
}

fn time(most: u64) -> impl Strategy<Value = Time> {
    prop_oneof![1..=most, Just(1), Just(most), (1..=most).prop_map(|t| (t / 1000).max(1))].prop_map(Time::from_nanos)
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![1..=10_000_000_000_000u64, Just(1_000_000_000)].prop_map(Rate::from_bits_per_second)
}

fn size(least: u64) -> impl Strategy<Value = Bytes> {
    prop_oneof![least..=100_000_000_000, Just(97_000u64.max(least))].prop_map(Bytes::new)
}

fn port() -> impl Strategy<Value = PortSpec> {
    let queue = (size(0), option::of(time(10_000_000_000))).prop_map(|(buffer, budget)| PortQueue { buffer, budget });
    let uniform = (1..=8usize, size(0)).prop_map(|(count, buffer)| PortSpec::uniform(count, buffer).queues);
    prop_oneof![vec(queue, 1..=8), uniform].prop_map(|queues| PortSpec { queues })
}

type Cable = (prop::sample::Index, prop::sample::Index, (Rate, Time, u64), PortSpec, PortSpec, bool);

fn network() -> impl Strategy<Value = Network> {
    let node = (name(), any::<bool>(), time(10_000), time(10_000));
    let line = (rate(), prop_oneof![Just(Time::ZERO), time(1_000_000)], prop_oneof![Just(1500u64), 64..=65_535u64]);
    let cable = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), line, port(), port(), any::<bool>());
    (vec(node, 1..8), vec(cable, 0..12)).prop_map(|(nodes, cables)| build(nodes, cables))
}

fn build(nodes: Vec<(String, bool, Time, Time)>, cables: Vec<Cable>) -> Network {
    let mut builder = NetworkBuilder::default();
    let mut ids: Vec<NodeId> = Vec::new();
    for (name, host, processing, jitter) in nodes {
        let kind = if host { NodeKind::Host } else { NodeKind::Switch };
        ids.extend(builder.add(Node { name, kind, processing, jitter }));
    }
    for (from, to, (rate, propagation, mtu), port, back, both) in cables {
        let (from, to) = (ids[from.index(ids.len())], ids[to.index(ids.len())]);
        let spec = LinkSpec { from, to, rate, propagation, mtu: Bytes::new(mtu), port: port.clone() };
        // Half of the cables have two ports alike, as between switches that `between` can describe. Cables that join
        // two hosts, or a node to itself, are refused.
        let _ = if both { builder.add_cable(spec, back).map(drop) } else { builder.add_cable(spec, port).map(drop) };
    }
    builder.build()
}

fn description(network: &Network) -> Vec<String> {
    let nodes = network.nodes().map(|(_, node)| format!("{node:?}"));
    let links = network.links().map(|(id, link)| {
        let (from, to) = (link.from, link.to);
        format!(
            "{} {from:?} {to:?} {} {} {} {:?}",
            link.name,
            link.rate,
            link.propagation,
            link.mtu,
            network.queues(id)
        )
    });
    nodes.chain(links).collect()
}

/// Returns the properties of a network that a graph can hold.
fn graph_of(network: &Network) -> Vec<String> {
    let nodes = network.nodes().map(|(_, node)| format!("{} {:?}", node.name, node.kind));
    let links = network.links().map(|(_, link)| {
        format!("{} {:?} {:?} {} {} {}", link.name, link.from, link.to, link.rate, link.propagation, link.mtu)
    });
    nodes.chain(links).collect()
}

/// A contract on a star, apart from the ends.
fn contract() -> impl Strategy<Value = LatencyContract> {
    let star = crate::common::star();
    let (from, to) = (star.find_node("h1").unwrap(), star.find_node("h2").unwrap());
    let frames = prop_oneof![
        Just((Accounting::Wire, None)),
        (64..1500u64).prop_map(|f| (Accounting::Wire, Some(Bytes::new(f)))),
        (14..1500u64).prop_map(|f| (Accounting::Frame { min_frame: Bytes::new(f) }, None)),
        (14..1500u64).prop_map(|f| (Accounting::Frame { min_frame: Bytes::new(f) }, Some(Bytes::new(1500)))),
    ];
    // Some are other values in YAML without quotation marks.
    let name = prop_oneof!["[A-Za-z0-9_-][A-Za-z0-9._-]{0,9}", Just("null".to_owned()), Just("1e3".to_owned())];
    let tenant = prop_oneof!["[a-z0-9-]{1,9}", Just("yes".to_owned()), Just("0".to_owned())];
    (name, option::of(tenant), rate(), size(1500), time(100_000_000_000), frames, 1..=4u8).prop_map(
        move |(name, tenant, rate, burst, deadline, (accounting, max_frame), protection)| LatencyContract {
            name,
            tenant,
            from,
            to,
            rate,
            burst,
            deadline,
            accounting,
            max_frame,
            route: None,
            protection,
            excess: Excess::ALL[usize::from(protection) % 3],
        },
    )
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(text in "(?s).{0,200}") {
        check_everything(&text, &crate::common::star());
    }

    #[test]
    fn any_pieces_are_read_or_refused_at_a_place_in_them(pieces in vec(prop::sample::select(&PIECES[..]), 0..60)) {
        check_everything(&pieces.concat(), &crate::common::star());
    }

    #[test]
    fn a_document_with_errors_is_read_or_refused_at_a_place_in_it(text in mutated()) {
        check_everything(&text, &crate::common::star());
    }

    #[test]
    fn a_truncated_document_is_read_or_refused_at_a_place_in_it(text in cut()) {
        check_everything(&text, &crate::common::star());
    }

    #[test]
    fn a_network_reads_back_as_it_was_written(network in network(), called in name()) {
        let text = write_topology(&network, &called);
        let read = read_topology(&Source::new("x.yaml", text.clone())).unwrap_or_else(|e| panic!("{e}\n{text}"));
        prop_assert_eq!(&read.name, &called);
        prop_assert_eq!(description(&read.network), description(&network), "{}", text);
    }

    #[test]
    fn a_network_reads_back_from_every_graph_format(network in network(), called in name()) {
        for (format, file) in [
            (GraphFormat::NodeLink, "x.json"),
            (GraphFormat::Gml, "x.gml"),
            (GraphFormat::GraphMl, "x.graphml"),
        ] {
            let (text, _) = write_graph(&network, &called, format);
            let options = ImportOptions::default().with_hosts(HostSelector::None);
            let read = read_network(&Source::new(file, text.clone()), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
            prop_assert_eq!(&read.topology.name, &called, "{}", text);
            prop_assert_eq!(graph_of(&read.topology.network), graph_of(&network), "{}", text);
        }
    }

    #[test]
    fn contracts_read_back_as_they_were_written(mut contracts in vec(contract(), 0..6)) {
        let mut names = std::collections::HashSet::new();
        contracts.retain(|contract| names.insert(contract.name.clone()));
        let star = crate::common::star();
        let text = write_contracts(&contracts, &star, "x");
        let read = read_contracts(&Source::new("x.yaml", text.clone()), &star).unwrap_or_else(|e| panic!("{e}\n{text}"));
        prop_assert_eq!(read.contracts(), &contracts);
    }

    #[test]
    fn json_strings_have_their_json_meaning(name in plain_text("\\PC{1,20}")) {
        let document = serde_json::json!({
            "apiVersion": "wayleave/v1", "kind": "Contracts", "metadata": { "name": name }, "spec": { "contracts": [] },
        });
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let list = crate::common::contracts(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            prop_assert_eq!(list.name(), &name);
        }
    }
}
