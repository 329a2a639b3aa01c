//! Counters of contracts as agents report them every second, and contracts ordered by the rate that they send.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::Traffic;
use crate::contract::Contract;

/// Counters of a contract. Figures that no agent has reported are `null`: unknown, not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractTraffic {
    /// Number of hosts whose agents count it: the sender, or every member. 0 for best effort, which no agent counts.
    pub hosts: u64,
    /// Number of those hosts that have reported counters of the contract within the last five seconds. The figures
    /// below are theirs.
    pub reporting: u64,
    /// Counters since the contract was installed on its hosts.
    #[schema(required)]
    pub traffic: Option<Traffic>,
    /// Rate of the packets sent between the last two reports, on the wire; `null` if it is unknown at one of those hosts. If
    /// not all hosts report, the rate is a lower bound.
    #[schema(required)]
    pub rate_bps: Option<u64>,
    /// Mean wait of the packets that waited for tokens between the last two reports; `null` also if none waited.
    #[schema(required)]
    pub waited_ns: Option<u64>,
}

/// A contract with its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContractCounters {
    /// The contract.
    pub contract: Contract,
    /// Counters of the contract.
    #[serde(flatten)]
    pub counters: ContractTraffic,
}

/// The contracts that send most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopTraffic {
    /// Contracts by rate, the highest first; then contracts whose rate is unknown, by name.
    pub items: Vec<ContractCounters>,
    /// Number of contracts that the token may see and that have not ended.
    pub contracts: u64,
    /// Number of contracts of which a rate is known: of all their hosts, or a lower bound above 0.
    pub measured: u64,
    /// Number of contracts of which a rate is known and not all hosts report: their rates are lower bounds.
    #[serde(default)]
    #[schema(required)]
    pub partial: u64,
    /// Sum of the known rates; `null` if none is known. A lower bound if rates are unknown or partial.
    #[schema(required)]
    pub rate_bps: Option<u64>,
    /// Number of contracts that are not among the items.
    pub omitted: u64,
}
