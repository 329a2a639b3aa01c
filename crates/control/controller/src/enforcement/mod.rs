//! Contracts in force: their reservations, the instructions to their senders, and the senders' confirmations.
//!
//! [`Enforcement`] owns the scheme with its reservations, the contracts, the pending releases, the sessions of nodes
//! and their timers. Quotas and admission are decided above (`admission`).
//!
//! | file | content |
//! |---|---|
//! | `sender` | the next instruction to a sender, and the effect of its confirmations |
//! | `waits` | the pending releases that a contract has to wait for |
//! | `release` | ending contracts, and senders that certainly send nothing |
//! | `last_heartbeat` | heartbeats of agents, and silent agents |
//! | `foreign` | versions of rules that this ledger never sent |
//! | `session` | sessions of agents, their operations, confirmations and measurements |
//! | `shares` | rules of contracts of other kinds than latency, as hosts report them |

mod drain;
mod foreign;
mod heartbeats;
mod release;
mod sender;
mod session;
mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wayleave_contracts::ContractRequest;
use wayleave_ledger::Ledger;
use wayleave_protocol::contract::State;
use wayleave_topology::{FlowId, Network, Route, ShareId};
use wayleave_units::{Time, WallTime};

use crate::clock::Timestamps;
use crate::contracts::Contracts;
use crate::grant::{AdmittedContract, Sender};
use crate::journal::Journal;
use crate::nodes::Nodes;
use crate::releases::{PendingRelease, PendingReleases, Phase};
use crate::scheme_ledger::{SchemeLedger, SchemeLedgerState};
use crate::setup::{ControllerConfig, EnforcedBy, Timeouts};
use crate::timers::{TimerEvent, Timers};

pub(crate) use drain::DrainState;

/// Contracts in force.
pub(crate) struct Enforcement {
    network: Arc<Network>,
    enforced_by: EnforcedBy,
    /// State of contracts that are kept. Without agents that confirm, a contract is known only to be admitted.
    kept: State,
    timing: Timeouts,
    book: SchemeLedger,
    contracts: Contracts,
    releases: PendingReleases,
    nodes: Nodes,
    timers: Timers,
    journal: Journal,
}

/// State copied by [`Enforcement::copy`].
pub(crate) struct Copied {
    held: SchemeLedgerState,
    contracts: BTreeMap<u64, Arc<AdmittedContract>>,
    kept: State,
    releases: BTreeMap<u64, PendingRelease>,
    journal: Journal,
}

impl Enforcement {
    /// Without contracts.
    pub(crate) fn new(setup: &ControllerConfig, book: SchemeLedger, wall: WallTime) -> Self {
        Self {
            network: setup.network.clone(),
            enforced_by: setup.enforced_by,
            kept: if setup.enforced_by == EnforcedBy::Nobody { State::Admitted } else { State::Enforced },
            timing: setup.timing,
            book,
            contracts: Contracts::default(),
            releases: PendingReleases::default(),
            nodes: Nodes::default(),
            timers: Timers::default(),
            journal: Journal::new(setup.timing, wall),
        }
    }

    pub(crate) fn scheme_ledger(&self) -> &SchemeLedger {
        &self.book
    }

    pub(crate) fn scheme_ledger_mut(&mut self) -> &mut SchemeLedger {
        &mut self.book
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.book.ledger()
    }

    pub(crate) fn contracts(&self) -> &Contracts {
        &self.contracts
    }

    pub(crate) fn contracts_mut(&mut self) -> &mut Contracts {
        &mut self.contracts
    }

