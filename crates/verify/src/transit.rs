//! Moves as they are carried out: the packets of a flow that was moved may be on its old route for as long as that route's
//! bound. Until then both routes count, for the moves that follow in the same decision and for the contract that starts
//! after them.

use std::collections::BTreeSet;

use wayleave_recheck::{PromisedFlow, Violation, check};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use crate::derive::{asked, budgets, constants, flow};
use crate::discrepancy::Discrepancy;
use crate::standing::{Left, Place, Standing, Watcher};
use crate::statement::{Admitted, Patience, Statement};

/// Watches moves.
pub(crate) struct Transit<'s> {
    statement: &'s Statement,
    /// Flows as they were: their packets may still be where they went then.
    left: Vec<PromisedFlow>,
    /// How long these may be there.
    lasts: Time,
    pub(crate) moves: usize,
    pub(crate) discrepancies: Vec<Discrepancy>,
}

impl<'s> Transit<'s> {
    pub(crate) fn new(statement: &'s Statement) -> Self {
        Self { statement, left: Vec::new(), lasts: Time::ZERO, moves: 0, discrepancies: Vec::new() }
    }

    /// What breaks on these routes while packets are still on those that were left.
    fn breaks<'r>(&self, standing: &Standing<'s>, changed: impl Iterator<Item = &'r Route>) -> Option<Violation> {
        let links: BTreeSet<LinkId> = changed.flat_map(|route| &route.hops).map(|hop| hop.link).collect();
        let passes = |route: &Route| route.hops.iter().any(|hop| links.contains(&hop.link));
        let mut flows: Vec<PromisedFlow> = Vec::new();
        for (_, place) in standing.places() {
            let here = place.routes.iter().enumerate().filter(|(_, route)| passes(route));
            flows.extend(here.map(|(index, route)| flow(self.statement, place, index, route)));
        }
        flows.extend(self.left.iter().filter(|old| passes(&old.route)).cloned());
        let report = check(&asked(self.statement, flows));
        let of_a_queue = |violation: &Violation| {
            matches!(violation, Violation::Budget { .. } | Violation::Buffer { .. } | Violation::LinkRate { .. })
        };
        report.violations.into_iter().find(of_a_queue)
    }

    /// Packets of a flow may stay on a route, of which the flow's new routes cover so many hops.
    fn leave(&mut self, place: &Place<'s>, route: &Route, covered: usize) {
        let statement = self.statement;
        let mut old = flow(statement, place, 0, route);
        old.name += " (on the route that it left)";
        old.covered = covered;
        self.left.push(old);
        let lasts = budgets(statement, route).checked_add(constants(&statement.network, route));
        self.lasts = self.lasts.max(lasts.unwrap_or(Time::MAX));
    }
}

/// How many hops two routes of one flow have in common at their beginning: there its packets come from one bucket.
fn common(one: &Route, other: &Route) -> usize {
    one.hops.iter().zip(&other.hops).take_while(|(one, other)| one == other).count()
}

impl<'s> Watcher<'s> for Transit<'s> {
    fn moved(&mut self, standing: &Standing<'s>, admitted: &'s Admitted, left: Left) {
        self.moves += 1;
        let Some(place) = standing.place(left.place) else { return };
        let is_first = self.left.is_empty();
        let covered = place.routes.iter().map(|new| common(&left.route, new)).max().unwrap_or(0);
        self.leave(place, &left.route, covered);
        // The first one finds its new route reserved beside its old one; later ones find what earlier ones have left.
        if !is_first && let Some(breaks) = self.breaks(standing, place.routes.iter()) {
            let (name, by) = (place.admitted.name.clone(), admitted.name.clone());
            self.discrepancies.push(Discrepancy::Transit { name, by, breaks });
        }
    }

    fn admitted(&mut self, standing: &Standing<'s>, admitted: &'s Admitted, before: Option<Place<'s>>) {
        // Other terms are another bucket: nothing of the old one is covered.
        if let Some(before) = &before {
            before.routes.iter().for_each(|route| self.leave(before, route, 0));
        }
        let stated = match self.statement.patience {
            Patience::Waits => admitted.activate_after,
            Patience::None => Time::ZERO,
        };
        if stated < self.lasts {
            let routes = admitted.routes.iter().map(|stated| &stated.route);
            if let Some(breaks) = self.breaks(standing, routes) {
                let (name, derived) = (admitted.name.clone(), self.lasts);
                self.discrepancies.push(Discrepancy::TooEarly { name, stated, derived, breaks });
            }
        }
        if self.statement.patience == Patience::Waits {
            self.left.clear();
            self.lasts = Time::ZERO;
        }
    }
}
