//! What arrives next is looked at before, so that a large network does not wait for memory once for each packet.
//!
//! The packets of a bucket of the event queue have nothing to do with one another, mostly. Before the first of them arrives, all of their
//! links are read, then they themselves, then where they go: reads that do not depend on one another wait together. Nothing follows from what is
//! read here; a packet that arrives is looked at again.

use super::{Fabric, Step};
use crate::clock::Instant;
use crate::events::Actor;
use crate::link::Target;
use crate::packet::{Kind, NO_PACKET, Packet, PacketId};

/// From so many links on their state, with what is on them, does not fit into the caches that a core has for itself.
pub(super) const LARGE: usize = 1_000;

impl Fabric {
    /// The next event, with its time.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<(Instant, Actor)> {
        self.events.take()
    }

    /// Whether looking ahead pays.
    pub(crate) fn is_large(&self) -> bool {
        self.events.is_large()
    }

    /// Whether it is time to look ahead: the next event is the first of a bucket.
    #[inline]
    pub(crate) fn is_to_look_ahead(&self) -> bool {
        self.events.is_batch_over()
    }

    /// Looks at what the packets meet that arrive in the next bucket. `at_hosts` gets those that reach their hosts.
    pub(crate) fn look_ahead(&mut self, at_hosts: &mut Vec<PacketId>) {
        self.events.turn();
        let links = self.links.len() as Actor;
        let arrivals = || self.events.batch().filter(|&actor| actor < links).map(|link| &self.links[link as usize]);
        let mut seen = 0;
        for link in arrivals() {
            seen ^= link.free_at;
        }
        let packets = || {
            let first = arrivals().map(|link| (link, link.ends().0)).filter(|&(_, id)| id != NO_PACKET);
            first.map(|(link, id)| (link, id, self.arena.get(id)))
        };
        for (link, id, packet) in packets() {
            seen ^= packet.due;
            if link.target() == Target::Host {
                at_hosts.push(id);
            }
        }
        let steps = || {
            let passing = packets().filter(|(link, ..)| link.target() != Target::Host);
            passing.map(|(.., packet)| self.step_ahead(packet))
        };
        for step in steps() {
            seen ^= u64::from(step.bits());
        }
        let next = || steps().filter_map(|step| self.links.get(step.link() as usize));
        for link in next() {
            seen ^= link.free_at;
        }
        for last in next().map(|link| link.ends().1).filter(|&id| id != NO_PACKET) {
            seen ^= self.arena.get(last).due;
        }
        std::hint::black_box(seen);
    }

    /// The step that a packet will take.
    #[inline]
    fn step_ahead(&self, packet: &Packet) -> Step {
        match self.routes.get(packet.route as usize + usize::from(packet.hop.wrapping_add(1))) {
            Some(&step) if step != Step::END => step,
            _ => Step::from_bits(packet.last_hop),
        }
    }

    /// The flow of a packet that is about to reach its host, if it has one.
    #[inline]
    pub(crate) fn flow_ahead(&self, id: PacketId) -> Option<u32> {
        let packet = self.arena.get(id);
        matches!(packet.kind, Kind::Data | Kind::Ack).then_some(packet.flow)
    }
}
