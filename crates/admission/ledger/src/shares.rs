//! Promises to the classes below the latency queues: the figures that a share adds to links, and those that a link
//! has promised.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use wayleave_topology::{Class, LinkId, NodeId, Route, ShareId, SharedLink, StrictResidual};
use wayleave_units::{Rate, Time};

use crate::cuts::{CutId, Cuts};
use crate::paths::{Footprint, PathTable};
use crate::transport::SCALE;

/// Path selection of a hose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathSpread {
    /// Every node splits evenly what it forwards over all links that lead nearer.
    AllPaths,
    /// Every pair of hosts has one path at a time, which hosts choose and change.
    OnePath,
}

/// Charge of hoses whose hosts choose paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HoseCharge {
    /// As if they split evenly, and the largest minimum besides, where that is less than [`HoseCharge::EveryPath`]. Where it is, hoses are
    /// measured, not proven.
    #[default]
    Split,
    /// The largest load for any choice of paths: always proven.
    EveryPath,
}

/// Promise of a contract about bandwidth or of an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReservedShare {
    /// A minimum along a route, in the guaranteed class.
    Pair {
        /// The minimum.
        min: Rate,
        /// Its links; the queues are those of the class.
        route: Route,
        /// `true` if it is available within a time: then delays of the class are kept on its links.
        is_timed: bool,
    },
    /// A minimum for every member, in the guaranteed class.
    Hose {
        /// The minimum of each.
        min: Rate,
        /// The hosts.
        members: Vec<NodeId>,
        /// Path selection.
        spread: PathSpread,
        /// As of a pair.
        is_timed: bool,
    },
    /// A weight on every link that packets between members may use, in the objective class.
    Objective {
        /// The weight.
        weight: Rate,
        /// The hosts.
        members: Vec<NodeId>,
    },
}

impl ReservedShare {
    /// Its class.
    pub const fn class(&self) -> Class {
        match self {
            Self::Pair { .. } | Self::Hose { .. } => Class::Guaranteed,
            Self::Objective { .. } => Class::Objective,
        }
    }

    /// Its minimum, or its weight.
    pub const fn min(&self) -> Rate {
        match self {
            Self::Pair { min, .. } | Self::Hose { min, .. } | Self::Objective { weight: min, .. } => *min,
        }
    }

    pub(crate) const fn is_timed(&self) -> bool {
        matches!(self, Self::Pair { is_timed: true, .. } | Self::Hose { is_timed: true, .. })
    }

    pub(crate) fn members(&self) -> Option<&[NodeId]> {
        match self {
            Self::Pair { .. } => None,
            Self::Hose { members, .. } | Self::Objective { members, .. } => Some(members),
        }
    }
}

/// Reason for which a share does not fit: the first link, in order, on which it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareDenial {
    /// No path joins two of its hosts, even with all links open.
    NoPath {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
    },
    /// A link is closed.
    Closed(LinkId),
    /// The class has less left.
    Rate {
        /// The link.
        link: LinkId,
        /// Rate that the share would add there.
        asked: Rate,
        /// Rate that could be promised there beside everything else.
        left: Rate,
    },
    /// Packets of the class could wait for longer than the link's budget for them.
    Delay {
        /// The link.
        link: LinkId,
        /// Bound on their wait.
        bound: Time,
        /// The budget.
        budget: Time,
    },
}

/// Figures of the paths of a share: of the route of a pair, of all paths that members may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharePaths {
    /// Longest round trip without queues.
    pub round_trip: Time,
    /// Largest sum of budgets of the guaranteed class along a path.
    pub budget: Time,
    /// Most links of a path.
    pub hops: u64,
}

/// Acknowledgements and probes take a minimum divided by this in the other direction. An acknowledgement has 84 B on
/// the wire and answers a segment of 1,538 B (5.5 %), and the answer to a probe of uFAB comes every 4 kB (docs/theory/admission.md, section 14).
pub(crate) const RETURNED: u64 = 10;

/// Links on which a share counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// All links of a cut.
    Cut(CutId),
    /// One link.
    Link(LinkId),
    /// One link that only acknowledgements use.
    Return(LinkId),
}

