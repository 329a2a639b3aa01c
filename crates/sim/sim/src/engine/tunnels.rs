//! Tunnels of pairs: segments and packets enter them, and a pair takes its turns at the interface of its host.

use wayleave_scheme_api::{LocalFlow, TunnelEntry, TunnelPacket};

use super::Engine;
use super::hosts::Advance;
use crate::clock::Instant;
use crate::fabric::Step;
use crate::flows::{FlowSlot, FlowState};
use crate::hosts::{PairSlot, SendQuery};
use crate::packet::{FRAMING, HEADERS, Packet, PacketId};

impl Engine {
    /// Queues a pair whose tunnel could send at the interface of its host, if others send there. Its packets stay in
    /// the tunnel, which orders them, and do not pile up in the port. Returns `true` if the pair was queued.
    pub(super) fn is_queued_at_interface(&mut self, slot: PairSlot, now: Instant) -> bool {
        let next = self.hosts.next_of_tunnel(slot, &SendQuery::new(&mut self.flows, &self.fabric, now));
        let Some((first, bytes, weight)) = next else { return false };
        let number = self.interfaces.of(first.link());
        if self.interfaces.get(number).is_none_or(|interface| interface.has_turn(&self.fabric, now)) {
            return false;
        }
        if let Some((stack, pair)) = self.hosts.stack(slot) {
            stack.queue_at_interface(pair);
        }
        let class = self.hosts.class_of_pair(slot);
        self.interfaces[number].push_tunnel(first.queue().into(), (slot, bytes), class, weight);
        self.interfaces[number].schedule_turn(&mut self.fabric, now);
        true
    }

    /// Takes a pair's turn at the interface: sends one packet of its tunnel, and queues it again if there are more.
    /// Returns `true` if a packet was sent.
    pub(super) fn take_turn(&mut self, slot: PairSlot, now: Instant) -> bool {
        if !self.hosts.stack(slot).is_some_and(|(stack, pair)| stack.take_turn(pair)) {
            return false;
        }
        let advance = self.advance(slot, now);
        if advance != Advance::Idle {
            self.run_pair(slot, now);
        }
        advance == Advance::Sent
    }

    /// A flow sends what its window and its tunnel let it.
    pub(super) fn fill_tunnel(&mut self, flow: FlowSlot, now: Instant) {
        let slot = self.flows[flow].pair;
        while self.flows[flow].can_send(&self.fabric, now) {
            let state = &self.flows[flow];
            let packet = TunnelPacket {
                flow: LocalFlow(state.local),
                bytes: state.next_bytes(),
                payload: state.next_bytes() - (HEADERS + FRAMING),
                remaining: state.sender.segments().map(|_| state.sender.remaining()),
                unsent: state.sender.unsent_payload(),
            };
            let forward = state.forward;
            let Some(entry) = self.hosts.ask_tunnel(slot, flow, packet, now) else { return };
            if entry == TunnelEntry::HeldBack {
                self.flows[flow].state = FlowState::Blocked;
                break;
            }
            let Some(id) = self.segment(flow, now) else { break };
            let Packet { size: bytes, path, .. } = *self.fabric.packet(id);
            let (first, _) = self.fabric.ends(&forward, u32::from(path));
            let unsent = self.flows[flow].sender.unsent_payload();
            let packet = TunnelPacket { bytes, payload: bytes - (HEADERS + FRAMING), unsent, ..packet };
            self.enter_tunnel(slot, entry, packet, (id, first), now);
        }
        self.run_if_free(slot, now);
    }

    /// A source's packet enters a tunnel.
    pub(super) fn packet_to_tunnel(&mut self, slot: PairSlot, stat: u32, first: Step, id: PacketId, now: Instant) {
        let flow = LocalFlow(self.hosts.source_number(stat));
        let bytes = self.fabric.packet(id).size;
        let packet = TunnelPacket { flow, bytes, payload: bytes, remaining: None, unsent: None };
        let Some(entry) = self.hosts.ask_tunnel_of_source(slot, packet, now) else { return };
        self.enter_tunnel(slot, entry, packet, (id, first), now);
        self.hosts.note_demand(slot, now);
        self.run_if_free(slot, now);
    }

    fn enter_tunnel(
        &mut self,
        slot: PairSlot,
        entry: TunnelEntry,
        packet: TunnelPacket,
        what: (PacketId, Step),
        now: Instant,
    ) {
        if self.hosts.enter_tunnel(slot, entry, packet, what, (&mut self.fabric, now)) {
            self.limited(slot, what.1, what.0, now);
        }
    }

    fn run_if_free(&mut self, slot: PairSlot, now: Instant) {
        if self.hosts.stack(slot).is_some_and(|(stack, pair)| stack.is_free(pair)) {
            self.run_pair(slot, now);
        }
    }
}
