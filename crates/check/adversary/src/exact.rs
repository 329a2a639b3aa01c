//! Figures that follow exactly from the decisions of a statement, so that a larger value is as wrong as a smaller one: the time
//! at which a flow starts, the time until which an ended contract keeps its reservation, the time within which a minimum is
//! there, and the queue of a minimum.
//!
//! The rule for starts is that of `docs/theory/admission.md`, section 9: a flow starts on its routes once every route that was left
//! earlier and shares a link with them is empty. A route is empty after its bound. This module derives the rule from the
//! history alone; it shares no code with the schemes.

use std::collections::{BTreeSet, HashMap};

use wayleave_recheck::{BrokenShare, Claim as Asked, HeldShare, PromisedShare, ShareTimes, check_times};
use wayleave_topology::{Class, Classes, LinkId, Network, NodeId, Route};
use wayleave_units::Time;

use crate::asked::route_name;
use crate::discrepancy::Discrepancy;
use crate::reservations::{ContractLocation, HistoryError, LeftoverTraffic, Reservations, TransitionObserver, text};
use crate::statement::{Admitted, DecisionKind, PlanEvent, Relocation, Statement, TransitionRule};
use crate::transit::lasts;

/// Compares the starts and the holds of a history with the derived ones, where senders act at the earliest permitted
/// time, as in a plan. If nothing is held for the packets of ended contracts, as in the publications, decisions do
/// not wait either. A statement in which a flow starts later than necessary is sound, but is no plan.
///
/// # Errors
/// If the history contradicts itself.
pub fn check_moments(statement: &Statement) -> Result<Vec<Discrepancy>, HistoryError> {
    let has_times = |event: &PlanEvent| match event {
        PlanEvent::Admitted(admitted) => admitted.moved.iter().all(|moved| moved.after.is_some()),
        PlanEvent::Released { .. } | PlanEvent::Shared { .. } => true,
    };
    // Statements of older plans do not contain the times of moves, and a statement without patience is wrong on
    // purpose.
    if statement.transition_rule == TransitionRule::None || !statement.history.iter().all(has_times) {
        return Reservations::of(statement, &mut crate::reservations::NoObserver).map(|_| Vec::new());
    }
    let mut moments = Moments {
        statement,
        empty: HashMap::new(),
        present: HashMap::new(),
        names: HashMap::new(),
        decision: None,
        holds: Vec::new(),
        found: Vec::new(),
    };
    Reservations::of(statement, &mut moments)?;
    let held = |event: &PlanEvent| match event {
        PlanEvent::Released { at, held_until, .. } => Some(held_until > at),
        PlanEvent::Admitted(_) | PlanEvent::Shared { .. } => None,
    };
    let holds: Vec<bool> = statement.history.iter().filter_map(held).collect();
    let waits = statement.history.iter().filter_map(PlanEvent::admitted).any(|admitted| {
        admitted.activate_after > Time::ZERO || admitted.moved.iter().any(|moved| moved.after > Some(Time::ZERO))
    });
    if !holds.is_empty() && !holds.contains(&true) && !waits {
        return Ok(Vec::new());
    }
    moments.check_holds();
    Ok(moments.found)
}

/// Times of one decision, counted from it: of every move, and of the flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Starts {
    moves: Vec<Time>,
    flow: Time,
}

/// Follows a history with the time at which the last packets of departed flows leave each link.
struct Moments<'s> {
    statement: &'s Statement,
    /// Time at which the packets of every departed route have left, by link.
    empty: HashMap<LinkId, Time>,
    /// Routes of every contract, by place.
    present: HashMap<usize, Vec<Route>>,
    names: HashMap<usize, &'s str>,
    /// Routes that the present decision leaves and takes, in the order of its moves.
    decision: Option<Vec<(Route, Route)>>,
    /// Ends of contracts: the name, the time of the end, the stated and the derived end of the hold.
    holds: Vec<(String, Time, Time, Time)>,
    found: Vec<Discrepancy>,
}

