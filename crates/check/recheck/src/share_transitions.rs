//! Minima and weights while contracts are added, moved and removed: promises must hold beside all packets that can
//! still be on a link.
//!
//! A latency flow is on a link as in `transitions.rs`: until its bound after its sender has stopped. A share counts
//! on its links from its start until its last packets have left. That takes no longer than
//!
//! ```text
//! T + largest sum of budgets D of an allowed path       where a minimum has a time: packets wait no longer than D at a link
//! T + links of an allowed path times its largest wait d(l)   otherwise
//! ```
//!
//! after its senders have stopped. T is the time without queues. *Assumption* for minima without a time, and for
//! objectives: at each link the bytes held before the last packet are those in flight, `I + N L`, so that they have
//! drained after `d(l)` (`shares/times.rs`). They include all traffic present when the senders stop, also draining
//! traffic. Traffic that starts during the drain is not counted there: it was admitted beside this share.
//!
//! At every moment the sums of minima, acknowledgements and weights of a link have to hold, and also the wait there
//! if a minimum with a time passes. The set on a link grows only at a start, and smaller sets never take more. So it
//! is enough to check before a departure if it has not been checked with all earlier arrivals. Links that nothing
//! ever leaves belong to [`check_all_shares`](crate::check_all_shares), which checks the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use wayleave_topology::{Classes, LinkId, Network};
use wayleave_units::Time;

use crate::check::CheckProgress;
use crate::claim::Claim;
use crate::shares::{
    BrokenShare, Holding, LatencyLoad, Lengths, LinkAndBundleLoad, Load, NetworkStates, Place, PromisedShare,
    ShareTimeInputs, ShareTimes, SharesOn, WorstLoad, broken_sums, reserved_on,
};
use crate::transitions::{Presence, RouteLifetime, presences};

/// A share, and when it is used.
#[derive(Clone, Debug)]
pub struct ShareLifetime {
    /// The share.
    pub share: PromisedShare,
    /// The start of its senders.
    pub from: Time,
    /// The end of its senders; `None`: not before the end.
    pub until: Option<Time>,
}

/// Terms against which shares are checked over time.
#[derive(Clone, Copy, Debug)]
pub struct ShareTerms<'a> {
    /// The division of links.
    pub classes: &'a Classes,
    /// Links that are closed. Where that changes, shares end and start again.
    pub closed: &'a BTreeSet<LinkId>,
    /// Terms of times of minima.
    pub times: &'a ShareTimes,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareTransitions {
    /// Number of sets of flows and shares on a link that were checked.
    pub sets: usize,
    /// Broken promises, by time.
    pub broken: Vec<BrokenAt>,
}

/// A promise to a share that does not hold at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenAt {
    /// Since when.
    pub at: Time,
    /// The broken promise.
    pub broken: BrokenShare,
    /// The latency flows that can have packets there.
    pub flows: Vec<String>,
    /// The shares that count there.
    pub shares: Vec<String>,
}

impl fmt::Display for BrokenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {:#} on, {}", self.at, self.broken)?;
        match self.flows.is_empty() {
            true => write!(f, ", with {}", self.shares.join(", ")),
            false => write!(f, ", with {} beside packets of {}", self.shares.join(", "), self.flows.join(", ")),
        }
    }
}

/// Something that shares put on a link, by its stay.
#[derive(Clone, Copy)]
struct Counts {
    stay: usize,
    holding: Holding,
    worst: WorstLoad,
}

/// Shares over time.
struct Course<'a, 'n> {
    claim: &'a Claim<'n>,
    terms: &'a ShareTerms<'a>,
    waiting: ShareTimeInputs,
    stays: &'a [ShareLifetime],
    places: NetworkStates<'n>,
    links: Vec<Vec<Counts>>,
    bundles: Vec<Vec<Counts>>,
    /// By stay, its round trip and the largest sum of budgets; `None` where it has a fault.
    lengths: Vec<Option<(u64, u64)>>,
    flows: BTreeMap<LinkId, Vec<Presence<'a>>>,
    /// By link, the round trip of minima of the link alone.
    alone: BTreeMap<LinkId, u64>,
}

