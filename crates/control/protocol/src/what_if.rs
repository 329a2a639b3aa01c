//! Queries about hypothetical changes (`what-if`) and their results. A query changes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::ContractSpec;

/// A what-if query: its steps are taken in the order of the keys here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfQuery {
    /// Links and nodes that fail.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fail: Vec<String>,
    /// Links and nodes that are up again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub restore: Vec<String>,
    /// Contracts that are deleted: `tenant:name`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub delete: Vec<String>,
    /// Contracts that are created, or get other terms.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub apply: Vec<ContractSpec>,
    /// Hosts whose VMs go elsewhere, with their contracts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub drain: Vec<String>,
}

/// Effect that the steps of a query would have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfResult {
    /// Contracts that would take another route. Their states do not follow: agents may be silent, or packets late.
    pub rerouted: Vec<MovedContract>,
    /// Contracts that a failure would withdraw.
    pub degraded: Vec<BrokenContract>,
    /// Contracts that a failure has withdrawn, and that would have their reservations again. Their agents would have to
    /// confirm them.
    pub restored: Vec<MovedContract>,
    /// Contracts that would be admitted: new ones, and those with other terms.
    pub admitted: Vec<MovedContract>,
    /// Contracts that would be refused.
    pub refused: Vec<BrokenContract>,
    /// Contracts that would be ended.
    pub deleted: Vec<String>,
    /// Contracts whose promise would be `proven` no longer, or again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub certainty: Vec<Recertified>,
    /// VMs that would be elsewhere.
    pub placed: Vec<PlacedContract>,
    /// Number of items left out of each list, by its key, if fewer were requested (`limit`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub omitted: BTreeMap<String, u64>,
}

/// A contract with the place that it would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedContract {
    /// `tenant:name`.
    pub id: String,
    /// New delay bound of a latency contract.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// Certainty of the promise to a contract of another kind: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// The links of its routes; none where hosts choose paths.
    pub routes: Vec<Vec<String>>,
}

/// A contract that would not be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BrokenContract {
    /// `tenant:name`.
    pub id: String,
    /// A stable code.
    pub reason: String,
    /// The same for people.
    pub message: String,
}

/// A contract whose promise would be known with another certainty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Recertified {
    /// `tenant:name`.
    pub id: String,
    /// `proven` or `measured`, before.
    pub from: String,
    /// The same afterwards.
    pub to: String,
}

/// A VM with the host that it would be on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedContract {
    /// `tenant:name`.
    pub id: String,
    /// Present host.
    pub from: String,
    /// Host after the change; absent if no host would be left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
}