impl Moments<'_> {
    /// Returns the starts of a decision, and the links with the times at which they are empty afterwards.
    fn starts(&self, admitted: &Admitted, given_up: &[Route], instead: bool) -> (Starts, HashMap<LinkId, Time>) {
        let (now, statement) = (admitted.at, self.statement);
        // A decision that leaves no route, which is the usual one, copies nothing.
        let leaves = !given_up.is_empty() || self.decision.is_some();
        let mut empty = if leaves { self.empty.clone() } else { HashMap::new() };
        let leave = |empty: &mut HashMap<LinkId, Time>, route: &Route, at: Time| {
            let gone = at.checked_add(lasts(statement, route)).unwrap_or(Time::MAX);
            for hop in &route.hops {
                let time = empty.entry(hop.link).or_default();
                *time = (*time).max(gone);
            }
        };
        let start = |empty: &HashMap<LinkId, Time>, route: &Route| {
            route.hops.iter().filter_map(|hop| empty.get(&hop.link)).copied().fold(now, Time::max)
        };
        if instead {
            given_up.iter().for_each(|route| leave(&mut empty, route, now));
        }
        let mut starts = Starts::default();
        for (from, to) in self.decision.iter().flatten() {
            let at = start(&empty, to);
            leave(&mut empty, from, at);
            starts.moves.push(at.saturating_sub(now));
        }
        let before = if leaves { &empty } else { &self.empty };
        let at = admitted.routes.iter().map(|stated| start(before, &stated.route)).max().unwrap_or(now);
        if !instead {
            given_up.iter().for_each(|route| leave(&mut empty, route, at));
        }
        starts.flow = at.saturating_sub(now);
        (starts, empty)
    }

    fn compare(&mut self, admitted: &Admitted, stated: &Starts, derived: &Starts) {
        let name = || admitted.name.clone();
        let mut add = |what: String, stated: Time, derived: Time| {
            if stated != derived {
                let (stated, derived) = (format!("{stated:#}"), format!("{derived:#}"));
                self.found.push(Discrepancy::Stated { name: name(), what, stated, derived });
            }
        };
        for ((moved, &stated), &derived) in admitted.moved.iter().zip(&stated.moves).zip(&derived.moves) {
            add(format!("the time until \"{}\" takes its new route", moved.name), stated, derived);
        }
        add("the time until it starts".to_owned(), stated.flow, derived.flow);
    }

    /// Checks that all reservations of ended contracts are kept until their packets have arrived, or that none is.
    fn check_holds(&mut self) {
        let holds = self.holds.iter().any(|(_, at, stated, _)| stated > at);
        for (name, at, stated, until) in std::mem::take(&mut self.holds) {
            let derived = if holds { until } else { at };
            if stated != derived {
                let what = "the end of its reservation".to_owned();
                let (stated, derived) = (format!("{stated:#}"), format!("{derived:#}"));
                self.found.push(Discrepancy::Stated { name, what, stated, derived });
            }
        }
    }
}

