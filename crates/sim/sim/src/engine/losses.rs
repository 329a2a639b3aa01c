//! Losses of packets, and flows that are over.

use super::Engine;
use crate::fabric::{DropCause, Dropped};
use crate::flows::FlowSlot;
use crate::hosts::NO_PAIR;
use crate::packet::{Flags, Kind, PacketId};

impl Engine {
    /// A packet is lost in the network.
    #[cold]
    pub(super) fn dropped(&mut self, Dropped { id, cause }: Dropped) {
        if cause == DropCause::LinkDown
            && let Some(first) = self.hosts.probe_failed(id, &mut self.fabric)
        {
            self.enter(first, id, self.now);
            return;
        }
        let packet = self.fabric.packet(id);
        match packet.kind {
            Kind::Datagram => self.hosts.lost(self.hosts.open_source(packet.flow), packet.size),
            Kind::Data => self.hosts.lost(self.flows[packet.flow].pair, packet.size),
            Kind::Probe | Kind::ProbeAnswer => self.hosts.account.probe_lost(),
            Kind::Ack | Kind::Message | Kind::PairAnswer => {}
        }
        self.discard(id);
    }

    /// A packet is no more: lost in the network, or dropped by its own host before it had a number there.
    pub(super) fn discard(&mut self, id: PacketId) {
        let packet = *self.fabric.packet(id);
        self.fabric.forget_packet(id);
        match packet.kind {
            // Of several copies the first counts, and the others are no loss.
            Kind::Datagram if !packet.flags.has(Flags::COPIED) => self.stats.dropped(packet.flow, &packet),
            Kind::Message => self.hosts.message_lost(packet.flow),
            Kind::Data | Kind::Ack => {
                let flow = &mut self.flows[packet.flow];
                // If another part sends for the flow, its packets are not counted here.
                flow.in_transit = flow.in_transit.wrapping_sub(1);
                self.stats.dropped(flow.stat, &packet);
                self.leave_if_over(packet.flow);
            }
            Kind::Datagram | Kind::Probe | Kind::ProbeAnswer | Kind::PairAnswer => {}
        }
    }

    /// Frees the slot of a flow whose last segment was acknowledged and that has no packets in flight.
    pub(super) fn leave_if_over(&mut self, slot: FlowSlot) {
        if self.flows.leave_if_over(slot) {
            let flow = &self.flows[slot];
            if flow.pair != NO_PAIR {
                self.hosts.leave(flow.pair, flow.local, self.now);
            }
        }
    }
}
