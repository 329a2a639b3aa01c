//! An admitted contract, until its last packet has left.
//!
//! A latency contract has routes, and a sender that confirms its rule. A contract of another kind has a share of
//! classes below the latency queues, or nothing if it is best effort; the agents of all its members confirm its rule.
//! After its end, its share is free as soon as its last packets have left. This time is counted from the end, not
//! from the time at which agents receive the change. A controller that restarts during this time frees the share at
//! once.

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_contracts::{Contract, ContractRequest, LatencyContract};
use wayleave_scheme_api::Certainty;
use wayleave_topology::{FlowId, NodeId, ShareId};
use wayleave_units::{Time, WallTime};

use wayleave_protocol::Id;
use wayleave_protocol::contract::State;

/// An admitted contract.
#[derive(Clone, Debug)]
pub struct AdmittedContract {
    /// Identity; shared with the index that finds contracts by name.
    pub id: Arc<Id>,
    /// Its number, which no other contract ever has.
    pub serial: u64,
    /// The order.
    pub order: ContractRequest,
    /// Its revision: that of its terms and its state.
    pub revision: u64,
    /// Time of the first admission.
    pub created: WallTime,
    /// The decision that admitted it as it is.
    pub decision: u64,
    /// The state that was last announced.
    pub state: State,
    /// Reason that it is degraded, if it is.
    pub degraded_reason: Option<DegradedReason>,
    /// Code of the reason that was last announced.
    pub(crate) announced_reason: Option<&'static str>,
    /// The pending releases that have to be complete before it is promised anything.
    pub(crate) waits_for: Vec<u64>,
    /// It was deleted.
    pub(crate) is_ended: bool,
    pub(crate) held: KindState,
}

/// State that is particular to a kind of contract.
#[derive(Clone, Debug)]
pub(crate) enum KindState {
    Latency(LatencyState),
    Share(ShareState),
}

/// State of a latency contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyState {
    /// No packet takes longer.
    pub(crate) bound: Time,
    /// The lowest earlier bound since the controller was loaded.
    pub(crate) lowest_bound: Option<Time>,
    /// The packets that came too late, if some did.
    pub(crate) violation: Option<LateDelivery>,
    /// Its reservation; `None` if it is degraded and its reservation was given to others, or if it is released.
    pub(crate) flow: Option<FlowId>,
    /// Of its disjoint routes, those that something that is down cuts.
    pub(crate) cut_routes: usize,
    pub(crate) sender: Sender,
}

/// State of a contract of another kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShareState {
    /// Certainty of its promise; `None` for best effort, and while it has no place.
    pub(crate) certainty: Option<Certainty>,
    /// Its minimum is there so soon after there is something to send, if that was asked for.
    pub(crate) within: Option<Time>,
    /// Its reservation; nothing for best effort, and if it is degraded and its place was given to others.
    pub(crate) share: Option<ShareId>,
    /// Version of the rule that agents fetch.
    pub(crate) version: u64,
    /// Member hosts that have not confirmed that version.
    pub(crate) unconfirmed: BTreeSet<NodeId>,
}

/// Reason that a contract is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DegradedReason {
    /// The failed element is on all its routes, and there is no other route.
    Failed {
        /// Failed element.
        element: String,
        /// `true` if its reservation is kept, so that it is certain to be restored when the element is repaired.
        keeps_place: bool,
        /// Reason that no other route was found.
        why: String,
    },
    /// It was decided again at the start, by the rules of this version and on the network as it is now, and found no place.
    Unfit {
        /// Reason of the refusal when it was decided again.
        why: String,
    },
    /// Some host that has to carry it has not confirmed it in time, or a switch on its links has not confirmed its queues.
    Unconfirmed,
    /// Agents of its hosts, or of switches on its links, are silent: whether their rules and queues are in force is unknown.
    Silent {
        /// The hosts and switches; none if the record of an earlier version did not name them.
        nodes: Vec<NodeId>,
    },
    /// An agent reports that it cannot enforce the contract.
    NotCarriedOut {
        /// Its host.
        host: NodeId,
        /// The reason.
        why: String,
    },
}

