//! Checks: probes from one endpoint to another through a real network, and the interfaces at which agents observe
//! them.
//!
//! An operator requests a check from the controller. Agents receive it in the replies to their reports, watch the
//! interfaces of their nodes and confirm. Then the agent of the sender's host sends the probes, and all agents report
//! their observations. Probes take the route of the sender's packets: its interface, the rules of its host, tags and
//! queues.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::Match;

/// The most probes of a check.
pub const MAX_PROBES: u32 = 200;

/// Subject of a check: a contract, or a pair of endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Sender: a VM as `tenant:name`, or a host. For a contract with members it is one of them; for a contract
    /// between two endpoints it is absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// Receiver, in the same form.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// A contract, as `tenant:name`: the probes are from its sender to its receiver, or between two of its members, and its `match` fits them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract: Option<String>,
    /// Header fields of the probes. Default: UDP to port 7 between documentation addresses, which no VM has. Only
    /// without `contract`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// Number of probes: 1 to 200, by default 10, at intervals of 20 ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u32>,
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Sender: `tenant:name`, or `host:NAME` for a host's own interface.
    pub from: String,
    /// Intended receiver.
    pub to: String,
    /// Number of probes sent.
    pub sent: u32,
    /// Number of probes that left the receiver's host by the receiver's interface.
    pub received: u32,
    /// Interfaces at which they were observed, in the order of their path.
    pub observations: Vec<Observation>,
    /// Last places of those that did not arrive.
    pub lost: Vec<LostProbes>,
    /// Counters of the hosts of both ends during the check: all packets, not only the probes.
    pub counted: Vec<HostCounter>,
    /// Nodes that could not watch, one sentence each: what happens there is not known.
    pub unobserved_nodes: Vec<String>,
}

/// Probes that were observed at an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Observation {
    /// The node.
    pub node: String,
    /// Interface of the node.
    pub interface: String,
    /// The link that leaves the node by it, or the endpoint behind it.
    pub leads_to: String,
    /// `true` if the probes left the node there, after its queues; otherwise they entered it.
    pub is_outgoing: bool,
    /// Number of distinct probes.
    pub probes: u32,
    /// The first one, with the links and queues that its tags still named.
    pub frame: String,
}

/// Probes that were seen last at the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostProbes {
    /// Number of probes.
    pub probes: u32,
    /// The last place at which they were observed.
    pub last_seen_at: String,
    /// The next place on the path, if other probes were observed there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next_hop: Option<String>,
}

/// Packets of a host with one fate, delivered or dropped, during a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCounter {
    /// The host.
    pub node: String,
    /// Outcome of the packets.
    pub what: String,
    /// Number of packets.
    pub packets: u64,
}

/// Check tasks for an agent, in the reply to its report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tasks {
    /// The checks that are on. Those that are not named any more are over.
    #[serde(default)]
    pub checks: Vec<CheckTask>,
}

/// A check task of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckTask {
    /// Identity of the check: 16 random hexadecimal digits, carried by its probes.
    pub id: String,
    /// Probes to send once all agents watch; only for the sender's host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sends: Option<Probes>,
}

/// Probes that are to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Probes {
    /// From this endpoint: `tenant:name`, or `host:NAME`.
    pub from: String,
    /// To this one.
    pub to: String,
    /// Header fields of the probes.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// Number of probes.
    pub count: u32,
}

/// An agent's report on a check, cumulative since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckReport {
    /// Identity of the check.
    pub id: String,
    /// Reason for which the node cannot watch or send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trouble: Option<String>,
    /// Number of probes that it has sent.
    #[serde(default)]
    pub sent: u32,
    /// Observed probes by interface.
    #[serde(default)]
    pub seen: Vec<ProbeCounts>,
    /// All packets that a host counted during the check, by outcome; only for hosts.
    #[serde(default)]
    pub counted: BTreeMap<String, u64>,
}

/// Probes at an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProbeCounts {
    /// The interface.
    pub interface: String,
    /// The link that leaves by it, or the endpoint behind it.
    pub leads_to: String,
    /// `true` if the probes left the node there.
    pub is_outgoing: bool,
    /// Their numbers, from 0 on.
    pub probes: Vec<u32>,
    /// The first one in words.
    pub frame: String,
}
