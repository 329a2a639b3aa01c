//! The check itself: flows one by one, then links one by one, then what was claimed about queues.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use num_rational::BigRational;
use num_traits::Zero;
use rayon::prelude::*;
use wayleave_topology::{Hop, LinkId, NodeKind};
use wayleave_units::{Bytes, Time};

use crate::claim::{Claim, ClaimedQueue, JitterTerm, PacketiserTerm, PromisedFlow};
use crate::deviation::{backlog, delay};
use crate::disjoint::check_disjoint;
use crate::exact::{Fraction, rational, whole};
use crate::port::{Input, Line, Server, arrival};
use crate::report::{FlowFinding, QueueFinding, RecheckReport};
use crate::violation::{BrokenPromise, RouteFault};

/// Callback with the progress of a check: completed and total work.
pub type CheckProgress<'a> = dyn FnMut(u64, u64) + Send + 'a;

const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// Derives every bound from scratch, and compares it with its limit and with the promise.
///
/// # Panics
/// If the claim does not have one entry per link in `budgets` and in `max_frame`.
pub fn check(claim: &Claim<'_>) -> RecheckReport {
    check_watched(claim, &mut |_, _| {})
}

/// Checks a claim; `progress` receives the number of completed links and the total, from any thread, but never from
/// two at once.
///
/// # Panics
/// As [`check`].
pub fn check_watched(claim: &Claim<'_>, progress: &mut CheckProgress<'_>) -> RecheckReport {
    let links = claim.network.links().len();
    assert_eq!(claim.budgets.len(), links, "the budgets must have one entry per link");
    assert_eq!(claim.max_frame.len(), links, "the largest frames must have one entry per link");

    let mut report = RecheckReport::default();
    let mut loads = BTreeMap::new();
    for (index, flow) in claim.flows.iter().enumerate() {
        match validate(claim, flow) {
            Ok(()) => {
                add_load(claim, flow, &mut loads);
                check_flow(claim, index, &mut report);
            }
            Err(violation) => report.violations.push(violation),
        }
    }
    for routes in &claim.disjoint {
        check_disjoint(claim, routes, &mut report);
    }
    // Links do not depend on one another. Their findings are put together in the order of links.
    let loads: Vec<_> = loads.into_iter().collect();
    let progress = Mutex::new((0, progress));
    let of_link = |(link, load): &(LinkId, LinkLoad)| {
        let mut found = RecheckReport::default();
        check_link(claim, *link, load, &mut found);
        // Nothing depends on the watcher, so a poisoned lock can be used.
        let (done, progress) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        progress(*done, loads.len() as u64);
        found
    };
    for found in loads.par_iter().map(of_link).collect::<Vec<_>>() {
        report.queues.extend(found.queues);
        report.violations.extend(found.violations);
    }
    for claimed in &claim.claimed_queues {
        check_claimed(claim, claimed, &mut report);
    }
    report
}

/// Load of the flows on one link.
#[derive(Default)]
pub(crate) struct LinkLoad {
    rate: u128,
    queues: BTreeMap<u8, QueueLoad>,
}

/// Their load on one queue: per input (`None` for the flows that start here) the sums of their bursts and rates.
#[derive(Default)]
struct QueueLoad {
    flows: usize,
    inputs: BTreeMap<Option<LinkId>, Line>,
}

pub(crate) fn validate(claim: &Claim<'_>, flow: &PromisedFlow) -> Result<(), BrokenPromise> {
    let network = claim.network;
    let fail = |fault| Err(BrokenPromise::Route { flow: flow.name.clone(), fault });
    for end in [flow.from, flow.to] {
        if end.index() >= network.nodes().len() {
            return fail(RouteFault::UnknownNode(end.0));
        }
        if network.node(end).kind != NodeKind::Host {
            return fail(RouteFault::EndIsSwitch(network.node(end).name.clone()));
        }
    }
    if let Some(hop) = flow.route.hops.iter().find(|hop| hop.link.index() >= network.links().len()) {
        return fail(RouteFault::UnknownLink(hop.link.0));
    }
    if let Err(error) = flow.route.validate(network, flow.from, flow.to) {
        return fail(RouteFault::Hops(error));
    }
    match flow.route.hops.iter().find(|hop| claim.budgets[hop.link.index()].len() <= usize::from(hop.queue)) {
        Some(hop) => {
            let link = network.link(hop.link).name.clone();
            Err(BrokenPromise::NoBudget { flow: flow.name.clone(), link, queue: hop.queue })
        }
        None => Ok(()),
    }
}

