//! Moves as they are carried out: the packets of a flow that was moved may be on its old route for as long as that route's
//! bound. Until then both routes count, for moves that follow and for contracts that start.

use std::collections::BTreeSet;

use wayleave_recheck::{PromisedFlow, Violation, check};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use crate::derive::{asked, budgets, constants, flow};
use crate::discrepancy::Discrepancy;
use crate::reservations::{Left, Place, Reservations, Watcher};
use crate::statement::{Admitted, Happening, Patience, Relocation, Statement};

/// A flow as it was: its packets may still be where they went then.
struct Departure {
    flow: PromisedFlow,
    /// They have left at this time.
    until: Time,
}

/// Watches moves.
pub(crate) struct Transit<'s> {
    statement: &'s Statement,
    left: Vec<Departure>,
    /// Whether it is said when each flow takes its new route. If not, every decision waits for the one before.
    is_timed: bool,
    pub(crate) moves: usize,
    pub(crate) discrepancies: Vec<Discrepancy>,
}

impl<'s> Transit<'s> {
    pub(crate) fn new(statement: &'s Statement) -> Self {
        let has_time = |happening: &Happening| match happening {
            Happening::Admitted(admitted) => admitted.moved.iter().all(|moved| moved.after.is_some()),
            Happening::Released { .. } => true,
        };
        let is_timed = statement.history.iter().all(has_time);
        Self { statement, left: Vec::new(), is_timed, moves: 0, discrepancies: Vec::new() }
    }

    /// What breaks on these routes at a time, while packets are still on those that were left before; `own` is where the
    /// flow itself was, which alone is no reason to look: its new route was reserved beside its old one.
    fn breaks(
        &self,
        reservations: &Reservations<'s>,
        changed: &[&Route],
        own: Option<PromisedFlow>,
        now: Time,
    ) -> Option<Violation> {
        let links: BTreeSet<LinkId> = changed.iter().flat_map(|route| &route.hops).map(|hop| hop.link).collect();
        let passes = |route: &Route| route.hops.iter().any(|hop| links.contains(&hop.link));
        let mut flows: Vec<PromisedFlow> = Vec::new();
        for left in self.left.iter().filter(|left| left.until > now && passes(&left.flow.route)) {
            flows.push(left.flow.clone());
        }
        if flows.is_empty() {
            return None;
        }
        flows.extend(own);
        for (_, place) in reservations.places() {
            let here = place.routes.iter().enumerate().filter(|(_, route)| passes(route));
            flows.extend(here.map(|(index, route)| flow(self.statement, place, index, route)));
        }
        let report = check(&asked(self.statement, flows));
        let is_of_a_link = |violation: &Violation| {
            matches!(violation, Violation::Budget { .. } | Violation::Buffer { .. } | Violation::LinkRate { .. })
        };
        report.violations.into_iter().find(is_of_a_link)
    }

    /// Somebody's packets on a route of which the flow's new routes cover so many hops.
    fn old(&self, place: &Place<'s>, route: &Route, covered: usize) -> PromisedFlow {
        let old = flow(self.statement, place, 0, route);
        PromisedFlow { name: old.name + " (on the route that it left)", covered, ..old }
    }

    /// From `now` on nothing more comes to a route.
    fn leave(&mut self, old: PromisedFlow, now: Time) {
        let (statement, route) = (self.statement, &old.route);
        let lasts = budgets(statement, route).checked_add(constants(&statement.network, route));
        let until = lasts.and_then(|lasts| now.checked_add(lasts)).unwrap_or(Time::MAX);
        self.left.push(Departure { flow: old, until });
    }

    /// When something happens so long after a decision.
    fn start(&self, admitted: &Admitted, after: Time) -> Time {
        match self.statement.patience {
            Patience::Waits => admitted.at.checked_add(after).unwrap_or(Time::MAX),
            // Whatever is said, all happens at once, and nobody's packets have left.
            Patience::None => Time::ZERO,
        }
    }
}

/// How many hops two routes of one flow have in common at their beginning: there its packets come from one bucket.
fn common(one: &Route, other: &Route) -> usize {
    one.hops.iter().zip(&other.hops).take_while(|(one, other)| one == other).count()
}

impl<'s> Watcher<'s> for Transit<'s> {
    fn moved(&mut self, reservations: &Reservations<'s>, admitted: &'s Admitted, moved: &'s Relocation, left: Left) {
        self.moves += 1;
        let Some(place) = reservations.place(left.place) else { return };
        let now = self.start(admitted, moved.after.unwrap_or(Time::ZERO));
        let old = self.old(place, &left.route, common(&left.route, &moved.to));
        if let Some(breaks) = self.breaks(reservations, &[&moved.to], Some(old.clone()), now) {
            let (name, by) = (place.admitted.name.clone(), admitted.name.clone());
            self.discrepancies.push(Discrepancy::Transit { name, by, breaks });
        }
        self.leave(old, now);
    }

    fn admitted(&mut self, reservations: &Reservations<'s>, admitted: &'s Admitted, before: Option<Place<'s>>) {
        if let Some(before) = &before {
            // Other terms are another bucket: nothing of the old one is covered.
            let now = self.start(admitted, Time::ZERO);
            let old: Vec<_> = before.routes.iter().map(|route| self.old(before, route, 0)).collect();
            old.into_iter().for_each(|old| self.leave(old, now));
        }
        let now = self.start(admitted, admitted.activate_after);
        let routes: Vec<&Route> = admitted.routes.iter().map(|stated| &stated.route).collect();
        if let Some(breaks) = self.breaks(reservations, &routes, None, now) {
            let until = self.left.iter().map(|left| left.until).max().unwrap_or(Time::ZERO);
            self.discrepancies.push(Discrepancy::TooEarly {
                name: admitted.name.clone(),
                stated: now.saturating_sub(admitted.at),
                derived: until.saturating_sub(admitted.at),
                breaks,
            });
        }
        match self.statement.patience {
            Patience::Waits if self.is_timed => self.left.retain(|left| left.until > admitted.at),
            Patience::Waits => self.left.clear(),
            Patience::None => {}
        }
    }
}
