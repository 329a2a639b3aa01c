//! One group of flows: watched until its state repeats itself, then parked.

use std::collections::BTreeMap;

use super::member::Member;
use super::parts::{FlowSnapshot, MIN_LOOK, Parts};
use super::period::{ProgressSample, common, period};
use super::state::State;
use crate::clock::Instant;
use crate::events::{Actor, REACH};
use crate::fabric::LinkCounts;
use crate::flows::{FlowSlot, FlowState, Flows};
use crate::run_stats::{Credit, FlowCounts};
use crate::transport::SenderState;

/// Round trips of the shortest skip that is worth its cost.
const MIN_ROUND_TRIPS: u64 = 4;

/// Number of round trips before a flow's completion from which on its packets are simulated again.
const ROUND_TRIPS_BEFORE_END: u64 = 4;

/// Maximum number of inspections for which a group whose state did not repeat is left alone; at first one, then two.
const MAX_PAUSE: u32 = 64;

/// Skips are whole nanoseconds: congestion control sees no shorter time ([`crate::clock::to_time`]).
const UNIT: Instant = 1_000;

/// A group of flows that share no port with others.
#[derive(Clone, Debug)]
pub(crate) struct FlowGroupMonitor {
    pub(crate) members: Vec<Member>,
    /// In order.
    links: Vec<u32>,
    /// By member, from the look before.
    sights: Vec<ProgressSample>,
    /// By member, how long a segment took between the looks before.
    periods: Vec<Option<Instant>>,
    /// Time of the next inspection.
    pub(super) next: Instant,
    attempt: Option<Attempt>,
    /// Looks until the next attempt, and after the next failure.
    pauses: (u32, u32),
}

/// State of a group when its acknowledgements came evenly. A period later it has to be equal.
#[derive(Clone, Debug)]
struct Attempt {
    since: Instant,
    until: Instant,
    state: State,
    acknowledged: Vec<u32>,
    links: Vec<LinkCounts>,
    /// By index of statistics.
    flows: BTreeMap<u32, FlowCounts>,
}

/// A period after which the state of a group is the same as before.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    length: Instant,
    /// Segments that each member has acknowledged in that time.
    segments: Vec<u32>,
    links: Vec<LinkCounts>,
    flows: BTreeMap<u32, FlowCounts>,
}

/// Result of an inspection.
pub(crate) enum InspectionResult {
    /// Nothing yet.
    Watching,
    /// It is not skipped, with the reason.
    Declined(&'static str),
    /// It repeats itself, and can be skipped until then.
    Steady { cycle: Cycle, until: Instant },
}

impl FlowGroupMonitor {
    /// A group; when its flows were opened, and which links they take.
    pub(super) fn new<'a>(
        slots: &[FlowSlot],
        opened: impl Fn(FlowSlot) -> Instant,
        links: impl Fn(FlowSlot) -> &'a [u32],
    ) -> Self {
        let members = slots.iter().map(|&slot| Member { slot, opened: opened(slot) }).collect();
        let mut all: Vec<u32> = slots.iter().flat_map(|&slot| links(slot)).copied().collect();
        all.sort_unstable();
        all.dedup();
        let (sights, periods) = (Vec::new(), Vec::new());
        Self { members, links: all, sights, periods, next: 0, attempt: None, pauses: (0, 1) }
    }

    /// Returns `true` if all its flows are still there.
    pub(super) fn is_current(&self, known: &[FlowSnapshot], flows: &Flows) -> bool {
        self.members.iter().all(|member| {
            let known = known.get(member.slot as usize);
            known.is_some_and(|known| known.opened == member.opened) && flows[member.slot].state != FlowState::Free
        })
    }

    fn standings<'a>(&'a self, flows: &'a Flows) -> impl Iterator<Item = SenderState> + 'a {
        self.members.iter().map(|member| flows[member.slot].sender.state())
    }

    /// Inspects the group, if it is time. `end`: end of the run, or start of the next known event.
    pub(super) fn inspect_if_due(&mut self, parts: &mut Parts<'_>, end: Instant, now: Instant) -> InspectionResult {
        if now < self.next { InspectionResult::Watching } else { self.inspect(parts, end, now) }
    }

