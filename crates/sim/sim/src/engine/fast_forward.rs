//! Fast-forward in the run: flows begin, and groups are suspended and resumed.

use wayleave_scheme_api::{Departure, Path};
use wayleave_units::Time;

use super::Engine;
use crate::clock::Instant;
use crate::events::Actor;
use crate::fast_forward::{Forward, ForwardOutcome, MIN_LOOK, Parked, Parts};
use crate::flows::{FlowSlot, SAME_PATH};

impl Engine {
    /// Handles a flow that begins: groups suspended at one of its ports resume before its first packet leaves.
    pub(super) fn forward_opened(&mut self, slot: FlowSlot, now: Instant) {
        let Some(mut forward) = self.forward.take() else { return };
        if !forward.is_refused() {
            let links = self.links_of_flow(slot);
            let met = forward.opened(slot, links, now);
            self.resume_in_phase(&mut forward, met, (now, self.actor));
            let flow = &self.flows[slot];
            let round_trip = self.fabric.round_trip(&flow.forward, &flow.reverse, flow.sender.segment());
            self.processes.wake_forward(now + round_trip.max(MIN_LOOK), &mut self.fabric, now);
        }
        self.forward = Some(forward);
    }

    /// The links that a flow takes, whose path is the same for all its segments.
    fn links_of_flow(&mut self, slot: FlowSlot) -> Vec<u32> {
        let flow = &mut self.flows[slot];
        let path = match self.fabric.path_count(flow.forward.paths) {
            0 | 1 => 0,
            paths => flow.path.choose(Time::ZERO, Departure { bytes: 0, paths }),
        };
        let mut links = self.fabric.links_along(&flow.forward, path);
        let reverse_path = if flow.reverse_path == SAME_PATH { path } else { flow.reverse_path };
        links.extend(self.fabric.links_along(&flow.reverse, reverse_path));
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Inspects the state or resumes groups, when this is due.
    #[cold]
    pub(super) fn forward_due(&mut self, now: Instant) {
        let Some(mut forward) = self.forward.take() else { return };
        let due = forward.take_due(now);
        self.resume(&mut forward, due, now);
        let event = self.processes.next_due();
        if let Some(next) = forward.inspect(&mut self.parts(), event, now) {
            self.processes.wake_forward(next, &mut self.fabric, now);
        }
        self.forward = Some(forward);
    }

    fn parts(&mut self) -> Parts<'_> {
        Parts {
            fabric: &mut self.fabric,
            flows: &mut self.flows,
            interfaces: &mut self.interfaces,
            stats: &mut self.stats,
        }
    }

    fn resume(&mut self, forward: &mut Forward, groups: Vec<Parked>, now: Instant) {
        for group in groups {
            forward.resume(group, &mut self.parts(), now);
        }
    }

    /// Resumes groups from the state that they would have in the full simulation. Their events up to this time, in
    /// less than a period, are simulated before anything else, and at this time those before an actor. All other
    /// events are later.
    fn resume_in_phase(&mut self, forward: &mut Forward, groups: Vec<Parked>, (now, actor): (Instant, Actor)) {
        if groups.is_empty() {
            return;
        }
        for group in groups {
            let from = group.same_before(now);
            debug_assert!(self.fabric.reaches_back_to(from), "a period is not longer than events reach back");
            forward.resume(group, &mut self.parts(), from);
        }
        self.run_events(now, u64::MAX);
        let kinds = self.kinds();
        while self.fabric.events().is_due_before(now + 1) {
            let limit = self.fabric.events().limit_at(now, actor);
            let Some((at, first)) = self.fabric.events().take_before(limit) else { break };
            self.events += 1;
            self.dispatch(first, kinds, at);
        }
        (self.now, self.actor) = (now, actor);
    }

    /// Resumes all groups at the end of the run. Returns the results.
    pub(super) fn finish_forward(&mut self) -> Option<ForwardOutcome> {
        let mut forward = self.forward.take()?;
        let groups = forward.take_all();
        if !groups.is_empty() {
            self.resume_in_phase(&mut forward, groups, (self.now, self.actor));
            self.run_events(self.now + 1, u64::MAX);
        }
        Some(forward.into_outcome())
    }
}
