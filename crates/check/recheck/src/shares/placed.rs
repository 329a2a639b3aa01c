//! Links on which a share counts, in the relevant states of the network: all links up, and now.

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind, Route};

use super::figures::{Crossings, Place, ShareFigures, WorstLoad, figures, learn};
use super::groups::{Bundles, View};
use super::load::{Holding, Kind};
use super::paths::{Lengths, Paths};
use super::promise::{BrokenShare, HeldShare, PromisedShare};

/// The states of a network, with the results about pairs.
pub(crate) struct NetworkStates<'n> {
    network: &'n Network,
    closed: BTreeSet<LinkId>,
    /// All links up; then the current ones, if they differ.
    views: Vec<View<'n>>,
    pub(crate) bundles: Bundles,
    /// No round trip counts as shorter, ns.
    least_trip: u64,
    knows_all_pairs: bool,
    scratch: Crossings,
}

/// Links and loads of a share.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharesOn {
    pub(crate) on: Vec<(Place, Holding, WorstLoad)>,
    /// The round trip, ns.
    pub(crate) trip: u64,
    /// The largest sum of budgets of a path, ns.
    pub(crate) budget: u64,
    /// Number of receivers among which a sender may divide the minimum.
    pub(crate) receivers: u64,
}

/// One pair on the link.
const ONE: WorstLoad = WorstLoad { full: 1, even: (1, 1), pairs: 1 };

impl<'n> NetworkStates<'n> {
    pub(crate) fn new(network: &'n Network, closed: &BTreeSet<LinkId>, lengths: Lengths, least_trip: u64) -> Self {
        let lengths = Arc::new(lengths);
        let mut views = vec![View::new(Paths::new(network, [], Arc::clone(&lengths)))];
        if !closed.is_empty() {
            views.push(View::new(Paths::new(network, closed.iter().copied(), lengths)));
        }
        let bundles = Bundles::new(network);
        let scratch = Crossings::default();
        Self { network, closed: closed.clone(), views, bundles, least_trip, knows_all_pairs: false, scratch }
    }

    /// Derives what a share puts where.
    pub(crate) fn of(&mut self, share: &PromisedShare) -> Result<SharesOn, BrokenShare> {
        let holding = |kind| Holding {
            min: share.min.bits_per_second(),
            kind,
            certainty: share.certainty,
            trip: Some(0),
            timed: share.there_within.is_some(),
        };
        let unknown = || Err(BrokenShare::Unknown { share: share.name.clone() });
        match &share.held {
            HeldShare::Pair(from, to, route) => self.pair(share, (*from, *to), route, &holding(Kind::Alone)),
            HeldShare::Link(link) if link.index() >= self.network.links().len() => unknown(),
            HeldShare::Link(link) => Ok(self.link(*link, &Holding { trip: None, ..holding(Kind::Alone) })),
            HeldShare::Hose { members, .. } | HeldShare::Objective(members) if !self.are_hosts(members) => unknown(),
            HeldShare::Hose { members, charge } => self.members(share, members, holding(Kind::Hose(*charge))),
            HeldShare::Objective(members) => self.members(share, members, holding(Kind::Objective)),
        }
    }

    /// Returns the bundle of a link between switches.
    pub(crate) fn bundle_of(&self, link: LinkId) -> Option<u32> {
        let ends = self.network.link(link);
        let between = [ends.from, ends.to].into_iter().all(|end| self.network.node(end).kind == NodeKind::Switch);
        between.then(|| self.bundles.of(link))
    }

    fn are_hosts(&self, nodes: &[NodeId]) -> bool {
        let known = self.network.nodes().len();
        nodes.iter().all(|&node| node.index() < known && self.network.node(node).kind == NodeKind::Host)
    }

    fn no_path(&self, share: &PromisedShare, from: NodeId, to: NodeId) -> BrokenShare {
        let name = |node| self.network.node(node).name.clone();
        BrokenShare::NoPath { share: share.name.clone(), from: name(from), to: name(to) }
    }

    fn pair(
        &mut self,
        share: &PromisedShare,
        (from, to): (NodeId, NodeId),
        route: &Route,
        holding: &Holding,
    ) -> Result<SharesOn, BrokenShare> {
        let is_known = |link: LinkId| link.index() < self.network.links().len();
        if !self.are_hosts(&[from, to]) || !route.hops.iter().all(|hop| is_known(hop.link)) {
            return Err(BrokenShare::Unknown { share: share.name.clone() });
        }
        if route.validate(self.network, from, to).is_err() {
            return Err(BrokenShare::Route { share: share.name.clone() });
        }
        let links: Vec<LinkId> = route.hops.iter().map(|hop| hop.link).collect();
        if let Some(&closed) = links.iter().find(|link| self.closed.contains(link)) {
            let link = self.network.link(closed).name.clone();
            return Err(BrokenShare::Closed { share: share.name.clone(), link });
        }
        let Some((answers, backward)) = self.backward(&links, to, from) else {
            return Err(self.no_path(share, to, from));
        };
        let paths = &self.views[0].paths;
        let trip = self.least_trip.max(paths.trip_along(links.iter().copied()).saturating_add(backward));
        let budget_of = |link: &LinkId| paths.lengths().budget.get(link.index()).copied().unwrap_or(0);
        let budget = links.iter().map(budget_of).fold(0, u64::saturating_add);
        let here = Holding { trip: Some(trip), ..*holding };
        let mut on: Vec<_> = links.into_iter().map(|link| (Place::Link(link), here, ONE)).collect();
        on.extend(acknowledgements(answers, holding));
        Ok(SharesOn { on, trip, budget, receivers: 1 })
    }

