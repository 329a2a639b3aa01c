//! Heartbeats of agents. Rules that a silent agent has confirmed may no longer be in force.

use wayleave_topology::{NodeId, NodeKind};

use super::Enforcement;
use crate::command::{CommandError, Outcome, Reply};
use crate::event::EventKind;
use crate::grant::AdmittedContract;
use crate::journal::DirtyRecord;
use crate::timers::TimerEvent;

/// Problem shown for a node that was taken out of service.
const LEFT: &str = "uninstalled: the agent has removed all its rules";

impl Enforcement {
    /// The agent of a node is there, and has repaired this.
    pub(crate) fn on_heartbeat(&mut self, name: &str, epoch: u64, repairs: &[String]) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        self.check_epoch(node, epoch)?;
        for repair in repairs {
            self.journal.event(EventKind::Repaired, name, None, epoch, repair.clone());
        }
        self.expect_heartbeat(node);
        self.mark_reachable(node);
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal.revision() })
    }

    /// Expects heartbeats of a node from now on, if none are expected yet.
    pub(super) fn expect_heartbeat(&mut self, node: NodeId) {
        let now = self.now().steady;
        let state = self.nodes.entry(node);
        if std::mem::replace(&mut state.is_watched, true) {
            return;
        }
        state.last_heartbeat = now;
        self.timers.at(now + self.timing.silent_after, TimerEvent::Heartbeat(node));
        self.journal.mark(DirtyRecord::Node(node));
    }

    /// Takes a heartbeat of a node's agent: what it has confirmed is in force.
    fn mark_reachable(&mut self, node: NodeId) {
        let now = self.now().steady;
        let state = self.nodes.entry(node);
        state.last_heartbeat = now;
        if !std::mem::take(&mut state.is_silent) {
            return;
        }
        let epoch = state.epoch;
        self.timers.at(now + self.timing.silent_after, TimerEvent::Heartbeat(node));
        self.journal.mark(DirtyRecord::Node(node));
        let name = self.network.node(node).name.clone();
        self.journal.event(EventKind::AgentUp, &name, None, epoch, "agent reports again".to_owned());
        self.refresh_degraded_at(node);
    }

    /// Processes the removal of all rules from a node. No heartbeat of its agent is expected any more.
    pub(crate) fn take_leave(&mut self, name: &str, epoch: u64) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        self.check_epoch(node, epoch)?;
        let state = self.nodes.entry(node);
        state.is_open = false;
        (state.is_watched, state.is_silent) = (true, true);
        self.journal.mark(DirtyRecord::Node(node));
        self.journal.event(EventKind::AgentSilent, name, None, epoch, LEFT.to_owned());
        self.refresh_degraded_at(node);
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal.revision() })
    }

    /// Handles an expired heartbeat timer of a node's agent.
    pub(crate) fn mark_silent(&mut self, node: NodeId) {
        let (now, after) = (self.now().steady, self.timing.silent_after);
        let Some(state) = self.nodes.get_mut(node).filter(|state| state.is_watched && !state.is_silent) else { return };
        if now < state.last_heartbeat + after {
            self.timers.at(state.last_heartbeat + after, TimerEvent::Heartbeat(node));
            return;
        }
        state.is_silent = true;
        let epoch = state.epoch;
        self.journal.mark(DirtyRecord::Node(node));
        let name = self.network.node(node).name.clone();
        self.journal.event(EventKind::AgentSilent, &name, None, epoch, format!("agent silent for {after:#}"));
        self.refresh_degraded_at(node);
    }

    /// After a start: those that were there are expected to be there still.
    pub(super) fn expect_agents(&mut self) {
        if !self.confirms() {
            return;
        }
        let due = self.now().steady + self.timing.silent_after;
        let ids: Vec<NodeId> = self.nodes.ids().collect();
        for node in ids {
            if self.nodes.get(node).is_some_and(|state| state.is_watched) {
                self.timers.at(due, TimerEvent::Heartbeat(node));
            }
        }
    }

    /// Contracts that this node has to carry may be kept again, or no longer.
    pub(super) fn refresh_degraded_at(&mut self, node: NodeId) {
        let is_switch = self.network.node(node).kind == NodeKind::Switch;
        let depends = |grant: &AdmittedContract| {
            if is_switch { self.uses_switch(grant, node) } else { grant.is_confirmed_by(node) }
        };
        for serial in self.contracts.serials(depends) {
            self.refresh_degraded(serial);
            self.announce(serial);
        }
    }
}
