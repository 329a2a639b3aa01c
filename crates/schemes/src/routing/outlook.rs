//! Lower bounds that know which queues are full, for searches that do not get through at once.
//!
//! The static bounds of [`super::Graph`] lead straight to the goal in a network with room. Where a link that every cheap
//! route needs is full, they lead a search through everything else first. Then it pays to look at all queues once,
//! backwards from the destination, with the least burst that the flow can have there: what cannot let it in from
//! anywhere is left out, and the bounds are tight again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::Ledger;
use wayleave_topology::{LinkId, NodeId};

use super::Query;
use super::closed::Closed;
use super::graph::{Graph, Level};
use super::last_links::LastLinks;

/// Per switch, the least weight to the destination through queues that could let the flow in; empty before it is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlook {
    bounds: Vec<u64>,
    heap: BinaryHeap<(Reverse<u64>, NodeId)>,
}

impl Outlook {
    pub(super) fn clear(&mut self) {
        self.bounds.clear();
    }

    /// The bound of a switch; `None` if no outlook was made.
    pub(super) fn at(&self, switch: u32) -> Option<u64> {
        self.bounds.get(switch as usize).copied()
    }

    /// Looks at every queue; `weigh` gives the weight of a link's queue.
    pub(super) fn look(
        &mut self,
        on: (&Graph, &Ledger, &Query),
        last: &LastLinks,
        weigh: impl Fn(u32, &Level) -> u64,
        closed: &mut Closed,
    ) {
        let (graph, ledger, query) = on;
        let network = ledger.network();
        self.bounds.clear();
        self.bounds.resize(graph.switch_count(), u64::MAX);
        self.heap.clear();
        for last in &last.links {
            let edge = graph.edge(last.link);
            let open = graph.levels(edge).iter().skip(last.level as usize);
            let weight = open.map(|level| weigh(last.link, level)).min().unwrap_or(u64::MAX);
            self.improve(last.from_switch, NodeId(edge.from), weight);
        }
        while let Some((Reverse(bound), node)) = self.heap.pop() {
            for &LinkId(link) in network.links_from_switches(node) {
                let edge = graph.edge(link);
                if bound > self.bounds[edge.head_switch as usize] {
                    break;
                }
                let from_switch = graph.tail_switch(link);
                let waited = graph.least_wait(network, query.from, link);
                let mut least = u64::MAX;
                for (level, queue) in graph.levels(edge).iter().enumerate() {
                    let weight = weigh(link, queue);
                    // What cannot improve on what is known need not be let in.
                    let improves = weight < least && bound.saturating_add(weight) < self.bounds[from_switch as usize];
                    if improves && closed.might_enter(on, link, level, waited) {
                        least = weight;
                    }
                }
                self.improve(from_switch, NodeId(edge.from), bound.saturating_add(least));
            }
        }
    }

    fn improve(&mut self, switch: u32, node: NodeId, bound: u64) {
        let known = &mut self.bounds[switch as usize];
        if bound < *known {
            *known = bound;
            self.heap.push((Reverse(bound), node));
        }
    }
}
