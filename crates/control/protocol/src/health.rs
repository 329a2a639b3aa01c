//! Health of contracts, the worst first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::{Kind, State};

/// Health of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HealthLevel {
    /// Packets were late, the last sampled ones were lost, or the guarantee is lost: an element failed, or an agent cannot
    /// install the rule.
    Violated,
    /// Agents of its hosts are silent, or their counters show more than its rule lets through: the guarantee may hold or not.
    Unknown,
    /// A host has not confirmed the terms in time: the guarantee may hold or not.
    Unconfirmed,
    /// A packet that agents followed took at least 90 % of the bound, and no longer than the bound and the clock errors.
    AtRisk,
    /// Admitted, and not in force yet: others have to move first, its start has not come, or its sender has not confirmed its terms.
    Pending,
    /// Admitted and not enforced: this controller has no agents, or none is connected.
    NotEnforced,
    /// No violation is known, but nothing is proven: `certainty` is `measured`, or agents enforce only a part.
    BestEstimate,
    /// Proven, and all hosts that have to enforce it have confirmed that.
    Ok,
}

impl HealthLevel {
    /// All levels, the worst first.
    pub const ALL: [Self; 8] = [
        Self::Violated,
        Self::Unknown,
        Self::Unconfirmed,
        Self::AtRisk,
        Self::Pending,
        Self::NotEnforced,
        Self::BestEstimate,
        Self::Ok,
    ];

    /// Returns the name in documents and queries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Unknown => "unknown",
            Self::Unconfirmed => "unconfirmed",
            Self::AtRisk => "at-risk",
            Self::Pending => "pending",
            Self::NotEnforced => "not-enforced",
            Self::BestEstimate => "best-estimate",
            Self::Ok => "ok",
        }
    }
}

/// A contract that promises something, with its health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractHealth {
    /// `tenant:name`.
    pub id: String,
    /// Health of the contract.
    pub level: HealthLevel,
    /// Guarantee of the contract.
    pub kind: Kind,
    /// The state of the contract.
    pub state: State,
    /// Stable code of the reason for the state; `LATE_PACKETS` or `LOST_PACKETS` by sampled packets of the last minute.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Certainty of a contract of another kind than latency: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// Proven delay bound of every packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// Deadline of every packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ns: Option<u64>,
    /// The longest delay of a packet that agents have timed since the bound last changed; absent if they have timed none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst_ns: Option<u64>,
    /// A minimum rate, or a weight as a rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<String>,
    /// The hosts that send and receive, or those of the members; at most four.
    pub hosts: Vec<String>,
    /// Total number of these hosts.
    pub members: u64,
    /// From 0 to 100: the higher, the longer it is kept when something fails.
    pub priority: u8,
}

/// A page of contracts by health, the worst first. Best-effort contracts promise nothing and are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthPage {
    /// Contracts of this page: by level, then the first three levels by priority, then by the margin between bound and deadline.
    pub items: Vec<ContractHealth>,
    /// Number of contracts of each level, over all pages.
    pub levels: BTreeMap<String, u64>,
    /// `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}
