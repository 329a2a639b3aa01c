//! The admission role: the embedding strategy of Fig. 6.

use std::sync::Arc;

use wayleave_ledger::{Ledger, LedgerError, Model};
use wayleave_scheme_api::{Admission, Decision, Refusal, Request};
use wayleave_topology::{FlowId, Network, Route};

use super::reroute::{self, Rerouter};
use super::route::route;
use super::{Moves, Params};
use crate::admitted::stands_on_its_placement;
use crate::placement::Placement;
use crate::protection::{self, Copies, RouteWithMoves};
use crate::routing::{FoundRoute, RouteQuery};

/// Chameleon's admission control.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_ledger::Model;
/// use wayleave_scheme_api::{Admission, Request};
/// use wayleave_schemes::admission::chameleon::{Chameleon, Params};
/// use wayleave_topology::builders::{FatTree, build};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let network = Arc::new(build::fat_tree(&FatTree::default())?);
/// let host = |name| network.find_node(name).ok_or("no such host");
/// let (from, to) = (host("h1")?, host("h16")?);
/// let mut chameleon = Chameleon::new(network.clone(), Model::default(), Params::default())?;
/// let request = Request {
///     from,
///     to,
///     rate: Rate::from_mbit(1),
///     burst: Bytes::new(1500),
///     deadline: Time::from_millis(2),
///     max_frame: None,
///     route: None,
///     protection: 1,
/// };
/// let decision = chameleon.admit(&request).map_err(|refusal| format!("{refusal:?}"))?;
/// // As fast as asked, and no faster: fast queues are for those who need them.
/// assert!(decision.bound > Time::from_millis(1) && decision.bound <= request.deadline);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Chameleon {
    placement: Placement,
    params: Params,
    rerouter: Rerouter,
}

impl Chameleon {
    /// With nothing admitted.
    ///
    /// # Errors
    /// If the allocation does not fit the queues of the network.
    pub fn new(network: Arc<Network>, model: Model, params: Params) -> Result<Self, LedgerError> {
        let budgets = params.allocation.budgets(&network, &model);
        Ok(Self::on(Ledger::new(network, model, budgets)?, params))
    }

    /// On an empty ledger, whose budgets count.
    pub(crate) fn on(ledger: Ledger, params: Params) -> Self {
        Self { placement: Placement::new(ledger), params, rerouter: Rerouter::new() }
    }

    /// Returns the reservations and their routes.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns the reservations mutably, for queries that use the search memory.
    pub fn placement_mut(&mut self) -> &mut Placement {
        &mut self.placement
    }
}

stands_on_its_placement!(
    Chameleon,
    fn unfit_for_a_controller(&self) -> Option<String> {
        let keeps = self.params.rerouting.is_some_and(|rerouting| rerouting.moves == Moves::Kept);
        keeps.then(|| {
            "--reroute-moves kept also moves contracts for refused requests, which a controller cannot record: omit it"
                .to_owned()
        })
    }
);

impl Admission for Chameleon {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        embed(&mut self.placement, &mut self.rerouter, &self.params, request)
    }

    fn try_admit(&mut self, request: &Request) -> Option<Decision> {
        if request.protection > 1 {
            return self.admit(request).ok();
        }
        let found = find_route(&mut self.placement, &mut self.rerouter, &self.params, request).ok()?;
        Some(reroute::reserve(&mut self.placement, request, found))
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.placement.release(flow).map(|reservation| reservation.route)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        // Moves that were kept for terms that fail could take what the old ones had.
        let params = self.params.rolling_back();
        let rerouter = &mut self.rerouter;
        self.placement.change(flow, |placement| embed(placement, rerouter, &params, request))
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        let params = self.params.rolling_back();
        if request.protection > 1 {
            let copies = protect(&mut self.placement, &mut self.rerouter, &params, request);
            return copies.map(|copies| copies.undo(&mut self.placement)).is_ok();
        }
        let found = find_route(&mut self.placement, &mut self.rerouter, &params, request);
        found.map(|found| self.placement.undo_moves(found.moved)).is_ok()
    }
}

/// `EMBEDDINGSTRATEGY` of Fig. 6.
fn embed(
    placement: &mut Placement,
    rerouter: &mut Rerouter,
    params: &Params,
    request: &Request,
) -> Result<Decision, Refusal> {
    if request.protection > 1 {
        let copies = protect(placement, rerouter, params, request)?;
        return copies.decide(placement).ok_or(Refusal::Disconnected);
    }
    match find_route(placement, rerouter, params, request) {
        Ok(found) => Ok(reroute::reserve(placement, request, found)),
        Err(Some(refusal)) => Err(refusal),
        Err(None) => Err(placement.diagnose(&RouteQuery::of(request))),
    }
}

/// Returns a route for the request, moving admitted flows if necessary. On failure returns the reason, if it is
/// already known.
fn find_route(
    placement: &mut Placement,
    rerouter: &mut Rerouter,
    params: &Params,
    request: &Request,
) -> Result<RouteWithMoves, Option<Refusal>> {
    let query = RouteQuery::of(request);
    let unmoved = |found| RouteWithMoves { found, moved: Vec::new() };
    if let Some(pinned) = &request.route {
        return placement.check(&query, pinned).map(unmoved).map_err(Some);
    }
    if let Some(found) = unmoved_route(placement, params, &query) {
        return Ok(unmoved(found));
    }
    let moving = params.rerouting.and_then(|how| rerouter.reroute_blockers(placement, how, params.routing, &query));
    moving.ok_or(None)
}

/// Returns a route for the query without moving any flow.
fn unmoved_route(placement: &mut Placement, params: &Params, query: &RouteQuery) -> Option<FoundRoute> {
    if let Some(found) = route(placement, params.routing, query) {
        return Some(found);
    }
    // With short tag stacks, a fast route with many switches can hide a shorter one.
    let has_tags = placement.ledger().model().max_switches().is_some();
    if has_tags { placement.least_delay_without_detours(query) } else { None }
}

/// Finds disjoint routes: one by one, then along paths that are chosen together, then one by one with other flows
/// moved. Reserves all routes or leaves the state unchanged.
fn protect(
    placement: &mut Placement,
    rerouter: &mut Rerouter,
    params: &Params,
    request: &Request,
) -> Result<Copies, Refusal> {
    let unmoved = |found| RouteWithMoves { found, moved: Vec::new() };
    let found = protection::one_by_one(placement, request, |placement, query| {
        unmoved_route(placement, params, query).map(unmoved)
    });
    let refusal = match found {
        Ok(copies) => return Ok(copies),
        Err(0) => placement.diagnose(&RouteQuery::of(request)),
        Err(_) => match protection::along_disjoint_paths(placement, request) {
            Ok(copies) => return Ok(copies),
            Err(refusal) => refusal,
        },
    };
    let Some(how) = params.rolling_back().rerouting.filter(|_| !matches!(refusal, Refusal::TooFewDisjoint { .. }))
    else {
        return Err(refusal);
    };
    let moving = protection::one_by_one(placement, request, |placement, query| {
        let as_is = unmoved_route(placement, params, query).map(unmoved);
        as_is.or_else(|| rerouter.reroute_blockers(placement, how, params.routing, query))
    });
    moving.map_err(|_| refusal)
}
