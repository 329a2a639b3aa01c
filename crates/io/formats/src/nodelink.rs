//! JSON (or YAML) that lists nodes and edges: NetworkX's node-link form, d3's, and plain lists of names.
//!
//! NetworkX writes `{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "a"}], "edges": [{"source":
//! "a", "target": "b"}]}`, and before version 3.4 `links` in place of `edges`; d3 leaves the ids out and means indices.
//! Lists of names are `{"hosts": [..], "switches": [..], "links": [["a", "b"], ..]}`. Where nodes have a `name` and no `id`, and
//! ends of edges are such names, they are meant (as in D3's later examples and in exports by hand).
//!
//! TopoHub (github.com/piotrjurkiewicz/topohub) writes node-link JSON with `demands` and `stats` of the graph, where the `pos` of a
//! node is its longitude and latitude and the `dist` of a link its length in km.

use std::borrow::Cow;
use std::collections::HashSet;

use wayleave_topology::NodeKind;

use crate::graph::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Remark, kind_of_word};
use crate::messages::one_of;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Fault, Loader, Node, Value};

const EDGES: [&str; 4] = ["edges", "links", "links_bidirectional", "cables"];
const ENDS: [[&str; 2]; 3] = [["source", "target"], ["from", "to"], ["a", "b"]];

/// Returns `true` if a mapping lists nodes and edges.
pub(crate) fn is_likely(root: &Node<'_>) -> bool {
    root.field("apiVersion").is_none() && edges_of(root).is_some() && node_lists(root).next().is_some()
}

pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let root = load(text, problems)?;
    let Value::Mapping(_) = root.value else {
        let message = || format!("this is {}: expected lists of nodes and edges", root.description());
        problems.report(ProblemKind::WrongType, root.span, message);
        return None;
    };
    let flag = |key: &str| root.field_text(key).is_some_and(|value| value == "true");
    let head = root.field("graph");
    let name = head.and_then(|head| head.field_text("name")).or_else(|| root.field_text("name"));
    let mut attributes = root.attributes(&["name", "directed", "multigraph", "graph", "hyperedges"]);
    attributes.retain(|one| !EDGES.contains(&&*one.key) && node_lists(&root).all(|(key, _, _)| key != one.key));
    attributes.extend(head.map(|head| head.attributes(&["name"])).unwrap_or_default());
    let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
    let mut graph = Graph { name, at: root.span, attributes, ..Graph::default() };
    let mut found = false;
    let edges = edges_of(&root);
    let names = Names { are_ids: mean_names(&root, edges), is_topohub: is_topohub(head) };
    for (_, kind, node) in node_lists(&root) {
        found = true;
        for (index, item) in node.expect_list("nodes", problems).unwrap_or_default().iter().enumerate() {
            graph.nodes.extend(read_node(item, index, kind, &names, problems));
        }
    }
    if !found || edges.is_none() {
        let lists = one_of(&EDGES[..2]);
        problems.report(ProblemKind::MissingKey, root.span, || {
            (format!("a list \"nodes\" and a list {lists} are expected"), "NetworkX writes them with node_link_data")
        });
        return None;
    }
    let directed = flag("directed");
    for item in edges?.expect_list("edges", problems).unwrap_or_default() {
        graph.edges.extend(read_edge(item, directed, &names, problems));
    }
    if root.field("hyperedges").is_some() {
        graph.remarks.push(Remark::LeftOut("hyperedges join more than two nodes, and were left out".to_owned()));
    }
    Some(graph)
}

/// The tree of a text.
pub(crate) fn load<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<Node<'t>> {
    match Loader::new(text, ["", ""], &mut |_| {}).load() {
        Ok(Some(root)) => Some(root),
        Ok(None) => {
            problems.report(ProblemKind::Empty, crate::location::Span::default(), || "there is nothing in this file");
            None
        }
        Err(fault) => {
            let Fault { kind, span, message } = *fault;
            problems.report(kind, span, || message);
            None
        }
    }
}

fn edges_of<'n, 'a>(root: &'n Node<'a>) -> Option<&'n Node<'a>> {
    EDGES.iter().find_map(|key| root.field(key))
}

/// `nodes`, and lists whose name is that of a kind: `hosts`, `end_systems`, `switches`.
fn node_lists<'n, 'a>(root: &'n Node<'a>) -> impl Iterator<Item = (&'n str, Option<NodeKind>, &'n Node<'a>)> {
    let entries: &[Entry<'a>] = match &root.value {
        Value::Mapping(entries) => entries,
        _ => &[],
    };
    entries.iter().filter_map(|entry| {
        let key = entry.key.text()?;
        let is_list = matches!(entry.value.value, Value::Sequence(_));
        match key {
            "nodes" => Some((key, None, &entry.value)),
            key => Some((key, Some(kind_of_word(key)?), &entry.value)).filter(|_| is_list),
        }
    })
}

/// The names and places of nodes in a file.
struct Names {
    /// Set if nodes without an id are known by their name.
    are_ids: bool,
    /// Set if `pos` and `dist` are those of TopoHub; elsewhere `pos` is a place in a drawing.
    is_topohub: bool,
}

