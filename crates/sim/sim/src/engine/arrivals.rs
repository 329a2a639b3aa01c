//! Arrivals of packets at hosts, and losses in the network.

use wayleave_scheme_api::IntHop;

use super::Engine;
use crate::clock::Instant;
use crate::fabric::{DropCause, Dropped, LinkArrival, Step};
use crate::flows::{self, FlowSlot, FlowState};
use crate::hosts::NO_PAIR;
use crate::packet::{FRAMING, Flags, HEADERS, Kind, Packet, PacketId};
use crate::trace::PacketEvent;
use crate::transport::SegmentReply;

impl Engine {
    /// A packet arrives at the end of a link.
    #[inline(always)]
    pub(super) fn arrive(&mut self, link: u32, now: Instant) {
        match self.fabric.arrive(link, now) {
            LinkArrival::PassedOn => {}
            LinkArrival::AtHost(id) => self.at_host(link, id, now),
            LinkArrival::Dropped(dropped) => self.dropped(dropped),
            LinkArrival::Delayed(target, id) => {
                if let Some(dropped) = self.fabric.pass_on_later(target, id, now) {
                    self.dropped(dropped);
                }
            }
            LinkArrival::Nothing => {
                if let Some(dropped) = self.fabric.release(link, now) {
                    self.dropped(dropped);
                }
            }
        }
    }

    /// A packet reaches its host.
    #[inline]
    pub(super) fn at_host(&mut self, link: u32, id: PacketId, now: Instant) {
        self.fabric.note(PacketEvent::Delivered, (link, 0), id, now);
        let packet = self.fabric.packet(id);
        let number = packet.flow;
        match packet.kind {
            Kind::Datagram => self.on_datagram(id, now),
            Kind::Data => {
                let flow = &self.flows[number];
                self.stats.delivered(flow.stat, packet, || flow.number_of(packet.sequence), now);
                let (pair, is_reordered) = (flow.pair, flow.reorder.is_some());
                if pair != NO_PAIR {
                    let packet = *packet;
                    self.hosts.arrived(pair, &packet, &mut self.fabric, now);
                }
                if is_reordered {
                    let up = self.flows.put_in_order(number, id, &self.fabric, now);
                    self.hand_up(up, number, now);
                    self.flows.set_alarm(number, &mut self.fabric, now);
                } else {
                    self.deliver(id, number, now);
                }
            }
            Kind::Ack => self.on_acknowledgement(id, number, now),
            _ => self.on_control_packet(id, now),
        }
    }

    /// Handles the arrival at its host of a packet that is not acknowledged.
    #[inline]
    fn on_datagram(&mut self, id: PacketId, now: Instant) {
        let packet = self.fabric.packet(id);
        if packet.flags.has(Flags::COPIED) && self.hosts.is_known_copy(id, &mut self.fabric, now) {
            return;
        }
        let packet = self.fabric.packet(id);
        self.stats.delivered(packet.flow, packet, || packet.sequence, now);
        if self.hosts.is_shared() {
            let packet = *packet;
            let dropped = self.hosts.packet_arrived(&packet, &mut self.fabric, now);
            if let Some(dropped) = dropped {
                self.dropped(dropped);
            }
            self.fabric.telemetry_mut().close(packet.extra.telemetry());
        }
        if !self.copies.is_empty() {
            self.copies.eliminate(self.fabric.packet(id), &mut self.stats, now);
        }
        self.fabric.remove(id);
    }

    /// A packet that machines or brokers have sent reaches its host.
    #[cold]
    fn on_control_packet(&mut self, id: PacketId, now: Instant) {
        let packet = self.fabric.packet(id);
        let dropped = match packet.kind {
            Kind::Message => {
                let number = packet.flow;
                self.fabric.remove(id);
                self.hosts.message_arrived(number, &mut self.fabric, now);
                None
            }
            Kind::Probe => self.hosts.probe_arrived(id, &mut self.fabric, now),
            Kind::ProbeAnswer => {
                self.hosts.probe_returned(id, &mut self.fabric, now);
                None
            }
            Kind::PairAnswer => {
                if let Some(pair) = self.hosts.pair_answered(id, &mut self.fabric, now) {
                    self.run_pair(pair, now);
                }
                None
            }
            Kind::Datagram | Kind::Data | Kind::Ack => None,
        };
        if let Some(dropped) = dropped {
            self.dropped(dropped);
        }
    }

    /// Hands segments to the transport, and keeps the list's memory for the next ones.
    pub(super) fn hand_up(&mut self, mut up: Vec<PacketId>, slot: FlowSlot, now: Instant) {
        for id in up.drain(..) {
            self.deliver(id, slot, now);
        }
        self.flows.keep(up);
    }

