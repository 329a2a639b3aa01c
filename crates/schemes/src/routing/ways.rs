//! The shortest ways between two switches, found once.
//!
//! In a fat tree a handful of equally short ways joins two edge switches, and which of them is least loaded can be told
//! by looking at all. Elsewhere the next longer ones count as well, so that there is something to choose from.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use wayleave_topology::{LinkId, Network};

use super::graph::Graph;

/// Ways as lists of links, by the switches that they join.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    known: HashMap<(u32, u32), Box<[Way]>>,
}

/// The links from one switch to another.
pub(super) type Way = Box<[u32]>;

/// The equally short ways that are kept; a fat tree of k = 16 has 64.
const MOST: usize = 64;
/// So many are looked for, longer ones too.
const ENOUGH: usize = 4;
/// Where ways are so many that even these do not lead to the goal, other searches are better.
const MOST_STEPS: usize = 4_096;

impl Ways {
    /// Those between two switches, shortest first, an empty one from a switch to itself. `to` has to be prepared.
    pub(super) fn between(&mut self, graph: &Graph, network: &Network, (from, to): (u32, u32)) -> &[Way] {
        self.known.entry((from, to)).or_insert_with(|| find(graph, network, from, to))
    }
}

fn find(graph: &Graph, network: &Network, from: u32, to: u32) -> Box<[Way]> {
    let mut found = Vec::new();
    let left = graph.between(from, to);
    if left < u64::MAX {
        shortest(graph, network, (from, to), left, &mut Vec::new(), &mut found);
    }
    if found.len() < ENOUGH { in_order(graph, network, from, to) } else { found.into_boxed_slice() }
}

/// The equally short ways, in order of their links: those on which every step is one on a shortest way.
fn shortest(
    graph: &Graph,
    network: &Network,
    (at, to): (u32, u32),
    left: u64,
    links: &mut Vec<u32>,
    found: &mut Vec<Way>,
) {
    if at == to {
        found.push(links.clone().into_boxed_slice());
        return;
    }
    for &link in network.links_to_switches(graph.switch(at)) {
        let (head, fastest) = (graph.edge(link.0).head_switch, graph.fastest(link.0));
        let rest = graph.between(head, to);
        let is_short = fastest.checked_add(rest) == Some(left) && rest < left;
        if is_short && found.len() < MOST && (links.len() as u32) + 2 <= graph.max_switches() {
            links.push(link.0);
            shortest(graph, network, (head, to), rest, links, found);
            links.pop();
        }
    }
}

/// A way that may not have arrived yet.
struct Partial {
    links: Vec<u32>,
    at: u32,
    delay: u64,
}

/// The shortest ways, in order of length.
fn in_order(graph: &Graph, network: &Network, from: u32, to: u32) -> Box<[Way]> {
    let mut found: Vec<Way> = Vec::new();
    let mut partials = vec![Partial { links: Vec::new(), at: from, delay: 0 }];
    let mut open = BinaryHeap::from([(Reverse(graph.between(from, to)), Reverse(0))]);
    for _ in 0..MOST_STEPS {
        let Some((Reverse(total), Reverse(id))) = open.pop() else { break };
        if total == u64::MAX || found.len() >= ENOUGH {
            break;
        }
        if partials[id].at == to {
            found.push(partials[id].links.clone().into_boxed_slice());
            continue;
        }
        for next in steps(graph, network, from, &partials[id]) {
            let rest = graph.between(next.at, to);
            open.push((Reverse(next.delay.saturating_add(rest)), Reverse(partials.len())));
            partials.push(next);
        }
    }
    found.into_boxed_slice()
}

/// The ways that are one link longer, without a switch twice.
fn steps(graph: &Graph, network: &Network, from: u32, way: &Partial) -> Vec<Partial> {
    // A way of n links joins n + 1 switches.
    if way.links.len() as u32 + 2 > graph.max_switches() {
        return Vec::new();
    }
    let extend = |&link: &LinkId| {
        let edge = graph.edge(link.0);
        let was_there = edge.head_switch == from
            || way.links.iter().any(|&before| graph.edge(before).head_switch == edge.head_switch);
        let fastest = graph.fastest(link.0);
        (!was_there && fastest < u64::MAX).then(|| {
            let mut links = way.links.clone();
            links.push(link.0);
            Partial { links, at: edge.head_switch, delay: way.delay + fastest }
        })
    };
    network.links_to_switches(graph.switch(way.at)).iter().filter_map(extend).collect()
}
