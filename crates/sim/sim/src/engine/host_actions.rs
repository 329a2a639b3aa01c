//! Actions of machines and brokers, and timers of the host layer.

use wayleave_scenarios::Endpoint;
use wayleave_scheme_api::{ClassId, HostAction, Limiter, Outgoing, Weighted};
use wayleave_schemes::hosts::{AnyMessage, AnyTimer};
use wayleave_units::Bytes;

use super::Engine;
use crate::clock::{self, Instant};
use crate::fabric::Direction;
use crate::hosts::{Action, HostId, HostTimer, Message, NO_PAIR, PairKey, PairSlot, Stack};

impl Engine {
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