    /// A segment is handed to the transport, which answers with the same packet.
    #[inline]
    fn deliver(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot];
        let reverse = flow.reverse;
        let path = match flow.reverse_path {
            flows::SAME_PATH => u32::from(self.fabric.packet(id).path),
            path => path,
        };
        let route = self.fabric.start(reverse.paths, path);
        let (first, last_hop) = self.fabric.ends(&reverse, path);
        let packet = self.fabric.packet_mut(id);
        let is_partial = packet.flags.has(Flags::PARTIAL);
        let received = if is_partial { flow.receiver.on_probe() } else { flow.receiver.on_segment(packet.sequence) };
        // A copy that comes second is no retransmission in vain.
        let is_in_vain = received.is_duplicate && !packet.flags.has(Flags::COPIED);
        if is_partial {
            // Answered, and not counted: nothing of its segment came.
        } else if received.is_duplicate {
            if is_in_vain {
                self.stats.duplicate(flow.stat);
            }
        } else {
            self.stats.payload(flow.stat, packet.size - HEADERS - FRAMING);
        }
        let is_last = !received.is_duplicate && !is_partial && Some(received.expected) == flow.sender.segments();
        flows::answer(packet, received.expected, received.block, last_hop, route.unwrap_or(u32::MAX));
        if is_in_vain {
            packet.flags = packet.flags.with(Flags::DUPLICATE);
        }
        if route.is_none() {
            self.dropped(Dropped { id, cause: DropCause::NoRoute });
        } else {
            self.enter(first, id, now);
        }
        if is_last {
            self.complete(slot, now);
        }
    }

    /// An acknowledgement reaches its sender.
    #[inline]
    fn on_acknowledgement(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let packet = self.fabric.packet(id);
        let flow = &mut self.flows[slot];
        flow.in_transit -= 1;
        self.stats.acknowledged(flow.purpose.traffic, packet.sent, now);
        if flow.pair != NO_PAIR {
            self.on_pair_acknowledgement(id, slot, now);
        } else if flow.state != FlowState::Acked {
            let hops = self.fabric.telemetry().get(packet.extra.telemetry());
            let (local, answer) = (flow.local(now), answer_of(packet, hops, flow.skipped));
            let newly = flow.sender.on_answer(local, &answer, |_, marked, _| marked);
            flow.report(packet, newly, hops, now);
        }
        self.fabric.forget_packet(id);
        self.pump(slot, now);
    }

    /// Handles an acknowledgement of a pair's flow: its tunnel computes the marks, its window gets room, and the
    /// pair's path scheme receives a report on the path.
    #[cold]
    fn on_pair_acknowledgement(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let packet = self.fabric.packet(id);
        let hops = self.fabric.telemetry().get(packet.extra.telemetry());
        let flow = &mut self.flows[slot];
        let pair = flow.pair;
        let mut newly = 0;
        if flow.state != FlowState::Acked {
            let answer = answer_of(packet, hops, 0);
            let account = flow.sender.account_for(now, &answer);
            newly = account.newly;
            let marked = match newly > 0 && self.hosts.has_tunnel(pair) {
                true => self.hosts.through_tunnel(flow, newly, account.marked, now),
                false => account.marked,
            };
            flow.sender.conclude(now, &answer, account, marked);
        }
        flow.report(packet, newly, hops, now);
        self.hosts.report_path(pair, flows::report(packet, newly, now), hops, now);
        if let Some(sent) = self.fabric.telemetry().sent(packet.extra.telemetry())
            && self.hosts.window_answered(pair, packet.path, sent, now)
        {
            self.run_pair(pair, now);
        }
    }

    /// A packet goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, first: Step, id: PacketId, now: Instant) {
        if let Some(dropped) = self.fabric.enter(first, id, now) {
            self.dropped(dropped);
        }
    }

    /// A packet of a source is released by its host.
    #[inline]
    pub(super) fn depart(&mut self, first: Step, id: PacketId, now: Instant) {
        if let Some(dropped) = self.fabric.depart(first, id, now) {
            self.dropped(dropped);
        }
    }

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

/// Returns an acknowledgement as its sender sees it; the sender's clock was stopped for `skipped`.
#[inline]
fn answer_of<'a>(packet: &Packet, hops: &'a [IntHop], skipped: Instant) -> SegmentReply<'a> {
    SegmentReply {
        sequence: packet.sequence,
        sent: packet.sent - skipped,
        expected: packet.extra.expected(),
        block: packet.extra.block(),
        is_marked: packet.flags.has(Flags::MARKED),
        is_duplicate: packet.flags.has(Flags::DUPLICATE),
        is_partial: packet.flags.has(Flags::PARTIAL),
        telemetry: hops,
    }
}