/// Returns `true` if nodes have names and no ids, and an edge ends at such a name.
fn mean_names(root: &Node<'_>, edges: Option<&Node<'_>>) -> bool {
    let items = |node: &Node<'_>| match &node.value {
        Value::Sequence(items) => items.len(),
        _ => 0,
    };
    let mut names = HashSet::new();
    for (_, _, list) in node_lists(root).filter(|(_, _, list)| items(list) > 0) {
        let Value::Sequence(list) = &list.value else { continue };
        for node in list {
            match (node.field("id"), node.field_text("name")) {
                (None, Some(name)) => names.insert(name),
                _ => return false,
            };
        }
    }
    let Some(Node { value: Value::Sequence(edges), .. }) = edges else { return false };
    // A number is an index, unless a node is called so.
    edges.iter().any(|edge| {
        let mut ends = ENDS.iter().flatten().filter_map(|key| edge.field_text(key));
        ends.any(|end| names.contains(end) && end.parse::<usize>().is_err())
    })
}

fn is_topohub(head: Option<&Node<'_>>) -> bool {
    head.is_some_and(|head| head.field("demands").is_some() && head.field("stats").is_some())
}

/// A mapping with an id, or an id alone.
fn read_node<'t>(
    item: &Node<'t>,
    index: usize,
    kind: Option<NodeKind>,
    names: &Names,
    problems: &mut Problems<'_>,
) -> Option<GraphNode<'t>> {
    let Value::Mapping(_) = item.value else {
        return Some(GraphNode { id: id(item, problems)?, at: item.span, attributes: Vec::new(), kind });
    };
    let named = item.field("name").filter(|_| names.are_ids);
    let id = match item.field("id").or(named) {
        Some(node) => id(node, problems)?,
        // d3 means the place in the list.
        None => Cow::Owned(index.to_string()),
    };
    let place = item.field("pos").filter(|_| names.is_topohub).and_then(place);
    let mut attributes = item.attributes(if place.is_some() { &["id", "pos"] } else { &["id"] });
    attributes.extend(place.into_iter().flatten());
    Some(GraphNode { id, at: item.span, attributes, kind })
}

/// Longitude and latitude of TopoHub's `pos`.
fn place<'t>(pos: &Node<'t>) -> Option<[Attribute<'t>; 2]> {
    let Value::Sequence(items) = &pos.value else { return None };
    let [longitude, latitude] = items.as_slice() else { return None };
    let attribute = |key: &'static str, node: &Node<'t>| match &node.value {
        Value::Scalar(text) => Some(Attribute { key: Cow::Borrowed(key), value: Some(text.clone()), at: node.span }),
        _ => None,
    };
    Some([attribute("longitude", longitude)?, attribute("latitude", latitude)?])
}

/// A mapping with two ends, or a pair of ids.
fn read_edge<'t>(item: &Node<'t>, directed: bool, names: &Names, problems: &mut Problems<'_>) -> Option<GraphEdge<'t>> {
    let (ends, attributes): ([&Node<'t>; 2], Vec<Attribute<'t>>) = match &item.value {
        Value::Sequence(ends) => {
            let [from, to] = ends.as_slice() else {
                let message = || format!("an edge has two ends, not {}", ends.len());
                problems.report(ProblemKind::WrongType, item.span, message);
                return None;
            };
            ([from, to], Vec::new())
        }
        Value::Mapping(_) => {
            let ends = ENDS.iter().find_map(|[from, to]| Some([item.field(from)?, item.field(to)?]));
            let Some(ends) = ends else {
                let message = "an edge needs its two ends, \"source\" and \"target\"";
                problems.report(ProblemKind::MissingKey, item.span, || message);
                return None;
            };
            let mut attributes = item.attributes(&ENDS.concat());
            if names.is_topohub {
                attributes.iter_mut().filter(|one| one.key == "dist").for_each(|one| one.key = "dist (km)".into());
            }
            (ends, attributes)
        }
        _ => {
            let message = || format!("an edge is expected here, not {}", item.description());
            problems.report(ProblemKind::WrongType, item.span, message);
            return None;
        }
    };
    let mut end = |node: &Node<'t>| Some(GraphEnd::new(id(node, problems)?, node.span));
    let (from, to) = (end(ends[0]), end(ends[1]));
    Some(GraphEdge { ends: [from?, to?], directed, at: item.span, attributes })
}

/// Text or a number; a list of them (NetworkX turns tuples into lists) with commas between.
fn id<'t>(node: &Node<'t>, problems: &mut Problems<'_>) -> Option<Cow<'t, str>> {
    match &node.value {
        Value::Scalar(text) => Some(text.clone()),
        Value::Sequence(parts) if !parts.is_empty() && parts.iter().all(|part| part.text().is_some()) => {
            let parts: Vec<&str> = parts.iter().filter_map(Node::text).collect();
            Some(Cow::Owned(parts.join(",")))
        }
        _ => {
            let message = || format!("the id of a node is expected here, text or a number, not {}", node.description());
            problems.report(ProblemKind::WrongType, node.span, message);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn keys_of_endpoints_are_no_attributes() {
        let text = r#"{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": 1, "key": null}]}"#;
        let source = Source::new("x.json", text);
        let graph = read(text, &ImportOptions::default(), &mut Problems::new(&source)).unwrap();
        let keys: Vec<&str> = graph.edges[0].attributes.iter().map(|attribute| &*attribute.key).collect();
        assert_eq!(keys, ["weight"]);
    }
}