/// Adds the flow to every queue on its route where no other flow covers it, its burst grown by `r_f` times the budgets of the queues before.
fn add_load(claim: &Claim<'_>, flow: &PromisedFlow, loads: &mut BTreeMap<LinkId, LinkLoad>) {
    for (index, hop) in flow.route.hops.iter().enumerate().skip(flow.covered) {
        add_hop(claim, flow, index, loads.entry(hop.link).or_default());
    }
}

/// Adds the flow to the queue of one hop of its route.
pub(crate) fn add_hop(claim: &Claim<'_>, flow: &PromisedFlow, index: usize, link: &mut LinkLoad) {
    let rate = flow.rate.bits_per_second();
    let budget = |hop: &Hop| u128::from(claim.budgets[hop.link.index()][usize::from(hop.queue)].as_nanos());
    let (before, hop) = (&flow.route.hops[..index], flow.route.hops[index]);
    let waited: u128 = before.iter().map(budget).sum();
    link.rate += u128::from(rate);
    let queue = link.queues.entry(hop.queue).or_default();
    queue.flows += 1;
    let input = before.last().map(|hop| hop.link);
    let from = queue.inputs.entry(input).or_insert_with(|| Line { offset: whole(0), slope: whole(0) });
    from.offset = &from.offset + nanobits(flow.burst) + whole(u128::from(rate) * waited);
    from.slope = &from.slope + whole(rate);
}

fn check_flow(claim: &Claim<'_>, index: usize, report: &mut RecheckReport) {
    let flow = &claim.flows[index];
    let finding = FlowFinding { index, ..bound_of(claim, flow) };
    let bound_ns = finding.bound_ns();
    if bound_ns > u128::from(flow.deadline.as_nanos()) {
        report.violations.push(BrokenPromise::Deadline { flow: flow.name.clone(), bound_ns, deadline: flow.deadline });
    }
    let promised = flow.promised_bound;
    let promised_ns = u128::from(promised.as_nanos());
    if promised_ns < bound_ns || (claim.exact_claims && promised_ns > bound_ns) {
        report.violations.push(BrokenPromise::PromisedBound { flow: flow.name.clone(), promised, bound_ns });
    }
    report.flows.push(finding);
}

/// Returns the maximum end-to-end delay of a flow.
pub(crate) fn bound_of(claim: &Claim<'_>, flow: &PromisedFlow) -> FlowFinding {
    let network = claim.network;
    let sum = |of: &dyn Fn(LinkId, u8) -> Time| {
        flow.route.hops.iter().map(|hop| u128::from(of(hop.link, hop.queue).as_nanos())).sum()
    };
    FlowFinding {
        index: 0,
        name: flow.name.clone(),
        queueing_ns: sum(&|link, queue| claim.budgets[link.index()][usize::from(queue)]),
        propagation_ns: sum(&|link, _| network.link(link).propagation),
        // The nodes that its links leave are its source host and every switch on its path.
        processing_ns: sum(&|link, _| network.node(network.link(link).from).processing),
    }
}

pub(crate) fn check_link(claim: &Claim<'_>, id: LinkId, load: &LinkLoad, report: &mut RecheckReport) {
    let link = claim.network.link(id);
    if load.rate > u128::from(link.rate.bits_per_second()) {
        report.violations.push(BrokenPromise::LinkRate {
            link: link.name.clone(),
            reserved_bits_per_second: load.rate,
            rate: link.rate,
        });
    }
    let server = server(claim, id);
    // Maximum time by which a packet may enter its queue behind others that arrived after it.
    let late = match claim.jitter {
        JitterTerm::Ordered => whole(0),
        JitterTerm::Any => whole(claim.network.node(link.from).jitter.as_nanos()),
    };
    // Arrivals of the queues above, in order of priority.
    let mut higher = Vec::new();
    for (&queue, load) in &load.queues {
        let inputs = inputs(claim, load);
        let alpha = arrival(&inputs);
        let beta = server.service(&higher);
        let finding = QueueFinding {
            link: id,
            queue,
            delay_ns: delay(&alpha, &beta, &late).map(|delay| (delay + &late).reduced()),
            backlog_bytes: backlog(&alpha, &beta).map(|nanobits| (nanobits / whole(NANOBITS_PER_BYTE)).reduced()),
            flows: load.flows,
        };
        check_limits(claim, &finding, report);
        report.queues.push(finding);
        higher.push(inputs);
    }
}

