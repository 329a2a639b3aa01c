//! Silo: admission with one queue per link, each with a delay budget.
//!
//! K. Jang, J. Sherry, H. Ballani, T. Moncaster, "Silo: Predictable Message Latency in the Cloud", SIGCOMM 2015, as
//! far as its admission control is described and evaluated in Chameleon, sections 2.1.2, 3.1, 5.1.1 and 5.1.5.
//! Placement of VMs is not included (as there).
//!
//! | text | here |
//! |---|---|
//! | 3.1.1 a delay budget per link | [`Params::budget`] |
//! | 3.1.2 admitted if every `d_i <= D_i` and the sum of `D_i` meets the deadline | [`Silo`], the ledger with one queue |
//! | 3.1.3 bursts grow by `r D_i` at each hop | the ledger |
//! | 3.1.2 "the links supposed to be traversed", 2.2 "no optimization of routes", 5.1.5 "finding the SP" | one shortest path, independent of reservations; admission on it alone ([`RouteChoice::Shortest`]) |
//!
//! Deviations, and points that the text leaves open:
//! - Silo's queue is the highest one of each port, so lower traffic (best effort) blocks it by one frame.
//! - The text gives `d_i = b_i / R_i`. Here arrival curves are capped by their input lines as well, as in Silo's own
//!   paper, which makes it a stronger baseline (`--shaping off` leaves it out).
//! - The text does not define the choice among several shortest paths: a hash of the flow draws one, so that flows
//!   spread over all of them.
//! - "Shortest" is taken as the fewest links within the deadline; with one budget for all links, cost and delay rank
//!   routes alike.
//! - [`RouteChoice::Around`] searches around full links by LARAC, which the text adds for Chameleon (3.3). It is
//!   stronger than the Silo that the text describes.
//! - The 0.1 ms of section 5.1.1 hold for the hosts' links, too.
//!
//! [`Params::PUBLISHED`] with [`PUBLISHED_MODEL`] is the Silo mode of the library that Chameleon's authors published
//! (`eces-dnm`, README, "DetServ Proxy"), in options `--scheme silo --silo-route around --model published --shaping off`:
//!
//! | library | here |
//! |---|---|
//! | "a shortest path cost function", LARAC | [`RouteChoice::Around`]: it routes around full links |
//! | "no input link shaping" | [`Shaping::Off`]: token buckets add up, d = b / R as in 3.1.1 |
//! | "real burst increase computation" | [`BurstGrowth::Budgets`], 3.1.3 |
//! | `DNMSystem`: a service latency of two frames of 1530 B | [`Model::PUBLISHED`] |
//! | `TBMSiloDefaultAllocation`: buffer over rate, 4.72 ms for 590 kB | not used: 5.1.1 has 0.1 ms |
//!
//! The example in that README has bursts that do not grow ([`BurstGrowth::Ignored`]), against its own sentence and 3.1.3.
//! That is not sound. [`README_EXAMPLE_MODEL`] has it for figures, and no option selects it.

use std::collections::HashMap;
use std::sync::Arc;

use wayleave_ledger::{BurstGrowth, Ledger, LedgerError, Model, Shaping};
use wayleave_scheme_api::{
    Admission, Decision, Described, Descriptor, Parameters, Refusal, Request, Role, ValueKind, params, words,
};
use wayleave_topology::{FlowId, Network, NodeId, Route};
use wayleave_units::Time;

use crate::admitted::stands_on_its_placement;
use crate::costs::{HashedHopCost, HopCost};
use crate::placement::{BUDGET, Placement};
use crate::registry::{AdmissionScheme, BuildError, SchemeInputs};
use crate::routing::{FoundRoute, RouteQuery};
use crate::shortest::identity;

/// Descriptor of Silo.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "silo",
    title: "Silo",
    roles: &[Role::Admission],
    summary: "One queue per link, and one delay budget for all links (SIGCOMM 2015)",
    citation: "K. Jang, J. Sherry, H. Ballani, T. Moncaster, \"Silo: Predictable Message Latency in the Cloud\", \
               SIGCOMM 2015; as Chameleon (CoNEXT 2020), sections 2.1.2, 3.1 and 5.1, describes its admission control",
    guarantee: "every packet of a contract arrives before its deadline: the delay budgets on its route are never exceeded",
    parameters: Params::LIST,
};

params! {
    /// Silo's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Silo's delay budget of every link.
        pub budget: Time = Time::from_micros(100), "budget", BUDGET,
            "Chameleon, section 5.1.1: the best of its eight (footnote 2)", {
                note: "A budget in the topology takes precedence.", option: "silo-budget",
            };
        /// Route choice for a flow.
        pub route: RouteChoice = RouteChoice::Shortest, "route", ValueKind::Word(RouteChoice::WORDS),
            "Chameleon, sections 2.2, 3.1.2 and 5.1.5", { option: "silo-route", value_name: "HOW" };
    }
}

