//! Reachability between senders and receivers, without a search for every pair.

use std::collections::HashMap;

use wayleave_topology::{HopDistances, LinkId, Network, NodeId, NodeKind};

/// Answers whether a path leads from one host to another.
///
/// In nearly every network all switches reach one another: then a pair is joined if its sender reaches one of them, the
/// pivot, and the pivot reaches its receiver, which takes two searches for all pairs. Only where that does not show a
/// path, the receiver gets a search of its own.
pub(super) struct Reachability<'n> {
    network: &'n Network,
    to_pivot: Vec<bool>,
    from_pivot: Vec<bool>,
    searches: HashMap<NodeId, HopDistances>,
    /// `true` if receivers of the traffic being checked answer.
    pub(super) is_answered: bool,
}

impl<'n> Reachability<'n> {
    pub(super) fn new(network: &'n Network) -> Self {
        let pivot = network.switches().next();
        let reached = |links: &dyn Fn(NodeId) -> &'n [LinkId], end: &dyn Fn(LinkId) -> NodeId| {
            let mut reached = vec![false; network.nodes().len()];
            let mut waiting: Vec<NodeId> = pivot.into_iter().collect();
            while let Some(node) = waiting.pop() {
                for next in links(node).iter().map(|&link| end(link)) {
                    if !reached[next.index()] {
                        reached[next.index()] = true;
                        // Hosts forward nothing.
                        if network.node(next).kind == NodeKind::Switch {
                            waiting.push(next);
                        }
                    }
                }
            }
            reached
        };
        let from_pivot = reached(&|node| network.links_from(node), &|link| network.link(link).to);
        let to_pivot = reached(&|node| network.links_into(node), &|link| network.link(link).from);
        Self { network, to_pivot, from_pivot, searches: HashMap::new(), is_answered: false }
    }

    /// Returns `true` if a path leads from `from` to `to`.
    pub(super) fn joins(&mut self, from: NodeId, to: NodeId) -> bool {
        if self.to_pivot[from.index()] && self.from_pivot[to.index()] {
            return true;
        }
        let network = self.network;
        self.searches.entry(to).or_insert_with(|| HopDistances::to(network, to)).from(from).is_some()
    }

    /// Returns `true` if the pivot shows that paths lead from all of the first to all of the second, and back if they
    /// answer. `false` gives no information.
    pub(super) fn joins_all(&self, from: &[NodeId], to: &[NodeId]) -> bool {
        let lead = |from: &[NodeId], to: &[NodeId]| {
            from.iter().all(|node| self.to_pivot[node.index()]) && to.iter().all(|node| self.from_pivot[node.index()])
        };
        lead(from, to) && (!self.is_answered || lead(to, from))
    }
}
