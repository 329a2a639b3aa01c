//! The agents of nodes: their sessions, what they have still to do, and what they report.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::{Bytes, Time};

use crate::command::{Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty};
use crate::event::EventKind;
use crate::grant::{Told, Violation};
use crate::timers::Due;
use wayleave_protocol::agent::{Measured, Operation, Rule, Work};
use wayleave_protocol::contract::{Hop, Match};

/// The serial number under which a switch is told to set itself up.
const SET_UP: u64 = 0;

/// What is known of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// The number of its last session; it grows with every one.
    pub epoch: u64,
    /// Whether that session is open: since this controller was loaded, and the node was not down.
    pub is_open: bool,
    /// A switch: it forwards by tags.
    pub is_set_up: bool,
    /// Contracts of which it has still to confirm something.
    pub(crate) waiting: BTreeSet<u64>,
    /// Rules that no contract explains, with the version at which they are to be removed.
    pub(crate) strangers: BTreeMap<u64, u64>,
}

impl Controller {
    /// A node begins to listen, and says what is installed.
    pub(crate) fn begin(&mut self, name: &str, after: u64, installed: &[(u64, u64)]) -> Result<Reply, Fault> {
        let node = self.node(name)?;
        let state = self.nodes.entry(node).or_default();
        // Late, or sent twice: what was installed then need not be what is installed now.
        if state.epoch != after {
            return Err(Fault::StaleEpoch { current: Some(state.epoch) });
        }
        state.epoch += 1;
        state.is_open = true;
        state.strangers.clear();
        let epoch = state.epoch;
        self.mark(Dirty::Node(node));
        let installed: BTreeMap<u64, u64> = installed.iter().copied().collect();
        self.event(EventKind::AgentUp, name, None, epoch, format!("session {epoch}"));
        if self.network.node(node).kind == NodeKind::Switch {
            self.set_up(node, installed.contains_key(&SET_UP));
            return Ok(Reply::Begun { epoch });
        }
        let here: Vec<u64> =
            self.grants.values().filter(|grant| grant.sender() == node).map(|grant| grant.serial).collect();
        for (&serial, &version) in installed.iter().filter(|(serial, _)| here.binary_search(serial).is_err()) {
            if let Some(state) = self.nodes.get_mut(&node) {
                state.strangers.insert(serial, version + 1);
            }
        }
        for serial in here {
            match installed.get(&serial) {
                Some(&version) => {
                    self.adopt(serial, version);
                    self.has_done(serial, version);
                    self.advance(serial);
                }
                // Without a rule nothing is sent: what was to stop has stopped, what was to run is told again.
                None => self.is_silent(serial),
            }
        }
        Ok(Reply::Begun { epoch })
    }

    /// A rule is installed although its contract was thought to be silent: somebody was wrong about that. The rule in force is taken
    /// as it is; an older one stops first.
    fn adopt(&mut self, serial: u64, version: u64) {
        let Some(grant) = self.grants.get_mut(&serial).filter(|grant| grant.sender.told.is_none()) else { return };
        let told = Some(Told { version, runs: true });
        (grant.sender.told, grant.sender.confirmed) = (told, told);
        if grant.sender.run != Some(version) {
            grant.sender.stop = Some(grant.sender.next_version());
            grant.sender.run = grant.sender.run.map(|_| grant.sender.next_version());
            grant.sender.since = grant.sender.version;
        }
        self.mark(Dirty::Contract(serial));
    }

    /// What a node has still to do, in the order of versions.
    pub fn outbox(&self, name: &str) -> Vec<Operation> {
        let Some(node) = self.network.find_node(name) else { return Vec::new() };
        let Some(state) = self.nodes.get(&node) else { return Vec::new() };
        if self.network.node(node).kind == NodeKind::Switch {
            let set_up = Operation { serial: SET_UP, version: state.epoch, work: Work::SetUp };
            return Some(set_up).filter(|_| !state.is_set_up).into_iter().collect();
        }
        let strangers = state.strangers.iter();
        let strangers = strangers.map(|(&serial, &version)| Operation { serial, version, work: Work::Remove });
        strangers.chain(state.waiting.iter().filter_map(|&serial| self.operation(serial))).collect()
    }

    fn operation(&self, serial: u64) -> Option<Operation> {
        let grant = self.grants.get(&serial)?;
        let told = grant.sender.told.filter(|_| grant.sender.is_waited_for())?;
        let work =
            if told.runs { Work::Install { rule: Box::new(self.rule(grant, told.version)?) } } else { Work::Remove };
        Some(Operation { serial, version: told.version, work })
    }

