//! A fabric as one [part](super::logical_process) of a network: it hands over packets to other parts, and takes over
//! packets from them.

use std::sync::Arc;

use super::NetworkState;
use super::cut::Cut;
use super::logical_process::{CrossingPacket, LogicalProcess};
use super::peak_packets::PeakPackets;
use crate::clock::Instant;
use crate::link::Port;
use crate::port::{ForwardedQuery, SelectionTime};

impl NetworkState {
    /// From now on this is one part of a network.
    pub(crate) fn restrict_to_part(&mut self, number: usize, cut: &Arc<Cut>) {
        let mut late = Vec::new();
        for (link, state) in (0..).zip(&mut self.links) {
            let (from, to) = cut.ends(link);
            if from == number && to != number {
                *state = state.clone().without_receiver();
                if let Port::Queued(port) = state.port()
                    && self.ports[port as usize].choice != SelectionTime::AtOnce
                {
                    late.push((link, port));
                }
            }
        }
        let outboxes = vec![Vec::new(); cut.parts()];
        let (cut, peak_packets) = (cut.clone(), PeakPackets::default());
        self.part =
            Some(Box::new(LogicalProcess { number, cut, outboxes, earliest: Instant::MAX, late, peak_packets }));
    }

    /// The part that this is, if others simulate the rest.
    #[inline]
    pub(crate) fn part(&mut self) -> Option<&mut LogicalProcess> {
        self.part.as_deref_mut()
    }

    /// Returns `true` if the port of a link is simulated here.
    #[inline]
    pub(crate) fn is_local(&self, link: u32) -> bool {
        self.part.as_ref().is_none_or(|part| part.cut.ends(link).0 == part.number)
    }

    /// Returns the shortest time from an event here to its effects elsewhere.
    pub(crate) fn lookahead(&self) -> Instant {
        let Some(part) = &self.part else { return Instant::MAX };
        let crossing = (0..).zip(&self.links).zip(&self.speeds).filter(|((link, _), _)| {
            let (from, to) = part.cut.ends(*link);
            from != to
        });
        crossing.map(|((_, link), speed)| link.latency + speed.transmission(1)).min().unwrap_or(Instant::MAX)
    }

    /// Hands over the packet that was put on a link last, and that arrives elsewhere. A copy stays here while its
    /// link needs it.
    pub(super) fn hand_over(&mut self, link: u32, now: Instant) {
        let id = self.links[link as usize].pass_over(now, &mut self.arena);
        let Some(part) = &mut self.part else { return };
        let packet = *self.arena.get(id);
        part.earliest = part.earliest.min(packet.due);
        part.outboxes[part.cut.ends(link).1].push(CrossingPacket { link, packet });
    }

    /// Takes over packets from other parts.
    pub(crate) fn take_over(&mut self, crossings: &mut Vec<CrossingPacket>) {
        for CrossingPacket { link, packet } in crossings.drain(..) {
            if let Some(due) = self.links[link as usize].take_over(packet, &mut self.arena) {
                self.events.put(due, link);
            }
        }
    }

    /// Returns the packets to be handed over to another part.
    pub(crate) fn outbox(&mut self, to: usize) -> Option<&mut Vec<CrossingPacket>> {
        Some(&mut self.part.as_mut()?.outboxes[to])
    }

    /// Concludes all events here before a time. Returns the time of the first possible event after that, here or of
    /// packets that were handed over.
    pub(crate) fn reach(&mut self, until: Instant) -> Instant {
        let Some(part) = &mut self.part else { return Instant::MAX };
        let late = std::mem::take(&mut part.late);
        let mut next = Instant::MAX;
        for &(link, port) in &late {
            // No event here concerns the link's end and would trigger the choices.
            self.catch_up(link, port, until, ForwardedQuery::Arriving);
            if !self.ports[port as usize].is_empty() {
                next = next.min(self.links[link as usize].free_at);
            }
        }
        let events = self.events.first_at().unwrap_or(Instant::MAX);
        let Some(part) = &mut self.part else { return Instant::MAX };
        part.late = late;
        next.min(events).min(std::mem::replace(&mut part.earliest, Instant::MAX))
    }

    /// No part does anything before a time.
    pub(crate) fn advance(&mut self, to: Instant) {
        self.events.advance(to);
    }

    /// Takes over another part's state of its own elements at the end of a run.
    pub(crate) fn absorb(&mut self, mut other: Self, end: Instant) {
        other.flush_samples();
        self.hops += other.hops;
        self.memory_elsewhere += other.memory();
        let Some(part) = &other.part else { return };
        for link in 0..other.links.len() {
            if part.cut.ends(link as u32).0 != part.number {
                continue;
            }
            self.links[link] = other.links[link].clone().settled(end, &other.arena);
            if let Port::Queued(port) = self.links[link].port() {
                self.ports[port as usize] = other.ports[port as usize].clone();
            }
            let records = link * self.stride..(link + 1) * self.stride;
            for (own, theirs) in self.records[records.clone()].iter_mut().zip(&mut other.records[records]) {
                *own = std::mem::take(theirs);
            }
            if let (Some(levels), Some(theirs)) = (&mut self.levels, &other.levels) {
                levels[link] = theirs[link].clone();
            }
        }
    }
}
