//! One search for a route, by the routing that is set.

use super::Routing;
use crate::costs::{DelayCost, HopCost};
use crate::placement::Placement;
use crate::routing::{FoundRoute, RouteQuery};

/// `ROUTE` of Fig. 6.
pub(super) fn route(placement: &mut Placement, routing: Routing, query: &RouteQuery) -> Option<FoundRoute> {
    match routing {
        Routing::LeastDelay => placement.least_delay(query),
        Routing::LaracByDelay => placement.larac(query, &DelayCost, &[]),
        Routing::LaracByHops => placement.larac(query, &HopCost, &[]),
        Routing::Scarcity(scarcity) => placement.least_loaded_route(query, scarcity),
    }
}
