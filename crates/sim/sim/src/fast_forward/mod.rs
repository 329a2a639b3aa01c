//! Fast-forward: while the state of flows repeats, their packets are not simulated.
//!
//! After Long et al., "Supercharging Packet-level Network Simulation of Large Model Training via Memoization and
//! Fast-Forwarding" (Wormhole, NSDI 2026): the network falls into parts that share no port, and a part that is steady
//! is skipped up to the next event. Deviations: a part is steady if its state is identical a period later, not if its
//! rates hardly change, so that a skip changes nothing (decision 121). Their memory of transients is not included.
//!
//! A [group](Watch) is a set of flows that share ports with one another, for their segments or their
//! acknowledgements. When its [state](state) repeats, it is [parked](Parked): its events leave the queue, and its
//! state is frozen. It resumes when a flow would soon be complete, a new flow comes to one of its ports, or the run
//! ends. All of its events are then due whole periods later. Its flows are credited with the segments that they would
//! have sent, and its ports with the counts that they would have had. No state has to be moved. Senders and their
//! congestion control have a clock of their own, which was stopped ([`Flow::local`](crate::flows::Flow::local)).
//! Instead of numbers in flight the number of the last segment changes
//! ([`Sender::skip`](crate::transport::Sender::skip)).
//!
//! | file | content |
//! |---|---|
//! | `mod` | groups that are watched or parked, and counts |
//! | `groups` | flows that share ports |
//! | `watch` | one group, until it is parked |
//! | `period` | time after which a state may be repeated |
//! | `state` | the state of a group, relative to a time |
//! | `parts` | parts of the engine that an inspection needs |
//! | `scope` | scenarios that can be fast-forwarded at all |
//! | `outcome` | the report of a run |
//!
//! `engine/fast_forward` connects it to the rest of the run.

mod groups;
mod member;
mod outcome;
mod parts;
mod period;
mod scope;
mod state;
mod watch;

pub use outcome::ForwardOutcome;
use parts::FlowSnapshot;
pub(crate) use parts::{MIN_LOOK, Parts};
pub(crate) use watch::{FlowGroupMonitor, InspectionResult, Parked};

use wayleave_scenarios::Scenario;

use crate::clock::{self, Instant};
use crate::custom::Custom;
use crate::flows::{FlowSlot, FlowState, Flows};
use crate::stats::Histogram;

/// Largest change of a completion time by skips: none, since what they leave out is known exactly ([`state`]).
const ERROR_OF_A_SKIP: u64 = 0;

/// Groups of the network that are watched, and those that are suspended.
#[derive(Debug)]
pub(crate) struct Forward {
    error: f64,
    /// Nothing that is sent before is counted, and nothing is skipped.
    warmup: Instant,
    end: Instant,
    /// By place of flows.
    known: Vec<FlowSnapshot>,
    watches: Vec<FlowGroupMonitor>,
    parked: Vec<Parked>,
    /// Flows have come or gone since groups were made.
    is_changed: bool,
    outcome: ForwardOutcome,
    /// Bounds of the errors of completed flows, in millionths of their times.
    errors: Histogram,
}

impl Forward {
    /// Creates the fast-forward of a validated scenario; `None` if the scenario does not ask for it.
    pub(crate) fn new(scenario: &Scenario, custom: &Custom<'_>) -> Option<Box<Self>> {
        let asked = scenario.fast_forward?;
        let refusal = scope::refusal(scenario, custom);
        Some(Box::new(Self {
            error: asked.max_error,
            warmup: clock::from_time(scenario.warmup),
            end: clock::from_time(scenario.duration),
            known: Vec::new(),
            watches: Vec::new(),
            parked: Vec::new(),
            is_changed: false,
            outcome: ForwardOutcome { refusal, ..ForwardOutcome::default() },
            errors: Histogram::new(),
        }))
    }

    /// Returns `true` if nothing can be skipped.
    pub(crate) fn is_refused(&self) -> bool {
        self.outcome.refusal.is_some()
    }

