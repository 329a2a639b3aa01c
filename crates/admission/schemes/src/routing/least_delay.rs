//! Least-delay search, goal-directed: the hot path of every decision.
//!
//! A* with exact static bounds: budgets never change, so the least delay from a node to the destination is known and
//! an unloaded network is crossed in a straight line. A slower queue of a link is tried only when the faster one is
//! denied (reached through the faster one, it could only be reached later). Hosts are never expanded.

use wayleave_ledger::{Ledger, PortInput};
use wayleave_topology::{LinkId, NodeId, Route};
use wayleave_units::Time;

use super::buckets::Buckets;
use super::destination_links::LastLinks;
use super::endpoint_bottleneck::{MAX_CHECKS, is_dead_end};
use super::exclusions::Closed;
use super::exclusions::Denial;
use super::graph::{Level, QueueGraph};
use super::residual_bounds::ResidualBounds;
use super::{FoundRoute, RouteQuery, hop};

const NONE: u32 = u32::MAX;

/// Path by which a link was reached.
#[derive(Clone, Copy, Debug, Default)]
struct Label {
    /// The search that it belongs to.
    search: u32,
    parent: u32,
    /// Budgets and constants so far, ns.
    delay: u64,
    /// Budgets so far, ns: what the burst has grown by.
    waited: u64,
    queue: u8,
    depth: u8,
}

/// Number of steps after which a search computes residual bounds: they cost about that much, and lead it to the goal.
const TIMEOUT: u32 = 200;

/// Outcome of a run of the search.
enum Outcome {
    /// At the destination, over this link.
    Found(u32),
    Nothing,
    Impatient,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Enter `link` from the label of `parent`, through its `level`-th fastest queue.
    Try { link: u32, parent: u32, level: u32 },
    /// Open the links behind `link` on which the whole path takes more than `after`, up to this step's key.
    Expand { link: u32, after: u64 },
}

/// The search, with its memory, which is used again from one query to the next.
#[derive(Clone, Debug)]
pub struct LeastDelay {
    labels: Vec<Label>,
    search: u32,
    open: Buckets<Step>,
    last: LastLinks,
    residual: ResidualBounds,
    closed: Closed,
    /// Denials found by the check at the flow's ends.
    at_ends: Vec<Denial>,
}

impl LeastDelay {
    /// For this network.
    pub fn new(graph: &QueueGraph) -> Self {
        let links = graph.link_count();
        Self {
            labels: vec![Label::default(); links],
            search: 0,
            open: Buckets::default(),
            last: LastLinks::default(),
            residual: ResidualBounds::default(),
            closed: Closed::new(graph.queue_count()),
            at_ends: Vec::new(),
        }
    }

    /// The route of least delay that the ledger has room for, if it meets the deadline.
    pub fn search(&mut self, graph: &mut QueueGraph, ledger: &Ledger, query: &RouteQuery) -> Option<FoundRoute> {
        let network = ledger.network();
        graph.prepare(network, query.to);
        graph.prepare_waits(network, query.from);
        let graph = &*graph;
        self.closed.begin();
        self.residual.clear();
        self.last.scan_destination((graph, ledger, query), &mut self.closed);
        match self.run(graph, ledger, query, Some(TIMEOUT)) {
            Outcome::Found(last) => Some(self.found(last)),
            Outcome::Nothing => None,
            Outcome::Impatient => {
                let delay = |link: u32, level: &Level| level.budget + graph.edge(link).constant;
                let estimate = |switch| graph.wait_at(network, query.from, switch);
                let floor = |switch| self.last.delay_from(graph, switch);
                let on = (graph, ledger, query);
                self.residual.refresh(on, &self.last, delay, estimate, floor, &mut self.closed);
                match self.run(graph, ledger, query, None) {
                    Outcome::Found(last) => Some(self.found(last)),
                    Outcome::Nothing | Outcome::Impatient => None,
                }
            }
        }
    }

    /// One search, of at most `step_limit` steps.
    fn run(&mut self, graph: &QueueGraph, ledger: &Ledger, query: &RouteQuery, step_limit: Option<u32>) -> Outcome {
        self.begin();
        let deadline = query.deadline.as_nanos();
        let carries = |link: &&LinkId| query.carries(ledger, **link);
        for &link in ledger.network().links_to_switches(query.from).iter().filter(carries) {
            let rest = self.rest(graph, graph.edge(link.0).head_switch);
            if let Some(total) = graph.fastest(link.0).checked_add(rest) {
                let key = total.saturating_add(graph.start(query.from));
                self.push(key, deadline, Step::Try { link: link.0, parent: NONE, level: 0 });
            }
        }
        let mut steps = 0;
        while let Some((key, step)) = self.open.pop() {
            steps += 1;
            if step_limit.is_some_and(|step_limit| steps > step_limit) {
                return Outcome::Impatient;
            }
            if steps == MAX_CHECKS && self.is_stuck((graph, ledger, query)) {
                return Outcome::Nothing;
            }
            match step {
                Step::Try { link, parent, level } => {
                    if self.enter(graph, ledger, query, key, link, parent, level) {
                        if graph.edge(link).head == query.to.0 {
                            return Outcome::Found(link);
                        }
                        self.expand(graph, ledger, query, key, link, None);
                    }
                }
                Step::Expand { link, after } => self.expand(graph, ledger, query, key, link, Some(after)),
            }
        }
        Outcome::Nothing
    }

    /// Returns the least delay from a switch to the destination, ns; [`u64::MAX`] if there is no path.
    fn rest(&self, graph: &QueueGraph, switch: u32) -> u64 {
        self.residual.at(switch).unwrap_or_else(|| self.last.delay_from(graph, switch))
    }

