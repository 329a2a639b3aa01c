//! Events for watchers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that has happened. In a stream the number is its `id:` and the type its `event:`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number of the event; events are sent in this order.
    pub number: u64,
    /// Time (RFC 3339).
    pub at: String,
    /// `pending`, `admitted`, `enforced`, `degraded`, `violated`, `released`, `gone`, `refused`, `rerouted`, `down`,
    /// `up`, `put`, `deleted`, `agent-up`, `agent-silent`, `repaired`; and `reset` in a stream: events were missed,
    /// so read the whole state again.
    #[serde(rename = "type")]
    pub kind: String,
    /// Subject: `tenant:name` of a contract, or `vm`, `tenant`, `token`, `policy`, `link`, `node` and its name.
    pub object: String,
    /// Owner of the object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// The revision of the object.
    pub revision: u64,
    /// Reason, human-readable.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}