/// Checks all links on which shares count, at all times. Flows without a valid route are left out:
/// [`check_transitions`](crate::check_transitions) names them.
///
/// # Panics
/// If the claim does not have one entry per link in `budgets` and in `max_frame`.
pub fn check_share_transitions(
    claim: &Claim<'_>,
    terms: &ShareTerms<'_>,
    stays: &[RouteLifetime],
    shares: &[ShareLifetime],
    progress: &mut CheckProgress<'_>,
) -> ShareTransitions {
    let mut found = ShareTransitions::default();
    let mut course = Course::new(claim, terms, stays, shares, &mut found);
    let gone = course.left_links();
    let links: Vec<LinkId> = claim.network.links().map(|(link, _)| link).collect();
    course.alone = course.alone_on(&links);
    let course = &course;
    let progress = Mutex::new((0, progress));
    let over_time = |&link: &LinkId| {
        let mut found = ShareTransitions::default();
        course.check_over_time(link, &gone, &mut found);
        let (done, progress) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        progress(*done, links.len() as u64);
        found
    };
    for on_link in links.par_iter().map(over_time).collect::<Vec<_>>() {
        found.sets += on_link.sets;
        found.broken.extend(on_link.broken);
    }
    found.broken.sort_by_key(|one| one.at);
    found
}

impl<'a, 'n> Course<'a, 'n> {
    fn new(
        claim: &'a Claim<'n>,
        terms: &'a ShareTerms<'a>,
        stays: &'a [RouteLifetime],
        shares: &'a [ShareLifetime],
        found: &mut ShareTransitions,
    ) -> Self {
        let waiting = ShareTimeInputs::new(claim, terms.times);
        let least = terms.classes.round_trip.map_or(0, Time::as_nanos);
        let mut course = Self {
            places: NetworkStates::new(claim.network, terms.closed, waiting.lengths(claim.network), least),
            claim,
            terms,
            waiting,
            stays: shares,
            links: vec![Vec::new(); claim.network.links().len()],
            bundles: vec![Vec::new()],
            lengths: Vec::with_capacity(shares.len()),
            flows: presences(claim, stays).0,
            alone: BTreeMap::new(),
        };
        for (number, stay) in shares.iter().enumerate() {
            let lengths = match course.places.of(&stay.share) {
                // The share ended before its start.
                _ if stay.until.is_some_and(|until| until < stay.from) => None,
                Ok(on) => {
                    course.place(number, &on);
                    Some((on.trip, on.budget))
                }
                Err(broken) => {
                    let shares = vec![stay.share.name.clone()];
                    found.broken.push(BrokenAt { at: stay.from, broken, flows: Vec::new(), shares });
                    None
                }
            };
            course.lengths.push(lengths);
        }
        course
    }

    fn place(&mut self, stay: usize, on: &SharesOn) {
        for parent in self.places.bundles.parents_since(self.bundles.len()) {
            self.bundles.push(self.bundles[parent as usize].clone());
        }
        for &(place, holding, worst) in &on.on {
            let counts = Counts { stay, holding, worst };
            match place {
                Place::Bundle(bundle) => self.bundles[bundle as usize].push(counts),
                Place::Link(link) => self.links[link.index()].push(counts),
            }
        }
    }

    /// Returns the loads of shares on a link, at all times.
    fn on(&self, link: LinkId) -> impl Iterator<Item = &Counts> {
        let bundle = self.places.bundle_of(link).and_then(|bundle| self.bundles.get(bundle as usize));
        self.links[link.index()].iter().chain(bundle.into_iter().flatten())
    }

