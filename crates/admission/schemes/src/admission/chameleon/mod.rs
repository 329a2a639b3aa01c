//! Chameleon: admission on the queue-level topology, with rerouting of admitted flows.
//!
//! A. Van Bemten, N. Đerić, A. Varasteh, S. Schmid, C. Mas-Machuca, A. Blenk, W. Kellerer, "Chameleon: Predictable
//! Latency and High Utilization with Queue-Aware and Adaptive Source Routing", CoNEXT 2020.
//!
//! Every queue of every port has a delay budget. A flow is admitted on a route of queues if their budgets add up to no
//! more than its deadline, and if in each queue, and in every lower queue of the same port, network calculus still
//! shows every delay below its budget and every backlog below its buffer. Budgets, not today's delays, make the
//! guarantee: whatever is admitted later, it holds. If no route is found, flows that stand in the way are moved.
//!
//! | paper | here |
//! |---|---|
//! | 3.2.1, 4.1.2 resource allocation | [`Allocation`] |
//! | 3.2.2 access control, 3.2.3 reservation | the ledger (`wayleave_ledger::Ledger::fits`, `reserve`) |
//! | 3.3, 4.1.3 routing: least delay, LARAC | [`Routing`], [`crate::routing`] |
//! | 3.4, Fig. 6 rerouting | `reroute` |
//! | 4.1.4 cost function | [`crate::costs::DelayCost`] |
//!
//! Deviations, and what the paper leaves open:
//! - Labels belong to (node, incoming link), since access depends on both; the published implementation keeps one
//!   label per node and misses feasible routes.
//! - The least-delay search keeps one label a link. That is exact but for one case: where a faster way has too many
//!   switches for the tag stack further on, a slower one with fewer is missed unless it is a shortest one (and the
//!   refusal says so).
//! - A flow whose route was pinned is not moved.
//! - By default a route is not the one of least delay but the one of least cost in scarce resources
//!   ([`Routing::Scarcity`], [`crate::costs`]), which admits more; [`Params::published`] is the paper's.
//! - With it, rerouting can end by tightening: flows into the receiver go back to faster queues ([`Rerouting::tighten`]).
//! - Budgets of queue counts other than 2, 4 and 8 are subsets of the eight (the paper's rule that more queues offer a
//!   superset of the delays); one queue gets 0.1 ms.
//! - Among rerouting candidates that share equally many links the least recently placed comes first, and a flow that
//!   was moved counts as placed again, as in the published implementation; the paper does not say.
//! - Fig. 6, line 6: the paper raises the cost of all queues on the shortest paths of the NEW flow; the published
//!   implementation takes those of the flow to be MOVED. Both: [`Penalised`]; the paper's is the default.
//! - The new route of a moved flow is found by label setting over the raised cost with the deadline, with one label a
//!   node as in the published implementation; exact label setting and LARAC, which the paper names, are in [`Search`].
//! - Moves for a request that is refused in the end are kept in the paper; here they are rolled back unless
//!   [`Moves::Kept`] is asked for.
//! - Moving a flow whose old route frees no queue that denied the new flow hardly helps it, so the retry of line 11 is
//!   left out; the move itself is made, as in the paper. (With moves kept, 5 of 84,618 refusals in random networks left
//!   one in which the search finds a route: one label a link again.)
//! - A moved flow is reserved twice for a moment, also on its host's link: one above half of that link's rate stays.
//! - A decision that moved flows says when the new flow may start: packets in flight still use the old routes. The
//!   paper frees them at once.

mod admission;
mod allocation;
mod params;
mod reroute;
mod route;
mod settings;

pub use admission::Chameleon;
pub use allocation::Allocation;
pub use params::{Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
pub use settings::{RoutingName, Settings};

use wayleave_scheme_api::{Described, Descriptor, Parameter, Parameters, Role, Value};

use crate::registry::{AdmissionScheme, BuildError, Defaults, Setup};

/// What Chameleon says of itself.
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

    fn build(setup: &Setup<'_>, settings: Settings) -> Result<Self, BuildError> {
        let params = settings.params(setup.defaults)?;
        Self::new(setup.network.clone(), setup.model, params).map_err(BuildError::invalid)
    }

    fn settings(settings: &Settings, defaults: Defaults) -> Vec<(&'static Parameter, Value)> {
        settings.settled(defaults)
    }
}

#[cfg(test)]
mod tests;
