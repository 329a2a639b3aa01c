//! Instructions to senders, in an order that never breaks a promise.
//!
//! | change | instruction to the sender | waits |
//! |---|---|---|
//! | a new contract | run | until the pending releases on its links that are free in the ledger are complete |
//! | it is moved | run the new rule | its old reservation is free at once; a contract that needs the capacity waits until the old route is empty |
//! | other terms, beside the old ones | run the new rule | as for a move |
//! | other terms in place of the old ones, and packets in transit fit beside them | run the new rule | as for a move |
//! | other terms in place of the old ones otherwise | stop; when the old route is empty, run | as for a move, and its own new rule waits too |
//! | it is deleted | stop | its reservation, until its route is empty |
//! | an element that it needs fails, another route is found | as with other terms in place of the old ones | as with other terms in place of the old ones |
//! | no other route is found | stop | as with other terms in place of the old ones |

use std::collections::BTreeSet;

use wayleave_protocol::contract::State;
use wayleave_topology::{NodeKind, Route};

use super::Enforcement;
use crate::event::EventKind;
use crate::grant::{AdmittedContract, DegradedReason, RuleState, Sender};
use crate::journal::DirtyRecord;
use crate::releases::{PendingRelease, Phase};
use crate::scheme_ledger::UndoReservation;
use crate::setup::EnforcedBy;
use crate::timers::TimerEvent;

impl Enforcement {
    /// Returns `true` if senders confirm their operations.
    pub(crate) fn confirms(&self) -> bool {
        self.enforced_by != EnforcedBy::Nobody
    }

    /// A contract gives a reservation up with the next version of its rule.
    pub(crate) fn leave_next(&mut self, serial: u64, reserved: UndoReservation) -> Option<u64> {
        let next = self.contracts.sender(serial)?.version + 1;
        self.leave(serial, reserved, next)
    }

    /// A contract gives a reservation up: nothing is sent there any more once its sender has the version `until`. The number of the
    /// pending release; `None` if nothing was ever sent there.
    pub(crate) fn leave(&mut self, serial: u64, reserved: UndoReservation, until: u64) -> Option<u64> {
        let grant = self.contracts.get(serial).filter(|grant| grant.announced_sender().is_some_and(Sender::may_run))?;
        let bound = |route: &Route| self.book.placement().bound(route);
        let drain = reserved.reservations.iter().map(|one| bound(&one.route)).max()?;
        let node = grant.sender()?;
        let number = self.journal.next_release();
        let phase = Phase::Sending;
        self.releases.insert(number, PendingRelease { serial, node, reserved, until, drain, phase, held: None });
        self.journal.mark(DirtyRecord::Release(number));
        Some(number)
    }

    /// Runs a contract on a new reservation, once some pending releases are complete.
    ///
    /// Its sender stops first if the contract waits for a route on which it still sends, or if its sender never
    /// received the reservation in between. A contract that waits for it then waits for a stop, which waits for
    /// nothing; so no cycle of waiting contracts can form.
    pub(crate) fn run(&mut self, serial: u64, waits_for: BTreeSet<u64>) {
        let Some(sender) = self.contracts.sender(serial) else { return };
        let (announced, version) = (sender.announced.map_or(0, |announced| announced.version), sender.version);
        let holds_up = |(number, release): (u64, &PendingRelease)| {
            let is_sent_on = release.phase == Phase::Sending && announced < release.until;
            is_sent_on && (release.until <= version || waits_for.contains(&number))
        };
        let stops_first = self.releases.of(serial).any(holds_up);
        let Some(sender) = self.contracts.sender_mut(serial) else { return };
        sender.stop = stops_first.then(|| sender.next_version());
        let version = sender.next_version();
        sender.run = Some(version);
        sender.since = version;
        self.wait_for(serial, waits_for);
        self.touch(serial);
    }

    /// A contract waits for these releases from now on, and for no others.
    pub(crate) fn wait_for(&mut self, serial: u64, releases: BTreeSet<u64>) {
        let Some(grant) = self.contracts.get_mut(serial) else { return };
        grant.waits_for = releases.iter().copied().collect();
        for number in releases {
            self.releases.add_waiter(number, serial);
        }
    }