impl<'s> TransitionObserver<'s> for Moments<'s> {
    fn moved(&mut self, _: &Reservations<'s>, _: &'s Admitted, moved: &'s Relocation, left: LeftoverTraffic) {
        if let Some(routes) = self.present.get_mut(&left.place)
            && let Some(route) = routes.iter_mut().find(|route| **route == left.route)
        {
            route.clone_from(&moved.to);
        }
        self.decision.get_or_insert_default().push((left.route, moved.to.clone()));
    }

    fn admitted(&mut self, _: &Reservations<'s>, admitted: &'s Admitted, number: usize) {
        let given_up = match admitted.kind {
            DecisionKind::Change => self.present.remove(&number).unwrap_or_default(),
            DecisionKind::New => Vec::new(),
        };
        let stated = Starts {
            moves: admitted.moved.iter().filter_map(|moved| moved.after).collect(),
            flow: admitted.activate_after,
        };
        let beside = self.starts(admitted, &given_up, false);
        let ends = admitted.old_terms_end_after;
        // Old terms end when the new ones start, or at once where the new ones fit only without them.
        let is_instead =
            !given_up.is_empty() && ends == Some(Time::ZERO) && (stated.flow > Time::ZERO || beside.0 != stated);
        let (derived, empty) = if is_instead { self.starts(admitted, &given_up, true) } else { beside };
        self.compare(admitted, &stated, &derived);
        let end = if is_instead { Time::ZERO } else { derived.flow };
        let end = Some(end).filter(|_| !given_up.is_empty());
        if ends.is_some_and(|ends| Some(ends) != end) {
            let text = |end: Option<Time>| end.map_or_else(|| "nothing".to_owned(), |end| end.to_string());
            let what = "the time until its old terms end".to_owned();
            let (stated, derived) = (text(ends), text(end));
            self.found.push(Discrepancy::Stated { name: admitted.name.clone(), what, stated, derived });
        }
        if !given_up.is_empty() || self.decision.is_some() {
            self.empty = empty;
        }
        self.decision = None;
        self.names.insert(number, &admitted.name);
        self.present.insert(number, admitted.routes.iter().map(|stated| stated.route.clone()).collect());
    }

    fn released(&mut self, place: usize, at: Time, held_until: Time) {
        // The first route of a contract is the one that takes longest.
        let route = self.present.get(&place).and_then(|routes| routes.first());
        let lasts = route.map_or(Time::ZERO, |route| lasts(self.statement, route));
        let name = self.names.remove(&place).unwrap_or_default().to_owned();
        self.holds.push((name, at, held_until, at.checked_add(lasts).unwrap_or(Time::MAX)));
    }
}

/// Checks the promises of decisions that are no longer in place: of contracts that have ended, have other terms or
/// were moved. Their routes, bounds and deadlines are compared. Current decisions are checked with the queues.
pub(crate) fn check_past(statement: &Statement, reservations: &Reservations<'_>) -> Vec<Discrepancy> {
    let is_in_place = |place: &ContractLocation<'_>| {
        place.routes.len() == place.admitted.routes.len()
            && place.routes.iter().zip(&place.admitted.routes).all(|(route, stated)| *route == stated.route)
    };
    let places = reservations.places().filter(|(_, place)| is_in_place(place));
    let present: BTreeSet<*const Admitted> = places.map(|(_, place)| std::ptr::from_ref(place.admitted)).collect();
    let past = statement.history.iter().filter_map(PlanEvent::admitted);
    let mut found = Vec::new();
    for admitted in past.filter(|admitted| !present.contains(&std::ptr::from_ref(*admitted))) {
        for (number, stated) in admitted.routes.iter().enumerate() {
            let name = route_name(&admitted.name, number);
            let mut add = |what: &str, stated: String, derived: String| {
                found.push(Discrepancy::Stated { name: name.clone(), what: what.to_owned(), stated, derived });
            };
            let route = &stated.route;
            if !is_route(&statement.network, route, admitted.from, admitted.to) {
                add("its route", text(&statement.network, route), "another one between its hosts".to_owned());
            }
            let derived = lasts(statement, route);
            if stated.bound != derived {
                add("its bound", stated.bound.to_string(), derived.to_string());
            }
            if stated.bound > admitted.asked.deadline {
                add("its deadline", admitted.asked.deadline.to_string(), stated.bound.to_string());
            }
        }
    }
    found
}

fn is_route(network: &Network, route: &Route, from: NodeId, to: NodeId) -> bool {
    let known = |hop: &wayleave_topology::Hop| hop.link.index() < network.links().len();
    route.hops.iter().all(known) && route.validate(network, from, to).is_ok()
}

