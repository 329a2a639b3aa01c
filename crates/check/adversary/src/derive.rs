//! Consequences of a network, its contracts and their routes, independent of any statement: wire buckets, the delay
//! and the backlog of every queue, and every bound, by the method of `wayleave-recheck`. Statements are compared with
//! them.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_recheck::{
    CheckProgress, Claim as Asked, ClaimedQueue, PromisedFlow, QueueFinding, RecheckReport, ShareTerms, ShareTimes,
    check_all_shares, check_watched,
};
use wayleave_topology::{Class, Classes, LinkId, Network, NodeKind, Route, ShortBuffer};
use wayleave_units::{Bytes, Time};

use crate::asked::{asked, bucket, constants, flow, route_name};
use crate::bucket::AttackBucket;
use crate::claim::{AdmittedClaim, Background, Duplication, Promise, Protected};
use crate::discrepancy::Discrepancy;
use crate::exact::{check_past, check_share_queues, check_share_times};
use crate::reservations::{HistoryError, NoObserver, Reservations};
use crate::statement::{Admitted, DelayPart, LowestQueue, PlanEvent, StatedQueue, StatedTerm, Statement};
use crate::transit::{Transit, port};
use crate::transition_checks::check_transitions;

/// Results derived from a statement's network, contracts and routes.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// Promises for the packet test: each with the smaller one of the stated and the derived bound.
    pub claim: AdmittedClaim,
    /// Statements that are wrong, or that break a promise.
    pub discrepancies: Vec<Discrepancy>,
    /// Queues that hold flows.
    pub queues: usize,
    /// Flows with a valid route: one for each route of a contract.
    pub flows: usize,
    /// Minima and weights.
    pub shares: usize,
    /// Switch ports whose buffers may be too small for the queued traffic of minima.
    pub short_buffers: Vec<ShortBuffer>,
    /// Moves of flows, each checked with the packets that were still in flight.
    pub moves: usize,
    /// Derived delay and backlog of every queue that holds flows, rounded up; `None` is without bound.
    pub(crate) figures: BTreeMap<(LinkId, u8), (Option<Time>, Option<Bytes>)>,
}

/// Checks that a statement determines the admitted contracts and their routes at every moment.
///
/// # Errors
/// If it contradicts itself.
pub fn check_history(statement: &Statement) -> Result<(), HistoryError> {
    Reservations::of(statement, &mut NoObserver).map(|_| ())
}

/// A reservation on one route.
#[derive(Clone, Debug)]
pub struct RouteReservation {
    /// The bucket on the wire.
    pub bucket: AttackBucket,
    /// The largest frame on the wire, where one is known.
    pub max_frame: Option<Bytes>,
    /// The route.
    pub route: Route,
}

/// Returns the reservations that are left at the end of a history, one for each route.
///
/// # Errors
/// If the statement contradicts itself.
pub fn reserved_in_the_end(statement: &Statement) -> Result<Vec<RouteReservation>, HistoryError> {
    let reservations = Reservations::of(statement, &mut NoObserver)?;
    let all = reservations.places().flat_map(|(_, place)| {
        let (bucket, max_frame) = (bucket(&statement.counting, place.admitted), place.admitted.max_frame);
        place.routes.iter().map(move |route| RouteReservation { bucket, max_frame, route: route.clone() })
    });
    Ok(all.collect())
}

/// Derives all statements again, and compares the results.
///
/// # Errors
/// If the statement contradicts itself, so that the admitted contracts and their routes are undetermined.
pub fn derive(statement: &Statement) -> Result<Derivation, HistoryError> {
    derive_watched(statement, &mut |_, _| {})
}

