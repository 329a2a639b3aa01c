//! Topologies for Mininet in JSON: those of MiniEdit (`.mn`), and of the exercises of the P4 tutorials.
//!
//! MiniEdit (Mininet's `examples/miniedit.py`, `saveTopology`) lists `hosts` and `switches` with their `opts`, and `links` with
//! `src`, `dest` and `opts`: `bw` in Mbit/s, and `delay` as tc takes it. The P4 tutorials (`utils/run_exercise.py`,
//! `parse_links`) map names to hosts and to switches; a link is a list of two ends, perhaps with a latency (a number counts
//! ms) and a bandwidth in Mbit/s. The end `s1-p2` is port 2 of `s1`, which Mininet calls `s1-eth2`.

use std::borrow::Cow;

use wayleave_topology::NodeKind;

use crate::graph::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Unused};
use crate::nodelink::load;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// Lists and mappings of nodes, with the kind of their nodes.
const NODES: [(&str, NodeKind); 2] = [("hosts", NodeKind::Host), ("switches", NodeKind::Switch)];

/// Returns `true` if a mapping is a topology of MiniEdit.
pub(crate) fn is_miniedit(root: &Node<'_>) -> bool {
    let is_list = |key: &str| root.field(key).is_some_and(|node| matches!(node.value, Value::Sequence(_)));
    let has = |key: &str, of: &str| first_item(root, key).is_some_and(|item| item.field(of).is_some());
    is_list("switches") && (has("links", "dest") || has("hosts", "opts") || has("switches", "opts"))
}

/// Returns `true` if a mapping is a topology of the P4 tutorials.
pub(crate) fn is_p4(root: &Node<'_>) -> bool {
    let is_mapping = |key: &str| root.field(key).is_some_and(|node| matches!(node.value, Value::Mapping(_)));
    is_mapping("hosts") && is_mapping("switches") && root.field("links").is_some()
}

fn first_item<'n, 'a>(root: &'n Node<'a>, key: &str) -> Option<&'n Node<'a>> {
    match &root.field(key)?.value {
        Value::Sequence(items) => items.first(),
        _ => None,
    }
}

/// Reads a topology of MiniEdit.
pub(crate) fn read_miniedit<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let root = load(text, problems)?;
    let mut graph = Graph { at: root.span, ..Graph::default() };
    // Keys that are no part of the network are accepted too: settings of MiniEdit, and controllers.
    let used = ["hosts", "switches", "links", "version", "application", "controllers"];
    unused(&mut graph.unused, "the file", &root, &used);
    for (key, kind) in NODES {
        let Some(list) = root.field(key) else { continue };
        for item in list.expect_list(key, problems).unwrap_or_default() {
            unused(&mut graph.unused, "nodes", item, &["number", "opts"]);
            let options = item.field("opts");
            if let Some(options) = options {
                unused(&mut graph.unused, "nodes", options, &["hostname", "nodeNum", "switchType", "controllers"]);
            }
            let Some(Node { value: Value::Scalar(name), span }) = options.and_then(|node| node.field("hostname"))
            else {
                let message = "a node needs its name: opts with the key \"hostname\"";
                problems.report(ProblemKind::MissingKey, item.span, || message);
                continue;
            };
            graph.nodes.push(GraphNode { id: name.clone(), at: *span, attributes: Vec::new(), kind: Some(kind) });
        }
    }
    let links = root.field("links").and_then(|links| links.expect_list("links", problems));
    for item in links.unwrap_or_default() {
        unused(&mut graph.unused, "links", item, &["src", "dest", "opts"]);
        let [Some(from), Some(to)] = ["src", "dest"].map(|key| item.field(key)) else {
            let message = "a link needs its two ends, \"src\" and \"dest\"";
            problems.report(ProblemKind::MissingKey, item.span, || message);
            continue;
        };
        let attributes = item.field("opts").map(|options| options.attributes(&[])).unwrap_or_default();
        let attributes = attributes.into_iter().map(in_mbit).collect();
        let (from, to) = (end(from, problems), end(to, problems));
        if let (Some(from), Some(to)) = (from, to) {
            graph.edges.push(GraphEdge { ends: [from, to], directed: false, at: item.span, attributes });
        }
    }
    Some(graph)
}

