//! One group of flows: watched until it is steady, then counted for a while, then parked.

use std::collections::BTreeMap;

use super::history::{History, Pace, Sight, Unsteady};
use super::parts::{Known, LEAST_LOOK, Parts};
use crate::clock::Instant;
use crate::events::Actor;
use crate::fabric::LinkCounts;
use crate::flows::{FlowSlot, FlowState, Flows};
use crate::tally::FlowCounts;
use crate::transport::Standing;

/// A rate that was seen for some time is taken for that of so many times as long, at most.
const MOST_TIMES: u64 = 64;

/// A skip that is not so many times as long as what is counted for it is not worth it.
const LEAST_TIMES: u64 = 2;

/// What is counted lasts for at least so many parts of what was judged.
const COUNTED_PART: u64 = 2;

/// So many round trips before a flow would be complete its packets are simulated again.
const ROUND_TRIPS_BEFORE_END: u64 = 4;

/// A ms: what repeats itself less often does so too seldom to tell.
const LONGEST_PERIOD: Instant = 1_000_000_000;

/// One flow of a group: its place, and when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) slot: FlowSlot,
    opened: Instant,
}

/// A group of flows that share no port with others.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) members: Vec<Member>,
    /// In order.
    links: Vec<u32>,
    history: History,
    /// When to look at it again.
    pub(super) next: Instant,
    counted: Option<Counted>,
}

/// What was counted of a group when it was found to be steady: what comes after that is repeated.
#[derive(Clone, Debug)]
struct Counted {
    since: Instant,
    /// Until then it has to go on as it was.
    until: Instant,
    paces: Vec<Pace>,
    acknowledged: Vec<u32>,
    links: Vec<LinkCounts>,
    /// By index of statistics.
    flows: BTreeMap<u32, FlowCounts>,
}

/// What a look found.
pub(crate) enum Looked {
    /// Nothing yet.
    Watching,
    /// It is not skipped, and why.
    Declined(&'static str),
    /// It is steady, and can be skipped until then.
    Steady { paces: Vec<Pace>, until: Instant },
}

impl Watch {
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
        Self { members, links: all, history: History::new(slots.len()), next: 0, counted: None }
    }

    /// Whether all its flows are still there.
    pub(super) fn is_current(&self, known: &[Known], flows: &Flows) -> bool {
        self.members.iter().all(|member| {
            let known = known.get(member.slot as usize);
            known.is_some_and(|known| known.opened == member.opened) && flows[member.slot].state != FlowState::Gone
        })
    }

    fn standings<'a>(&'a self, flows: &'a Flows) -> impl Iterator<Item = Standing> + 'a {
        self.members.iter().map(|member| flows[member.slot].sender.standing())
    }

    fn sights<'a>(&'a self, flows: &'a Flows) -> impl Iterator<Item = Sight> + 'a {
        self.members.iter().map(|member| {
            let sender = &flows[member.slot].sender;
            let at = sender.standing();
            Sight {
                at: at.at,
                acknowledged: at.acknowledged,
                in_flight: at.in_flight,
                window: at.window as f64 / f64::from(sender.segment()),
                memory: at.memory,
            }
        })
    }

    /// Looks at the group, if it is time.
    pub(super) fn look_if_due(&mut self, parts: &mut Parts<'_>, limits: (f64, Instant), now: Instant) -> Looked {
        if now < self.next { Looked::Watching } else { self.look(parts, limits, now) }
    }

    /// Looks at the group, after a round trip of its flows again. `limits`: the error that is asked for, and when the run ends.
    fn look(&mut self, parts: &mut Parts<'_>, limits: (f64, Instant), now: Instant) -> Looked {
        let longest = self.standings(parts.flows).map(|at| at.round_trip).max().unwrap_or(0);
        // At common times, so that one event looks at many groups.
        let step = longest.max(LEAST_LOOK).next_power_of_two();
        self.next = (now / step + 1) * step;
        // A flow that is over waits for the last of its packets: the group is about to change.
        if self.members.iter().any(|member| !parts.flows[member.slot].is_open()) {
            return Looked::Watching;
        }
        let sights: Vec<Sight> = self.sights(parts.flows).collect();
        let is_time = self.history.look(now, sights.into_iter());
        match self.counted.take() {
            Some(counted) if now < counted.until => {
                self.counted = Some(counted);
                Looked::Watching
            }
            Some(counted) => self.conclude(&counted, parts.flows, limits, now),
            None if is_time => self.judge(parts, limits, now),
            None => Looked::Watching,
        }
    }

    /// Enough was seen to judge. A group that is steady is counted from now on.
    fn judge(&mut self, parts: &mut Parts<'_>, (error, end): (f64, Instant), now: Instant) -> Looked {
        let paces = match self.history.judge(error) {
            Ok(paces) => paces,
            Err(why) => return Looked::Declined(why.name()),
        };
        let length = (self.history.span() / COUNTED_PART).max(1);
        if self.time_left(&paces, parts.flows).min(end - now) < (LEAST_TIMES + 1) * length {
            return Looked::Declined("too little is left");
        }
        let links = self.links.iter().map(|&link| parts.fabric.counts_at(link)).collect();
        let stats = self.members.iter().map(|member| parts.flows[member.slot].stat);
        let flows = stats.map(|stat| (stat, parts.tally.counts_of(stat))).collect();
        let acknowledged = self.standings(parts.flows).map(|at| at.acknowledged).collect();
        self.counted = Some(Counted { since: now, until: now + length, paces, acknowledged, links, flows });
        Looked::Watching
    }

