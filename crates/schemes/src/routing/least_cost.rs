//! Least-cost search with a deadline: label setting by (weight, delay) under dominance.
//!
//! Exact up to simple paths: a label is dropped only if another at the same link is no heavier and no later. With a
//! deadline it solves the delay-constrained least-cost problem of section 3.3; without one, and with weights that mix
//! cost and delay, it is the inner search of [`super::larac`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::{Input, Ledger};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use super::graph::{Graph, Level};
use super::{Found, Query, hop};

/// What it costs a flow to use a queue (Chameleon, sections 3.4 and 4.1.4). Any unit; only sums are compared.
pub trait Cost {
    /// The cost of a queue for a flow that would be let in.
    fn of(&self, ledger: &Ledger, link: LinkId, queue: u8) -> u64;
}

/// The queue's delay budget: the cost function of section 4.1.4, since bursts grow with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayCost;

impl Cost for DelayCost {
    fn of(&self, ledger: &Ledger, link: LinkId, queue: u8) -> u64 {
        ledger.budget(hop(link, queue)).as_nanos()
    }
}

/// One for every link.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopCost;

impl Cost for HopCost {
    fn of(&self, _: &Ledger, _: LinkId, _: u8) -> u64 {
        1
    }
}

/// How a search weighs a queue: `cost_factor x cost + delay_factor x delay`.
pub struct Weigh<'a> {
    /// The cost.
    pub cost: &'a dyn Cost,
    /// The weight of one unit of cost.
    pub cost_factor: u64,
    /// The weight of one ns of delay (budget and constants).
    pub delay_factor: u64,
    /// Per node, a lower bound of the cost from there to the destination; empty for none.
    pub cost_bounds: &'a [u64],
}

/// What a search does with a queue that denies access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Leaves it out.
    Avoid,
    /// Goes through at a price above every other: the route found breaks as few promises as possible.
    Count,
}

/// A route with its cost as well as its delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priced {
    /// The route and its end-to-end bound.
    pub found: Found,
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
type Open = BinaryHeap<(Reverse<u128>, Reverse<u64>, u32)>;

/// The search, with its memory, which is used again from one query to the next.
#[derive(Clone, Debug)]
pub struct LeastCost {
    labels: Vec<Label>,
    /// Per link: the labels that have been let in.
    settled: Vec<Vec<u32>>,
    touched: Vec<u32>,
    open: Open,
}

const NONE: u32 = u32::MAX;
/// The price of a broken promise, above any sum of costs.
const BROKEN: u128 = 1 << 100;

impl LeastCost {
    /// For a network of this many links.
    pub fn new(links: usize) -> Self {
        Self { labels: Vec::new(), settled: vec![Vec::new(); links], touched: Vec::new(), open: Open::new() }
    }

    /// The lightest route that the ledger has room for, and that meets the deadline if one is given.
    pub fn search(
        &mut self,
        graph: &mut Graph,
        ledger: &Ledger,
        query: &Query,
        weigh: &Weigh<'_>,
        deadline: Option<Time>,
        denied: Denied,
    ) -> Option<Priced> {
        graph.prepare(ledger.network(), query.to);
        self.begin();
        let run = Run { graph, ledger, query, weigh, deadline: deadline.map_or(u64::MAX, Time::as_nanos), denied };
        let start = Label {
            weight: 0,
            cost: 0,
            delay: run.graph.start(query.from),
            waited: 0,
            parent: NONE,
            link: NONE,
            depth: 0,
            queue: 0,
        };
        for &link in ledger.network().links_to_switches(query.from) {
            self.open_link(&run, NONE, &start, link.0);
        }
        while let Some((_, _, id)) = self.open.pop() {
            if !self.settle(&run, id) {
                continue;
            }
            let label = self.labels[id as usize];
            let head = run.graph.edge(label.link).head;
            if head == query.to.0 {
                return Some(self.found(&label));
            }
            self.expand(&run, id, &label, head);
        }
        None
    }

    fn begin(&mut self) {
        self.open.clear();
        self.labels.clear();
        for link in self.touched.drain(..) {
            self.settled[link as usize].clear();
        }
    }

