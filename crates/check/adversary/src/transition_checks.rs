//! Promises of classes after every event of a history, not only in the end.
//!
//! No waiting for packets is modelled here: a share is a rate, and reservations of latency contracts count from their
//! decision until they are freed.

use std::collections::{BTreeSet, HashMap};

use wayleave_recheck::{AddedShare, BrokenShare, HeldShares, PromisedShare};
use wayleave_topology::{Classes, LinkId, Route};
use wayleave_units::{Rate, Time};

use crate::asked::bucket;
use crate::discrepancy::Discrepancy;
use crate::reservations::{HistoryError, LeftoverTraffic, Reservations, TransitionObserver};
use crate::statement::{Admitted, Relocation, Statement};

/// Follows a history.
struct Meanwhile<'s> {
    statement: &'s Statement,
    held: HeldShares<'s>,
    /// Reservations of contracts, by their places.
    flows: HashMap<usize, (Rate, Vec<Route>)>,
    shares: HashMap<&'s str, AddedShare>,
    /// Reservations that stay until a time.
    until: Vec<(Time, usize)>,
    found: Vec<(String, BrokenShare)>,
    seen: BTreeSet<(LinkId, &'static str)>,
}

/// Returns the promises that did not hold after some event, each link and class once; without those that do not hold
/// in the end, which are reported elsewhere.
pub(crate) fn check_transitions(
    statement: &Statement,
    classes: &Classes,
    in_the_end: &[BrokenShare],
) -> Result<Vec<Discrepancy>, HistoryError> {
    if statement.shares.is_empty() && !statement.history.iter().any(crate::statement::PlanEvent::is_shared) {
        return Ok(Vec::new());
    }
    let mut follows = Meanwhile {
        statement,
        held: HeldShares::new(&statement.network, *classes),
        flows: HashMap::new(),
        shares: HashMap::new(),
        until: Vec::new(),
        found: Vec::new(),
        seen: BTreeSet::new(),
    };
    Reservations::of(statement, &mut follows)?;
    let place = |broken: &BrokenShare| match broken {
        BrokenShare::Class { link, class, .. } => Some((link.clone(), *class)),
        _ => None,
    };
    let last: Vec<_> = in_the_end.iter().map(place).collect();
    let gone = follows.found.into_iter().filter(|(_, broken)| !last.contains(&place(broken)));
    Ok(gone.map(|(after, broken)| Discrepancy::ShareMeanwhile { after, broken }).collect())
}

impl<'s> Meanwhile<'s> {
    /// Removes the reservations that have ended at a time.
    fn advance(&mut self, now: Time) {
        let (over, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.until).into_iter().partition(|(at, _)| *at <= now);
        self.until = left;
        over.into_iter().for_each(|(_, place)| self.forget(place));
    }

    fn forget(&mut self, place: usize) {
        if let Some((rate, routes)) = self.flows.remove(&place) {
            routes.iter().for_each(|route| self.held.free(route, rate));
        }
    }

    /// A contract has these routes now; the links of them.
    fn take(&mut self, place: usize, rate: Rate, routes: Vec<Route>) -> Vec<LinkId> {
        self.forget(place);
        routes.iter().for_each(|route| self.held.reserve(route, rate));
        let known = self.statement.network.links().len();
        let links = routes.iter().flat_map(|route| &route.hops).map(|hop| hop.link);
        let links = links.filter(|link| link.index() < known).collect();
        self.flows.insert(place, (rate, routes));
        links
    }

    fn check_links(&mut self, after: &str, links: impl IntoIterator<Item = LinkId>) {
        for link in links {
            for broken in self.held.broken_on(link) {
                let class = if let BrokenShare::Class { class, .. } = &broken { class.name() } else { "" };
                if self.seen.insert((link, class)) {
                    self.found.push((after.to_owned(), broken));
                }
            }
        }
    }
}

impl<'s> TransitionObserver<'s> for Meanwhile<'s> {
    fn moved(
        &mut self,
        reservations: &Reservations<'s>,
        admitted: &'s Admitted,
        _: &'s Relocation,
        left: LeftoverTraffic,
    ) {
        self.advance(admitted.at);
        let Some(place) = reservations.place(left.place) else { return };
        let rate = bucket(&self.statement.counting, place.admitted).rate;
        let links = self.take(left.place, rate, place.routes.clone());
        self.check_links(&admitted.name, links);
    }

    fn admitted(&mut self, reservations: &Reservations<'s>, admitted: &'s Admitted, number: usize) {
        self.advance(admitted.at);
        let Some(place) = reservations.place(number) else { return };
        let links = self.take(number, bucket(&self.statement.counting, admitted).rate, place.routes.clone());
        self.check_links(&admitted.name, links);
    }

    fn released(&mut self, place: usize, at: Time, held_until: Time) {
        self.advance(at);
        self.until.push((held_until, place));
    }

    fn shared(&mut self, (at, _): (Time, Time), name: &'s str, share: Option<&'s PromisedShare>) {
        self.advance(at);
        if let Some(before) = self.shares.remove(name) {
            self.held.remove(&before);
        }
        // A route that is none is found in the end.
        let Some(Ok(added)) = share.map(|share| self.held.add(share)) else { return };
        let links: Vec<LinkId> = added.links().collect();
        self.shares.insert(name, added);
        self.check_links(name, links);
    }
}