    /// Returns for each stay the time when its last packets have left, in ns; `None` is never. Computed in the order
    /// of ends, since draining packets delay the next ends.
    fn left_links(&self) -> Vec<Option<u128>> {
        let drains = |stay: &ShareLifetime| stay.until.is_some() && stay.share.there_within.is_none();
        let mut links: BTreeMap<usize, Vec<LinkId>> = BTreeMap::new();
        if self.stays.iter().any(drains) {
            for (link, _) in self.claim.network.links() {
                let draining = self.on(link).filter(|counts| drains(&self.stays[counts.stay]));
                draining.for_each(|counts| links.entry(counts.stay).or_default().push(link));
            }
        }
        let one_each = Lengths { budget: vec![1; self.claim.network.links().len()], ..Lengths::default() };
        let mut hops = NetworkStates::new(self.claim.network, self.terms.closed, one_each, 0);
        let mut order: Vec<usize> = (0..self.stays.len()).filter(|&stay| self.stays[stay].until.is_some()).collect();
        order.sort_by_key(|&stay| self.stays[stay].until);
        let mut gone = vec![None; self.stays.len()];
        for number in order {
            let stay = &self.stays[number];
            gone[number] = stay.until.zip(self.lengths[number]).and_then(|(until, (trip, budget))| {
                let at = u128::from(until.as_nanos());
                let queued = if drains(stay) {
                    let on = links.get(&number).into_iter().flatten();
                    let longest = on.map(|&link| self.wait_at(link, at, &gone)).max().unwrap_or(0);
                    let hops = hops.of(&stay.share).ok()?.budget;
                    u128::from(longest) * u128::from(hops)
                } else {
                    u128::from(budget)
                };
                Some(at + u128::from(trip) + queued)
            });
        }
        gone
    }

    /// Returns the longest wait at a link with all traffic present at a moment, including draining traffic, in ns.
    fn wait_at(&self, link: LinkId, at: u128, gone: &[Option<u128>]) -> u64 {
        let mut reserved = LatencyLoad::default();
        for one in self.flows.get(&link).into_iter().flatten() {
            if one.from <= at && one.gone.is_none_or(|gone| gone > at) {
                let of = reserved_on(self.claim, one.flow, one.hop);
                (reserved.rate, reserved.bursts) = (reserved.rate + of.rate, reserved.bursts + of.bursts);
            }
        }
        let (mut trip, mut pairs) = (0, 0);
        for counts in self.on(link).filter(|counts| counts.holding.is_guaranteed()) {
            let stay = &self.stays[counts.stay];
            let is_over = stay.until.is_some_and(|until| u128::from(until.as_nanos()) < at)
                && gone[counts.stay].is_some_and(|gone| gone <= at);
            if u128::from(stay.from.as_nanos()) <= at && !is_over {
                trip = trip.max(self.lengths[counts.stay].map_or(0, |(trip, _)| trip));
                pairs += u128::from(counts.worst.pairs);
            }
        }
        let wait = self.waiting.wait(self.claim.network, self.terms.classes, link, &reserved, pairs, trip);
        wait.map_or(u64::MAX, Time::as_nanos)
    }

    fn alone_on(&mut self, links: &[LinkId]) -> BTreeMap<LinkId, u64> {
        let needs = |&&link: &&LinkId| {
            self.on(link).any(|counts| counts.holding.is_alone()) && self.on(link).any(|counts| counts.holding.timed)
        };
        let needed: Vec<LinkId> = links.iter().filter(needs).copied().collect();
        let mut trips = BTreeMap::new();
        for link in needed {
            trips.insert(link, self.places.longest_over(link));
        }
        for parent in self.places.bundles.parents_since(self.bundles.len()) {
            self.bundles.push(self.bundles[parent as usize].clone());
        }
        trips
    }

