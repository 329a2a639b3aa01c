//! Constant data of the network for a search: budgets, constants, lower bounds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use wayleave_ledger::Ledger;
use wayleave_topology::{Hop, LinkId, Network, Node, NodeId, NodeKind, Route};
use wayleave_units::Time;

/// Static view of the queue-level topology, with lower bounds that are computed when first asked for.
#[derive(Clone, Debug)]
pub struct QueueGraph {
    edges: Vec<Edge>,
    /// Each list of queues that some links have, once: links have few, which stay in a cache.
    levels: Vec<Level>,
    queue_count: usize,
    /// Per node: its number among the switches, or [`NO_SWITCH`].
    switches: Vec<u32>,
    /// Per switch: its node.
    nodes: Vec<NodeId>,
    /// Per switch: the least delay from every switch to it.
    bounds: Vec<Option<Box<[u64]>>>,
    /// Per switch: the least sum of budgets from it to every switch.
    waits: Vec<Option<Box<[u64]>>>,
    /// ns, per node: what the source's tagger adds.
    processing: Vec<u64>,
    max_switches: u32,
    is_irregular: bool,
}

/// A link as a search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) head: u32,
    /// The number among the switches of its head, and of where it comes from, or [`NO_SWITCH`].
    pub(super) head_switch: u32,
    from_switch: u32,
    /// Propagation, and the processing of the switch that it enters, ns.
    pub(super) constant: u64,
    /// The index of its first queue over all queues of the network, and of its queues among the lists of all links.
    first: u32,
    levels: u32,
    count: u32,
}

impl Edge {
    /// The index, over all queues of the network, of a link's `level`-th fastest queue.
    pub(super) fn queue_index(self, level: usize) -> usize {
        self.first as usize + level
    }
}

/// The number of a host among the switches.
const NO_SWITCH: u32 = u32::MAX;

/// A queue as a search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Level {
    /// ns.
    pub(super) budget: u64,
    pub(super) queue: u8,
}

/// Lower bounds of the delay to one host.
#[derive(Clone, Copy, Debug)]
pub struct LowerBounds<'a> {
    network: &'a Network,
    graph: &'a QueueGraph,
    last_links: &'a [LinkId],
}

impl QueueGraph {
    const FAR: u64 = u64::MAX;

    /// Of the network and the budgets of a ledger.
    pub fn new(ledger: &Ledger) -> Self {
        let network = ledger.network();
        let (mut levels, mut lists, mut queue_count) = (Vec::new(), HashMap::new(), 0);
        let mut numbers = 0..;
        let number = |(_, node): (NodeId, &Node)| match node.kind {
            NodeKind::Host => NO_SWITCH,
            NodeKind::Switch => numbers.next().unwrap_or(NO_SWITCH),
        };
        let switches: Vec<u32> = network.nodes().map(number).collect();
        let edges = network.links().map(|(id, link)| {
            let queues = (0u8..).zip(ledger.budgets(id));
            let mut list: Vec<Level> =
                queues.map(|(queue, budget)| Level { budget: budget.as_nanos(), queue }).collect();
            list.sort_by_key(|level| level.budget);
            let (first, count) = (queue_count, list.len());
            queue_count += count;
            let known = *lists.entry(list).or_insert_with_key(|list| {
                levels.extend_from_slice(list);
                levels.len() - list.len()
            });
            let entered = network.node(link.to);
            let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
            Edge {
                from: link.from.0,
                head: link.to.0,
                head_switch: switches[link.to.index()],
                from_switch: switches[link.from.index()],
                constant: (link.propagation + processing).as_nanos(),
                first: first as u32,
                levels: known as u32,
                count: count as u32,
            }
        });
        let edges: Vec<Edge> = edges.collect();
        let bounds = vec![None; network.switches().count()];
        let waits = bounds.clone();
        let processing = network.nodes().map(|(_, node)| node.processing.as_nanos()).collect();
        let max_switches = ledger.model().max_switches().unwrap_or(u32::MAX);
        let is_irregular = is_irregular(&edges, &levels);
        let nodes = network.switches().collect();
        Self { edges, levels, queue_count, switches, nodes, bounds, waits, processing, max_switches, is_irregular }
    }

    pub(super) fn edge(&self, link: u32) -> Edge {
        self.edges[link as usize]
    }

