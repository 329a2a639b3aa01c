//! Timeline of events, and snapshots of the state after an event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::{ContractSpec, State};
use crate::event::Event;

/// The events that are kept, in buckets of equal time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The buckets, the oldest first; none if there is no event.
    pub buckets: Vec<TimelineBucket>,
    /// `true` if events before the first were deleted: contracts that appear only in deleted events are not counted.
    pub shortened: bool,
}

/// Events and state of one part of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineBucket {
    /// End of the interval (RFC 3339).
    pub until: String,
    /// The number of the last event until then; 0 if there was none.
    pub last: u64,
    /// Number of events by type.
    pub events: BTreeMap<String, u64>,
    /// Contracts by their recorded state at its end: later evidence, such as `RATE_EXCEEDED`, does not change it.
    pub contracts: BTreeMap<String, u64>,
    /// Number of links and nodes that were reported down before its end, and not up again. Absent for tenants.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down: Option<u64>,
}

/// Snapshot of the state right after an event, as far as events are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The event.
    pub event: Event,
    /// Contracts by their recorded state: later evidence, such as `RATE_EXCEEDED`, does not change it.
    pub contracts: BTreeMap<String, u64>,
    /// Contracts that were not kept, at most 100: the latest first.
    pub unmet: Vec<UnmetContract>,
    /// Number of those left out.
    pub omitted: u64,
    /// Links and nodes that were reported down, and not up again: `link` or `node`, and the name. Absent for tenants.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down: Option<Vec<String>>,
}

/// A contract that was not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnmetContract {
    /// `tenant:name`.
    pub id: String,
    /// `degraded` or `violated`.
    pub state: State,
    /// Since when (RFC 3339).
    pub since: String,
    /// Human-readable reason.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

/// Contracts as they were at an earlier time, of those that differ now: `GET /v1/past/{asOf}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastContracts {
    /// The time that was asked for, or the time of the event (RFC 3339).
    pub at: String,
    /// Contracts that were created, changed or deleted since, by name.
    pub contracts: Vec<PastContract>,
    /// Tenants of which that is not known. None of their contracts is listed.
    pub unknown: Vec<UnknownPast>,
}

/// A contract as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastContract {
    /// `tenant:name`.
    pub id: String,
    /// Terms of then; absent if there was no such contract.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spec: Option<ContractSpec>,
}

/// A tenant whose history does not reach back that far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownPast {
    /// Name of the tenant.
    pub tenant: String,
    /// Time from which on the contracts' history is known (RFC 3339); absent if only their present state is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub since: Option<String>,
}
