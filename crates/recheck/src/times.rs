//! Times of minima again: how long packets of their class wait at a link, and by when a minimum is there.
//!
//! With the residual of the latency contracts, `R'` and `S'` as sums over their flows, and the part `g` of the guaranteed class
//! (docs/admission.md, section 14; decisions 073 and 076):
//!
//! ```text
//! H  = sum over other classes (Q + L) + L (F - Q_g) / Q_g        what deficit round robin may do first (Boyer, Stea, Sofack 2012)
//! I  = (2 eta g R' + eta R) T                                    in flight by windows
//! d  = ((I + N L) / g + S' + H) / R'                             N pairs may have a packet each beside their windows
//! a minimum B is there after    sum of the budgets D of its way + 2 T + a period of tokens + (receivers) L / B
//! ```
//!
//! Admission knows cuts, and counts `inside` times `outside` pairs there. Here pairs are counted one by one, on each link that a shortest path of theirs takes, and the
//! way of a hose is the longest of all shortest paths between its members.

use std::collections::BTreeMap;

use num_rational::Ratio;
use num_traits::Zero;
use wayleave_topology::{Class, Classes, LinkId, NodeId};
use wayleave_units::Time;

use crate::claim::{Claim, PacketiserTerm};
use crate::shares::{BrokenShare, HeldShare, Paths, PromisedShare};

type Part = Ratio<u128>;

/// What times of minima rest on besides a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareTimes {
    /// By link: packets of the guaranteed class wait no longer, where a minimum with a time passes.
    pub budgets: Vec<Time>,
    /// The longest round trip without queues.
    pub round_trip: Time,
    /// How often hosts give tokens anew.
    pub token_period: Time,
}

/// The times that do not hold: links where packets may wait longer than their budget, then minima that are there later than is said.
pub fn check_times(
    claim: &Claim<'_>,
    classes: &Classes,
    shares: &[PromisedShare],
    times: &ShareTimes,
) -> Vec<BrokenShare> {
    let timed: Vec<(&PromisedShare, Time)> =
        shares.iter().filter_map(|share| Some((share, share.there_within?))).collect();
    if timed.is_empty() {
        return Vec::new();
    }
    let mut ways = Ways { times, paths: Paths::of(claim.network), pairs: BTreeMap::new() };
    shares.iter().for_each(|share| ways.count(share));
    let mut broken = Vec::new();
    let mut kept: BTreeMap<LinkId, ()> = BTreeMap::new();
    let mut late = Vec::new();
    for (share, said) in timed {
        let (links, way, receivers) = ways.of(share);
        kept.extend(links.into_iter().map(|link| (link, ())));
        let largest = claim.max_frame.iter().map(|frame| frame.get()).max().unwrap_or(0);
        let frames = u128::from(largest) * u128::from(receivers) * 8_000_000_000;
        let packets = frames.div_ceil(u128::from(share.min.bits_per_second().max(1)));
        let fixed = [times.round_trip, times.round_trip, times.token_period].map(|time| u128::from(time.as_nanos()));
        let derived = u128::from(way) + fixed.iter().sum::<u128>() + packets;
        let derived = Time::from_nanos(u64::try_from(derived).unwrap_or(u64::MAX));
        if said < derived {
            late.push(BrokenShare::Time { share: share.name.clone(), said, derived });
        }
    }
    let residuals = residuals(claim);
    for link in kept.into_keys() {
        let budget = times.budgets.get(link.index()).copied().unwrap_or(Time::ZERO);
        let pairs = ways.pairs.get(&link).copied().unwrap_or(0);
        let wait = wait(claim, classes, link, &residuals[link.index()], pairs, times.round_trip);
        if wait.is_none_or(|wait| wait > budget) {
            broken.push(BrokenShare::Wait { link: claim.network.link(link).name.clone(), wait, budget });
        }
    }
    broken.extend(late);
    broken
}

/// Pairs and ways on shortest paths.
struct Ways<'a, 'n> {
    times: &'a ShareTimes,
    paths: Paths<'n>,
    /// How many pairs may have packets of minima on each link.
    pairs: BTreeMap<LinkId, u128>,
}

impl Ways<'_, '_> {
    fn count(&mut self, share: &PromisedShare) {
        let links: Vec<LinkId> = match &share.held {
            HeldShare::Pair(_, _, route) => route.hops.iter().map(|hop| hop.link).collect(),
            HeldShare::Link(link) => vec![*link],
            HeldShare::Hose(members) => {
                let links = pairs_of(members).flat_map(|(from, to)| self.paths.parts(from, to).into_keys());
                links.collect()
            }
            HeldShare::Objective(_) => Vec::new(),
        };
        links.into_iter().for_each(|link| *self.pairs.entry(link).or_default() += 1);
    }