impl DegradedReason {
    /// All codes.
    pub const CODES: [&'static str; 5] = ["FAILURE", "UNFIT", "UNCONFIRMED", "SILENT", "NOT_CARRIED_OUT"];

    /// A stable code.
    pub const fn code(&self) -> &'static str {
        let [failure, unfit, unconfirmed, silent, not_carried_out] = Self::CODES;
        match self {
            Self::Failed { .. } => failure,
            Self::Unfit { .. } => unfit,
            Self::Unconfirmed => unconfirmed,
            Self::Silent { .. } => silent,
            Self::NotCarriedOut { .. } => not_carried_out,
        }
    }
}

/// Packets that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateDelivery {
    /// Time of the last report.
    pub at: WallTime,
    /// Number of late packets since the contract was admitted.
    pub packets: u64,
    /// The longest delay.
    pub worst: Time,
}

/// Instructions to the sender of a contract, and its known state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sender {
    /// The last version that was given out.
    pub(crate) version: u64,
    /// The last one that the agent may have: it had a session since.
    pub(crate) offered: u64,
    /// The version to stop at, before anything else is sent.
    pub(crate) stop: Option<u64>,
    /// The version to run.
    pub(crate) run: Option<u64>,
    /// The first version that runs on the reservation which the contract has now.
    pub(crate) since: u64,
    /// Last instruction sent to it; it may have executed this instruction, or not.
    pub(crate) announced: Option<RuleState>,
    /// Last instruction that it confirmed.
    pub(crate) confirmed: Option<RuleState>,
    /// Since when a confirmation is waited for.
    pub(crate) asked: Option<Time>,
}

/// An instruction to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleState {
    pub(crate) version: u64,
    pub(crate) runs: bool,
}

impl Sender {
    pub(crate) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Returns `true` if packets may be sent on the present reservation of the contract.
    pub(crate) fn may_run(&self) -> bool {
        self.run.is_some() && self.announced.is_some_and(|announced| announced.runs && announced.version >= self.since)
    }

    /// Returns `true` if a confirmation is outstanding.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.announced.is_some() && self.announced != self.confirmed
    }
}

impl LatencyState {
    /// Takes a reservation with its bound.
    pub(crate) fn reserve(&mut self, flow: FlowId, bound: Time) {
        (self.flow, self.cut_routes) = (Some(flow), 0);
        self.set_bound(bound);
    }

    /// Replaces the bound. Packets that were sent before may be measured by the earlier one.
    pub(crate) fn set_bound(&mut self, bound: Time) {
        let before = std::mem::replace(&mut self.bound, bound);
        if before > Time::ZERO {
            self.lowest_bound = Some(self.lowest_bound.map_or(before, |lowest| lowest.min(before)));
        }
    }
}

impl AdmittedContract {
    /// A contract that is not announced yet and holds nothing.
    pub(crate) fn new(id: Id, serial: u64, order: ContractRequest, created: WallTime) -> Self {
        let held = match order.as_latency() {
            Some(_) => KindState::Latency(LatencyState::default()),
            None => KindState::Share(ShareState::default()),
        };
        Self {
            id: Arc::new(id),
            serial,
            order,
            revision: 0,
            created,
            decision: 0,
            state: State::Released,
            degraded_reason: None,
            announced_reason: None,
            waits_for: Vec::new(),
            is_ended: false,
            held,
        }
    }

    /// The terms of a latency contract.
    pub fn terms(&self) -> Option<&LatencyContract> {
        self.order.as_latency()
    }

    pub(crate) fn latency(&self) -> Option<&LatencyState> {
        match &self.held {
            KindState::Latency(latency) => Some(latency),
            KindState::Share(_) => None,
        }
    }

    pub(crate) fn latency_mut(&mut self) -> Option<&mut LatencyState> {
        match &mut self.held {
            KindState::Latency(latency) => Some(latency),
            KindState::Share(_) => None,
        }
    }

    pub(crate) fn share_state(&self) -> Option<&ShareState> {
        match &self.held {
            KindState::Share(share) => Some(share),
            KindState::Latency(_) => None,
        }
    }

    pub(crate) fn share_state_mut(&mut self) -> Option<&mut ShareState> {
        match &mut self.held {
            KindState::Share(share) => Some(share),
            KindState::Latency(_) => None,
        }
    }

    /// The host that sends what a latency contract is about.
    pub fn sender(&self) -> Option<NodeId> {
        self.terms().map(|terms| terms.from)
    }

