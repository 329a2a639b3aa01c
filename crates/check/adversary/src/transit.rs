//! Packets in flight while contracts are added, moved, changed and removed: the senders' routes and times, for the
//! calculator that checks every moment.

use std::collections::HashMap;

use wayleave_recheck::{
    BrokenAt, BrokenPromise, BrokenShare, Claim, Overbooked, PromisedShare, RouteLifetime, ShareLifetime, ShareTerms,
    check_share_transitions, check_transitions_watched,
};
use wayleave_topology::Route;
use wayleave_units::Time;

use crate::asked::{asked, budgets, constants, flow};
use crate::reservations::{LeftoverTraffic, Reservations, TransitionObserver};
use crate::statement::{Admitted, PlanEvent, Relocation, Statement, TransitionRule};

/// Time of decisions.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// As stated.
    Claimed,
    /// The times of moves are not stated: moves of one decision happen at once, and every decision waits until all
    /// packets of the one before have left.
    Steps { now: Time, longest: Time },
}

/// Follows who sends where.
pub(crate) struct Transit<'s> {
    statement: &'s Statement,
    clock: Clock,
    stays: Vec<RouteLifetime>,
    /// By place, the latest stays: one for each route.
    of_place: HashMap<usize, Vec<usize>>,
    shares: Vec<ShareLifetime>,
    /// By name, the latest stay of a share.
    of_name: HashMap<&'s str, usize>,
    pub(crate) moves: usize,
}

impl<'s> Transit<'s> {
    pub(crate) fn new(statement: &'s Statement) -> Self {
        let has_time = |event: &PlanEvent| match event {
            PlanEvent::Admitted(admitted) => admitted.moved.iter().all(|moved| moved.after.is_some()),
            PlanEvent::Released { .. } | PlanEvent::Shared { .. } => true,
        };
        let clock = match statement.history.iter().all(has_time) {
            true => Clock::Claimed,
            false => Clock::Steps { now: Time::ZERO, longest: longest(statement) },
        };
        let (of_place, of_name) = (HashMap::new(), HashMap::new());
        Self { statement, clock, stays: Vec::new(), of_place, shares: Vec::new(), of_name, moves: 0 }
    }

    /// Returns overbooked links, on which more is in flight at once than their queues permit: the first time for
    /// every port and kind of violation.
    pub(crate) fn overbooked(&self, progress: &mut wayleave_recheck::CheckProgress<'_>) -> Vec<Overbooked> {
        // If no flow leaves, any violation at some time is also one at the end.
        if self.stays.iter().all(|stay| stay.until.is_none()) {
            return Vec::new();
        }
        let mut first: Vec<Overbooked> = Vec::new();
        let found = check_transitions_watched(&asked(self.statement, Vec::new()), &self.stays, progress);
        for overbooked in found.overbooked {
            let Some(port) = port(&overbooked.violation) else { continue };
            if first.iter().all(|known| self::port(&known.violation) != Some(port)) {
                first.push(overbooked);
            }
        }
        first
    }

    /// Minima and weights that do not fit at some moment beside all that can still be on a link; what is broken in the end as well is left
    /// out.
    pub(crate) fn broken_shares(
        &self,
        claim: &Claim<'_>,
        terms: &ShareTerms<'_>,
        in_the_end: &[BrokenShare],
        progress: &mut wayleave_recheck::CheckProgress<'_>,
    ) -> Vec<BrokenAt> {
        if self.shares.is_empty() {
            return Vec::new();
        }
        let found = check_share_transitions(claim, terms, &self.stays, &self.shares, progress);
        found.broken.into_iter().filter(|one| !in_the_end.contains(&one.broken)).collect()
    }

    fn now(&self, claimed: Time) -> Time {
        match self.clock {
            Clock::Claimed => claimed,
            Clock::Steps { now, .. } => now,
        }
    }

    /// Returns the time `wait` after a decision.
    fn after(&self, decided: Time, wait: Time) -> Time {
        match self.statement.transition_rule {
            TransitionRule::Waits => self.now(decided).checked_add(wait).unwrap_or(Time::MAX),
            // Regardless of the statement, all happens at once.
            TransitionRule::None => self.now(decided),
        }
    }

    fn leave(&mut self, stay: usize, at: Time) {
        let RouteLifetime { flow, until, .. } = &mut self.stays[stay];
        // A flow that has stopped does not stop again.
        if until.is_none() {
            *until = Some(at);
            flow.name += &format!(" (present until {at:#})");
        }
    }
}

