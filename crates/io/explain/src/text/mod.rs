//! An explanation for people: the decision, then its reasons from the outside in.

mod page;
mod schemes;

use std::io::{self, Write};

use comfy_table::Cell;
use wayleave_contracts::{Accounting, LatencyContract};
use wayleave_ledger::QueueReport;
use wayleave_scheme_api::{Binding, Decision, Refusal};
use wayleave_schemes::admitted::{AdmittedSet, Term};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::reservations::{PathOutcome, PathTried};
use wayleave_schemes::suggest::NearestRequest;
use wayleave_schemes::transition::StartTimes;
use wayleave_topology::{Class, Hop, Route};
use wayleave_units::{Rate, Time};

use page::Page;

use crate::context::{Context, routes};
use crate::explanation::{EarlierDecisions, Explained, Refused};
use crate::human::{self, Human, count};
use crate::sentences;
use crate::table::{TableLayout, write_table, write_wrapped};
use crate::waits::longest_wait;

/// Writes an explanation.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    out: &mut impl Write,
    context: &Context<'_>,
    explained: &Explained<'_>,
    layout: TableLayout,
) -> io::Result<()> {
    let page = &Page { context, layout };
    head(out, page, explained)?;
    let refusal = match explained.decision {
        Ok(decision) => return admitted(out, page, explained, decision),
        Err(refusal) => refusal,
    };
    why(out, page, explained.contract, refusal)?;
    let Some(refused) = explained.refused else { return Ok(()) };
    match refusal {
        // A link that is down is so for every queue.
        Refusal::Blocked { binding: Binding::Down { .. }, .. } => {}
        Refusal::Blocked { binding, .. } if context.ledger().is_some() => every_queue(out, page, refused, binding)?,
        _ => {}
    }
    tried(out, page, explained.contract, refused)?;
    schemes::refused(out, page, refusal)?;
    write_nearest(out, explained.contract, &refused.nearest)
}

fn head(out: &mut impl Write, page: &Page<'_>, explained: &Explained<'_>) -> io::Result<()> {
    let (contract, request) = (explained.contract, explained.request);
    let verdict = match explained.decision {
        Ok(_) => "admitted".to_owned(),
        Err(refusal) => format!("refused, {}", refusal.reason().code()),
    };
    writeln!(out, "{}: {verdict}", contract.name)?;
    let name = |node| sentences::name(page.context.network, node);
    let [rate, burst, deadline] = [contract.rate.up(), contract.burst.up(), contract.deadline.down()];
    let (from, to) = (name(contract.from), name(contract.to));
    write!(out, "  {from} -> {to}, rate {rate}, burst {burst}, deadline {deadline}")?;
    if let Accounting::Frame { min_frame } = contract.accounting {
        write!(out, " (with frames from {min_frame:#}, on the wire: {}, {})", request.rate.up(), request.burst.up())?;
    }
    writeln!(out)?;
    let Some(EarlierDecisions { admitted, refused }) = explained.before else { return Ok(()) };
    let all = admitted + refused;
    let others = count(all, "other contract");
    match (all, refused) {
        (0, _) => writeln!(out, "  decided first (empty network)"),
        (_, 0) => writeln!(out, "  decided after {others}, all admitted"),
        (_, refused) => writeln!(out, "  decided after {others}, {admitted} admitted and {refused} refused"),
    }
}

fn admitted(out: &mut impl Write, page: &Page<'_>, explained: &Explained<'_>, decision: &Decision) -> io::Result<()> {
    let contract = explained.contract;
    let margin = contract.deadline.saturating_sub(decision.bound);
    let margin = margin.down();
    let routes = routes(decision);
    match routes.as_slice() {
        [route] => {
            writeln!(out, "\nRoute (queue of each link in brackets)")?;
            writeln!(out, "  {}", sentences::route(page.context.network, route))?;
            writeln!(out, "\nEnd-to-end delay bound: {}, {margin} below the deadline", decision.bound.up())?;
            match page.context.scheme.queues() {
                Some(placement) => terms(out, page, placement, route)?,
                None => schemes::terms(out, page, decision)?,
            }
        }
        routes => protected(out, page, contract, routes, &margin)?,
    }
    if let Some(wait) = longest_wait(page.context, decision) {
        let wait = wait.up();
        writeln!(out, "\nTraffic above the contract is queued at the sender for up to {wait}, then dropped")?;
    }
    let held = page.context.scheme.held(decision.flow).and_then(|held| held.demand.max_frame);
    if let Some(frame) = held.filter(|_| routes.len() > 1 && held != explained.request.max_frame) {
        writeln!(
            out,
            "\nFrames above {frame:#} on the wire are dropped by the sending host: some of the routes cannot carry them"
        )?;
    }
    moves(out, page, decision, explained.starts)?;
    if page.context.ledger().is_none() {
        return schemes::admitted(out, page, explained.request, decision.flow);
    }
    let which = if routes.len() == 1 { "the route" } else { "the routes" };
    writeln!(out, "\nArrival and service curve of each queue on {which}")?;
    let mut shown: Vec<Hop> = Vec::new();
    for &hop in routes.iter().flat_map(|route| &route.hops) {
        if !shown.contains(&hop) {
            curves(out, page, hop)?;
            shown.push(hop);
        }
    }
    Ok(())
}