    /// A link's queues, fastest first.
    pub(super) fn levels(&self, edge: Edge) -> &[Level] {
        &self.levels[edge.levels as usize..][..edge.count as usize]
    }

    /// Returns the delay that the source adds before its first queue, ns.
    pub(super) fn start(&self, source: NodeId) -> u64 {
        self.processing[source.index()]
    }

    /// The most switches on a route.
    pub(super) fn max_switches(&self) -> u32 {
        self.max_switches
    }

    /// Returns `true` if constants are so large beside the budgets that a path with less waiting can take longer.
    pub fn is_irregular(&self) -> bool {
        self.is_irregular
    }

    /// Returns the number of nodes.
    pub(super) fn node_count(&self) -> usize {
        self.switches.len()
    }

    /// Returns the number of links.
    pub(super) fn link_count(&self) -> usize {
        self.edges.len()
    }

    /// Returns the number of queues.
    pub(super) fn queue_count(&self) -> usize {
        self.queue_count
    }

    /// Returns the number of switches.
    pub(super) fn switch_count(&self) -> usize {
        self.bounds.len()
    }

    /// The least that a packet takes through a link, or [`u64::MAX`] if contracts have no queue there.
    pub(crate) fn fastest(&self, link: u32) -> u64 {
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
            let at = self.edge(link.0).from_switch as usize;
            if self.bounds[at].is_none() {
                let bounds = self.lower_bounds(network, network.link(link).from, |link| self.fastest(link.0));
                self.bounds[at] = Some(bounds);
            }
        }
    }

    /// Makes the least waits from a host available.
    pub(super) fn prepare_waits(&mut self, network: &Network, host: NodeId) {
        for &link in network.links_to_switches(host) {
            let at = self.edge(link.0).head_switch as usize;
            if self.waits[at].is_none() {
                self.waits[at] = Some(self.least_waits(network, network.link(link).to));
            }
        }
    }

    /// Returns the minimum waiting time of a flow from `host` when it reaches a link's queues, ns. Prepared hosts
    /// only.
    pub(super) fn least_wait(&self, network: &Network, host: NodeId, link: u32) -> u64 {
        let wait = self.wait_at(network, host, self.edge(link).from_switch);
        if wait == Self::FAR { 0 } else { wait }
    }

    /// Returns the minimum waiting time of a flow from `host` when it reaches a switch, ns; [`u64::MAX`] if it
    /// cannot.
    pub(super) fn wait_at(&self, network: &Network, host: NodeId, switch: u32) -> u64 {
        let through = |uplink: &LinkId| {
            let first = self.edge(uplink.0);
            let budget = self.levels(first).first()?.budget;
            let waits = self.waits[first.head_switch as usize].as_ref()?;
            waits[switch as usize].checked_add(budget)
        };
        network.links_to_switches(host).iter().filter_map(through).min().unwrap_or(Self::FAR)
    }

    /// Per switch, the least wait from a switch to it, if that was prepared.
    pub(super) fn waits_from(&self, switch: u32) -> Option<&[u64]> {
        self.waits.get(switch as usize)?.as_deref()
    }

    /// Per switch, the least delay from it to a switch, if that was prepared.
    pub(super) fn bounds_to(&self, switch: u32) -> Option<&[u64]> {
        self.bounds.get(switch as usize)?.as_deref()
    }

    fn least_waits(&self, network: &Network, source: NodeId) -> Box<[u64]> {
        let mut waits = vec![Self::FAR; self.bounds.len()].into_boxed_slice();
        waits[self.switches[source.index()] as usize] = 0;
        let mut heap = BinaryHeap::from([(Reverse(0), source)]);
        while let Some((Reverse(wait), node)) = heap.pop() {
            if wait > waits[self.switches[node.index()] as usize] {
                continue;
            }
            for &link in network.links_to_switches(node) {
                let edge = self.edge(link.0);
                let Some(level) = self.levels(edge).first() else { continue };
                let through = wait + level.budget;
                if through < waits[edge.head_switch as usize] {
                    waits[edge.head_switch as usize] = through;
                    heap.push((Reverse(through), NodeId(edge.head)));
                }
            }
        }
        waits
    }

    /// Lower bounds of the delay to `host`; [`QueueGraph::prepare`] has to be called before.
    pub fn towards<'a>(&'a self, network: &'a Network, host: NodeId) -> LowerBounds<'a> {
        LowerBounds { network, graph: self, last_links: network.links_into(host) }
    }

    /// Per switch, the least sum of `weight(link, least budget)` to a switch; [`u64::MAX`] where no queue leads on.
    pub fn cost_bounds(&self, network: &Network, switch: NodeId, weight: impl Fn(LinkId, u64) -> u64) -> Box<[u64]> {
        let of_link = |link: LinkId| {
            let budget = self.levels(self.edge(link.0)).first().map(|level| level.budget);
            budget.map_or(Self::FAR, |budget| weight(link, budget))
        };
        self.lower_bounds(network, switch, of_link)
    }

    /// The least sum of budgets and constants between two hosts in an empty network; `None` if nothing joins them.
    pub fn fastest_route(&mut self, network: &Network, from: NodeId, to: NodeId) -> Option<Time> {
        self.prepare(network, to);
        let fastest = self.towards(network, to).of_host(from);
        (fastest < Self::FAR).then(|| Time::from_nanos(fastest + self.start(from)))
    }

    /// The node of a switch.
    pub(super) fn switch(&self, number: u32) -> NodeId {
        self.nodes[number as usize]
    }

    /// Returns the least delay from one switch to another, ns; [`u64::MAX`] if there is no path. Prepared targets
    /// only.
    pub(super) fn between(&self, from: u32, to: u32) -> u64 {
        let bounds = self.bounds.get(to as usize).and_then(Option::as_ref);
        bounds.and_then(|bounds| bounds.get(from as usize)).copied().unwrap_or(Self::FAR)
    }

    /// The number of a link's tail among the switches.
    pub(super) fn tail_switch(&self, link: u32) -> u32 {
        self.edge(link).from_switch
    }

    /// Per switch, the least sum of `weight` over links to `destination`.
    fn lower_bounds(&self, network: &Network, destination: NodeId, weight: impl Fn(LinkId) -> u64) -> Box<[u64]> {
        let mut bounds = vec![Self::FAR; self.bounds.len()].into_boxed_slice();
        bounds[self.switches[destination.index()] as usize] = 0;
        let mut heap = BinaryHeap::from([(Reverse(0), destination)]);
        while let Some((Reverse(bound), node)) = heap.pop() {
            if bound > bounds[self.switches[node.index()] as usize] {
                continue;
            }
            for &link in network.links_from_switches(node) {
                let edge = self.edge(link.0);
                let Some(through) = bound.checked_add(weight(link)) else { continue };
                if through < bounds[edge.from_switch as usize] {
                    bounds[edge.from_switch as usize] = through;
                    heap.push((Reverse(through), NodeId(edge.from)));
                }
            }
        }
        bounds
    }
}

