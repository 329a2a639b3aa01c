//! The end of every route, inspected first: queues of the links into the destination that could admit the flow.
//!
//! A host has one or two links, and all routes end there. A full link is thus detected at once, not after every path
//! to it has been tried. A fast queue that is full raises the lower bound of the whole search.

use wayleave_ledger::Ledger;
use wayleave_topology::LinkId;
use wayleave_units::Time;

use super::RouteQuery;
use super::exclusions::{Closed, Denial};
use super::graph::QueueGraph;

impl Denial {
    /// Returns `true` if the queue would admit the flow now.
    pub(super) fn is_over(&self, ledger: &Ledger, query: &RouteQuery) -> bool {
        let waited = Time::from_nanos(self.waited);
        match self.input {
            Some(input) => query.fits(ledger, LinkId(self.link), self.queue, input, waited),
            None => query.might_fit(ledger, LinkId(self.link), self.queue, waited),
        }
    }
}

/// A link into the destination, from the fastest of its queues that could let the flow in.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastLink {
    pub(super) link: u32,
    pub(super) from_switch: u32,
    /// That queue's place among the link's queues by budget.
    pub(super) level: u32,
    /// Its budget and constants, ns.
    pub(super) delay: u64,
}

/// The links into the destination that could let the flow in.
#[derive(Clone, Debug, Default)]
pub(super) struct LastLinks {
    pub(super) links: Vec<LastLink>,
}

impl LastLinks {
    /// Finds them: from wherever the flow comes, having waited as little as it can.
    pub(super) fn scan_destination(&mut self, on: (&QueueGraph, &Ledger, &RouteQuery), closed: &mut Closed) {
        self.links.clear();
        let (graph, ledger, query) = on;
        for &LinkId(link) in ledger.network().links_into(query.to) {
            let edge = graph.edge(link);
            let waited = graph.least_wait(ledger.network(), query.from, link);
            let count = if query.carries(ledger, LinkId(link)) { graph.levels(edge).len() } else { 0 };
            if let Some(level) = (0..count).find(|&level| closed.might_enter(on, link, level, waited)) {
                let delay = graph.levels(edge)[level].budget + edge.constant;
                self.links.push(LastLink { link, from_switch: graph.tail_switch(link), level: level as u32, delay });
            }
        }
    }

    /// All of them, with all their queues.
    pub(super) fn take_all(&mut self, graph: &QueueGraph, ledger: &Ledger, query: &RouteQuery) {
        let usable = |link: &&LinkId| query.carries(ledger, **link) && graph.fastest(link.0) < u64::MAX;
        let last = |link: &LinkId| LastLink {
            link: link.0,
            from_switch: graph.tail_switch(link.0),
            level: 0,
            delay: graph.fastest(link.0),
        };
        self.links.clear();
        self.links.extend(ledger.network().links_into(query.to).iter().filter(usable).map(last));
    }

    /// Returns the least delay from a switch to the destination, ns; [`u64::MAX`] if there is no path.
    pub(super) fn delay_from(&self, graph: &QueueGraph, switch: u32) -> u64 {
        let through = |last: &LastLink| graph.between(switch, last.from_switch).saturating_add(last.delay);
        match self.links.as_slice() {
            [only] => through(only),
            many => many.iter().map(through).min().unwrap_or(u64::MAX),
        }
    }
}