    /// The rule of a version: on the place that the contract has, or on the one that it had then. An outdated rule is told all the
    /// same: others may wait for the route that it leaves, and the next rule for theirs.
    fn rule(&self, grant: &crate::grant::Grant, version: u64) -> Option<Rule> {
        let order = &grant.order;
        let left = self.leavings.of(grant.serial).map(|(_, leaving)| leaving).filter(|leaving| leaving.until > version);
        let (demand, routes, bound) = match left.min_by_key(|leaving| leaving.until) {
            Some(leaving) => {
                let reservations = &leaving.place.reservations;
                let routes = reservations.iter().map(|one| Hop::named(&self.network, &one.route)).collect();
                (reservations.first()?.demand, routes, leaving.drain)
            }
            None => {
                let demand = self.book.placement().held(grant.flow?)?.demand;
                let routes = self.routes(grant);
                let routes = routes.iter().map(|(_, route)| Hop::named(&self.network, route)).collect();
                (demand, routes, grant.bound)
            }
        };
        Some(Rule {
            id: grant.id.to_string(),
            from: order.from.clone(),
            to: order.to.clone(),
            matching: order.matching.map(Match::from),
            rate_bps: demand.rate.bits_per_second(),
            burst_bytes: demand.burst.get(),
            max_frame_bytes: demand.max_frame.map(Bytes::get),
            routes,
            bound_ns: bound.as_nanos(),
        })
    }

    /// Whether an agent speaks for the session that counts.
    pub(crate) fn check_epoch(&self, node: NodeId, epoch: u64) -> Result<(), Fault> {
        let current = self.nodes.get(&node).filter(|state| state.is_open).map(|state| state.epoch);
        if current == Some(epoch) { Ok(()) } else { Err(Fault::StaleEpoch { current }) }
    }

    pub(crate) fn confirm(&mut self, name: &str, epoch: u64, done: &[(u64, u64)]) -> Result<Reply, Fault> {
        let node = self.node(name)?;
        self.check_epoch(node, epoch)?;
        for &(serial, version) in done {
            if serial == SET_UP {
                self.set_up(node, true);
                continue;
            }
            if let Some(state) = self.nodes.get_mut(&node)
                && state.strangers.get(&serial).is_some_and(|&removed| removed <= version)
            {
                state.strangers.remove(&serial);
            }
            if self.grants.get(&serial).is_some_and(|grant| grant.sender() == node) {
                self.has_done(serial, version);
                self.advance(serial);
            }
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.counters.revision })
    }

    /// A switch forwards by tags, or does not yet.
    fn set_up(&mut self, node: NodeId, is_set_up: bool) {
        let Some(state) = self.nodes.get_mut(&node).filter(|_| self.network.node(node).kind == NodeKind::Switch) else {
            return;
        };
        if std::mem::replace(&mut state.is_set_up, is_set_up) == is_set_up {
            return;
        }
        self.mark(Dirty::Node(node));
        let waiting = |grant: &&crate::grant::Grant| {
            grant.sender.run.is_some() && grant.sender.told.is_none_or(|told| Some(told.version) < grant.sender.run)
        };
        let serials: Vec<u64> = self.grants.values().filter(waiting).map(|grant| grant.serial).collect();
        serials.into_iter().for_each(|serial| self.advance(serial));
    }

    /// What a receiving host has measured.
    pub(crate) fn measure(&mut self, name: &str, epoch: u64, measured: &[Measured]) -> Result<Reply, Fault> {
        let node = self.node(name)?;
        self.check_epoch(node, epoch)?;
        let now = self.now;
        for one in measured.iter().filter(|one| one.late > 0) {
            let Some(grant) = self.grants.get_mut(&one.serial).filter(|grant| grant.order.contract.to == node) else {
                continue;
            };
            let before = grant.violation.unwrap_or(Violation { at: now.wall, packets: 0, worst: Time::ZERO });
            let packets = before.packets.saturating_add(one.late);
            grant.violation =
                Some(Violation { at: now.wall, packets, worst: before.worst.max(Time::from_nanos(one.worst_ns)) });
            self.timers.at(now.steady + self.timing.heal_after, Due::Healed(one.serial));
            self.mark(Dirty::Contract(one.serial));
            self.announce(one.serial);
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.counters.revision })
    }

    /// No late packet has been reported for a while, unless a later timer is still set.
    pub(crate) fn healed(&mut self, serial: u64) {
        if self.timers.has(Due::Healed(serial)) {
            return;
        }
        if let Some(grant) = self.grants.get_mut(&serial) {
            grant.violation = None;
            self.mark(Dirty::Contract(serial));
            self.announce(serial);
        }
    }

    /// The session of a node is over, and nothing is sent there: it is down. The contracts that it sent, which have to be told what
    /// follows from that.
    pub(crate) fn silence(&mut self, node: NodeId) -> Vec<u64> {
        let state = self.nodes.entry(node).or_default();
        state.is_open = false;
        state.is_set_up = false;
        state.waiting.clear();
        self.mark(Dirty::Node(node));
        let here: Vec<u64> =
            self.grants.values().filter(|grant| grant.sender() == node).map(|grant| grant.serial).collect();
        here.iter().for_each(|&serial| self.note_silence(serial));
        here
    }

    /// What is known of the agent of a node.
    pub fn node_state(&self, node: NodeId) -> Option<&NodeState> {
        self.nodes.get(&node)
    }
}
