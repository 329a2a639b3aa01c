//! Chameleon: admission on the queue-level topology, with rerouting of admitted flows.
//!
//! A. Van Bemten, N. Đerić, A. Varasteh, S. Schmid, C. Mas-Machuca, A. Blenk, W. Kellerer, "Chameleon: Predictable
//! Latency and High Utilization with Queue-Aware and Adaptive Source Routing", CoNEXT 2020.
//!
//! Every queue of every port has a delay budget. A flow is admitted on a route of queues if their budgets add up to
//! no more than its deadline. In each queue, and in every lower queue of the same port, network calculus must still
//! show every delay below its budget and every backlog below its buffer. The guarantee rests on budgets, not on
//! current delays, so later admissions cannot break it. If no route is found, flows that block the request are moved.
//!
//! | paper | here |
//! |---|---|
//! | 3.2.1, 4.1.2 resource allocation | [`Allocation`] |
//! | 3.2.2 access control, 3.2.3 reservation | the ledger (`wayleave_ledger::Ledger::fits`, `reserve`) |
//! | 3.3, 4.1.3 routing: least delay, LARAC | [`Routing`], [`crate::routing`] |
//! | 3.4, Fig. 6 rerouting | `reroute` |
//! | 4.1.4 cost function | [`crate::costs::DelayCost`] |
//!
//! Deviations, and points that the paper leaves open:
//! - Labels belong to (node, incoming link), since access depends on both; the published implementation keeps one
//!   label per node and misses feasible routes.
//! - The least-delay search keeps one label per link. This is exact except in one case. If a faster route has too
//!   many switches for the tag stack further on, a slower one with fewer switches is missed unless it is a shortest
//!   one. The refusal reports this.
//! - A flow whose route was pinned is not moved.
//! - By default a route is not the one of least delay but the one of least cost in scarce resources
//!   ([`Routing::Scarcity`], [`crate::costs`]), which admits more; [`Params::published`] is the paper's.
//! - With that default, rerouting can end by tightening: flows into the receiver return to faster queues
//!   ([`Rerouting::tighten`]).
//! - Budgets of queue counts other than 2, 4 and 8 are subsets of the eight (the paper's rule that more queues offer
//!   a superset of the delays); one queue gets 0.1 ms.
//! - Among rerouting candidates that share equally many links the least recently placed comes first. A flow that was
//!   moved counts as placed again, as in the published implementation; the paper leaves this open.
//! - Fig. 6, line 6: the paper raises the cost of all queues on the shortest paths of the NEW flow; the published
//!   implementation takes those of the flow to be MOVED. [`Penalised`] offers both; the paper's is the default.
//! - The new route of a moved flow is found by label setting over the raised cost with the deadline. It keeps one
//!   label per node, as in the published implementation. Exact label setting and LARAC, which the paper names, are in
//!   [`Search`].
//! - Moves for a request that is refused in the end are kept in the paper; here they are rolled back unless
//!   [`Moves::Kept`] is set.
//! - Moving a flow whose old route frees no queue that denied the new flow hardly helps that flow, so the retry of
//!   line 11 is left out. The move itself is made, as in the paper. (With moves kept, 5 of 84,618 refusals in random
//!   networks left a state in which the search finds a route: again because of one label per link.)
//! - A moved flow is briefly reserved twice, also on its host's link: a flow above half of that link's rate is not
//!   moved.
//! - A decision that moved flows reports when the new flow may start: packets in flight still use the old routes. The
//!   paper frees them at once.

mod admission;
mod allocation;
mod derived;
mod params;
mod reroute;
mod route;
mod settings;
mod table;

pub use admission::Chameleon;
pub use allocation::{Allocation, DefaultBudgets};
pub use params::{Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
pub use settings::{RoutingName, Settings};

use wayleave_scheme_api::{Described, Descriptor, Parameter, Parameters, Role, Value};

use crate::registry::{AdmissionScheme, BuildError, Defaults, SchemeInputs};

/// Descriptor of Chameleon.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "chameleon",
    title: "Chameleon",
    roles: &[Role::Admission],
    summary: "Queue-level routing over delay budgets (CoNEXT 2020)",
    citation: "A. Van Bemten, N. Đerić, A. Varasteh, S. Schmid, C. Mas-Machuca, A. Blenk, W. Kellerer, \"Chameleon: \
               Predictable Latency and High Utilization with Queue-Aware and Adaptive Source Routing\", CoNEXT 2020",
    guarantee: "every packet of a contract arrives before its deadline and none is lost, whatever is admitted later",
    parameters: Settings::LIST,
};

impl Described for Chameleon {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl AdmissionScheme for Chameleon {
    const KEEPS_QUEUES: bool = true;
    const PLACES_DISJOINT_ROUTES: bool = true;

    fn build(setup: &SchemeInputs<'_>, settings: Settings) -> Result<Self, BuildError> {
        let params = settings.params(setup.defaults)?;
        Self::new(setup.network.clone(), setup.model, params).map_err(BuildError::invalid)
    }

    fn settings(settings: &Settings, defaults: Defaults) -> Vec<(&'static Parameter, Value)> {
        settings.settled(defaults)
    }
}

#[cfg(test)]
mod tests;