    /// Bound of the delay of every packet of a latency contract on its reserved routes.
    pub fn bound(&self) -> Option<Time> {
        self.latency().map(|latency| latency.bound)
    }

    /// Returns `true` if something is promised to it: it is not deleted, and no failure keeps it from sending.
    fn is_promised(&self) -> bool {
        !self.is_ended && !self.is_failed()
    }

    /// Returns the delay bound that holds now; `None` if nothing is promised.
    pub fn valid_bound(&self) -> Option<Time> {
        self.bound().filter(|_| self.is_promised())
    }

    /// Returns the certainty of the promise as it holds now; `None` if nothing is promised.
    pub fn valid_certainty(&self) -> Option<Certainty> {
        self.certainty().filter(|_| self.is_promised())
    }

    /// Returns the time of delivery that holds now; `None` if nothing is promised.
    pub fn valid_within(&self) -> Option<Time> {
        self.within().filter(|_| self.is_promised())
    }

    /// Number of the disjoint routes of a protected contract that something that is down cuts.
    pub fn cut_routes(&self) -> usize {
        self.latency().map_or(0, |latency| latency.cut_routes)
    }

    /// Packets of a latency contract that came too late, if some did.
    pub fn violation(&self) -> Option<LateDelivery> {
        self.latency()?.violation
    }

    /// Certainty of the promise of a contract of another kind; `None` for best effort, and while it has no place.
    pub fn certainty(&self) -> Option<Certainty> {
        self.share_state()?.certainty
    }

    /// Returns `true` if its promise was seen in measurements, and is no guarantee.
    pub fn is_measured(&self) -> bool {
        self.valid_certainty() == Some(Certainty::Measured)
    }

    /// Time in which a minimum is there after there is something to send, if that was asked for.
    pub fn within(&self) -> Option<Time> {
        self.share_state()?.within
    }

    /// Share that a contract of another kind than latency has reserved.
    pub fn share(&self) -> Option<ShareId> {
        self.share_state()?.share
    }

    /// Reservation of a latency contract.
    pub(crate) fn flow(&self) -> Option<FlowId> {
        self.latency()?.flow
    }

    /// Rules of the sender of a latency contract.
    pub(crate) fn announced_sender(&self) -> Option<&Sender> {
        self.latency().map(|latency| &latency.sender)
    }

    /// Hosts whose agents have to carry it: the sender of a latency contract, all members of another.
    pub fn hosts_to_confirm(&self) -> BTreeSet<NodeId> {
        match &self.order.contract {
            Contract::Latency(latency) => BTreeSet::from([latency.from]),
            other => other.hosts().into_iter().collect(),
        }
    }

    /// Returns `true` if the agent of this host has to carry it.
    pub(crate) fn is_confirmed_by(&self, host: NodeId) -> bool {
        match &self.order.contract {
            Contract::Latency(latency) => latency.from == host,
            other => other.hosts().contains(&host),
        }
    }

    /// Returns `true` if agents fetch the rule of a contract of another kind than latency: it has its reservation and
    /// has started.
    pub fn is_announced_to_hosts(&self) -> bool {
        let is_there = self.is_promised() && self.waits_for.is_empty();
        is_there && self.share_state().is_some() && self.state != State::Pending
    }

    /// Returns `true` if the rule of a contract of any kind was sent to its hosts.
    pub(crate) fn is_sent_to_hosts(&self) -> bool {
        self.is_announced_to_hosts()
            || self.announced_sender().is_some_and(|sender| sender.announced.is_some_and(|rule| rule.runs))
    }

    /// Returns the sending host of a latency contract that has not confirmed its rule.
    pub fn unconfirmed_sender(&self) -> Option<NodeId> {
        self.announced_sender().filter(|sender| sender.is_waited_for()).and_then(|_| Some(self.terms()?.from))
    }

    /// Returns the sending host of a latency contract that has to stop before the next rule, and has not confirmed that.
    pub fn stopping_sender(&self) -> Option<NodeId> {
        let is_stopping =
            |sender: &Sender| sender.is_waited_for() && sender.announced.is_some_and(|announced| !announced.runs);
        self.terms().filter(|_| self.announced_sender().is_some_and(is_stopping)).map(|terms| terms.from)
    }