    /// The contract has changed: a new revision, and its record is to be written.
    pub(crate) fn touch(&mut self, serial: u64) {
        if let Some(grant) = self.contracts.get_mut(serial) {
            grant.revision = self.journal.next_revision_of(&grant.id.tenant);
        }
        self.journal.mark(DirtyRecord::Contract(serial));
    }

    /// Sends the next possible instruction to the sender of a contract, and announces the contract's state.
    pub(crate) fn advance(&mut self, serial: u64) {
        while let Some(announced) = self.next_step(serial) {
            let Some(sender) = self.contracts.sender_mut(serial) else { return };
            sender.announced = Some(announced);
            self.journal.mark(DirtyRecord::Contract(serial));
            if self.confirms() {
                let now = self.now().steady;
                if let Some(sender) = self.contracts.sender_mut(serial) {
                    sender.asked = Some(now);
                }
                if let Some(node) = self.contracts.get(serial).and_then(AdmittedContract::sender) {
                    self.nodes.expect(node, serial);
                    if self.nodes.get(node).is_some_and(|state| state.is_open) {
                        self.offer(serial);
                    }
                }
                self.timers.at(now + self.timing.confirm_within, TimerEvent::Confirmed(serial, announced.version));
            } else {
                self.offer(serial);
                self.has_done(serial, announced.version);
            }
        }
        self.finish(serial);
        self.announce(serial);
    }

    /// Returns the next possible instruction to the sender of a contract, if any.
    fn next_step(&mut self, serial: u64) -> Option<RuleState> {
        let sender = self.contracts.sender_mut(serial)?;
        if let Some(stop) = sender.stop {
            match sender.announced {
                // It was never instructed to send: there is nothing to stop.
                None => sender.stop = None,
                Some(announced) if announced.version < stop => return Some(RuleState { version: stop, runs: false }),
                Some(_) => {}
            }
        }
        let grant = self.contracts.get(serial)?;
        let sender = grant.announced_sender()?;
        let run = sender.run.filter(|&run| sender.announced.is_none_or(|announced| announced.version < run))?;
        let to_come = grant.order.starts.filter(|&starts| starts > self.calendar());
        let may = grant.waits_for.is_empty() && to_come.is_none() && self.switches_are_set_up(serial);
        // The calendar may have been past the start before, and jumped back.
        if let Some(starts) = to_come {
            self.timers.at_wall(starts, serial);
        }
        may.then_some(RuleState { version: run, runs: true })
    }

    /// Returns `true` if every switch on the route of a contract forwards by tags.
    fn switches_are_set_up(&self, serial: u64) -> bool {
        if self.enforced_by != EnforcedBy::HostsAndSwitches {
            return true;
        }
        let Some(grant) = self.contracts.get(serial) else { return false };
        let routes = self.routes(grant);
        let mut ends = routes.iter().flat_map(|(_, route)| route.hops.iter().map(|hop| self.network.link(hop.link).to));
        ends.all(|node| {
            let is_set_up = || self.nodes.get(node).is_some_and(|state| state.is_set_up);
            self.network.node(node).kind == NodeKind::Host || is_set_up()
        })
    }

    /// The sender of a contract has carried out a version.
    pub(crate) fn has_done(&mut self, serial: u64, version: u64) {
        let Some(sender) = self.contracts.sender(serial) else { return };
        let Some(announced) = sender.announced else { return };
        if announced.version == version
            && sender.confirmed != Some(announced)
            && let Some(grant) = self.contracts.get_mut(serial)
        {
            if let Some(latency) = grant.latency_mut() {
                (latency.sender.confirmed, latency.sender.asked) = (Some(announced), None);
            }
            // The report of the host shows if the new rule is in force.
            if matches!(grant.degraded_reason, Some(DegradedReason::Unconfirmed)) {
                grant.degraded_reason = None;
            }
            if let Some(node) = grant.sender() {
                self.nodes.expect_no_more(node, serial);
            }
            self.journal.mark(DirtyRecord::Contract(serial));
        }
        let left: Vec<u64> =
            self.releases.of(serial).filter(|(_, one)| one.until <= version).map(|(number, _)| number).collect();
        self.stopped(&left);
    }