    /// Returns `true` if any queue on these links that denied access during the last search would admit the flow now.
    pub fn would_help(&self, ledger: &Ledger, query: &RouteQuery, freed: impl Fn(LinkId) -> bool) -> bool {
        self.closed.denials.iter().any(|denial| freed(LinkId(denial.link)) && denial.is_over(ledger, query))
    }

    /// Takes it that a search has found nothing, for these denials.
    pub(super) fn take_denials(&mut self, denials: &mut Vec<Denial>) {
        std::mem::swap(&mut self.closed.denials, denials);
    }

    /// Returns `true` if the links at its ends admit the flow nowhere; then their denials are those of the search.
    fn is_stuck(&mut self, on: (&QueueGraph, &Ledger, &RouteQuery)) -> bool {
        let is_stuck = is_dead_end(on, &mut self.at_ends);
        if is_stuck {
            std::mem::swap(&mut self.closed.denials, &mut self.at_ends);
        }
        is_stuck
    }

    fn begin(&mut self) {
        self.open.clear();
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.labels.fill(Label::default());
            self.search = 1;
        }
    }

    fn push(&mut self, key: u64, deadline: u64, step: Step) {
        if key <= deadline {
            self.open.push(key, step);
        }
    }

    /// Labels `link` if the queue lets the flow in; otherwise the next slower queue is to be tried later.
    #[allow(clippy::too_many_arguments, reason = "the parts of one step; a struct for one call would hide nothing")]
    fn enter(
        &mut self,
        graph: &QueueGraph,
        ledger: &Ledger,
        query: &RouteQuery,
        key: u64,
        link: u32,
        parent: u32,
        level: u32,
    ) -> bool {
        if self.labels[link as usize].search == self.search {
            return false;
        }
        let edge = graph.edge(link);
        let before = if parent == NONE {
            Label { delay: graph.start(query.from), ..Label::default() }
        } else {
            self.labels[parent as usize]
        };
        let input = if parent == NONE { PortInput::LOCAL } else { PortInput::link(LinkId(parent)) };
        if !self.closed.enter((graph, ledger, query), link, level as usize, input, before.waited) {
            if let Some(next) = self.closed.first_open(graph, edge, level as usize + 1, before.waited) {
                let rest = if edge.head == query.to.0 { 0 } else { self.rest(graph, edge.head_switch) };
                let total = before.delay + graph.levels(edge)[next].budget + edge.constant;
                let key = key.max(total.saturating_add(rest));
                self.push(key, query.deadline.as_nanos(), Step::Try { link, parent, level: next as u32 });
            }
            return false;
        }
        let entered = graph.levels(edge)[level as usize];
        self.labels[link as usize] = Label {
            search: self.search,
            parent,
            delay: before.delay + entered.budget + edge.constant,
            waited: before.waited + entered.budget,
            queue: entered.queue,
            depth: before.depth + 1,
        };
        true
    }

    /// Opens the links behind `link` on which the whole path takes up to `key`, except for those that were opened
    /// before (up to `after`), and schedules the next ones.
    ///
    /// Residual bounds leave out queues that deny access, so the fastest queue of a link can promise less than `key`.
    fn expand(
        &mut self,
        graph: &QueueGraph,
        ledger: &Ledger,
        query: &RouteQuery,
        key: u64,
        link: u32,
        after: Option<u64>,
    ) {
        let (label, edge) = (self.labels[link as usize], graph.edge(link));
        let mut next = u64::MAX;
        let mut consider = |this: &mut Self, out: u32, level: u32, rest: u64| {
            let total = label.delay.saturating_add(rest);
            if total > key {
                next = next.min(total);
            } else if after.is_none_or(|after| total > after) && query.carries(ledger, LinkId(out)) {
                this.push(key, query.deadline.as_nanos(), Step::Try { link: out, parent: link, level });
            }
        };
        if u32::from(label.depth) < graph.max_switches() {
            for &out in ledger.network().links_to_switches(NodeId(edge.head)) {
                let ahead = graph.edge(out.0);
                if !self.is_on_path(graph, link, ahead.head) {
                    let Some(level) = self.closed.first_open(graph, ahead, 0, label.waited) else { continue };
                    let taken = graph.levels(ahead)[level].budget + ahead.constant;
                    let rest = self.rest(graph, ahead.head_switch);
                    consider(self, out.0, level as u32, rest.saturating_add(taken));
                }
            }
        }
        for at in 0..self.last.links.len() {
            let last = self.last.links[at];
            if last.from_switch == edge.head_switch {
                consider(self, last.link, last.level, last.delay);
            }
        }
        self.push(next, query.deadline.as_nanos(), Step::Expand { link, after: key });
    }

    /// Returns `true` if `node` was left on the path to `link`, or is its head.
    fn is_on_path(&self, graph: &QueueGraph, link: u32, node: u32) -> bool {
        let mut at = link;
        while at != NONE {
            if graph.edge(at).from == node {
                return true;
            }
            at = self.labels[at as usize].parent;
        }
        graph.edge(link).head == node
    }

    fn found(&self, last: u32) -> FoundRoute {
        let delay = Time::from_nanos(self.labels[last as usize].delay);
        let mut hops = Vec::with_capacity(usize::from(self.labels[last as usize].depth));
        let mut at = last;
        while at != NONE {
            let label = self.labels[at as usize];
            hops.push(hop(LinkId(at), label.queue));
            at = label.parent;
        }
        hops.reverse();
        FoundRoute { route: Route { hops }, delay }
    }
}
