//! Status of the controller.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tenant::Role;

/// Identity of the server, and of the client's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct About {
    /// Version of the server.
    pub version: String,
    /// Role of the token.
    pub role: Role,
    /// Tenant of the token, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Node of the token, if it is an agent's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// Name of the network.
    pub topology: String,
    /// The scheme that decides.
    pub scheme: String,
    /// Number of starts of the controller from this ledger.
    pub generation: u64,
}

/// Status of the controller; for a tenant's token, restricted to the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// Version of the server.
    pub version: String,
    /// Number of starts of the controller from this ledger.
    pub generation: u64,
    /// `true` if it can write.
    pub ready: bool,
    /// Reason for which it cannot write.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Contracts by state.
    pub contracts: BTreeMap<String, u64>,
    /// Contracts by guarantee: `latency`, `bandwidth`, `objective`, `best-effort`.
    #[serde(default)]
    pub kinds: BTreeMap<String, u64>,
    /// Nodes whose agents enforce contracts: `none`, `hosts` or `hosts-and-switches`.
    #[serde(default)]
    pub enforcement: String,
    /// Contracts that have a rule to be in force.
    pub configured: u64,
    /// Contracts whose rule all required hosts have confirmed in their present sessions, with agents that send heartbeats.
    /// `null` at a controller that receives no reports.
    #[schema(required)]
    pub effective: Option<u64>,
    /// Latency contracts of which receivers reported late packets; `null` if there are none and no connected agent has measured
    /// packets in its present session.
    #[schema(required)]
    pub late: Option<u64>,
    /// Time by which the clock is ahead of the calendar that contracts start and end by, while the clock is not trusted.
    #[serde(rename = "clockAheadNs", skip_serializing_if = "Option::is_none", default)]
    pub clock_ahead_ns: Option<u64>,
    /// Protected contracts of which something that is down has cut some of the disjoint routes, and not all.
    #[serde(default)]
    pub unprotected: u64,
    /// Number of VMs.
    pub vms: u64,
    /// Number of tenants.
    pub tenants: u64,
    /// Number of elements that are reported down now; `null` if there are none, and no connected agent observes links, or an
    /// element that was last reported down.
    #[schema(required)]
    pub down: Option<u64>,
    /// Agents with an open session that send heartbeats; `null` at a controller that receives no reports, since it does
    /// not lead: ask the leader.
    #[schema(required)]
    pub agents: Option<u64>,
    /// Nodes with an overdue heartbeat; `null` at a controller that receives no reports.
    #[schema(required)]
    pub silent: Option<Vec<String>>,
    /// Present problems as reported by agents, each beginning with its node; `null` at a controller that receives no
    /// reports.
    #[schema(required)]
    pub problems: Option<Vec<String>>,
    /// The ledger on disk.
    pub ledger: Ledger,
    /// State of this controller in its cluster; absent for a single controller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<Cluster>,
}

/// State of a controller in its cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Role of the controller.
    pub role: ClusterRole,
    /// Address of the leader, as known to a follower.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leader: Option<String>,
    /// The last batch that it shows.
    pub commit: u64,
    /// Each leader has a later one; messages of agents in sessions of an earlier one are refused.
    pub epoch: u64,
    /// Remaining time of the lease, in ms; 0 if this controller does not lead.
    pub lease_remaining_ms: u64,
}

/// Role of a controller in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClusterRole {
    /// The controller is the only writer.
    Leader,
    /// Another controller writes, and this one follows it.
    Follower,
    /// Unknown: another controller may have written since.
    Unknown,
}

impl ClusterRole {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Leader, Self::Follower, Self::Unknown];

    /// Returns the name in documents and headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Unknown => "unknown",
        }
    }
}

/// The ledger on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ledger {
    /// Path.
    pub path: String,
    /// The number of the last commit.
    pub sequence: u64,
    /// Number of records.
    pub records: u64,
    /// The revision of the last change.
    pub revision: u64,
}

/// A copy of the ledger that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupSpec {
    /// The name of the file, which is made beside the ledger; there must be none yet.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
    pub name: String,
}

/// A copy of the ledger, with a seal of its own: a file of the machine on which the server runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    /// The file, with `-seal` and perhaps `-wal` beside it.
    pub path: String,
    /// The last commit that is in it.
    pub sequence: u64,
    /// Number of its records, all of which were read and checked.
    pub records: u64,
    /// Size on disk.
    pub bytes: u64,
}