    /// The links on which a share may be, the sum of the budgets of its longest way, and how many receivers a sender may have.
    fn of(&mut self, share: &PromisedShare) -> (Vec<LinkId>, u64, u64) {
        let budget = |times: &ShareTimes, link: LinkId| times.budgets.get(link.index()).map_or(0, |of| of.as_nanos());
        match &share.held {
            HeldShare::Pair(_, _, route) => {
                let links: Vec<LinkId> = route.hops.iter().map(|hop| hop.link).collect();
                let way = links.iter().map(|&link| budget(self.times, link)).sum();
                (links, way, 1)
            }
            HeldShare::Link(link) => (vec![*link], budget(self.times, *link), 1),
            HeldShare::Hose(members) => {
                let (mut links, mut way) = (BTreeMap::new(), 0);
                for (from, to) in pairs_of(members) {
                    way = way.max(self.paths.longest(from, to, |link| budget(self.times, link)));
                    links.extend(self.paths.parts(from, to).into_keys().map(|link| (link, ())));
                }
                (links.into_keys().collect(), way, (members.len() as u64).saturating_sub(1))
            }
            HeldShare::Objective(_) => (Vec::new(), 0, 0),
        }
    }
}

fn pairs_of(members: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    members.iter().flat_map(move |&from| members.iter().filter(move |&&to| to != from).map(move |&to| (from, to)))
}

/// What latency contracts have of a link: bit/s, and nanobits of grown bursts.
#[derive(Clone, Copy, Default)]
struct Reserved {
    rate: u128,
    bursts: u128,
}

/// By link.
fn residuals(claim: &Claim<'_>) -> Vec<Reserved> {
    let mut all = vec![Reserved::default(); claim.network.links().len()];
    for flow in &claim.flows {
        let rate = u128::from(flow.rate.bits_per_second());
        let mut burst = u128::from(flow.burst.get()) * 8_000_000_000;
        for (number, hop) in flow.route.hops.iter().enumerate() {
            let Some(of) = all.get_mut(hop.link.index()) else { continue };
            if number >= flow.covered {
                (of.rate, of.bursts) = (of.rate + rate, of.bursts + burst);
            }
            let budget = claim.budgets.get(hop.link.index()).and_then(|of| of.get(usize::from(hop.queue)));
            burst += rate * u128::from(budget.map_or(0, |budget| budget.as_nanos()));
        }
    }
    all
}

/// How long packets of the guaranteed class may wait at a link, rounded up; `None` if nothing is left for it.
fn wait(
    claim: &Claim<'_>,
    classes: &Classes,
    link: LinkId,
    reserved: &Reserved,
    pairs: u128,
    round_trip: Time,
) -> Option<Time> {
    let of = claim.network.link(link);
    let line = u128::from(of.rate.bits_per_second());
    let left = line.checked_sub(reserved.rate).filter(|&left| left > 0)?;
    let nanobits = |bytes: u64| u128::from(bytes) * 8_000_000_000;
    let frame = claim.max_frame.get(link.index()).map_or(0, |frame| frame.get());
    let frames = match claim.packetiser {
        PacketiserTerm::Subtracted => 2,
        PacketiserTerm::Omitted => 1,
    };
    let jitter = u128::from(claim.network.node(of.from).jitter.as_nanos());
    let debt = frames * nanobits(frame) + line * jitter + reserved.bursts;
    let quantum = |class| nanobits(classes.quantum(class, claim.max_frame[link.index()]).get());
    let (own, all) = (quantum(Class::Guaranteed), Class::SHARING.into_iter().map(quantum).sum::<u128>());
    let others = Class::SHARING.into_iter().filter(|&class| class != Class::Guaranteed);
    let turns: u128 = others.map(|class| quantum(class) + nanobits(frame)).sum();
    let first = Part::from_integer(turns) + Part::new(nanobits(frame) * (all - own), own);
    let part = Part::new(own, all);
    let eta = Part::new(u128::from(classes.target), 100);
    let windows = Part::from_integer(u128::from(round_trip.as_nanos()))
        * (Part::from_integer(2 * left) * part + Part::from_integer(line))
        * eta;
    let queued = (windows + Part::from_integer(pairs * nanobits(frame))) / part;
    let wait = (queued + Part::from_integer(debt) + first) / Part::from_integer(left);
    let rounded = if wait.is_zero() { 0 } else { wait.ceil().to_integer() };
    Some(Time::from_nanos(u64::try_from(rounded).unwrap_or(u64::MAX)))
}