/// Several disjoint routes: each with its bound, what they share, and which failures are survived.
fn protected(
    out: &mut impl Write,
    page: &Page<'_>,
    contract: &LatencyContract,
    routes: &[Route],
    margin: &str,
) -> io::Result<()> {
    let network = page.context.network;
    let Some(placement) = page.context.scheme.queues() else { return Ok(()) };
    writeln!(out, "\nEach packet is sent over {} disjoint routes (queue of each link in brackets)", routes.len())?;
    for (number, route) in (1..).zip(routes) {
        writeln!(out, "  {number}  {}", sentences::route(network, route))?;
    }
    writeln!(out, "\nTolerated failures")?;
    write_wrapped(out, &sentences::sentence(&sentences::survived(network, contract, routes)))?;
    let longest = routes.iter().map(|route| placement.bound(route)).max().unwrap_or(Time::ZERO);
    writeln!(out, "\nEnd-to-end delay bound on every route: {}, {margin} below the deadline", longest.up())?;
    for (number, route) in (1..).zip(routes) {
        writeln!(out, "Route {number}")?;
        terms(out, page, placement, route)?;
    }
    Ok(())
}

/// Writes the bound, term by term, beside the present bound of each queue.
fn terms(out: &mut impl Write, page: &Page<'_>, placement: &Placement, route: &Route) -> io::Result<()> {
    let mut table = page.table(&["  term", "guaranteed", "worst case today", "backlog / buffer", "flows"]);
    let mut at_present = Some(Time::ZERO);
    for term in placement.terms(route) {
        let (now, cells) = match term {
            Term::Queue(hop, budget) => {
                let Some(report) = report(page, hop) else { continue };
                (report.delay_bound(), queue_cells(page, hop, budget, &report))
            }
            other => {
                let (what, time) = schemes::term(page, other);
                (Some(time), vec![format!("  {what}"), time.up(), time.up()])
            }
        };
        at_present = at_present.zip(now).map(|(sum, now)| sum + now);
        table.add_row(cells.into_iter().map(Cell::new));
    }
    let at_present = at_present.map_or_else(String::new, |time| time.up());
    let total = placement.bound(route);
    table.add_row(["  total".to_owned(), total.up(), at_present]);
    write_table(out, &mut table)
}

fn queue_cells(page: &Page<'_>, hop: Hop, budget: Time, report: &QueueReport) -> Vec<String> {
    let name = sentences::queue(page.context.network, hop.link, hop.queue);
    let delay = report.delay_bound().map_or_else(|| "unbounded".to_owned(), Human::up);
    let backlog = report.backlog_bound().map_or_else(|| "unbounded".to_owned(), Human::up);
    let filling = format!("{backlog} / {}", human::buffer(report.buffer));
    vec![format!("  {name}"), format!("{budget:#}"), delay, filling, report.flows.to_string()]
}

fn report(page: &Page<'_>, hop: Hop) -> Option<QueueReport> {
    page.context.ledger()?.report(hop.link).into_iter().nth(usize::from(hop.queue))
}

fn curves(out: &mut impl Write, page: &Page<'_>, hop: Hop) -> io::Result<()> {
    let Some(report) = report(page, hop) else { return Ok(()) };
    writeln!(out, "  {}", sentences::queue(page.context.network, hop.link, hop.queue))?;
    for input in &report.inputs {
        let from = match input.link {
            Some(link) => format!("from {}", page.context.network.node(page.context.network.link(link).from).name),
            None => "started here".to_owned(),
        };
        writeln!(out, "    arrival  {} ({}, {from})", input.arrival, count(input.flows as usize, "flow"))?;
    }
    writeln!(out, "    service  {}", report.service)?;
    if report.spread > Time::ZERO {
        writeln!(
            out,
            "    jitter   {:#} upstream, with reordering: included in the delay and in the arrival curve",
            report.spread
        )?;
    }
    Ok(())
}

