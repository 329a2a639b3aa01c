//! Deciding contracts of other kinds than latency: a share of the classes below, beside what it had or instead of it.
//!
//! What shares hold is a sum over the shares that are there, so taking a decision back restores every bit, in whatever order.

use wayleave_contracts::SharedOrder;
use wayleave_ledger::Share;
use wayleave_protocol::Id;
use wayleave_roles::{ShareDecision, ShareRefusal};
use wayleave_schemes::share_request;
use wayleave_units::Time;

use super::Admission;
use crate::command::{Effect, Fault, Outcome};
use crate::decision::Decided;
use crate::event::EventKind;
use crate::journal::Dirty;
use crate::quota::Usage;
use crate::shared::{SharedContracts, SharedGrant};

/// A contract that is decided and not booked.
pub(super) struct SharedDraft {
    id: Id,
    order: SharedOrder,
    existing: Option<u64>,
    placed: Placed,
}

/// What was decided.
enum Placed {
    /// Nothing: it is so already.
    Same,
    /// Nothing about the network: only terms that the controller itself looks at have changed.
    Kept,
    /// A share, or nothing for best effort; with what it held before, which is free now.
    Reserved(Option<ShareDecision>, Option<Share>),
}

impl SharedDraft {
    pub(super) fn outcome(&self) -> Outcome {
        match (&self.placed, self.existing) {
            (Placed::Same, _) => Outcome::Unchanged,
            (_, None) => Outcome::Created,
            (_, Some(_)) => Outcome::Changed,
        }
    }
}

impl Admission {
    pub(crate) fn shared(&self) -> &SharedContracts {
        &self.shared
    }

    pub(crate) fn shared_mut(&mut self) -> &mut SharedContracts {
        &mut self.shared
    }

    /// Decides one contract; on failure everything is as it was.
    pub(super) fn draft_shared(
        &mut self,
        id: Id,
        order: SharedOrder,
        existing: Option<u64>,
        effect: Effect,
    ) -> Result<SharedDraft, (Fault, Option<u64>)> {
        let old = existing.and_then(|serial| self.shared.get(serial));
        if let Some(old) = old.filter(|old| old.order.contract == order.contract) {
            let placed = if old.order == order { Placed::Same } else { Placed::Kept };
            return Ok(SharedDraft { id, order, existing, placed });
        }
        let used = old.map(|old| Usage::of_shared(&old.order.contract));
        if let Err(short) = self.tenants.charge(&id.tenant, used, Usage::of_shared(&order.contract)) {
            return Err(self.refuse(&id, order.into(), Decided::Quota(short), effect));
        }
        let before = existing.and_then(|serial| self.take_share(serial));
        match self.admit_share(&order) {
            Ok(decision) => Ok(SharedDraft { id, order, existing, placed: Placed::Reserved(decision, before) }),
            Err(refusal) => {
                self.return_share(existing, before);
                self.tenants.uncharge(&id.tenant, used, Usage::of_shared(&order.contract));
                Err(self.refuse(&id, order.into(), Decided::RefusedShare(refusal), effect))
            }
        }
    }

    pub(super) fn admit_share(&mut self, order: &SharedOrder) -> Result<Option<ShareDecision>, ShareRefusal> {
        let request = share_request(&order.contract);
        request.map(|request| self.enforcement.book_mut().admit_share(&request)).transpose()
    }

    /// A contract gives up what it holds.
    pub(super) fn take_share(&mut self, serial: u64) -> Option<Share> {
        let share = self.shared.get_mut(serial)?.share.take()?;
        self.enforcement.book_mut().release_share(share)
    }

    /// It holds that again.
    pub(super) fn return_share(&mut self, serial: Option<u64>, share: Option<Share>) {
        let (Some(serial), Some(share)) = (serial, share) else { return };
        let share = self.enforcement.book_mut().put_share_back(share, serial);
        if let Some(grant) = self.shared.get_mut(serial) {
            grant.share = share;
        }
    }

    /// Takes a draft back.
    pub(super) fn withdraw_shared(&mut self, draft: SharedDraft) {
        let SharedDraft { id, order, existing, placed: Placed::Reserved(decision, before) } = draft else { return };
        if let Some(decision) = decision {
            self.enforcement.book_mut().release_share(decision.share);
        }
        self.return_share(existing, before);
        let old = existing.and_then(|serial| self.shared.get(serial));
        let used = old.map(|old| Usage::of_shared(&old.order.contract));
        self.tenants.uncharge(&id.tenant, used, Usage::of_shared(&order.contract));
    }

