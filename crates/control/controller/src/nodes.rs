//! Known state of the agents of nodes.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_topology::NodeId;
use wayleave_units::Time;

/// Known state of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// The number of its last session; it grows with every one.
    pub epoch: u64,
    /// `true` if that session is open: it began after this controller was loaded, and the node was not down since.
    pub is_open: bool,
    /// A switch: it forwards by tags.
    pub is_set_up: bool,
    /// The version of the last set-up that a switch was asked for; 0 if it is unknown, in records of earlier versions.
    pub(crate) set_up_version: u64,
    /// `true` if its agent sends heartbeats.
    pub(crate) is_watched: bool,
    /// `true` if its heartbeats have stopped.
    pub is_silent: bool,
    /// Time of the last heartbeat, by the steady clock.
    pub(crate) last_heartbeat: Time,
    /// Versions of the rules of shares in force, as its agent has reported in this session; `None` if it has not.
    pub(crate) in_force: Option<BTreeMap<u64, u64>>,
    /// Contracts that its agent cannot enforce, with the reason; `None` if it has not reported them in this session.
    pub(crate) problems: Option<BTreeMap<u64, String>>,
    /// `true` if its last report listed them.
    pub lists_problems: bool,
    /// `true` if its agent has reported in this session which of its links have no carrier.
    pub(crate) sees_links: bool,
    /// Contracts with an operation that it has not confirmed.
    pub(crate) waiting: BTreeSet<u64>,
    /// Rules that no contract explains, with the version at which they are to be removed.
    pub(crate) unknown_rules: BTreeMap<u64, u64>,
}

impl NodeState {
    /// Forgets the reports of a session.
    pub(crate) fn forget_reports(&mut self) {
        (self.in_force, self.problems, self.sees_links) = (None, None, false);
    }

    /// Returns `true` if its session is open and its agent is not silent.
    pub const fn is_there(&self) -> bool {
        self.is_open && !self.is_silent
    }

    /// Returns `true` if its agent observes the carriers of its links.
    pub const fn observes_links(&self) -> bool {
        self.is_there() && self.sees_links
    }

    /// Returns `true` if its agent has to connect to this controller, has not done so since the controller was loaded, and
    /// is not overdue.
    pub const fn is_awaited(&self) -> bool {
        !self.is_open && !self.is_silent && self.is_watched
    }

    /// Returns `true` if its agent has reported in this session which rules are in force.
    pub const fn has_reported_rules(&self) -> bool {
        self.is_open && self.in_force.is_some()
    }
}

/// All nodes that ever had a session, or have an operation to confirm.
#[derive(Default)]
pub(crate) struct Nodes {
    by_node: BTreeMap<NodeId, NodeState>,
}

impl Nodes {
    pub(crate) fn get(&self, node: NodeId) -> Option<&NodeState> {
        self.by_node.get(&node)
    }

    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut NodeState> {
        self.by_node.get_mut(&node)
    }

    /// Returns the state of a node; an empty one, if it is new.
    pub(crate) fn entry(&mut self, node: NodeId) -> &mut NodeState {
        self.by_node.entry(node).or_default()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> {
        self.by_node.keys().copied()
    }

    /// The operation of a contract has to be confirmed.
    pub(crate) fn expect(&mut self, node: NodeId, serial: u64) {
        self.entry(node).waiting.insert(serial);
    }

    /// It is confirmed, or not needed any more.
    pub(crate) fn expect_no_more(&mut self, node: NodeId, serial: u64) {
        if let Some(state) = self.get_mut(node) {
            state.waiting.remove(&serial);
        }
    }
}
