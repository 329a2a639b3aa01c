//! Decisions, and lists of results.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::ContractSpec;
use crate::problem::Problem;

/// Outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionOutcome {
    /// Yes.
    Admitted,
    /// No.
    Refused,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Number of the decision among those of its tenant.
    pub number: u64,
    /// Time of the decision (RFC 3339).
    pub at: String,
    /// For which contract.
    pub contract: String,
    /// Terms as requested.
    pub asked: ContractSpec,
    /// Outcome of the decision.
    pub verdict: DecisionOutcome,
    /// Delay bound of an admitted latency contract.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// Evidence for the guarantee of a bandwidth-class contract: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// The contracts that were moved to admit it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub moved: Vec<String>,
    /// The stable code of a refusal: `NO_PATH`, `RATE`, `LATENCY`, `BUFFER`, `QUOTA`, `POLICY`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
}

/// Result for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The contract is new.
    Created,
    /// The contract has new terms.
    Changed,
    /// The contract already had these terms.
    Unchanged,
    /// The contract was deleted.
    Deleted,
    /// The contract does not exist, and did not exist before.
    Absent,
    /// Not executed; the error has the reason.
    Refused,
}

/// Result for one contract of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// `tenant:name`.
    pub id: String,
    /// Result for the contract.
    pub outcome: Outcome,
    /// The state it is in now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<crate::contract::State>,
    /// Delay bound of a latency contract.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// Evidence for the guarantee of a bandwidth-class contract: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// The decision that was made for it, if one was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<u64>,
    /// Reason for which it was not executed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Problem>,
}

/// Atomic changes: `POST /v1/batch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchSpec {
    /// Contracts that are deleted: `tenant:name`. One that is also in `apply` is deleted and created again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub delete: Vec<String>,
    /// Contracts that are created, or get other terms.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub apply: Vec<ContractSpec>,
}

/// Results of a list: `POST /v1/apply` and `POST /v1/batch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyReport {
    /// `true` for a dry run: nothing was changed.
    pub dry_run: bool,
    /// Number of items that were executed, or needed no change.
    pub done: usize,
    /// Number of refused items.
    pub refused: usize,
    /// Each, in the order of the list.
    pub items: Vec<Applied>,
    /// Number of omitted items: the reply to a repeated request with a long list has only refusals, and not all of
    /// them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub omitted: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
