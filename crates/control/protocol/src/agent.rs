//! Messages between the controller and the agents of nodes.
//!
//! An agent opens a session and reports the installed rules. It polls for operations, executes them and confirms
//! them. An operation names a contract by its serial number, which is never reused, and has a version that only
//! grows. An agent keeps the highest version of each serial number, so operations may be repeated, delayed or
//! reordered. It accepts only operations of its latest session: a restart of either side opens a new one.
//!
//! The controller makes these messages and the server forwards them unchanged. Agents keep the rules on disk and
//! resolve names when they install them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::check::CheckReport;
use crate::contract::{Hop, Kind, Match};
use crate::load::LinkReport;

/// Contract keys that agents enforce since version 0.2.0. An agent names those that it knows in each report
/// ([`Reports::enforces`]): an older one confirms a contract with such a key without enforcing the key.
pub const KEYS_SINCE_0_2: [&str; 1] = ["bestEffort.max"];

/// The agent of a node begins a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Latest session of the node known to its agent; 0 if it knows none. If another session has been opened since,
    /// the request is refused, and the problem names that session (`epoch`).
    #[serde(default)]
    pub after: u64,
    /// Serial and version of every rule that is installed; for a switch that is set up, serial 0.
    #[serde(default)]
    pub installed: Vec<(u64, u64)>,
}

/// A session that has begun: only its own confirmations count from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Number of the session.
    pub epoch: u64,
    /// Number of starts of the controller. If it changes, open a new session.
    pub generation: u64,
}

/// Pending operations of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// The session that counts.
    pub epoch: u64,
    /// Number of starts of the controller.
    pub generation: u64,
    /// Until they are confirmed they come again.
    pub operations: Vec<Operation>,
}

/// An operation for a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// The contract; 0 for the set-up of a switch.
    pub serial: u64,
    /// The highest counts.
    pub version: u64,
    /// Work to do.
    #[serde(flatten)]
    pub work: Work,
}

/// Work of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Work {
    /// A switch: forward by tag and serve its queues by strict priority. Once, at its start.
    SetUp,
    /// A host: tag and shape as this rule states, in place of any other rule of the contract, without a packet in
    /// between. The bucket keeps its level.
    Install {
        /// The rule.
        rule: Box<Rule>,
    },
    /// A host: send nothing more of this contract.
    Remove,
}

/// Treatment of a contract's packets at a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Contract: `tenant:name`.
    pub id: String,
    /// The end that sends.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// Matching packets between the endpoints; all, if absent.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// Rate of the token bucket, on the wire.
    pub rate_bps: u64,
    /// Burst in bytes on the wire.
    pub burst_bytes: u64,
    /// The largest frame, in wire bytes, if it is smaller than the link's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_frame_bytes: Option<u64>,
    /// The routes of the packets; several, if each is sent over all of them.
    pub routes: Vec<Vec<Hop>>,
    /// Delay bound of every packet.
    pub bound_ns: u64,
}

/// Addresses of the other hosts, and routes around elements that are down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Neighbours {
    /// Number of starts of the controller. After another start, the topology may differ.
    pub generation: u64,
    /// Every VM.
    pub vms: Vec<Neighbour>,
    /// Links that are down by themselves, each direction.
    pub down_links: Vec<String>,
    /// Nodes that are down.
    pub down_nodes: Vec<String>,
}

/// The contracts of other kinds than latency of which a host is a member: what its agent has to know to divide the host's links among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shares {
    /// Admitted contracts, in the order of their numbers.
    pub contracts: Vec<ShareRule>,
    /// Rate that latency contracts leave of the links that leave the host.
    pub transmit_bps: u64,
    /// Rate that latency contracts leave of the links that enter the host.
    pub receive_bps: u64,
    /// Addresses at which the agents of other members listen, by host. A host that is absent has no known address.
    pub peers: BTreeMap<String, String>,
    /// Key with which agents sign their messages to each other.
    pub secret: String,
}

/// A contract of another kind than latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShareRule {
    /// Serial number of the contract.
    pub serial: u64,
    /// Version of the contract; agents report the version in force.
    #[serde(default)]
    pub version: u64,
    /// Contract: `tenant:name`.
    pub id: String,
    /// Kind of its guarantee.
    pub kind: Kind,
    /// Members: sender and receiver, or all members of a hose, a division or best effort.
    pub members: Vec<Member>,
    /// Minimum rate: of the pair, or of every member to and from all others in total; 0 for best effort.
    pub min_bps: u64,
    /// Maximum rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_bps: Option<u64>,
    /// Weight of its share of the capacity above all minima.
    pub weight: u32,
    /// The route of a pair; without one its packets take a shortest route.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub route: Option<Vec<Hop>>,
}

/// A member of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Member {
    /// As it was written: a VM or a host.
    pub name: String,
    /// The host that it is on.
    pub host: String,
}

/// Destination of packets for a VM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Neighbour {
    /// `tenant:name`.
    pub id: String,
    /// The host that it is on.
    pub host: String,
    /// The address of its interface.
    pub mac: String,
}

/// Operations that a node has carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmations {
    /// Number of the session.
    pub epoch: u64,
    /// Serial and version.
    pub done: Vec<(u64, u64)>,
}

/// A contract that a node cannot carry out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractProblem {
    /// The contract.
    pub serial: u64,
    /// The reason, as a clause.
    pub why: String,
}

