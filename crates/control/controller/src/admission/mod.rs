//! Admission of contracts under quotas, and their reservations after failures.
//!
//! | file | content |
//! |---|---|
//! | `apply` | creating contracts and giving them other terms |
//! | `displaced` | contracts that lose their routes or shares, and contracts that regain them |
//! | `displaced_shares` | the part that is particular to shares |
//! | `shares` | reservations of contracts of other kinds than latency |

mod apply;
mod displaced;
mod displaced_shares;
mod shares;

use wayleave_contracts::{ContractRequest, Named, Policy};
use wayleave_ledger::{Model, Reservation};
use wayleave_protocol::Id;
use wayleave_scheme_api::Decision;
use wayleave_units::Human;

use crate::command::{CommandError, Outcome, Precondition, Reply};
use crate::decision::{Decided, DecisionRecord, Decisions};
use crate::enforcement::{self, DrainState, Enforcement};
use crate::event::EventKind;
use crate::grant::KindState;
use crate::journal::{DirtyRecord, Journal};
use crate::policies::Policies;
use crate::quota::QuotaUsage;
use crate::scheme_ledger::UndoReservation;
use crate::tenants::Tenants;

pub(crate) use apply::Checked;
pub(crate) use displaced::{Cause, Consequences, DisplacedContract};

/// Decides, and remembers decisions.
pub(crate) struct Admission {
    model: Model,
    tenants: Tenants,
    decisions: Decisions,
    enforcement: Enforcement,
    policies: Policies,
    /// [`Ledger::certainty_turns`](wayleave_ledger::Ledger::certainty_turns) when certainties were last refreshed.
    certainty_turns: u64,
}

/// State copied by [`Admission::copy`].
pub(crate) struct Copied {
    tenants: Tenants,
    policies: Policies,
    enforcement: enforcement::Copied,
}

impl Admission {
    /// Without tenants and decisions.
    pub(crate) fn new(model: Model, enforcement: Enforcement) -> Self {
        let (tenants, decisions) = (Tenants::default(), Decisions::default());
        Self { model, tenants, decisions, enforcement, policies: Policies::default(), certainty_turns: 0 }
    }

    /// Copies all state that questions need; past decisions are left out.
    pub(crate) fn copy(&self) -> Copied {
        let (tenants, policies) = (self.tenants.clone(), self.policies.clone());
        Copied { tenants, policies, enforcement: self.enforcement.copy() }
    }

