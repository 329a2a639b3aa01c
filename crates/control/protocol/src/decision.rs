//! What was decided, and lists of what was done.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::ContractSpec;
use crate::problem::Problem;

/// What was decided.
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
    /// Its number among those of its tenant.
    pub number: u64,
    /// When it was made (RFC 3339).
    pub at: String,
    /// For which contract.
    pub contract: String,
    /// What was asked.
    pub asked: ContractSpec,
    /// What was decided.
    pub verdict: DecisionOutcome,
    /// No packet takes longer, if it was admitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// How much is known of what is promised to a contract of another kind than latency: `proven` or `measured`.
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

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is new.
    Created,
    /// It has other terms.
    Changed,
    /// It was so already.
    Unchanged,
    /// It is ended.
    Deleted,
    /// It is not there, and was not.
    Absent,
    /// It was not done; the error says why.
    Refused,
}

/// What became of one contract of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// `tenant:name`.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The state it is in now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<crate::contract::State>,
    /// No packet of a latency contract takes longer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// How much is known of what is promised to a contract of another kind: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// The decision that was made for it, if one was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<u64>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Problem>,
}

/// Changes that are made together or not at all: `POST /v1/batch`.
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
    /// Whether everything was left as it was: only the answer was wanted.
    pub dry_run: bool,
    /// How many were done, or were so already.
    pub done: usize,
    /// How many were refused.
    pub refused: usize,
    /// Each, in the order of the list.
    pub items: Vec<Applied>,
    /// How many are left out: the answer to a request that is repeated has of a long list only refusals, and not all of them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub omitted: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