/// Measurements of a node, and the state of its links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reports {
    /// Number of the session.
    pub epoch: u64,
    /// Late packets of each contract with a receiver at this node.
    #[serde(default)]
    pub measured: Vec<Measured>,
    /// All of its links that have no carrier, in whichever direction; they count as down until a report does not name them. Without
    /// it nothing changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_carrier: Option<Vec<String>>,
    /// Serial and version of every bandwidth-class rule in force. Absent from agents of version 0.2.0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rules_in_force: Option<Vec<(u64, u64)>>,
    /// Contract keys of [`KEYS_SINCE_0_2`] that this version of the agent enforces.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub enforces: Vec<String>,
    /// All contracts of any kind that the node cannot carry out now. Without it, minutes of the host's contracts are unknown, as
    /// with agents of version 0.2.0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract_problems: Option<Vec<ContractProblem>>,
    /// Foreign changes on the node since the last report that the agent has reverted; one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<String>,
    /// Everything that was counted of each contract that the node sends. Without it nothing is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traffic: Option<Vec<Traffic>>,
    /// All packets of a host, with or without a contract, counted by outcome. Absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packets: Option<BTreeMap<String, u64>>,
    /// Counters of the node's links, in either direction. Absent: unknown, as from agents of version 0.2.0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub links: Option<LinkReport>,
    /// Packets that were noted where they were sent or where they arrived. Without it nothing is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub samples: Option<Samples>,
    /// All present problems of the node, one sentence each. Absent: no change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub troubles: Option<Vec<String>>,
    /// The node is taken out of service: its agent has removed all configuration, and reports nothing until it opens
    /// another session.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub leaves: bool,
    /// IP address and UDP port at which it receives messages of other hosts' agents about shares of contracts.
    /// Absent: no change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hears_at: Option<String>,
    /// State of the running checks at this node. Absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checks: Option<Vec<CheckReport>>,
    /// Heartbeat, sent every second; without it, the agent counts as silent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub beat: bool,
}

/// Packets of a contract counted by its sender's host since the contract was installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Traffic {
    /// The contract.
    pub serial: u64,
    /// The identifier in the installed rule, `tenant:name`. Counters of another contract with this serial number are
    /// ignored: after a restored backup, serial numbers of lost contracts are given again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract: Option<String>,
    /// Packets that were sent; of copies one.
    pub packets: u64,
    /// Wire bytes of them.
    pub bytes: u64,
    /// Packets that had to wait for tokens.
    pub delayed: u64,
    /// Packets that wait now.
    pub waiting: u64,
    /// Packets that were dropped because there were no tokens, or because too many waited.
    pub queue_full: u64,
    /// Packets that were dropped because they were larger than the contract or its links allow.
    pub oversized: u64,
    /// Total waiting time of all packets.
    pub waited_ns: u64,
    /// Packets that waited at most 125 us, 250 us, and so on, each longer than the one before; the last has no end.
    pub waits: Vec<u64>,
    /// Outcome of the sampled packets. The controller derives it from the reports of both hosts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub followed: Option<SampledPackets>,
}

impl Traffic {
    /// Adds the counters of another rule, except its number and its sampled packets. Forged counters saturate.
    pub fn add(&mut self, other: &Self) {
        self.packets = self.packets.saturating_add(other.packets);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.delayed = self.delayed.saturating_add(other.delayed);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.queue_full = self.queue_full.saturating_add(other.queue_full);
        self.oversized = self.oversized.saturating_add(other.oversized);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.waits.resize(self.waits.len().max(other.waits.len()), 0);
        self.waits.iter_mut().zip(&other.waits).for_each(|(to, from)| *to = to.saturating_add(*from));
    }
}

/// Outcome of packets that were sampled at their sender's host and at their receiver's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SampledPackets {
    /// Packets of which it is known whether they arrived.
    pub packets: u64,
    /// Sampled packets that did not arrive.
    pub lost: u64,
    /// Sampled packets that arrived with a known delay: both hosts share one clock, or state the errors of their
    /// clocks.
    pub timed: u64,
    /// Packets among these whose delay exceeded the bound plus the errors of both clocks.
    pub late: u64,
    /// The longest delay, as the clocks showed it.
    pub worst_ns: u64,
    /// Maximum error of the delays.
    pub clock_error_ns: u64,
    /// Lost packets by the node that observed them last, where all nodes on the route report their observations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub lost_behind: BTreeMap<String, u64>,
}

/// Packets that a host has noted since its last report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Samples {
    /// Counts the reports of an agent, so that a missing one is noticed.
    pub number: u64,
    /// Sampling shift n: packets whose number ends in n zero bits were sampled, that is 1 in 2^n.
    pub level: u32,
    /// Some that were chosen may be missing.
    #[serde(default)]
    pub is_incomplete: bool,
    /// By which they were timed.
    pub clock: Clock,
    /// Packets sent to other hosts.
    #[serde(default)]
    pub sent: Vec<SentPackets>,
    /// Packets that arrived: number, and time in ns of the clock.
    #[serde(default)]
    pub arrived: Vec<(u64, u64)>,
}

/// Packets of a contract that were noted where they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SentPackets {
    /// The contract.
    pub serial: u64,
    /// The host that they were sent to.
    pub to: String,
    /// Switches on the route, in order; empty if there are several routes.
    #[serde(default)]
    pub via: Vec<String>,
    /// Delay bound of these packets.
    pub bound_ns: u64,
    /// The number of each packet, and when it was sent, in ns of the clock.
    pub packets: Vec<(u64, u64)>,
}

/// The clock of a host: it counts from the start of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clock {
    /// Boot identity of the kernel: agents that report the same one share a clock.
    pub boot: String,
    /// Offset of the time of day from this clock, in ns.
    pub ahead_ns: u64,
    /// Maximum error of the time of day, as the kernel knows it from the time daemon; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_ns: Option<u64>,
}

/// Packets of a contract that arrived since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Measured {
    /// The contract.
    pub serial: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that took longer than the bound. The controller ignores them if the longest delay is within the bound.
    pub late: u64,
    /// The longest delay since the contract was installed.
    pub worst_ns: u64,
}
