//! Alarms of flows: time-outs, late segments, pacing, reordering buffers.

use super::flow::{FlowSlot, FlowState};
use super::table::Flows;
use crate::clock::Instant;
use crate::events::HORIZON;
use crate::fabric::NetworkState;
use crate::transport::NEVER;

impl Flows {
    /// Sets both alarms of a flow: the slow one for its time-outs, which mostly move on before it rings, and the quick
    /// one for its pace, late segments and its reordering buffer. One for both would fill the event queue with time-outs.
    #[inline]
    pub(crate) fn set_alarm(&mut self, slot: FlowSlot, fabric: &mut NetworkState, now: Instant) {
        let actor = self.actor(slot);
        let flow = &mut self[slot];
        let (slow, quick) = (flow.timeout_at(), flow.quick_alarm(now));
        if slow != NEVER && slow < flow.slow_at {
            flow.slow_at = slow.min(now + HORIZON / 2);
            fabric.schedule(flow.slow_at, actor);
        }
        if quick < flow.quick_at {
            flow.quick_at = quick.clamp(now, now + HORIZON / 2);
            fabric.schedule(flow.quick_at, actor + 1);
        }
    }

    /// The slow alarm of a flow rings: whether there is something to do. Not if it was set again for another time, and not if the
    /// flow is over.
    pub(crate) fn slow_alarm_rings(&mut self, slot: FlowSlot, now: Instant) -> bool {
        let flow = &mut self[slot];
        if flow.slow_at != now {
            return false;
        }
        flow.slow_at = NEVER;
        !matches!(flow.state, FlowState::Acked | FlowState::Free)
    }

    /// The same of its quick alarm. A flow that is done still has a reordering buffer.
    #[inline]
    pub(crate) fn quick_alarm_rings(&mut self, slot: FlowSlot, now: Instant) -> bool {
        let flow = &mut self[slot];
        if flow.quick_at != now || flow.state == FlowState::Free {
            return false;
        }
        flow.quick_at = NEVER;
        true
    }
}
