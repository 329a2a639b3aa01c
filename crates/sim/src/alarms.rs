//! Alarms of flows: time-outs, late segments, pacing, reordering buffers; and flows that are over.

use crate::clock::{self, Instant};
use crate::edge::NO_PAIR;
use crate::engine::Engine;
use crate::events::{Actor, HORIZON};
use crate::flows::{FlowSlot, FlowState};
use crate::transport::NEVER;

impl Engine {
    /// Sets both alarms of a flow: the slow one for its time-outs, which mostly move on before it rings, and the quick
    /// one for its pace, late segments and its reordering buffer. One for both would fill the event queue with time-outs.
    #[inline]
    pub(crate) fn set_alarm(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        let (slow, quick) = (flow.sender.timeout_at(), flow.quick_alarm(now));
        let is_slow_new = slow != NEVER && slow < flow.slow_at;
        let is_quick_new = quick < flow.quick_at;
        if is_slow_new {
            flow.slow_at = slow.min(now + HORIZON / 2);
            let (at, actor) = (flow.slow_at, self.flow_actor(slot));
            self.fabric.events.put(at, actor);
        }
        if is_quick_new {
            let flow = &mut self.flows[slot as usize];
            flow.quick_at = quick.clamp(now, now + HORIZON / 2);
            let (at, actor) = (flow.quick_at, self.flow_actor(slot) + 1);
            self.fabric.events.put(at, actor);
        }
    }

    /// An alarm rings, in vain if it was set anew for an earlier time, or if the flow is gone.
    pub(crate) fn wake(&mut self, actor: Actor, now: Instant) {
        let slot = actor / 2;
        if actor.is_multiple_of(2) { self.on_slow_alarm(slot, now) } else { self.on_quick_alarm(slot, now) }
    }

    fn on_slow_alarm(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        if flow.slow_at != now {
            return;
        }
        flow.slow_at = NEVER;
        if matches!(flow.state, FlowState::Done | FlowState::Gone) {
            return;
        }
        // Mostly it has moved on.
        if flow.sender.timeout_at() <= now {
            self.strike_timers(slot, now);
            self.pump(slot, now);
        }
        self.set_alarm(slot, now);
    }

    /// The timers of a flow's sender that are due strike.
    #[inline]
    fn strike_timers(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        if flow.sender.on_timer(now) {
            self.tally.timed_out(flow.stat);
            let pair = flow.pair;
            if pair != NO_PAIR {
                self.forget_in_flight(pair, now);
            }
        }
    }

    #[inline]
    fn on_quick_alarm(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        if flow.quick_at != now || flow.state == FlowState::Gone {
            return;
        }
        flow.quick_at = NEVER;
        if flow.supply.is_some() {
            self.feed(slot, now);
        }
        let flow = &mut self.flows[slot as usize];
        if let Some(buffer) = &mut flow.reorder {
            let mut up = std::mem::take(&mut self.in_order);
            buffer.on_timer(clock::to_time(now), |id| up.push(id));
            self.hand_up(up, slot, now);
        }
        if self.flows[slot as usize].state == FlowState::Done {
            self.set_alarm(slot, now);
            return;
        }
        self.strike_timers(slot, now);
        self.pump(slot, now);
    }

    /// A flow whose last segment was acknowledged, and of which nothing is on the way, leaves its place to another.
    pub(crate) fn leave_if_over(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows[slot as usize];
        if flow.state == FlowState::Done && flow.on_the_way == 0 {
            flow.state = FlowState::Gone;
            let pair = flow.pair;
            self.vacant.push(slot);
            if pair != NO_PAIR {
                self.leave_pair(pair, slot);
            }
        }
    }
}
