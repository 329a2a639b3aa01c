//! The messages between the controller and the agents of nodes.
//!
//! An agent begins a session and says what is installed, asks for operations, carries them out and confirms them. An operation names a
//! contract by its serial number, which is never used again, and has a version that only grows. An agent keeps the highest version of
//! each serial number, so operations may be repeated, delayed or reordered. It accepts only operations of the session that it began
//! last: after a restart of either side there is a new one.
//!
//! The controller makes these messages, the server sends them unchanged, agents keep the rules on disk and resolve names when they
//! install them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::check::CheckReport;
use crate::contract::{Hop, Kind, Match};

/// The agent of a node begins a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// The last session of the node that its agent knows of; 0 if it knows of none. If another has begun since, nothing begins, and
    /// the problem says which (`epoch`).
    #[serde(default)]
    pub after: u64,
    /// Serial and version of every rule that is installed; for a switch that is set up, serial 0.
    #[serde(default)]
    pub installed: Vec<(u64, u64)>,
}

/// A session that has begun: only its own confirmations count from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its number.
    pub epoch: u64,
    /// How often the controller was started. If it changes, begin a new session.
    pub generation: u64,
}

/// What a node has still to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// The session that counts.
    pub epoch: u64,
    /// How often the controller was started.
    pub generation: u64,
    /// Until they are confirmed they come again.
    pub operations: Vec<Operation>,
}

/// What a node is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// The contract; 0 for the set-up of a switch.
    pub serial: u64,
    /// The highest counts.
    pub version: u64,
    /// What.
    #[serde(flatten)]
    pub work: Work,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Work {
    /// A switch: forward by tag and serve its queues by strict priority. Once, at its start.
    SetUp,
    /// A host: tag and shape as this rule says, in place of any rule of the contract, between one packet and the next. The bucket keeps
    /// its level.
    Install {
        /// The rule.
        rule: Box<Rule>,
    },
    /// A host: send nothing more of this contract.
    Remove,
}

/// How a host treats the packets of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Whose packets: `tenant:name`.
    pub id: String,
    /// The end that sends.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// Which of the packets between them; all, if none is given.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// Of the token bucket, in wire bytes.
    pub rate_bps: u64,
    /// The same.
    pub burst_bytes: u64,
    /// The largest frame, in wire bytes, if it is smaller than the link's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_frame_bytes: Option<u64>,
    /// The routes of the packets; several, if each is sent over all of them.
    pub routes: Vec<Vec<Hop>>,
    /// No packet takes longer.
    pub bound_ns: u64,
}

/// What the agent of a node has to know of the others, to address packets and to find ways round what is down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Neighbours {
    /// How often the controller was started. Another one may have another topology.
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
    /// Those that are admitted, in the order of their numbers.
    pub contracts: Vec<ShareRule>,
    /// What latency contracts leave of the links that leave the host.
    pub transmit_bps: u64,
    /// What latency contracts leave of the links that enter it.
    pub receive_bps: u64,
    /// Where the agents of the other members listen, by host. Those that are not named are not known.
    pub peers: BTreeMap<String, String>,
    /// With this agents sign what they tell one another.
    pub secret: String,
}

/// A contract of another kind than latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShareRule {
    /// Its number.
    pub serial: u64,
    /// Its version: agents report which one is in force.
    #[serde(default)]
    pub version: u64,
    /// Whose packets: `tenant:name`.
    pub id: String,
    /// What it promises.
    pub kind: Kind,
    /// Its members: the sender and the receiver, or all of a hose, a division or best effort.
    pub members: Vec<Member>,
    /// Of the pair, or of every member to and from all others together; 0 of best effort.
    pub min_bps: u64,
    /// It gets no more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_bps: Option<u64>,
    /// Its share of what is left above all minima.
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

/// Where packets for a VM go.
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
    /// Of its session.
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

