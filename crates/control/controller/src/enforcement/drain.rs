//! Pending releases that a contract has to wait for.

use std::collections::BTreeSet;

use wayleave_contracts::BucketDemand;
use wayleave_ledger::Reservation;
use wayleave_topology::{LinkId, Route, ShareId};

use super::Enforcement;

/// Of more releases than this it is not checked whether they fit, so that thousands of contracts which lose a switch together do not
/// each check all others; a few milliseconds of waiting cost less.
const MAX_CHECKED: usize = 64;

/// Knowledge of packets in transit: `Certain` if all are on routes known to the ledger or to pending releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainState {
    /// They are.
    Certain,
    /// Some contracts have other reservations already, and their old routes are not released yet. Those come later and were still
    /// reserved when this was decided, so they need not be waited for. But whether this fits beside older releases was not checked.
    Uncertain,
}

impl Enforcement {
    /// The pending releases that have to be complete before packets may be sent on these routes, which are reserved: those that are free
    /// in the ledger and do not fit beside all that is reserved there. All that share a link count where that cannot be checked
    /// ([`DrainState::Uncertain`]), or if they are more than [`MAX_CHECKED`].
    ///
    /// `from` is the one that the sender changes over from without a stop. As far as its old route is the new one, all of its packets
    /// have passed one bucket and have waited in the same queues, so there the larger of both reservations holds for all of them; only
    /// behind the point where the routes part do both count. A contract that uses the rest of the larger one, if that is the old, waits.
    pub(crate) fn must_wait_for(
        &mut self,
        routes: &[Route],
        from: Option<(u64, BucketDemand)>,
        freed: DrainState,
    ) -> BTreeSet<u64> {
        let links: BTreeSet<LinkId> = routes.iter().flat_map(|route| route.hops.iter().map(|hop| hop.link)).collect();
        let left = self.releases.freed_on(&links);
        if freed == DrainState::Uncertain || left.len() > MAX_CHECKED {
            return left;
        }
        let mut left = Vec::from_iter(left);
        // A contract waits for its own old route only if no other release will do: then it need not stop.
        left.sort_by_key(|&number| from.is_none_or(|(from, _)| from != number));
        let (mut held, mut waits_for) = (Vec::new(), BTreeSet::new());
        for number in left {
            let Some(release) = self.releases.get(number) else { continue };
            let demand = from.filter(|&(from, _)| from == number).map(|(_, demand)| demand);
            let shared = demand.map_or_else(Vec::new, |demand| shared(&release.reserved.reservations, routes, demand));
            let all = release.reserved.reservations.iter().zip(shared.into_iter().chain(std::iter::repeat(0)));
            match self.book.hold(all, &links) {
                Some(flows) => held.push(flows),
                None => _ = waits_for.insert(number),
            }
        }
        held.into_iter().rev().for_each(|flows| self.book.release_holds(flows));
        waits_for
    }
}

impl Enforcement {
    /// The pending releases that have to be complete before a share is promised what it holds: all that are free in the ledger on its links,
    /// unless they fit beside everything that is reserved there.
    pub(crate) fn share_must_wait_for(&mut self, share: ShareId) -> BTreeSet<u64> {
        let ledger = self.book.ledger();
        let links = ledger.share(share).map(|share| ledger.links_of_share(share)).unwrap_or_default();
        let links: BTreeSet<LinkId> = links.into_iter().collect();
        let left = self.releases.freed_on(&links);
        if left.is_empty() || left.len() > MAX_CHECKED {
            return left;
        }
        let mut held = Vec::new();
        for &number in &left {
            let Some(release) = self.releases.get(number) else { continue };
            let all = release.reserved.reservations.iter().map(|one| (one, 0));
            held.push(self.book.hold(all, &links));
        }
        let fits = held.iter().all(Option::is_some);
        held.into_iter().flatten().rev().for_each(|flows| self.book.release_holds(flows));
        if fits { BTreeSet::new() } else { left }
    }
}

/// Returns the number of hops that each old route has in common with a new one, from the sender on; each new route
/// counts for one old route. The number is 0 if neither bucket is the larger in both rate and burst.
fn shared(old: &[Reservation], new: &[Route], demand: BucketDemand) -> Vec<usize> {
    let mut free: Vec<&Route> = new.iter().collect();
    let most = |reservation: &Reservation| {
        let old = (reservation.demand.rate, reservation.demand.burst);
        let is_comparable =
            old.0 <= demand.rate && old.1 <= demand.burst || old.0 >= demand.rate && old.1 >= demand.burst;
        let common =
            |new: &Route| reservation.route.hops.iter().zip(&new.hops).take_while(|(old, new)| old == new).count();
        let (at, hops) = free.iter().map(|new| common(new)).enumerate().max_by_key(|&(_, hops)| hops)?;
        is_comparable.then(|| {
            free.swap_remove(at);
            hops
        })
    };
    old.iter().map(most).map(Option::unwrap_or_default).collect()
}