/// Derives all statements again; `progress` receives the number of completed links and the total.
///
/// # Errors
/// As [`derive()`].
pub fn derive_watched(statement: &Statement, progress: &mut CheckProgress<'_>) -> Result<Derivation, HistoryError> {
    let mut transit = Transit::new(statement);
    let reservations = Reservations::of(statement, &mut transit)?;
    let moves = transit.moves;
    // Figures that repeat others, or are past, come last: a wrong route changes many of them.
    let (repeated, mut discrepancies): (Vec<_>, Vec<_>) =
        statement.findings.iter().cloned().partition(|finding| matches!(finding, Discrepancy::Stated { .. }));
    check_queues(statement, &mut discrepancies);
    let flows = Flows::of(statement, &reservations);
    for admitted in statement.history.iter().filter_map(PlanEvent::admitted) {
        check_contract(statement, admitted, &mut discrepancies);
    }
    let asked = flows.asked(statement, claimed_queues(statement));
    let report = check_watched(&asked, progress);
    check_counts(statement, &report, &mut discrepancies);
    // A port that is overbooked at the end is reported once.
    let ports: Vec<_> = report.violations.iter().filter_map(port).collect();
    let overbooked = transit
        .overbooked(progress)
        .into_iter()
        .filter(|one| !ports.contains(&port(&one.violation).unwrap_or_default()));
    discrepancies.extend(overbooked.map(Discrepancy::Overbooked));
    discrepancies.extend(report.violations.iter().cloned().map(Discrepancy::Unsound));
    let mut short_buffers = Vec::new();
    if let Some(classes) = statement.network.classes() {
        let (open, times) = (BTreeSet::new(), times(statement, classes));
        let mut checked = check_all_shares(&asked, classes, &open, &statement.shares, Some(&times), progress);
        let buffers = checked.compare_buffers(&statement.network, &statement.short_buffers);
        discrepancies.extend(buffers.into_iter().map(Discrepancy::Share));
        short_buffers = std::mem::take(&mut checked.short_buffers);
        let broken = checked.broken;
        discrepancies.extend(check_transitions(statement, classes, &broken)?);
        let terms = ShareTerms { classes, closed: &open, times: &times };
        discrepancies
            .extend(transit.broken_shares(&asked, &terms, &broken, progress).into_iter().map(Discrepancy::ShareThen));
        discrepancies.extend(check_share_queues(statement, classes));
        discrepancies.extend(check_share_times(statement, &asked, classes, &times));
        discrepancies.extend(broken.into_iter().map(Discrepancy::Share));
    }
    discrepancies.extend(check_past(statement, &reservations));
    discrepancies.extend(repeated);
    Ok(Derivation {
        claim: claim(statement, &reservations, &flows, &report),
        discrepancies,
        queues: report.queues.len(),
        flows: report.flows.len(),
        shares: statement.shares.len(),
        short_buffers,
        moves,
        figures: report.queues.iter().map(figure).collect(),
    })
}

/// Returns the values on which times of minima depend: budgets that the network fixes, and those that are stated
/// elsewhere.
fn times(statement: &Statement, classes: &Classes) -> ShareTimes {
    let network = &statement.network;
    let queue = usize::from(classes.queue_of(Class::Guaranteed));
    let fixed = |link| network.queues(link).get(queue).and_then(|queue| queue.budget);
    ShareTimes {
        budgets: network.links().map(|(link, _)| fixed(link).unwrap_or(statement.minima.budget)).collect(),
        token_period: statement.minima.token_period,
    }
}

fn figure(found: &QueueFinding) -> ((LinkId, u8), (Option<Time>, Option<Bytes>)) {
    ((found.link, found.queue), (found.delay_rounded_up(), found.backlog_rounded_up()))
}

/// All flows of a statement, and whose they are.
struct Flows {
    flows: Vec<PromisedFlow>,
    /// Place of each flow; `true` if its packets are still sent.
    owners: Vec<(usize, bool)>,
    disjoint: Vec<Vec<usize>>,
}

impl Flows {
    fn of(statement: &Statement, reservations: &Reservations<'_>) -> Self {
        let mut all = Self { flows: Vec::new(), owners: Vec::new(), disjoint: Vec::new() };
        for (number, place) in reservations.places() {
            let first = all.flows.len();
            for (index, route) in place.routes.iter().enumerate() {
                all.flows.push(flow(statement, place, index, route));
                all.owners.push((number, place.held_until.is_none()));
            }
            all.disjoint.extend((place.routes.len() > 1).then(|| (first..all.flows.len()).collect()));
        }
        all
    }

    fn asked<'n>(&self, statement: &'n Statement, claimed_queues: Vec<ClaimedQueue>) -> Asked<'n> {
        Asked { disjoint: self.disjoint.clone(), claimed_queues, ..asked(statement, self.flows.clone()) }
    }
}

