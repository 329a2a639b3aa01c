//! Flows send: at once if it is their turn at the interface of their host, otherwise later.

use super::Engine;
use crate::clock::Instant;
use crate::events::Actor;
use crate::fabric::Step;
use crate::flows::{FlowSlot, FlowState};
use crate::hosts::NO_PAIR;
use crate::interfaces::Item;
use crate::link::Port;
use crate::packet::{Flags, PacketId};
use crate::trace::PacketEvent;

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
                if !self.interfaces.has_turn(number, &self.fabric, now) {
                    self.flows[slot].state = FlowState::Ready;
                    let class = if self.flows[slot].has_several_links { self.flows[slot].class } else { class };
                    self.join_interface(number, usize::from(class), slot);
                    self.interfaces.schedule_turn(number, &mut self.fabric, now);
                    break;
                }
                self.send(slot, now);
                self.interfaces.has_sent(number, &self.fabric);
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
        let last = self.interfaces.classes(number).saturating_sub(1);
        (flow.interface, flow.class) = (number, first.queue().min(u8::try_from(last).unwrap_or(u8::MAX)));
        number
    }

    /// Queues a flow at its interface.
    #[inline]
    fn join_interface(&mut self, number: u32, queue: usize, slot: FlowSlot) {
        let (hosts, pair) = (&self.hosts, self.flows[slot].pair);
        let class = || hosts.class_of_pair(pair);
        self.interfaces.push(number, queue, slot, class);
    }

    /// Sends the next segment of a flow; whether it could.
    fn send(&mut self, slot: FlowSlot, now: Instant) -> bool {
        let Some(id) = self.flows.segment(slot, &mut self.fabric, &mut self.stats, now) else { return false };
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
        self.interfaces.has_sent(self.interfaces.of(first.link()), &self.fabric);
    }

    /// Hands a packet to the interface of its host: to its port, or to the queue of its class if classes have weights
    /// and others wait. Returns `true` if there was room.
    pub(super) fn enter_interface(&mut self, first: Step, id: PacketId, now: Instant) -> bool {
        let number = self.interfaces.of(first.link());
        let is_fair = self.interfaces.is_fair(number);
        if is_fair && !self.interfaces.has_turn(number, &self.fabric, now) {
            let packet = self.fabric.packet(id);
            let (class, most) = self.hosts.class_of_packet(packet, &self.flows);
            let item = Item::Packet(id, first, packet.size);
            let has_place = self.interfaces.push_packet(number, class, item, most);
            if has_place {
                self.interfaces.schedule_turn(number, &mut self.fabric, now);
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
            Port::Fifo if !self.interfaces.is_interface(number) => return self.fabric.answer_waiting(link, now),
            Port::Fifo => {
                if self.interfaces.begins_turn(number, now) {
                    self.pull(number, 0, false, now);
                }
            }
            Port::Queued(port) => {
                let is_wanted = self.interfaces.is_wanted(number);
                for class in 0..if is_wanted { self.interfaces.classes(number) } else { 0 } {
                    let (is_empty, by_remaining) = self.fabric.queue_state(port, class as u8);
                    if is_empty {
                        self.pull(number, class, by_remaining, now);
                    }
                }
                self.fabric.serve(link, now);
            }
        }
        if self.interfaces.is_wanted(number) {
            self.interfaces.schedule_turn(number, &mut self.fabric, now);
        }
    }

    /// The next flow of a class that can send does so, and goes to the end of the line.
    fn pull(&mut self, number: u32, class: usize, by_remaining: bool, now: Instant) {
        while let Some(item) = self.interfaces.pop(number, class, by_remaining, &self.flows) {
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
                self.interfaces.has_sent(number, &self.fabric);
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

    /// Handles an alarm. It is ignored if it was set again for an earlier time, or if the flow has ended.
    pub(super) fn wake(&mut self, actor: Actor, now: Instant) {
        let slot = actor / 2;
        if actor.is_multiple_of(2) { self.on_slow_alarm(slot, now) } else { self.on_quick_alarm(slot, now) }
    }

    fn on_slow_alarm(&mut self, slot: FlowSlot, now: Instant) {
        if !self.flows.slow_alarm_rings(slot, now) {
            return;
        }
        // Mostly the time-out has moved on.
        if self.flows[slot].timeout_at() <= now {
            self.expire_timers(slot, now);
            self.pump(slot, now);
        }
        self.flows.set_alarm(slot, &mut self.fabric, now);
    }

    /// Fires the timers of a flow's sender that are due.
    #[inline]
    fn expire_timers(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot];
        let local = flow.local(now);
        if flow.is_tunnelled && self.hosts.holds(flow) {
            flow.sender.put_off_timers(local);
        }
        if flow.sender.on_timer(local) {
            self.stats.timed_out(flow.stat);
            let pair = flow.pair;
            if self.hosts.forget_in_flight(pair) {
                self.run_pair(pair, now);
            }
        }
    }

    #[inline]
    fn on_quick_alarm(&mut self, slot: FlowSlot, now: Instant) {
        if !self.flows.quick_alarm_rings(slot, now) {
            return;
        }
        let flow = &mut self.flows[slot];
        if flow.supply.is_some()
            && let Some(is_on) = flow.feed(now)
        {
            self.hosts.pause(flow.pair, !is_on, now);
        }
        if let Some(up) = self.flows.release_late(slot, now) {
            self.hand_up(up, slot, now);
        }
        if self.flows[slot].state == FlowState::Acked {
            self.flows.set_alarm(slot, &mut self.fabric, now);
            return;
        }
        self.expire_timers(slot, now);
        self.pump(slot, now);
    }
}
