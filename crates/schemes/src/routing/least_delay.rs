//! Least-delay search, goal-directed: the hot path of every decision.
//!
//! A* with exact static bounds: budgets never change, so the least delay from a node to the destination is known and
//! an unloaded network is crossed in a straight line. A slower queue of a link is looked at only when the faster one
//! is denied (reached through the faster one, it could only be reached later). Hosts are never expanded.

use wayleave_ledger::{Input, Ledger};
use wayleave_topology::{LinkId, NodeId, Route};
use wayleave_units::Time;

use super::buckets::Buckets;
use super::graph::{Graph, Towards};
use super::{Found, Query, hop};

const NONE: u32 = u32::MAX;

/// How a link was reached.
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

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Enter `link` from the label of `parent`, through its `level`-th fastest queue.
    Try { link: u32, parent: u32, level: u32 },
    /// Look at the links behind `link` that are no faster than this step's key.
    Expand { link: u32 },
}

/// The search, with its memory, which is used again from one query to the next.
#[derive(Clone, Debug)]
pub struct LeastDelay {
    labels: Vec<Label>,
    search: u32,
    open: Buckets<Step>,
    /// Links that denied access during the last search.
    blocked: Vec<u32>,
}

impl LeastDelay {
    /// For a network of this many links.
    pub fn new(links: usize) -> Self {
        Self { labels: vec![Label::default(); links], search: 0, open: Buckets::default(), blocked: Vec::new() }
    }

    /// The route of least delay that the ledger has room for, if it meets the deadline.
    pub fn search(&mut self, graph: &mut Graph, ledger: &Ledger, query: &Query) -> Option<Found> {
        let network = ledger.network();
        graph.prepare(network, query.to);
        let graph = &*graph;
        let towards = graph.towards(network, query.to);
        self.begin();
        let deadline = query.deadline.as_nanos();
        for &link in network.links_to_switches(query.from) {
            let rest = towards.at(graph.edge(link.0).head);
            if let Some(total) = graph.fastest(link.0).checked_add(rest) {
                self.push(
                    total.saturating_add(graph.start(query.from)),
                    deadline,
                    Step::Try { link: link.0, parent: NONE, level: 0 },
                );
            }
        }
        while let Some((key, step)) = self.open.pop() {
            match step {
                Step::Try { link, parent, level } => {
                    if self.enter(graph, ledger, query, key, link, parent, level) {
                        if graph.edge(link).head == query.to.0 {
                            return Some(self.found(link));
                        }
                        self.expand(graph, ledger, &towards, query, key, link);
                    }
                }
                Step::Expand { link } => self.expand(graph, ledger, &towards, query, key, link),
            }
        }
        None
    }

    /// The links that denied access during the last search, with repetitions.
    pub fn blocked(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.blocked.iter().map(|&link| LinkId(link))
    }

    fn begin(&mut self) {
        self.open.clear();
        self.blocked.clear();
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
        graph: &Graph,
        ledger: &Ledger,
        query: &Query,
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
        let levels = graph.levels(edge);
        let entered = levels[level as usize];
        let input = if parent == NONE { Input::LOCAL } else { Input::link(LinkId(parent)) };
        if !query.fits(ledger, LinkId(link), entered.queue, input, Time::from_nanos(before.waited)) {
            self.blocked.push(link);
            if let Some(next) = levels.get(level as usize + 1).filter(|_| ledger.has_rate(LinkId(link), query.rate)) {
                let key = key + next.budget - entered.budget;
                self.push(key, query.deadline.as_nanos(), Step::Try { link, parent, level: level + 1 });
            }
            return false;
        }
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

    /// Opens the links behind `link` on which the whole way takes `key`, and remembers when to come back for the next.
    fn expand(&mut self, graph: &Graph, ledger: &Ledger, towards: &Towards<'_>, query: &Query, key: u64, link: u32) {
        let (label, edge) = (self.labels[link as usize], graph.edge(link));
        let mut next = u64::MAX;
        let mut consider = |this: &mut Self, out: u32, rest: u64| {
            let Some(total) = graph.fastest(out).checked_add(rest).and_then(|rest| rest.checked_add(label.delay))
            else {
                return;
            };
            if total > key {
                next = next.min(total);
            } else if total == key && query.carries(ledger, LinkId(out)) {
                this.push(key, query.deadline.as_nanos(), Step::Try { link: out, parent: link, level: 0 });
            }
        };
        if u32::from(label.depth) < graph.max_switches() {
            for &out in ledger.network().links_to_switches(NodeId(edge.head)) {
                let head = graph.edge(out.0).head;
                if !self.is_on_path(graph, link, head) {
                    consider(self, out.0, towards.at(head));
                }
            }
        }
        for last in towards.last_links_from(edge.head) {
            consider(self, last, 0);
        }
        self.push(next, query.deadline.as_nanos(), Step::Expand { link });
    }

    /// Whether `node` was left on the way to `link`, or is its head.
    fn is_on_path(&self, graph: &Graph, link: u32, node: u32) -> bool {
        let mut at = link;
        while at != NONE {
            if graph.edge(at).from == node {
                return true;
            }
            at = self.labels[at as usize].parent;
        }
        graph.edge(link).head == node
    }

    fn found(&self, last: u32) -> Found {
        let delay = Time::from_nanos(self.labels[last as usize].delay);
        let mut hops = Vec::with_capacity(usize::from(self.labels[last as usize].depth));
        let mut at = last;
        while at != NONE {
            let label = self.labels[at as usize];
            hops.push(hop(LinkId(at), label.queue));
            at = label.parent;
        }
        hops.reverse();
        Found { route: Route { hops }, delay }
    }
}
