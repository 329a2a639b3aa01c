//! Alarms of flows: time-outs, pacing, data of applications, reordering buffers.

use super::Engine;
use crate::clock::Instant;
use crate::events::Actor;
use crate::flows::{FlowSlot, FlowState};

impl Engine {
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