    /// Follows a link in the order of time: departures at a moment come before starts.
    fn check_over_time(&self, link: LinkId, gone: &[Option<u128>], found: &mut ShareTransitions) {
        let shares: Vec<&Counts> = self.on(link).collect();
        if shares.is_empty() {
            return;
        }
        let flows = self.flows.get(&link).map_or(&[][..], Vec::as_slice);
        // Starts after ends of one moment; flows before shares.
        let mut events: Vec<(u128, bool, bool, usize)> = Vec::new();
        for (number, one) in flows.iter().enumerate() {
            events.push((one.from, true, false, number));
            events.extend(one.gone.map(|gone| (gone, false, false, number)));
        }
        for (number, counts) in shares.iter().enumerate() {
            if gone[counts.stay] == Some(u128::from(self.stays[counts.stay].from.as_nanos())) {
                continue;
            }
            events.push((u128::from(self.stays[counts.stay].from.as_nanos()), true, true, number));
            events.extend(gone[counts.stay].map(|gone| (gone, false, true, number)));
        }
        if events.iter().all(|&(_, starts, ..)| starts) {
            return;
        }
        events.sort_unstable();
        let mut here = Here::on(link);
        let mut grown_at = None;
        for (at, starts, is_share, number) in events {
            if !starts && let Some(at) = grown_at.take() {
                self.check_now(&here, at, (flows, &shares), found);
            }
            if starts {
                grown_at = Some(at);
            }
            match is_share {
                true => here.share(number, shares[number], starts),
                false => here.flow(number, reserved_on(self.claim, flows[number].flow, flows[number].hop), starts),
            }
        }
        if let Some(at) = grown_at {
            self.check_now(&here, at, (flows, &shares), found);
        }
    }

    fn check_now(
        &self,
        here: &Here,
        at: u128,
        (flows, shares): (&[Presence<'_>], &[&Counts]),
        found: &mut ShareTransitions,
    ) {
        found.sets += 1;
        let network: &Network = self.claim.network;
        let load = LinkAndBundleLoad(&here.load, None);
        let mut broken = broken_sums(network, self.terms.classes, here.link, here.latency.rate, &load);
        if load.timed() {
            let alone = self.alone.get(&here.link).copied().filter(|_| load.alone());
            let trip = load.trip().max(alone.unwrap_or(0));
            let (classes, senders) = (self.terms.classes, load.senders());
            broken.extend(self.waiting.broken(network, classes, here.link, &here.latency, senders, trip));
        }
        let at = Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX));
        let flow_names = || here.flows.iter().map(|&number| flows[number].flow.name.clone()).collect();
        let share_names = || {
            let stays: BTreeSet<usize> = here.shares.iter().map(|&number| shares[number].stay).collect();
            stays.into_iter().map(|stay| self.stays[stay].share.name.clone()).collect()
        };
        found.broken.extend(broken.into_iter().map(|broken| BrokenAt {
            at,
            broken,
            flows: flow_names(),
            shares: share_names(),
        }));
    }
}

/// Everything on a link at a moment.
struct Here {
    link: LinkId,
    latency: LatencyLoad,
    load: Load,
    flows: BTreeSet<usize>,
    shares: BTreeSet<usize>,
}

impl Here {
    fn on(link: LinkId) -> Self {
        let (flows, shares) = (BTreeSet::new(), BTreeSet::new());
        Self { link, latency: LatencyLoad::default(), load: Load::default(), flows, shares }
    }

    fn flow(&mut self, number: usize, of: LatencyLoad, starts: bool) {
        let all = &mut self.latency;
        if starts {
            (all.rate, all.bursts) = (all.rate + of.rate, all.bursts + of.bursts);
            self.flows.insert(number);
        } else if self.flows.remove(&number) {
            (all.rate, all.bursts) = (all.rate - of.rate, all.bursts - of.bursts);
        }
    }

    fn share(&mut self, number: usize, counts: &Counts, starts: bool) {
        if starts {
            self.load.add(&counts.holding, &counts.worst);
            self.shares.insert(number);
        } else if self.shares.remove(&number) {
            self.load.remove(&counts.holding, &counts.worst);
        }
    }
}
