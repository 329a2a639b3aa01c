//! Queues that are known to deny a flow from anywhere, once it has waited long enough.
//!
//! Access is monotone in a flow's waiting time, and nearly independent of its input. So when one arrival is denied
//! and no input could help ([`wayleave_ledger::Ledger::might_fit`]), later arrivals need not be tried at all.

use wayleave_ledger::{Ledger, PortInput};
use wayleave_topology::LinkId;
use wayleave_units::{Amount, Rate, Time};

use super::RouteQuery;
use super::graph::{Edge, QueueGraph};

/// A queue that did not let the flow in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Denial {
    pub(super) link: u32,
    pub(super) queue: u8,
    /// From where; `None` from anywhere.
    pub(super) input: Option<PortInput>,
    /// ns in the queues before.
    pub(super) waited: u64,
}

/// Per queue: from which waiting time on it is closed to the flow of the present search.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    entries: Vec<(u32, u64)>,
    /// Per queue: the last flow that no input could bring in, for as long as nothing is released there.
    refused: Vec<RefusedFlow>,
    search: u32,
    /// Denials during the search, for [`super::LeastDelay::would_help`].
    pub(super) denials: Vec<Denial>,
}

/// A flow that did not fit from anywhere; one that is no smaller in rate nor in burst does not either.
#[derive(Clone, Copy, Debug)]
struct RefusedFlow {
    /// The releases on its link at that time.
    releases: u32,
    rate: Rate,
    burst: Amount,
}

/// No flow at all was refused.
const NONE_REFUSED: RefusedFlow = RefusedFlow { releases: 0, rate: Rate::MAX, burst: Amount::from_nanobits(i128::MAX) };

impl Closed {
    /// For a network of this many queues.
    pub(super) fn new(queues: usize) -> Self {
        Self { entries: vec![(0, 0); queues], refused: vec![NONE_REFUSED; queues], search: 0, denials: Vec::new() }
    }

    /// Forgets everything: another flow, or another state of the ledger.
    pub(super) fn begin(&mut self) {
        self.denials.clear();
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.entries.fill((0, 0));
            self.search = 1;
        }
    }

    /// The first of a link's queues by budget, from the `from`-th on, that is not known to be closed.
    pub(super) fn first_open(&self, graph: &QueueGraph, edge: Edge, from: usize, waited: u64) -> Option<usize> {
        (from..graph.levels(edge).len()).find(|&level| !self.is_closed(edge, level, waited))
    }

    fn is_closed(&self, edge: Edge, level: usize, waited: u64) -> bool {
        let (search, since) = self.entries[edge.queue_index(level)];
        search == self.search && waited >= since
    }

    /// Returns `true` if the ledger admits the flow. A denial is recorded, because it also decides other arrivals.
    pub(super) fn enter(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        link: u32,
        level: usize,
        input: PortInput,
        waited: u64,
    ) -> bool {
        if self.is_known((graph, ledger, query), link, level, waited) {
            return false;
        }
        let edge = graph.edge(link);
        let queue = graph.levels(edge)[level].queue;
        let time = Time::from_nanos(waited);
        if query.fits(ledger, LinkId(link), queue, input, time) {
            return true;
        }
        if query.might_fit(ledger, LinkId(link), queue, time) {
            self.denials.push(Denial { link, queue, input: Some(input), waited });
        } else {
            self.refuse((ledger, query), edge.queue_index(level), link, waited);
            self.close(graph, link, level, waited);
        }
        false
    }

    /// Returns `true` if the queue is known to be closed, by this search or since an earlier one.
    fn is_known(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        link: u32,
        level: usize,
        waited: u64,
    ) -> bool {
        let edge = graph.edge(link);
        if self.is_closed(edge, level, waited) {
            return true;
        }
        let was_refused = self.was_refused((ledger, query), edge.queue_index(level), link, waited);
        if was_refused {
            self.close(graph, link, level, waited);
        }
        was_refused
    }

    /// Returns `true` if a flow that was no larger was refused here, and nothing was released since.
    fn was_refused(&self, (ledger, query): (&Ledger, &RouteQuery), queue: usize, link: u32, waited: u64) -> bool {
        let refused = &self.refused[queue];
        query.rate >= refused.rate
            && query.burst_after(ledger, Time::from_nanos(waited)) >= refused.burst
            && ledger.releases(LinkId(link)) == refused.releases
    }

    fn refuse(&mut self, (ledger, query): (&Ledger, &RouteQuery), queue: usize, link: u32, waited: u64) {
        let burst = query.burst_after(ledger, Time::from_nanos(waited));
        self.refused[queue] = RefusedFlow { releases: ledger.releases(LinkId(link)), rate: query.rate, burst };
    }

    /// Returns `true` if any input could admit the flow; if not, the queue is closed.
    pub(super) fn might_enter(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        link: u32,
        level: usize,
        waited: u64,
    ) -> bool {
        if self.is_known((graph, ledger, query), link, level, waited) {
            return false;
        }
        let edge = graph.edge(link);
        let queue = graph.levels(edge)[level].queue;
        let might = query.might_fit(ledger, LinkId(link), queue, Time::from_nanos(waited));
        if !might {
            self.refuse((ledger, query), edge.queue_index(level), link, waited);
            self.close(graph, link, level, waited);
        }
        might
    }

    fn close(&mut self, graph: &QueueGraph, link: u32, level: usize, waited: u64) {
        let edge = graph.edge(link);
        self.entries[edge.queue_index(level)] = (self.search, waited);
        let queue = graph.levels(edge)[level].queue;
        self.denials.push(Denial { link, queue, input: None, waited });
    }
}