impl Place {
    pub(crate) const fn cut(self) -> Option<CutId> {
        if let Self::Cut(cut) = self { Some(cut) } else { None }
    }

    pub(crate) const fn link(self) -> Option<LinkId> {
        match self {
            Self::Link(link) | Self::Return(link) => Some(link),
            Self::Cut(_) => None,
        }
    }
}

/// Links and loads of a share, as the network is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) places: Vec<(Place, Footprint)>,
    /// ns.
    pub(crate) round_trip: u64,
    /// ns.
    pub(crate) budget: u64,
    pub(crate) hops: u64,
}

/// Sums of shares at a link, or at all links of a cut; a function of the shares alone, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Minima of hoses whose hosts choose paths, each with the number of hoses that have it.
    minima: BTreeMap<u64, u32>,
    /// Round trips of shares of the guaranteed class, each with the number of shares that have it.
    round_trips: BTreeMap<u64, u32>,
    /// Of all of these.
    total: Total,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    /// Minima of pairs, bit/s.
    routed: u128,
    /// Acknowledgements of pairs, bit/s.
    returned: u128,
    /// Hoses that split evenly, bit/s in parts of [`SCALE`].
    even: u128,
    /// Hoses whose hosts choose paths, as if they split evenly; likewise.
    chosen_even: u128,
    /// The same for any choice of paths, bit/s.
    chosen_full: u128,
    /// Weights, bit/s.
    objective: u128,
    /// Shares with a time.
    timed: u32,
    /// Ordered pairs of hosts that may have packets of minima there.
    pairs: u64,
}

/// One share at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution {
    sums: Sums,
    /// Its minimum, if its hosts choose paths.
    chosen: Option<u64>,
    /// Its round trip, if it is in the guaranteed class.
    round_trip: Option<u64>,
}

impl Contribution {
    pub(crate) fn of(share: &ReservedShare, effect: &Effect, place: Place, footprint: &Footprint) -> Self {
        let bits = u128::from(share.min().bits_per_second());
        let mut sums = Sums::default();
        if let Place::Return(_) = place {
            sums.returned = bits.div_ceil(u128::from(RETURNED));
            return Self { sums, chosen: None, round_trip: None };
        }
        let mut chosen = None;
        match share {
            ReservedShare::Pair { .. } => sums.routed = bits,
            ReservedShare::Hose { spread: PathSpread::AllPaths, .. } => sums.even = bits.saturating_mul(footprint.even),
            ReservedShare::Hose { spread: PathSpread::OnePath, .. } => {
                sums.chosen_even = bits.saturating_mul(footprint.even);
                sums.chosen_full = bits.saturating_mul(u128::from(footprint.full));
                chosen = Some(share.min().bits_per_second());
            }
            ReservedShare::Objective { .. } => {
                sums.objective = bits;
                return Self { sums, chosen, round_trip: None };
            }
        }
        (sums.timed, sums.pairs) = (u32::from(share.is_timed()), footprint.pairs);
        Self { sums, chosen, round_trip: Some(effect.round_trip) }
    }
}

impl Load {
    /// Returns `true` without any share.
    pub(crate) fn is_empty(&self) -> bool {
        self.total.sums == Sums::default() && self.minima.is_empty() && self.round_trips.is_empty()
    }

    /// Adds a contribution, or takes it back.
    pub(crate) fn change(&mut self, one: &Contribution, comes: bool) {
        if comes { self.add(one) } else { self.remove(one) }
    }

    fn add(&mut self, one: &Contribution) {
        self.total = self.total.with(one);
        one.chosen.into_iter().for_each(|min| *self.minima.entry(min).or_default() += 1);
        one.round_trip.into_iter().for_each(|time| *self.round_trips.entry(time).or_default() += 1);
    }

    fn remove(&mut self, one: &Contribution) {
        one.chosen.into_iter().for_each(|min| remove(&mut self.minima, min));
        one.round_trip.into_iter().for_each(|time| remove(&mut self.round_trips, time));
        let last = |counts: &BTreeMap<u64, u32>| counts.last_key_value().map_or(0, |(&key, _)| key);
        let (largest, round_trip) = (last(&self.minima), last(&self.round_trips));
        self.total = Total { sums: self.total.sums.minus(one.sums), largest, round_trip };
    }
}