    /// Inspects the group, and schedules the next inspection after a round trip of its flows.
    fn inspect(&mut self, parts: &mut Parts<'_>, end: Instant, now: Instant) -> InspectionResult {
        // At common times, so that one event inspects many groups.
        let step = self.round_trip(parts.flows).max(MIN_LOOK).next_power_of_two();
        self.next = (now / step + 1) * step;
        // A flow that is over waits for the last of its packets: the group is about to change.
        if self.members.iter().any(|member| !parts.flows[member.slot].is_open()) {
            self.attempt = None;
            return InspectionResult::Watching;
        }
        if let Some(attempt) = self.attempt.take() {
            let found = match now == attempt.until {
                true => self.conclude(attempt, parts, end, now),
                false => Err("the state does not repeat itself"),
            };
            return found.unwrap_or_else(|why| self.decline(why));
        }
        match self.evenness(parts.flows) {
            _ if self.pauses.0 > 0 => {
                self.pauses.0 -= 1;
                InspectionResult::Watching
            }
            Ok(period) => self.begin(period, parts, end, now).unwrap_or_else(|why| self.decline(why)),
            Err(None) => InspectionResult::Watching,
            Err(Some(why)) => InspectionResult::Declined(why),
        }
    }

    /// The longest round trip of its flows.
    fn round_trip(&self, flows: &Flows) -> Instant {
        self.standings(flows).map(|at| at.round_trip).max().unwrap_or(0)
    }

    fn decline(&mut self, why: &'static str) -> InspectionResult {
        let (_, pause) = self.pauses;
        self.pauses = (pause, (2 * pause).min(MAX_PAUSE));
        InspectionResult::Declined(why)
    }

    /// Returns the common period of all flows, if the time per segment since the latest inspection is unchanged for
    /// each. The error is the reason, once there were enough inspections.
    fn evenness(&mut self, flows: &Flows) -> Result<Instant, Option<&'static str>> {
        let sights: Vec<ProgressSample> =
            self.standings(flows).map(|at| ProgressSample { at: at.at, acknowledged: at.acknowledged }).collect();
        let before = std::mem::replace(&mut self.sights, sights);
        let stands_still = before.iter().zip(&self.sights).any(|(before, now)| before.acknowledged == now.acknowledged);
        let periods = before.iter().zip(&self.sights).map(|(before, now)| period(*before, *now)).collect();
        let periods_before = std::mem::replace(&mut self.periods, periods);
        if periods_before.is_empty() {
            return Err(None);
        }
        if stands_still {
            return Err(Some("a flow makes no progress"));
        }
        let are_same = self.periods.iter().all(Option::is_some) && self.periods == periods_before;
        if !are_same {
            return Err(Some("acknowledgements do not come evenly"));
        }
        common(self.periods.iter().flatten().copied(), REACH).ok_or(Some("flows have no short period in common"))
    }

    /// The state of the group now. A period later it is compared.
    fn begin(
        &mut self,
        period: Instant,
        parts: &mut Parts<'_>,
        end: Instant,
        now: Instant,
    ) -> Result<InspectionResult, &'static str> {
        if self.time_left(parts.flows, end, now + period) < self.least_skip(period, parts.flows) {
            return Err("too little is left");
        }
        let state = State::of(&self.members, &self.links, parts, now)?;
        let links = self.links.iter().map(|&link| parts.fabric.counts_at(link)).collect();
        let stats = self.members.iter().map(|member| parts.flows[member.slot].stat);
        let flows = stats.map(|stat| (stat, parts.stats.counts_of(stat))).collect();
        let acknowledged = self.standings(parts.flows).map(|at| at.acknowledged).collect();
        self.next = now + period;
        self.attempt = Some(Attempt { since: now, until: now + period, state, acknowledged, links, flows });
        Ok(InspectionResult::Watching)
    }

    /// A period later: where the state is the same again, all that follows is a repetition.
    fn conclude(
        &mut self,
        attempt: Attempt,
        parts: &mut Parts<'_>,
        end: Instant,
        now: Instant,
    ) -> Result<InspectionResult, &'static str> {
        let state = State::of(&self.members, &self.links, parts, now)?;
        let segments: Vec<u32> = self
            .standings(parts.flows)
            .zip(&attempt.acknowledged)
            .map(|(at, before)| at.acknowledged.wrapping_sub(*before))
            .collect();
        attempt.state.is_repeated_by(&state, &segments)?;
        let length = now - attempt.since;
        let cycle = Cycle { length, segments, links: attempt.links, flows: attempt.flows };
        let unit = cycle.unit().ok_or("flows have no short period in common")?;
        let time = self.time_left(parts.flows, end, now) / unit * unit;
        if time < self.least_skip(length, parts.flows) {
            return Err("too little is left");
        }
        self.pauses = (0, 1);
        Ok(InspectionResult::Steady { cycle, until: now + time })
    }

    /// Longest time for which the group may repeat itself: until the first flow is nearly complete, forgets its least round trip, or something else
    /// begins.
    fn time_left(&self, flows: &Flows, end: Instant, now: Instant) -> Instant {
        let before_end = ROUND_TRIPS_BEFORE_END * self.round_trip(flows);
        let of_flow = |(member, period): (&Member, &Option<Instant>)| {
            let flow = &flows[member.slot];
            let forgets = flow.forgets_at().saturating_sub(now);
            let unsent = flow.sender.state().unsent.map_or(Instant::MAX, u64::from);
            unsent.saturating_mul(period.unwrap_or(0)).saturating_sub(before_end).min(forgets)
        };
        let of_flows = self.members.iter().zip(&self.periods).map(of_flow);
        of_flows.min().unwrap_or(0).min(end.saturating_sub(now))
    }

    fn least_skip(&self, period: Instant, flows: &Flows) -> Instant {
        (MIN_ROUND_TRIPS * self.round_trip(flows)).max(period)
    }
}