/// Returns the maximum time of packets on a route.
pub(crate) fn lasts(statement: &Statement, route: &Route) -> Time {
    budgets(statement, route).checked_add(constants(&statement.network, route)).unwrap_or(Time::MAX)
}

/// The longest time that packets may be on a route of a statement.
fn longest(statement: &Statement) -> Time {
    let routes = statement.history.iter().flat_map(|event| match event {
        PlanEvent::Admitted(admitted) => {
            let moved = admitted.moved.iter().flat_map(|moved| [&moved.from, &moved.to]);
            admitted.routes.iter().map(|stated| &stated.route).chain(moved).collect()
        }
        PlanEvent::Released { .. } | PlanEvent::Shared { .. } => Vec::new(),
    });
    routes.map(|route| lasts(statement, route)).max().unwrap_or(Time::ZERO)
}

/// The port that is overbooked, with the queue if it is one of its queues; nothing if something else is wrong.
pub(crate) fn port(violation: &BrokenPromise) -> Option<(&str, Option<u8>)> {
    match violation {
        BrokenPromise::LinkRate { link, .. } => Some((link, None)),
        BrokenPromise::Budget { link, queue, .. } | BrokenPromise::Buffer { link, queue, .. } => {
            Some((link, Some(*queue)))
        }
        _ => None,
    }
}

impl<'s> TransitionObserver<'s> for Transit<'s> {
    fn moved(
        &mut self,
        reservations: &Reservations<'s>,
        admitted: &'s Admitted,
        moved: &'s Relocation,
        left: LeftoverTraffic,
    ) {
        self.moves += 1;
        let at = self.after(admitted.at, moved.after.unwrap_or(Time::ZERO));
        let Some(place) = reservations.place(left.place) else { return };
        let Some(stays) = self.of_place.get_mut(&left.place) else { return };
        let Some(route) = stays.iter().position(|&stay| self.stays[stay].flow.route == left.route) else { return };
        let previous = std::mem::replace(&mut stays[route], self.stays.len());
        let flow = flow(self.statement, place, route, &moved.to);
        // Of a contract that has ended only the reservation moves.
        let until = self.stays[previous].until;
        self.stays.push(RouteLifetime { flow, from: at, until, previous: Some(previous) });
        self.leave(previous, at);
    }

    fn admitted(&mut self, reservations: &Reservations<'s>, admitted: &'s Admitted, number: usize) {
        let start = self.after(admitted.at, admitted.activate_after);
        let end = self.after(admitted.at, admitted.old_terms_end_after.unwrap_or(admitted.activate_after));
        for stay in self.of_place.remove(&number).unwrap_or_default() {
            self.leave(stay, end);
        }
        let Some(place) = reservations.place(number) else { return };
        let first = self.stays.len();
        for (index, route) in place.routes.iter().enumerate() {
            let flow = flow(self.statement, place, index, route);
            self.stays.push(RouteLifetime { flow, from: start, until: None, previous: None });
        }
        self.of_place.insert(number, (first..self.stays.len()).collect());
        if let (Clock::Steps { now, longest }, TransitionRule::Waits) =
            (&mut self.clock, self.statement.transition_rule)
        {
            *now = start.max(end).checked_add(*longest).unwrap_or(Time::MAX);
        }
    }

    fn released(&mut self, place: usize, at: Time, held_until: Time) {
        for stay in self.of_place.get(&place).cloned().unwrap_or_default() {
            let RouteLifetime { flow, from, .. } = &self.stays[stay];
            let now = self.now(at);
            // Without a hold there is no statement about packets that are still in flight: they are not counted.
            let end =
                if held_until > at { now } else { now.saturating_sub(lasts(self.statement, &flow.route)).max(*from) };
            self.leave(stay, end);
        }
    }

    fn shared(&mut self, (at, after): (Time, Time), name: &'s str, share: Option<&'s PromisedShare>) {
        let (now, from) = (self.now(at), self.after(at, after));
        if let Some(stay) = self.of_name.remove(name) {
            // An end before the start: it does not start.
            self.shares[stay].until = Some(now);
        }
        let Some(share) = share.cloned() else { return };
        self.of_name.insert(name, self.shares.len());
        // Certainty depends on later contracts; it is compared at each decision.
        self.shares.push(ShareLifetime { share: PromisedShare { certainty: None, ..share }, from, until: None });
    }
}