    /// Gives effect to a draft.
    pub(super) fn book_shared(&mut self, draft: SharedDraft) -> (Result<Outcome, Fault>, Option<u64>) {
        let outcome = draft.outcome();
        let SharedDraft { id, order, existing, placed } = draft;
        match (placed, existing) {
            (Placed::Same, _) | (Placed::Kept, None) => (Ok(outcome), None),
            (Placed::Kept, Some(serial)) => {
                self.enforcement.schedule_times(serial, order.starts, order.ends);
                if let Some(grant) = self.shared.get_mut(serial) {
                    grant.order = order;
                }
                self.touch_shared(serial);
                self.announce_shared(serial);
                (Ok(outcome), None)
            }
            (Placed::Reserved(decision, _), existing) => {
                let promised = decision.as_ref();
                let (certainty, within) = (promised.map(|one| one.certainty), promised.and_then(|one| one.within));
                let decided = Decided::AdmittedShare { certainty, within };
                let number = self.record(&id, order.clone().into(), decided);
                let serial = existing.unwrap_or_else(|| self.create_shared(id, &order));
                self.enforcement.schedule_times(serial, order.starts, order.ends);
                if let Some(grant) = self.shared.get_mut(serial) {
                    (grant.order, grant.decision) = (order, number);
                }
                self.settle_share(serial, decision);
                (Ok(outcome), Some(number))
            }
        }
    }

    fn create_shared(&mut self, id: Id, order: &SharedOrder) -> u64 {
        let serial = self.enforcement.journal_mut().next_serial();
        let created = self.enforcement.now().wall;
        self.shared.insert(SharedGrant::new(id, serial, order.clone(), created));
        serial
    }

    /// A contract has got a share, or nothing for best effort.
    pub(super) fn settle_share(&mut self, serial: u64, decision: Option<ShareDecision>) {
        let share = decision.as_ref().map(|one| one.share);
        let waits_for = share.map(|share| self.enforcement.share_must_wait_for(share)).unwrap_or_default();
        if let Some(share) = share {
            self.enforcement.book_mut().own_share(share, serial);
        }
        if let Some(grant) = self.shared.get_mut(serial) {
            (grant.share, grant.trouble) = (share, None);
            grant.certainty = decision.as_ref().map(|one| one.certainty);
            grant.within = decision.and_then(|one| one.within);
        }
        self.shared.wait(serial, waits_for);
        self.touch_shared(serial);
        self.announce_shared(serial);
        self.follow_certainty();
    }

    /// Ends a contract: what it had is free once its last packets have left.
    pub(crate) fn end_shared(&mut self, serial: u64) {
        if let Some(share) = self.shared.get_mut(serial).and_then(|grant| grant.share.take()) {
            self.enforcement.leave_share(share);
        }
        let Some(grant) = self.shared.remove(serial) else { return };
        self.tenants.subtract(&grant.id.tenant, Usage::of_shared(&grant.order.contract));
        let journal = self.enforcement.journal_mut();
        let revision = journal.next_revision_of(&grant.id.tenant);
        journal.mark(Dirty::Shared(serial));
        journal.contract_event(EventKind::Released, &grant.id, revision, String::new());
        journal.contract_event(EventKind::Gone, &grant.id, revision, String::new());
        self.follow_certainty();
    }

    /// The time has come at which a contract starts or ends.
    pub(super) fn start_or_end_shared(&mut self, serial: u64) {
        let (Some(grant), wall) = (self.shared.get(serial), self.enforcement.calendar()) else { return };
        if grant.order.ends.is_some_and(|ends| ends <= wall) {
            self.end_shared(serial);
            return;
        }
        // The calendar may have been past the start before, and jumped back.
        if let Some(starts) = grant.order.starts.filter(|&starts| starts > wall) {
            self.enforcement.schedule_times(serial, Some(starts), None);
        }
        self.announce_shared(serial);
    }

    /// Frees the shares of ended contracts that were held until this time, by the steady clock.
    pub(crate) fn free_left_shares(&mut self, now: Time) {
        if self.enforcement.book_mut().free_left_shares(now) {
            self.follow_certainty();
        }
    }

    /// Contracts whose releases are complete begin to be promised what they asked for.
    pub(crate) fn end_waits(&mut self) {
        let releases = self.enforcement.releases();
        for serial in self.shared.take_ready(|number| releases.get(number).is_some()) {
            self.touch_shared(serial);
            self.announce_shared(serial);
        }
    }

    /// The contract has changed: a new revision, and its record is to be written.
    pub(super) fn touch_shared(&mut self, serial: u64) {
        let journal = self.enforcement.journal_mut();
        journal.mark(Dirty::Shared(serial));
        if let Some(grant) = self.shared.get_mut(serial) {
            grant.revision = journal.next_revision_of(&grant.id.tenant);
        }
    }

    /// Tells watchers of the state of a contract, if it is another one.
    pub(super) fn announce_shared(&mut self, serial: u64) {
        let wall = self.enforcement.calendar();
        let Some(grant) = self.shared.get_mut(serial) else { return };
        let state = grant.state_now(wall);
        if state != grant.state {
            self.enforcement.journal_mut().announce(grant, state);
        }
    }
}