    fn expand(&mut self, run: &Run<'_>, id: u32, label: &Label, head: u32) {
        let network = run.ledger.network();
        if label.depth < run.graph.max_switches() {
            for &out in network.links_to_switches(wayleave_topology::NodeId(head)) {
                if !self.is_on_path(run.graph, id, run.graph.edge(out.0).head) {
                    self.open_link(run, id, label, out.0);
                }
            }
        }
        let last: Vec<u32> = run.graph.towards(network, run.query.to).last_links_from(head).collect();
        for link in last {
            self.open_link(run, id, label, link);
        }
    }

    /// Opens every queue of a link that could still meet the deadline.
    fn open_link(&mut self, run: &Run<'_>, parent: u32, before: &Label, link: u32) {
        let edge = run.graph.edge(link);
        let id = LinkId(link);
        if !run.query.carries(run.ledger, id)
            || (run.denied == Denied::Avoid && !run.ledger.has_rate(id, run.query.rate))
        {
            return;
        }
        let is_last = edge.head == run.query.to.0;
        let towards = run.graph.towards(run.ledger.network(), run.query.to);
        let rest = if is_last { 0 } else { towards.at(edge.head) };
        if rest == u64::MAX {
            return;
        }
        let cost_rest = if is_last { 0 } else { run.weigh.cost_bounds.get(edge.head as usize).copied().unwrap_or(0) };
        for &Level { budget, queue } in run.graph.levels(edge) {
            let step = budget + edge.constant;
            let delay = before.delay + step;
            if delay.saturating_add(rest) > run.deadline {
                break;
            }
            let cost = run.weigh.cost.of(run.ledger, id, queue);
            let label = Label {
                weight: before.weight + run.weight(cost, step),
                cost: before.cost + cost,
                delay,
                waited: before.waited + budget,
                parent,
                link,
                depth: before.depth + 1,
                queue,
            };
            self.open_label(label, run.weight(cost_rest, rest));
        }
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
            other.weight <= label.weight && other.waited <= label.waited && other.delay <= label.delay
        };
        self.settled[label.link as usize].iter().any(better)
    }

    /// Lets a label in, if its queue does and no better one is there; a queue that denies access may be counted.
    fn settle(&mut self, run: &Run<'_>, id: u32) -> bool {
        let label = self.labels[id as usize];
        if self.is_dominated(&label) {
            return false;
        }
        let is_counted = label.weight >= BROKEN * (1 + self.broken_before(&label));
        if !is_counted {
            let (input, waited) = self.arrival(&label);
            if !run.query.fits(run.ledger, LinkId(label.link), label.queue, input, waited) {
                if run.denied == Denied::Count {
                    // Comes back when nothing that breaks fewer promises is left.
                    let counted = Label { weight: label.weight + BROKEN, ..label };
                    self.open_label(counted, 0);
                }
                return false;
            }
        }
        let settled = &mut self.settled[label.link as usize];
        if settled.is_empty() {
            self.touched.push(label.link);
        }
        settled.push(id);
        true
    }

    /// The promises that the labels before this one break.
    fn broken_before(&self, label: &Label) -> u128 {
        if label.parent == NONE { 0 } else { self.labels[label.parent as usize].weight / BROKEN }
    }

    /// Where a label's traffic comes from, and what it has waited before this queue.
    fn arrival(&self, label: &Label) -> (Input, Time) {
        if label.parent == NONE {
            return (Input::LOCAL, Time::ZERO);
        }
        let parent = &self.labels[label.parent as usize];
        (Input::link(LinkId(parent.link)), Time::from_nanos(parent.waited))
    }

    fn is_on_path(&self, graph: &Graph, id: u32, node: u32) -> bool {
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

    fn found(&self, last: &Label) -> Priced {
        let mut hops = vec![hop(LinkId(last.link), last.queue)];
        let mut at = last.parent;
        while at != NONE {
            let label = &self.labels[at as usize];
            hops.push(hop(LinkId(label.link), label.queue));
            at = label.parent;
        }
        hops.reverse();
        let found = Found { route: Route { hops }, delay: Time::from_nanos(last.delay) };
        Priced { found, cost: last.cost }
    }
}

/// What one search works on.
struct Run<'a> {
    graph: &'a Graph,
    ledger: &'a Ledger,
    query: &'a Query,
    weigh: &'a Weigh<'a>,
    deadline: u64,
    denied: Denied,
}

impl Run<'_> {
    fn weight(&self, cost: u64, delay: u64) -> u128 {
        u128::from(self.weigh.cost_factor) * u128::from(cost) + u128::from(self.weigh.delay_factor) * u128::from(delay)
    }
}
