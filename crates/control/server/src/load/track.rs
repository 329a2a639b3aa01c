//! Observation of one contract.

use std::sync::Arc;

use wayleave_controller::{DegradedReason, Id, State};
use wayleave_protocol::contract::Kind;
use wayleave_protocol::load::UnknownReason;
use wayleave_store::{MinuteChange, Observed};
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use super::node_track::{Phase, Worst};
use crate::rendered::ContractObject;

/// Nanoseconds of a minute.
pub(crate) const MINUTE_NS: u64 = 60_000_000_000;

/// Observation of a contract, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Observation {
    Kept,
    Unknown(UnknownReason),
    Broken,
}

impl Observation {
    pub(super) const fn recorded(self) -> Observed {
        match self {
            Self::Kept => Observed::Kept,
            // Its number is on disk.
            Self::Unknown(reason) => Observed::Unknown(reason as u8),
            Self::Broken => Observed::Broken,
        }
    }
}

impl Worst<Observation> {
    /// Takes a value at a time. A change for the worse shortly after the minute may belong to it.
    pub(super) fn take(&mut self, phase: Phase, put: impl FnOnce(&mut Self, bool), value: Observation) {
        put(self, phase != Phase::Observed);
        if phase == Phase::Early && value > Observation::Kept {
            self.worst = self.worst.max(value.min(Observation::Unknown(UnknownReason::MaybeBroken)));
        }
    }
}

/// A contract that exists, or ended after the last decided minute.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) id: Arc<Id>,
    /// `true` for a contract whose rules agents confirm by their reports: of another kind than latency.
    pub(super) is_reported: bool,
    pub(super) state: State,
    /// Code of the reason that it is degraded.
    pub(super) reason: Option<&'static str>,
    /// `true` from a state in which it is not kept until it is enforced again.
    pub(super) is_unmet: bool,
    /// The minute in which it began.
    pub(super) first: u64,
    /// Its first whole minute; the minute in which it began if it was broken in that one.
    pub(super) begun: u64,
    /// The minute in which it ended; the one after that if it was broken in the minute in which it ended.
    pub(super) ended: Option<u64>,
    /// Nodes that enforce it in the minute; `true` for those of its ends.
    pub(super) nodes: Box<[(NodeId, bool)]>,
    /// Nodes that enforce it now, if they have changed.
    pub(super) nodes_now: Option<Box<[(NodeId, bool)]>>,
    pub(super) observed: Worst<Observation>,
    /// The last minute of which lost or late packets were noted.
    pub(super) missed: u64,
    /// The interval that is open on disk.
    pub(super) open: Option<Observed>,
    pub(super) is_recorded: bool,
}

pub(super) fn minute(now: WallTime) -> u64 {
    now.as_nanos() / MINUTE_NS
}

pub(super) fn is_unmet(state: State) -> bool {
    matches!(state, State::Degraded | State::Violated)
}

pub(super) fn reason_code(contract: &ContractObject) -> Option<&'static str> {
    contract.grant().degraded_reason.as_ref().map(DegradedReason::code)
}

pub(super) fn observe(contract: &ContractObject) -> Observation {
    let unknown = match (contract.state(), contract.grant().degraded_reason.as_ref()) {
        (State::Degraded, Some(DegradedReason::Silent { .. })) => UnknownReason::AgentSilent,
        (State::Degraded, None | Some(DegradedReason::Unconfirmed)) => UnknownReason::NotConfirmed,
        (State::Violated, _) | (State::Degraded, Some(_)) => return Observation::Broken,
        (State::Enforced, _) if contract.is_effective() => return Observation::Kept,
        (State::Enforced | State::Admitted, _) if contract.has_agents() => UnknownReason::NotConfirmed,
        _ => UnknownReason::NotInForce,
    };
    Observation::Unknown(unknown)
}

/// Returns the nodes that enforce a contract; `true` for those of its ends.
pub(super) fn nodes_of(contract: &ContractObject) -> Box<[(NodeId, bool)]> {
    let hosts = contract.grant().order.contract.hosts().into_iter().map(|host| (host, true));
    hosts.chain(contract.switches().iter().map(|&switch| (switch, false))).collect()
}

