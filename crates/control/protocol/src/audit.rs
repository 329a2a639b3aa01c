//! The audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A change, or a refused request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Number of the entry among those that the reader can see.
    pub number: u64,
    /// Time (RFC 3339); of repeated entries, the first.
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
    /// Requested operation: an `operationId` of this document.
    pub operation: String,
    /// Object of the operation: `tenant:name` of a contract or VM, or another name.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub object: String,
    /// The status of the answer; 102 for a long list that has begun.
    pub status: u16,
    /// Code of a refusal, or the number of items executed from a list.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
    /// `X-Request-Id` of the answer.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub request: String,
    /// Number of occurrences, if the same request was refused several times within a second.
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