    /// Continues from a copy.
    pub(crate) fn take_over(&mut self, copied: Copied) {
        let Copied { tenants, policies, enforcement } = copied;
        (self.tenants, self.policies) = (tenants, policies);
        self.enforcement.take_over(enforcement);
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// The tenants, with the journal for their changes.
    pub(crate) fn tenants_mut(&mut self) -> (&mut Tenants, &mut Journal) {
        (&mut self.tenants, self.enforcement.journal_mut())
    }

    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The policies, with the ledger in which their minima are held.
    pub(crate) fn policies_mut(&mut self) -> (&mut Policies, &mut Enforcement) {
        (&mut self.policies, &mut self.enforcement)
    }

    /// Keeps a policy, or another one in the place of one.
    pub(crate) fn put_policy(&mut self, policy: Policy, check: Precondition) -> Result<Reply, CommandError> {
        Named::Policy.check(policy.name()).map_err(|error| CommandError::wrong_name(&error))?;
        let name = policy.name().to_owned();
        let known = self.policies.get(&name);
        check.hold(known.map(|state| state.revision))?;
        if let Some(same) = known.filter(|state| state.policy == policy) {
            return Ok(Reply::Done { outcome: Outcome::Unchanged, revision: same.revision });
        }
        if !self.enforcement.ledger().has_shares() {
            return Err(CommandError::NoClasses);
        }
        let outcome = if known.is_some() { Outcome::Changed } else { Outcome::Created };
        let revision = self.enforcement.journal().revision() + 1;
        let held = self.policies.put(self.enforcement.scheme_ledger_mut(), policy, revision);
        held.map_err(|short| CommandError::PolicyRefused(Box::new(short)))?;
        self.policy_changed(&name, EventKind::Put);
        Ok(Reply::Done { outcome, revision })
    }

    /// Keeps a policy no longer.
    pub(crate) fn delete_policy(&mut self, name: &str, check: Precondition) -> Result<Reply, CommandError> {
        check.hold(self.policies.get(name).map(|state| state.revision))?;
        if !self.policies.remove(self.enforcement.scheme_ledger_mut(), name) {
            return Ok(Reply::Done { outcome: Outcome::Absent, revision: self.enforcement.journal().revision() });
        }
        let revision = self.policy_changed(name, EventKind::Deleted);
        Ok(Reply::Done { outcome: Outcome::Deleted, revision })
    }

    /// Records a changed policy, and retries degraded contracts later: they may fit now.
    fn policy_changed(&mut self, name: &str, kind: EventKind) -> u64 {
        let journal = self.enforcement.journal_mut();
        let revision = journal.next_revision();
        journal.mark(DirtyRecord::Policy(name.to_owned()));
        journal.event(kind, &format!("policy {name}"), None, revision, String::new());
        self.retry_later();
        revision
    }

    pub(crate) fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    pub(crate) fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    pub(crate) fn enforcement_mut(&mut self) -> &mut Enforcement {
        &mut self.enforcement
    }

    /// Returns the serial number and the revision of the contract, of any kind, that has a name now.
    pub(crate) fn version_of(&self, id: &Id) -> Option<(u64, u64)> {
        let present = self.enforcement.contracts().named(id).filter(|grant| !grant.is_ended);
        present.map(|grant| (grant.serial, grant.revision))
    }

    /// Ends a contract.
    pub(crate) fn end(&mut self, serial: u64) {
        let grant = self.enforcement.contracts().get(serial).filter(|grant| !grant.is_ended);
        let Some(grant) = grant else { return };
        self.tenants.subtract(&grant.id.tenant, QuotaUsage::of(&grant.order.contract));
        match grant.held {
            KindState::Latency(_) => self.enforcement.end(serial),
            KindState::Share(_) => self.end_share(serial),
        }
    }

    /// The time has come at which a contract starts or ends.
    pub(crate) fn start_or_end(&mut self, serial: u64) {
        let Some(grant) = self.enforcement.contracts().get(serial) else { return };
        if grant.order.ends.is_some_and(|ends| ends <= self.enforcement.calendar()) {
            self.end(serial);
        } else {
            self.enforcement.advance(serial);
        }
    }

    /// Remembers a decision; its number.
    fn record(&mut self, id: &Id, order: ContractRequest, decided: Decided) -> u64 {
        let at = self.enforcement.now().wall;
        let (sequence, number) = self.enforcement.journal_mut().next_decision(&id.tenant);
        self.decisions.push(DecisionRecord { sequence, number, at, id: id.clone(), order, decided });
        number
    }

    /// The contracts that a decision has moved run elsewhere from now on; which they are.
    fn book_moves(&mut self, decision: &Decision) -> Vec<Id> {
        let mut moved: Vec<Id> = Vec::new();
        for one in &decision.moved {
            let serial = self.enforcement.scheme_ledger().owner(one.flow);
            let Some(grant) = self.enforcement.contracts().get(serial) else { continue };
            let id = Id::clone(&grant.id);
            // Not from the ledger: in a list that is decided together, the flow may have got other terms after its move.
            let Some(terms) = grant.terms() else { continue };
            let (demand, deadline) = (terms.demand(self.model.overhead), terms.deadline);
            let reservation = Reservation { demand, route: one.from.clone(), placed: one.placed };
            let enforcement = &mut self.enforcement;
            // Its own pending releases count, too: only its latest reservation was checked beside the new one.
            let waits_for = enforcement.must_wait_for(std::slice::from_ref(&one.to), None, DrainState::Uncertain);
            let reserved = UndoReservation { reservations: vec![reservation], deadline, is_pinned: false };
            enforcement.leave_next(serial, reserved);
            let bound = enforcement.scheme_ledger().placement().promised(one.flow);
            if let Some(bound) = bound
                && let Some(latency) = enforcement.contracts_mut().latency_mut(serial)
            {
                latency.set_bound(bound);
            }
            enforcement.run(serial, waits_for);
            enforcement.advance(serial);
            if let Some((grant, bound)) =
                enforcement.contracts().get(serial).and_then(|grant| Some((grant, grant.bound()?)))
            {
                let (revision, detail) = (grant.revision, format!("bound {}", bound.up()));
                enforcement.journal_mut().contract_event(EventKind::Rerouted, &id, revision, detail);
            }
            if !moved.contains(&id) {
                moved.push(id);
            }
        }
        moved
    }
}
