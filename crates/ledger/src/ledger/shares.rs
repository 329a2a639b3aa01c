//! Shares of links below the latency queues: what is left, what is reserved, and taking it back.

use wayleave_topology::{Class, LinkId, NodeId, Residual, ShareId, SharedLink};
use wayleave_units::{Amount, Rate, Time};

use super::Ledger;
use crate::cuts::Cuts;
use crate::kernel::{Denial, Limit};
use crate::shares::{Change, CutLoad, LinkShares, Share, ShareDenial, Shares};

impl Ledger {
    /// Lets the ledger hold shares as well, if the network's queues are divided among classes. Where minima have a time, no packet of
    /// the guaranteed class waits at a link for longer than its budget: what the topology gives the queue of that class, otherwise
    /// `budget`. Hosts have the budget of theirs from `budget` alone.
    #[must_use]
    pub fn with_shares(mut self, budget: Time) -> Self {
        let Some(&classes) = self.network.classes() else { return self };
        let round_trip = classes
            .round_trip
            .unwrap_or_else(|| self.network.longest_round_trip(|link| self.model.largest_frame(link)));
        let link_shares = |(id, link): (LinkId, &wayleave_topology::Link)| {
            let queue = self.network.queues(id).get(usize::from(classes.queue_of(Class::Guaranteed)));
            LinkShares {
                link: SharedLink { classes, line: link.rate, frame: self.model.largest_frame(link), round_trip },
                budget: queue.and_then(|queue| queue.budget).unwrap_or(budget),
                guaranteed: 0,
                objective: 0,
                timed: 0,
                pairs: 0,
            }
        };
        let links = self.network.links().map(link_shares).collect();
        let cuts = Cuts::of(&self.network);
        let loads = vec![CutLoad::default(); cuts.cuts.len()];
        self.shares = Some(Box::new(Shares { links, cuts, loads, held: Vec::new(), vacant: Vec::new() }));
        self
    }

    /// Whether it holds shares.
    pub fn has_shares(&self) -> bool {
        self.shares.is_some()
    }

    /// A link with its classes.
    pub fn shared_link(&self, link: LinkId) -> Option<&SharedLink> {
        Some(&self.shares.as_ref()?.links[link.index()].link)
    }

    /// The longest that packets of the guaranteed class may wait at a link, where minima have a time.
    pub fn share_budget(&self, link: LinkId) -> Option<Time> {
        Some(self.shares.as_ref()?.links[link.index()].budget)
    }

    /// Whether a minimum with a time passes a link: then its budget is kept.
    pub fn is_timed(&self, link: LinkId) -> bool {
        self.shares.as_ref().is_some_and(|shares| shares.links[link.index()].timed > 0)
    }

    /// What the latency contracts of a link leave the classes below them.
    pub fn residual(&self, link: LinkId) -> Residual {
        self.residual_with(link, 0, 0)
    }

