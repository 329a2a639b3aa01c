//! LARAC: delay-constrained least cost by Lagrange relaxation.
//!
//! A. Jüttner, B. Szviatovszki, I. Mécs, Z. Rajkó, "Lagrange relaxation based method for the QoS routing problem",
//! INFOCOM 2001, Fig. 2; the routing procedure of Chameleon, sections 3.3 and 4.1.3, with access control at every
//! queue that a search visits. Each lambda is the fraction (cost difference) / (delay difference) of two routes;
//! weights are multiplied by its denominator, so they stay integers.
//!
//! Suboptimal (no closing of the duality gap, as in the paper) and, because access depends on the path, incomplete.

use wayleave_ledger::Ledger;
use wayleave_units::Time;

use super::graph::QueueGraph;
use super::least_cost::{CostWeights, Denied, LabelLimit, LeastCost, PricedRoute, Rules, SearchScope};
use super::{LeastDelay, RouteQuery};
use crate::costs::Cost;

/// The relaxation prices lateness instead of forbidding it.
const RULES: Rules =
    Rules { deadline: None, denied: Denied::Avoid, labels: LabelLimit::Undominated, detours: SearchScope::Allowed };
/// More than any instance needs; a bound, since access can make the relaxation's steps irregular.
const MAX_STEPS: u32 = 64;

/// The route that LARAC finds: it meets the deadline, and its cost is the least among those that the relaxation sees.
///
/// `cost_bounds` holds, per switch, a lower bound of the cost from there to the destination; empty for none.
pub fn search(
    graph: &mut QueueGraph,
    ledger: &Ledger,
    query: &RouteQuery,
    cost: &dyn Cost,
    cost_bounds: &[u64],
    (by_cost, by_delay): (&mut LeastCost, &mut LeastDelay),
) -> Option<PricedRoute> {
    let mut weighted = |graph: &mut QueueGraph, cost_factor: u64, delay_factor: u64| {
        let weigh = CostWeights { cost, cost_factor, delay_factor, cost_bounds };
        by_cost.search(graph, ledger, query, &weigh, RULES)
    };
    let meets = |route: &PricedRoute| route.found.delay <= query.deadline;
    // The least-cost route, if it is in time, is the answer.
    let mut too_late = weighted(graph, 1, 0)?;
    if meets(&too_late) {
        return Some(too_late);
    }
    // The least-delay route, if it is late, shows that there is none.
    let fastest = by_delay.search(graph, ledger, query)?;
    let mut waited = Time::ZERO;
    let mut price = 0;
    for &hop in &fastest.route.hops {
        price += cost.of(ledger, hop.link, hop.queue, query.burst_after(ledger, waited));
        waited += ledger.budget(hop);
    }
    let mut in_time = PricedRoute { found: fastest, cost: price };
    for _ in 0..MAX_STEPS {
        let dearer = in_time.cost.saturating_sub(too_late.cost);
        let Some(later) = too_late.found.delay.checked_sub(in_time.found.delay).map(Time::as_nanos) else { break };
        if dearer == 0 || later == 0 {
            break;
        }
        let Some(next) = weighted(graph, later, dearer) else { break };
        let weight = |route: &PricedRoute| {
            u128::from(later) * u128::from(route.cost) + u128::from(dearer) * u128::from(route.found.delay.as_nanos())
        };
        if weight(&next) >= weight(&in_time) {
            break;
        }
        if meets(&next) {
            in_time = next;
        } else {
            too_late = next;
        }
    }
    Some(in_time)
}