/// Compares the routes and queues of minima of pairs with their hosts and with the queue of the guaranteed class.
pub(crate) fn check_share_queues(statement: &Statement, classes: &Classes) -> Vec<Discrepancy> {
    let (network, present) = (&statement.network, admitted_shares(statement));
    let mut found = Vec::new();
    let mut seen: BTreeSet<(&str, LinkId)> = BTreeSet::new();
    for share in all_shares(statement) {
        let HeldShare::Pair(from, to, route) = &share.held else { continue };
        // The route of a current minimum is checked with its load.
        if present.get(share.name.as_str()) != Some(&share) && !is_route(network, route, *from, *to) {
            let (what, stated) = ("its route".to_owned(), text(network, route));
            let derived = "another one between its hosts".to_owned();
            found.push(Discrepancy::Stated { name: share.name.clone(), what, stated, derived });
        }
        for hop in route.hops.iter().filter(|hop| hop.link.index() < network.links().len()) {
            let derived = guaranteed_queue(network, classes, hop.link);
            if hop.queue != derived && seen.insert((&share.name, hop.link)) {
                let what = format!("its queue on {}", network.link(hop.link).name);
                let (stated, derived) = (hop.queue.to_string(), derived.to_string());
                found.push(Discrepancy::Stated { name: share.name.clone(), what, stated, derived });
            }
        }
    }
    found
}

/// Returns the queue of the guaranteed class at a port. A host queues its classes in memory, below the queues of its port.
fn guaranteed_queue(network: &Network, classes: &Classes, link: LinkId) -> u8 {
    let last = network.queues(link).len().saturating_sub(1);
    classes.queue_of(Class::Guaranteed).min(u8::try_from(last).unwrap_or(u8::MAX))
}

/// Returns the shares that are held in the end, by name.
fn admitted_shares(statement: &Statement) -> HashMap<&str, &PromisedShare> {
    statement.shares.iter().map(|share| (share.name.as_str(), share)).collect()
}

/// Returns all shares of a history, and those that are held in the end.
fn all_shares(statement: &Statement) -> impl Iterator<Item = &PromisedShare> {
    let past = statement.history.iter().filter_map(|event| match event {
        PlanEvent::Shared { share, .. } => share.as_ref(),
        PlanEvent::Admitted(_) | PlanEvent::Released { .. } => None,
    });
    past.chain(&statement.shares)
}

/// Compares the times of minima, including ended ones, with the times that follow from the network. Times that are
/// too short for a current minimum are reported by [`check_times`].
pub(crate) fn check_share_times(
    statement: &Statement,
    asked: &Asked<'_>,
    classes: &Classes,
    times: &ShareTimes,
) -> Vec<Discrepancy> {
    let mut seen = BTreeSet::new();
    let timed = all_shares(statement).filter(|share| share.there_within.is_some());
    let timed: Vec<&PromisedShare> = timed.filter(|share| seen.insert((&share.name, share.there_within))).collect();
    if timed.is_empty() {
        return Vec::new();
    }
    // No minimum is there at once, so the calculator of times answers with the time of every share.
    let at_once: Vec<PromisedShare> =
        timed.iter().map(|share| PromisedShare { there_within: Some(Time::ZERO), ..(*share).clone() }).collect();
    let late = check_times(asked, classes, &BTreeSet::new(), &at_once, times).into_iter();
    let late = late.filter_map(|broken| match broken {
        BrokenShare::Time { derived, .. } => Some(derived),
        _ => None,
    });
    let derived: Vec<Time> = late.collect();
    if derived.len() != timed.len() {
        return Vec::new();
    }
    let present = admitted_shares(statement);
    let differ = timed.into_iter().zip(derived).filter_map(|(share, derived)| {
        let is_past = || present.get(share.name.as_str()) != Some(&share);
        let stated = share.there_within.filter(|&stated| stated > derived || (stated < derived && is_past()))?;
        let what = "the time to reach its minimum".to_owned();
        let (stated, derived) = (format!("{stated:#}"), format!("{derived:#}"));
        Some(Discrepancy::Stated { name: share.name.clone(), what, stated, derived })
    });
    differ.collect()
}
