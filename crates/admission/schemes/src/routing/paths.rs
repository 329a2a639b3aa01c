//! The shortest paths between two switches, found once.
//!
//! In a fat tree a handful of equally short paths joins two edge switches, and the least loaded is found by
//! inspecting all. In other networks the next longer ones count as well, so that there is a choice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_topology::{LinkId, Network};

use super::graph::QueueGraph;

/// Paths by the switches that they join.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchPaths {
    /// Per first switch, per last one; empty if not found yet.
    known: Vec<Box<[StoredPaths]>>,
}

/// The paths between two switches in one piece of memory, which is rarely in a cache. It contains the number of links
/// of all paths, the number of paths, the links, the end of each path, and the paths themselves, as indices into the
/// links. Paths share links, so each link is stored once, and a search visits it once.
type StoredPaths = Box<[u32]>;

/// The paths between two switches.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairPaths<'a> {
    /// Links of all paths.
    pub(super) links: &'a [u32],
    ends: &'a [u32],
    places: &'a [u32],
}

/// The links from one switch to another.
type PathLinks = Box<[u32]>;

/// Maximum number of equally short paths that are kept; a fat tree of k = 16 has 64.
const MAX: usize = 64;
/// Number of paths that are searched for, longer ones too.
const ENOUGH: usize = 4;
/// Maximum number of search steps: if they do not lead to the goal, other searches are better.
const MAX_STEPS: usize = 4_096;

impl SwitchPaths {
    /// Returns the paths between two switches, shortest first; an empty path from a switch to itself. `to` has to be
    /// prepared.
    pub(super) fn between(&mut self, graph: &QueueGraph, network: &Network, (from, to): (u32, u32)) -> PairPaths<'_> {
        let (from_index, to_index) = (from as usize, to as usize);
        if self.known.len() <= from_index {
            self.known.resize(graph.switch_count(), Box::default());
        }
        let row = &mut self.known[from_index];
        if row.is_empty() {
            *row = vec![StoredPaths::default(); graph.switch_count()].into_boxed_slice();
        }
        let known = &mut row[to_index];
        if known.is_empty() {
            *known = packed(&find(graph, network, from, to));
        }
        PairPaths::of(known)
    }
}

fn packed(paths: &[PathLinks]) -> StoredPaths {
    let mut links: Vec<u32> = paths.iter().flatten().copied().collect();
    links.sort_unstable();
    links.dedup();
    let place = |link: &u32| links.partition_point(|other| other < link) as u32;
    let ends = paths.iter().scan(0, |end, path| {
        *end += path.len() as u32;
        Some(*end)
    });
    let counts = [links.len() as u32, paths.len() as u32];
    let places = paths.iter().flatten().map(place);
    counts.into_iter().chain(links.iter().copied()).chain(ends).chain(places).collect()
}

impl<'a> PairPaths<'a> {
    fn of(known: &'a [u32]) -> Self {
        let (counts, rest) = known.split_at(2);
        let (links, rest) = rest.split_at(counts[0] as usize);
        let (ends, places) = rest.split_at(counts[1] as usize);
        Self { links, ends, places }
    }

    /// Returns each path, as indices into [`Self::links`].
    pub(super) fn paths(self) -> impl Iterator<Item = &'a [u32]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let path = &self.places[start..end as usize];
            start = end as usize;
            path
        })
    }

    /// Calls `each` with the cost of each path; `costs` has one for each of [`Self::links`].
    pub(super) fn sums(self, costs: &[f64], mut each: impl FnMut(f64)) {
        // In a fat tree paths between pods have four links.
        let (fours, _) = self.places.as_chunks::<4>();
        if self.ends.iter().zip(1..).all(|(&end, number)| end == 4 * number) {
            fours.iter().for_each(|path| each(path.map(|place| costs[place as usize]).iter().sum()));
        } else {
            self.paths().for_each(|path| each(path.iter().map(|&place| costs[place as usize]).sum()));
        }
    }

    /// Returns the links of a path.
    pub(super) fn path(self, number: u32) -> impl Iterator<Item = u32> {
        let places = self.paths().nth(number as usize).unwrap_or_default();
        places.iter().map(move |&place| self.links[place as usize])
    }
}

fn find(graph: &QueueGraph, network: &Network, from: u32, to: u32) -> Vec<PathLinks> {
    let left = graph.between(from, to);
    let mut shortest = Shortest { graph, network, to, links: Vec::new(), found: Vec::new() };
    if let Some(bounds) = graph.bounds_to(to).filter(|_| left < u64::MAX) {
        shortest.extend(bounds, from, left);
    }
    if shortest.found.len() < ENOUGH { in_order(graph, network, from, to) } else { shortest.found }
}

/// Search for the equally short paths, in order of their links: those on which every step is one on a shortest path.
struct Shortest<'a> {
    graph: &'a QueueGraph,
    network: &'a Network,
    to: u32,
    links: Vec<u32>,
    found: Vec<PathLinks>,
}

impl Shortest<'_> {
    /// Extends from a switch with `left` remaining (ns); `bounds` has the minimum remaining from every switch.
    fn extend(&mut self, bounds: &[u64], at: u32, left: u64) {
        if at == self.to {
            self.found.push(self.links.clone().into_boxed_slice());
            return;
        }
        for &link in self.network.links_to_switches(self.graph.switch(at)) {
            let head = self.graph.edge(link.0).head_switch;
            let rest = bounds[head as usize];
            if rest >= left || self.graph.fastest(link.0).checked_add(rest) != Some(left) {
                continue;
            }
            if self.found.len() < MAX && (self.links.len() as u32) + 2 <= self.graph.max_switches() {
                self.links.push(link.0);
                self.extend(bounds, head, rest);
                self.links.pop();
            }
        }
    }
}

/// A path that may not have reached its target yet.
struct Partial {
    links: Vec<u32>,
    at: u32,
    delay: u64,
}

/// Returns the shortest paths, in order of length.
fn in_order(graph: &QueueGraph, network: &Network, from: u32, to: u32) -> Vec<PathLinks> {
    let mut found: Vec<PathLinks> = Vec::new();
    let mut partials = vec![Partial { links: Vec::new(), at: from, delay: 0 }];
    let mut open = BinaryHeap::from([(Reverse(graph.between(from, to)), Reverse(0))]);
    for _ in 0..MAX_STEPS {
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

/// Returns the paths that are one link longer, without a switch twice.
fn steps(graph: &QueueGraph, network: &Network, from: u32, path: &Partial) -> Vec<Partial> {
    // A path of n links joins n + 1 switches.
    if path.links.len() as u32 + 2 > graph.max_switches() {
        return Vec::new();
    }
    let extend = |&link: &LinkId| {
        let edge = graph.edge(link.0);
        let was_there = edge.head_switch == from
            || path.links.iter().any(|&before| graph.edge(before).head_switch == edge.head_switch);
        let fastest = graph.fastest(link.0);
        (!was_there && fastest < u64::MAX).then(|| {
            let mut links = path.links.clone();
            links.push(link.0);
            Partial { links, at: edge.head_switch, delay: path.delay + fastest }
        })
    };
    network.links_to_switches(graph.switch(path.at)).iter().filter_map(extend).collect()
}
