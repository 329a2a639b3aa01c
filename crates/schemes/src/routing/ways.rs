//! The shortest ways between two switches, found once.
//!
//! In a fat tree a handful of equally short ways joins two edge switches, and which of them is least loaded can be told
//! by looking at all. Elsewhere the next longer ones count as well, so that there is something to choose from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_topology::{LinkId, Network};

use super::graph::Graph;

/// Ways by the switches that they join.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// Per first switch, per last one.
    known: Vec<Box<[Option<Box<Between>>]>>,
}

/// The ways between two switches. Ways share links, so each link is there once, and a search looks at it once.
#[derive(Clone, Debug)]
pub(super) struct Between {
    /// The links of all ways.
    pub(super) links: Box<[u32]>,
    /// The ways one after another: their links as places in `links`.
    places: Box<[u32]>,
    /// Where each way ends.
    ends: Box<[u32]>,
}

/// The links from one switch to another.
type Way = Box<[u32]>;

/// The equally short ways that are kept; a fat tree of k = 16 has 64.
const MOST: usize = 64;
/// So many are looked for, longer ones too.
const ENOUGH: usize = 4;
/// Where ways are so many that even these do not lead to the goal, other searches are better.
const MOST_STEPS: usize = 4_096;

impl Ways {
    /// Those between two switches, shortest first, an empty one from a switch to itself. `to` has to be prepared.
    #[inline]
    pub(super) fn between(&mut self, graph: &Graph, network: &Network, (from, to): (u32, u32)) -> &Between {
        let (from_index, to_index) = (from as usize, to as usize);
        if self.known.len() <= from_index {
            self.known.resize(graph.switch_count(), Box::default());
        }
        let row = &mut self.known[from_index];
        if row.is_empty() {
            *row = vec![None; graph.switch_count()].into_boxed_slice();
        }
        row[to_index].get_or_insert_with(|| Box::new(Between::new(&find(graph, network, from, to))))
    }
}

impl Between {
    fn new(ways: &[Way]) -> Self {
        let mut links: Vec<u32> = ways.iter().flatten().copied().collect();
        links.sort_unstable();
        links.dedup();
        let place = |link: &u32| links.partition_point(|other| other < link) as u32;
        let places = ways.iter().flatten().map(place).collect();
        let ends = ways.iter().scan(0, |end, way| {
            *end += way.len() as u32;
            Some(*end)
        });
        Self { places, ends: ends.collect(), links: links.into_boxed_slice() }
    }

    /// Each way, as places in [`Self::links`].
    pub(super) fn ways(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let way = &self.places[start..end as usize];
            start = end as usize;
            way
        })
    }

    /// The links of a way.
    pub(super) fn way(&self, number: u32) -> impl Iterator<Item = u32> {
        let places = self.ways().nth(number as usize).unwrap_or_default();
        places.iter().map(|&place| self.links[place as usize])
    }
}

fn find(graph: &Graph, network: &Network, from: u32, to: u32) -> Vec<Way> {
    let mut found = Vec::new();
    let left = graph.between(from, to);
    if left < u64::MAX {
        shortest(graph, network, (from, to), left, &mut Vec::new(), &mut found);
    }
    if found.len() < ENOUGH { in_order(graph, network, from, to) } else { found }
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
fn in_order(graph: &Graph, network: &Network, from: u32, to: u32) -> Vec<Way> {
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
    found
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
