//! Queries on the admitted flows of a scheme: holders, and the terms of a bound.
//!
//! Schemes that reserve queues keep a ledger ([`Placement`]), which answers more: curves, paths, possible violations.
//! QJump and Loko have none. This trait covers the queries that every scheme can answer.

use wayleave_scheme_api::{Admission, Refusal, Request, Value};
use wayleave_topology::{FlowId, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::explanation::Section;
pub use crate::held::{AdmittedFlow, Term};
use crate::placement::Placement;

/// A switch whose ports share one service, as a scheme takes it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssumedService {
    /// The switch.
    pub switch: NodeId,
    /// Service rate.
    pub rate: Rate,
    /// Additional delay of every packet.
    pub latency: Time,
    /// Buffer before the service.
    pub buffer: Bytes,
}

/// Queries that every admission scheme can answer about its admitted flows.
pub trait AdmittedSet: Admission {
    /// Returns the ledger of queues with its searches; `None` for schemes without queues.
    fn queues(&self) -> Option<&Placement> {
        None
    }

    /// Returns the ledger for questions that use the memory of its searches.
    fn queues_mut(&mut self) -> Option<&mut Placement> {
        None
    }

    /// An admitted flow.
    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>>;

    /// All admitted flows, by their indices.
    fn flows(&self) -> Vec<FlowId>;

    /// Returns the terms of an admitted flow's bound, in the order of its route; empty if there is no such flow.
    fn terms(&self, flow: FlowId) -> Vec<Term>;

    /// A term in words; `None` for terms that other schemes have as well.
    fn term_words(&self, _term: Term) -> Option<String> {
        None
    }

    /// Returns the resources that an admitted flow holds, in addition to its bound.
    fn explain_admitted(&self, _request: &Request, _flow: FlowId) -> Vec<Section> {
        Vec::new()
    }

    /// Returns the details of a refusal, in addition to its reason.
    fn explain_refused(&self, _refusal: &Refusal) -> Vec<Section> {
        Vec::new()
    }

    /// For schemes without queues: returns the total and the free resources, under a name for reports.
    fn granted_shares(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// The switches that its promises take for one shared service each; all others have queues.
    fn shared_services(&self) -> Vec<AssumedService> {
        Vec::new()
    }

    /// Returns the reason why a controller cannot use the scheme with these settings; `None` if it can.
    fn unfit_for_a_controller(&self) -> Option<String> {
        None
    }

    /// The flows of the contract that a flow belongs to, one for each of its routes; nothing if there is no such flow.
    fn routes_of(&self, flow: FlowId) -> Vec<FlowId> {
        match self.queues() {
            Some(placement) => placement.routes_of(flow),
            // Only schemes with a ledger place disjoint routes.
            None => self.held(flow).map(|_| flow).into_iter().collect(),
        }
    }

    /// Returns the bound that is promised to the contract of a flow: the bound of its longest route.
    fn promised(&self, flow: FlowId) -> Option<Time> {
        self.routes_of(flow).into_iter().filter_map(|flow| Some(self.held(flow)?.bound)).max()
    }
}

/// For schemes whose promises are those of their ledger.
macro_rules! stands_on_its_placement {
    ($scheme:ty $(, $more:item)?) => {
        impl $crate::admitted::AdmittedSet for $scheme {
            fn queues(&self) -> Option<&$crate::placement::Placement> {
                Some(self.placement())
            }

            fn queues_mut(&mut self) -> Option<&mut $crate::placement::Placement> {
                Some(self.placement_mut())
            }

            fn held(&self, flow: wayleave_topology::FlowId) -> Option<$crate::admitted::AdmittedFlow<'_>> {
                self.placement().held(flow)
            }

            fn flows(&self) -> Vec<wayleave_topology::FlowId> {
                self.placement().ledger().flows().map(|(flow, _)| flow).collect()
            }

            fn terms(&self, flow: wayleave_topology::FlowId) -> Vec<$crate::admitted::Term> {
                self.placement().held(flow).map_or_else(Vec::new, |held| self.placement().terms(held.route))
            }

            $($more)?
        }
    };
}

pub(crate) use stands_on_its_placement;