fn moves(out: &mut impl Write, page: &Page<'_>, decision: &Decision, starts: Option<&StartTimes>) -> io::Result<()> {
    let start = starts.map_or(Time::ZERO, |starts| starts.flow);
    if !decision.moved.is_empty() {
        writeln!(out, "\nFlows rerouted to make room, in this order")?;
    }
    for (number, moved) in decision.moved.iter().enumerate() {
        let after = starts.and_then(|starts| starts.moves.get(number).copied()).unwrap_or(Time::ZERO);
        let when = if after == Time::ZERO { "at once".to_owned() } else { format!("after {}", after.up()) };
        writeln!(out, "  {}, {when}", page.context.names.name_of(moved.flow))?;
        writeln!(out, "    from  {}", sentences::route(page.context.network, &moved.from))?;
        writeln!(out, "    to    {}", sentences::route(page.context.network, &moved.to))?;
    }
    if start > Time::ZERO {
        let until = "by then no packet is in flight on the old routes that share a link with it";
        write_wrapped(out, &format!("It may start {} after the decision: {until}.", start.up()))?;
    }
    Ok(())
}

fn why(out: &mut impl Write, page: &Page<'_>, contract: &LatencyContract, refusal: &Refusal) -> io::Result<()> {
    writeln!(out, "\nWhy")?;
    write_wrapped(out, &sentences::sentence(&sentences::refusal(page.context.network, contract, refusal)))?;
    let is_copy = matches!(refusal, Refusal::Copy { .. });
    match refusal.innermost() {
        Refusal::Blocked { route, binding, others } => {
            if is_copy {
                write_wrapped(out, "The reservations of the preceding disjoint routes are included.")?;
            } else if page.context.ledger().is_some() && !matches!(binding, Binding::Down { .. }) {
                write_wrapped(out, &owner_text(page, route, binding))?;
                if let Some(kept) = kept_for_classes(page.context, binding) {
                    write_wrapped(out, &kept)?;
                }
            }
            let best = match contract.route {
                Some(_) => "The pinned route",
                None if is_copy => "That route",
                None if page.context.ledger().is_none() => "Its route",
                None => "Best remaining route within the deadline",
            };
            writeln!(out, "  {best}:\n    {}", sentences::route(page.context.network, route))?;
            for other in others {
                write_wrapped(out, &format!("Also, {}.", sentences::blocked(page.context.network, route, other)))?;
            }
        }
        Refusal::TooSlow { route, .. } => {
            writeln!(out, "  That route:\n    {}", sentences::route(page.context.network, route))?;
        }
        _ => {}
    }
    Ok(())
}

/// Describes the queue whose promise would break: the queue entered, or one below it.
fn owner_text(page: &Page<'_>, route: &Route, binding: &Binding) -> String {
    let entered = sentences::entered(route, binding);
    let flows = match page.context.flows_in(binding.link(), binding.queue()) {
        0 => "no flow yet".to_owned(),
        some => count(some as usize, "flow"),
    };
    if entered == binding.queue() {
        return format!("The contract would use this queue, which has {flows}.");
    }
    format!("The contract would use queue {entered}; the lower-priority queue that would exceed its limit has {flows}.")
}

/// Describes the rate that a link keeps for minima and weights, if rate is short: an idle line may be fully promised
/// to others.
fn kept_for_classes(context: &Context<'_>, binding: &Binding) -> Option<String> {
    let Binding::Rate { link, .. } = *binding else { return None };
    let (ledger, shared) = (context.ledger()?, context.ledger()?.shared_link(link)?);
    let promised = [Class::Guaranteed, Class::Objective].map(|class| ledger.promised_to(link, class));
    let kept = shared.needed(Class::Guaranteed, promised[0]).max(shared.needed(Class::Objective, promised[1]));
    if kept == Rate::ZERO {
        return None;
    }
    let holders: Vec<&str> = ledger.shares_on(link).into_iter().map(|id| context.names.name_of_share(id)).collect();
    let more = holders.len().saturating_sub(HOLDERS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "{} of {} are reserved for classes below latency: minima of {} and weights of {}, for {}{more}.",
        kept.up(),
        context.network.link(link).name,
        promised[0].up(),
        promised[1].up(),
        holders[..holders.len().min(HOLDERS)].join(", "),
    ))
}