fn claimed_queues(statement: &Statement) -> Vec<ClaimedQueue> {
    let claimed = |given: &StatedQueue| ClaimedQueue {
        link: given.link,
        queue: given.queue,
        // An unbounded queue has no figures here; the check reports it.
        delay: given.delay.unwrap_or(Time::ZERO),
        backlog: given.backlog.unwrap_or(Bytes::ZERO),
    };
    statement.queues.iter().map(claimed).collect()
}

impl Statement {
    /// Returns the statement about a queue.
    pub(crate) fn queue(&self, link: LinkId, queue: u8) -> Option<&StatedQueue> {
        let found = self.queues.binary_search_by_key(&(link, queue), |given| (given.link, given.queue)).ok()?;
        self.queues.get(found)
    }

    /// Returns the number of a link's queues that contracts may use.
    fn contract_queues(&self, link: LinkId) -> usize {
        let (all, from) = (self.network.queues(link).len(), self.network.link(link).from);
        let is_shared = self.network.node(from).kind == NodeKind::Switch;
        match self.counting.lowest_queue {
            LowestQueue::BestEffort if is_shared => all.saturating_sub(1),
            LowestQueue::BestEffort | LowestQueue::Contracts => all,
        }
    }
}

/// Budgets that the network fixes, buffers, and whose the lowest queue is.
fn check_queues(statement: &Statement, discrepancies: &mut Vec<Discrepancy>) {
    let network = &statement.network;
    let mut before: Option<(LinkId, u8)> = None;
    for given in &statement.queues {
        let link = || network.link(given.link).name.clone();
        let queue = given.queue;
        let expected = before.filter(|(other, _)| *other == given.link).map_or(0, |(_, queue)| queue + 1);
        if queue != expected {
            discrepancies.push(Discrepancy::QueueOrder { link: link(), queue, expected });
        }
        before = Some((given.link, queue));
        if usize::from(queue) >= statement.contract_queues(given.link) {
            discrepancies.push(Discrepancy::NoContractQueue { link: link(), queue });
            continue;
        }
        let Some(real) = network.queues(given.link).get(usize::from(queue)) else { continue };
        if real.buffer != given.buffer {
            let (stated, derived) = (given.buffer, real.buffer);
            discrepancies.push(Discrepancy::Buffer { link: link(), queue, stated, derived });
        }
        if let Some(derived) = real.budget.filter(|&budget| budget != given.budget) {
            discrepancies.push(Discrepancy::Budget { link: link(), queue, stated: given.budget, derived });
        }
    }
}

/// Checks the reservation, and the terms of bounds.
fn check_contract(statement: &Statement, admitted: &Admitted, discrepancies: &mut Vec<Discrepancy>) {
    let derived = statement.counting.on_the_wire(&admitted.asked);
    let stated = admitted.reserved;
    if !stated.covers(derived) {
        discrepancies.push(Discrepancy::Reserved { name: admitted.name.clone(), stated, derived });
    }
    for (number, stated) in admitted.routes.iter().enumerate() {
        let name = || route_name(&admitted.name, number);
        let mut given = stated.terms.clone();
        let mut derived = terms(statement, &stated.route);
        given.sort_unstable();
        derived.sort_unstable();
        // Terms without delay are optional.
        given.retain(|term| term.delay > Time::ZERO);
        derived.retain(|term| term.delay > Time::ZERO);
        if given == derived {
            continue;
        }
        let only_in = |one: &[StatedTerm], other: &[StatedTerm]| one.iter().find(|term| !other.contains(term)).copied();
        let (stated, derived) = (only_in(&given, &derived), only_in(&derived, &given));
        let network = &statement.network;
        let text = |term: Option<StatedTerm>| term.map(|term| term_text(network, term));
        discrepancies.push(Discrepancy::Terms { name: name(), stated: text(stated), derived: text(derived) });
    }
}

