//! Hosts, nodes, links, queues, and their states.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::load::MeasuredLoad;

/// State of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpDown {
    /// The element is up.
    Up,
    /// The element is down.
    Down,
}

/// State of a link or a node, as far as it is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObservedState {
    /// No report names it as down, and a connected agent observes it. A link: the agent of one of its ends reports links in its
    /// present session. A node: its own agent is connected, or the agent at the other end of one of its links reports a carrier.
    Up,
    /// It was reported down; a link also if its cable or one of its ends was.
    Down,
    /// No connected agent observes it, and no report names it as down.
    Unknown,
}

impl ObservedState {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }
}

/// A reported state: an element is down, or up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ElementState {
    /// Reported state.
    pub state: UpDown,
    /// Reason for which it is down, for people; at most 500 characters, none of them a control, bidirectional or invisible character.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// Contracts that a change of a link's or node's state has affected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StateChangeResult {
    /// Contracts that were rerouted.
    pub rerouted: Vec<String>,
    /// Contracts that a failure has withdrawn.
    pub degraded: Vec<String>,
    /// Contracts that a failure had withdrawn, and that have their reservations again.
    pub restored: Vec<String>,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// `host` or `switch`.
    pub kind: String,
    /// Present state.
    pub state: ObservedState,
    /// Reason for which it is down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The links that leave it.
    pub links: Vec<String>,
    /// Agent of the node; absent if none has ever connected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<AgentState>,
}

/// Connection of an agent to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// Its session is open, and its heartbeat is not overdue.
    Open,
    /// Its heartbeat is overdue, or it was uninstalled.
    Silent,
    /// It has opened no session since this controller started, and the time in which it has to is not over.
    NotSinceStart,
    /// Its session ended when its node was reported down.
    Ended,
}

/// The agent of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    /// The number of its last session.
    pub epoch: u64,
    /// Connection of the agent; `null` at a controller that receives no reports.
    #[schema(required)]
    pub connection: Option<Connection>,
    /// `true` if that session is open and heartbeats of the agent arrive; `null` at a controller that receives no reports,
    /// since it does not lead.
    #[schema(required)]
    pub open: Option<bool>,
    /// A switch: it forwards by tags.
    pub set_up: bool,
    /// `true` if its heartbeat is overdue; `null` at a controller that receives no reports.
    #[schema(required)]
    pub silent: Option<bool>,
}

/// An agent, as the controller knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// The name of its node.
    pub node: String,
    /// `host` or `switch`.
    pub kind: String,
    /// Present state of its node.
    pub state: ObservedState,
    /// Session of the agent.
    #[serde(flatten)]
    pub session: AgentState,
    /// Present problems on its node, as it reports them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// A host with its VMs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// The node.
    #[serde(flatten)]
    pub node: Node,
    /// The VMs on it that the token may see.
    pub vms: Vec<String>,
}

/// One direction of a cable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Name of the link, `from->to`.
    pub name: String,
    /// Node at which the link begins.
    pub from: String,
    /// Node at which the link ends.
    pub to: String,
    /// Line rate.
    pub rate_bps: u64,
    /// Propagation delay.
    pub propagation_ns: u64,
    /// MTU.
    pub mtu_bytes: u64,
    /// Present state.
    pub state: ObservedState,
    /// Reason for which it is down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down_reason: Option<String>,
    /// Reserved and available rate, by class of contracts; `null` while the controller has not computed it.
    #[schema(required)]
    pub capacity: Option<Vec<ClassCapacity>>,
    /// Reserved part of the capacity of the fullest class, in millionths, rounded up; `null` while it is unknown.
    #[schema(required)]
    pub used_ppm: Option<u64>,
    /// Number of routes of latency contracts that use it; `null` while it is unknown.
    #[schema(required)]
    pub routes: Option<u64>,
    /// Measured load; `null` if no agent counts the link.
    #[schema(required)]
    pub measured: Option<MeasuredLoad>,
    /// Queues at the link's entry, in order of priority.
    pub queues: Vec<Queue>,
}

/// Rate of a link for one class of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClassCapacity {
    /// The class.
    pub class: QueueClass,
    /// Rate that its contracts hold.
    pub reserved_bps: u64,
    /// Rate that one more contract of the class could get at most; 0 while the link is down. Delays and buffers may allow less.
    pub available_bps: u64,
}

/// Class of the contracts that use a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueClass {
    /// Latency contracts.
    Latency,
    /// Minima of bandwidth contracts.
    Guaranteed,
    /// Objectives.
    Objective,
    /// Best effort: no contract reserves rate in it.
    BestEffort,
    /// The controller has not computed it.
    Unknown,
}

/// A queue in front of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// The link.
    pub link: String,
    /// 0 is served first.
    pub queue: u8,
    /// Class of the contracts that use it.
    pub class: QueueClass,
    /// Longest wait that admission allows for packets of contracts; absent if it allows any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub budget_ns: Option<u64>,
    /// Worst-case delay of a packet under the admitted contracts; absent if nothing is admitted, or no bound is
    /// known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ns: Option<u64>,
    /// Buffer of the queue.
    pub buffer_bytes: u64,
    /// Worst-case backlog under the admitted contracts; absent if nothing is admitted, or no bound is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backlog_bytes: Option<u64>,
}

/// The network as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Topology {
    /// Name.
    pub name: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of switches.
    pub switches: usize,
    /// Number of links; each direction counts.
    pub links: usize,
    /// Elements that were reported down.
    pub down: Vec<Down>,
    /// Nodes that no connected agent observes and no report names as down.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// The document that describes it (`kind: Topology`), which `wayleave plan -t` reads.
    pub document: String,
}

/// An element that was reported down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Down {
    /// `link` or `node`, and its name.
    pub element: String,
    /// `unknown` if agents reported it that no longer report.
    pub state: ObservedState,
    /// Reason.
    pub reason: String,
}
