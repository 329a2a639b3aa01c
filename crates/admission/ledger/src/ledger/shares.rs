//! Shares of links below the latency queues: the rates that are left, their reservation and their release.

use std::sync::{Arc, OnceLock};

use wayleave_topology::{Class, LinkId, NodeId, NodeKind, Route, ShareId, SharedLink, ShortBuffer, StrictResidual};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::Ledger;
use crate::cuts::Cuts;
use crate::kernel::{Denial, QueueLimitKind};
use crate::paths::{LinkCost, PathTable};
use crate::shares::{
    Charges, Contribution, Effect, HoseCharge, LinkShares, Load, Place, ReservedShare, ShareDenial, SharePaths, Shares,
    Total, rate,
};

mod effect;

impl Ledger {
    /// Lets the ledger hold shares as well, if the network's queues are divided among classes. Where minima have a time, no packet of
    /// the guaranteed class waits at a link for longer than its budget: what the topology gives the queue of that class, otherwise
    /// `budget`. Hosts have the budget of theirs from `budget` alone.
    #[must_use]
    pub fn with_shares(mut self, budget: Time, charge: HoseCharge) -> Self {
        let Some(&classes) = self.network.classes() else { return self };
        let charges = Total::default().charges(charge);
        let link_shares = |(id, link): (LinkId, &wayleave_topology::Link)| {
            let queue = self.network.queues(id).get(usize::from(classes.queue_of(Class::Guaranteed)));
            let budget = queue.and_then(|queue| queue.budget).unwrap_or(budget);
            let round_trip = classes.round_trip.unwrap_or(Time::ZERO);
            let link = SharedLink { classes, line: link.rate, frame: self.model.largest_frame(link), round_trip };
            LinkShares { link, budget, own: None, charges }
        };
        let links: Vec<LinkShares> = self.network.links().map(link_shares).collect();
        let cost = |((_, link), shares): ((LinkId, &wayleave_topology::Link), &LinkShares)| LinkCost {
            transit: self.network.transit_time(link, shares.link.frame).as_nanos(),
            budget: shares.budget.as_nanos(),
        };
        let costs: Arc<[LinkCost]> = self.network.links().zip(&links).map(cost).collect();
        let all = Arc::new(PathTable::new(self.network.clone(), costs, vec![false; links.len()]));
        let tiers = Some(Cuts::of(&self.network)).filter(|cuts| cuts.regular && !all.has_direct_links());
        let loads = vec![Load::default(); tiers.as_ref().map_or(0, |tiers| tiers.cuts.len())];
        self.shares = Some(Box::new(Shares {
            charge,
            links,
            tiers: tiers.map(Arc::new),
            loads,
            all,
            open: None,
            held: Vec::new(),
            vacant: Vec::new(),
            turns: 0,
            latest: Arc::default(),
            longest_round_trip: Arc::new(OnceLock::new()),
        }));
        self
    }

    /// The same ledger with one record for each link, where it would have one for each cut of a regular network: slower, with the same
    /// decisions. For tests that compare the two.
    ///
    /// # Panics
    /// If shares are reserved.
    #[must_use]
    pub fn without_tiers(mut self) -> Self {
        if let Some(shares) = &mut self.shares {
            assert!(shares.held.is_empty(), "shares are reserved");
            (shares.tiers, shares.loads, shares.latest) = (None, Vec::new(), Arc::default());
        }
        self
    }

    /// Returns `true` if the ledger has one record for each cut of a regular network.
    pub fn has_tiers(&self) -> bool {
        self.shares.as_ref().is_some_and(|shares| shares.tiers.is_some())
    }

    /// Returns `true` if it holds shares.
    pub fn has_shares(&self) -> bool {
        self.shares.is_some()
    }

    /// A link with its classes, and the longest round trip of the pairs with minima that may use it.
    pub fn shared_link(&self, link: LinkId) -> Option<&SharedLink> {
        Some(&self.shares.as_ref()?.links[link.index()].link)
    }

    /// Ordered pairs of hosts that may have packets of minima on a link.
    pub fn pairs_on(&self, link: LinkId) -> u64 {
        self.shares.as_ref().map_or(0, |shares| shares.total(link).pairs())
    }

    /// Charge of hoses whose hosts choose paths.
    pub fn hose_charge(&self) -> Option<HoseCharge> {
        Some(self.shares.as_ref()?.charge)
    }

