//! Reading ahead: in a large network most of the data that a decision reads is in no cache of the processor.
//!
//! If they were read one by one, each number would be waited for alone. Here they are read in a row, with nothing
//! between that depends on them, so that all are fetched from memory at the same time. The values read mean nothing.

use std::ops::Range;

use wayleave_topology::{LinkId, Route};

use super::Ledger;

impl Ledger {
    /// Reads what a decision will read of these links.
    pub fn fetch(&self, links: impl Iterator<Item = LinkId>) {
        let read = |link: LinkId| {
            let gate = &self.gates[link.index()];
            let tolerances = &self.tolerances[gate.first as usize..][..usize::from(gate.count)];
            let rooms = tolerances.iter().fold(0, |all, one| all ^ one.margin());
            rooms as u64 ^ self.gauges.of(gate.gauges, gate.count).fetch() ^ self.fetch_queues(link, 0..gate.count)
        };
        std::hint::black_box(links.map(read).fold(0, |all, one| all ^ one));
    }

    /// Reads what a release of a route will read.
    pub(super) fn fetch_route(&self, route: &Route) {
        let read = route.hops.iter().map(|hop| self.fetch_queues(hop.link, hop.queue..hop.queue + 1));
        std::hint::black_box(read.fold(0, |all, one| all ^ one));
    }

    fn fetch_queues(&self, link: LinkId, queues: Range<u8>) -> u64 {
        let port = &self.ports[link.index()];
        let latest = self.on_link[link.index()].last().map_or(0, |&(placed, _)| placed);
        let queues = &self.queues_of(link)[usize::from(queues.start)..usize::from(queues.end)];
        queues.iter().fold(latest ^ u64::from(port.changes) ^ port.reserved as u64, |all, queue| all ^ queue.fetch())
    }
}
