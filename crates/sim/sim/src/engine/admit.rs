//! Flows and packets pass the stack of their host, or wait there until it lets them go.

use wayleave_scheme_api::{LocalFlow, PathIndex, TunnelEntry, TunnelPacket};
use wayleave_stack::{AdmitOutcome, ClassStep, PairBacklog, PairStep as StackStep};

use super::Engine;
use crate::clock::Instant;
use crate::fabric::Step;
use crate::flows::{FlowSlot, FlowState};
use crate::hosts::{HostId, HostWaitQueue, NO_PAIR, PairSlot, SendQuery, WaitReason};
use crate::packet::{FRAMING, Flags, HEADERS, Kind, Packet, PacketId};
use crate::recorder;
use crate::trace::PacketEvent;

/// Result of one step of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advance {
    /// A packet left.
    Sent,
    /// A limiter dropped one.
    Dropped,
    /// It waits, or there is nothing.
    Idle,
}

impl Engine {
    /// Returns `true` if a flow that can send may send its next segment. If not, the flow is queued until it may.
    pub(super) fn admit(&mut self, flow: FlowSlot, now: Instant) -> bool {
        let (slot, granted) = (self.flows[flow].pair, self.flows[flow].granted);
        if slot == NO_PAIR || granted > 0 {
            return true;
        }
        loop {
            let Some((stack, pair)) = self.hosts.stack(slot) else { return true };
            let bytes = self.flows[flow].next_bytes();
            let mut sending = SendQuery::new(&mut self.flows, &self.fabric, now);
            match stack.admit(pair, PairBacklog::Flow(flow), bytes, now, &mut sending) {
                AdmitOutcome::Go(path) => {
                    self.flows[flow].grant(bytes, path);
                    return true;
                }
                AdmitOutcome::Drop => {
                    self.drop_segment(flow, now);
                    if !self.flows[flow].can_send(&self.fabric, now) {
                        return false;
                    }
                }
                AdmitOutcome::Wait => {
                    self.flows[flow].state = FlowState::Blocked;
                    self.wait(slot, PairBacklog::Flow(flow), now);
                    return false;
                }
            }
        }
    }

    /// A flow that was granted a segment cannot send it any more.
    #[cold]
    pub(super) fn give_back(&mut self, flow: FlowSlot, now: Instant) {
        let slot = self.flows[flow].pair;
        let (granted, path) = self.flows[flow].return_grant();
        let Some((stack, pair)) = self.hosts.stack(slot).filter(|_| granted > 0) else { return };
        stack.put_back(pair, granted, 0);
        if path.is_some_and(|path| stack.release(pair, path, granted)) {
            self.run_pair(slot, now);
        }
    }

    /// A source's packet leaves, or waits, or is dropped because too many wait. `stat`: of its source.
    pub(super) fn gate_packet(&mut self, stat: u32, first: Step, id: PacketId, now: Instant) {
        let slot = self.source_pair(stat, now);
        if slot == NO_PAIR {
            self.put_out(first, id, now);
            return;
        }
        let packet = self.fabric.packet_mut(id);
        packet.flags = packet.flags.with(Flags::ECN_CAPABLE);
        let bytes = packet.size;
        if self.hosts.has_tunnel(slot) {
            self.packet_to_tunnel(slot, stat, first, id, now);
            return;
        }
        let what = PairBacklog::Packet((id, first), bytes);
        let Some((stack, pair)) = self.hosts.stack(slot) else { return };
        match stack.admit(pair, what, bytes, now, &mut SendQuery::new(&mut self.flows, &self.fabric, now)) {
            AdmitOutcome::Go(path) => self.let_packet_go(slot, (id, first), bytes, path, now),
            AdmitOutcome::Wait if self.hosts.has_place(slot, bytes) => {
                self.wait(slot, what, now);
                self.hosts.note_demand(slot, now);
            }
            AdmitOutcome::Drop | AdmitOutcome::Wait => self.limited(slot, first, id, now),
        }
    }

    /// A packet is dropped at its own host: too many wait, or a limiter drops.
    fn limited(&mut self, slot: PairSlot, first: Step, id: PacketId, now: Instant) {
        self.hosts.limited(slot);
        self.fabric.note(recorder::FULL, (first.link(), first.queue()), id, now);
        self.discard(id);
    }

    /// A limiter drops a segment of a flow.
    fn drop_segment(&mut self, flow: FlowSlot, now: Instant) {
        let (slot, first) = (self.flows[flow].pair, self.flows[flow].forward.first);
        if let Some(id) = self.flows.segment(flow, &mut self.fabric, &mut self.stats, now) {
            self.limited(slot, first, id, now);
        }
    }