    /// The longest that packets of the guaranteed class may wait at a link, where minima have a time.
    pub fn share_budget(&self, link: LinkId) -> Option<Time> {
        Some(self.shares.as_ref()?.links[link.index()].budget)
    }

    /// Returns `true` if a minimum with a time may use a link: then its budget is kept.
    pub fn is_timed(&self, link: LinkId) -> bool {
        self.shares.is_some() && self.port(link).timed
    }

    /// The service that the latency contracts of a link leave the classes below them.
    pub fn residual(&self, link: LinkId) -> StrictResidual {
        self.residual_with(link, 0, 0)
    }

    /// The same with one more latency contract.
    fn residual_with(&self, link: LinkId, rate: i128, burst: i128) -> StrictResidual {
        let port = self.port(link);
        let bursts: i128 = self.queues_of(link).iter().map(|queue| queue.load.burst).sum();
        // All of the jitter delays these classes, whether it keeps the order or not.
        let own = port.debt + port.rate * port.spread;
        StrictResidual {
            rate: Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved - rate).unwrap_or(0)),
            debt: Amount::from_nanobits(own + bursts + burst),
        }
    }

    /// Rate that has been promised to a class on a link.
    pub fn promised_to(&self, link: LinkId, class: Class) -> Rate {
        rate(self.shares.as_ref().map_or(0, |shares| shares.links[link.index()].charges.of(class)))
    }

    /// Rate that can be promised to a class on a link beside all present promises.
    pub fn left_for(&self, link: LinkId, class: Class) -> Rate {
        if self.is_closed(link) { Rate::ZERO } else { self.left_once_open(link, class) }
    }

    pub(super) fn left_once_open(&self, link: LinkId, class: Class) -> Rate {
        let Some(shares) = &self.shares else { return Rate::ZERO };
        let link_shares = &shares.links[link.index()];
        let port = self.port(link);
        let left = Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved).unwrap_or(0));
        let promisable = link_shares.link.promisable(class, left).saturating_sub(self.promised_to(link, class));
        match class {
            Class::Guaranteed => promisable.min(self.left_to_carry(link)),
            _ => promisable,
        }
    }

    /// Returns the rate that the guaranteed class can carry on a link beside minima and their acknowledgements.
    fn left_to_carry(&self, link: LinkId) -> Rate {
        let Some(shares) = &self.shares else { return Rate::ZERO };
        let (port, link_shares) = (self.port(link), &shares.links[link.index()]);
        let left = Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved).unwrap_or(0));
        let carriable = link_shares.link.carriable(Class::Guaranteed, left);
        carriable.saturating_sub(rate(link_shares.charges.carried))
    }

    /// Returns `true` if one more latency contract leaves the guaranteed class its delays where a minimum has a time.
    pub(super) fn leaves_shares_in_time(&self, link: LinkId, rate: Rate, burst: Amount) -> bool {
        let Some(shares) = &self.shares else { return true };
        if !self.port(link).timed {
            return true;
        }
        let residual = self.residual_with(link, i128::from(rate.bits_per_second()), burst.nanobits());
        shares.links[link.index()].is_in_time(&residual, &shares.total(link))
    }

    /// The delay of the guaranteed class that one more latency contract would break.
    pub(crate) fn share_limit(&self, link: LinkId, rate: Rate, burst: Amount) -> Option<Denial> {
        let shares = self.shares.as_ref().filter(|_| self.has_rate(link, rate))?;
        let link_shares = &shares.links[link.index()];
        let burst = super::entering(self.gates[link.index()], rate, burst);
        if self.leaves_shares_in_time(link, rate, burst) {
            return None;
        }
        let residual = self.residual_with(link, i128::from(rate.bits_per_second()), burst.nanobits());
        let bound = link_shares.wait(&residual, &shares.total(link)).unwrap_or(Time::MAX);
        let queue = link_shares.link.classes.queue_of(Class::Guaranteed);
        Some(Denial { queue, limit: QueueLimitKind::Delay { bound, budget: link_shares.budget } })
    }

    /// Returns `true` if packets of the guaranteed class can wait on a link for longer than its budget already, so that no minimum with a
    /// time can use it.
    pub fn is_late(&self, link: LinkId) -> bool {
        let Some(shares) = &self.shares else { return false };
        let link_shares = &shares.links[link.index()];
        !link_shares.is_in_time(&self.residual(link), &shares.total(link))
    }

    /// The buffer of a switch port, if it may be too small for the backlog of minima there. Hosts queue in their
    /// memory.
    pub fn short_buffer(&self, link: LinkId) -> Option<ShortBuffer> {
        let shares = self.shares.as_ref()?;
        let link_shares = &shares.links[link.index()];
        let queue = link_shares.link.classes.queue_of(Class::Guaranteed);
        let buffer = self.network.queues(link).get(usize::from(queue))?.buffer;
        if shares.total(link).pairs() == 0 || self.network.node(self.network.link(link).from).kind != NodeKind::Switch {
            return None;
        }
        let needed = self.share_backlog(link).unwrap_or(Bytes::MAX);
        (needed > buffer).then_some(ShortBuffer { link, buffer, needed })
    }

    /// Every such buffer, in the order of links.
    pub fn short_buffers(&self) -> impl Iterator<Item = ShortBuffer> + '_ {
        self.network.links().filter_map(|(link, _)| self.short_buffer(link))
    }

    /// Reason for which a share does not fit; `None` if it does, or if the ledger holds none.
    ///
    /// A pair needs every link of its route. A hose or an objective counts on every link that packets between members
    /// may use, with all links open and as the network is; closed links have to have as much left as the others.
    pub fn share_denial(&self, share: &ReservedShare) -> Option<ShareDenial> {
        let effect = match self.effect(share) {
            Ok(effect) => effect,
            Err(denial) => return Some(denial),
        };
        self.effect_denial(share, &effect)
    }

    /// The same as if no link were closed: whether a share that has lost its route may keep what it had.
    pub fn share_denial_once_open(&self, share: &ReservedShare) -> Option<ShareDenial> {
        self.effect_denial(share, &self.base(share)?)
    }

    /// Largest minimum, or weight, with which a share would fit as it is; zero if none would.
    pub fn largest_that_fits(&self, share: &ReservedShare) -> Rate {
        let Ok(effect) = self.effect(share) else { return Rate::ZERO };
        let (mut fits, mut not) = (0, share.min().bits_per_second());
        while not - fits > 1 {
            let middle = fits + (not - fits) / 2;
            let with = share.with_min(Rate::from_bits_per_second(middle));
            if self.effect_denial(&with, &effect).is_none() { fits = middle } else { not = middle }
        }
        Rate::from_bits_per_second(fits)
    }

    fn effect_denial(&self, share: &ReservedShare, effect: &Effect) -> Option<ShareDenial> {
        let shares = self.shares.as_ref()?;
        effect.places.iter().find_map(|(place, footprint)| {
            let one = Contribution::of(share, effect, *place, footprint);
            let with = |before: Total| {
                let after = before.with(&one);
                (after, after.charges(shares.charge))
            };
            // Links of a cut without shares of their own hold equal amounts.
            let mut of_cut = None;
            shares.links_of(*place).find_map(|link| {
                let is_alone = place.cut().is_none() || shares.links[link.index()].own.is_some();
                let (after, charges) = match of_cut {
                    _ if is_alone => with(shares.total(link)),
                    known => *of_cut.insert(known.unwrap_or_else(|| with(shares.total(link)))),
                };
                self.link_denial(link, share.class(), &after, &charges)
            })
        })
    }

    /// The reason why a link cannot hold these shares; `None` if it can.
    fn link_denial(&self, link: LinkId, class: Class, after: &Total, charges: &Charges) -> Option<ShareDenial> {
        let shares = self.shares.as_ref()?;
        let link_shares = &shares.links[link.index()];
        let port = self.port(link);
        let left = Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved).unwrap_or(0));
        let (had, has) = (link_shares.charges.of(class), charges.of(class));
        let promisable = link_shares.link.promisable(class, left);
        if has > had && rate(has) > promisable {
            return Some(ShareDenial::Rate {
                link,
                asked: rate(has - had),
                left: promisable.saturating_sub(rate(had)),
            });
        }
        if class != Class::Guaranteed {
            return None;
        }
        let asked = rate(charges.carried.saturating_sub(link_shares.charges.carried));
        let left = self.left_to_carry(link);
        if asked > left {
            return Some(ShareDenial::Rate { link, asked, left });
        }
        // More pairs, or pairs that are farther apart, delay those that have a time already.
        if after.timed() == 0 {
            return None;
        }
        let bound = link_shares.wait(&self.residual(link), after).unwrap_or(Time::MAX);
        let budget = link_shares.budget;
        (bound > budget).then_some(ShareDenial::Delay { link, bound, budget })
    }

    /// Returns `true` if closed links keep a share from the rate that it is promised: no open path joins two members,
    /// or a link of a pair's route is closed.
    pub fn is_parted(&self, share: &ReservedShare) -> bool {
        matches!(self.effect(share), Err(ShareDenial::Closed(_)))
    }

    /// Returns `true` if a share is proven: on every link that its packets may use, what is charged covers every choice of paths. Of an
    /// objective it means that its weight fits there.
    pub fn is_proven(&self, share: &ReservedShare) -> bool {
        let Some(shares) = &self.shares else { return false };
        if share.class() == Class::Objective || shares.charge == HoseCharge::EveryPath {
            return true;
        }
        let covered = |link: LinkId| shares.links[link.index()].charges.is_covered;
        self.current_effect(share).places.iter().all(|&(place, _)| match place {
            Place::Return(_) => true,
            Place::Link(link) => covered(link),
            Place::Cut(_) => shares.links_of(place).all(covered),
        })
    }

    /// Returns a number that changes whenever [`Ledger::is_proven`] may have another answer for shares that are held.
    pub fn certainty_turns(&self) -> u64 {
        self.shares.as_ref().map_or(0, |shares| shares.turns)
    }

    /// Figures of the paths of a share, with all links open and as the network is.
    pub fn share_paths(&self, share: &ReservedShare) -> SharePaths {
        let effect = self.current_effect(share);
        let least = self.network.classes().and_then(|classes| classes.round_trip).unwrap_or(Time::ZERO);
        SharePaths {
            round_trip: Time::from_nanos(effect.round_trip).max(least),
            budget: Time::from_nanos(effect.budget),
            hops: effect.hops,
        }
    }

    /// Time after which the last packets of a share have left all links, once its senders have stopped: a round trip, and as many of the
    /// longest waits on its links as a path has links. Saturates where nothing is left for the class.
    pub fn share_drain(&self, share: &ReservedShare) -> Time {
        let Some(shares) = &self.shares else { return Time::ZERO };
        let paths = self.share_paths(share);
        let wait = |link: LinkId| {
            let link_shares = &shares.links[link.index()];
            // Contracts that come during the drain may use the whole budget.
            if self.port(link).timed {
                return link_shares.budget;
            }
            link_shares.wait(&self.residual(link), &shares.total(link)).unwrap_or(Time::MAX)
        };
        let longest = self.links_of_share(share).into_iter().map(wait).max().unwrap_or(Time::ZERO);
        let waits = longest.as_nanos().saturating_mul(paths.hops);
        Time::from_nanos(paths.round_trip.as_nanos().saturating_add(waits))
    }

    /// Reserves a share without asking whether it fits: that is the scheme's to know. `None` if the ledger holds none.
    pub fn reserve_share(&mut self, share: ReservedShare) -> Option<ShareId> {
        let held = self.hold(share)?;
        self.apply(&held, true);
        let shares = self.shares.as_mut()?;
        let id = shares.vacant.pop().unwrap_or(ShareId(shares.held.len() as u32));
        if id.index() == shares.held.len() {
            shares.held.push(None);
        }
        shares.held[id.index()] = Some(held);
        Some(id)
    }

    /// Takes back what a share holds; `None` if there is no such share.
    pub fn release_share(&mut self, id: ShareId) -> Option<ReservedShare> {
        let shares = self.shares.as_mut()?;
        let held = shares.held.get_mut(id.index())?.take()?;
        shares.vacant.push(id);
        self.apply(&held, false);
        Some(held.share)
    }

    /// A share.
    pub fn share(&self, id: ShareId) -> Option<&ReservedShare> {
        self.shares.as_ref()?.held.get(id.index())?.as_ref().map(|held| &held.share)
    }

    /// All shares.
    pub fn shares(&self) -> impl Iterator<Item = (ShareId, &ReservedShare)> {
        let held = self.shares.iter().flat_map(|shares| shares.held.iter().enumerate());
        held.filter_map(|(index, held)| Some((ShareId(index as u32), &held.as_ref()?.share)))
    }

    /// The links on which a share counts, or would; without those that only its acknowledgements use.
    pub fn links_of_share(&self, share: &ReservedShare) -> Vec<LinkId> {
        let Some(shares) = &self.shares else { return Vec::new() };
        let effect = self.current_effect(share);
        let counted = effect.places.iter().filter(|(place, _)| !matches!(place, Place::Return(_)));
        counted.flat_map(|&(place, _)| shares.links_of(place)).collect()
    }

    /// The shares that count on a link.
    pub fn shares_on(&self, link: LinkId) -> Vec<ShareId> {
        let Some(shares) = &self.shares else { return Vec::new() };
        let cut = shares.tiers.as_ref().and_then(|tiers| tiers.cut_of(link));
        let is_there = |&(place, _): &(Place, _)| match place {
            Place::Link(other) => other == link,
            Place::Cut(other) => Some(other) == cut,
            Place::Return(_) => false,
        };
        let passes = |share: &ReservedShare| self.current_effect(share).places.iter().any(is_there);
        self.shares().filter(|(_, share)| passes(share)).map(|(id, _)| id).collect()
    }

    /// Updates the figures of the links of a place that searches read, after its shares have changed; `is_less` if something was
    /// released there.
    fn refresh_shares(&mut self, place: Place, is_less: bool) {
        let Some(shares) = &mut self.shares else { return };
        let (tiers, one) = (shares.tiers.clone(), place.link());
        let of_cut = tiers.iter().flat_map(|tiers| place.cut().into_iter().flat_map(|cut| tiers.links(cut)));
        // Links of a cut without shares of their own hold equal amounts.
        let mut cut_total = None;
        for link in one.into_iter().chain(of_cut) {
            let find = || {
                let total = shares.total(link);
                let charges = total.charges(shares.charge);
                (total, charges, charges.needed(&shares.links[link.index()].link))
            };
            let is_alone = place.cut().is_none() || shares.links[link.index()].own.is_some();
            let (total, charges, needed) = match cut_total {
                _ if is_alone => find(),
                known => *cut_total.insert(known.unwrap_or_else(find)),
            };
            let link_shares = &mut shares.links[link.index()];
            shares.turns += u64::from(link_shares.charges.is_covered != charges.is_covered);
            link_shares.set(&total, charges);
            let port = &mut self.ports[link.index()];
            (port.shared, port.timed) = (needed, total.timed() > 0);
            // Results that searches remember of this link are no longer true.
            port.changes = port.changes.wrapping_add(1);
            port.releases = port.releases.wrapping_add(u32::from(is_less));
            self.gates[link.index()] = port.gate();
        }
    }

    /// Returns `true` if the classes of a link keep their promises. For callers that have filled a ledger without
    /// asking.
    pub fn keeps_shares(&self, link: LinkId) -> bool {
        let Some(shares) = &self.shares else { return true };
        let port = self.port(link);
        port.reserved + port.shared <= port.rate
            && (!port.timed || shares.links[link.index()].is_in_time(&self.residual(link), &shares.total(link)))
    }

    /// Equal if the promises of every link are.
    pub(super) fn same_shares(&self, other: &Self) -> bool {
        match (&self.shares, &other.shares) {
            (None, None) => true,
            (Some(one), Some(two)) => one.links == two.links && one.loads == two.loads,
            _ => false,
        }
    }
}

impl ReservedShare {
    /// The same share with another minimum, or weight.
    #[must_use]
    pub fn with_min(&self, rate: Rate) -> Self {
        let mut share = self.clone();
        match &mut share {
            Self::Pair { min, .. } | Self::Hose { min, .. } | Self::Objective { weight: min, .. } => *min = rate,
        }
        share
    }

    /// The hosts at the ends of a pair's route; `None` of hoses, objectives, and minima of single links.
    pub fn ends(&self, network: &wayleave_topology::Network) -> Option<(NodeId, NodeId)> {
        let Self::Pair { route: Route { hops }, .. } = self else { return None };
        let ends = (network.link(hops.first()?.link).from, network.link(hops.last()?.link).to);
        let is_host = |node| network.node(node).kind == NodeKind::Host;
        (is_host(ends.0) && is_host(ends.1)).then_some(ends)
    }
}
