//! Rules of contracts of other kinds than latency. The agents of all member hosts enforce them, and report every
//! second which rules are in force.
//!
//! A rule has a version. Agents fetch the rules of their host as a whole, so nothing is sent to each. They report
//! serial and version of every rule in force, and the contracts that they cannot enforce, with the reason.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::Contract;
use wayleave_protocol::agent::{ContractProblem, KEYS_SINCE_0_2};
use wayleave_topology::{LinkId, NodeId, NodeKind};

use super::Enforcement;
use crate::command::{CommandError, Outcome, Reply};
use crate::grant::{AdmittedContract, DegradedReason, Sender};
use crate::journal::DirtyRecord;
use crate::setup::EnforcedBy;
use crate::timers::TimerEvent;

/// Returns the keys of a contract that agents enforce since version 0.2.0 only ([`KEYS_SINCE_0_2`]).
fn newer_keys(contract: &Contract) -> &'static [&'static str] {
    match contract {
        Contract::BestEffort(terms) if terms.max.is_some() => &KEYS_SINCE_0_2,
        _ => &[],
    }
}

impl Enforcement {
    /// A contract has other terms, another place, or none: what its hosts have confirmed is outdated.
    pub(crate) fn renew_rule(&mut self, serial: u64) {
        let Some(grant) = self.contracts.get_mut(serial) else { return };
        let hosts = grant.hosts_to_confirm();
        if let Some(state) = grant.share_state_mut() {
            state.version += 1;
            state.unconfirmed = hosts;
        }
    }

    /// Waits for the hosts of a contract whose rule agents fetch, if some have not confirmed it.
    pub(crate) fn wait_for_hosts(&mut self, serial: u64) {
        let Some(state) = self.contracts.get(serial).and_then(AdmittedContract::share_state) else { return };
        if self.confirms() && !state.unconfirmed.is_empty() {
            let due = self.now().steady + self.timing.confirm_within;
            self.timers.at(due, TimerEvent::Confirmed(serial, state.version));
        }
    }