/// Reads a topology of the P4 tutorials.
pub(crate) fn read_p4<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let root = load(text, problems)?;
    let mut graph = Graph { at: root.span, ..Graph::default() };
    unused(&mut graph.unused, "the file", &root, &["hosts", "switches", "links"]);
    for (key, kind) in NODES {
        for Entry { key, value } in root.field(key).map(Node::entries).unwrap_or_default() {
            let Value::Scalar(name) = &key.value else { continue };
            // Addresses and commands of hosts, programs of switches.
            unused(&mut graph.unused, "nodes", value, &["commands", "runtime_json", "cli_input", "program"]);
            graph.nodes.push(GraphNode { id: name.clone(), at: key.span, attributes: Vec::new(), kind: Some(kind) });
        }
    }
    for item in root.field("links")?.expect_list("links", problems)? {
        let Some([from, to, rest @ ..]) = item.expect_list("a link of two ends", problems) else {
            if matches!(&item.value, Value::Sequence(_)) {
                let message = "a link has two ends: [\"h1\", \"s1-p1\"] is expected";
                problems.report(ProblemKind::WrongType, item.span, || message);
            }
            continue;
        };
        let mut attributes = Vec::new();
        for (at, value) in rest.iter().enumerate().filter(|(_, value)| !matches!(value.value, Value::Null)) {
            match (at, value.text()) {
                (0, Some(latency)) => attributes.push(latency_of(problems.source().text(), latency, value)),
                (1, Some(_)) => attributes.extend(rate_of(value)),
                _ => graph.unused.add_stated("links", &format!("value {}", at + 3), value.span),
            }
        }
        let (from, to) = (port_end(from, problems), port_end(to, problems));
        if let (Some(from), Some(to)) = (from, to) {
            graph.edges.push(GraphEdge { ends: [from, to], directed: false, at: item.span, attributes });
        }
    }
    Some(graph)
}

/// Notes the keys of a mapping that are not used.
fn unused(unused: &mut Unused, owner: &'static str, node: &Node<'_>, used: &[&str]) {
    for Entry { key, value } in node.entries() {
        let name = key.text().unwrap_or_default();
        if !used.contains(&name) {
            unused.add(owner, name, key.span.to(value.span));
        }
    }
}

fn end<'t>(node: &Node<'t>, problems: &mut Problems<'_>) -> Option<GraphEnd<'t>> {
    node.expect_text(problems)?;
    match &node.value {
        Value::Scalar(name) => Some(GraphEnd::new(name.clone(), node.span)),
        _ => None,
    }
}

/// `h1`, or `s1-p2` for a port.
fn port_end<'t>(node: &Node<'t>, problems: &mut Problems<'_>) -> Option<GraphEnd<'t>> {
    let text = node.expect_text(problems)?;
    match text.rsplit_once("-p").filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some((name, port)) => {
            let interface = Some(Cow::Owned(format!("{name}-eth{port}")));
            Some(GraphEnd { interface, ..GraphEnd::new(Cow::Owned(name.to_owned()), node.span) })
        }
        None => end(node, problems),
    }
}

/// `bw` of Mininet counts Mbit/s.
fn in_mbit(attribute: Attribute<'_>) -> Attribute<'_> {
    match (&*attribute.key, &attribute.value) {
        ("bw", Some(value)) if !value.trim().is_empty() => {
            let value = Some(Cow::Owned(format!("{}Mbit", value.trim())));
            Attribute { value, ..attribute }
        }
        _ => attribute,
    }
}

fn rate_of<'t>(value: &Node<'t>) -> Option<Attribute<'t>> {
    let Value::Scalar(text) = &value.value else { return None };
    Some(in_mbit(Attribute { key: Cow::Borrowed("bw"), value: Some(text.clone()), at: value.span }))
}

/// A latency: a number counts ms, a text has its unit.
fn latency_of<'t>(source: &str, latency: &str, value: &Node<'t>) -> Attribute<'t> {
    let is_text = source[value.span.range()].starts_with(['"', '\'']);
    let latency = if is_text { latency.to_owned() } else { format!("{latency}ms") };
    Attribute { key: Cow::Borrowed("latency"), value: Some(Cow::Owned(latency)), at: value.span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn ports_of_p4_are_interfaces_of_mininet() {
        let text = r#"{"hosts": {"h1": {}}, "switches": {"s-p": {}}, "links": [["h1", "s-p-p2", "1us", 10]]}"#;
        let source = Source::new("x.json", text);
        let graph = read_p4(text, &ImportOptions::default(), &mut Problems::new(&source)).unwrap();
        let [from, to] = &graph.edges[0].ends;
        assert_eq!((from.interface.as_deref(), &*to.id, to.interface.as_deref()), (None, "s-p", Some("s-p-eth2")));
        let values: Vec<_> = graph.edges[0].attributes.iter().map(|one| one.value.as_deref()).collect();
        assert_eq!(values, [Some("1us"), Some("10Mbit")]);
    }
}
