//! Distances in hops and the links on shortest paths: for rerouting and reports.

use std::collections::VecDeque;

use crate::network::{LinkId, Network, NodeId, NodeKind};

/// Hops from every node to one destination; hosts other than the destination forward nothing.
#[derive(Clone, Debug)]
pub struct HopDistances {
    hops: Vec<u32>,
}

impl HopDistances {
    const UNREACHABLE: u32 = u32::MAX;

    /// Breadth-first search backwards from `destination`.
    pub fn to(network: &Network, destination: NodeId) -> Self {
        Self::over(network, destination, |_| true)
    }

    /// The same over the links that are open.
    pub fn over(network: &Network, destination: NodeId, is_open: impl Fn(LinkId) -> bool) -> Self {
        let mut hops = vec![Self::UNREACHABLE; network.nodes().len()];
        hops[destination.index()] = 0;
        let mut queue = VecDeque::from([destination]);
        while let Some(node) = queue.pop_front() {
            let next = hops[node.index()] + 1;
            for &link in network.links_into(node) {
                let from = network.link(link).from;
                if hops[from.index()] != Self::UNREACHABLE || !is_open(link) {
                    continue;
                }
                hops[from.index()] = next;
                if network.node(from).kind == NodeKind::Switch {
                    queue.push_back(from);
                }
            }
        }
        Self { hops }
    }

    /// Hops from `node`, or `None` where no path leads to the destination.
    pub fn from(&self, node: NodeId) -> Option<u32> {
        Some(self.hops[node.index()]).filter(|&hops| hops != Self::UNREACHABLE)
    }

    /// Returns every link on any of the equal-length shortest paths from `source`, each once, nearest first.
    ///
    /// The paper finds them with Yen's algorithm (Chameleon, section 4.1.3); the union of their links is equal.
    pub fn shortest_path_links(&self, network: &Network, source: NodeId) -> Vec<LinkId> {
        let mut links = Vec::new();
        let mut layer = vec![source];
        while let Some(distance) = layer.first().and_then(|&node| self.from(node)).filter(|&hops| hops > 0) {
            let mut next = Vec::new();
            for &node in &layer {
                for &link in network.links_from(node) {
                    let to = network.link(link).to;
                    let forwards = distance == 1 || network.node(to).kind == NodeKind::Switch;
                    if forwards && self.hops[to.index()] == distance - 1 {
                        links.push(link);
                        if !next.contains(&to) {
                            next.push(to);
                        }
                    }
                }
            }
            layer = next;
        }
        links
    }
}
