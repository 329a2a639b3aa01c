//! The engine's side of the host layer: flows and packets pass the stack of their host or wait there, and the actions and timers of
//! machines change what the stack permits.

use wayleave_scenarios::Endpoint;
use wayleave_scheme_api::{ClassId, HostAction, Limiter, Outgoing, PathIndex, Weighted};
use wayleave_schemes::hosts::{AnyMessage, AnyTimer};
use wayleave_stack::{AdmitOutcome, ClassStep, PairBacklog, PairStep as StackStep};
use wayleave_units::Bytes;

use super::Engine;
use crate::clock::{self, Instant};
use crate::fabric::{Direction, Step};
use crate::flows::{FlowSlot, FlowState};
use crate::hosts::{
    Action, HostId, HostTimer, HostWaitQueue, Message, NO_PAIR, PairKey, PairSlot, SendQuery, Stack, WaitReason,
};
use crate::packet::{Flags, Kind, PacketId};
use crate::recorder;
use crate::trace::PacketEvent;

/// Result of one step of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
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
    pub(super) fn limited(&mut self, slot: PairSlot, first: Step, id: PacketId, now: Instant) {
        self.hosts.limited(slot);
        self.fabric.note(recorder::FULL, (first.link(), first.queue()), id, now);
        self.discard(id);
    }

    /// A limiter drops a segment of a flow.
    fn drop_segment(&mut self, flow: FlowSlot, now: Instant) {
        let (slot, first) = (self.flows[flow].pair, self.flows[flow].forward.first);
        if let Some(id) = self.segment(flow, now) {
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
    pub(super) fn advance(&mut self, slot: PairSlot, now: Instant) -> Advance {
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
        let packet = self.fabric.packet(id);
        if had_turn && packet.kind == Kind::Data {
            self.stats.left_host(self.flows[packet.flow].purpose.traffic, packet.sent, now);
        }
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

    /// Does what machines and brokers want, in order.
    pub(super) fn apply_actions(&mut self, now: Instant) {
        while let Some(action) = self.hosts.actions.pop_front() {
            match action {
                Action::Host(host, scheme, action) => self.apply_action(host, scheme, action, now),
                Action::Broker(from, to, body) => {
                    let message = self.hosts.broker_message(from, to, body);
                    self.send_message(message, now);
                }
                Action::ArmBroker(broker, at, timer) => {
                    self.hosts.arm_broker(broker, (at, timer), &mut self.fabric, now);
                }
            }
        }
    }

    fn apply_action(&mut self, host: HostId, scheme: u8, action: HostAction<AnyMessage, AnyTimer>, now: Instant) {
        let frame = self.fabric.largest();
        match action {
            HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket } => {
                self.steer(host, pair, now, |stack, pair| stack.limit_pair(pair, bucket, frame, now));
            }
            HostAction::SetBucket { limiter: Limiter::Class(class), bucket } => {
                if self.hosts.limit_class(host, class, bucket, frame, now) {
                    self.run_class(host, class.0, now);
                }
            }
            HostAction::SetWindow { pair, path, window } => {
                self.steer(host, pair, now, |stack, pair| stack.set_window(pair, path, window.map(Bytes::get)));
            }
            HostAction::SetFloor { pair, path, rate } => {
                let rate = rate.bits_per_second();
                self.steer(host, pair, now, |stack, pair| stack.set_floor(pair, path, rate, now));
            }
            HostAction::UsePath { pair, path, purpose, from } => {
                let from = clock::from_time(from);
                let round_trip = self.hosts.choose_path((host, pair), path, &mut self.flows, &self.fabric);
                self.steer(host, pair, now, |stack, pair| stack.use_path(pair, (path, round_trip), purpose, from));
                self.hosts.notify_route(host, pair, &mut self.flows, &self.fabric, now);
            }
            HostAction::LeavePath { pair, path } => {
                self.steer(host, pair, now, |stack, pair| stack.leave_path(pair, path));
                self.hosts.notify_route(host, pair, &mut self.flows, &self.fabric, now);
            }
            HostAction::SetWeight { of: Weighted::Class(class), weight } => {
                self.hosts.weigh_class(host, (class, weight), &self.fabric, &mut self.interfaces, &self.flows);
            }
            HostAction::SetWeight { of: Weighted::Pair(pair), weight } => {
                let slot = self.hosts.weigh_pair(host, pair, weight, &mut self.flows, now);
                for flow in self.hosts.members(slot) {
                    self.pump(flow, now);
                }
            }
            HostAction::SetWeight { of: Weighted::Turns(pair), weight } => self.hosts.weigh_turns(host, pair, weight),
            HostAction::SendProbe { pair, path, probe, windows } => {
                let sent = self.hosts.send_probe((host, pair), path, (probe, windows), &mut self.fabric, now);
                if let Some(dropped) = sent {
                    self.dropped(dropped);
                }
            }
            HostAction::Send { to, message: body } => {
                let message = self.hosts.machine_message(host, to, body);
                self.send_message(message, now);
            }
            HostAction::Arm { at, timer } => self.hosts.arm_timer(host, scheme, (at, timer), &mut self.fabric, now),
        }
    }

    /// Changes the permission of a pair to send, and runs the pair again if the change requires it.
    fn steer(&mut self, host: HostId, pair: Outgoing, now: Instant, change: impl FnOnce(&mut Stack, u32) -> bool) {
        let slot = self.hosts.outgoing(host, pair);
        if self.hosts.stack(slot).is_some_and(|(stack, pair)| change(stack, pair)) {
            self.run_pair(slot, now);
        }
    }

    /// Sends a message, if it has a recipient.
    fn send_message(&mut self, message: Option<Message>, now: Instant) {
        let Some(message) = message else { return };
        for _ in 0..self.hosts.copies_of(&message) {
            if let Some(dropped) = self.hosts.send(message.clone(), &mut self.fabric, now) {
                self.dropped(dropped);
            }
        }
    }

    /// Handles all timers of the host layer that are due.
    pub(super) fn run_host_timers(&mut self, now: Instant) {
        if !self.hosts.timer_queue.begin(now) {
            return;
        }
        while let Some((at, what)) = self.hosts.timer_queue.due(now) {
            self.on_host_timer(at, what, now);
        }
        self.hosts.timer_queue.end(&mut self.fabric, now);
    }

    fn on_host_timer(&mut self, at: Instant, what: HostTimer, now: Instant) {
        match what {
            HostTimer::Pair(pair) => {
                if self.hosts.stack(pair).is_some_and(|(stack, number)| stack.on_pair_wake(number, at)) {
                    self.run_pair(pair, now);
                }
            }
            HostTimer::Class(host, class) => {
                if self.hosts.stack_at(host).on_class_wake(ClassId(class), at) {
                    self.run_class(host, class, now);
                }
            }
            HostTimer::Scheme(host, timer) => {
                self.hosts.on_timer(host, timer, now);
                self.apply_actions(now);
            }
            HostTimer::Idle(pair, epoch) => {
                if let Some(forgotten) = self.hosts.on_idle_wake(pair, epoch, &mut self.fabric, now) {
                    self.apply_actions(now);
                    self.hosts.free_numbers(forgotten);
                }
            }
            HostTimer::Message(message) => {
                let (dropped, is_sent) = self.hosts.send_held(message, &mut self.fabric, now);
                if let Some(dropped) = dropped {
                    self.dropped(dropped);
                }
                if is_sent {
                    self.apply_actions(now);
                }
            }
            HostTimer::Event(event) => {
                self.hosts.on_event(event as usize, &self.fabric, now);
                self.apply_actions(now);
            }
            HostTimer::BrokerTimer(broker, timer) => {
                self.hosts.on_broker_timer(broker, timer, now);
                self.apply_actions(now);
            }
            HostTimer::Slot(pair, epoch) => {
                if self.hosts.on_slot(pair, epoch, &mut self.fabric, now) {
                    self.apply_actions(now);
                }
            }
            HostTimer::PathProbe(pair, epoch) => {
                if let Some(dropped) = self.hosts.probe_path(pair, epoch, &mut self.fabric, now) {
                    self.dropped(dropped);
                }
            }
            HostTimer::Silence(pair, epoch) => {
                if self.hosts.on_silence(pair, epoch, &mut self.fabric, now) {
                    self.run_pair(pair, now);
                }
            }
        }
    }

    /// Returns the pair of a traffic's packets from one endpoint to another; [`NO_PAIR`] if one of their hosts does
    /// not share. `is_answer`: from its receivers back to its senders. `route`: the only one, if the traffic has one.
    pub(super) fn pair_of(
        &mut self,
        traffic: u32,
        ends: (Endpoint, Endpoint),
        is_answer: bool,
        route: Option<Direction>,
        now: Instant,
    ) -> PairSlot {
        let (queue, classes) = self.processes.classes_of(traffic, ends, is_answer);
        self.hosts.key_of(ends, classes).map_or(NO_PAIR, |key| self.find_pair(key, queue, route, now))
    }

    /// The pair of a source that sends now.
    pub(super) fn source_pair(&mut self, stat: u32, now: Instant) -> PairSlot {
        let open = self.hosts.open_source(stat);
        if open != NO_PAIR {
            return open;
        }
        let Some((key, queue)) = self.hosts.source_key(stat) else { return NO_PAIR };
        let pair = self.find_pair(key, queue, None, now);
        self.hosts.attach_source(stat, pair, &self.fabric, now);
        pair
    }

    /// The pair with a key, which opens if it is not open, on its only route if it has one.
    fn find_pair(&mut self, key: PairKey, queue: u8, route: Option<Direction>, now: Instant) -> PairSlot {
        if let Some(known) = self.hosts.known(&key) {
            return known;
        }
        let Some(slot) = self.hosts.open_pair(key, queue, route, &mut self.fabric, now) else { return NO_PAIR };
        // The limits of a new pair hold for its first packet.
        self.apply_actions(now);
        if self.hosts.on_first_slot(slot, &mut self.fabric, now) {
            self.apply_actions(now);
        }
        slot
    }

    /// Handles recomputed paths: notifies the machines of pairs whose paths have changed.
    pub(super) fn pair_paths_changed(&mut self, now: Instant) {
        for slot in 0..self.hosts.pairs() {
            let Some(is_ready) = self.hosts.replace_paths(slot, &self.fabric, now) else { continue };
            if is_ready {
                self.run_pair(slot, now);
            }
            self.hosts.notify_paths(slot, &self.fabric, now);
        }
    }
}
