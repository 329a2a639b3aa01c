//! Creating contracts and giving them other terms.
//!
//! A list is decided first, which can be taken back exactly, and booked then, which cannot fail. So all-or-nothing, a dry run and
//! an ordinary request are the same code.

use std::collections::HashSet;

use wayleave_contracts::ContractRequest;
use wayleave_ledger::ReservedShare;
use wayleave_protocol::Id;
use wayleave_scheme_api::{Decision, Refusal, Request, ShareDecision};
use wayleave_topology::FlowId;

use super::Admission;
use crate::command::{CommandError, Effect, ItemResult, Mode, Outcome};
use crate::decision::{ContractPromise, Decided, routes};
use crate::enforcement::DrainState;
use crate::event::EventKind;
use crate::grant::AdmittedContract;
use crate::quota::QuotaUsage;
use crate::scheme_ledger::UndoReservation;

/// A contract that the controller has checked: everything but the decision of the scheme.
pub(crate) struct Checked {
    pub(crate) id: Id,
    pub(crate) order: ContractRequest,
    /// The contract that has the name, if there is one.
    pub(crate) existing: Option<u64>,
    /// The contract that ends when this one is booked: the same contract with an end on another host. Its reservation
    /// is kept until its last packets have left, so the new one has to fit beside it.
    pub(crate) replaces: Option<u64>,
}

/// A contract that is decided and not booked.
struct Draft {
    id: Id,
    order: ContractRequest,
    existing: Option<u64>,
    replaces: Option<u64>,
    placed: Placed,
}

/// Decision about a draft.
enum Placed {
    /// Nothing: it is so already.
    Same,
    /// Nothing about the network: only terms that the controller itself uses have changed.
    Kept,
    /// A reservation, with the one that it had before.
    Reserved(Box<Decision>, Option<Before>),
    /// A share, or nothing for best effort; with the share that it held before, which is free now.
    Shared(Option<ShareDecision>, Option<ReservedShare>),
}

/// Reservation of a contract before its terms changed.
enum Before {
    /// It still has that, beside the new one.
    Beside(FlowId),
    /// It had to be given up for the new one.
    Instead(UndoReservation),
}