    /// What was counted has to look like what was seen before. It is kept if the group is parked.
    fn conclude(&mut self, counted: &Counted, flows: &Flows, (error, end): (f64, Instant), now: Instant) -> Looked {
        let length = now - counted.since;
        let standings: Vec<Standing> = self.standings(flows).collect();
        for ((pace, before), at) in counted.paces.iter().zip(&counted.acknowledged).zip(&standings) {
            let (seen, expected) = (f64::from(at.acknowledged.wrapping_sub(*before)), pace.rate * length as f64);
            // Segments are whole at both ends.
            if (seen - expected).abs() > 2.0 * error * expected + 2.0 {
                return Looked::Declined("the rate has changed");
            }
        }
        let paces = match self.history.judge(error) {
            Ok(paces) => paces,
            Err(why) => return Looked::Declined(why.name()),
        };
        let most = MOST_TIMES.saturating_mul(self.history.span());
        let time = self.time_left(&paces, flows).min(end.saturating_sub(now)).min(most);
        // Where all segments take the same time, whole periods later everything is as it is now.
        let time = common_period(&paces).map_or(time, |period| time / period * period);
        if time < LEAST_TIMES * length {
            return Looked::Declined("too little is left");
        }
        self.counted = Some(counted.clone());
        Looked::Steady { paces, until: now + time }
    }

    /// How long it takes until the first flow is nearly complete.
    fn time_left(&self, paces: &[Pace], flows: &Flows) -> Instant {
        let longest = self.standings(flows).map(|at| at.round_trip).max().unwrap_or(0);
        let left = self.standings(flows).zip(paces).filter_map(|(at, pace)| Some(f64::from(at.unsent?) / pace.rate));
        let least = left.fold(f64::INFINITY, f64::min);
        // Beyond what the clock can count it is the largest number.
        (least as Instant).saturating_sub(ROUND_TRIPS_BEFORE_END * longest)
    }
}

/// After how long all flows are again where they were, if segments take whole ps and that is not too long.
fn common_period(paces: &[Pace]) -> Option<Instant> {
    paces.iter().try_fold(1, |common: Instant, pace| {
        let period = pace.period?;
        let (mut one, mut other) = (common, period);
        while other != 0 {
            (one, other) = (other, one % other);
        }
        Some(common / one * period).filter(|&common| common <= LONGEST_PERIOD)
    })
}

impl Unsteady {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "a flow stands still",
            Self::Noise => "rates vary too much",
            Self::Trend => "rates change",
            Self::Flight => "windows grow or shrink",
            Self::Memory => "congestion control still learns",
        }
    }
}

/// A group that stands still.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) watch: Watch,
    paces: Vec<Pace>,
    pub(crate) since: Instant,
    pub(crate) until: Instant,
    /// What was due.
    events: Vec<(Instant, Actor)>,
}

impl Parked {
    /// Stops a group.
    pub(super) fn new(
        watch: &Watch,
        paces: Vec<Pace>,
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
        Self { watch: watch.clone(), paces, since, until, events }
    }

    /// Whether a link belongs to it.
    pub(super) fn has(&self, link: u32) -> bool {
        self.watch.links.binary_search(&link).is_ok()
    }

    /// Its flows, with their paces.
    pub(super) fn paces(&self) -> impl Iterator<Item = (FlowSlot, Pace)> {
        self.watch.members.iter().map(|member| member.slot).zip(self.paces.iter().copied())
    }

    /// The latest time up to now at which the group is where it stopped, if it repeats itself. It has to go on from there.
    pub(crate) fn same_before(&self, now: Instant) -> Instant {
        common_period(&self.paces).map_or(now, |period| self.since + (now - self.since) / period * period)
    }

    /// Goes on now: everything is later by the time that it stood still, and is credited with it. How many segments were skipped.
    pub(super) fn resume(&self, parts: &mut Parts<'_>, now: Instant) -> u64 {
        let by = now - self.since;
        let mut credits: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (slot, pace) in self.paces() {
            let flow = &mut parts.flows[slot];
            let stood_at = flow.local(self.since);
            flow.delay(by);
            debug_assert_eq!(flow.local(now), stood_at, "the clock of a sender stands still as long as its group");
            let most = flow.sender.standing().unsent.map_or(u32::MAX, |unsent| unsent.saturating_sub(1));
            let segments = ((pace.rate * by as f64).round() as u32).min(most);
            flow.sender.skip(segments);
            let payload = u64::from(segments) * u64::from(flow.sender.segment());
            let credit = credits.entry(flow.stat).or_default();
            *credit = (credit.0 + u64::from(segments), credit.1 + payload);
        }
        for &link in &self.watch.links {
            parts.fabric.delay(link, by);
            parts.interfaces.delay(link, by);
        }
        for &(at, actor) in &self.events {
            parts.fabric.schedule(at + by, actor);
        }
        if let Some(counted) = &self.watch.counted {
            let times = (by, self.since - counted.since);
            for (&link, counts) in self.watch.links.iter().zip(&counted.links) {
                parts.fabric.repeat(link, counts, times);
            }
            for (stat, counts) in &counted.flows {
                parts.tally.credit(*stat, counts, credits.get(stat).copied().unwrap_or_default());
            }
        }
        credits.values().map(|credit| credit.0).sum()
    }

    /// It is watched again, after it stood still for so long.
    pub(super) fn into_watch(self, by: Instant) -> Watch {
        let mut watch = self.watch;
        (watch.counted, watch.next) = (None, 0);
        watch.history.delay(by);
        watch
    }
}
