//! Prefetch of the next arrivals, so that a large network does not wait for memory once for each packet.
//!
//! The packets of a bucket of the event queue are mostly independent. Before the first of them arrives, all of their
//! links are read, then the packets, then their next hops: reads that do not depend on one another wait together.
//! Nothing follows from the values read here; a packet that arrives is read again.

use super::{NetworkState, Step};
use crate::events::EventQueue;
use crate::link::Target;
use crate::packet::{Kind, PacketId};

/// Number of links from which on their state, with their packets, does not fit into a core's own caches.
pub(super) const LARGE: usize = 1_000;

/// Prefetched items, kept for their memory.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// The packets that arrive, and where.
    packets: Vec<(PacketId, Target)>,
    /// Packets that arrive at switches: the index of their next step, and their last hop.
    steps: Vec<(usize, u32)>,
    /// Packets that reach their hosts.
    at_hosts: Vec<PacketId>,
}

impl NetworkState {
    /// The events.
    #[inline]
    pub(crate) fn events(&mut self) -> &mut EventQueue {
        &mut self.events
    }

    /// Returns `true` if prefetching pays.
    pub(crate) fn is_large(&self) -> bool {
        self.events.is_large()
    }

    /// Returns `true` if it is time to prefetch: the next event is the first of a bucket.
    #[inline]
    pub(crate) fn needs_prefetch(&self) -> bool {
        self.events.is_batch_over()
    }

    /// Prefetches the state for the packets that arrive in the next bucket. `prefetch` collects items during the
    /// search; in the end it has the packets that reach their hosts.
    pub(crate) fn prefetch(&mut self, prefetch: &mut Prefetch) {
        self.events.turn();
        prefetch.packets.clear();
        prefetch.at_hosts.clear();
        for actor in self.events.batch() {
            // Other actors are behind those of links.
            if let Some(link) = self.links.get(actor as usize) {
                prefetch.packets.push((link.ends().0, link.target()));
            }
        }
        prefetch.steps.clear();
        for &(id, target) in &prefetch.packets {
            match self.arena.find(id) {
                Some(_) if target == Target::Host => prefetch.at_hosts.push(id),
                Some(packet) => {
                    let place = packet.route as usize + usize::from(packet.hop.wrapping_add(1));
                    prefetch.steps.push((place, packet.last_hop));
                }
                None => {}
            }
        }
        let mut seen = 0;
        for &(place, last_hop) in &prefetch.steps {
            let step = self.routes.get(place).copied().filter(|&step| step != Step::END);
            let link = self.links.get(step.unwrap_or(Step::from_bits(last_hop)).link() as usize);
            seen ^= link.map_or(0, |link| link.free_at);
        }
        std::hint::black_box(seen);
    }

    /// Returns the flows of packets that are about to reach their hosts, and their kind: segments or
    /// acknowledgements.
    pub(crate) fn flows_ahead(&self, prefetch: &Prefetch) -> impl Iterator<Item = (u32, Kind)> + Clone {
        let packets = prefetch.at_hosts.iter().map(|&id| self.arena.get(id));
        packets.filter(|packet| matches!(packet.kind, Kind::Data | Kind::Ack)).map(|packet| (packet.flow, packet.kind))
    }
}
