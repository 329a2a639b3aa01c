//! Who did what.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A change that somebody made, or a request that was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Its number among those that the reader can see.
    pub number: u64,
    /// When (RFC 3339); the first time, of several.
    pub at: String,
    /// The name of the token; `ledger` for a command that has opened the ledger file, `server` for the server itself, `nobody` without a token
    /// that is known.
    pub who: String,
    /// The role of the token: `operator`, `tenant`, `agent` or `reader`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub role: String,
    /// The tenant of the token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// The address from which it came.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub from: String,
    /// What was asked: an `operationId` of this document.
    pub operation: String,
    /// Of what: `tenant:name` of a contract or VM, or the name of something else.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub object: String,
    /// The status of the answer; 102 for a long list that has begun.
    pub status: u16,
    /// The code of a refusal, or how many of a list were done.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
    /// `X-Request-Id` of the answer.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub request: String,
    /// How many times, if the same was refused several times within a second.
    #[serde(skip_serializing_if = "is_one", default = "one")]
    pub count: u64,
}

const fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_one(count: &u64) -> bool {
    *count == 1
}