    /// A packet comes to the interface of its host.
    fn put_out(&mut self, first: Step, id: PacketId, now: Instant) {
        self.fabric.note(PacketEvent::Sent, (first.link(), first.queue()), id, now);
        if self.enter_interface(first, id, now) {
            return;
        }
        let packet = self.fabric.packet(id);
        match self.hosts.pair_of_packet(packet, &self.flows) {
            NO_PAIR => self.discard(id),
            slot => self.limited(slot, first, id, now),
        }
    }

    /// Queues a flow or packet at its pair.
    fn wait(&mut self, slot: PairSlot, what: HostWaitQueue, now: Instant) {
        if self.hosts.stack(slot).is_some_and(|(stack, pair)| stack.wait(pair, what)) {
            self.run_pair(slot, now);
        }
    }

    /// Runs a pair that is not queued: sends all that may leave, and queues the pair if the rest has to wait.
    pub(super) fn run_pair(&mut self, slot: PairSlot, now: Instant) {
        loop {
            if self.is_queued_at_interface(slot, now) || self.advance(slot, now) == Advance::Idle {
                return;
            }
        }
    }

    /// Lets a pair that is not queued do one step. Returns its result.
    fn advance(&mut self, slot: PairSlot, now: Instant) -> Advance {
        let Some((stack, pair)) = self.hosts.stack(slot) else { return Advance::Idle };
        let step = stack.advance(pair, now, &mut SendQuery::new(&mut self.flows, &self.fabric, now));
        self.after_stack(slot, now);
        let rest = match step {
            StackStep::Go(what, bytes, path) => {
                self.dequeue(slot, what, bytes, path, now);
                return Advance::Sent;
            }
            StackStep::Drop(what, _) => {
                self.drop_waiting(slot, what, now);
                return Advance::Dropped;
            }
            StackStep::PairWaits(at) => WaitReason::Pair(slot, Some(at)),
            StackStep::ClassWaits(class, at) => WaitReason::ClassOf(slot, class, at),
            StackStep::Idle => WaitReason::Pair(slot, None),
        };
        self.hosts.wait(rest, &mut self.fabric, now);
        Advance::Idle
    }

