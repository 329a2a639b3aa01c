//! A run in several threads: this engine has a part of the network ([`crate::parallel`]).

use std::sync::Arc;

use super::{Barrier, EVENTS_PER_LOOK, Engine};
use crate::clock::Instant;
use crate::fabric::Cut;
use crate::flows::FlowSlot;
use crate::outcome::RunEnd;

impl Engine {
    /// This is one part of a run that has not begun.
    pub(crate) fn restrict_to_part(&mut self, number: usize, cut: &Arc<Cut>) {
        self.fabric.restrict_to_part(number, cut);
    }

    /// Runs a part to the end, or until `go_on` returns `false`; one of the parts calls it.
    pub(crate) fn run_part(
        &mut self,
        number: usize,
        barrier: &Barrier,
        mut go_on: Option<&mut dyn FnMut(Instant) -> bool>,
    ) -> RunEnd {
        let lookahead = self.fabric.lookahead();
        let mut until = 0;
        let mut looks = 0;
        for round in 0_usize.. {
            let next = self.fabric.reach(until);
            let is_stopped = go_on.as_mut().is_some_and(|go_on| {
                let is_due = self.events >= looks;
                if is_due {
                    looks = self.events + EVENTS_PER_LOOK;
                }
                is_due && !go_on(self.now)
            });
            barrier.hand_over(number, round, &mut self.fabric);
            let Some(agreed) = barrier.agree(number, round, next, is_stopped) else { return RunEnd::Stopped };
            barrier.take_over(number, round, &mut self.fabric);
            if self.has_too_many_flows {
                return RunEnd::TooManyFlows;
            }
            if agreed.is_stopped {
                return RunEnd::Stopped;
            }
            if agreed.next > self.end {
                break;
            }
            self.fabric.advance(agreed.next);
            until = agreed.next.saturating_add(lookahead).min(self.end.saturating_add(1));
            self.run_events(until, u64::MAX);
        }
        self.now = self.end;
        RunEnd::Complete
    }

    /// Returns `true` if a process acts only in other parts. Processes that are not sources act in all parts alike,
    /// and are counted in one.
    #[inline]
    pub(super) fn is_elsewhere(&mut self, number: usize) -> bool {
        self.fabric.part().is_some() && self.is_others(number)
    }

    #[inline(never)]
    fn is_others(&mut self, number: usize) -> bool {
        let Some(part) = self.fabric.part() else { return false };
        let is_first = part.number == 0;
        let link = self.processes.source_link(number);
        let is_here = link.is_none_or(|link| self.fabric.is_local(link));
        if !is_here || link.is_none() && !is_first {
            self.events -= 1;
        }
        !is_here
    }

    /// Returns `true` if the sender of a flow that was opened is here.
    #[inline]
    pub(super) fn starts_in_part(&mut self, slot: FlowSlot) -> bool {
        if let Some(part) = self.fabric.part() {
            part.peak_packets.opens(slot);
        }
        self.fabric.is_local(self.flows[slot].forward.first.link())
    }

    /// At the end of a run, what another part has found out.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        other.fabric.catch_up_all(other.now);
        self.events += other.events;
        self.stats.absorb(other.stats);
        let fabric = &other.fabric;
        self.flows.absorb(other.flows, |link| fabric.is_local(link));
        self.fabric.absorb(other.fabric, self.now);
    }

    /// The most packets that there were at once, in all parts.
    pub(crate) fn set_peak(&mut self, peak: u64) {
        self.fabric.peak_of_all = Some(peak);
    }
}
