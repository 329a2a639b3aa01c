//! Least-cost search with a deadline: label setting by (weight, delay) under dominance.
//!
//! Exact up to simple paths: a label is dropped only if another at the same link is no heavier and no later. With a
//! deadline it solves the delay-constrained least-cost problem of section 3.3; without one, and with weights that mix
//! cost and delay, it is the inner search of [`super::larac`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::{Ledger, PortInput};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use super::destination_links::LastLinks;
use super::endpoint_bottleneck::{MAX_CHECKS, is_dead_end};
use super::exclusions::Closed;
use super::exclusions::Denial;
use super::graph::{Level, QueueGraph};
use super::residual_bounds::ResidualBounds;
use super::shortest::Shortest;
use super::{FoundRoute, RouteQuery, hop};
use crate::costs::Cost;

/// Weight of a queue in a search: `cost_factor x cost + delay_factor x delay`.
pub struct CostWeights<'a> {
    /// The cost.
    pub cost: &'a dyn Cost,
    /// The weight of one unit of cost. With 0 the cost is not asked for, and counts as 0.
    pub cost_factor: u64,
    /// The weight of one ns of delay (budget and constants).
    pub delay_factor: u64,
    /// Per switch, a lower bound of the cost from there to the destination; empty for none.
    pub cost_bounds: &'a [u64],
}

/// Treatment of a queue that denies access in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Leaves it out.
    Avoid,
    /// Goes through at a price above every other: the route found breaks as few promises as possible.
    Count,
    /// Passes the queue at any load, unless its link is closed: the route does not depend on load.
    Ignore,
}

/// Number of paths to a place that a search keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelLimit {
    /// Per incoming link all that are not dominated: exact.
    Undominated,
    /// Per node the lightest one, as in the published implementation: fast, and may miss a route.
    OnePerNode,
}

/// Links that a search considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// All.
    Allowed,
    /// Links on paths with the least delay in an empty network.
    None,
}

/// Rules of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The latest arrival, if it matters.
    pub deadline: Option<Time>,
    /// Treatment of queues that deny access.
    pub denied: Denied,
    /// Number of paths to a place that are kept.
    pub labels: LabelLimit,
    /// Permission of longer paths.
    pub detours: SearchScope,
}

/// A route with its cost as well as its delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricedRoute {
    /// The route and its end-to-end bound.
    pub found: FoundRoute,
    /// The sum of costs.
    pub cost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Label {
    weight: u128,
    cost: u64,
    delay: u64,
    waited: u64,
    parent: u32,
    link: u32,
    depth: u32,
    queue: u8,
}

/// Smallest estimate first, then least delay, then newest.
type OpenLabels = BinaryHeap<(Reverse<u128>, Reverse<u64>, u32)>;

/// The search, with its memory, which is used again from one query to the next.
#[derive(Clone, Debug)]
pub struct LeastCost {
    labels: Vec<Label>,
    /// Per link: the labels that have been let in.
    settled: Vec<Vec<u32>>,
    touched: Vec<u32>,
    /// Per node: whether it has a label.
    reached: Vec<bool>,
    open: OpenLabels,
    last: LastLinks,
    residual: ResidualBounds,
    closed: Closed,
    /// Denials found by the check at the flow's ends.
    at_ends: Vec<Denial>,
}

const NONE: u32 = u32::MAX;
/// Number of labels after which a search computes residual bounds: they cost about that much, and lead it to the
/// goal.
const TIMEOUT: usize = 200;

/// A search has exceeded its patience.
struct SearchAborted;
/// The price of a broken promise, above any sum of costs.
const BROKEN: u128 = 1 << 100;

impl LeastCost {
    /// For this network.
    pub fn new(graph: &QueueGraph) -> Self {
        let links = graph.link_count();
        Self {
            labels: Vec::new(),
            settled: vec![Vec::new(); links],
            touched: Vec::new(),
            reached: vec![false; graph.node_count()],
            open: OpenLabels::new(),
            last: LastLinks::default(),
            residual: ResidualBounds::default(),
            closed: Closed::new(graph.queue_count()),
            at_ends: Vec::new(),
        }
    }

