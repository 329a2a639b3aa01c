//! `plan --recheck`: what the ledger promises, put before the independent calculator.

use wayleave_explain::human::count;
use wayleave_explain::{Context, claim};
use wayleave_recheck::check;

/// How many violations a person reads.
const SHOWN: usize = 20;

/// What the calculator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    Unsound,
}

/// Derives every promise again; violations and a verdict go to the standard error.
pub(crate) fn recheck(context: &Context<'_>) -> Verdict {
    let Some(claim) = claim(context) else {
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use wayleave_roles::Request;
    use wayleave_schemes::routing::Query;
    use wayleave_schemes::standing::Standing;
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;
    use crate::session::{Session, SessionArgs};

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        session: SessionArgs,
    }

    #[test]
    fn a_promise_that_was_given_without_asking_is_found_broken() {
        let args = Only::parse_from(["", "-t", "star:hosts=2"]).session;
        let mut session = Session::open(&args).unwrap();
        assert_eq!(recheck(&session.context()), Verdict::Sound);
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
        assert_eq!(recheck(&session.context()), Verdict::Unsound);
    }
}