    /// Hosts that have not confirmed the rule of a contract of another kind than latency.
    pub fn unconfirmed(&self) -> impl Iterator<Item = NodeId> {
        self.share_state().into_iter().flat_map(|state| state.unconfirmed.iter().copied())
    }

    /// Returns a contract as it is while it is not known to be enforced.
    #[must_use]
    pub fn as_admitted(&self) -> Self {
        let state = if self.state == State::Enforced { State::Admitted } else { self.state };
        Self { state, ..self.clone() }
    }

    /// Returns a contract as it is until the agents of these nodes have confirmed it.
    #[must_use]
    pub fn until_confirmed(&self, nodes: &[NodeId]) -> Self {
        let mut contract = self.as_admitted();
        match &mut contract.held {
            KindState::Latency(latency) => latency.sender.confirmed = None,
            KindState::Share(share) => share.unconfirmed.extend(nodes),
        }
        contract
    }

    /// Returns the version of the rule that agents fetch for a contract of another kind than latency.
    pub fn rule_version(&self) -> u64 {
        self.share_state().map_or(0, |state| state.version)
    }

    /// The version of the rule that is to be kept, and the one that all hosts that have to carry it have confirmed.
    pub fn versions(&self) -> (Option<u64>, Option<u64>) {
        if let Some(state) = self.share_state() {
            let version = Some(state.version).filter(|&version| version > 0);
            return (version, version.filter(|_| state.unconfirmed.is_empty()));
        }
        let Some(sender) = self.announced_sender() else { return (None, None) };
        (sender.run, sender.confirmed.filter(|announced| announced.runs).map(|announced| announced.version))
    }

    /// Returns `true` if the agent of a host that has to confirm the rule is silent: its confirmation may be outdated.
    pub fn is_confirmation_outdated(&self) -> bool {
        let Some(DegradedReason::Silent { nodes }) = &self.degraded_reason else { return false };
        nodes.is_empty() || nodes.iter().any(|&node| self.is_confirmed_by(node))
    }

    /// Number of routes that others have left and that have to be empty before it is promised anything.
    pub fn waits_for(&self) -> usize {
        self.waits_for.len()
    }

    /// Returns `true` if its tenant has given its route.
    pub(crate) fn has_given_route(&self) -> bool {
        self.terms().is_some_and(|terms| terms.route.is_some())
    }

    /// Returns `true` if its reservation is never moved to admit others: its route was given, or it is not in force.
    pub(crate) fn is_pinned(&self) -> bool {
        self.has_given_route() || self.is_failed()
    }

    /// Returns `true` if a failure keeps it from sending.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.degraded_reason, Some(DegradedReason::Failed { .. } | DegradedReason::Unfit { .. }))
    }

    /// Returns `true` if it was deleted.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns the code of the reason that it is degraded, if it is.
    pub(crate) fn reason_code(&self) -> Option<&'static str> {
        self.degraded_reason.as_ref().map(DegradedReason::code)
    }

    /// Its state at this time of the calendar, where a contract that all its hosts have confirmed is in the state `kept`.
    pub(crate) fn state_now(&self, kept: State, wall: WallTime) -> State {
        if self.is_ended {
            return State::Released;
        }
        if self.degraded_reason.is_some() {
            return State::Degraded;
        }
        let latency = match &self.held {
            KindState::Latency(latency) => latency,
            KindState::Share(share) => {
                let is_to_come = self.order.starts.is_some_and(|starts| starts > wall);
                let is_confirmed = share.version > 0 && share.unconfirmed.is_empty();
                return match () {
                    () if is_to_come || !self.waits_for.is_empty() => State::Pending,
                    () if is_confirmed => kept,
                    () => State::Admitted,
                };
            }
        };
        if latency.violation.is_some() {
            return State::Violated;
        }
        let Sender { announced, confirmed, run, .. } = &latency.sender;
        match (announced, confirmed) {
            (Some(announced), _)
                if announced.runs && Some(announced.version) == *run && Some(announced) != confirmed.as_ref() =>
            {
                State::Admitted
            }
            // Also by the rule before the one that is to come: until then it keeps its promise on the old route.
            (Some(announced), Some(confirmed)) if announced == confirmed && announced.runs => kept,
            _ => State::Pending,
        }
    }
}
