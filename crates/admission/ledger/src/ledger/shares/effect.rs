//! Links on which a share counts: those of its route, or all links that packets between its members may use.
//!
//! Every figure is the larger of that with all links open and that of the network as it is. So a link that fails adds
//! to the links that are used instead. One that is repaired never adds more than a share was admitted with, as long
//! as it was the only one.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use wayleave_topology::{LinkId, NodeId, Route};

use super::super::Ledger;
use crate::paths::{Footprint, Footprints, PathTable};
use crate::shares::{
    CachedEffect, Contribution, Effect, LedgerShare, MemberSetEffect, Place, ReservedShare, ShareDenial, Shares,
};

/// A pair on a link.
const ONE: Footprint = Footprint { full: 1, even: 0, pairs: 1 };

impl Ledger {
    /// Returns the effect of a share that is not held.
    ///
    /// # Errors
    /// If no path joins two of its hosts, or none that is open.
    pub(super) fn effect(&self, share: &ReservedShare) -> Result<Effect, ShareDenial> {
        let Some(shares) = &self.shares else { return Ok(Effect::default()) };
        let base = match share {
            ReservedShare::Pair { route, .. } => self.of_route(shares, route, share.ends(&self.network), None),
            ReservedShare::Hose { members, .. } | ReservedShare::Objective { members, .. } => {
                of_members(shares, share, members)
            }
        };
        if let Some((from, to)) = base.unjoined {
            return Err(ShareDenial::NoPath { from, to });
        }
        match self.with_closed(shares, share, base.effect) {
            (effect, None) => Ok(effect),
            (_, Some(closed)) => Err(ShareDenial::Closed(closed)),
        }
    }

    /// The same of a share that is held, or would be: parts without an open path count where they did.
    pub(super) fn current_effect(&self, share: &ReservedShare) -> Effect {
        let Some(shares) = &self.shares else { return Effect::default() };
        self.base(share).map_or_else(Effect::default, |base| self.with_closed(shares, share, base).0)
    }

    /// The same with all links open; `None` if the ledger holds no shares.
    pub(super) fn base(&self, share: &ReservedShare) -> Option<Effect> {
        let shares = self.shares.as_ref()?;
        let found = match share {
            ReservedShare::Pair { route, .. } => self.of_route(shares, route, share.ends(&self.network), None),
            ReservedShare::Hose { members, .. } | ReservedShare::Objective { members, .. } => {
                of_members(shares, share, members)
            }
        };
        Some(found.effect)
    }

    /// Finds the effect of a pair: it counts on its route, and its acknowledgements in the other direction of each cable. Where a cable has
    /// none, or it is closed, they may use every path back. `open`: the same over the open links as well.
    fn of_route(
        &self,
        shares: &Shares,
        route: &Route,
        ends: Option<(NodeId, NodeId)>,
        open: Option<&PathTable>,
    ) -> MemberSetEffect {
        let links: Vec<LinkId> = route.hops.iter().map(|hop| hop.link).collect();
        let forward = shares.all.figures_along(links.iter().copied());
        let (mut answers, mut slowest, mut unjoined) = (Vec::new(), 0, None);
        for paths in std::iter::once(&*shares.all).chain(open) {
            let reverse = |&link: &LinkId| self.network.reverse(link).filter(|&backward| paths.is_open(backward));
            let backward: Vec<LinkId> = links.iter().rev().filter_map(reverse).collect();
            answers.extend(backward.iter().copied());
            let figures = match ends {
                Some((from, to)) if backward.len() < links.len() => {
                    answers.extend(paths.links_between(to, from));
                    unjoined = unjoined.or(Some((to, from)).filter(|_| paths.figures_between(to, from).is_none()));
                    paths.figures_between(to, from)
                }
                _ => Some(paths.figures_along(backward.into_iter())),
            };
            slowest = slowest.max(figures.map_or(0, |figures| figures.transit));
        }
        answers.sort_unstable();
        answers.dedup();
        let round_trip = match ends {
            Some(_) => forward.transit + slowest,
            None => self.longest_round_trip(shares),
        };
        let places = links.into_iter().map(|link| (Place::Link(link), ONE));
        let backward = answers.into_iter().map(|link| (Place::Return(link), Footprint::default()));
        let places = places.chain(backward).collect();
        MemberSetEffect { effect: Effect { places, round_trip, budget: forward.budget, hops: forward.hops }, unjoined }
    }

    /// Longest round trip of the network, for minima whose pairs are not known.
    fn longest_round_trip(&self, shares: &Shares) -> u64 {
        let longest = || self.network.longest_round_trip(|link| self.model.largest_frame(link)).as_nanos();
        *shares.longest_round_trip.get_or_init(longest)
    }