    /// Processes a report of a node's agent: rules of shares in force, and contracts that it cannot enforce. `None`:
    /// not reported.
    pub(crate) fn report_rules(
        &mut self,
        name: &str,
        epoch: u64,
        in_force: Option<Vec<(u64, u64)>>,
        enforces: &[String],
        problems: Option<Vec<ContractProblem>>,
    ) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        self.check_epoch(node, epoch)?;
        let lists_problems = problems.is_some();
        let mut in_force: Option<BTreeMap<u64, u64>> = in_force.map(|all| all.into_iter().collect());
        let mut problems: Option<BTreeMap<u64, String>> =
            problems.map(|all| all.into_iter().map(|one| (one.serial, one.why)).collect());
        if let Some(in_force) = &mut in_force {
            let missing = |serial: u64| {
                let keys = newer_keys(&self.contracts.get(serial)?.order.contract);
                keys.iter().find(|key| !enforces.iter().any(|known| known == *key)).copied()
            };
            let partial: Vec<(u64, &str)> =
                in_force.keys().filter_map(|&serial| Some((serial, missing(serial)?))).collect();
            for (serial, key) in partial {
                in_force.remove(&serial);
                let why = format!("this version of the agent does not enforce {key}: upgrade the agent");
                problems.get_or_insert_default().insert(serial, why);
            }
        }
        let state = self.nodes.entry(node);
        let had_rules = state.in_force.is_some();
        let had_list = std::mem::replace(&mut state.lists_problems, lists_problems);
        // Readers of the node learn from its record that its rules and problems are known, or no longer.
        if had_rules != in_force.is_some() || had_list != lists_problems {
            self.journal.mark(DirtyRecord::Node(node));
        }
        if had_rules && in_force.is_none() {
            self.expect_report(node, epoch);
        }
        let state = self.nodes.entry(node);
        if state.in_force != in_force || state.problems != problems {
            let before = std::mem::replace(&mut state.in_force, in_force);
            let had_problems = std::mem::replace(&mut state.problems, problems);
            let serials = match (&before, &had_problems) {
                (Some(before), Some(had)) => self.changed_reports(node, before, had),
                // The first report of a session is compared with the recorded state.
                _ => self.contracts.serials(|grant| grant.is_confirmed_by(node)),
            };
            serials.into_iter().for_each(|serial| self.compare_report(serial, node));
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal.revision() })
    }

    /// Returns the contracts in which a report differs from the previous one.
    fn changed_reports(&self, node: NodeId, before: &BTreeMap<u64, u64>, had: &BTreeMap<u64, String>) -> Vec<u64> {
        let Some(state) = self.nodes.get(node) else { return Vec::new() };
        let (now, has) = (state.in_force.clone().unwrap_or_default(), state.problems.clone().unwrap_or_default());
        let rules = before.keys().chain(now.keys()).filter(|&serial| before.get(serial) != now.get(serial));
        let problems = had.keys().chain(has.keys()).filter(|&serial| had.get(serial) != has.get(serial));
        let serials: BTreeSet<u64> = rules.chain(problems).copied().collect();
        serials.into_iter().collect()
    }

    /// Takes over what a host has reported of a contract.
    fn compare_report(&mut self, serial: u64, node: NodeId) {
        let Some(grant) = self.contracts.get(serial).filter(|grant| grant.is_confirmed_by(node)) else { return };
        let in_force = self.nodes.get(node).and_then(|state| state.in_force.as_ref());
        // A host that has not reported its rules keeps its confirmations until the report is late.
        if let Some((state, in_force)) = grant.share_state().zip(in_force) {
            let is_in_force = in_force.get(&serial) == Some(&state.version);
            if is_in_force == state.unconfirmed.contains(&node) {
                let was_complete = state.unconfirmed.is_empty();
                if let Some(state) = self.contracts.share_mut(serial) {
                    let _ = if is_in_force { state.unconfirmed.remove(&node) } else { state.unconfirmed.insert(node) };
                }
                if was_complete {
                    self.wait_for_hosts(serial);
                }
                self.journal.mark(DirtyRecord::Contract(serial));
            }
        }
        self.refresh_degraded(serial);
        self.announce(serial);
    }

    /// Forgets what an agent had confirmed before it fell silent: in a new session it has to report its rules again.
    pub(super) fn forget_confirmations(&mut self, node: NodeId) {
        for serial in self.contracts.serials_of_shares(|grant| grant.is_confirmed_by(node)) {
            if let Some(state) = self.contracts.share_mut(serial) {
                state.unconfirmed.insert(node);
                self.journal.mark(DirtyRecord::Contract(serial));
            }
            self.wait_for_hosts(serial);
        }
    }

    /// Waits for the rules of a node: an agent that does not report them confirms nothing for longer than a silent one.
    pub(super) fn expect_report(&mut self, node: NodeId, epoch: u64) {
        let due = self.now().steady + self.timing.silent_after.min(self.timing.confirm_within);
        self.timers.at(due, TimerEvent::Reported(node, epoch));
    }

    /// Handles a late report: the agent of a node has an open session and has not reported its rules. None of them
    /// counts as in force.
    pub(crate) fn not_reported(&mut self, node: NodeId, epoch: u64) {
        let is_due =
            |state: &&crate::nodes::NodeState| state.epoch == epoch && state.is_open && state.in_force.is_none();
        if self.nodes.get(node).filter(is_due).is_none() {
            return;
        }
        for serial in self.contracts.serials_of_shares(|grant| grant.is_confirmed_by(node)) {
            let Some(grant) = self.contracts.get_mut(serial) else { continue };
            let is_announced = grant.is_announced_to_hosts();
            // A confirmation that is outstanding has a timer of its own.
            if !grant.share_state_mut().is_some_and(|state| state.unconfirmed.insert(node)) {
                continue;
            }
            if is_announced && grant.degraded_reason.is_none() {
                grant.degraded_reason = Some(DegradedReason::Unconfirmed);
            }
            self.journal.mark(DirtyRecord::Contract(serial));
            self.announce(serial);
        }
    }

    /// Updates the reason that keeps a contract from being enforced, by the known state of its hosts' agents.
    pub(crate) fn refresh_degraded(&mut self, serial: u64) {
        let Some(grant) = self.contracts.get(serial).filter(|grant| !grant.is_ended && !grant.is_failed()) else {
            return;
        };
        let degraded_reason = self.agent_problem(grant);
        if degraded_reason == grant.degraded_reason {
            return;
        }
        if let Some(grant) = self.contracts.get_mut(serial) {
            grant.degraded_reason = degraded_reason;
        }
        self.journal.mark(DirtyRecord::Contract(serial));
    }

    fn agent_problem(&self, grant: &AdmittedContract) -> Option<DegradedReason> {
        let hosts = grant.hosts_to_confirm();
        let states = || hosts.iter().filter_map(|&host| Some((host, self.nodes.get(host)?)));
        let silent = states().filter(|(_, state)| state.is_silent).map(|(host, _)| host);
        let is_silent = |&switch: &NodeId| self.nodes.get(switch).is_some_and(|state| state.is_silent);
        let switches = self.switches_of(grant).into_iter().filter(is_silent);
        let silent: Vec<NodeId> = silent.chain(switches).collect();
        if !silent.is_empty() {
            return Some(DegradedReason::Silent { nodes: silent });
        }
        let problem = states().find_map(|(host, state)| Some((host, state.problems.as_ref()?.get(&grant.serial)?)));
        if let Some((host, why)) = problem {
            return Some(DegradedReason::NotCarriedOut { host, why: why.clone() });
        }
        // A recorded problem lasts until its host reports in the present session.
        if let Some(recorded @ DegradedReason::NotCarriedOut { host, .. }) = &grant.degraded_reason
            && hosts.contains(host)
            && self.nodes.get(*host).is_none_or(|state| state.problems.is_none() && state.in_force.is_none())
        {
            return Some(recorded.clone());
        }
        let is_late = match grant.share_state() {
            Some(state) => grant.degraded_reason == Some(DegradedReason::Unconfirmed) && !state.unconfirmed.is_empty(),
            None => grant.announced_sender().filter(|sender| sender.is_waited_for()).is_some_and(|sender| {
                let now = self.now().steady;
                sender.asked.is_some_and(|asked| now >= asked + self.timing.confirm_within)
            }),
        };
        let lacks_queues = || self.switches_of(grant).into_iter().any(|switch| !self.is_set_up(switch));
        (is_late || (grant.is_sent_to_hosts() && lacks_queues())).then_some(DegradedReason::Unconfirmed)
    }

    /// Returns `true` if a switch has confirmed its queues in its present session, or if that is unknown since this controller
    /// started.
    fn is_set_up(&self, switch: NodeId) -> bool {
        self.nodes.get(switch).is_some_and(|state| state.is_set_up)
    }

    /// Returns the switches whose queues a contract uses, if switches have agents.
    pub(crate) fn switches_of(&self, grant: &AdmittedContract) -> BTreeSet<NodeId> {
        if self.enforced_by != EnforcedBy::HostsAndSwitches {
            return BTreeSet::new();
        }
        let senders = self.links_of(grant).map(|link| self.network.link(link).from);
        senders.filter(|&node| self.network.node(node).kind == NodeKind::Switch).collect()
    }

    /// Returns `true` if a contract uses queues of this switch, and switches have agents.
    pub(super) fn uses_switch(&self, grant: &AdmittedContract, switch: NodeId) -> bool {
        self.enforced_by == EnforcedBy::HostsAndSwitches
            && self.links_of(grant).any(|link| self.network.link(link).from == switch)
    }

    /// Returns the links on which a contract has something; some of them several times.
    fn links_of(&self, grant: &AdmittedContract) -> impl Iterator<Item = LinkId> {
        let ledger = self.book.ledger();
        let share = grant.share().and_then(|share| ledger.share(share));
        let of_share = share.map(|share| ledger.links_of_share(share)).unwrap_or_default();
        let of_routes = self.routes_of(grant).flat_map(|(_, route)| route.hops.iter().map(|hop| hop.link));
        of_share.into_iter().chain(of_routes)
    }

    /// Returns `true` if a host has still to confirm this version.
    pub(super) fn is_late(grant: &AdmittedContract, version: u64) -> bool {
        if let Some(state) = grant.share_state() {
            return grant.is_announced_to_hosts() && state.version == version && !state.unconfirmed.is_empty();
        }
        let is_due = |sender: &Sender| {
            sender.is_waited_for() && sender.announced.is_some_and(|announced| announced.version == version)
        };
        grant.announced_sender().is_some_and(is_due)
    }
}
