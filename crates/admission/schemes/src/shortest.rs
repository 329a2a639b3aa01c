//! The equal-length shortest paths between two hosts, as a graph without cycles.

use wayleave_scheme_api::Request;
use wayleave_topology::{HopDistances, LinkId, Network, NodeId, NodeKind};

use crate::random::mix;

/// Returns the identity of a flow: its ends and its terms, so that a query and its repetition take one path.
pub(crate) fn identity(request: &Request) -> u64 {
    let parts = [
        u64::from(request.from.0),
        u64::from(request.to.0),
        request.rate.bits_per_second(),
        request.burst.get(),
        request.deadline.as_nanos(),
    ];
    parts.into_iter().fold(0, |hash, part| mix(hash ^ part))
}

/// The shortest paths between two hosts.
pub(crate) struct ShortestPaths<'a> {
    network: &'a Network,
    distances: HopDistances,
    source: NodeId,
    destination: NodeId,
}

impl<'a> ShortestPaths<'a> {
    pub(crate) fn new(network: &'a Network, source: NodeId, destination: NodeId) -> Self {
        Self { network, distances: HopDistances::to(network, destination), source, destination }
    }

    /// The links that bring a packet one hop closer; hosts forward nothing.
    fn onward(&self, node: NodeId) -> impl Iterator<Item = LinkId> {
        let closer = self.distances.from(node).and_then(|hops| hops.checked_sub(1));
        self.network.links_from(node).iter().copied().filter(move |&link| {
            let to = self.network.link(link).to;
            let may_pass = to == self.destination || self.network.node(to).kind == NodeKind::Switch;
            may_pass && closer.is_some() && self.distances.from(to) == closer
        })
    }

    /// Returns the number of paths, counted layer by layer.
    pub(crate) fn count(&self) -> usize {
        let Some(hops) = self.distances.from(self.source) else { return 0 };
        let mut layer = vec![(self.source, 1usize)];
        for _ in 0..hops {
            let mut next: Vec<(NodeId, usize)> = Vec::new();
            for (node, next_links) in layer {
                for link in self.onward(node) {
                    let to = self.network.link(link).to;
                    match next.iter_mut().find(|(known, _)| *known == to) {
                        Some((_, known)) => *known = known.saturating_add(next_links),
                        None => next.push((to, next_links)),
                    }
                }
            }
            layer = next;
        }
        layer.into_iter().fold(0, |sum, (_, next_links)| sum.saturating_add(next_links))
    }

    /// The first of them. Every beginning leads to the destination, so no more than `limit` need to be kept.
    pub(crate) fn first(&self, limit: usize) -> Vec<Vec<LinkId>> {
        let Some(hops) = self.distances.from(self.source) else { return Vec::new() };
        let mut paths = vec![Vec::new()];
        for _ in 0..hops {
            let mut longer = Vec::new();
            for path in paths {
                let end = path.last().map_or(self.source, |&link| self.network.link(link).to);
                for link in self.onward(end).take(limit - longer.len()) {
                    let mut path: Vec<LinkId> = path.clone();
                    path.push(link);
                    longer.push(path);
                }
            }
            paths = longer;
        }
        paths
    }
}