impl Admission {
    /// Decides a list of orders, in order. `check` is the controller's check of each order before the scheme is
    /// asked. In a list that takes effect item by item, it is called after the previous items have taken effect.
    pub(crate) fn apply<C>(
        &mut self,
        orders: Vec<(ContractRequest, C)>,
        mode: Mode,
        effect: Effect,
        check: impl Fn(&Self, ContractRequest, C) -> (Id, Result<Checked, CommandError>),
    ) -> Vec<ItemResult> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut named: HashSet<Id> = HashSet::new();
        let mut applied = Vec::with_capacity(orders.len());
        let book_at_once = mode == Mode::Each && effect == Effect::Commit;
        for (order, condition) in orders {
            let (id, checked) = check(self, order, condition);
            let is_new = book_at_once || named.insert(id.clone());
            let drafted = match checked {
                _ if !is_new => Err((twice(&id), None)),
                Ok(checked) => self.draft(checked, effect),
                Err(fault) => Err((fault, None)),
            };
            let (result, decision) = match drafted {
                Ok(draft) if book_at_once => self.book(draft, DrainState::Certain),
                Ok(draft) => {
                    let outcome = draft.outcome();
                    drafts.push(draft);
                    (Ok(outcome), None)
                }
                Err((fault, decision)) => (Err(fault), decision),
            };
            applied.push(ItemResult { id, result, decision });
        }
        let is_whole = applied.iter().all(|one| one.result.is_ok());
        if effect == Effect::Commit && (mode == Mode::Each || is_whole) {
            let freed = if drafts.len() > 1 { DrainState::Uncertain } else { DrainState::Certain };
            let mut booked: Vec<_> = drafts.into_iter().map(|draft| self.book(draft, freed)).collect();
            for (one, (_, decision)) in applied.iter_mut().zip(booked.drain(..)) {
                one.decision = decision;
            }
        } else {
            drafts.into_iter().rev().for_each(|draft| self.withdraw(draft));
        }
        if mode == Mode::AllOrNothing && !is_whole {
            applied
                .iter_mut()
                .filter(|one| one.result.is_ok())
                .for_each(|one| one.result = Err(CommandError::WithOthers));
        }
        applied
    }

    /// Decides one contract; on failure everything is as it was.
    fn draft(&mut self, checked: Checked, effect: Effect) -> Result<Draft, (CommandError, Option<u64>)> {
        let Checked { id, order, existing, replaces } = checked;
        let old = existing.and_then(|serial| self.enforcement.contracts().get(serial)).map(|grant| &grant.order);
        if let Some(old) = old.filter(|old| old.contract == order.contract) {
            let placed = if *old == order { Placed::Same } else { Placed::Kept };
            return Ok(Draft { id, order, existing, replaces, placed });
        }
        let (old, new) = (self.usage_of(existing.or(replaces)), QuotaUsage::of(&order.contract));
        if let Err(short) = self.tenants.charge(&id.tenant, old, new) {
            return Err(self.refuse(&id, order, Decided::Quota(short), effect));
        }
        match self.place(existing, &order) {
            Ok(placed) => Ok(Draft { id, order, existing, replaces, placed }),
            Err(refused) => {
                self.tenants.uncharge(&id.tenant, old, new);
                Err(self.refuse(&id, order, refused, effect))
            }
        }
    }

    /// Asks the scheme for a reservation, or for a share.
    fn place(&mut self, existing: Option<u64>, order: &ContractRequest) -> Result<Placed, Decided> {
        if let Some(terms) = order.as_latency() {
            let request = wayleave_schemes::request(terms, &self.model);
            let placed = self.place_anew(existing, &request).map_err(Decided::Refused)?;
            return Ok(Placed::Reserved(Box::new(placed.0), placed.1));
        }
        let before = existing.and_then(|serial| self.take_share(serial));
        match self.admit_share(&order.contract) {
            Ok(decision) => Ok(Placed::Shared(decision, before)),
            Err(refusal) => {
                self.return_share(existing, before);
                Err(Decided::Refused(refusal))
            }
        }
    }

    /// Asks the scheme for a reservation beside the present one, which is safe at any moment; if that is refused,
    /// instead of the present one.
    fn place_anew(&mut self, existing: Option<u64>, request: &Request) -> Result<(Decision, Option<Before>), Refusal> {
        let of_grant = |grant: &AdmittedContract| Some((grant.flow()?, grant.is_pinned()));
        let old = existing.and_then(|serial| of_grant(self.enforcement.contracts().get(serial)?));
        let (Some(serial), Some((flow, is_pinned))) = (existing, old) else {
            return self.enforcement.scheme_ledger_mut().admit(request).map(|decision| (decision, None));
        };
        if let Ok(decision) = self.enforcement.scheme_ledger_mut().admit(request) {
            return Ok((decision, Some(Before::Beside(flow))));
        }
        let Some(reserved) = self.enforcement.scheme_ledger().reserved(flow, is_pinned) else {
            return Err(Refusal::Disconnected);
        };
        self.enforcement.scheme_ledger_mut().release(flow);
        match self.enforcement.scheme_ledger_mut().admit(request) {
            Ok(decision) => Ok((decision, Some(Before::Instead(reserved)))),
            Err(refusal) => {
                self.return_reservation(serial, reserved);
                Err(refusal)
            }
        }
    }

    fn return_reservation(&mut self, serial: u64, reserved: UndoReservation) {
        let flow = self.enforcement.scheme_ledger_mut().put_back(reserved, serial);
        if let Some(latency) = self.enforcement.contracts_mut().latency_mut(serial) {
            latency.flow = flow;
        }
    }

    /// Takes a draft back: every later decision was taken back before.
    fn withdraw(&mut self, draft: Draft) {
        let old = self.usage_of(draft.existing.or(draft.replaces));
        match draft.placed {
            Placed::Same | Placed::Kept => return,
            Placed::Reserved(decision, before) => {
                self.enforcement.scheme_ledger_mut().take_back(&decision);
                if let (Some(Before::Instead(reserved)), Some(serial)) = (before, draft.existing) {
                    self.return_reservation(serial, reserved);
                }
            }
            Placed::Shared(decision, before) => {
                if let Some(decision) = decision {
                    self.enforcement.scheme_ledger_mut().release_share(decision.share);
                }
                self.return_share(draft.existing, before);
            }
        }
        self.tenants.uncharge(&draft.id.tenant, old, QuotaUsage::of(&draft.order.contract));
    }

    /// Usage of a contract, as its tenant's quota counts it.
    fn usage_of(&self, serial: Option<u64>) -> Option<QuotaUsage> {
        let grant = self.enforcement.contracts().get(serial?)?;
        Some(QuotaUsage::of(&grant.order.contract))
    }

    pub(super) fn refuse(
        &mut self,
        id: &Id,
        order: ContractRequest,
        decided: Decided,
        effect: Effect,
    ) -> (CommandError, Option<u64>) {
        let reason = decided.reason().unwrap_or_default();
        let number = self.record(id, order, decided);
        if effect == Effect::Commit {
            let revision = self.enforcement.journal().revision_of(&id.tenant);
            self.enforcement.journal_mut().contract_event(EventKind::Refused, id, revision, reason.to_owned());
        }
        (CommandError::Refused { tenant: id.tenant.clone(), decision: number, reason }, Some(number))
    }

    /// Gives effect to a draft.
    fn book(&mut self, draft: Draft, freed: DrainState) -> (Result<Outcome, CommandError>, Option<u64>) {
        let outcome = draft.outcome();
        let Draft { id, order, existing, replaces, placed } = draft;
        match (placed, existing) {
            (Placed::Same, _) => (Ok(outcome), None),
            (Placed::Kept, Some(serial)) => {
                self.keep_reservation(serial, order);
                (Ok(outcome), None)
            }
            (Placed::Reserved(decision, before), existing) => {
                // Before others are moved, since they were moved into what this leaves.
                let (beside, left) = match (before, existing) {
                    (Some(Before::Instead(reserved)), Some(serial)) => {
                        (None, self.enforcement.leave_next(serial, reserved))
                    }
                    (Some(Before::Beside(flow)), _) => (Some(flow), None),
                    _ => (None, None),
                };
                let moved = self.book_moves(&decision);
                if let Some(old) = replaces {
                    self.enforcement.end(old);
                }
                let decided = Decided::Admitted(ContractPromise::Delay { bound: decision.bound, moved });
                let number = self.record(&id, order.clone(), decided);
                let serial = match existing {
                    Some(serial) => self.give_terms(serial, order, &decision, beside, left, freed),
                    None => self.create(id, order, &decision, freed),
                };
                if let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) {
                    grant.decision = number;
                }
                self.enforcement.advance(serial);
                (Ok(outcome), Some(number))
            }
            (Placed::Shared(decision, _), existing) => {
                let promised = decision.as_ref();
                let (certainty, within) = (promised.map(|one| one.certainty), promised.and_then(|one| one.within));
                let decided = Decided::Admitted(ContractPromise::Share { certainty, within });
                let number = self.record(&id, order.clone(), decided);
                let serial = match existing {
                    Some(serial) => {
                        self.enforcement.schedule(serial, &order);
                        if let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) {
                            grant.order = order;
                        }
                        serial
                    }
                    None => self.insert(id, order),
                };
                if let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) {
                    grant.decision = number;
                }
                self.settle_share(serial, decision);
                (Ok(outcome), Some(number))
            }
            (Placed::Kept, None) => (Ok(outcome), None),
        }
    }

    /// Adds a contract that holds nothing yet; its serial number.
    fn insert(&mut self, id: Id, order: ContractRequest) -> u64 {
        let serial = self.enforcement.journal_mut().next_serial();
        self.enforcement.schedule(serial, &order);
        let created = self.enforcement.now().wall;
        self.enforcement.contracts_mut().insert(AdmittedContract::new(id, serial, order, created));
        serial
    }

    fn create(&mut self, id: Id, order: ContractRequest, decision: &Decision, freed: DrainState) -> u64 {
        let serial = self.insert(id, order);
        let enforcement = &mut self.enforcement;
        enforcement.scheme_ledger_mut().own(decision.flow, serial);
        if let Some(latency) = enforcement.contracts_mut().latency_mut(serial) {
            latency.reserve(decision.flow, decision.bound);
        }
        let waits_for = enforcement.must_wait_for(&routes(decision), None, freed);
        enforcement.run(serial, waits_for);
        serial
    }

    /// Gives a contract a new reservation, beside its old one or instead of the old one.
    fn give_terms(
        &mut self,
        serial: u64,
        order: ContractRequest,
        decision: &Decision,
        beside: Option<FlowId>,
        left: Option<u64>,
        freed: DrainState,
    ) -> u64 {
        let enforcement = &mut self.enforcement;
        enforcement.schedule(serial, &order);
        let Some(grant) = enforcement.contracts_mut().get_mut(serial) else { return serial };
        let is_pinned = grant.is_pinned();
        (grant.degraded_reason, grant.order) = (None, order);
        if let Some(latency) = grant.latency_mut() {
            latency.reserve(decision.flow, decision.bound);
        }
        // Problems that its agents report hold for the new rule, too, until they report otherwise.
        enforcement.refresh_degraded(serial);
        enforcement.scheme_ledger_mut().own(decision.flow, serial);
        // Before it leaves what it has: if that stays beside the new reservation until then, it need not wait for it.
        let demand = enforcement.ledger().flow(decision.flow).map(|reservation| reservation.demand);
        let mut waits_for = enforcement.must_wait_for(&routes(decision), left.zip(demand), freed);
        // A contract that it waits for may wait for the route that it leaves: it stops, so that they do not wait for one another.
        if !waits_for.is_empty() {
            waits_for.extend(left);
        }
        if let Some(flow) = beside {
            if let Some(reserved) = enforcement.scheme_ledger().reserved(flow, is_pinned) {
                enforcement.leave_next(serial, reserved);
            }
            enforcement.scheme_ledger_mut().release(flow);
        }
        enforcement.run(serial, waits_for);
        serial
    }

    /// Other terms with the same reservation: a new rule where the sender needs one, new times.
    fn keep_reservation(&mut self, serial: u64, order: ContractRequest) {
        let enforcement = &mut self.enforcement;
        enforcement.schedule(serial, &order);
        let Some(grant) = enforcement.contracts_mut().get_mut(serial) else { return };
        let is_rule = grant.order.matching != order.matching;
        grant.order = order;
        if let Some(sender) =
            grant.latency_mut().map(|latency| &mut latency.sender).filter(|sender| is_rule && sender.run.is_some())
        {
            sender.run = Some(sender.next_version());
        }
        enforcement.touch(serial);
        enforcement.advance(serial);
    }
}

impl Draft {
    fn outcome(&self) -> Outcome {
        match (&self.placed, self.existing) {
            (Placed::Same, _) => Outcome::Unchanged,
            (_, None) => Outcome::Created,
            (_, Some(_)) => Outcome::Changed,
        }
    }
}

/// Returns the error for a contract that a batch names twice.
fn twice(id: &Id) -> CommandError {
    CommandError::Invalid { field: "name", message: format!("contract {id} is in the list twice") }
}
