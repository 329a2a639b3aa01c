//! Paths of pairs: what the stack has chosen is written into packets, copies go over further paths, and roles hear of
//! what comes back.

use wayleave_roles::{PathIndex, PathReport, RouteFacts};
use wayleave_schemes::duplicates::{Filter, Verdict};
use wayleave_units::Time;

use super::PairSlot;
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::fabric::Step;
use crate::flows::{FlowSlot, OWN_PATH};
use crate::packet::{Flags, Kind, Packet, PacketId};

/// How many numbers of packets a receiver remembers of a source that is copied, and for how long after the last one: the
/// defaults of contracts with protection (IEEE 802.1CB, 7.4.3.2.2 and 7.4.3.3).
const REMEMBERED: u16 = 1024;
const RESET: Time = Time::from_millis(1_000);

impl Engine {
    /// A packet takes this path of its pair.
    pub(super) fn take_path(&mut self, slot: PairSlot, id: PacketId, path: PathIndex) {
        let packet = self.fabric.arena.get(id);
        let set = match packet.kind {
            Kind::Data => self.flows[packet.flow as usize].forth.paths,
            _ => match self.edges.as_deref().and_then(|edges| edges.pairs.get(slot as usize)) {
                Some(pair) => pair.forth.paths,
                None => return,
            },
        };
        if let Some(route) = self.router.start(set, path.0) {
            let packet = self.fabric.arena.get_mut(id);
            (packet.route, packet.path) = (route, path.0 as u8);
        }
    }

    /// A packet brings back with its answer what its pair had sent.
    pub(crate) fn carry_sent(&mut self, id: PacketId, sent: u64) {
        let mut stack = self.fabric.arena.get(id).extra.telemetry();
        if stack == 0 {
            stack = self.fabric.telemetry.open();
            self.fabric.arena.get_mut(id).extra.set_telemetry(stack);
        }
        self.fabric.telemetry.set_sent(stack, sent);
    }

    /// Copies of a packet that leaves go over the further paths of its pair, if its scheme wants them.
    #[cold]
    pub(crate) fn copy_packet(&mut self, slot: PairSlot, first: Step, id: PacketId, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if !stack.is_steered(pair) {
            return;
        }
        let taken = self.fabric.arena.get(id).path;
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        let copies = stack.copies(pair, now);
        for path in copies.into_iter().filter(|path| path.0 != u32::from(taken)) {
            let packet = self.fabric.arena.get_mut(id);
            packet.flags = packet.flags.with(Flags::COPIED);
            let mut copy = *packet;
            // Telemetry, and what a window counts, belong to the first.
            copy.extra.set_telemetry(0);
            let copy = self.fabric.arena.insert(copy);
            if self.fabric.arena.get(id).kind == Kind::Data {
                self.flows[self.fabric.arena.get(id).flow as usize].on_the_way += 1;
            }
            self.take_path(slot, copy, path);
            if let Some(dropped) = self.fabric.enter(first, copy, now) {
                self.dropped(dropped);
            }
        }
    }

    /// Whether a datagram that goes over several paths has come already; it is forgotten then.
    #[cold]
    pub(crate) fn is_known_copy(&mut self, id: PacketId, now: Instant) -> bool {
        let packet = *self.fabric.arena.get(id);
        let Some(edges) = self.edges.as_deref_mut() else { return false };
        let filter = edges.filters.entry(packet.flow).or_insert_with(|| Filter::new(REMEMBERED, RESET));
        // Sequence numbers have 16 bits on the wire.
        let is_known = filter.on_packet(clock::to_time(now), packet.sequence as u16) == Verdict::Discard;
        if is_known {
            self.fabric.telemetry.close(packet.extra.telemetry());
            self.fabric.arena.remove(id);
        }
        is_known
    }

    /// What an acknowledgement told of a path, for what spreads a pair's packets.
    pub(crate) fn report_path(
        &mut self,
        slot: PairSlot,
        packet: &Packet,
        newly: u64,
        hops: &[wayleave_roles::IntHop],
        now: Instant,
    ) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        stack.on_path_report(pair, report(packet, newly, now), now);
        if !hops.is_empty() {
            stack.on_path_telemetry(pair, u32::from(packet.path), hops, now);
        }
    }

    /// A flow hears of the route that its packets take from now on: the one that its pair uses, or the first of its
    /// paths, which are all as long.
    pub(crate) fn tell_route(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &self.flows[slot as usize];
        if !flow.sender.hears_routes() {
            return;
        }
        let path = match flow.granted_path {
            OWN_PATH => 0,
            path => u32::from(path),
        };
        let facts = RouteFacts {
            hops: self.links_along(&flow.forth, path).len() as u32,
            round_trip: clock::to_time(self.round_trip(&flow.forth, &flow.back, flow.sender.segment())),
        };
        self.flows[slot as usize].sender.set_route(now, facts);
    }

    /// The pair of a packet that leaves its host.
    pub(super) fn pair_of_packet(&self, id: PacketId) -> PairSlot {
        let packet = self.fabric.arena.get(id);
        match packet.kind {
            Kind::Data => self.flows[packet.flow as usize].pair,
            Kind::Datagram => self.open_source(packet.flow),
            _ => super::NO_PAIR,
        }
    }

    /// The class of a packet at its sender's interface, and how much of one may wait there.
    pub(crate) fn class_of_packet(&self, id: PacketId) -> (u32, u64) {
        let slot = self.pair_of_packet(id);
        let edges = self.edges.as_deref();
        edges.map_or((0, u64::MAX), |edges| (edges.class_of_pair(slot), edges.sharing.packet_queue.get()))
    }
}

/// What an acknowledgement tells of its path.
pub(crate) fn report(packet: &Packet, newly: u64, now: Instant) -> PathReport {
    PathReport {
        path: u32::from(packet.path),
        bytes: newly,
        marked: if packet.flags.has(Flags::MARKED) { newly } else { 0 },
        round_trip: Some(clock::to_time(now - packet.sent)),
    }
}
