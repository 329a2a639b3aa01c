//! Links that let nothing in, and the check that everything is kept. For callers that take a ledger through failures
//! and restarts.

use wayleave_topology::LinkId;
use wayleave_units::{Amount, Rate};

use super::Ledger;
use crate::port::PortInput;

impl Ledger {
    /// Lets nothing more into a link, because it is down or is to be emptied. The reservations there stay. The
    /// traffic that hoses and objectives sent over it goes over the paths that are left, which may be more than these
    /// have ([`Ledger::keeps`]).
    pub fn close(&mut self, link: LinkId) {
        self.turn(&[link], true);
    }

    /// Lets flows into a link again.
    pub fn open(&mut self, link: LinkId) {
        self.turn(&[link], false);
    }

    /// Closes or opens several links at once; paths are found again once for all of them.
    pub fn turn(&mut self, links: &[LinkId], closed: bool) {
        for &link in links {
            let port = &mut self.ports[link.index()];
            port.closed = closed;
            // Results that searches remember of this link are no longer true.
            port.changes = port.changes.wrapping_add(1);
            port.releases = port.releases.wrapping_add(1);
            self.gates[link.index()] = port.gate();
        }
        self.turns = self.turns.wrapping_add(1);
        self.follow_links();
    }

    /// Returns the number of times that links were closed or opened: while it is unchanged, so are all open paths.
    pub fn link_turns(&self) -> u32 {
        self.turns
    }

    /// Returns `true` if nothing more is let into a link.
    pub fn is_closed(&self, link: LinkId) -> bool {
        self.ports[link.index()].closed
    }

    /// Returns `true` if every queue of a link that holds flows keeps its budget and its buffer. For callers that
    /// have filled a ledger without asking.
    pub fn keeps(&self, link: LinkId) -> bool {
        let (line, reserved) = (self.network.link(link).rate, self.reserved(link));
        // A flow of nothing into the highest queue in use: that queue is checked, and all below it.
        let is_kept = match (0u8..).zip(self.queues_of(link)).find(|(_, queue)| queue.flows > 0) {
            Some((queue, _)) => {
                reserved <= line && self.fits(link, queue, PortInput::LOCAL, Rate::ZERO, Amount::from_nanobits(0))
            }
            None => true,
        };
        is_kept && self.keeps_shares(link)
    }
}