fn remove(counts: &mut BTreeMap<u64, u32>, key: u64) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self {
            routed: self.routed + other.routed,
            returned: self.returned + other.returned,
            even: self.even.saturating_add(other.even),
            chosen_even: self.chosen_even.saturating_add(other.chosen_even),
            chosen_full: self.chosen_full.saturating_add(other.chosen_full),
            objective: self.objective + other.objective,
            timed: self.timed + other.timed,
            pairs: self.pairs.saturating_add(other.pairs),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            routed: self.routed - other.routed,
            returned: self.returned - other.returned,
            even: self.even - other.even,
            chosen_even: self.chosen_even - other.chosen_even,
            chosen_full: self.chosen_full - other.chosen_full,
            objective: self.objective - other.objective,
            timed: self.timed - other.timed,
            pairs: self.pairs - other.pairs,
        }
    }
}

/// Charges of a link, bit/s, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    /// Of the guaranteed class.
    pub(crate) guaranteed: u128,
    /// The same with acknowledgements and probes.
    pub(crate) carried: u128,
    /// Of the objective class.
    pub(crate) objective: u128,
    /// The charge covers every choice of paths.
    pub(crate) is_covered: bool,
}

impl Charges {
    pub(crate) const fn of(&self, class: Class) -> u128 {
        match class {
            Class::Guaranteed => self.guaranteed,
            Class::Objective => self.objective,
            Class::Latency | Class::BestEffort => 0,
        }
    }

    /// bit/s of a line that latency contracts have to leave.
    pub(crate) fn needed(&self, link: &SharedLink) -> i128 {
        let all = [
            link.needed(Class::Guaranteed, rate(self.guaranteed)),
            link.needed_to_carry(Class::Guaranteed, rate(self.carried)),
            link.needed(Class::Objective, rate(self.objective)),
        ];
        i128::from(all.into_iter().map(Rate::bits_per_second).max().unwrap_or(0))
    }
}

/// A rate, which saturates.
pub(crate) fn rate(bits: u128) -> Rate {
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// All shares of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    sums: Sums,
    /// Largest minimum of a hose whose hosts choose paths.
    largest: u64,
    /// ns.
    round_trip: u64,
}

impl Total {
    /// With these as well.
    fn plus(self, other: &Self) -> Self {
        Self {
            sums: self.sums.plus(other.sums),
            largest: self.largest.max(other.largest),
            round_trip: self.round_trip.max(other.round_trip),
        }
    }

    /// With one more share.
    pub(crate) fn with(self, one: &Contribution) -> Self {
        Self {
            sums: self.sums.plus(one.sums),
            largest: self.largest.max(one.chosen.unwrap_or(0)),
            round_trip: self.round_trip.max(one.round_trip.unwrap_or(0)),
        }
    }

    /// Charges of these shares.
    pub(crate) fn charges(&self, charge: HoseCharge) -> Charges {
        let even = self.sums.even.div_ceil(u128::from(SCALE));
        let full = even.saturating_add(self.sums.chosen_full);
        let hoses = match charge {
            HoseCharge::EveryPath => full,
            HoseCharge::Split if self.sums.chosen_full == 0 => full,
            HoseCharge::Split => {
                let all = self.sums.even.saturating_add(self.sums.chosen_even).div_ceil(u128::from(SCALE));
                full.min(all.saturating_add(u128::from(self.largest)))
            }
        };
        let guaranteed = self.sums.routed.saturating_add(hoses);
        let returned = self.sums.returned + hoses.div_ceil(u128::from(RETURNED));
        let carried = guaranteed.saturating_add(returned);
        Charges { guaranteed, carried, objective: self.sums.objective, is_covered: hoses == full }
    }

    /// Shares with a time.
    pub(crate) const fn timed(&self) -> u32 {
        self.sums.timed
    }

    /// Ordered pairs of hosts that may have packets of minima there.
    pub(crate) const fn pairs(&self) -> u64 {
        self.sums.pairs
    }