    /// The lightest route that the ledger has room for, and that meets the deadline if one is given.
    pub fn search(
        &mut self,
        graph: &mut QueueGraph,
        ledger: &Ledger,
        query: &RouteQuery,
        weigh: &CostWeights<'_>,
        rules: Rules,
    ) -> Option<PricedRoute> {
        graph.prepare(ledger.network(), query.to);
        graph.prepare_waits(ledger.network(), query.from);
        let graph = &*graph;
        self.closed.begin();
        self.residual.clear();
        let Rules { deadline, denied, labels, detours } = rules;
        let deadline = deadline.map_or(u64::MAX, Time::as_nanos);
        let shortest = (detours == SearchScope::None).then(|| Shortest::new(graph, ledger.network(), query));
        let run = Run { graph, ledger, query, weigh, deadline, denied, labels, shortest };
        match denied {
            Denied::Count | Denied::Ignore => self.last.take_all(graph, ledger, query),
            Denied::Avoid => self.last.scan_destination((graph, ledger, query), &mut self.closed),
        }
        if denied != Denied::Avoid || labels == LabelLimit::OnePerNode {
            return self.run(&run, None).ok().flatten();
        }
        self.run(&run, Some(TIMEOUT)).unwrap_or_else(|SearchAborted| {
            let source = query.from;
            let cost = |link: u32, level: &Level| {
                let waited = Time::from_nanos(graph.least_wait(ledger.network(), source, link));
                weigh.cost.of(ledger, LinkId(link), level.queue, query.burst_after(ledger, waited))
            };
            let floor = |switch| weigh.cost_bounds.get(switch as usize).copied().unwrap_or(0);
            self.residual.refresh((graph, ledger, query), &self.last, cost, |_| 0, floor, &mut self.closed);
            self.run(&run, None).ok().flatten()
        })
    }

    /// One search, of at most `step_limit` labels.
    fn run(&mut self, run: &Run<'_>, step_limit: Option<usize>) -> Result<Option<PricedRoute>, SearchAborted> {
        self.begin();
        let start = run.start();
        for &link in run.ledger.network().links_to_switches(run.query.from) {
            self.open_link(run, NONE, &start, link.0);
        }
        let mut steps = 0;
        while let Some((_, _, id)) = self.open.pop() {
            steps += 1;
            if steps == run.dead_ends()
                && run.is_strict()
                && is_dead_end((run.graph, run.ledger, run.query), &mut self.at_ends)
            {
                return Ok(None);
            }
            if !self.settle(run, id) {
                continue;
            }
            let label = self.labels[id as usize];
            let head = run.graph.edge(label.link).head;
            if head == run.query.to.0 {
                return Ok(Some(self.found(&label)));
            }
            if step_limit.is_some_and(|step_limit| self.labels.len() > step_limit) {
                return Err(SearchAborted);
            }
            self.expand(run, id, &label, head);
        }
        Ok(None)
    }

    fn begin(&mut self) {
        self.open.clear();
        self.labels.clear();
        for link in self.touched.drain(..) {
            self.settled[link as usize].clear();
        }
        self.reached.fill(false);
    }

    fn expand(&mut self, run: &Run<'_>, id: u32, label: &Label, head: u32) {
        let network = run.ledger.network();
        if label.depth < run.graph.max_switches() {
            for &out in network.links_to_switches(wayleave_topology::NodeId(head)) {
                // Going back to where it came from is least often what speaks against a link, and takes longest to see.
                if self.is_open(run, out.0) && !self.is_on_path(run.graph, id, run.graph.edge(out.0).head) {
                    self.open_queues(run, id, label, out.0);
                }
            }
        }
        for at in 0..self.last.links.len() {
            let last = self.last.links[at];
            if last.from_switch == run.graph.edge(label.link).head_switch {
                self.open_link(run, id, label, last.link);
            }
        }
    }

    /// Opens the queues of a link that could still meet the deadline: those that are cheaper than every faster one.
    /// The others come when the one before them denies access ([`Self::open_next`]).
    fn open_link(&mut self, run: &Run<'_>, parent: u32, before: &Label, link: u32) {
        if self.is_open(run, link) {
            self.open_queues(run, parent, before, link);
        }
    }

    /// Returns `true` if a link is to be considered, on any path to the link.
    fn is_open(&self, run: &Run<'_>, link: u32) -> bool {
        let id = LinkId(link);
        !self.is_taken(run, link)
            && !run.is_detour(link)
            && run.query.carries(run.ledger, id)
            && (run.denied == Denied::Count || run.ledger.has_rate(id, run.query.rate))
    }