    /// Handles a flow that begins. Returns the suspended groups that share a port with it, which have to resume.
    pub(crate) fn opened(&mut self, slot: FlowSlot, links: Vec<u32>, now: Instant) -> Vec<Parked> {
        if self.known.len() <= slot as usize {
            self.known.resize_with(slot as usize + 1, FlowSnapshot::default);
        }
        self.is_changed = true;
        let is_met = |parked: &Parked| links.iter().any(|&link| parked.has(link));
        let met = take_if(&mut self.parked, is_met);
        self.known[slot as usize] = FlowSnapshot { opened: now, links, ..FlowSnapshot::default() };
        met
    }

    /// A flow is complete.
    pub(crate) fn completed(&mut self) {
        self.errors.record(ERROR_OF_A_SKIP);
    }

    /// Returns the groups that are due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Parked> {
        take_if(&mut self.parked, |parked| parked.until <= now)
    }

    /// Returns all suspended groups at the end of the run.
    pub(crate) fn take_all(&mut self) -> Vec<Parked> {
        std::mem::take(&mut self.parked)
    }

    /// Resumes a suspended group: it is watched again, with its known state.
    pub(crate) fn resume(&mut self, parked: Parked, parts: &mut Parts<'_>, now: Instant) {
        self.outcome.skipped_segments += parked.resume(parts, now);
        let by = now - parked.since;
        for member in &parked.watch.members {
            self.known[member.slot as usize].is_parked = false;
        }
        self.outcome.skips += 1;
        self.outcome.skipped_flow_time += parked.watch.members.len() as u128 * u128::from(by);
        self.watches.push(parked.into_watch());
    }

    /// Inspects all groups that are not suspended, and parks those whose state repeats. Returns the time of the next
    /// inspection, if one is needed. `event`: start of the next known event.
    pub(crate) fn inspect(&mut self, parts: &mut Parts<'_>, event: Option<Instant>, now: Instant) -> Option<Instant> {
        if now < self.warmup {
            return Some(self.warmup);
        }
        let is_over = |watch: &FlowGroupMonitor| watch.next <= now && !watch.is_current(&self.known, parts.flows);
        if self.is_changed || self.watches.iter().any(is_over) {
            self.regroup(parts.flows);
        }
        let mut watches = std::mem::take(&mut self.watches);
        let end = event.map_or(self.end, |event| event.min(self.end));
        watches.retain_mut(|watch| match watch.inspect_if_due(parts, end, now) {
            InspectionResult::Watching => true,
            InspectionResult::Declined(why) => {
                self.outcome.decline(why);
                true
            }
            InspectionResult::Steady { cycle, until } => {
                for member in &watch.members {
                    self.known[member.slot as usize].is_parked = true;
                }
                self.parked.push(Parked::new(watch, cycle, (now, until), parts));
                false
            }
        });
        self.watches = watches;
        let looks = self.watches.iter().map(|watch| watch.next);
        self.parked.iter().map(|parked| parked.until).chain(looks).min()
    }

    /// Regroups the flows that are not suspended. An unchanged group stays watched.
    fn regroup(&mut self, flows: &Flows) {
        self.is_changed = false;
        let is_there = |slot: FlowSlot| flows[slot].state != FlowState::Free;
        let slots: Vec<FlowSlot> = (0..self.known.len() as FlowSlot)
            .filter(|&slot| is_there(slot) && !self.known[slot as usize].is_parked)
            .collect();
        let links = |slot: FlowSlot| &self.known[slot as usize].links[..];
        let mut before = std::mem::take(&mut self.watches);
        for group in groups::groups(&slots, links) {
            let watch = FlowGroupMonitor::new(&group, |slot| self.known[slot as usize].opened, links);
            let place = before.iter().position(|old| old.members == watch.members);
            self.watches.push(place.map_or(watch, |place| before.swap_remove(place)));
        }
    }

    /// Returns the report of the run.
    pub(crate) fn into_outcome(self) -> ForwardOutcome {
        ForwardOutcome { error: self.error, errors: self.errors, ..self.outcome }
    }
}

/// Takes those out of a list that are meant; the others keep their order.
fn take_if(all: &mut Vec<Parked>, is_meant: impl Fn(&Parked) -> bool) -> Vec<Parked> {
    let (meant, others) = std::mem::take(all).into_iter().partition(is_meant);
    *all = others;
    meant
}
