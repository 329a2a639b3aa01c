//! What a search needs of the network and never changes: budgets, constants, lower bounds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::Ledger;
use wayleave_topology::{Hop, HopDistances, LinkId, Network, NodeId, NodeKind, Route};
use wayleave_units::Time;

/// Static view of the queue-level topology, with lower bounds that are computed when first asked for.
#[derive(Clone, Debug)]
pub struct Graph {
    edges: Vec<Edge>,
    levels: Vec<Level>,
    /// Per node: the least delay from every node to it, through switches only.
    bounds: Vec<Option<Box<[u64]>>>,
    /// ns, per node: what the source's tagger adds.
    processing: Vec<u64>,
    max_switches: u32,
}

/// A link as a search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) head: u32,
    /// Propagation, and the processing of the switch that it enters, ns.
    pub(super) constant: u64,
    first: u32,
    count: u32,
}

/// A queue as a search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// ns.
    pub(super) budget: u64,
    pub(super) queue: u8,
}

/// Lower bounds of the delay to one host.
#[derive(Clone, Copy, Debug)]
pub struct Towards<'a> {
    graph: &'a Graph,
    last_links: &'a [LinkId],
}

impl Graph {
    const FAR: u64 = u64::MAX;

    /// Of the network and the budgets of a ledger.
    pub fn new(ledger: &Ledger) -> Self {
        let network = ledger.network();
        let mut levels = Vec::new();
        let edges = network.links().map(|(id, link)| {
            let first = levels.len();
            levels.extend(
                (0u8..).zip(ledger.budgets(id)).map(|(queue, budget)| Level { budget: budget.as_nanos(), queue }),
            );
            levels[first..].sort_by_key(|level| level.budget);
            let entered = network.node(link.to);
            let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
            Edge {
                from: link.from.0,
                head: link.to.0,
                constant: (link.propagation + processing).as_nanos(),
                first: first as u32,
                count: (levels.len() - first) as u32,
            }
        });
        let edges = edges.collect();
        let processing = network.nodes().map(|(_, node)| node.processing.as_nanos()).collect();
        let max_switches = ledger.model().max_switches().unwrap_or(u32::MAX);
        Self { edges, levels, bounds: vec![None; network.nodes().len()], processing, max_switches }
    }

    pub(super) fn edge(&self, link: u32) -> Edge {
        self.edges[link as usize]
    }

    /// A link's queues, fastest first.
    pub(super) fn levels(&self, edge: Edge) -> &[Level] {
        &self.levels[edge.first as usize..][..edge.count as usize]
    }

    /// What the source adds before its first queue, ns.
    pub(super) fn start(&self, source: NodeId) -> u64 {
        self.processing[source.index()]
    }

    /// The most switches on a route.
    pub(super) fn max_switches(&self) -> u32 {
        self.max_switches
    }

    /// The least that a packet takes through a link, or [`u64::MAX`] if contracts have no queue there.
    pub(super) fn fastest(&self, link: u32) -> u64 {
        let edge = self.edge(link);
        self.levels(edge).first().map_or(Self::FAR, |level| level.budget + edge.constant)
    }

    /// The first and last node of a route.
    pub fn ends(&self, route: &Route) -> Option<(NodeId, NodeId)> {
        let (first, last) = (route.hops.first()?, route.hops.last()?);
        Some((NodeId(self.edge(first.link.0).from), NodeId(self.edge(last.link.0).head)))
    }

    /// The end-to-end bound of a route: budgets and constants.
    pub fn bound(&self, route: &Route) -> Time {
        let hop = |hop: &Hop| {
            let edge = self.edge(hop.link.0);
            let budget =
                self.levels(edge).iter().find(|level| level.queue == hop.queue).map_or(0, |level| level.budget);
            budget + edge.constant
        };
        let start = self.ends(route).map_or(0, |(source, _)| self.start(source));
        Time::from_nanos(start + route.hops.iter().map(hop).sum::<u64>())
    }

    /// Makes the lower bounds to `host` available.
    pub fn prepare(&mut self, network: &Network, host: NodeId) {
        for &link in network.links_into(host) {
            let switch = network.link(link).from;
            if self.bounds[switch.index()].is_none() {
                let bounds = lower_bounds(network, switch, |link| self.fastest(link.0));
                self.bounds[switch.index()] = Some(bounds);
            }
        }
    }

    /// Lower bounds of the delay to `host`; [`Graph::prepare`] has to be called before.
    pub fn towards<'a>(&'a self, network: &'a Network, host: NodeId) -> Towards<'a> {
        Towards { graph: self, last_links: network.links_into(host) }
    }

    /// Per node, the least sum of `weight(link, least budget)` to a switch; [`u64::MAX`] where no queue leads on.
    pub fn cost_bounds(&self, network: &Network, switch: NodeId, weight: impl Fn(LinkId, u64) -> u64) -> Box<[u64]> {
        let of_link = |link: LinkId| {
            let budget = self.levels(self.edge(link.0)).first().map(|level| level.budget);
            budget.map_or(Self::FAR, |budget| weight(link, budget))
        };
        lower_bounds(network, switch, of_link)
    }

    /// The least sum of budgets and constants between two hosts in an empty network; `None` if nothing joins them.
    pub fn fastest_route(&mut self, network: &Network, from: NodeId, to: NodeId) -> Option<Time> {
        self.prepare(network, to);
        let towards = self.towards(network, to);
        let through = |&link: &LinkId| {
            let rest = towards.at(network.link(link).to.0);
            self.fastest(link.0).checked_add(rest)
        };
        let fastest = network.links_to_switches(from).iter().filter_map(through).min()?;
        Some(Time::from_nanos(fastest + self.start(from)))
    }

    /// The fewest switches between two hosts.
    pub fn fewest_switches(network: &Network, from: NodeId, to: NodeId) -> Option<u32> {
        HopDistances::to(network, to).from(from).map(|hops| hops.saturating_sub(1))
    }
}

impl Towards<'_> {
    /// The least delay from a node to the host, ns; [`u64::MAX`] if there is no way.
    pub(super) fn at(&self, node: u32) -> u64 {
        let through = |&link: &LinkId| {
            let edge = self.graph.edge(link.0);
            let bounds = self.graph.bounds[edge.from as usize].as_ref()?;
            bounds[node as usize].checked_add(self.graph.fastest(link.0))
        };
        match self.last_links {
            [only] => through(only).unwrap_or(u64::MAX),
            many => many.iter().filter_map(through).min().unwrap_or(u64::MAX),
        }
    }

    /// The links that enter the host from `node`.
    pub(super) fn last_links_from(&self, node: u32) -> impl Iterator<Item = u32> {
        self.last_links.iter().map(|link| link.0).filter(move |&link| self.graph.edge(link).from == node)
    }
}

/// The least sum of `weight` over links, from every node to `destination` through switches only.
pub(super) fn lower_bounds(network: &Network, destination: NodeId, weight: impl Fn(LinkId) -> u64) -> Box<[u64]> {
    let mut bounds = vec![u64::MAX; network.nodes().len()].into_boxed_slice();
    bounds[destination.index()] = 0;
    let mut heap = BinaryHeap::from([(Reverse(0), destination)]);
    while let Some((Reverse(bound), node)) = heap.pop() {
        if bound > bounds[node.index()] {
            continue;
        }
        for &link in network.links_from_switches(node) {
            let from = network.link(link).from;
            let Some(through) = bound.checked_add(weight(link)) else { continue };
            if through < bounds[from.index()] {
                bounds[from.index()] = through;
                heap.push((Reverse(through), from));
            }
        }
    }
    bounds
}
