//! Remarks for the user about the network that was made from a file.

use wayleave_topology::{Network, NodeKind};
use wayleave_units::count;

use super::model::{Graph, HostSelector};
use super::remark::Remark;
use crate::messages::{all_of, quoted};
use crate::problem::Problems;

/// Maximum number of names that a remark lists.
const LISTED: usize = 8;

/// `"a", "b" and 7 more`.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let mut shown: Vec<String> = names.take(LISTED).map(quoted).collect();
    if count > LISTED {
        shown.push(format!("{} more", count - LISTED));
    }
    all_of(&shown)
}

/// Links that begin where they end.
pub(super) fn self_loops(graph: &Graph<'_>, problems: &Problems<'_>) -> Option<Remark> {
    let loops: Vec<_> = graph.edges.iter().filter(|edge| edge.ends[0].id == edge.ends[1].id).collect();
    let first = loops.first()?;
    let line = problems.source().line_of(first.at);
    let nodes: Vec<&str> = loops.iter().map(|edge| &*edge.ends[0].id).collect();
    let whose = listed(nodes.into_iter());
    let plural = if loops.len() == 1 { "joins a node" } else { "join nodes" };
    Some(Remark::LeftOut(format!(
        "{} {plural} with itself, the first on line {line}, and was left out: {whose}",
        count(loops.len(), "link")
    )))
}

/// Returns remarks about the nodes treated as hosts. `attached` contains the number of hosts per switch, and the
/// number of switches.
pub(super) fn about_hosts(
    network: &Network,
    stated: &[Option<NodeKind>],
    rule: HostSelector,
    attached: Option<(u32, usize)>,
) -> Option<Remark> {
    let name = |node| network.node(node).name.as_str();
    let text = match attached {
        Some((each, switches)) => {
            let hosts = if each == 1 { "a host was".to_owned() } else { format!("{each} hosts were") };
            let named = stated.contains(&Some(NodeKind::Host));
            let why = if rule == HostSelector::Auto && !named { "the file names no hosts: " } else { "" };
            let first: Vec<&str> = network.hosts().map(name).filter(|name| name.ends_with("-h1")).take(1).collect();
            let example = first.first().map(|name| format!(", such as {}", quoted(name))).unwrap_or_default();
            format!("{why}{hosts} attached to each of {} with links{example}", count(switches, "switch"))
        }
        None => {
            let hosts: Vec<&str> = network.hosts().map(name).collect();
            if hosts.is_empty() {
                return Some(Remark::Assumed(
                    "there are no hosts (--hosts-per-node 1 attaches one to each switch)".into(),
                ));
            }
            if stated.iter().all(Option::is_some) {
                return None;
            }
            let switches: Vec<&str> = network.switches().map(name).collect();
            format!("taken for hosts: {}; for switches: {}", listed(hosts.into_iter()), listed(switches.into_iter()))
        }
    };
    Some(Remark::Assumed(text))
}

/// Nodes without links, and parts that no link joins: contracts between them can only be refused.
pub(super) fn about_parts(network: &Network, neighbours: &[Vec<usize>]) -> Vec<Remark> {
    let names: Vec<&str> = network.nodes().map(|(_, node)| node.name.as_str()).collect();
    let alone: Vec<&str> = (0..neighbours.len()).filter(|&at| neighbours[at].is_empty()).map(|at| names[at]).collect();
    let mut part = vec![usize::MAX; neighbours.len()];
    let mut firsts = Vec::new();
    for start in (0..neighbours.len()).filter(|&at| !neighbours[at].is_empty()) {
        if part[start] != usize::MAX {
            continue;
        }
        firsts.push(names[start]);
        let mut open = vec![start];
        part[start] = start;
        while let Some(node) = open.pop() {
            for &next in &neighbours[node] {
                if part[next] == usize::MAX {
                    part[next] = start;
                    open.push(next);
                }
            }
        }
    }
    let mut remarks = Vec::new();
    if !alone.is_empty() {
        let (nodes, has) = (count(alone.len(), "node"), if alone.len() == 1 { "has" } else { "have" });
        remarks.push(Remark::Assumed(format!("{nodes} {has} no link: {}", listed(alone.into_iter()))));
    }
    if firsts.len() > 1 {
        let count = firsts.len();
        let around = listed(firsts.into_iter());
        remarks.push(Remark::Assumed(format!("no link joins the {count} parts around {around}")));
    }
    remarks
}