    /// The links on which packets come back, and the longest time of that; `None` if there is no path.
    ///
    /// That is the other direction of every cable. Where a cable has none, or it is closed, every allowed path counts as well.
    fn backward(&mut self, links: &[LinkId], from: NodeId, to: NodeId) -> Option<(BTreeSet<LinkId>, u64)> {
        let (mut all, mut longest) = (BTreeSet::new(), 0);
        for view in &mut self.views {
            let reverse = |&link: &LinkId| self.network.reverse(link).filter(|&backward| view.paths.is_open(backward));
            let known: Vec<LinkId> = links.iter().rev().filter_map(reverse).collect();
            all.extend(known.iter().copied());
            if known.len() == links.len() {
                longest = longest.max(view.paths.trip_along(known));
                continue;
            }
            let explored = view.paths.explore(from, to)?;
            longest = longest.max(explored.trip);
            all.extend(explored.links.into_iter().map(|(link, _)| link));
        }
        Some((all, longest))
    }

    fn link(&mut self, link: LinkId, holding: &Holding) -> SharesOn {
        let ends = self.network.link(link);
        let (answers, _) = self.backward(&[link], ends.to, ends.from).unwrap_or_default();
        let mut on = vec![(Place::Link(link), *holding, ONE)];
        on.extend(acknowledgements(answers, holding));
        let trip = if holding.timed { self.longest_over(link) } else { self.least_trip };
        let budget = self.views[0].paths.lengths().budget.get(link.index()).copied().unwrap_or(0);
        SharesOn { on, trip, budget, receivers: 1 }
    }

    fn members(
        &mut self,
        share: &PromisedShare,
        members: &[NodeId],
        holding: Holding,
    ) -> Result<SharesOn, BrokenShare> {
        for view in &mut self.views {
            learn(view, &mut self.bundles, members);
        }
        let mut all = ShareFigures::default();
        for view in &mut self.views {
            all.include(figures(view, &self.bundles, members, &mut self.scratch));
        }
        if let Some((from, to)) = self.views.iter().filter(|_| all.apart).find_map(|view| view.apart(members)) {
            return Err(self.no_path(share, from, to));
        }
        let trip = self.least_trip.max(all.trip);
        let here = Holding { trip: Some(trip), ..holding };
        let on = all.on.into_iter().map(|(place, worst)| (place, here, worst)).collect();
        Ok(SharesOn { on, trip, budget: all.budget, receivers: (members.len() as u64).saturating_sub(1) })
    }

    /// Returns the longest round trip of all pairs of hosts that may use a link, ns.
    pub(crate) fn longest_over(&mut self, link: LinkId) -> u64 {
        let mut longest = self.least_trip;
        for view in &mut self.views {
            let groups = view.groups.count() as u32;
            let pairs = move || (0..groups).flat_map(move |from| (0..groups).map(move |to| (from, to)));
            if !self.knows_all_pairs {
                pairs().for_each(|(from, to)| view.learn(from, to, &mut self.bundles));
            }
            let ends = self.network.link(link);
            let (sender, receiver) = (view.groups.group(ends.from), view.groups.group(ends.to));
            let at = |of: &[LinkId]| of.iter().position(|&one| one == link).map(|place| place as u32);
            let (out, into) = match (sender, receiver) {
                (u32::MAX, u32::MAX) => (None, None),
                (u32::MAX, _) => (None, at(&view.groups.own(ends.to)[1])),
                _ => (at(&view.groups.own(ends.from)[0]), None),
            };
            for (from, to) in pairs() {
                let Some(facts) = view.facts(from, to, &self.bundles) else { continue };
                let uses = match (sender, receiver) {
                    (u32::MAX, u32::MAX) => facts.bundles.iter().any(|one| one.0 == self.bundles.of(link)),
                    (u32::MAX, _) => to == receiver && facts.into.iter().any(|one| Some(one.0) == into),
                    _ => from == sender && facts.out.iter().any(|one| Some(one.0) == out),
                };
                if uses {
                    let forward = facts.trip;
                    let backward = view.facts(to, from, &self.bundles).map_or(0, |facts| facts.trip);
                    longest = longest.max(forward.saturating_add(backward));
                }
            }
        }
        self.knows_all_pairs = true;
        longest
    }
}

fn acknowledgements(links: BTreeSet<LinkId>, of: &Holding) -> impl Iterator<Item = (Place, Holding, WorstLoad)> {
    let holding = Holding { kind: Kind::Acknowledgements, ..*of };
    links.into_iter().map(move |link| (Place::Link(link), holding, ONE))
}