    /// The effect with the changes that closed links make, and a closed link that keeps two of its hosts apart, if
    /// there is one.
    fn with_closed(&self, shares: &Shares, share: &ReservedShare, base: Effect) -> (Effect, Option<LinkId>) {
        let Some(open) = &shares.open else { return (base, None) };
        let links = || {
            let places = base.places.iter();
            places.flat_map(|&(place, footprint)| shares.links_of(place).map(move |link| (link, footprint)))
        };
        let Some(closed) = links().map(|(link, _)| link).filter(|&link| self.is_closed(link)).min() else {
            return (base, None);
        };
        let members = match share {
            ReservedShare::Pair { route, .. } => {
                let lost = route.hops.iter().map(|hop| hop.link).find(|&link| self.is_closed(link));
                let MemberSetEffect { effect, unjoined } =
                    self.of_route(shares, route, share.ends(&self.network), Some(open));
                return (effect, lost.or(unjoined.map(|_| closed)));
            }
            ReservedShare::Hose { members, .. } | ReservedShare::Objective { members, .. } => members,
        };
        let mut all: BTreeMap<LinkId, Footprint> = links().collect();
        let now = open.footprints(members, needs_loads(share));
        for (link, footprint) in &now.links {
            let of_link = all.entry(*link).or_default();
            *of_link = of_link.larger(*footprint);
        }
        let effect = Effect {
            places: all.into_iter().map(|(link, footprint)| (Place::Link(link), footprint)).collect(),
            round_trip: base.round_trip.max(now.round_trip),
            budget: base.budget.max(now.budget),
            hops: base.hops.max(now.hops),
        };
        (effect, now.unjoined.map(|_| closed))
    }

    /// A share with its remembered effect.
    pub(super) fn hold(&self, share: ReservedShare) -> Option<LedgerShare> {
        let shares = self.shares.as_ref()?;
        let base = (shares.tiers.is_none() || share.members().is_none()).then(|| self.base(&share)).flatten();
        let mut held = LedgerShare { share, base: base.map(Arc::new), now: None };
        held.now = self.with_links_closed(&held);
        Some(held)
    }

    /// Returns the effect of a share over the open links; `None` if closed links do not change it.
    fn with_links_closed(&self, held: &LedgerShare) -> Option<Arc<Effect>> {
        let shares = self.shares.as_ref().filter(|shares| shares.open.is_some())?;
        let base = match &held.base {
            Some(base) => Effect::clone(base),
            None => self.base(&held.share)?,
        };
        let (effect, _) = self.with_closed(shares, &held.share, base.clone());
        (effect != base).then(|| Arc::new(effect))
    }

    /// Adds what a share puts on links, or takes it back.
    pub(super) fn apply(&mut self, held: &LedgerShare, comes: bool) {
        let Some(shares) = self.shares.as_mut() else { return };
        let of_cuts;
        let effect = match (held.now.as_deref().or(held.base.as_deref()), held.share.members()) {
            (Some(effect), _) => effect,
            (None, Some(members)) => {
                of_cuts = of_members(shares, &held.share, members).effect;
                &of_cuts
            }
            (None, None) => return,
        };
        for (place, footprint) in &effect.places {
            let one = Contribution::of(&held.share, effect, *place, footprint);
            match *place {
                Place::Cut(cut) => shares.loads[cut as usize].change(&one, comes),
                Place::Link(link) | Place::Return(link) => {
                    let own = &mut shares.links[link.index()].own;
                    own.get_or_insert_default().change(&one, comes);
                    own.take_if(|load| load.is_empty());
                }
            }
        }
        let places: Vec<Place> = effect.places.iter().map(|&(place, _)| place).collect();
        places.into_iter().for_each(|place| self.refresh_shares(place, !comes));
    }

    /// After links were closed or opened: shares whose paths have changed count where they are now.
    pub(in crate::ledger) fn follow_links(&mut self) {
        let Some(shares) = self.shares.as_mut() else { return };
        let closed: Vec<bool> = self.ports.iter().map(|port| port.closed).collect();
        shares.open = closed.contains(&true).then(|| Arc::new(shares.all.with_closed(closed)));
        for index in 0..shares_held(self) {
            let held = self.shares.as_mut().and_then(|shares| shares.held[index].take());
            let Some(mut held) = held else { continue };
            let now = self.with_links_closed(&held);
            if now != held.now {
                self.apply(&held, false);
                held.now = now;
                self.apply(&held, true);
            }
            if let Some(shares) = &mut self.shares {
                shares.held[index] = Some(held);
            }
        }
    }
}

fn shares_held(ledger: &Ledger) -> usize {
    ledger.shares.as_ref().map_or(0, |shares| shares.held.len())
}

/// Finds the effect of members with all links open, or remembers it.
fn of_members(shares: &Shares, share: &ReservedShare, members: &[NodeId]) -> MemberSetEffect {
    let with_loads = needs_loads(share);
    let mut latest = shares.latest.lock().unwrap_or_else(PoisonError::into_inner);
    let known = latest.as_ref().filter(|latest| latest.with_loads == with_loads && latest.members == members);
    if let Some(latest) = known {
        return latest.found.clone();
    }
    let found = find_of_members(shares, members, with_loads);
    *latest = Some(CachedEffect { members: members.to_vec(), with_loads, found: found.clone() });
    found
}

fn find_of_members(shares: &Shares, members: &[NodeId], with_loads: bool) -> MemberSetEffect {
    let paths: &PathTable = &shares.all;
    let Some(tiers) = &shares.tiers else {
        let Footprints { links, round_trip, budget, hops, unjoined } = paths.footprints(members, with_loads);
        let places = links.into_iter().map(|(link, footprint)| (Place::Link(link), footprint)).collect();
        return MemberSetEffect { effect: Effect { places, round_trip, budget, hops }, unjoined };
    };
    let Footprints { round_trip, budget, hops, unjoined, .. } = paths.figures_of(members);
    let places = tiers.footprints(members).map(|(cut, footprint)| (Place::Cut(cut), footprint)).collect();
    MemberSetEffect { effect: Effect { places, round_trip, budget, hops }, unjoined }
}

const fn needs_loads(share: &ReservedShare) -> bool {
    matches!(share, ReservedShare::Hose { .. })
}
