//! Searches over the queue-level topology (Chameleon, section 3.3), shared by the schemes.
//!
//! Access to a queue depends on the delay so far (the burst grows by `rate x budget` at each hop). With input
//! shaping, it also depends on the input link of the flow; so labels belong to (node, incoming link), that is, to a
//! directed link. With delay as the only metric one label per link is enough: a flow that arrives earlier arrives
//! with a smaller burst and is admitted wherever a later one would be. With another cost, labels are pairs (cost,
//! delay) under dominance.
//!
//! - [`QueueGraph`]: static data: budgets, constants, lower bounds of the delay from every node to a destination;
//! - [`LeastDelay`]: goal-directed search by delay, the hot path;
//! - [`LeastCost`]: label-setting search by (cost, delay);
//! - [`LeastLoaded`]: the cheapest queues along the least used of the short paths;
//! - [`larac`]: Lagrange relaxation over least-cost searches (Jüttner et al., INFOCOM 2001).

mod buckets;
mod destination_links;
mod endpoint_bottleneck;
mod exclusions;
mod graph;
pub mod larac;
mod least_cost;
mod least_delay;
mod least_loaded;
mod least_possible;
mod paths;
mod residual_bounds;
mod shortest;

pub use graph::{LowerBounds, QueueGraph};
pub use least_cost::{CostWeights, Denied, LabelLimit, LeastCost, PricedRoute, Rules, SearchScope};
pub use least_delay::LeastDelay;
pub use least_loaded::{LeastLoaded, LeastLoadedResult};
pub use least_possible::least_possible;

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_ledger::{Ledger, PortInput};
use wayleave_scheme_api::Request;
use wayleave_topology::{Hop, LinkId, NodeId, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

/// Request of a search.
#[derive(Clone, Debug)]
pub struct RouteQuery {
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Wire rate.
    pub rate: Rate,
    /// Wire burst at the source.
    pub burst: Amount,
    /// The latest that a packet may arrive.
    pub deadline: Time,
    /// The largest frame, if known.
    pub max_frame: Option<Bytes>,
    /// Per link, whether it is taken out of the network for this search; `None` if no link is.
    pub closed: Option<Arc<[bool]>>,
}

impl RouteQuery {
    /// The query of a request.
    pub fn of(request: &Request) -> Self {
        Self {
            from: request.from,
            to: request.to,
            rate: request.rate,
            burst: request.burst.into(),
            deadline: request.deadline,
            max_frame: request.max_frame,
            closed: None,
        }
    }

    /// The query of a flow that is admitted already.
    pub fn of_flow(graph: &QueueGraph, demand: &BucketDemand, route: &Route, deadline: Time) -> Option<Self> {
        let (from, to) = graph.ends(route)?;
        let BucketDemand { rate, burst, max_frame } = *demand;
        Some(Self { from, to, rate, burst: burst.into(), deadline, max_frame, closed: None })
    }

    /// Its burst once it has waited in queues: it grows with the budgets.
    pub(crate) fn burst_after(&self, ledger: &Ledger, waited: Time) -> Amount {
        ledger.model().grown(self.burst, self.rate, waited)
    }

    /// Returns `true` if the ledger admits the flow into a queue after `waited` in the queues before.
    fn fits(&self, ledger: &Ledger, link: LinkId, queue: u8, input: PortInput, waited: Time) -> bool {
        ledger.fits(link, queue, input, self.rate, self.burst_after(ledger, waited))
    }

    /// Returns `true` if the ledger could admit the flow from any input.
    fn might_fit(&self, ledger: &Ledger, link: LinkId, queue: u8, waited: Time) -> bool {
        ledger.might_fit(link, queue, self.rate, self.burst_after(ledger, waited))
    }

    /// Returns `true` if the link is open to the flow, and carries its frames.
    pub(crate) fn carries(&self, ledger: &Ledger, link: LinkId) -> bool {
        self.max_frame.is_none_or(|frame| frame <= ledger.largest_frame(link))
            && self.closed.as_ref().is_none_or(|closed| !closed[link.index()])
    }
}

/// A route with its end-to-end bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRoute {
    /// The hops.
    pub route: Route,
    /// The sum of budgets and constants.
    pub delay: Time,
}

fn hop(link: LinkId, queue: u8) -> Hop {
    Hop { link, queue }
}
