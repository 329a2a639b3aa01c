//! Paths of pairs: what the stack has chosen is written into packets, and copies go over further paths.

use wayleave_scheme_api::PathIndex;
use wayleave_schemes::duplicates::{DuplicateCheck, Filter};
use wayleave_units::Time;

use super::slot::{NO_PAIR, PairSlot};
use super::state::Hosts;
use crate::clock::{self, Instant};
use crate::fabric::{NetworkState, Step};
use crate::flows::Flows;
use crate::packet::{Kind, Packet, PacketId};

/// Number of packets that a receiver remembers of a copied source. This and the time after the last packet are the
/// defaults of contracts with protection (IEEE 802.1CB, 7.4.3.2.2 and 7.4.3.3).
const REMEMBERED: u16 = 1024;
const RESET: Time = Time::from_millis(1_000);

impl Hosts {
    /// A packet takes this path of its pair. Its first step, if paths differ in that.
    pub(crate) fn take_path(
        &self,
        slot: PairSlot,
        id: PacketId,
        path: PathIndex,
        flows: &Flows,
        fabric: &mut NetworkState,
    ) -> Option<Step> {
        let packet = fabric.packet(id);
        let set = match packet.kind {
            Kind::Data => flows[packet.flow].forward.paths,
            _ => match self.pairs.get(slot as usize) {
                Some(pair) => pair.forward.paths,
                None => return None,
            },
        };
        let route = fabric.start(set, path.0)?;
        let ends = fabric.own_ends(set, path.0);
        let packet = fabric.packet_mut(id);
        (packet.route, packet.path) = (route, path.0 as u8);
        let (first, last_hop) = ends?;
        packet.last_hop = last_hop.bits();
        Some(first)
    }

    /// Returns the further paths of a packet that has taken one, if its scheme wants copies.
    #[cold]
    pub(crate) fn further_paths(&mut self, slot: PairSlot, taken: u8, now: Instant) -> Vec<PathIndex> {
        match self.stack(slot) {
            Some((stack, pair)) if stack.is_steered(pair) => {
                let mut paths = stack.copies(pair, now);
                paths.retain(|path| path.0 != u32::from(taken));
                paths
            }
            _ => Vec::new(),
        }
    }

    /// Returns `true` if a datagram that uses several paths has arrived already, and removes it then.
    #[cold]
    pub(crate) fn is_known_copy(&mut self, id: PacketId, fabric: &mut NetworkState, now: Instant) -> bool {
        let packet = fabric.packet(id);
        let filter = self.filters.entry(packet.flow).or_insert_with(|| Filter::new(REMEMBERED, RESET));
        // Sequence numbers have 16 bits on the wire.
        let is_known = filter.on_packet(clock::to_time(now), packet.sequence as u16) == DuplicateCheck::Discard;
        if is_known {
            fabric.forget_packet(id);
        }
        is_known
    }

    /// The pair of a packet that leaves its host.
    pub(crate) fn pair_of_packet(&self, packet: &Packet, flows: &Flows) -> PairSlot {
        match packet.kind {
            Kind::Data => flows[packet.flow].pair,
            Kind::Datagram => self.open_source(packet.flow),
            _ => NO_PAIR,
        }
    }

    /// Returns the class of a packet at its sender's interface, and the maximum amount of a class that may wait
    /// there.
    pub(crate) fn class_of_packet(&self, packet: &Packet, flows: &Flows) -> (u32, u64) {
        let slot = self.pair_of_packet(packet, flows);
        (self.class_of_pair(slot), self.sharing.packet_queue.get())
    }
}