    fn open_queues(&mut self, run: &Run<'_>, parent: u32, before: &Label, link: u32) {
        let levels = run.graph.levels(run.graph.edge(link));
        let mut cheapest = u128::MAX;
        for level in self.first_level(run, link)..levels.len() {
            let Some((label, rest)) = self.step(run, parent, before, link, level) else { break };
            if label.weight < cheapest {
                cheapest = label.weight;
                self.open_label(label, rest);
            }
        }
    }

    /// After a queue has denied access: the slower ones that are cheaper than those between, unless they are open.
    fn open_next(&mut self, run: &Run<'_>, denied: &Label) {
        let levels = run.graph.levels(run.graph.edge(denied.link));
        let Some(at) = levels.iter().position(|level| level.queue == denied.queue) else { return };
        let before = self.before(run, denied);
        let step = |this: &Self, level| this.step(run, denied.parent, &before, denied.link, level);
        let faster = self.first_level(run, denied.link)..=at;
        let mut opened = faster.filter_map(|level| Some(step(self, level)?.0.weight)).min().unwrap_or(u128::MAX);
        let mut between = u128::MAX;
        for level in at + 1..levels.len() {
            let Some((next, rest)) = step(self, level) else { return };
            let weight = next.weight;
            if weight < between && weight >= opened {
                self.open_label(next, rest);
            }
            (opened, between) = (opened.min(weight), between.min(weight));
        }
    }

    /// Queues of a last link that were seen to be full are left out.
    fn first_level(&self, run: &Run<'_>, link: u32) -> usize {
        if run.graph.edge(link).head != run.query.to.0 {
            return 0;
        }
        self.last.links.iter().find(|last| last.link == link).map_or(0, |last| last.level as usize)
    }

    /// Returns the label of entering a link's `level`-th fastest queue, and a lower bound of the rest from there.
    /// Returns `None` if there is no such queue, or no path in time.
    fn step(&self, run: &Run<'_>, parent: u32, before: &Label, link: u32, level: usize) -> Option<(Label, u128)> {
        let edge = run.graph.edge(link);
        let &Level { budget, queue } = run.graph.levels(edge).get(level)?;
        let is_last = edge.head == run.query.to.0;
        let rest = if is_last { 0 } else { self.last.delay_from(run.graph, edge.head_switch) };
        let taken = budget + edge.constant;
        let delay = before.delay + taken;
        if rest == u64::MAX || delay.saturating_add(rest) > run.deadline {
            return None;
        }
        let bounds = run.weigh.cost_bounds;
        let known = || bounds.get(edge.head_switch as usize).copied().unwrap_or(0);
        let cost_rest = if is_last { 0 } else { self.residual.at(edge.head_switch).unwrap_or_else(known) };
        if cost_rest == u64::MAX {
            return None;
        }
        let cost = match run.weigh.cost_factor {
            0 => 0,
            _ => run.weigh.cost.of(
                run.ledger,
                LinkId(link),
                queue,
                run.query.burst_after(run.ledger, Time::from_nanos(before.waited)),
            ),
        };
        let label = Label {
            weight: before.weight + run.weight(cost, taken),
            cost: before.cost + cost,
            delay,
            waited: before.waited + budget,
            parent,
            link,
            depth: before.depth + 1,
            queue,
        };
        Some((label, run.weight(cost_rest, rest)))
    }

    /// The label that a label continues, or that of the source.
    fn before(&self, run: &Run<'_>, label: &Label) -> Label {
        if label.parent == NONE { run.start() } else { self.labels[label.parent as usize] }
    }

    fn open_label(&mut self, label: Label, rest: u128) {
        if self.is_dominated(&label) {
            return;
        }
        let id = self.labels.len() as u32;
        self.open.push((Reverse(label.weight + rest), Reverse(label.delay), id));
        self.labels.push(label);
    }

    fn is_dominated(&self, label: &Label) -> bool {
        let better = |&other: &u32| {
            let other = &self.labels[other as usize];
            other.weight <= label.weight
                && other.waited <= label.waited
                && other.delay <= label.delay
                && other.depth <= label.depth
        };
        self.settled[label.link as usize].iter().any(better)
    }

    /// Returns `true` if the node behind a link already has the one label that it may have.
    fn is_taken(&self, run: &Run<'_>, link: u32) -> bool {
        run.labels == LabelLimit::OnePerNode && self.reached[run.graph.edge(link).head as usize]
    }