    /// The same with one more latency contract.
    fn residual_with(&self, link: LinkId, rate: i128, burst: i128) -> Residual {
        let port = self.port(link);
        let bursts: i128 = self.queues_of(link).iter().map(|queue| queue.load.burst).sum();
        // All of the jitter delays these classes, whether it keeps the order or not.
        let own = port.debt + port.rate * port.spread;
        Residual {
            rate: Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved - rate).unwrap_or(0)),
            debt: Amount::from_nanobits(own + bursts + burst),
        }
    }

    /// What has been promised to a class on a link.
    pub fn promised_to(&self, link: LinkId, class: Class) -> Rate {
        let promised = self.shares.as_ref().map_or(0, |shares| shares.links[link.index()].promised(class));
        Rate::from_bits_per_second(promised)
    }

    /// What can be promised to a class on a link beside everything that is.
    pub fn left_for(&self, link: LinkId, class: Class) -> Rate {
        if self.is_closed(link) { Rate::ZERO } else { self.left_once_open(link, class) }
    }

    fn left_once_open(&self, link: LinkId, class: Class) -> Rate {
        let Some(shares) = &self.shares else { return Rate::ZERO };
        let link_shares = &shares.links[link.index()];
        let port = self.port(link);
        let left = Rate::from_bits_per_second(u64::try_from(port.rate - port.reserved).unwrap_or(0));
        link_shares.link.promisable(class, left).saturating_sub(self.promised_to(link, class))
    }

    /// Whether one more latency contract leaves the guaranteed class its delays where a minimum has a time.
    pub(super) fn leaves_shares_in_time(&self, link: LinkId, rate: Rate, burst: Amount) -> bool {
        let Some(shares) = &self.shares else { return true };
        let link_shares = &shares.links[link.index()];
        let residual = self.residual_with(link, i128::from(rate.bits_per_second()), burst.nanobits());
        link_shares.timed == 0 || link_shares.is_in_time(&residual, 0)
    }

    /// The delay of the guaranteed class that one more latency contract would break.
    pub(super) fn share_limit(&self, link: LinkId, rate: Rate, burst: Amount) -> Option<Denial> {
        let shares = self.shares.as_ref().filter(|_| self.has_rate(link, rate))?;
        let link_shares = &shares.links[link.index()];
        let burst = super::entering(self.gates[link.index()], rate, burst);
        if self.leaves_shares_in_time(link, rate, burst) {
            return None;
        }
        let residual = self.residual_with(link, i128::from(rate.bits_per_second()), burst.nanobits());
        let bound = link_shares.wait(&residual, 0).unwrap_or(Time::MAX);
        let queue = link_shares.link.classes.queue_of(Class::Guaranteed);
        Some(Denial { queue, limit: Limit::Delay { bound, budget: link_shares.budget } })
    }

    /// Why a link has no place for a pair with this minimum; `None` if it has.
    pub fn pair_denial(&self, link: LinkId, min: Rate, is_timed: bool) -> Option<ShareDenial> {
        let change = Change { link, before: 0, after: min.bits_per_second(), pairs: 1 };
        self.link_denial(change, Class::Guaranteed, is_timed)
    }

    fn link_denial(&self, change: Change, class: Class, is_timed: bool) -> Option<ShareDenial> {
        if self.is_closed(change.link) {
            return Some(ShareDenial::Closed(change.link));
        }
        self.open_link_denial(change, class, is_timed)
    }

    /// The same as if the link were not closed.
    fn open_link_denial(&self, change: Change, class: Class, is_timed: bool) -> Option<ShareDenial> {
        let link = change.link;
        let shares = self.shares.as_ref()?;
        let (asked, left) =
            (Rate::from_bits_per_second(change.after - change.before), self.left_once_open(link, class));
        if asked > left {
            return Some(ShareDenial::Rate { link, asked, left });
        }
        let link_shares = &shares.links[link.index()];
        // More pairs delay those that have a time already.
        let is_kept = is_timed || (class == Class::Guaranteed && link_shares.timed > 0);
        let residual = is_kept.then(|| self.residual(link))?;
        if link_shares.is_in_time(&residual, change.pairs) {
            return None;
        }
        let bound = link_shares.wait(&residual, change.pairs).unwrap_or(Time::MAX);
        Some(ShareDenial::Delay { link, bound, budget: link_shares.budget })
    }

    /// Why a share does not fit; `None` if it does, or if the ledger holds none.
    ///
    /// A pair needs every link of its route. What is promised across cuts goes over the links that are open, so it needs one of each
    /// cut in each direction; closed links have to have as much left as the others, so that nothing breaks when they are opened.
    pub fn share_denial(&self, share: &Share) -> Option<ShareDenial> {
        let (class, is_timed) = (share.class(), share.is_timed());
        let changes = self.changes_by(share, true).into_iter();
        if let Share::Pair { .. } = share {
            return changes.into_iter().find_map(|change| self.link_denial(change, class, is_timed));
        }
        let parted = self.parted(share);
        parted.or_else(|| changes.into_iter().find_map(|change| self.open_link_denial(change, class, is_timed)))
    }

    /// The same as if no link were closed: whether a share that has lost its route may keep what it had.
    pub fn share_denial_once_open(&self, share: &Share) -> Option<ShareDenial> {
        let (class, is_timed) = (share.class(), share.is_timed());
        self.changes_by(share, true).into_iter().find_map(|change| self.open_link_denial(change, class, is_timed))
    }

    /// Whether closed links keep a share from what it is promised: a link of a pair's route, or all links of a cut in one direction.
    pub fn is_parted(&self, share: &Share) -> bool {
        match share {
            Share::Pair { route, .. } => route.hops.iter().any(|hop| self.is_closed(hop.link)),
            Share::Hose { .. } | Share::Objective { .. } => self.parted(share).is_some(),
        }
    }

    /// A cut between members of which no link is open in some direction.
    fn parted(&self, share: &Share) -> Option<ShareDenial> {
        let (Share::Hose { members, .. } | Share::Objective { members, .. }) = share else { return None };
        let shares = self.shares.as_ref()?;
        let parting = shares.cuts.parting(members).into_iter();
        let mut directions = parting.flat_map(|(cut, _)| [&shares.cut(cut).out, &shares.cut(cut).into]);
        let closed = directions.find_map(|links| Some(*links.first().filter(|_| self.count_open(links) == 0)?));
        closed.map(ShareDenial::Closed)
    }

    fn count_open(&self, links: &[LinkId]) -> usize {
        links.iter().filter(|&&link| !self.is_closed(link)).count()
    }

    /// What a share that comes or goes changes on each link.
    fn changes_by(&self, share: &Share, comes: bool) -> Vec<Change> {
        let Some(shares) = &self.shares else { return Vec::new() };
        let whole = |link, rate: Rate, pairs| {
            let (before, after) = if comes { (0, rate.bits_per_second()) } else { (rate.bits_per_second(), 0) };
            Change { link, before, after, pairs }
        };
        match share {
            Share::Pair { min, route, .. } => route.hops.iter().map(|hop| whole(hop.link, *min, 1)).collect(),
            Share::Objective { weight, members } => {
                let cuts = shares.cuts.parting(members).into_iter();
                cuts.flat_map(|(cut, _)| self.links_of(cut).map(|link| whole(link, *weight, 0))).collect()
            }
            Share::Hose { min, members, spread, .. } => {
                let mut changes = Vec::new();
                for (cut, inside) in shares.cuts.parting(members) {
                    let (width, load) = (self.width(cut), &shares.loads[cut as usize]);
                    let before = load.on_each(width);
                    let across = across(*min, inside, members);
                    let after = load.on_each_after(comes, *spread, min.bits_per_second(), across, width);
                    let pairs = u64::from(inside) * (members.len() as u64 - u64::from(inside));
                    changes.extend(self.links_of(cut).map(|link| Change { link, before, after, pairs }));
                }
                changes
            }
        }
    }

    /// The links out of a cut and into it.
    fn links_of(&self, cut: u32) -> impl Iterator<Item = LinkId> + '_ {
        let cut = self.shares.as_ref().map(|shares| shares.cut(cut));
        cut.into_iter().flat_map(|cut| cut.out.iter().chain(&cut.into).copied())
    }

    /// Over how many links what leaves a cut is spread: those that are open.
    fn width(&self, cut: u32) -> usize {
        let width = |shares: &Shares| self.count_open(&shares.cut(cut).out).min(self.count_open(&shares.cut(cut).into));
        self.shares.as_deref().map_or(1, width)
    }

    /// After a link was closed or opened: what crosses its cuts is spread over the others, or over it as well.
    pub(super) fn spread_anew(&mut self, widths: &[(u32, usize)]) {
        for &(cut, before) in widths {
            let after = self.width(cut);
            let Some(shares) = self.shares.as_mut() else { return };
            let load = &shares.loads[cut as usize];
            let (before, after) = (load.on_each(before), load.on_each(after));
            if before == after {
                continue;
            }
            let links: Vec<LinkId> = self.links_of(cut).collect();
            for link in links {
                let Some(shares) = self.shares.as_mut() else { return };
                let link_shares = &mut shares.links[link.index()];
                link_shares.guaranteed = link_shares.guaranteed - before + after;
                self.refresh_shares(link, after < before);
            }
        }
    }

    /// The cuts that a link belongs to, with how many of their links are open.
    pub(super) fn widths_around(&self, link: LinkId) -> Vec<(u32, usize)> {
        let Some(shares) = &self.shares else { return Vec::new() };
        let cuts = (0u32..).zip(&shares.cuts.cuts);
        let around = cuts.filter(|(_, cut)| cut.out.contains(&link) || cut.into.contains(&link));
        around.map(|(cut, _)| (cut, self.width(cut))).collect()
    }

    /// Whether a hose over all paths of this network is proven: whatever leaves a cut spreads evenly, and no link of it is closed.
    pub fn spreads_evenly(&self, members: &[NodeId]) -> bool {
        let Some(shares) = &self.shares else { return false };
        let open = |cut: u32| self.links_of(cut).all(|link| !self.is_closed(link));
        shares.cuts.regular && shares.cuts.parting(members).iter().all(|&(cut, _)| open(cut))
    }

    /// The sum of the budgets of the guaranteed class that a packet of a hose can meet on its way: those of the cuts between its
    /// members, out and in.
    pub fn hose_budget(&self, members: &[NodeId]) -> Option<Time> {
        let shares = self.shares.as_ref()?;
        let longest =
            |links: &[LinkId]| links.iter().map(|link| shares.links[link.index()].budget).max().unwrap_or(Time::ZERO);
        let parting = shares.cuts.parting(members);
        let parts = |cut: u32| parting.binary_search_by_key(&cut, |&(cut, _)| cut).is_ok();
        let way = |host: NodeId, direction: fn(&crate::cuts::Cut) -> &[LinkId]| {
            let cuts = shares.cuts.around(host).filter(|&cut| parts(cut));
            cuts.map(|cut| longest(direction(shares.cut(cut))).as_nanos()).sum::<u64>()
        };
        let out = members.iter().map(|&host| way(host, |cut| &cut.out)).max()?;
        let into = members.iter().map(|&host| way(host, |cut| &cut.into)).max()?;
        Some(Time::from_nanos(out + into))
    }

    /// Reserves a share without asking whether it fits: that is the scheme's to know. `None` if the ledger holds none.
    pub fn reserve_share(&mut self, share: Share) -> Option<ShareId> {
        self.apply(&share, true);
        let shares = self.shares.as_mut()?;
        let id = shares.vacant.pop().unwrap_or(ShareId(shares.held.len() as u32));
        if id.index() == shares.held.len() {
            shares.held.push(None);
        }
        shares.held[id.index()] = Some(share);
        Some(id)
    }

    /// Takes back what a share holds; `None` if there is no such share.
    pub fn release_share(&mut self, id: ShareId) -> Option<Share> {
        let shares = self.shares.as_mut()?;
        let share = shares.held.get_mut(id.index())?.take()?;
        shares.vacant.push(id);
        self.apply(&share, false);
        Some(share)
    }

    /// A share.
    pub fn share(&self, id: ShareId) -> Option<&Share> {
        self.shares.as_ref()?.held.get(id.index())?.as_ref()
    }

    /// All shares.
    pub fn shares(&self) -> impl Iterator<Item = (ShareId, &Share)> {
        let held = self.shares.iter().flat_map(|shares| shares.held.iter().enumerate());
        held.filter_map(|(index, share)| Some((ShareId(index as u32), share.as_ref()?)))
    }

    /// The links on which a share holds something, or would.
    pub fn links_of_share(&self, share: &Share) -> Vec<LinkId> {
        self.changes_by(share, true).into_iter().map(|change| change.link).collect()
    }

    /// The shares that have something on a link.
    pub fn shares_on(&self, link: LinkId) -> Vec<ShareId> {
        let passes = |share: &Share| match share {
            Share::Pair { route, .. } => route.hops.iter().any(|hop| hop.link == link),
            Share::Hose { members, .. } | Share::Objective { members, .. } => {
                let parting = self.shares.as_ref().map(|shares| shares.cuts.parting(members)).unwrap_or_default();
                parting.iter().any(|&(cut, _)| self.links_of(cut).any(|other| other == link))
            }
        };
        self.shares().filter(|(_, share)| passes(share)).map(|(id, _)| id).collect()
    }

    fn apply(&mut self, share: &Share, comes: bool) {
        let (class, timed) = (share.class(), u32::from(share.is_timed()));
        let changes = self.changes_by(share, comes);
        let Some(shares) = self.shares.as_mut() else { return };
        if let Share::Hose { min, members, spread, .. } = share {
            for (cut, inside) in shares.cuts.parting(members) {
                let across = across(*min, inside, members);
                shares.loads[cut as usize].change(comes, *spread, min.bits_per_second(), across);
            }
        }
        for Change { link, before, after, pairs } in changes {
            let Some(shares) = self.shares.as_mut() else { return };
            let link_shares = &mut shares.links[link.index()];
            let promised = match class {
                Class::Objective => &mut link_shares.objective,
                _ => &mut link_shares.guaranteed,
            };
            *promised = *promised - before + after;
            if comes {
                (link_shares.timed, link_shares.pairs) = (link_shares.timed + timed, link_shares.pairs + pairs);
            } else {
                (link_shares.timed, link_shares.pairs) = (link_shares.timed - timed, link_shares.pairs - pairs);
            }
            self.refresh_shares(link, !comes);
        }
    }

    /// What searches see of a link, after its shares have changed; whether something was taken back there.
    fn refresh_shares(&mut self, link: LinkId, is_less: bool) {
        let Some(shares) = &self.shares else { return };
        let link_shares = &shares.links[link.index()];
        let port = &mut self.ports[link.index()];
        (port.shared, port.timed) = (link_shares.needed(), link_shares.timed > 0);
        // What searches remember of this link is true no longer.
        port.changes = port.changes.wrapping_add(1);
        port.releases = port.releases.wrapping_add(u32::from(is_less));
        self.gates[link.index()] = port.gate();
    }

    /// Whether the classes of a link keep what they were promised: for whoever has filled a ledger without asking.
    pub fn keeps_shares(&self, link: LinkId) -> bool {
        let Some(shares) = &self.shares else { return true };
        let port = self.port(link);
        let link_shares = &shares.links[link.index()];
        port.reserved + link_shares.needed() <= port.rate
            && (link_shares.timed == 0 || link_shares.is_in_time(&self.residual(link), 0))
    }

    /// Equal if every link and every cut has been promised the same.
    pub(super) fn same_shares(&self, other: &Self) -> bool {
        match (&self.shares, &other.shares) {
            (None, None) => true,
            (Some(one), Some(two)) => one.links == two.links && one.loads == two.loads,
            _ => false,
        }
    }
}

/// What a hose may send across a cut: no more than the hosts inside send, nor than those outside receive.
fn across(min: Rate, inside: u32, members: &[NodeId]) -> u64 {
    let outside = members.len() as u64 - u64::from(inside);
    min.bits_per_second().saturating_mul(u64::from(inside).min(outside))
}
