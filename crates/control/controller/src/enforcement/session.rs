//! The agents of nodes: their sessions, pending operations and reports.

use std::collections::BTreeMap;

use wayleave_protocol::agent::{Measured, Operation, Rule, Work};
use wayleave_protocol::contract::{Hop, Match};
use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::{Bytes, Time};

use super::Enforcement;
use super::foreign::MAX_FOREIGN;
use crate::command::{CommandError, Outcome, Reply};
use crate::event::EventKind;
use crate::grant::{AdmittedContract, LateDelivery, Sender};
use crate::journal::DirtyRecord;
use crate::nodes::NodeState;
use crate::timers::TimerEvent;

/// Serial number of the operation with which a switch sets itself up.
const SET_UP: u64 = 0;

impl Enforcement {
    /// Begins a session of a node, which names its installed rules. Only a report proves that its agent works: a session
    /// starts the time until it counts as silent, and neither prolongs nor ends it.
    pub(crate) fn begin(&mut self, name: &str, after: u64, installed: &[(u64, u64)]) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        let state = self.nodes.entry(node);
        // Late, or sent twice: what was installed then need not be what is installed now.
        if after < state.epoch || after > state.epoch.max(MAX_FOREIGN) {
            return Err(CommandError::StaleEpoch { current: Some(state.epoch) });
        }
        let installed: BTreeMap<u64, u64> = installed.iter().copied().collect();
        let set_up = installed.get(&SET_UP).copied();
        // The version of a set-up is the number of its session. An agent ignores earlier versions than its own, so this
        // session has a later one.
        let was_asked = |version: u64| match state.set_up_version {
            0 => (1..=state.epoch).contains(&version),
            asked => version == asked,
        };
        let is_set_up = set_up.is_some_and(was_asked);
        // A later session than the last one was lost with the records of this ledger.
        state.epoch = after.max(set_up.map_or(0, |version| version.min(MAX_FOREIGN))) + 1;
        state.is_open = true;
        if !is_set_up && self.network.node(node).kind == NodeKind::Switch {
            state.set_up_version = state.epoch;
        }
        if state.is_silent {
            self.forget_confirmations(node);
        }
        let state = self.nodes.entry(node);
        state.unknown_rules.clear();
        state.forget_reports();
        let epoch = state.epoch;
        self.journal.mark(DirtyRecord::Node(node));
        self.expect_report(node, epoch);
        self.journal.event(EventKind::AgentUp, name, None, epoch, format!("session {epoch}"));
        if self.network.node(node).kind == NodeKind::Switch {
            self.set_up(node, is_set_up);
        } else {
            self.compare_installed(node, &installed);
        }
        self.expect_heartbeat(node);
        if self.network.node(node).kind == NodeKind::Switch {
            self.refresh_degraded_at(node);
        }
        Ok(Reply::Begun { epoch })
    }

    /// Takes the installed rules of latency contracts with which a host's agent begins a session. Serial numbers of contracts
    /// that this ledger has lost are not given to others.
    fn compare_installed(&mut self, node: NodeId, installed: &BTreeMap<u64, u64>) {
        installed.keys().for_each(|&serial| self.journal.skip_serials(serial));
        let here = self.contracts.serials(|grant| grant.sender() == Some(node));
        for (&serial, &version) in installed.iter().filter(|(serial, _)| here.binary_search(serial).is_err()) {
            if let Some(state) = self.nodes.get_mut(node) {
                state.unknown_rules.insert(serial, version.saturating_add(1));
            }
        }
        for serial in here {
            match installed.get(&serial) {
                Some(&version) => {
                    if self.adopt(serial, version) {
                        self.has_done(serial, version);
                    }
                    self.advance(serial);
                }
                // Without a rule nothing is sent: a rule that was to stop has stopped, and a rule that was to run is
                // sent to the agent once more.
                None => self.is_silent(serial),
            }
            self.offer(serial);
        }
    }

    /// Returns the pending operations of a node, in the order of versions.
    pub(crate) fn outbox(&self, name: &str) -> Vec<Operation> {
        let Some(node) = self.network.find_node(name) else { return Vec::new() };
        let Some(state) = self.nodes.get(node) else { return Vec::new() };
        if self.network.node(node).kind == NodeKind::Switch {
            let set_up = Operation { serial: SET_UP, version: state.set_up_version, work: Work::SetUp };
            return Some(set_up).filter(|_| !state.is_set_up).into_iter().collect();
        }
        let unknown_rules = state.unknown_rules.iter();
        let unknown_rules = unknown_rules.map(|(&serial, &version)| Operation { serial, version, work: Work::Remove });
        unknown_rules.chain(state.waiting.iter().filter_map(|&serial| self.operation(serial))).collect()
    }

    fn operation(&self, serial: u64) -> Option<Operation> {
        let grant = self.contracts.get(serial)?;
        let announced = grant.announced_sender().filter(|sender| sender.is_waited_for())?.announced?;
        let work = if announced.runs {
            Work::Install { rule: Box::new(self.rule(grant, announced.version)?) }
        } else {
            Work::Remove
        };
        Some(Operation { serial, version: announced.version, work })
    }

    /// Returns the rule of a version: on the contract's present reservation, or on its reservation at that version.
    /// Outdated rules are sent, too: other contracts may wait for the route that such a rule leaves, and the next
    /// rule for their routes.
    fn rule(&self, grant: &AdmittedContract, version: u64) -> Option<Rule> {
        let order = &grant.order;
        let left = self.releases.of(grant.serial).map(|(_, release)| release).filter(|release| release.until > version);
        let (demand, routes, bound) = match left.min_by_key(|release| release.until) {
            Some(release) => {
                let reservations = &release.reserved.reservations;
                let routes = reservations.iter().map(|one| Hop::named(&self.network, &one.route)).collect();
                (reservations.first()?.demand, routes, release.drain)
            }
            None => {
                let demand = self.book.placement().held(grant.flow()?)?.demand;
                let routes = self.routes(grant);
                let routes = routes.iter().map(|(_, route)| Hop::named(&self.network, route)).collect();
                (demand, routes, grant.bound()?)
            }
        };
        Some(Rule {
            id: grant.id.to_string(),
            from: order.from().to_owned(),
            to: order.to().to_owned(),
            matching: order.matching.map(Match::from),
            rate_bps: demand.rate.bits_per_second(),
            burst_bytes: demand.burst.get(),
            max_frame_bytes: demand.max_frame.map(Bytes::get),
            routes,
            bound_ns: bound.as_nanos(),
        })
    }

    /// Checks that an agent's message belongs to the current session.
    pub(crate) fn check_epoch(&self, node: NodeId, epoch: u64) -> Result<(), CommandError> {
        let current = self.nodes.get(node).filter(|state| state.is_open).map(|state| state.epoch);
        if current == Some(epoch) { Ok(()) } else { Err(CommandError::StaleEpoch { current }) }
    }

    pub(crate) fn confirm(&mut self, name: &str, epoch: u64, done: &[(u64, u64)]) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        self.check_epoch(node, epoch)?;
        for &(serial, version) in done {
            if serial == SET_UP {
                if self.nodes.get(node).is_some_and(|state| state.set_up_version == version) {
                    self.set_up(node, true);
                    self.refresh_degraded_at(node);
                }
                continue;
            }
            if let Some(state) = self.nodes.get_mut(node)
                && state.unknown_rules.get(&serial).is_some_and(|&removed| removed <= version)
            {
                state.unknown_rules.remove(&serial);
            }
            if self.contracts.get(serial).is_some_and(|grant| grant.sender() == Some(node)) {
                if self.was_sent(serial, version) {
                    self.has_done(serial, version);
                }
                self.advance(serial);
            }
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal.revision() })
    }

    /// A switch forwards by tags, or does not yet.
    fn set_up(&mut self, node: NodeId, is_set_up: bool) {
        let Some(state) = self.nodes.get_mut(node).filter(|_| self.network.node(node).kind == NodeKind::Switch) else {
            return;
        };
        if std::mem::replace(&mut state.is_set_up, is_set_up) == is_set_up {
            return;
        }
        self.journal.mark(DirtyRecord::Node(node));
        let serials = self.contracts.serials(|grant| {
            let is_to_run =
                |sender: &Sender| sender.announced.is_none_or(|announced| Some(announced.version) < sender.run);
            grant.announced_sender().is_some_and(|sender| sender.run.is_some() && is_to_run(sender))
        });
        serials.into_iter().for_each(|serial| self.advance(serial));
    }

    /// Takes note that an agent reports the carriers of its links in its present session.
    pub(crate) fn observe_links(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.nodes.entry(node).sees_links, true) {
            self.journal.mark(DirtyRecord::Node(node));
        }
    }

    /// Processes the measurements of a receiving host.
    pub(crate) fn measure(&mut self, name: &str, epoch: u64, measured: &[Measured]) -> Result<Reply, CommandError> {
        let node = self.find(name)?;
        self.check_epoch(node, epoch)?;
        let now = self.now();
        for one in measured.iter().filter(|one| one.late > 0) {
            let Some(grant) = self.contracts.get_mut(one.serial) else { continue };
            if grant.terms().is_none_or(|terms| terms.to != node) {
                continue;
            }
            let Some(latency) = grant.latency_mut() else { continue };
            let before = latency.violation.unwrap_or(LateDelivery { at: now.wall, packets: 0, worst: Time::ZERO });
            let packets = before.packets.saturating_add(one.late);
            latency.violation =
                Some(LateDelivery { at: now.wall, packets, worst: before.worst.max(Time::from_nanos(one.worst_ns)) });
            self.timers.at(now.steady + self.timing.heal_after, TimerEvent::Healed(one.serial));
            self.journal.mark(DirtyRecord::Contract(one.serial));
            self.announce(one.serial);
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal.revision() })
    }

    /// Clears a violation, as no late packet was reported for the clear time, unless a later timer is still set. While the
    /// agent of the receiver does not report, it is unknown whether it is over.
    pub(crate) fn healed(&mut self, serial: u64) {
        if self.timers.has(TimerEvent::Healed(serial)) {
            return;
        }
        let receiver = self.contracts.get(serial).and_then(AdmittedContract::terms).map(|terms| terms.to);
        let is_unobserved = |state: &NodeState| state.is_silent || state.is_awaited();
        if receiver.and_then(|node| self.nodes.get(node)).is_some_and(is_unobserved) {
            self.timers.at(self.now().steady + self.timing.heal_after, TimerEvent::Healed(serial));
            return;
        }
        if let Some(latency) = self.contracts.latency_mut(serial) {
            latency.violation = None;
            self.journal.mark(DirtyRecord::Contract(serial));
            self.announce(serial);
        }
    }

    /// Closes the session of a node that is down: it sends nothing. Returns the contracts with this sender, whose
    /// senders have to be advanced.
    pub(crate) fn silence(&mut self, node: NodeId) -> Vec<u64> {
        let state = self.nodes.entry(node);
        state.is_open = false;
        state.is_set_up = false;
        (state.is_watched, state.is_silent) = (false, false);
        state.forget_reports();
        state.waiting.clear();
        self.journal.mark(DirtyRecord::Node(node));
        let here = self.contracts.serials(|grant| grant.sender() == Some(node));
        here.iter().for_each(|&serial| self.note_silence(serial));
        here
    }

    /// The node of this name.
    pub(super) fn find(&self, name: &str) -> Result<NodeId, CommandError> {
        self.network.find_node(name).ok_or_else(|| CommandError::NotFound { what: "node", name: name.to_owned() })
    }
}