/// Maximum number of named holders of a link.
const HOLDERS: usize = 5;

/// Writes the promises that the contract would break in each queue of the blocking link, not only in the named one.
fn every_queue(out: &mut impl Write, page: &Page<'_>, refused: &Refused, binding: &Binding) -> io::Result<()> {
    writeln!(out, "\nQueues of {} on that route", page.context.network.link(binding.link()).name)?;
    let mut table = page.table(&["  queue", "budget", "flows", "limit that would be exceeded"]);
    let reports = page.context.ledger().map_or_else(Vec::new, |ledger| ledger.report(binding.link()));
    for (report, broken) in reports.iter().zip(&refused.at_binding) {
        let broken = broken.as_ref().map(|broken| match broken.queue() == report.queue {
            true => format!("it {}", sentences::shortfall(broken)),
            false => format!("lower-priority queue {} {}", broken.queue(), sentences::shortfall(broken)),
        });
        table.add_row([
            format!("  {}", report.queue),
            format!("{:#}", report.budget),
            report.flows.to_string(),
            broken.unwrap_or_else(|| "fits here, but fails at a later hop or the deadline".to_owned()),
        ]);
    }
    write_table(out, &mut table)
}

fn tried(out: &mut impl Write, page: &Page<'_>, contract: &LatencyContract, refused: &Refused) -> io::Result<()> {
    let Some(survey) = refused.survey.as_ref().filter(|survey| !survey.paths.is_empty()) else { return Ok(()) };
    let shown = match survey.paths.len() {
        all if all == survey.total => format!("all {all}"),
        some => format!("{some} of {}", survey.total),
    };
    let alone = if contract.protection > 1 { ", for a single route" } else { "" };
    writeln!(out, "\nShortest paths with their best queues{alone} ({shown})")?;
    let mut table = page.table(&["  path", "limiting constraint"]);
    for path in &survey.paths {
        table.add_row([format!("  {}", switches(page, path)), outcome(page, path)]);
    }
    write_table(out, &mut table)
}

/// The switches of a path: its ends are known.
fn switches(page: &Page<'_>, path: &PathTried) -> String {
    let network = page.context.network;
    let inner = path.links.iter().skip(1).map(|&link| network.node(network.link(link).from).name.as_str());
    inner.collect::<Vec<_>>().join(" ")
}

fn outcome(page: &Page<'_>, path: &PathTried) -> String {
    let network = page.context.network;
    match &path.outcome {
        PathOutcome::Open { bound, .. } => format!("fits, with a bound of {}", bound.up()),
        PathOutcome::Blocked { bindings, .. } => {
            let first = bindings.first().map_or_else(String::new, |binding| sentences::promise(network, binding));
            match bindings.len() {
                0 | 1 => first,
                many => format!("{first}; and {}", count(many - 1, "other")),
            }
        }
        PathOutcome::TooSlow { fastest } => format!("too slow: its fastest queues have a bound of {}", fastest.up()),
        PathOutcome::NoQueue { link } => format!("no queue for contracts on {}", network.link(*link).name),
        PathOutcome::FrameTooLarge { link, largest } => {
            format!("{} carries frames up to {largest:#} on the wire", network.link(*link).name)
        }
        PathOutcome::TooManySwitches { limit } => format!("more than {limit} switches"),
    }
}

/// Writes the nearest requests that would fit, each with one change.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn write_nearest(out: &mut impl Write, contract: &LatencyContract, nearest: &NearestRequest) -> io::Result<()> {
    writeln!(out, "\nNearest request that would fit, changing one parameter")?;
    let width = if contract.protection > 1 { "protection:".len() } else { 10 };
    let mut line = |key: &str, value: Option<String>, what: &str, asked: String| match value {
        Some(value) => writeln!(out, "  {key:<width$} {value:<16} {what} that fits (requested: {asked})"),
        None => writeln!(out, "  {key:<width$} cannot help"),
    };
    line("burst:", nearest.burst.map(|burst| burst.to_string()), "largest", contract.burst.to_string())?;
    line("rate:", nearest.rate.map(|rate| rate.to_string()), "largest", contract.rate.to_string())?;
    line("deadline:", nearest.deadline.map(|time| time.to_string()), "smallest", contract.deadline.to_string())?;
    if contract.protection > 1 {
        let fewer = nearest.protection.map(|routes| routes.to_string());
        line("protection:", fewer, "largest", contract.protection.to_string())?;
    }
    Ok(())
}
