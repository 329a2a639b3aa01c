//! Queries about hypothetical changes, with parsed orders and ids, and their outcomes.

use wayleave_contracts::ContractRequest;
use wayleave_protocol::Id;
use wayleave_scheme_api::Certainty;
use wayleave_topology::NodeId;

use crate::command::{CommandError, ElementName};

/// Steps of a what-if query, taken in this order.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// Elements that fail.
    pub fail: Vec<ElementName>,
    /// Elements that are up again.
    pub restore: Vec<ElementName>,
    /// Contracts that end.
    pub delete: Vec<Id>,
    /// Contracts that are created, or get other terms.
    pub apply: Vec<ContractRequest>,
    /// From which hosts all VMs go elsewhere, by fit, with their contracts.
    pub drain: Vec<String>,
}

/// Effect that the steps of a [`WhatIf`] would have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIfOutcome {
    /// Contracts that would take another route.
    pub rerouted: Vec<Id>,
    /// Contracts that a failure would withdraw.
    pub degraded: Vec<Id>,
    /// Contracts that a failure has withdrawn, and that would have their reservations again.
    pub restored: Vec<Id>,
    /// Contracts that would be admitted: new ones, and those with other terms.
    pub admitted: Vec<Id>,
    /// Contracts that would be refused.
    pub refused: Vec<(Id, CommandError)>,
    /// Contracts that would be ended.
    pub deleted: Vec<Id>,
    /// Contracts whose promise would be known with another certainty: before and after.
    pub certainty: Vec<(Id, Certainty, Certainty)>,
    /// VMs that would be elsewhere: from where, and to where if any host is left.
    pub placed: Vec<(Id, NodeId, Option<NodeId>)>,
}