impl Params {
    /// Silo mode of the published library (`eces-dnm`, README), with the delay of Chameleon's section 5.1.1.
    pub const PUBLISHED: Self = Self { budget: Time::from_micros(100), route: RouteChoice::Around };
}

/// Model of the Silo mode of the published library.
pub const PUBLISHED_MODEL: Model = Model::PUBLISHED.with_shaping(Shaping::Off);

/// Model of the example of Silo in the README of the published library: bursts do not grow. It is not sound.
pub const README_EXAMPLE_MODEL: Model = PUBLISHED_MODEL.with_growth(BurstGrowth::Ignored);

/// Route choice for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum RouteChoice {
    /// One of the shortest paths, independent of its reservations.
    #[default]
    Shortest,
    /// The shortest path on which there is room.
    Around,
}

words! {
    RouteChoice {
        Shortest = "shortest", "One of the shortest paths, selected by a hash of the flow, regardless of reservations";
        Around = "around", "The shortest path with free capacity: full links are avoided, as in Chameleon";
    }
}

impl Described for Silo {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl AdmissionScheme for Silo {
    const KEEPS_QUEUES: bool = true;

    fn build(setup: &SchemeInputs<'_>, params: Params) -> Result<Self, BuildError> {
        Self::new(setup.network.clone(), setup.model, params).map_err(BuildError::invalid)
    }
}

/// Silo's admission control.
pub struct Silo {
    placement: Placement,
    routes: Routes,
}

/// Route choice, with the memory of its search.
struct Routes {
    choice: RouteChoice,
    /// Per switch that a destination hangs on: the least that hashed costs add up to from each switch. It never changes.
    bounds: HashMap<NodeId, Box<[u64]>>,
}

impl Silo {
    /// With nothing admitted.
    ///
    /// # Errors
    /// Never for networks whose ports have a queue for contracts; the type is the ledger's.
    pub fn new(network: Arc<Network>, model: Model, params: Params) -> Result<Self, LedgerError> {
        let of_link = |(id, link)| {
            let fixed = network.queues(id).first().and_then(|queue| queue.budget);
            vec![fixed.unwrap_or(params.budget); model.contract_queues(&network, link).min(1)]
        };
        let budgets = network.links().map(of_link).collect();
        let routes = Routes { choice: params.route, bounds: HashMap::new() };
        Ok(Self { placement: Placement::new(Ledger::new(network, model, budgets)?), routes })
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

stands_on_its_placement!(Silo);

impl Admission for Silo {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        self.routes.admit(&mut self.placement, request)
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.placement.release(flow).map(|reservation| reservation.route)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        self.placement.change(flow, |placement| self.routes.admit(placement, request))
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.routes.find_route(&mut self.placement, request).is_ok()
    }
}

impl Routes {
    fn admit(&mut self, placement: &mut Placement, request: &Request) -> Result<Decision, Refusal> {
        match self.find_route(placement, request) {
            Ok(found) => Ok(placement.reserve(request, found)),
            Err(Some(refusal)) => Err(refusal),
            Err(None) => Err(placement.diagnose(&RouteQuery::of(request))),
        }
    }

    /// Returns a route on which the request fits. On failure returns the reason, if it is already known.
    fn find_route(&mut self, placement: &mut Placement, request: &Request) -> Result<FoundRoute, Option<Refusal>> {
        if request.protection > 1 {
            return Err(Some(Refusal::NoProtection { scheme: "silo" }));
        }
        let query = RouteQuery::of(request);
        match (&request.route, self.choice) {
            (Some(pinned), _) => placement.check(&query, pinned).map_err(Some),
            (None, RouteChoice::Shortest) => {
                let cost = HashedHopCost { identity: identity(request) };
                let bounds = self.towards(placement, request.to);
                let meant = placement.least_cost_without_load(&query, &cost, bounds).ok_or(None)?;
                placement.check(&query, &meant.route).map_err(Some)
            }
            (None, RouteChoice::Around) => placement.larac(&query, &HopCost, &[]).ok_or(None),
        }
    }

    /// Lower bounds of the cost to a host: none for a host with several links.
    fn towards(&mut self, placement: &Placement, host: NodeId) -> &[u64] {
        let network = placement.network();
        let &[last] = network.links_into(host) else { return &[] };
        let switch = network.link(last).from;
        let bounds = || placement.cost_bounds(switch, |_, _| HashedHopCost::LINK);
        self.bounds.entry(switch).or_insert_with(bounds)
    }
}

#[cfg(test)]
mod tests;