    pub(crate) fn releases(&self) -> &PendingReleases {
        &self.releases
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    pub(crate) fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(crate) fn journal_mut(&mut self) -> &mut Journal {
        &mut self.journal
    }

    pub(crate) fn now(&self) -> Timestamps {
        self.journal.now()
    }

    /// The timer that is due next, by the steady clock.
    pub(crate) fn pop_due(&mut self) -> Option<TimerEvent> {
        self.timers.pop(self.now().steady)
    }

    /// A contract of another kind than latency has ended: its share is held until its last packets have left.
    pub(crate) fn leave_share(&mut self, share: ShareId) {
        let now = self.now().steady;
        if let Some(until) = self.book.leave_share(share, now) {
            self.timers.at(until, TimerEvent::ShareEmpty);
        }
    }

    /// The contract that starts or ends next, by the calendar.
    pub(crate) fn pop_start_or_end(&mut self) -> Option<u64> {
        self.timers.pop_wall(self.calendar())
    }

    /// Returns the trusted calendar time.
    pub(crate) fn calendar(&self) -> WallTime {
        self.journal.calendar().wall()
    }

    /// Returns the expiry of the next timer, by each of the clocks.
    pub(crate) fn next_due(&self) -> (Option<Time>, Option<WallTime>) {
        let (steady, wall) = self.timers.next();
        let calendar = self.journal.calendar();
        let steady = steady.into_iter().chain(calendar.hold_down_until().filter(|_| wall.is_some())).min();
        (steady, wall.map(|wall| calendar.shown_at(wall)))
    }

    /// Sets the timers for the start and the end of a contract.
    pub(crate) fn schedule(&mut self, serial: u64, order: &ContractRequest) {
        let wall = self.calendar();
        for time in [order.starts.filter(|&starts| starts > wall), order.ends].into_iter().flatten() {
            self.timers.at_wall(time, serial);
        }
    }

    /// Schedules a retry of failed contracts, unless one is scheduled already.
    pub(crate) fn schedule_retry(&mut self) {
        if !self.timers.has(TimerEvent::Retry) {
            self.timers.at(self.now().steady + self.timing.retry_every, TimerEvent::Retry);
        }
    }

    /// The routes that a contract has reserved, each with its flow; the longest first.
    pub(crate) fn routes(&self, grant: &AdmittedContract) -> Vec<(FlowId, Route)> {
        self.routes_of(grant).map(|(flow, route)| (flow, route.clone())).collect()
    }

    /// The same without a copy.
    pub(crate) fn routes_of(&self, grant: &AdmittedContract) -> impl Iterator<Item = (FlowId, &Route)> {
        let held = || self.releases.of(grant.serial).filter_map(|(_, release)| release.held).last();
        let placement = self.book.placement();
        let flows = grant.flow().or_else(held).map(|flow| placement.routes_of(flow)).unwrap_or_default();
        flows.into_iter().filter_map(|flow| Some((flow, &placement.ledger().flow(flow)?.route)))
    }

    /// Takes over a pending release from a record. Packets in transit get their whole time again, since the steady
    /// clock starts at zero after a restart.
    pub(crate) fn insert_loaded_release(&mut self, number: u64, release: PendingRelease, was_held: bool) {
        if let Phase::Draining(empty) = release.phase {
            self.timers.at(empty, TimerEvent::Empty(number));
        }
        self.releases.insert_loaded(number, release, was_held);
    }

    /// The flow that holds a release that was loaded.
    pub(crate) fn hold_release(&mut self, number: u64, flow: Option<FlowId>) {
        self.releases.hold(number, flow);
    }

    /// Everything that follows from the records of a contract. The first pending release that it waits for and that is not there is an
    /// error.
    pub(crate) fn connect(&mut self, serial: u64) -> Result<(), u64> {
        let (confirms, now) = (self.confirms(), self.now().steady);
        let Some(grant) = self.contracts.get(serial) else { return Ok(()) };
        for &number in &grant.waits_for {
            if self.releases.get(number).is_none() {
                return Err(number);
            }
            self.releases.add_waiter(number, serial);
        }
        if let Some((node, sender)) =
            grant.sender().zip(grant.announced_sender()).filter(|(_, one)| one.is_waited_for() && confirms)
        {
            self.nodes.expect(node, serial);
            if let Some(announced) = sender.announced {
                self.timers.at(now + self.timing.confirm_within, TimerEvent::Confirmed(serial, announced.version));
            }
        }
        if let Some(late) = grant.violation() {
            // As long as before the restart, by the calendar.
            let passed = Time::from_nanos(self.calendar().as_nanos().saturating_sub(late.at.as_nanos()));
            self.timers.at(now + self.timing.heal_after.saturating_sub(passed), TimerEvent::Healed(serial));
        }
        let is_announced = grant.is_announced_to_hosts();
        let (starts, ends) = (grant.order.starts, grant.order.ends);
        for time in [starts, ends].into_iter().flatten().filter(|_| !grant.is_ended) {
            self.timers.at_wall(time, serial);
        }
        if let Some(flow) = grant.flow().filter(|_| grant.is_failed()) {
            self.book.pin(flow, true);
        }
        if is_announced {
            self.wait_for_hosts(serial);
        }
        let Some(grant) = self.contracts.get(serial) else { return Ok(()) };
        let state = grant.state_now(self.kept, self.calendar());
        // Most contracts are in the right state already, and need not be copied.
        if (state != grant.state || grant.degraded_reason.is_some())
            && let Some(grant) = self.contracts.get_mut(serial)
        {
            (grant.state, grant.announced_reason) = (state, grant.reason_code());
        }
        Ok(())
    }

    /// Forgets a pending release without completing it; what holds it in the ledger.
    pub(crate) fn forget_release(&mut self, number: u64) -> Option<FlowId> {
        self.releases.remove(number)?.held
    }

    /// Shows a contract in the state that follows from its record, by the calendar of now. Nothing becomes due by that.
    pub(crate) fn show(&mut self, serial: u64) {
        let (kept, wall) = (self.kept, self.calendar());
        if let Some(grant) = self.contracts.get_mut(serial) {
            (grant.state, grant.announced_reason) = (grant.state_now(kept, wall), grant.reason_code());
        }
    }

    /// A copy of all that questions are about.
    pub(crate) fn copy(&self) -> Copied {
        Copied {
            held: self.book.held(),
            contracts: self.contracts.share(),
            kept: self.kept,
            releases: self.releases.all(),
            journal: self.journal.copy(),
        }
    }

    /// Continues from a copy, which has no open work: all admitted contracts are consistent. The kept state of
    /// contracts is taken over, so contracts that a question does not concern need not be inspected.
    pub(crate) fn take_over(&mut self, copied: Copied) {
        let Copied { held, contracts, kept, releases, journal } = copied;
        self.book.take_over(held);
        (self.contracts, self.kept) = (Contracts::of_shared(contracts), kept);
        self.journal = journal.with_timing(self.timing, self.now().wall);
        for (number, release) in releases {
            if let Phase::Draining(empty) = release.phase {
                self.timers.at(empty, TimerEvent::Empty(number));
            }
            self.releases.insert(number, release);
        }
        for serial in self.contracts.serials(|grant| self.has_something_to_come(grant)) {
            let connected = self.connect(serial);
            debug_assert!(connected.is_ok(), "contract {serial} waits for an unknown release");
        }
    }

    /// Returns `true` if [`Self::connect`] has something to set up for a contract: for most it has not.
    fn has_something_to_come(&self, grant: &AdmittedContract) -> bool {
        let is_waited_for = || self.confirms() && grant.announced_sender().is_some_and(Sender::is_waited_for);
        let has_times = || grant.order.starts.is_some() || grant.order.ends.is_some();
        let is_in_violation = grant.violation().is_some() || grant.is_failed();
        is_in_violation
            || has_times()
            || !grant.waits_for.is_empty()
            || is_waited_for()
            || grant.state_now(self.kept, self.calendar()) != grant.state
    }

    /// Resumes after everything was loaded: handles unfinished work, and timers that have expired since.
    pub(crate) fn resume(&mut self) {
        self.expect_agents();
        let is_idle = |grant: &AdmittedContract| {
            let Some(sender) = grant.announced_sender() else { return true };
            !grant.is_ended
                && sender.stop.is_none()
                && sender.announced.map(|announced| announced.version) == sender.run
        };
        let is_waited_for = |grant: &AdmittedContract| grant.announced_sender().is_some_and(Sender::is_waited_for);
        let is_open = |grant: &AdmittedContract| !is_idle(grant) || (!self.confirms() && is_waited_for(grant));
        let mut open: BTreeSet<u64> = self.contracts.serials(is_open).into_iter().collect();
        open.extend(self.releases.iter().map(|(_, release)| release.serial));
        for serial in open {
            let announced = self.contracts.sender(serial).and_then(|sender| sender.announced);
            // Without agents there is no confirmation to wait for, even if the controller before this one had agents.
            if let Some(announced) = announced.filter(|_| !self.confirms()) {
                self.has_done(serial, announced.version);
            }
            if !self.contracts.get(serial).is_some_and(is_idle) {
                self.advance(serial);
            }
        }
    }
}
