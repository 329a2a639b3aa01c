//! `plan --recheck`: what the ledger promises, put before the independent calculator.

use wayleave_ledger::{Residual, Shaping};
use wayleave_recheck::{Claim, ClaimedQueue, PacketiserTerm, PromisedFlow, check};
use wayleave_topology::FlowId;
use wayleave_units::{Bytes, Time};

use crate::output::human::count;
use crate::session::Session;

/// How many violations a person reads.
const SHOWN: usize = 20;

/// What the calculator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    Unsound,
}

/// Derives every promise again; violations and a verdict go to the standard error.
pub(crate) fn recheck(session: &Session) -> Verdict {
    let report = check(&claim(session));
    for violation in report.violations.iter().take(SHOWN) {
        eprintln!("broken promise: {violation}");
    }
    if let Some(more) = report.violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        eprintln!("and {}", count(more, "more broken promise"));
    }
    let checked = format!(
        "recheck: {} and {} derived again",
        count(report.queues.len(), "queue"),
        count(report.flows.len(), "flow")
    );
    if report.is_sound() {
        eprintln!("{checked}: sound, every promise holds");
        return Verdict::Sound;
    }
    eprintln!("{checked}: UNSOUND, {}", count(report.violations.len(), "promise") + " broken");
    Verdict::Unsound
}

/// Everything that the ledger promises.
pub(crate) fn claim(session: &Session) -> Claim<'_> {
    let ledger = session.ledger();
    let network = &*session.network;
    let links = || network.links().map(|(id, _)| id);
    let claimed = |report: wayleave_ledger::QueueReport| ClaimedQueue {
        link: report.link,
        queue: report.queue,
        // Without a bound nothing can be claimed; the calculator will say so.
        delay: report.delay_bound().unwrap_or(Time::ZERO),
        backlog: report.backlog_bound().unwrap_or(Bytes::ZERO),
    };
    Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        shaping: session.model.shaping == Shaping::InputLinks,
        flows: ledger.flows().filter_map(|(flow, _)| promise(session, flow)).collect(),
        claimed_queues: links().flat_map(|link| ledger.report(link)).map(claimed).collect(),
        exact_claims: session.model.residual == Residual::Full,
    }
}

fn promise(session: &Session, flow: FlowId) -> Option<PromisedFlow> {
    let placement = session.scheme.placement();
    let reservation = placement.ledger().flow(flow)?;
    let (first, last) = (reservation.route.hops.first()?, reservation.route.hops.last()?);
    Some(PromisedFlow {
        name: session.name_of(flow).to_owned(),
        from: session.network.link(first.link).from,
        to: session.network.link(last.link).to,
        route: reservation.route.clone(),
        rate: reservation.demand.rate,
        burst: reservation.demand.burst,
        deadline: placement.deadline(flow)?,
        promised_bound: placement.bound(&reservation.route),
    })
}
