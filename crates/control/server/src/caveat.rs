//! Reasons for which a contract that is enforced by the controller's record is shown as admitted. Only readers know them:
//! they are neither recorded nor a revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wayleave_controller::{AdmittedContract, Id, NodeState, State};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Human, Rate};

use crate::render::agents_of;

/// Code of the reason for a contract of which counters show more than its rule lets through.
pub(crate) const RATE_EXCEEDED: &str = "RATE_EXCEEDED";

/// Code of the reason for a contract at a controller to which agents do not report.
pub(crate) const FOLLOWER: &str = "FOLLOWER";

/// Counters that show more than the rule of a contract lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) host: NodeId,
    /// Time in which they were compared.
    pub(crate) covered: Duration,
    /// Mean rate of the counters in that time.
    pub(crate) mean_bps: u64,
    /// The highest mean rate that the rule lets through, with the errors of the readings.
    pub(crate) max_bps: u64,
}

impl Excess {
    /// Returns a clause with both rates.
    pub(crate) fn text(&self, network: &Network) -> String {
        format!(
            "the counters of {} showed {} on average over {} s, and its rule lets through at most {}",
            network.node(self.host).name,
            Rate::from_bits_per_second(self.mean_bps).down(),
            self.covered.as_millis() as f64 / 1_000.0,
            Rate::from_bits_per_second(self.max_bps).up()
        )
    }
}

/// Reason for which a contract is not known to be enforced, or the confirmation of its rule may be outdated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caveat {
    /// Agents report to another controller.
    Follower,
    /// Agents of these nodes have opened no session since this controller started.
    NotSinceStart(Vec<NodeId>),
    /// Agents of these members have not reported their rules in their present sessions.
    Unreported(Vec<NodeId>),
    /// The counters of a host show more than its rule lets through.
    Excess(Excess),
}

impl Caveat {
    /// Returns a stable code and a message; `None` for the reason of any contract that agents have to confirm.
    pub(crate) fn reason(&self, network: &Network) -> Option<(&'static str, String)> {
        match self {
            Self::Follower => Some((
                FOLLOWER,
                "admitted; recorded as enforced, but agents report to the leader: its present state is unknown here"
                    .to_owned(),
            )),
            Self::Unreported(_) => None,
            Self::NotSinceStart(nodes) => Some((
                "NOT_CONFIRMED",
                format!(
                    "admitted, not enforced yet: {} not confirmed it since this controller started",
                    agents_of(network, nodes)
                ),
            )),
            Self::Excess(excess) => Some((
                RATE_EXCEEDED,
                format!(
                    "admitted, not enforced: {}: the rule is not in force, or the counters are wrong; restart its agent",
                    excess.text(network)
                ),
            )),
        }
    }
}

/// Contracts of which counters show more than their rules let through, by serial number.
pub(crate) type ExcessContracts = BTreeMap<u64, (Arc<Id>, Excess)>;

/// Evidence about all contracts.
#[derive(Debug, Default)]
pub(crate) struct Caveats {
    /// Agents report to another controller: records alone are known.
    is_follower: bool,
    /// Nodes that had a session before this controller started and none since, with their contracts by serial number.
    not_since_start: BTreeMap<NodeId, BTreeMap<u64, Arc<Id>>>,
    /// Nodes with an open session that has not reported its rules.
    unreported: BTreeSet<NodeId>,
    excess: ExcessContracts,
}

impl Caveats {
    /// Returns the caveat about a contract as it is recorded, with the switches whose queues it uses.
    pub(crate) fn of(&self, grant: &AdmittedContract, switches: &[NodeId]) -> Option<Caveat> {
        let is_certain = self.not_since_start.is_empty() && self.unreported.is_empty() && self.excess.is_empty();
        let has_confirmation = grant.state == State::Enforced || grant.versions().1.is_some();
        if self.is_follower {
            let is_unmet = matches!(grant.state, State::Degraded | State::Violated);
            return (has_confirmation || is_unmet).then_some(Caveat::Follower);
        }
        if is_certain || !has_confirmation {
            return None;
        }
        let hosts = grant.hosts_to_confirm();
        let nodes = hosts.iter().chain(switches).filter(|node| self.not_since_start.contains_key(node));
        let nodes: Vec<NodeId> = nodes.copied().collect();
        if !nodes.is_empty() {
            return Some(Caveat::NotSinceStart(nodes));
        }
        // The sender of a latency contract names its rules when it opens a session.
        let is_unreported = |host: &&NodeId| grant.terms().is_none() && self.unreported.contains(host);
        let members: Vec<NodeId> = hosts.iter().filter(is_unreported).copied().collect();
        if !members.is_empty() {
            return Some(Caveat::Unreported(members));
        }
        let excess = self.excess.get(&grant.serial).filter(|_| grant.state == State::Enforced);
        excess.map(|(_, excess)| Caveat::Excess(excess.clone()))
    }

    /// Takes a caveat of a contract that readers see from now on.
    pub(crate) fn note(&mut self, grant: &AdmittedContract, caveat: &Caveat) {
        if let Caveat::NotSinceStart(nodes) = caveat {
            for node in nodes {
                self.not_since_start.entry(*node).or_default().insert(grant.serial, grant.id.clone());
            }
        }
    }

    /// Takes the first state of a node after this controller started.
    pub(crate) fn on_start(&mut self, node: NodeId, state: &NodeState) {
        if state.epoch > 0 && !state.is_open && !state.is_silent {
            self.not_since_start.entry(node).or_default();
        }
    }

    /// Takes the state of a node. Returns the contracts that may have had a caveat, and `true` if those whose rules it
    /// reports may be.
    pub(crate) fn on_node(&mut self, node: NodeId, state: &NodeState) -> (Vec<Arc<Id>>, bool) {
        let is_known = state.is_open || state.is_silent;
        let contracts = if is_known { self.not_since_start.remove(&node) } else { None };
        let is_unreported = state.is_open && !state.has_reported_rules();
        let has_changed = if is_unreported { self.unreported.insert(node) } else { self.unreported.remove(&node) };
        (contracts.unwrap_or_default().into_values().collect(), has_changed)
    }

    /// Returns `true` if agents report to another controller.
    pub(crate) fn is_follower(&self) -> bool {
        self.is_follower
    }

    /// Sets whether agents report to another controller. Returns `true` if that has changed.
    pub(crate) fn set_follower(&mut self, is_follower: bool) -> bool {
        std::mem::replace(&mut self.is_follower, is_follower) != is_follower
    }

    /// Returns the contracts of which counters show more than their rules let through.
    pub(crate) fn excess(&self) -> &ExcessContracts {
        &self.excess
    }

    /// Replaces them. Returns the contracts that have changed.
    pub(crate) fn set_excess(&mut self, excess: ExcessContracts) -> Vec<Arc<Id>> {
        let before = std::mem::replace(&mut self.excess, excess);
        let changed = |one: &ExcessContracts, other: &ExcessContracts| -> Vec<Arc<Id>> {
            let differs = one.iter().filter(|(serial, known)| other.get(serial) != Some(known));
            differs.map(|(_, (id, _))| id.clone()).collect()
        };
        let gone = changed(&before, &self.excess);
        gone.into_iter().chain(changed(&self.excess, &before)).collect()
    }
}
