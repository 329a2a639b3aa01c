//! Reservations of contracts of other kinds than latency: a share of the classes below, beside or instead of the old
//! share.
//!
//! Reservations of shares are a sum over all present shares, so undoing a decision restores every bit, in any order.

use wayleave_contracts::Contract;
use wayleave_ledger::ReservedShare;
use wayleave_scheme_api::{Refusal, ShareDecision};
use wayleave_schemes::share_request;
use wayleave_topology::ShareId;
use wayleave_units::Time;

use super::Admission;
use crate::event::EventKind;
use crate::journal::DirtyRecord;

impl Admission {
    /// Asks the scheme for a share; best effort needs none.
    pub(super) fn admit_share(&mut self, contract: &Contract) -> Result<Option<ShareDecision>, Refusal> {
        let request = share_request(contract);
        request.map(|request| self.enforcement.scheme_ledger_mut().admit_share(&request)).transpose()
    }

    /// The share that a contract holds.
    pub(super) fn share_of(&self, serial: u64) -> Option<ShareId> {
        self.enforcement.contracts().get(serial)?.share()
    }

    /// A contract gives up what it holds.
    pub(super) fn take_share(&mut self, serial: u64) -> Option<ReservedShare> {
        let share = self.enforcement.contracts_mut().share_mut(serial)?.share.take()?;
        self.enforcement.scheme_ledger_mut().release_share(share)
    }

    /// It holds that again.
    pub(super) fn return_share(&mut self, serial: Option<u64>, share: Option<ReservedShare>) {
        let (Some(serial), Some(share)) = (serial, share) else { return };
        let share = self.enforcement.scheme_ledger_mut().put_share_back(share, serial);
        if let Some(state) = self.enforcement.contracts_mut().share_mut(serial) {
            state.share = share;
        }
    }

    /// A contract has got a share, or nothing for best effort.
    pub(super) fn settle_share(&mut self, serial: u64, decision: Option<ShareDecision>) {
        let share = decision.as_ref().map(|one| one.share);
        let waits_for = share.map(|share| self.enforcement.share_must_wait_for(share)).unwrap_or_default();
        if let Some(share) = share {
            self.enforcement.scheme_ledger_mut().own_share(share, serial);
        }
        if let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) {
            grant.degraded_reason = None;
            if let Some(state) = grant.share_state_mut() {
                state.share = share;
                state.certainty = decision.as_ref().map(|one| one.certainty);
                state.within = decision.and_then(|one| one.within);
            }
        }
        self.enforcement.renew_rule(serial);
        self.enforcement.wait_for(serial, waits_for);
        self.enforcement.refresh_degraded(serial);
        self.enforcement.touch(serial);
        self.enforcement.announce(serial);
        self.enforcement.wait_for_hosts(serial);
        self.follow_certainty();
    }

    /// Ends a contract: what it had is free once its last packets have left.
    pub(super) fn end_share(&mut self, serial: u64) {
        if let Some(share) = self.enforcement.contracts_mut().share_mut(serial).and_then(|state| state.share.take()) {
            self.enforcement.leave_share(share);
        }
        let Some(id) = self.enforcement.contracts().get(serial).map(|grant| grant.id.clone()) else { return };
        self.enforcement.remove(serial);
        let journal = self.enforcement.journal_mut();
        let revision = journal.next_revision_of(&id.tenant);
        journal.mark(DirtyRecord::Contract(serial));
        journal.contract_event(EventKind::Released, &id, revision, String::new());
        journal.contract_event(EventKind::Gone, &id, revision, String::new());
        self.follow_certainty();
    }

    /// Frees the shares of ended contracts that were held until this time, by the steady clock.
    pub(crate) fn free_left_shares(&mut self, now: Time) {
        if self.enforcement.scheme_ledger_mut().free_left_shares(now) {
            self.follow_certainty();
        }
    }
}