    /// Nothing is sent on these routes any more: they are empty after the time that packets take there at most.
    pub(crate) fn stopped(&mut self, left: &[u64]) {
        for &number in left {
            let Some(release) = self.releases.get(number).filter(|release| release.phase == Phase::Sending) else {
                continue;
            };
            let empty = self.now().steady + release.drain;
            self.releases.set_phase(number, Phase::Draining(empty));
            self.timers.at(empty, TimerEvent::Empty(number));
            self.journal.mark(DirtyRecord::Release(number));
        }
    }

    /// Completes a release: the reservation is free, and contracts that waited for it continue.
    pub(crate) fn emptied(&mut self, number: u64) {
        let Some(release) = self.releases.remove(number) else { return };
        self.journal.mark(DirtyRecord::Release(number));
        if let Some(flow) = release.held {
            self.book.release(flow);
        }
        for serial in self.releases.take_waiters(number) {
            if let Some(grant) = self.contracts.get_mut(serial) {
                grant.waits_for.retain(|&other| other != number);
                self.journal.mark(DirtyRecord::Contract(serial));
            }
            self.advance(serial);
        }
        self.advance(release.serial);
    }

    /// Forgets a deleted contract, once no reservation or rule is left.
    fn finish(&mut self, serial: u64) {
        let Some(grant) = self.contracts.get(serial) else { return };
        let is_waited_for = grant.announced_sender().is_some_and(Sender::is_waited_for);
        if !grant.is_ended || is_waited_for || self.releases.of(serial).next().is_some() {
            return;
        }
        let (id, revision) = (grant.id.clone(), grant.revision);
        self.remove(serial);
        self.journal.mark(DirtyRecord::Contract(serial));
        self.journal.contract_event(EventKind::Gone, &id, revision, String::new());
    }

    /// A contract is no more.
    pub(crate) fn remove(&mut self, serial: u64) {
        let waits_for = self.contracts.get(serial).map(|grant| grant.waits_for.clone()).unwrap_or_default();
        waits_for.into_iter().for_each(|number| self.releases.remove_waiter(number, serial));
        self.contracts.remove(serial);
    }

    /// Notifies watchers of the state of a contract, if it has changed.
    pub(crate) fn announce(&mut self, serial: u64) {
        let Some(grant) = self.contracts.get(serial) else { return };
        let (state, calendar) = (grant.state_now(self.kept, self.calendar()), self.calendar());
        // The calendar may have been past the start before, and jumped back: the start comes once more.
        if let Some(starts) = grant.order.starts.filter(|&starts| state == State::Pending && starts > calendar) {
            self.timers.at_wall(starts, serial);
        }
        let before = grant.state;
        if state == before && (state != State::Degraded || grant.reason_code() == grant.announced_reason) {
            return;
        }
        // Hosts have the rule of a contract while it may send.
        let is_taken_back = state == State::Pending && grant.share_state().is_some_and(|share| share.version > 0);
        if is_taken_back {
            self.renew_rule(serial);
        }
        if let Some(grant) = self.contracts.get_mut(serial) {
            self.journal.announce(grant, state);
        }
        if state == State::Admitted {
            self.wait_for_hosts(serial);
        }
    }

    /// A host has not confirmed a version in time.
    pub(crate) fn overdue(&mut self, serial: u64, version: u64) {
        let Some(grant) = self.contracts.get_mut(serial) else { return };
        if !Self::is_late(grant, version) || grant.is_ended || grant.degraded_reason.is_some() {
            return;
        }
        grant.degraded_reason = Some(DegradedReason::Unconfirmed);
        self.journal.mark(DirtyRecord::Contract(serial));
        self.announce(serial);
    }
}
