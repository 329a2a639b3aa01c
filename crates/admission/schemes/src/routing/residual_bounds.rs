//! Lower bounds that take full queues into account, for searches that do not succeed at once.
//!
//! The static bounds of [`super::Graph`] lead straight to the goal in a network with room. If a link that every cheap
//! route needs is full, they lead a search through everything else first. Then it pays to inspect all queues once,
//! backwards from the destination, with the least burst that the flow can have there. Queues that cannot admit the
//! flow from anywhere are left out, and the bounds are tight again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::Ledger;
use wayleave_topology::{LinkId, NodeId};

use super::RouteQuery;
use super::destination_links::LastLinks;
use super::exclusions::Closed;
use super::graph::{Level, QueueGraph};

/// Per switch, the least weight to the destination through queues that could let the flow in; empty before it is made.
#[derive(Clone, Debug, Default)]
pub(super) struct ResidualBounds {
    bounds: Vec<u64>,
    settled: Vec<bool>,
    heap: BinaryHeap<(Reverse<u64>, u32, NodeId)>,
}

impl ResidualBounds {
    pub(super) fn clear(&mut self) {
        self.bounds.clear();
    }

    /// The bound of a switch; `None` if none were computed.
    pub(super) fn at(&self, switch: u32) -> Option<u64> {
        self.bounds.get(switch as usize).copied()
    }

    /// Looks back from the destination as far as the source needs; `weigh` gives the weight of a link's queue, and
    /// `floor` a static lower bound from a switch to the destination.
    ///
    /// Best first by `bound + from_source` with `from_source` the least weight from the source: when the source is reached with `best`,
    /// a switch that was not has a bound of at least `best - from_source`.
    pub(super) fn refresh(
        &mut self,
        on: (&QueueGraph, &Ledger, &RouteQuery),
        last: &LastLinks,
        weigh: impl Fn(u32, &Level) -> u64,
        from_source: impl Fn(u32) -> u64,
        floor: impl Fn(u32) -> u64,
        closed: &mut Closed,
    ) {
        let (graph, ledger, query) = on;
        let network = ledger.network();
        self.bounds.clear();
        self.bounds.resize(graph.switch_count(), u64::MAX);
        self.settled.clear();
        self.settled.resize(graph.switch_count(), false);
        self.heap.clear();
        for last in &last.links {
            let edge = graph.edge(last.link);
            let open = graph.levels(edge).iter().skip(last.level as usize);
            let weight = open.map(|level| weigh(last.link, level)).min().unwrap_or(u64::MAX);
            self.improve(last.from_switch, NodeId(edge.from), weight, from_source(last.from_switch));
        }
        let is_source =
            |switch| network.links_to_switches(query.from).iter().any(|up| graph.edge(up.0).head_switch == switch);
        while let Some((Reverse(estimate), switch, node)) = self.heap.pop() {
            if std::mem::replace(&mut self.settled[switch as usize], true) {
                continue;
            }
            if is_source(switch) {
                self.fill(estimate, from_source, floor);
                return;
            }
            let bound = self.bounds[switch as usize];
            for &LinkId(link) in network.links_from_switches(node) {
                let edge = graph.edge(link);
                let from_switch = graph.tail_switch(link);
                if self.settled[from_switch as usize] || !query.carries(ledger, LinkId(link)) {
                    continue;
                }
                let waited = graph.least_wait(network, query.from, link);
                let mut least = u64::MAX;
                for (level, queue) in graph.levels(edge).iter().enumerate() {
                    let weight = weigh(link, queue);
                    // A queue that cannot improve the bound need not be checked.
                    let improves = weight < least && bound.saturating_add(weight) < self.bounds[from_switch as usize];
                    if improves && closed.might_enter(on, link, level, waited) {
                        least = weight;
                    }
                }
                self.improve(from_switch, NodeId(edge.from), bound.saturating_add(least), from_source(from_switch));
            }
        }
    }

    /// Bounds for the switches that were not reached before the source.
    fn fill(&mut self, best: u64, from_source: impl Fn(u32) -> u64, floor: impl Fn(u32) -> u64) {
        for switch in (0u32..).zip(&self.settled).filter(|(_, settled)| !**settled).map(|(switch, _)| switch) {
            self.bounds[switch as usize] = best.saturating_sub(from_source(switch)).max(floor(switch));
        }
    }

    fn improve(&mut self, switch: u32, node: NodeId, bound: u64, from_source: u64) {
        let known = &mut self.bounds[switch as usize];
        if bound < *known && from_source < u64::MAX {
            *known = bound;
            self.heap.push((Reverse(bound.saturating_add(from_source)), switch, node));
        }
    }
}