    /// Lets a label in, if its queue does and no better one is there; a queue that denies access may be counted.
    fn settle(&mut self, run: &Run<'_>, id: u32) -> bool {
        let label = self.labels[id as usize];
        if self.is_taken(run, label.link) || self.is_dominated(&label) {
            return false;
        }
        let is_counted = label.weight >= BROKEN * (1 + self.broken_before(&label));
        if !is_counted {
            let (input, waited) = self.arrival(&label);
            if !self.admits(run, &label, input, waited) {
                if run.denied == Denied::Count {
                    // Comes back when nothing that breaks fewer promises is left.
                    let counted = Label { weight: label.weight + BROKEN, ..label };
                    self.open_label(counted, 0);
                }
                self.open_next(run, &label);
                return false;
            }
        }
        let settled = &mut self.settled[label.link as usize];
        if settled.is_empty() {
            self.touched.push(label.link);
        }
        settled.push(id);
        self.reached[run.graph.edge(label.link).head as usize] = true;
        true
    }

    fn admits(&mut self, run: &Run<'_>, label: &Label, input: PortInput, waited: Time) -> bool {
        if run.denied == Denied::Ignore {
            return !run.ledger.is_closed(LinkId(label.link));
        }
        let levels = run.graph.levels(run.graph.edge(label.link));
        let Some(level) = levels.iter().position(|level| level.queue == label.queue) else { return false };
        let on = (run.graph, run.ledger, run.query);
        self.closed.enter(on, label.link, level, input, waited.as_nanos())
    }

    /// The promises that the labels before this one break.
    fn broken_before(&self, label: &Label) -> u128 {
        if label.parent == NONE { 0 } else { self.labels[label.parent as usize].weight / BROKEN }
    }

    /// Returns the input of a label's traffic, and its waiting time before this queue.
    fn arrival(&self, label: &Label) -> (PortInput, Time) {
        if label.parent == NONE {
            return (PortInput::LOCAL, Time::ZERO);
        }
        let parent = &self.labels[label.parent as usize];
        (PortInput::link(LinkId(parent.link)), Time::from_nanos(parent.waited))
    }

    fn is_on_path(&self, graph: &QueueGraph, id: u32, node: u32) -> bool {
        let mut at = id;
        while at != NONE {
            let label = &self.labels[at as usize];
            let edge = graph.edge(label.link);
            if edge.from == node || edge.head == node {
                return true;
            }
            at = label.parent;
        }
        false
    }

    fn found(&self, last: &Label) -> PricedRoute {
        let mut hops = vec![hop(LinkId(last.link), last.queue)];
        let mut at = last.parent;
        while at != NONE {
            let label = &self.labels[at as usize];
            hops.push(hop(LinkId(label.link), label.queue));
            at = label.parent;
        }
        hops.reverse();
        let found = FoundRoute { route: Route { hops }, delay: Time::from_nanos(last.delay) };
        PricedRoute { found, cost: last.cost }
    }
}

/// Input of one search.
struct Run<'a> {
    graph: &'a QueueGraph,
    ledger: &'a Ledger,
    query: &'a RouteQuery,
    weigh: &'a CostWeights<'a>,
    deadline: u64,
    denied: Denied,
    labels: LabelLimit,
    /// Without detours: the paths with the least delay in an empty network.
    shortest: Option<Shortest<'a>>,
}

impl Run<'_> {
    /// Returns `true` if a link is on none of the paths with the least delay in an empty network.
    fn is_detour(&self, link: u32) -> bool {
        self.shortest.as_ref().is_some_and(|shortest| !shortest.passes(self.graph, link))
    }

    /// Returns the number of steps after which the search checks if the flow is stuck: an exact search follows others
    /// that found nothing.
    fn dead_ends(&self) -> u32 {
        if self.labels == LabelLimit::Undominated { 1 } else { MAX_CHECKS }
    }

    /// Returns `true` if only routes in time with room in the ledger count.
    fn is_strict(&self) -> bool {
        self.denied == Denied::Avoid && self.deadline <= self.query.deadline.as_nanos()
    }

    /// The label of the source.
    fn start(&self) -> Label {
        let delay = self.graph.start(self.query.from);
        Label { weight: 0, cost: 0, delay, waited: 0, parent: NONE, link: NONE, depth: 0, queue: 0 }
    }

    fn weight(&self, cost: u64, delay: u64) -> u128 {
        u128::from(self.weigh.cost_factor) * u128::from(cost) + u128::from(self.weigh.delay_factor) * u128::from(delay)
    }
}
