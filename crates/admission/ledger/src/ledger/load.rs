//! Load of links: the figures that cost functions and searches read.

use wayleave_topology::LinkId;
use wayleave_units::Rate;

use super::Ledger;
use crate::utilisation::Gauges;

impl Ledger {
    /// The rate reserved on a link, over all its queues.
    pub fn reserved(&self, link: LinkId) -> Rate {
        Rate::from_bits_per_second(self.ports[link.index()].reserved as u64)
    }

    /// Number of changes on a link. While it stays equal, the contents of all its queues do too.
    #[inline]
    pub fn changes(&self, link: LinkId) -> u32 {
        self.gates[link.index()].changes
    }

    /// For each contract queue of a link, its distance from the limit of its promises, highest priority first.
    #[inline]
    pub fn gauges(&self, link: LinkId) -> Gauges<'_> {
        let gate = &self.gates[link.index()];
        self.gauges.of(gate.gauges, gate.count)
    }

    /// The share of a link's rate that is reserved, with `extra` bit/s more.
    pub fn utilisation(&self, link: LinkId, extra: f64) -> f64 {
        let port = &self.ports[link.index()];
        (port.reserved as f64 + extra) / port.rate as f64
    }

    /// Rate that latency contracts can still have of a line, in any queue; nothing where it is closed.
    pub fn spare(&self, link: LinkId) -> Rate {
        Rate::from_bits_per_second(self.gates[link.index()].spare)
    }

    /// Returns `true` if the line has `rate` to spare, in any queue.
    #[inline]
    pub fn has_rate(&self, link: LinkId, rate: Rate) -> bool {
        rate.bits_per_second() <= self.gates[link.index()].spare
    }

    /// Number of times that something was taken back on a link. While it stays equal, a flow that did not fit does
    /// not fit.
    pub fn releases(&self, link: LinkId) -> u32 {
        self.ports[link.index()].releases
    }
}
