//! What the tests share: from what a scheme has admitted to a claim.

use wayleave_ledger::BestEffort;
use wayleave_schemes::placement::Placement;
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Time};
use wayleave_verify::{Background, Claim, Promise};

/// Everything that a placement holds.
pub(crate) fn claim(placement: &Placement) -> Claim {
    let ledger = placement.ledger();
    let network = ledger.network().clone();
    let links = || network.links().map(|(id, _)| id);
    let delays: Vec<Vec<Option<Time>>> =
        links().map(|link| ledger.report(link).iter().map(|queue| queue.delay_bound()).collect()).collect();
    let promises = ledger.flows().map(|(flow, reservation)| {
        let (route, demand) = (&reservation.route, &reservation.demand);
        let bound = placement.bound(route);
        let budgets: Time = route.hops.iter().map(|&hop| ledger.budget(hop)).sum();
        let waits = route.hops.iter().map(|hop| delays[hop.link.index()][usize::from(hop.queue)]);
        let largest = route.hops.iter().map(|hop| ledger.largest_frame(hop.link)).min().unwrap();
        Promise {
            name: format!("flow {}", flow.0),
            route: route.clone(),
            rate: demand.rate,
            burst: demand.burst,
            frame: demand.max_frame.map_or(largest, |frame| frame.min(largest)),
            bound,
            today: waits.sum::<Option<Time>>().map(|waits| waits + (bound - budgets)),
        }
    });
    let promises = promises.collect();
    let largest = || links().map(|link: LinkId| ledger.largest_frame(link)).collect::<Vec<Bytes>>();
    let background = match ledger.model().best_effort {
        BestEffort::LowestQueue => Background::Saturating { largest: largest() },
        BestEffort::Dropped => Background::Dropped,
    };
    Claim { background, promises, network }
}
