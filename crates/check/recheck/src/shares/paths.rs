//! Allowed paths: all paths with the fewest links over open links, on which no host forwards.
//!
//! An even split hands what a node forwards to a destination in equal parts to all its open links that lead nearer, host and switch alike,
//! parallel links each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use super::part::Part;

const UNREACHABLE: u32 = u32::MAX;

/// Lengths of links in two measures; all zero where nothing is asked of times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    /// Transmission of the largest frame, propagation and processing of the switch that is entered, ns.
    pub(crate) trip: Vec<u64>,
    /// The delay budget of the guaranteed class, ns.
    pub(crate) budget: Vec<u64>,
    /// Processing of a sending host, ns.
    pub(crate) processing: Vec<u64>,
}

/// The allowed paths of one pair.
#[derive(Clone, Debug)]
pub(crate) struct Explored {
    /// Every link on an allowed path, and the part that an even split puts there.
    pub(crate) links: Vec<(LinkId, Part)>,
    /// The longest path in time without queues, with the processing of the sender.
    pub(crate) trip: u64,
    /// The largest sum of budgets.
    pub(crate) budget: u64,
}

/// Paths over open links.
pub(crate) struct Paths<'n> {
    network: &'n Network,
    is_open: Vec<bool>,
    lengths: Arc<Lengths>,
    /// By destination, the links from each switch.
    distances: HashMap<NodeId, Arc<Vec<u32>>>,
    /// Scratch: by node, its place in the next layer.
    place: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Reached {
    node: NodeId,
    part: Part,
    trip: u64,
    budget: u64,
}

impl<'n> Paths<'n> {
    pub(crate) fn new(network: &'n Network, closed: impl IntoIterator<Item = LinkId>, lengths: Arc<Lengths>) -> Self {
        let mut is_open = vec![true; network.links().len()];
        for link in closed {
            if let Some(open) = is_open.get_mut(link.index()) {
                *open = false;
            }
        }
        let place = vec![u32::MAX; network.nodes().len()];
        Self { network, is_open, lengths, distances: HashMap::new(), place }
    }

    pub(crate) fn network(&self) -> &'n Network {
        self.network
    }

    pub(crate) fn is_open(&self, link: LinkId) -> bool {
        self.is_open[link.index()]
    }

    pub(crate) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    fn is_host(&self, node: NodeId) -> bool {
        self.network.node(node).kind == NodeKind::Host
    }

    /// Breadth-first search backwards from a destination, through switches only.
    fn distances(&mut self, to: NodeId) -> Arc<Vec<u32>> {
        if let Some(known) = self.distances.get(&to) {
            return Arc::clone(known);
        }
        let mut hops = vec![UNREACHABLE; self.network.nodes().len()];
        hops[to.index()] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for &link in self.network.links_into(node) {
                let from = self.network.link(link).from;
                if self.is_open(link) && !self.is_host(from) && hops[from.index()] == UNREACHABLE {
                    hops[from.index()] = hops[node.index()] + 1;
                    queue.push_back(from);
                }
            }
        }
        let hops = Arc::new(hops);
        self.distances.insert(to, Arc::clone(&hops));
        hops
    }

    /// Walks all allowed paths of a pair, layer by layer; `None` if there is none.
    pub(crate) fn explore(&mut self, from: NodeId, to: NodeId) -> Option<Explored> {
        let hops = self.distances(to);
        let nearest = |&link: &LinkId| self.is_open(link).then(|| hops[self.network.link(link).to.index()]);
        let next = self.network.links_from(from).iter().filter_map(nearest).min().filter(|&hops| hops < UNREACHABLE)?;
        let processing = self.lengths.processing.get(from.index()).copied().unwrap_or(0);
        let mut layer = vec![Reached { node: from, part: Part::ONE, trip: processing, budget: 0 }];
        let mut links = Vec::new();
        let mut split = (Part::ONE, 1, Part::ONE);
        let mut sum = (Part::ZERO, Part::ONE, Part::ONE);
        for left in (0..=next).rev() {
            let mut beyond: Vec<Reached> = Vec::with_capacity(layer.len());
            for here in layer {
                let leads = |link: &LinkId| self.is_open(*link) && hops[self.network.link(*link).to.index()] == left;
                let first = links.len();
                let nearer = self.network.links_from(here.node).iter().copied().filter(leads);
                links.extend(nearer.map(|link| (link, here.part)));
                let count = links.len() - first;
                // Nodes of a layer mostly pass on equal parts.
                if (split.0, split.1) != (here.part, count) {
                    split = (here.part, count, here.part.split(count));
                }
                let part = split.2;
                links[first..].iter_mut().for_each(|link| link.1 = part);
                for &(link, part) in &links[first..] {
                    let node = self.network.link(link).to;
                    let add =
                        |of: &[u64], so_far: u64| so_far.saturating_add(of.get(link.index()).copied().unwrap_or(0));
                    let trip = add(&self.lengths.trip, here.trip);
                    let budget = add(&self.lengths.budget, here.budget);
                    match beyond.get_mut(self.place[node.index()] as usize) {
                        Some(known) => {
                            if (sum.0, sum.1) != (known.part, part) {
                                sum = (known.part, part, known.part.plus(part));
                            }
                            known.part = sum.2;
                            known.trip = known.trip.max(trip);
                            known.budget = known.budget.max(budget);
                        }
                        None => {
                            self.place[node.index()] = beyond.len() as u32;
                            beyond.push(Reached { node, part, trip, budget });
                        }
                    }
                }
            }
            beyond.iter().for_each(|reached| self.place[reached.node.index()] = u32::MAX);
            layer = beyond;
        }
        let end = layer.first()?;
        Some(Explored { trip: end.trip, budget: end.budget, links })
    }

    /// Returns the time along a route without queues, with the processing of the node where it begins.
    pub(crate) fn trip_along(&self, links: impl IntoIterator<Item = LinkId>) -> u64 {
        let mut trip = 0;
        for (number, link) in links.into_iter().enumerate() {
            let from = self.network.link(link).from;
            let start = if number == 0 { self.lengths.processing.get(from.index()).copied().unwrap_or(0) } else { 0 };
            trip += start + self.lengths.trip.get(link.index()).copied().unwrap_or(0);
        }
        trip
    }
}
