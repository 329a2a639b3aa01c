//! Checks the promises of a ledger with the independent calculator.

use std::collections::BTreeSet;

use wayleave_explain::{Context, claim, claimed_shares, share_times};
use wayleave_recheck::{BrokenShare, RecheckReport, check_all_shares, check_watched};
use wayleave_topology::LinkId;

use crate::progress::{ProgressStep, Watch};

/// Derives every promise again from the definitions and shows how many links are done. Returns `None` for schemes that reserve no queues.
pub fn recheck(context: &Context<'_>, watch: &mut Watch<'_>) -> Option<RecheckReport> {
    Some(check_watched(&claim(context)?, &mut |done, total| watch.step(ProgressStep::Items { done, total })))
}

/// Links that are closed.
fn closed(context: &Context<'_>) -> BTreeSet<LinkId> {
    let links = context.network.links().map(|(link, _)| link);
    context.ledger().map_or_else(BTreeSet::new, |ledger| links.filter(|&link| ledger.is_closed(link)).collect())
}

/// Returns the promises to classes below the latency queues that do not hold, derived from the rates at which hosts may send, and shows how many
/// shares are done. The times of minima are derived as well.
pub fn recheck_shares(context: &Context<'_>, watch: &mut Watch<'_>) -> Vec<BrokenShare> {
    let (Some(claim), Some(classes)) = (claim(context), context.network.classes()) else { return Vec::new() };
    let (shares, times) = (claimed_shares(context), share_times(context));
    let checked = check_all_shares(&claim, classes, &closed(context), &shares, times.as_ref(), &mut |done, total| {
        watch.step(ProgressStep::Items { done, total });
    });
    let given: Vec<_> = context.ledger().into_iter().flat_map(|ledger| ledger.short_buffers()).collect();
    let buffers = checked.compare_buffers(context.network, &given);
    checked.broken.into_iter().chain(buffers).collect()
}

#[cfg(test)]
mod tests {
    use wayleave_scheme_api::Request;
    use wayleave_schemes::admitted::AdmittedSet;
    use wayleave_schemes::routing::RouteQuery;
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;
    use crate::{Network, PlanOptions, Session};

    #[test]
    fn a_promise_made_without_admission_is_found_broken() {
        let network = Network::open("star:hosts=2").unwrap();
        let mut session = Session::open(&network, &PlanOptions::default()).unwrap();
        assert!(recheck(&session.context(), &mut Watch::none()).unwrap().is_sound());
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
        let found = placement.least_delay(&RouteQuery::of(&request)).unwrap();
        // 96 us at 1 Gbit/s exceed the budget together with the two frames that can block.
        placement.reserve(&Request { burst: Bytes::new(62_000), ..request }, found);
        assert!(!recheck(&session.context(), &mut Watch::none()).unwrap().is_sound());
    }
}
