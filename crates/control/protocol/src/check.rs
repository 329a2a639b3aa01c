//! Checks: probes from one endpoint to another through a real network, and the interfaces at which agents have seen them.
//!
//! An operator asks the controller. Agents hear of a check in the answers to their reports, watch the interfaces of their nodes, and say so; then the
//! agent of the sender's host sends, and all tell what passes. The probes take the way of the sender's packets: its interface, the rules
//! of its host, tags and queues.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::Match;

/// The most probes of a check.
pub const MAX_PROBES: u32 = 200;

/// What is to be checked: a contract, or the way from one endpoint to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Who sends: a VM as `tenant:name`, or a host; of a contract with members one of them, and nobody beside a contract between two.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// Who receives, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// A contract, as `tenant:name`: the probes are from its sender to its receiver, or between two of its members, and its `match` fits them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract: Option<String>,
    /// What the probes look like; otherwise UDP to port 7 between addresses for documentation, which no VM has. Only without `contract`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// How many: 1 to 200, by default 10. They are sent 20 ms apart.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u32>,
}

/// What became of the probes of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Who sent: `tenant:name`, or `host:NAME` for a host's own interface.
    pub from: String,
    /// Who should have got them.
    pub to: String,
    /// How many were sent.
    pub sent: u32,
    /// How many left the receiver's host by the receiver's interface.
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
    /// Its interface.
    pub interface: String,
    /// The link that leaves the node by it, or the endpoint behind it.
    pub leads_to: String,
    /// Whether the probes left the node there, behind its queues; otherwise they entered it.
    pub is_outgoing: bool,
    /// How many different ones.
    pub probes: u32,
    /// The first one, with the links and queues that its tags still named.
    pub frame: String,
}

/// Probes that were seen last at the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostProbes {
    /// How many.
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
    /// What became of packets.
    pub what: String,
    /// How many.
    pub packets: u64,
}

/// What an agent is told in the answer to its report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tasks {
    /// The checks that are on. Those that are not named any more are over.
    #[serde(default)]
    pub checks: Vec<CheckTask>,
}

/// A check, as an agent is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckTask {
    /// Which: 16 hexadecimal digits, drawn at random, that stand in its probes.
    pub id: String,
    /// What the node is to send, once everybody watches; only the sender's host.
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
    /// What they look like.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// How many.
    pub count: u32,
}

/// What an agent tells of a check, everything since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckReport {
    /// Which.
    pub id: String,
    /// Why it cannot watch or send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trouble: Option<String>,
    /// How many probes it has sent.
    #[serde(default)]
    pub sent: u32,
    /// Where it has seen which.
    #[serde(default)]
    pub seen: Vec<ProbeCounts>,
    /// What it has counted of all packets meanwhile, by what became of them; only a host.
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
    /// Whether they left there.
    pub is_outgoing: bool,
    /// Their numbers, from 0 on.
    pub probes: Vec<u32>,
    /// The first one in words.
    pub frame: String,
}