/// What a node has measured, and what it sees of its cables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reports {
    /// Of its session.
    pub epoch: u64,
    /// Of each contract that arrives there.
    #[serde(default)]
    pub measured: Vec<Measured>,
    /// All of its links that have no carrier, in whichever direction; they count as down until a report does not name them. Without
    /// it nothing changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_carrier: Option<Vec<String>>,
    /// Serial and version of every rule of a contract of another kind than latency that is in force. Agents of version 0.2.0 do not say it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rules_in_force: Option<Vec<(u64, u64)>>,
    /// Contracts of any kind that it cannot carry out now: all of them. Agents of version 0.2.0 do not say it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract_problems: Option<Vec<ContractProblem>>,
    /// What somebody had changed on the node since the last report, and is again as it was installed; one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<String>,
    /// Everything that was counted of each contract that the node sends. Without it nothing is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traffic: Option<Vec<Traffic>>,
    /// Everything that a host has counted of all packets, with a contract or without, by what became of them. Without it nothing is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packets: Option<BTreeMap<String, u64>>,
    /// Packets that were noted where they were sent or where they arrived. Without it nothing is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub samples: Option<Samples>,
    /// What is wrong on the node now, one sentence each: all of it. Without it nothing changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub troubles: Option<Vec<String>>,
    /// The node is taken out of service: all that was installed there has been removed, and nobody speaks for it until it begins another session.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub leaves: bool,
    /// Where it hears what agents of other hosts tell about the shares of contracts: an address of IP and a port of UDP. Without it nothing changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hears_at: Option<String>,
    /// What is known here of the checks that are on. Without it nothing is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checks: Option<Vec<CheckReport>>,
    /// It comes every second: if it does not come any more, the agent is silent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub beat: bool,
}

/// What a host has counted of a contract that it sends, since the contract was installed there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Traffic {
    /// The contract.
    pub serial: u64,
    /// Packets that were sent; of copies one.
    pub packets: u64,
    /// Wire bytes of them.
    pub bytes: u64,
    /// Those of the packets that had to wait for tokens.
    pub delayed: u64,
    /// Packets that wait now.
    pub waiting: u64,
    /// Packets that were dropped because there were no tokens, or because too many waited.
    pub queue_full: u64,
    /// Packets that were dropped because they were larger than the contract or its links allow.
    pub oversized: u64,
    /// All that packets waited, together.
    pub waited_ns: u64,
    /// Packets that waited at most 125 us, 250 us, and so on, each longer than the one before; the last has no end.
    pub waits: Vec<u64>,
    /// What became of those that were followed to their receiver's host. The controller finds it out from what both hosts tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub followed: Option<SampledPackets>,
}

impl Traffic {
    /// Adds what was counted of another rule, but for its number and what was followed.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.delayed += other.delayed;
        self.waiting += other.waiting;
        self.queue_full += other.queue_full;
        self.oversized += other.oversized;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.waits.resize(self.waits.len().max(other.waits.len()), 0);
        self.waits.iter_mut().zip(&other.waits).for_each(|(to, from)| *to += from);
    }
}

/// What became of packets that were followed from their sender's host to their receiver's: a sample of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SampledPackets {
    /// Packets of which it is known whether they arrived.
    pub packets: u64,
    /// Those that did not.
    pub lost: u64,
    /// Those that arrived and whose delay is known: both hosts have one clock, or clocks whose error they state.
    pub timed: u64,
    /// Those of them that took longer than the bound and the errors of both clocks together.
    pub late: u64,
    /// The longest delay, as the clocks showed it.
    pub worst_ns: u64,
    /// By so much the delays may be wrong at most.
    pub clock_error_ns: u64,
    /// Of those that were lost: the node at which they were seen last, where all nodes on their way tell what they have seen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub lost_behind: BTreeMap<String, u64>,
}

/// Packets that a host has noted since its last report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Samples {
    /// Counts the reports of an agent, so that a missing one is noticed.
    pub number: u64,
    /// Packets were chosen whose numbers have so many zeros at their end.
    pub level: u32,
    /// Some that were chosen may be missing.
    #[serde(default)]
    pub is_incomplete: bool,
    /// By which they were timed.
    pub clock: Clock,
    /// What was sent to other hosts.
    #[serde(default)]
    pub sent: Vec<SentPackets>,
    /// What arrived: the number of each packet, and when, in ns of the clock.
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
    /// The switches on their way there, in order; empty if they take several ways.
    #[serde(default)]
    pub via: Vec<String>,
    /// They may take so long.
    pub bound_ns: u64,
    /// The number of each packet, and when it was sent, in ns of the clock.
    pub packets: Vec<(u64, u64)>,
}

/// The clock of a host: it counts from the start of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clock {
    /// The kernel, and its start: agents that say the same have one clock.
    pub boot: String,
    /// How much the time of day was ahead of it, in ns.
    pub ahead_ns: u64,
    /// By how much the time of day may be wrong at most, as the kernel is told by what keeps it right; `None` where nothing does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_ns: Option<u64>,
}

/// What arrived of a contract since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Measured {
    /// The contract.
    pub serial: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that took longer than the bound.
    pub late: u64,
    /// The longest delay.
    pub worst_ns: u64,
}
