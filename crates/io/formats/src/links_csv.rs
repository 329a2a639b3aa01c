//! A network as a CSV of its cables: a header with `from`, `to` and attributes such as `rate` and `delay`, then one cable
//! a row, as a spreadsheet lists them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use wayleave_topology::NodeKind;

use crate::contracts::Text;
use crate::graph::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Remark};
use crate::location::Span;
use crate::problem::{ProblemKind, Problems};
use crate::rows::Rows;

const HEADER: &str = "from,to,rate,delay";

/// Reads a list of cables. A node with one neighbour is a host; all others are switches.
pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let mut rows = Rows::new(text);
    let mut header = Vec::new();
    if !rows.next(&mut header) {
        problems.report(ProblemKind::Empty, Span::default(), || {
            ("the file is empty: a header and one cable a row are expected", format!("the header is {HEADER}"))
        });
        return None;
    }
    let whole = header.first()?.span.to(header.last()?.span);
    let column = |name: &str| header.iter().position(|cell| cell.text == name);
    let (Some(from), Some(to)) = (column("from"), column("to")) else {
        problems.report(ProblemKind::MissingKey, whole, || {
            ("the header of a list of cables has the columns \"from\" and \"to\"", format!("such as {HEADER}"))
        });
        return None;
    };
    let mut graph = Graph { at: whole, ..Graph::default() };
    let mut row: Vec<Text<'t>> = Vec::new();
    while rows.next(&mut row) {
        let (Some(first), Some(last)) = (row.first(), row.last()) else { continue };
        let at = first.span.to(last.span);
        if row.len() != header.len() {
            let (given, expected) = (row.len(), header.len());
            let message = || format!("this row has {given} fields, and the header has {expected}");
            problems.report(ProblemKind::Syntax, at, message);
            continue;
        }
        if let Some(empty) = [from, to].into_iter().find(|&end| row[end].text.is_empty()) {
            let name = header[empty].text.clone();
            problems.report(ProblemKind::MissingKey, row[empty].span, || format!("\"{name}\" is empty"));
            continue;
        }
        let end = |at: usize| GraphEnd::new(row[at].text.clone(), row[at].span);
        let attributes = header.iter().zip(&row).enumerate().filter(|(at, _)| *at != from && *at != to);
        let attributes = attributes.filter(|(_, (_, cell))| !cell.text.is_empty()).map(|(_, (name, cell))| Attribute {
            key: name.text.clone(),
            value: Some(cell.text.clone()),
            at: cell.span,
        });
        let edge = GraphEdge { ends: [end(from), end(to)], directed: false, at, attributes: attributes.collect() };
        graph.edges.push(edge);
    }
    add_nodes(&mut graph);
    Some(graph)
}

/// Adds the ends of all cables as nodes, in the order in which they come.
fn add_nodes(graph: &mut Graph<'_>) {
    let mut neighbours: HashMap<Cow<'_, str>, BTreeSet<Cow<'_, str>>> = HashMap::new();
    for edge in &graph.edges {
        let [from, to] = &edge.ends;
        for (one, other) in [(from, to), (to, from)] {
            let known = neighbours.entry(one.id.clone()).or_insert_with(|| {
                graph.nodes.push(GraphNode { id: one.id.clone(), at: one.at, attributes: Vec::new(), kind: None });
                BTreeSet::new()
            });
            known.insert(other.id.clone());
        }
    }
    let is_leaf = |id: &Cow<'_, str>| neighbours.get(id).is_some_and(|known| known.len() == 1);
    let mut hosts = 0;
    for node in &mut graph.nodes {
        let joins_switch = || neighbours[&node.id].iter().all(|other| !is_leaf(other));
        let is_host = is_leaf(&node.id) && joins_switch();
        node.kind = Some(if is_host { NodeKind::Host } else { NodeKind::Switch });
        hosts += usize::from(is_host);
    }
    let switches = graph.nodes.len() - hosts;
    let remark = format!("nodes with one neighbour are hosts ({hosts}), all others switches ({switches})");
    graph.remarks.push(Remark::Assumed(remark));
}
