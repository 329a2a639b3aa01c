//! Packets at hosts: segments of flows leave at their turn, packets arrive, and segments are acknowledged.

use wayleave_scheme_api::IntHop;

use super::Engine;
use crate::clock::Instant;
use crate::fabric::{DropCause, Dropped, LinkArrival, Step};
use crate::flows::{self, FlowSlot, FlowState};
use crate::hosts::NO_PAIR;
use crate::interfaces::{Interface, Item};
use crate::link::Port;
use crate::packet::{FRAMING, Flags, HEADERS, Kind, Packet, PacketId};
use crate::trace::PacketEvent;
use crate::transport::SegmentReply;

impl Engine {
    /// A flow sends what it may, or waits for its turn.
    #[inline]
    pub(super) fn pump(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot];
        if flow.sender.is_done() {
            // A queued flow is removed when it is dequeued. The flow may already be free, since its last
            // acknowledgement let its pair continue first: do not free it twice.
            if !matches!(flow.state, FlowState::Ready | FlowState::Blocked | FlowState::Free | FlowState::Acked) {
                flow.state = FlowState::Acked;
                self.acknowledged(slot, now);
            }
            self.leave_if_over(slot);
            return;
        }
        if flow.state == FlowState::Waiting && flow.is_tunnelled {
            self.fill_tunnel(slot, now);
        } else if flow.state == FlowState::Waiting {
            let (mut number, class) = (flow.interface, flow.class);
            while self.flows[slot].can_send(&self.fabric, now)
                && (self.flows[slot].pair == NO_PAIR || self.admit(slot, now))
            {
                if self.flows[slot].has_several_links {
                    number = self.interface_of_next(slot, now);
                }
                if !self.interfaces[number].has_turn(&self.fabric, now) {
                    self.flows[slot].state = FlowState::Ready;
                    let class = if self.flows[slot].has_several_links { self.flows[slot].class } else { class };
                    self.join_interface(number, usize::from(class), slot);
                    self.interfaces[number].schedule_turn(&mut self.fabric, now);
                    break;
                }
                self.send(slot, now);
                self.interfaces[number].has_sent(&self.fabric);
            }
        }
        self.flows.set_alarm(slot, &mut self.fabric, now);
    }

    /// The interface at which a flow with several links waits with its next segment: that of the first link of the path.
    #[cold]
    fn interface_of_next(&mut self, slot: FlowSlot, now: Instant) -> u32 {
        let count = self.fabric.path_count(self.flows[slot].forward.paths);
        let flow = &mut self.flows[slot];
        let path = flow.plan_path(count, now);
        let (first, _) = self.fabric.ends(&flow.forward, path);
        let number = self.interfaces.of(first.link());
        let last = self.interfaces[number].classes().saturating_sub(1);
        (flow.interface, flow.class) = (number, first.queue().min(u8::try_from(last).unwrap_or(u8::MAX)));
        number
    }

    /// Queues a flow at its interface.
    #[inline]
    fn join_interface(&mut self, number: u32, queue: usize, slot: FlowSlot) {
        let (hosts, pair) = (&self.hosts, self.flows[slot].pair);
        let class = || hosts.class_of_pair(pair);
        self.interfaces[number].push(queue, slot, class);
    }

    /// Makes the next segment of a flow, which counts as sent; `None` if the flow cannot send.
    #[inline]
    pub(super) fn segment(&mut self, slot: FlowSlot, now: Instant) -> Option<PacketId> {
        let flow = &mut self.flows[slot];
        let id = flow.next_segment(slot, &mut self.fabric, now)?;
        self.stats.sent(flow.stat, self.fabric.packet(id));
        Some(id)
    }

    /// Sends the next segment of a flow; whether it could.
    fn send(&mut self, slot: FlowSlot, now: Instant) -> bool {
        let Some(id) = self.segment(slot, now) else {
            return false;
        };
        let flow = &self.flows[slot];
        let (forward, pair) = (flow.forward, flow.pair);
        let packet = self.fabric.packet(id);
        let (first, _) = self.fabric.ends(&forward, u32::from(packet.path));
        let (size, path, is_again) = (packet.size, packet.path, packet.flags.has(Flags::AGAIN));
        if pair != NO_PAIR {
            if let Some(sent) = self.hosts.charge(&mut self.flows[slot], size, path, now) {
                self.hosts.note_flight(pair, path, sent, &self.fabric);
                self.fabric.carry_sent(id, sent);
            }
            self.copy_packet(pair, first, id, now);
        }
        let event = if is_again { PacketEvent::Retransmitted } else { PacketEvent::Sent };
        self.fabric.note(event, (first.link(), first.queue()), id, now);
        self.enter(first, id, now);
        true
    }

    /// A packet whose turn it is at the interface of its host comes to its port.
    pub(super) fn send_in_turn(&mut self, first: Step, id: PacketId, now: Instant) {
        self.enter(first, id, now);
        let number = self.interfaces.of(first.link());
        self.interfaces[number].has_sent(&self.fabric);
    }

    /// Hands a packet to the interface of its host: to its port, or to the queue of its class if classes have weights
    /// and others wait. Returns `true` if there was room.
    pub(super) fn enter_interface(&mut self, first: Step, id: PacketId, now: Instant) -> bool {
        let number = self.interfaces.of(first.link());
        let is_fair = self.interfaces.get(number).is_some_and(Interface::is_fair);
        if is_fair && !self.interfaces[number].has_turn(&self.fabric, now) {
            let packet = self.fabric.packet(id);
            let (class, most) = self.hosts.class_of_packet(packet, &self.flows);
            let item = Item::Packet(id, first, packet.size);
            let has_place = self.interfaces[number].push_packet(class, item, most);
            if has_place {
                self.interfaces[number].schedule_turn(&mut self.fabric, now);
            }
            return has_place;
        }
        if is_fair {
            self.send_in_turn(first, id, now);
        } else {
            self.enter(first, id, now);
        }
        true
    }

    /// A port is free, or it is a flow's turn there.
    pub(super) fn serve(&mut self, link: u32, now: Instant) {
        let number = self.interfaces.of(link);
        match self.fabric.port(link) {
            Port::Fifo if self.interfaces.get(number).is_none() => return self.fabric.answer_waiting(link, now),
            Port::Fifo => {
                if self.interfaces[number].begins_turn(now) {
                    self.pull(number, 0, false, now);
                }
            }
            Port::Queued(port) => {
                let wanted = self.interfaces.get(number).filter(|interface| interface.is_wanted());
                for class in 0..wanted.map_or(0, Interface::classes) {
                    let (is_empty, by_remaining) = self.fabric.queue_state(port, class as u8);
                    if is_empty {
                        self.pull(number, class, by_remaining, now);
                    }
                }
                self.fabric.serve(link, now);
            }
        }
        if self.interfaces.get(number).is_some_and(Interface::is_wanted) {
            self.interfaces[number].schedule_turn(&mut self.fabric, now);
        }
    }

    /// The next flow of a class that can send does so, and goes to the end of the line.
    fn pull(&mut self, number: u32, class: usize, by_remaining: bool, now: Instant) {
        while let Some(item) = self.interfaces[number].pop(class, by_remaining, &self.flows) {
            let slot = match item {
                Item::Flow(slot) => slot,
                Item::Tunnel(pair, _) => {
                    if self.take_turn(pair, now) {
                        return;
                    }
                    continue;
                }
                Item::Packet(id, first, _) => {
                    self.send_in_turn(first, id, now);
                    return;
                }
            };
            let is_able = self.send(slot, now);
            if is_able {
                self.interfaces[number].has_sent(&self.fabric);
            }
            let pair = self.flows[slot].pair;
            if is_able && self.flows[slot].can_send(&self.fabric, now) && (pair == NO_PAIR || self.admit(slot, now)) {
                self.join_interface(number, class, slot);
            } else {
                self.leave_interface(slot, now);
            }
            if is_able {
                return;
            }
        }
    }

    /// Removes a flow that has no more to send now from the queue of its interface.
    #[inline]
    fn leave_interface(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &self.flows[slot];
        if flow.state == FlowState::Blocked {
            self.flows.set_alarm(slot, &mut self.fabric, now);
            return;
        }
        if flow.pair != NO_PAIR {
            self.give_back(slot, now);
        }
        let flow = &mut self.flows[slot];
        if flow.state == FlowState::Free {
            return;
        }
        flow.state = FlowState::Waiting;
        if flow.sender.is_done() {
            flow.state = FlowState::Acked;
            self.acknowledged(slot, now);
            self.leave_if_over(slot);
        } else {
            self.flows.set_alarm(slot, &mut self.fabric, now);
        }
    }

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