fn term_text(network: &Network, term: StatedTerm) -> String {
    let delay = term.delay;
    match term.part {
        DelayPart::Queue(link, queue) => format!("{delay:#} in queue {queue} of {}", network.link(link).name),
        DelayPart::Propagation(link) => format!("{delay:#} of propagation on {}", network.link(link).name),
        DelayPart::Processing(node) => format!("{delay:#} of processing in {}", network.node(node).name),
    }
}

/// Returns the terms of a route's bound.
fn terms(statement: &Statement, route: &Route) -> Vec<StatedTerm> {
    let network = &statement.network;
    let mut terms = Vec::new();
    for hop in route.hops.iter().filter(|hop| hop.link.index() < network.links().len()) {
        let link = network.link(hop.link);
        let budget = statement.queue(hop.link, hop.queue).map(|given| given.budget);
        let parts = [
            (DelayPart::Queue(hop.link, hop.queue), budget.unwrap_or(Time::ZERO)),
            (DelayPart::Propagation(hop.link), link.propagation),
            (DelayPart::Processing(link.from), network.node(link.from).processing),
        ];
        terms.extend(parts.map(|(part, delay)| StatedTerm { part, delay }));
    }
    terms
}

/// Compares the numbers of flows in queues.
fn check_counts(statement: &Statement, report: &RecheckReport, discrepancies: &mut Vec<Discrepancy>) {
    for given in &statement.queues {
        let derived = report.queue(given.link, given.queue).map_or(0, |found| found.flows);
        if derived != given.flows {
            let link = statement.network.link(given.link).name.clone();
            discrepancies.push(Discrepancy::Flows { link, queue: given.queue, stated: given.flows, derived });
        }
    }
}

/// Returns the claim for the packet test.
fn claim(
    statement: &Statement,
    reservations: &Reservations<'_>,
    flows: &Flows,
    report: &RecheckReport,
) -> AdmittedClaim {
    let network = &statement.network;
    let (mut promises, mut protected): (Vec<Promise>, Vec<Protected>) = (Vec::new(), Vec::new());
    let mut last = None;
    for found in &report.flows {
        let (owner, is_sending) = flows.owners[found.index];
        let Some(place) = reservations.place(owner).filter(|_| is_sending) else { continue };
        let flow = &flows.flows[found.index];
        let today = [derived_today(network, &flow.route, report), stated_today(statement, &flow.route)];
        if last == Some(owner) {
            match protected.last_mut().filter(|group| group.routes.last() == Some(&(promises.len() - 1))) {
                Some(group) => group.routes.push(promises.len()),
                None => protected
                    .push(Protected { routes: vec![promises.len() - 1, promises.len()], duplication: Duplication::On }),
            }
        }
        last = Some(owner);
        let carried = flow.route.hops.iter().map(|hop| statement.counting.largest_frame(network.link(hop.link).mtu));
        promises.push(Promise {
            name: flow.name.clone(),
            route: flow.route.clone(),
            rate: flow.rate,
            burst: flow.burst,
            frame: carried.chain(place.admitted.max_frame).min().unwrap_or(Bytes::ZERO),
            bound: flow.promised_bound,
            today: today.into_iter().flatten().min(),
        });
    }
    let largest = || network.links().map(|(_, link)| statement.counting.largest_frame(link.mtu)).collect();
    let background = match statement.counting.lowest_queue {
        LowestQueue::BestEffort => Background::Saturating { largest: largest() },
        LowestQueue::Contracts => Background::Dropped,
    };
    let order = statement.counting.order;
    AdmittedClaim::new(network.clone(), background, promises).with_protected(protected).with_order(order)
}

/// Returns the present delay of a route: the sum of its queues, each rounded up.
fn derived_today(network: &Network, route: &Route, report: &RecheckReport) -> Option<Time> {
    let wait = |hop: &wayleave_topology::Hop| report.queue(hop.link, hop.queue)?.delay_rounded_up();
    let waits: Option<Time> = route.hops.iter().map(wait).sum();
    waits?.checked_add(constants(network, route))
}

fn stated_today(statement: &Statement, route: &Route) -> Option<Time> {
    let wait = |hop: &wayleave_topology::Hop| statement.queue(hop.link, hop.queue)?.delay;
    let waits: Option<Time> = route.hops.iter().map(wait).sum();
    waits?.checked_add(constants(&statement.network, route))
}