impl Cycle {
    /// Skips are a multiple of this.
    fn unit(&self) -> Option<Instant> {
        common([self.length, UNIT].into_iter(), REACH)
    }
}

/// A suspended group.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) watch: FlowGroupMonitor,
    cycle: Cycle,
    pub(crate) since: Instant,
    pub(crate) until: Instant,
    /// Pending events.
    events: Vec<(Instant, Actor)>,
}

impl Parked {
    /// Stops a group.
    pub(super) fn new(
        watch: &FlowGroupMonitor,
        cycle: Cycle,
        (since, until): (Instant, Instant),
        parts: &mut Parts<'_>,
    ) -> Self {
        let (flows, fabric) = (&*parts.flows, &mut *parts.fabric);
        let links = fabric.links();
        let is_ours = |actor: Actor| match flows.slot_of_actor(actor) {
            Some(slot) => watch.members.binary_search_by_key(&slot, |member| member.slot).is_ok(),
            None if actor < 2 * links => watch.links.binary_search(&(actor % links)).is_ok(),
            None => false,
        };
        let events = fabric.take_events(is_ours);
        Self { watch: watch.clone(), cycle, since, until, events }
    }

    /// Returns `true` if a link belongs to it.
    pub(super) fn has(&self, link: u32) -> bool {
        self.watch.links.binary_search(&link).is_ok()
    }

    /// Returns the latest time up to now at which the group has the state in which it stopped. It has to resume from
    /// there.
    pub(crate) fn same_before(&self, now: Instant) -> Instant {
        let unit = self.cycle.unit().unwrap_or(Instant::MAX);
        self.since + (now - self.since) / unit * unit
    }

    /// Resumes the group at a time at which it has the state in which it stopped: all events are delayed by the
    /// suspended time, which is credited. Returns the number of segments that were skipped.
    pub(super) fn resume(&self, parts: &mut Parts<'_>, now: Instant) -> u64 {
        let by = now - self.since;
        debug_assert_eq!(by % self.cycle.length, 0, "skips are whole periods");
        let cycles = by / self.cycle.length;
        let mut credits: BTreeMap<u32, Credit> = BTreeMap::new();
        for (member, &each) in self.watch.members.iter().zip(&self.cycle.segments) {
            let flow = &mut parts.flows[member.slot];
            let idle_since = flow.local(self.since);
            flow.delay(by);
            debug_assert_eq!(flow.local(now), idle_since, "the clock of a sender stops for as long as its group");
            let segments = u64::from(each) * cycles;
            flow.skipped_segments = flow.number_of(segments as u32);
            flow.sender.skip(segments, by);
            credits.entry(flow.stat).or_default().add(segments, flow.sender.segment());
        }
        for &link in &self.watch.links {
            parts.fabric.delay(link, by);
            if let Some(interface) = parts.interfaces.on(link) {
                interface.delay(by);
            }
        }
        for &(at, actor) in &self.events {
            parts.fabric.schedule(at + by, actor);
        }
        for (&link, counts) in self.watch.links.iter().zip(&self.cycle.links) {
            // Between that and now there was one period.
            parts.fabric.repeat(link, counts, (cycles, 1));
        }
        for (stat, counts) in &self.cycle.flows {
            parts.stats.credit(*stat, counts, credits.get(stat).copied().unwrap_or_default());
        }
        credits.values().map(|credit| credit.segments).sum()
    }

    /// It is watched again.
    pub(super) fn into_watch(self) -> FlowGroupMonitor {
        FlowGroupMonitor { next: 0, ..self.watch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks of congestion control count whole nanoseconds, and round down: after other skips they would round differently.
    #[test]
    fn skips_are_whole_periods_and_whole_nanoseconds() {
        let unit = |length| Cycle { length, segments: Vec::new(), links: Vec::new(), flows: BTreeMap::new() }.unit();
        assert_eq!(unit(1_230_400), Some(6_152_000));
        assert_eq!(unit(123_040), Some(3_076_000));
        assert_eq!(unit(1_000), Some(1_000));
        assert_eq!(unit(999_999_999), None);
    }
}
