//! Links on paths with the least delay in an empty network.

use wayleave_topology::{Network, NodeId};

use super::RouteQuery;
use super::graph::QueueGraph;

/// Set of links on such paths between two hosts.
pub(super) struct Shortest<'a> {
    network: &'a Network,
    from: NodeId,
    to: NodeId,
    /// Delay from the source's first queue on, ns.
    total: u64,
    /// Per switch, if both hosts have one link, the least wait to it and the least delay from it, ns: a link is
    /// checked for every path to it.
    single: Option<Single<'a>>,
}

/// Lower bounds between the switches of two hosts with one link each.
struct Single<'a> {
    /// The budget of the source's link, and the least waits from the switch behind it.
    first: u64,
    waits: &'a [u64],
    /// Delay of the destination's link, and the least delays to the switch before that link.
    last: u64,
    bounds: &'a [u64],
}

impl<'a> Shortest<'a> {
    /// Between the ends of a query, for which the graph is prepared.
    pub(super) fn new(graph: &'a QueueGraph, network: &'a Network, query: &RouteQuery) -> Self {
        let (from, to) = (query.from, query.to);
        let total = graph.towards(network, to).of_host(from);
        Self { network, from, to, total, single: Single::new(graph, network, from, to) }
    }

    /// Returns `true` if a link is on one of the paths.
    pub(super) fn passes(&self, graph: &QueueGraph, link: u32) -> bool {
        let edge = graph.edge(link);
        let (is_first, is_last) = (edge.from == self.from.0, edge.head == self.to.0);
        let tail = graph.tail_switch(link);
        let before = match &self.single {
            _ if is_first => 0,
            Some(single) => single.waits[tail as usize].saturating_add(single.first),
            None => graph.wait_at(self.network, self.from, tail),
        };
        let after = match &self.single {
            _ if is_last => 0,
            Some(single) => single.bounds[edge.head_switch as usize].saturating_add(single.last),
            None => graph.towards(self.network, self.to).at(edge.head_switch),
        };
        before.saturating_add(graph.fastest(link)).saturating_add(after) <= self.total
    }
}

impl<'a> Single<'a> {
    fn new(graph: &'a QueueGraph, network: &Network, from: NodeId, to: NodeId) -> Option<Self> {
        let (&[up], &[down]) = (network.links_to_switches(from), network.links_into(to)) else { return None };
        let first = graph.levels(graph.edge(up.0)).first()?.budget;
        let waits = graph.waits_from(graph.edge(up.0).head_switch)?;
        let bounds = graph.bounds_to(graph.tail_switch(down.0))?;
        Some(Self { first, waits, last: graph.fastest(down.0), bounds })
    }
}