    /// Longest round trip of its pairs, not below the topology's.
    fn round_trip(&self, link: &SharedLink) -> Time {
        Time::from_nanos(self.round_trip).max(link.classes.round_trip.unwrap_or(Time::ZERO))
    }
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkShares {
    /// With the round trip of the pairs that may use the link.
    pub(crate) link: SharedLink,
    /// Longest wait of packets of the guaranteed class, where minima have a time.
    pub(crate) budget: Time,
    /// Shares that count on this link alone, if there are any.
    pub(crate) own: Option<Box<Load>>,
    /// Of all shares that count here.
    pub(crate) charges: Charges,
}

impl LinkShares {
    pub(crate) fn set(&mut self, total: &Total, charges: Charges) {
        self.charges = charges;
        self.link.round_trip = total.round_trip(&self.link);
    }

    /// Longest wait of packets of the guaranteed class with these shares; `None` if nothing is left for the class.
    pub(crate) fn wait(&self, residual: &StrictResidual, total: &Total) -> Option<Time> {
        let link = SharedLink { round_trip: total.round_trip(&self.link), ..self.link };
        link.longest_wait(residual, total.pairs())
    }

    /// Returns `true` if packets of the guaranteed class wait no longer than their budget with these shares.
    pub(crate) fn is_in_time(&self, residual: &StrictResidual, total: &Total) -> bool {
        self.wait(residual, total).is_some_and(|wait| wait <= self.budget)
    }
}

/// A share that is held.
#[derive(Clone, Debug)]
pub(crate) struct LedgerShare {
    pub(crate) share: ReservedShare,
    /// With all links open, where that is not the record of its cuts.
    pub(crate) base: Option<Arc<Effect>>,
    /// As the network is, if closed links make a difference.
    pub(crate) now: Option<Arc<Effect>>,
}

/// Effect of a set of members with all links open, and two of them that nothing joins.
#[derive(Clone, Debug)]
pub(crate) struct MemberSetEffect {
    pub(crate) effect: Effect,
    pub(crate) unjoined: Option<(NodeId, NodeId)>,
}

/// A set of members with the paths that were found for it.
#[derive(Clone, Debug)]
pub(crate) struct CachedEffect {
    pub(crate) members: Vec<NodeId>,
    pub(crate) with_loads: bool,
    pub(crate) found: MemberSetEffect,
}

/// All shares of a ledger.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(crate) charge: HoseCharge,
    pub(crate) links: Vec<LinkShares>,
    /// Of a regular network.
    pub(crate) tiers: Option<Arc<Cuts>>,
    /// By cut.
    pub(crate) loads: Vec<Load>,
    /// Paths over all links.
    pub(crate) all: Arc<PathTable>,
    /// Paths over the open links, if any is closed.
    pub(crate) open: Option<Arc<PathTable>>,
    pub(crate) held: Vec<Option<LedgerShare>>,
    pub(crate) vacant: Vec<ShareId>,
    /// Number of times that a link became covered, or ceased to be.
    pub(crate) turns: u64,
    /// The set of members that was asked for last, since a decision asks several times.
    pub(crate) latest: Arc<Mutex<Option<CachedEffect>>>,
    /// Longest round trip of the network, ns, once it is needed: for minima of single links, whose pairs are not known.
    pub(crate) longest_round_trip: Arc<OnceLock<u64>>,
}

impl Shares {
    /// Sums of a link.
    pub(crate) fn total(&self, link: LinkId) -> Total {
        let cut = self.tiers.as_ref().and_then(|tiers| tiers.cut_of(link)).map(|cut| &self.loads[cut as usize]);
        match (&self.links[link.index()].own, cut) {
            (None, None) => Total::default(),
            (Some(only), None) => only.total,
            (None, Some(only)) => only.total,
            (Some(own), Some(cut)) => own.total.plus(&cut.total),
        }
    }

    /// Links of a place.
    pub(crate) fn links_of(&self, place: Place) -> impl Iterator<Item = LinkId> + '_ {
        let cut = place.cut().zip(self.tiers.as_ref());
        place.link().into_iter().chain(cut.into_iter().flat_map(|(cut, tiers)| tiers.links(cut)))
    }
}