fn server(claim: &Claim<'_>, id: LinkId) -> Server {
    let link = claim.network.link(id);
    let rate = whole(link.rate.bits_per_second());
    let frame = nanobits(claim.max_frame[id.index()]);
    let packetiser = match claim.packetiser {
        PacketiserTerm::Subtracted => frame.clone(),
        PacketiserTerm::Omitted => whole(0),
    };
    let jitter = whole(claim.network.node(link.from).jitter.as_nanos());
    Server { lost: frame + packetiser + &rate * jitter, rate }
}

fn inputs(claim: &Claim<'_>, load: &QueueLoad) -> Vec<Input> {
    let cap = |input: Option<LinkId>| {
        let id = input.filter(|_| claim.shaping)?;
        let slope = whole(claim.network.link(id).rate.bits_per_second());
        Some(Line { offset: nanobits(claim.max_frame[id.index()]), slope })
    };
    load.inputs.iter().map(|(&input, flows)| Input { flows: flows.clone(), cap: cap(input) }).collect()
}

fn check_limits(claim: &Claim<'_>, found: &QueueFinding, report: &mut RecheckReport) {
    let QueueFinding { link, queue, ref delay_ns, ref backlog_bytes, .. } = *found;
    let name = || claim.network.link(link).name.clone();
    let budget = claim.budgets[link.index()][usize::from(queue)];
    if exceeds(delay_ns, budget.as_nanos()) {
        let delay_ns = delay_ns.clone();
        report.violations.push(BrokenPromise::Budget { link: name(), queue, delay_ns, budget });
    }
    let buffer = claim.network.queues(link)[usize::from(queue)].buffer;
    if exceeds(backlog_bytes, buffer.get()) {
        let backlog_bytes = backlog_bytes.clone();
        report.violations.push(BrokenPromise::Buffer { link: name(), queue, backlog_bytes, buffer });
    }
}

/// A claimed figure must not be below the derived one; an exact claim is the derived one, rounded up.
fn check_claimed(claim: &Claim<'_>, claimed: &ClaimedQueue, report: &mut RecheckReport) {
    let &ClaimedQueue { link, queue, delay, backlog } = claimed;
    let name = || match link.index() < claim.network.links().len() {
        true => claim.network.link(link).name.clone(),
        false => format!("unknown link {}", link.0),
    };
    let nothing = || Some(BigRational::zero());
    let found = report.queue(link, queue);
    let delay_ns = found.map_or_else(nothing, |found| found.delay_ns.clone());
    let backlog_bytes = found.map_or_else(nothing, |found| found.backlog_bytes.clone());
    let is_wrong = |derived: &Option<BigRational>, figure: u64| {
        exceeds(derived, figure)
            || (claim.exact_claims && derived.as_ref().is_some_and(|exact| rational(figure) > exact.ceil()))
    };
    if is_wrong(&delay_ns, delay.as_nanos()) {
        report.violations.push(BrokenPromise::ClaimedDelay { link: name(), queue, claimed: delay, delay_ns });
    }
    if is_wrong(&backlog_bytes, backlog.get()) {
        report.violations.push(BrokenPromise::ClaimedBacklog { link: name(), queue, claimed: backlog, backlog_bytes });
    }
}

/// Returns `true` if a derived figure (`None` is without bound) is above a limit.
fn exceeds(derived: &Option<BigRational>, limit: u64) -> bool {
    derived.as_ref().is_none_or(|derived| *derived > rational(limit))
}

fn nanobits(bytes: Bytes) -> Fraction {
    whole(bytes.get()) * whole(NANOBITS_PER_BYTE)
}