impl Track {
    pub(super) fn new(id: Arc<Id>, contract: &ContractObject) -> Self {
        let grant = contract.grant();
        let begun = grant.order.starts.map_or(grant.created, |starts| starts.max(grant.created));
        Self {
            id,
            is_reported: contract.kind() != Kind::Latency,
            state: contract.state(),
            reason: reason_code(contract),
            is_unmet: is_unmet(contract.state()),
            first: minute(begun),
            begun: begun.as_nanos().div_ceil(MINUTE_NS),
            ended: None,
            nodes: nodes_of(contract),
            nodes_now: None,
            observed: Worst::new(observe(contract)),
            missed: 0,
            open: None,
            is_recorded: false,
        }
    }

    /// Takes the nodes that enforce it. In a minute in which they change, all of them have to report.
    pub(super) fn set_nodes(&mut self, nodes: Box<[(NodeId, bool)]>, is_next: bool) {
        let before = self.nodes_now.as_ref().unwrap_or(&self.nodes);
        if *before == nodes {
            return;
        }
        if !is_next {
            self.nodes = self.nodes.iter().chain(&nodes).copied().collect();
        }
        self.nodes_now = Some(nodes);
    }

    /// Decides a minute; `None` if the contract did not exist throughout. Begins the next one. `unobserved` takes a node, `true`
    /// if it is one of the ends, and `true` if its rules had to be reported; it returns the reason for which the minute is unknown.
    pub(super) fn decide(
        &mut self,
        minute: u64,
        unobserved: impl Fn(&NodeId, [bool; 2]) -> Option<UnknownReason>,
    ) -> Option<Observation> {
        let worst = self.observed.close();
        let nodes = self.nodes.iter();
        let unobserved =
            nodes.filter_map(|(node, is_end)| unobserved(node, [*is_end, *is_end && self.is_reported])).max();
        if let Some(nodes) = self.nodes_now.take() {
            self.nodes = nodes;
        }
        match worst {
            _ if self.first > minute || self.ended.is_some_and(|ended| ended < minute) => None,
            // Also in a minute of which only a part was observed.
            Observation::Broken => {
                self.begun = self.begun.min(minute);
                self.ended = self.ended.map(|ended| ended.max(minute + 1));
                Some(worst)
            }
            _ if self.begun > minute || self.ended == Some(minute) => None,
            worst => Some(unobserved.map_or(worst, |reason| worst.max(Observation::Unknown(reason)))),
        }
    }

    /// Returns `true` after a decision if no later minute of it can be broken.
    pub(super) fn is_over(&self, decided: u64) -> bool {
        self.ended.is_some_and(|ended| ended <= decided + 1 && self.observed.worst < Observation::Broken)
    }

    /// Returns the changes on disk after a minute was decided. If the next minute is not observed, no interval stays open.
    pub(super) fn changes(
        &mut self,
        serial: u64,
        minute: u64,
        observed: Option<Observed>,
        is_continued: bool,
    ) -> Vec<MinuteChange> {
        let (mut changes, is_over) = (Vec::new(), self.is_over(minute));
        // It is decided later if the minute in which it began counts.
        if self.first > minute {
            return changes;
        }
        // A contract without a minute is in no statement.
        if is_over && !self.is_recorded && self.ended.is_some_and(|ended| self.begun >= ended) {
            return changes;
        }
        if !self.is_recorded {
            self.is_recorded = true;
            let (tenant, name) = (self.id.tenant.clone(), self.id.name.clone());
            changes.push(MinuteChange::Contract { serial, tenant, name, begun: self.begun });
        }
        if observed != self.open {
            if self.open.is_some() {
                let minute = self.ended.map_or(minute, |ended| ended.min(minute));
                changes.push(MinuteChange::Close { serial, minute });
            }
            changes.extend(observed.map(|observed| MinuteChange::Begin { serial, minute, observed }));
            self.open = observed;
        }
        if (is_over || !is_continued) && self.open.take().is_some() {
            changes.push(MinuteChange::Close { serial, minute: minute + 1 });
        }
        changes.extend(self.ended.filter(|_| is_over).map(|ended| MinuteChange::End { serial, ended }));
        changes
    }
}
