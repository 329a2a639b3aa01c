//! Policies of services: shares of the bandwidth of machines, racks or the fabric, and their reservations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::Match;

/// A policy that a controller keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Policy {
    /// Name of the policy.
    pub name: String,
    /// Terms, as in files.
    pub spec: PolicySpec,
    /// Reserved rate, at each contention point and in each direction with a minimum.
    pub needs: Vec<PolicyNeed>,
    /// The same as the ETag.
    pub revision: u64,
}

/// Reserved rate of a policy at a contention point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyNeed {
    /// The contention point, for people.
    pub place: String,
    /// `transmit` or `receive`.
    pub direction: String,
    /// The minima of all services there, when they are most.
    pub min: String,
    /// The links over which it is divided evenly.
    pub links: u64,
}

/// Terms of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// `machine`, `rack` or `fabric`.
    pub level: String,
    /// The hosts or switches that it is for; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub nodes: Vec<String>,
    /// Maximum load of each contention point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak: Option<String>,
    /// Services of the policy.
    pub services: Vec<PolicyService>,
}

/// A service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyService {
    /// Unique in its policy.
    pub name: String,
    /// The service of which it is a part.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// Tenant that may change the services below it, but not its own terms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Packets of the service.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// At which hosts; at all of its parent's if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub endpoints: Vec<String>,
    /// Terms for sent traffic.
    #[serde(skip_serializing_if = "PolicyTerms::is_empty", default)]
    pub transmit: PolicyTerms,
    /// Terms for received traffic.
    #[serde(skip_serializing_if = "PolicyTerms::is_empty", default)]
    pub receive: PolicyTerms,
    /// Other terms from some time on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<PolicyChange>,
    /// Share of the whole network, as a rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<String>,
    /// Objective of its flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objective: Option<String>,
}

/// Terms in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTerms {
    /// Guaranteed whenever it is wanted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<String>,
    /// Never exceeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<String>,
    /// Weight of its share of the excess, relative to its siblings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<u32>,
}

impl PolicyTerms {
    /// Returns `true` if no term is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Other terms from some time on: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyChange {
    /// Time of the change.
    pub at: String,
    /// Terms for sent traffic.
    #[serde(skip_serializing_if = "PolicyTerms::is_empty", default)]
    pub transmit: PolicyTerms,
    /// Terms for received traffic.
    #[serde(skip_serializing_if = "PolicyTerms::is_empty", default)]
    pub receive: PolicyTerms,
}
