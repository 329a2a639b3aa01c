//! GraphML (Brandes et al., 2001), as Topology Zoo, NetworkX and yEd write it.
//!
//! Attributes of nodes and edges are `<data>` elements that refer to a `<key>`. The key contains the name and the
//! default value.

use std::borrow::Cow;
use std::collections::HashMap;

use roxmltree::Node;

use crate::graph::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Remark};
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};
use crate::xml::{self, head, note_unused};

pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let document = xml::parse(text, problems)?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = || format!("the first element is {}, and graphml is expected", quoted(root.tag_name().name()));
        problems.report(ProblemKind::WrongKind, head(root), message);
        return None;
    }
    let mut graphs = root.children().filter(|node| is(node, "graph"));
    let Some(of) = graphs.next() else {
        problems.report(ProblemKind::MissingKey, head(root), || "there is no <graph> in this file");
        return None;
    };
    if let Some(second) = graphs.next() {
        let message = ("a second graph begins here", "put each graph into a file of its own");
        problems.report(ProblemKind::Syntax, head(second), || message);
    }
    let mut graph = read_graph(of, &Keys::read(root), problems);
    note_unused(&mut graph.unused, "the file", root, &["schemaLocation"], &["key", "graph"]);
    Some(graph)
}

fn read_graph(of: Node<'_, '_>, keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Graph<'static> {
    let directed = of.attribute("edgedefault") == Some("directed");
    let mut graph = Graph { at: head(of), attributes: keys.attributes(of, "graph"), ..Graph::default() };
    let name = graph.attributes.iter().find(|one| matches!(&*one.key, "name" | "label" | "Network"));
    graph.name = name.and_then(|one| one.value.as_deref()).filter(|name| !name.is_empty()).map(str::to_owned);
    graph.attributes.retain(|one| !matches!(&*one.key, "name" | "label"));
    let mut hyperedges = 0;
    let inside = ["node", "edge", "hyperedge", "data"];
    note_unused(&mut graph.unused, "the graph", of, &["id", "edgedefault"], &inside);
    // Graphs inside of nodes (groups of yEd) are part of the same network.
    for node in of.descendants().filter(Node::is_element) {
        match node.tag_name().name() {
            "node" => {
                note_unused(&mut graph.unused, "nodes", node, &["id"], &["data", "graph", "port"]);
                if let Some(id) = required(node, "id", problems) {
                    let attributes = keys.attributes(node, "node");
                    graph.nodes.push(GraphNode { id: id.id, at: head(node), attributes, kind: None });
                }
            }
            "edge" => {
                let used = ["id", "source", "target", "directed", "sourceport", "targetport"];
                note_unused(&mut graph.unused, "links", node, &used, &["data"]);
                let (from, to) = (required(node, "source", problems), required(node, "target", problems));
                if let (Some(from), Some(to)) = (from, to) {
                    let port = |key: &str| node.attribute(key).map(|name| Cow::Owned(name.to_owned()));
                    let from = GraphEnd { interface: port("sourceport"), ..from };
                    let to = GraphEnd { interface: port("targetport"), ..to };
                    let directed = node.attribute("directed").map_or(directed, |value| value == "true");
                    let attributes = keys.attributes(node, "edge");
                    graph.edges.push(GraphEdge { ends: [from, to], directed, at: head(node), attributes });
                }
            }
            "hyperedge" => hyperedges += 1,
            _ => {}
        }
    }
    if hyperedges > 0 {
        let message = format!("{hyperedges} hyperedges (edges with more than two ends) were left out");
        graph.remarks.push(Remark::LeftOut(message));
    }
    graph
}

fn is(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn required(node: Node<'_, '_>, name: &str, problems: &mut Problems<'_>) -> Option<GraphEnd<'static>> {
    let Some(attribute) = node.attribute_node(name) else {
        let element = node.tag_name().name().to_owned();
        problems.report(ProblemKind::MissingKey, head(node), || format!("this {element} needs the attribute {name}"));
        return None;
    };
    Some(GraphEnd::new(Cow::Owned(attribute.value().to_owned()), Span::new(attribute.range_value())))
}

/// The declared attributes.
struct Keys<'d, 'i> {
    by_id: HashMap<&'d str, &'d str>,
    /// Keys with default values: the element type, the name, the value.
    defaults: Vec<(&'d str, &'d str, Node<'d, 'i>)>,
}

impl<'d, 'i> Keys<'d, 'i> {
    fn read(root: Node<'d, 'i>) -> Self {
        let mut keys = Self { by_id: HashMap::new(), defaults: Vec::new() };
        for key in root.children().filter(|node| is(node, "key")) {
            let Some(id) = key.attribute("id") else { continue };
            let name = key.attribute("attr.name").unwrap_or(id);
            keys.by_id.insert(id, name);
            if let Some(default) = key.children().find(|node| is(node, "default")) {
                keys.defaults.push((key.attribute("for").unwrap_or("all"), name, default));
            }
        }
        keys
    }

    /// Returns the data of an element, with defaults for absent data.
    fn attributes(&self, of: Node<'d, 'i>, what: &str) -> Vec<Attribute<'static>> {
        let mut attributes = Vec::new();
        for data in of.children().filter(|node| is(node, "data")) {
            let key = data.attribute("key").unwrap_or_default();
            let name = self.by_id.get(key).copied().unwrap_or(key);
            // yEd keeps what a node is called inside of its drawing.
            let label = data.descendants().find(|node| is(node, "NodeLabel"));
            match label.filter(|_| what == "node") {
                Some(label) => attributes.push(attribute("label", label)),
                None => attributes.push(attribute(name, data)),
            }
        }
        for (owner, name, default) in &self.defaults {
            if [what, "all"].contains(owner) && attributes.iter().all(|one| one.key != *name) {
                attributes.push(attribute(name, *default));
            }
        }
        attributes
    }
}

/// An attribute whose value is the text of an element; none if there are elements in it.
fn attribute(name: &str, element: Node<'_, '_>) -> Attribute<'static> {
    let mut texts = element.children().filter(Node::is_text);
    let first = texts.next();
    let has_elements = element.children().any(|child| child.is_element()) && element.tag_name().name() != "NodeLabel";
    let value = (!has_elements).then(|| {
        let text: String = first.iter().chain(&texts.collect::<Vec<_>>()).filter_map(Node::text).collect();
        // Labels are kept as they are; line ends around them are the formatting of the file.
        Cow::Owned(text.trim_matches(['\n', '\r', '\t']).to_owned())
    });
    let at = first.map_or_else(|| head(element), |text| Span::new(text.range()));
    Attribute { key: Cow::Owned(name.to_owned()), value, at }
}