    /// Queues a pair whose tunnel could send at the interface of its host, if others send there. Its packets stay in
    /// the tunnel, which orders them, and do not pile up in the port. Returns `true` if the pair was queued.
    fn is_queued_at_interface(&mut self, slot: PairSlot, now: Instant) -> bool {
        let next = self.hosts.next_of_tunnel(slot, &SendQuery::new(&mut self.flows, &self.fabric, now));
        let Some((first, bytes, weight)) = next else { return false };
        let number = self.interfaces.of(first.link());
        if !self.interfaces.is_interface(number) || self.interfaces.has_turn(number, &self.fabric, now) {
            return false;
        }
        if let Some((stack, pair)) = self.hosts.stack(slot) {
            stack.queue_at_interface(pair);
        }
        let class = self.hosts.class_of_pair(slot);
        self.interfaces.push_tunnel(number, first.queue().into(), (slot, bytes), class, weight);
        self.interfaces.schedule_turn(number, &mut self.fabric, now);
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

    /// Flows that the stack has sent away, and those of which a tunnel takes another packet.
    fn after_stack(&mut self, slot: PairSlot, now: Instant) {
        while let Some((stack, _)) = self.hosts.stack(slot)
            && (stack.has_gone() || stack.has_offers())
        {
            let (gone, offers) = (stack.take_gone(), stack.take_offers());
            // A flow whose application was switched off while it was queued had demand until now.
            if !gone.is_empty() {
                self.hosts.note_demand(slot, now);
            }
            for flow in gone.into_iter().chain(offers) {
                self.flows[flow].state = FlowState::Waiting;
                // Over, or waiting for acknowledgements.
                self.pump(flow, now);
            }
        }
    }

    /// The first of a pair's line, whose tokens were taken, goes.
    fn dequeue(&mut self, slot: PairSlot, what: HostWaitQueue, bytes: u32, path: Option<PathIndex>, now: Instant) {
        match what {
            PairBacklog::Flow(flow) => {
                let state = &mut self.flows[flow];
                state.grant(bytes, path);
                state.state = FlowState::Waiting;
                self.pump(flow, now);
            }
            PairBacklog::Packet(packet, _) => self.let_packet_go(slot, packet, bytes, path, now),
        }
    }

    /// A packet for which there are tokens leaves its host.
    fn let_packet_go(
        &mut self,
        slot: PairSlot,
        (id, mut first): (PacketId, Step),
        bytes: u32,
        path: Option<PathIndex>,
        now: Instant,
    ) {
        if let Some(path) = path {
            first = self.hosts.take_path(slot, id, path, &self.flows, &mut self.fabric).unwrap_or(first);
        }
        let taken = self.fabric.packet(id).path;
        if let Some(sent) = self.hosts.left(slot, bytes, bytes, taken, now) {
            self.hosts.note_flight(slot, taken, sent, &self.fabric);
            self.fabric.carry_sent(id, sent);
        }
        self.hosts.note_demand(slot, now);
        let had_turn = self.hosts.has_tunnel(slot);
        self.copy_packet(slot, first, id, now);
        if had_turn {
            self.fabric.note(PacketEvent::Sent, (first.link(), first.queue()), id, now);
            self.send_in_turn(first, id, now);
        } else {
            self.put_out(first, id, now);
        }
    }

    /// Copies of a packet that leaves go over the further paths of its pair, if its scheme wants them.
    #[cold]
    pub(super) fn copy_packet(&mut self, slot: PairSlot, first: Step, id: PacketId, now: Instant) {
        let taken = self.fabric.packet(id).path;
        for path in self.hosts.further_paths(slot, taken, now) {
            let packet = self.fabric.packet_mut(id);
            packet.flags = packet.flags.with(Flags::COPIED);
            let mut copy = *packet;
            // Telemetry and the window's count belong to the first copy.
            copy.extra.set_telemetry(0);
            if copy.kind == Kind::Data {
                self.flows[copy.flow].in_transit += 1;
            }
            let copy = self.fabric.insert(copy);
            let own = self.hosts.take_path(slot, copy, path, &self.flows, &mut self.fabric);
            self.enter(own.unwrap_or(first), copy, now);
        }
    }

    fn drop_waiting(&mut self, slot: PairSlot, what: HostWaitQueue, now: Instant) {
        match what {
            PairBacklog::Flow(flow) => {
                self.flows[flow].state = FlowState::Waiting;
                self.drop_segment(flow, now);
                self.pump(flow, now);
            }
            PairBacklog::Packet((id, first), _) => {
                self.limited(slot, first, id, now);
                self.hosts.note_demand(slot, now);
            }
        }
    }

    /// The pairs of a class that wait for its tokens go in turn, one segment or packet each.
    pub(super) fn run_class(&mut self, host: HostId, class: u32, now: Instant) {
        loop {
            let step = self.hosts.serve(host, class, SendQuery::new(&mut self.flows, &self.fabric, now));
            let Some((step, slot)) = step else { return };
            self.after_stack(slot, now);
            match step {
                ClassStep::Go(_, what, bytes, path) => self.dequeue(slot, what, bytes, path, now),
                ClassStep::Drop(_, what, _) => self.drop_waiting(slot, what, now),
                ClassStep::PairWaits(_, at) => {
                    self.hosts.wait(WaitReason::Pair(slot, Some(at)), &mut self.fabric, now);
                    continue;
                }
                ClassStep::Waits(at) => {
                    return self.hosts.wait(WaitReason::Class(host, class, at), &mut self.fabric, now);
                }
                ClassStep::Idle => return,
            }
            let Some((stack, pair)) = self.hosts.stack(slot) else { return };
            let at = stack.queue_up(pair, now, &mut SendQuery::new(&mut self.flows, &self.fabric, now));
            self.after_stack(slot, now);
            self.hosts.wait(WaitReason::Pair(slot, at), &mut self.fabric, now);
        }
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
            let Some(id) = self.flows.segment(flow, &mut self.fabric, &mut self.stats, now) else { break };
            let Packet { size: bytes, path, .. } = *self.fabric.packet(id);
            let (first, _) = self.fabric.ends(&forward, u32::from(path));
            let unsent = self.flows[flow].sender.unsent_payload();
            let packet = TunnelPacket { bytes, payload: bytes - (HEADERS + FRAMING), unsent, ..packet };
            self.enter_tunnel(slot, entry, packet, (id, first), now);
        }
        self.run_if_free(slot, now);
    }

    /// A source's packet enters a tunnel.
    fn packet_to_tunnel(&mut self, slot: PairSlot, stat: u32, first: Step, id: PacketId, now: Instant) {
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
