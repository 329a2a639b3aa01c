//! `plan --recheck`: what the ledger promises, put before the independent calculator.

use wayleave_answers::human::count;
use wayleave_ledger::{Residual, Shaping};
use wayleave_recheck::{Claim, ClaimedQueue, PacketiserTerm, PromisedFlow, check};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::standing::Standing;
use wayleave_topology::FlowId;
use wayleave_units::{Bytes, Time};

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
    let Some(claim) = claim(session) else {
        eprintln!("recheck: nothing was derived again, for this scheme reserves no queues");
        return Verdict::Unsound;
    };
    let report = check(&claim);
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

/// Everything that the ledger promises, if the scheme has one.
pub(crate) fn claim(session: &Session) -> Option<Claim<'_>> {
    let placement = session.scheme.queues()?;
    let ledger = placement.ledger();
    let network = &*session.network;
    let links = || network.links().map(|(id, _)| id);
    let claimed = |report: wayleave_ledger::QueueReport| ClaimedQueue {
        link: report.link,
        queue: report.queue,
        // Without a bound nothing can be claimed; the calculator will say so.
        delay: report.delay_bound().unwrap_or(Time::ZERO),
        backlog: report.backlog_bound().unwrap_or(Bytes::ZERO),
    };
    let (mut flows, mut disjoint) = (Vec::new(), Vec::new());
    for routes in session.admitted() {
        let first = flows.len();
        flows.extend(routes.into_iter().filter_map(|flow| promise(session, placement, flow)));
        disjoint.extend((flows.len() - first > 1).then(|| (first..flows.len()).collect()));
    }
    Some(Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        shaping: session.model.shaping == Shaping::InputLinks,
        flows,
        disjoint,
        claimed_queues: links().flat_map(|link| ledger.report(link)).map(claimed).collect(),
        exact_claims: session.model.residual == Residual::Full,
    })
}

fn promise(session: &Session, placement: &Placement, flow: FlowId) -> Option<PromisedFlow> {
    let reservation = placement.ledger().flow(flow)?;
    let (first, last) = (reservation.route.hops.first()?, reservation.route.hops.last()?);
    Some(PromisedFlow {
        name: session.route_name(flow),
        from: session.network.link(first.link).from,
        to: session.network.link(last.link).to,
        route: reservation.route.clone(),
        rate: reservation.demand.rate,
        burst: reservation.demand.burst,
        deadline: placement.deadline(flow)?,
        promised_bound: placement.bound(&reservation.route),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use wayleave_policy::Request;
    use wayleave_schemes::routing::Query;
    use wayleave_units::Rate;

    use super::*;
    use crate::session::SessionArgs;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        session: SessionArgs,
    }

    #[test]
    fn a_promise_that_was_given_without_asking_is_found_broken() {
        let args = Only::parse_from(["", "-t", "star:hosts=2"]).session;
        let mut session = Session::open(&args).unwrap();
        assert_eq!(recheck(&session), Verdict::Sound);
        let node = |name| session.network.find_node(name).unwrap();
        let request = Request {
            from: node("h1"),
            to: node("h2"),
            rate: Rate::from_mbit(1),
            burst: Bytes::new(1000),
            deadline: Time::from_millis(1),
            max_frame: None,
            route: None,
            protection: 1,
        };
        let placement = session.scheme.queues_mut().unwrap();
        let found = placement.least_delay(&Query::of(&request)).unwrap();
        // 96 us at 1 Gbit/s, beyond the budget together with the two frames that can be in the way.
        placement.reserve(&Request { burst: Bytes::new(62_000), ..request }, found);
        assert_eq!(recheck(&session), Verdict::Unsound);
    }
}