/// Returns `true` if the constants of a path can outweigh the smallest budget.
fn is_irregular(edges: &[Edge], levels: &[Level]) -> bool {
    const MAX_HOPS: u64 = 16;
    let constant = edges.iter().map(|edge| edge.constant).max().unwrap_or(0);
    let budget = levels.iter().map(|level| level.budget).min().unwrap_or(0);
    constant > 0 && constant.saturating_mul(MAX_HOPS) >= budget
}

impl LowerBounds<'_> {
    /// Returns the least delay from a host's first queue on, ns; [`u64::MAX`] if there is no path.
    pub(super) fn of_host(&self, host: NodeId) -> u64 {
        let through = |&link: &LinkId| {
            let rest = self.at(self.graph.edge(link.0).head_switch);
            self.graph.fastest(link.0).checked_add(rest)
        };
        self.network.links_to_switches(host).iter().filter_map(through).min().unwrap_or(u64::MAX)
    }

    /// Returns the least delay from a switch to the host, ns; [`u64::MAX`] if there is no path.
    pub(super) fn at(&self, switch: u32) -> u64 {
        let through = |&link: &LinkId| {
            let edge = self.graph.edge(link.0);
            self.graph.between(switch, edge.from_switch).checked_add(self.graph.fastest(link.0))
        };
        match self.last_links {
            [only] => through(only).unwrap_or(u64::MAX),
            many => many.iter().filter_map(through).min().unwrap_or(u64::MAX),
        }
    }
}
