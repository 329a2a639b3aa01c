//! What machines and brokers want done, and what is due at the edges.

use wayleave_scenarios::Endpoint;
use wayleave_scheme_api::{ClassId, HostAction, Limiter, Outgoing, Weighted};
use wayleave_schemes::edges::{AnyMessage, AnyTimer};
use wayleave_units::Bytes;

use super::Engine;
use crate::clock::{self, Instant};
use crate::edge::{Action, EdgeId, Message, NO_PAIR, PairKey, PairSlot, Stack, Wake};
use crate::fabric::Direction;

impl Engine {
    /// Does what machines and brokers want, in order.
    pub(super) fn carry_out(&mut self, now: Instant) {
        while let Some(action) = self.edges.actions.pop_front() {
            match action {
                Action::Edge(edge, scheme, action) => self.apply(edge, scheme, action, now),
                Action::Broker(from, to, body) => {
                    let message = self.edges.broker_message(from, to, body);
                    self.send_message(message, now);
                }
                Action::ArmBroker(broker, at, timer) => {
                    self.edges.arm_broker(broker, (at, timer), &mut self.fabric, now);
                }
            }
        }
    }

    fn apply(&mut self, edge: EdgeId, scheme: u8, action: HostAction<AnyMessage, AnyTimer>, now: Instant) {
        let frame = self.fabric.largest();
        match action {
            HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket } => {
                self.steer(edge, pair, now, |stack, pair| stack.limit_pair(pair, bucket, frame, now));
            }
            HostAction::SetBucket { limiter: Limiter::Class(class), bucket } => {
                if self.edges.limit_class(edge, class, bucket, frame, now) {
                    self.run_class(edge, class.0, now);
                }
            }
            HostAction::SetWindow { pair, path, window } => {
                self.steer(edge, pair, now, |stack, pair| stack.set_window(pair, path, window.map(Bytes::get)));
            }
            HostAction::SetFloor { pair, path, rate } => {
                let rate = rate.bits_per_second();
                self.steer(edge, pair, now, |stack, pair| stack.set_floor(pair, path, rate, now));
            }
            HostAction::UsePath { pair, path, purpose, from } => {
                let from = clock::from_time(from);
                self.steer(edge, pair, now, |stack, pair| stack.use_path(pair, path, purpose, from));
                self.edges.tell_route(edge, pair, &mut self.flows, &self.fabric, now);
            }
            HostAction::LeavePath { pair, path } => {
                self.steer(edge, pair, now, |stack, pair| stack.leave_path(pair, path));
                self.edges.tell_route(edge, pair, &mut self.flows, &self.fabric, now);
            }
            HostAction::SetWeight { of: Weighted::Class(class), weight } => {
                self.edges.weigh_class(edge, (class, weight), &self.fabric, &mut self.interfaces, &self.flows);
            }
            HostAction::SetWeight { of: Weighted::Pair(pair), weight } => {
                let slot = self.edges.weigh_pair(edge, pair, weight, &mut self.flows, now);
                for flow in self.edges.members(slot) {
                    self.pump(flow, now);
                }
            }
            HostAction::SendProbe { pair, path, probe, windows } => {
                let sent = self.edges.send_probe((edge, pair), path, (probe, windows), &mut self.fabric, now);
                if let Some(dropped) = sent {
                    self.dropped(dropped);
                }
            }
            HostAction::Send { to, message: body } => {
                let message = self.edges.machine_message(edge, to, body);
                self.send_message(message, now);
            }
            HostAction::Arm { at, timer } => self.edges.arm_timer(edge, scheme, (at, timer), &mut self.fabric, now),
        }
    }

    /// Changes how a pair may send; what waits for that is looked at again.
    fn steer(&mut self, edge: EdgeId, pair: Outgoing, now: Instant, change: impl FnOnce(&mut Stack, u32) -> bool) {
        let slot = self.edges.outgoing(edge, pair);
        if self.edges.stack(slot).is_some_and(|(stack, pair)| change(stack, pair)) {
            self.run_pair(slot, now);
        }
    }

    /// A message leaves, if there is somebody whom it is for.
    fn send_message(&mut self, message: Option<Message>, now: Instant) {
        let Some(message) = message else { return };
        for _ in 0..self.edges.copies_of(&message) {
            if let Some(dropped) = self.edges.send(message.clone(), &mut self.fabric, now) {
                self.dropped(dropped);
            }
        }
    }

    /// What is due at the edges happens.
    pub(super) fn wake_edges(&mut self, now: Instant) {
        if !self.edges.wakes.begin(now) {
            return;
        }
        while let Some((at, what)) = self.edges.wakes.due(now) {
            self.on_wake(at, what, now);
        }
        self.edges.wakes.end(&mut self.fabric, now);
    }

    fn on_wake(&mut self, at: Instant, what: Wake, now: Instant) {
        match what {
            Wake::Pair(pair) => {
                if self.edges.stack(pair).is_some_and(|(stack, number)| stack.on_pair_wake(number, at)) {
                    self.run_pair(pair, now);
                }
            }
            Wake::Class(edge, class) => {
                if self.edges.stack_at(edge).on_class_wake(ClassId(class), at) {
                    self.run_class(edge, class, now);
                }
            }
            Wake::Timer(edge, timer) => {
                self.edges.on_timer(edge, timer, now);
                self.carry_out(now);
            }
            Wake::Idle(pair, epoch) => {
                if let Some(forgotten) = self.edges.on_idle_wake(pair, epoch, &mut self.fabric, now) {
                    self.carry_out(now);
                    self.edges.free_numbers(forgotten);
                }
            }
            Wake::Message(message) => {
                let (dropped, is_heard) = self.edges.send_held(message, &mut self.fabric, now);
                if let Some(dropped) = dropped {
                    self.dropped(dropped);
                }
                if is_heard {
                    self.carry_out(now);
                }
            }
            Wake::Event(event) => {
                self.edges.on_event(event as usize, &self.fabric, now);
                self.carry_out(now);
            }
            Wake::BrokerTimer(broker, timer) => {
                self.edges.on_broker_timer(broker, timer, now);
                self.carry_out(now);
            }
            Wake::Slot(pair, epoch) => {
                if self.edges.on_slot(pair, epoch, &mut self.fabric, now) {
                    self.carry_out(now);
                }
            }
            Wake::PathProbe(pair, epoch) => {
                if let Some(dropped) = self.edges.probe_path(pair, epoch, &mut self.fabric, now) {
                    self.dropped(dropped);
                }
            }
            Wake::Silence(pair, epoch) => {
                if self.edges.on_silence(pair, epoch, &mut self.fabric, now) {
                    self.run_pair(pair, now);
                }
            }
        }
    }

    /// The pair of what a traffic sends from one endpoint to another; [`NO_PAIR`] if one of them has no edge. `is_answer`:
    /// from its receivers back to its senders. `route`: the only one, if the traffic has one.
    pub(super) fn pair_of(
        &mut self,
        traffic: u32,
        ends: (Endpoint, Endpoint),
        is_answer: bool,
        route: Option<Direction>,
        now: Instant,
    ) -> PairSlot {
        let (queue, classes) = self.processes.classes_of(traffic, ends, is_answer);
        self.edges.key_of(ends, classes).map_or(NO_PAIR, |key| self.find_pair(key, queue, route, now))
    }

    /// The pair of a source that sends now.
    pub(super) fn source_pair(&mut self, stat: u32, now: Instant) -> PairSlot {
        let open = self.edges.open_source(stat);
        if open != NO_PAIR {
            return open;
        }
        let Some((key, queue)) = self.edges.source_key(stat) else { return NO_PAIR };
        let pair = self.find_pair(key, queue, None, now);
        self.edges.attach_source(stat, pair, &self.fabric, now);
        pair
    }

    /// The pair with a key, which opens if it is not open, on its only route if it has one.
    fn find_pair(&mut self, key: PairKey, queue: u8, route: Option<Direction>, now: Instant) -> PairSlot {
        if let Some(known) = self.edges.known(&key) {
            return known;
        }
        let Some(slot) = self.edges.open_pair(key, queue, route, &mut self.fabric, now) else { return NO_PAIR };
        // The limits of a new pair hold for its first packet.
        self.carry_out(now);
        if self.edges.on_first_slot(slot, &mut self.fabric, now) {
            self.carry_out(now);
        }
        slot
    }

    /// Paths were found again: the machines of pairs that have others now hear of it.
    pub(super) fn pair_paths_changed(&mut self, now: Instant) {
        for slot in 0..self.edges.pairs() {
            let Some(is_ready) = self.edges.replace_paths(slot, &self.fabric, now) else { continue };
            if is_ready {
                self.run_pair(slot, now);
            }
            self.edges.tell_paths(slot, &self.fabric, now);
        }
    }
}
