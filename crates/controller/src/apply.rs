//! Creating contracts and giving them other terms.
//!
//! A list is decided first, which can be taken back exactly, and booked then, which cannot fail. So all-or-nothing, a dry run and
//! an ordinary request are the same code.

use std::collections::HashSet;

use wayleave_contracts::{Contract, Demand, Order};
use wayleave_ledger::Reservation;
use wayleave_roles::{Decision, Refusal, Request};
use wayleave_topology::{FlowId, NodeId, NodeKind, Route};

use crate::book::Place;
use crate::command::{Applied, Check, Fault, Mode, Outcome, Standing};
use crate::controller::Controller;
use crate::decision::{Decided, DecisionRecord};
use crate::event::EventKind;
use crate::grant::{Grant, Sender};
use crate::leaving::Room;
use wayleave_protocol::contract::State;
use wayleave_protocol::{DEFAULT_TENANT, Id};

/// A contract that is decided and not booked.
struct Draft {
    id: Id,
    order: Order,
    request: Request,
    existing: Option<u64>,
    placed: Placed,
}

/// What was decided.
enum Placed {
    /// Nothing: it is so already.
    Same,
    /// Nothing about the network: only what the controller itself looks at is another.
    Kept,
    /// A place, with what it had before.
    At(Box<Decision>, Option<Before>),
}

/// What a contract had before it got other terms.
enum Before {
    /// It has that still, beside the new.
    Beside(FlowId),
    /// It had to be given up for the new.
    Instead(Place),
}

impl Controller {
    pub(crate) fn apply(&mut self, orders: Vec<(Order, Check)>, mode: Mode, standing: Standing) -> Vec<Applied> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut named: HashSet<Id> = HashSet::new();
        let mut applied = Vec::with_capacity(orders.len());
        let book_at_once = mode == Mode::Each && standing == Standing::ForGood;
        for (order, check) in orders {
            let id = id_of(&order);
            let is_new = book_at_once || named.insert(id.clone());
            let drafted = if is_new { self.draft(&id, order, check, standing) } else { Err((twice(&id), None)) };
            let (result, decision) = match drafted {
                Ok(draft) if book_at_once => self.book(draft, Room::Known),
                Ok(draft) => {
                    let outcome = draft.outcome();
                    drafts.push(draft);
                    (Ok(outcome), None)
                }
                Err((fault, decision)) => (Err(fault), decision),
            };
            applied.push(Applied { id, result, decision });
        }
        let is_whole = applied.iter().all(|one| one.result.is_ok());
        if standing == Standing::ForGood && (mode == Mode::Each || is_whole) {
            let room = if drafts.len() > 1 { Room::Unknown } else { Room::Known };
            let mut booked: Vec<_> = drafts.into_iter().map(|draft| self.book(draft, room)).collect();
            for (one, (_, decision)) in applied.iter_mut().zip(booked.drain(..)) {
                one.decision = decision;
            }
        } else {
            drafts.into_iter().rev().for_each(|draft| self.withdraw(draft));
        }
        if mode == Mode::AllOrNothing && !is_whole {
            applied.iter_mut().filter(|one| one.result.is_ok()).for_each(|one| one.result = Err(Fault::WithOthers));
        }
        applied
    }

    /// Decides one contract; on failure everything is as it was.
    fn draft(
        &mut self,
        id: &Id,
        order: Order,
        check: Check,
        standing: Standing,
    ) -> Result<Draft, (Fault, Option<u64>)> {
        let existing = self.examine(id, &order, check).map_err(|fault| (fault, None))?;
        let request = wayleave_schemes::request(&order.contract, &self.model);
        let draft = |order, placed| Draft { id: id.clone(), order, request: request.clone(), existing, placed };
        if let Some(grant) = existing.and_then(|serial| self.grants.get(&serial)) {
            if grant.order == order {
                return Ok(draft(order, Placed::Same));
            }
            if grant.order.contract == order.contract {
                return Ok(draft(order, Placed::Kept));
            }
        }
        if let Err(decided) = self.charge(existing, &order.contract) {
            return Err(self.refuse(id, order, request, decided, standing));
        }
        match self.place_anew(existing, &request) {
            Ok((decision, before)) => Ok(draft(order, Placed::At(Box::new(decision), before))),
            Err(refusal) => {
                self.uncharge(existing, &order.contract);
                Err(self.refuse(id, order, request, Decided::Refused(refusal), standing))
            }
        }
    }

    /// Everything that can be said before the scheme is asked; the contract that has the name, if there is one.
    fn examine(&self, id: &Id, order: &Order, check: Check) -> Result<Option<u64>, Fault> {
        let invalid = |field, message| Err(Fault::Invalid { field, message });
        self.tenant(&id.tenant)?;
        let existing = self.grant(id).filter(|grant| !grant.is_ended);
        check.hold(existing.map(|grant| grant.revision))?;
        if let Err(error) = order.validate() {
            return invalid(error.field(), error.to_string());
        }
        for (field, name, node) in [("from", &order.from, order.contract.from), ("to", &order.to, order.contract.to)] {
            if self.end_of(id, name) != Some(node) {
                let message =
                    format!("{name} is no host, and no VM of tenant {}, or has just been put elsewhere", id.tenant);
                return invalid(field, message);
            }
        }
        if let Err(error) = order.contract.validate(&self.network) {
            return invalid(error.field(), error.to_string());
        }
        if let Some(ends) = order.ends.filter(|&ends| ends <= self.now.wall) {
            return invalid(
                "ends",
                format!("the contract would have ended at {ends}, and it is {} already", self.now.wall),
            );
        }
        let Some(grant) = existing else { return Ok(None) };
        for (field, old, new) in [("from", &grant.order.from, &order.from), ("to", &grant.order.to, &order.to)] {
            if old != new {
                let message =
                    format!("contract {id} is between other ends ({field} is {old}): delete it and create another");
                return invalid(field, message);
            }
        }
        Ok(Some(grant.serial))
    }

    /// The host that a name means to a tenant: of its VM, or the host of that name.
    pub fn end_of(&self, id: &Id, name: &str) -> Option<NodeId> {
        let vm = self.vms.get(&Id::new(id.tenant.as_str(), name)).map(|vm| vm.host);
        vm.or_else(|| self.network.find_node(name).filter(|&node| self.network.node(node).kind == NodeKind::Host))
    }

    /// Counts a contract among what its tenant has, in place of what it was before.
    fn charge(&mut self, existing: Option<u64>, contract: &Contract) -> Result<(), Decided> {
        let old = existing.and_then(|serial| self.grants.get(&serial)).map(|grant| grant.order.contract.clone());
        let Some(tenant) = self.tenants.get_mut(contract.tenant.as_deref().unwrap_or(DEFAULT_TENANT)) else {
            return Ok(());
        };
        let before = tenant.usage;
        if let Some(old) = &old {
            tenant.usage.subtract(old);
        }
        tenant.usage.add(contract);
        let grows = tenant.usage.rate > before.rate || tenant.usage.burst > before.burst || old.is_none();
        // A quota that was lowered below what is there does not stand in the way of asking for less.
        if let Some(short) = tenant.usage.beyond(&tenant.quota).filter(|_| grows) {
            tenant.usage = before;
            return Err(Decided::Quota(short));
        }
        Ok(())
    }

    fn uncharge(&mut self, existing: Option<u64>, contract: &Contract) {
        let old = existing.and_then(|serial| self.grants.get(&serial)).map(|grant| grant.order.contract.clone());
        let Some(tenant) = self.tenants.get_mut(contract.tenant.as_deref().unwrap_or(DEFAULT_TENANT)) else { return };
        tenant.usage.subtract(contract);
        if let Some(old) = &old {
            tenant.usage.add(old);
        }
    }

    /// Asks the scheme: beside what the contract has, which is safe at any moment, else instead of it.
    fn place_anew(&mut self, existing: Option<u64>, request: &Request) -> Result<(Decision, Option<Before>), Refusal> {
        let of_grant = |grant: &Grant| Some((grant.flow?, grant.is_pinned()));
        let old = existing.and_then(|serial| of_grant(self.grants.get(&serial)?));
        let (Some(serial), Some((flow, is_pinned))) = (existing, old) else {
            return self.book.admit(request).map(|decision| (decision, None));
        };
        if let Ok(decision) = self.book.admit(request) {
            return Ok((decision, Some(Before::Beside(flow))));
        }
        let Some(place) = self.book.place(flow, is_pinned) else { return Err(Refusal::Disconnected) };
        self.book.release(flow);
        match self.book.admit(request) {
            Ok(decision) => Ok((decision, Some(Before::Instead(place)))),
            Err(refusal) => {
                self.return_place(serial, place);
                Err(refusal)
            }
        }
    }

    fn return_place(&mut self, serial: u64, place: Place) {
        let flow = self.book.put_back(place, serial);
        if let Some(grant) = self.grants.get_mut(&serial) {
            grant.flow = flow;
        }
    }

    /// Takes a draft back: nothing was decided after it that stands.
    fn withdraw(&mut self, draft: Draft) {
        let Placed::At(decision, before) = draft.placed else { return };
        self.book.take_back(&decision);
        if let (Some(Before::Instead(place)), Some(serial)) = (before, draft.existing) {
            self.return_place(serial, place);
        }
        self.uncharge(draft.existing, &draft.order.contract);
    }

    fn refuse(
        &mut self,
        id: &Id,
        order: Order,
        request: Request,
        decided: Decided,
        standing: Standing,
    ) -> (Fault, Option<u64>) {
        let reason = decided.reason().unwrap_or_default();
        let number = self.record(id, order, request, decided);
        if standing == Standing::ForGood {
            let revision = self.counters.revision;
            self.event(EventKind::Refused, &id.to_string(), Some(id.tenant.clone()), revision, reason.to_owned());
        }
        (Fault::Refused { decision: number, reason }, Some(number))
    }

    pub(crate) fn record(&mut self, id: &Id, order: Order, request: Request, decided: Decided) -> u64 {
        self.counters.decision += 1;
        self.mark(crate::controller::Dirty::Counters);
        let number = self.counters.decision;
        self.decisions.push(DecisionRecord { number, at: self.now.wall, id: id.clone(), order, request, decided });
        number
    }

    /// Makes a draft stand.
    fn book(&mut self, draft: Draft, room: Room) -> (Result<Outcome, Fault>, Option<u64>) {
        let outcome = draft.outcome();
        let Draft { id, order, request, existing, placed } = draft;
        match (placed, existing) {
            (Placed::Same, _) => (Ok(outcome), None),
            (Placed::Kept, Some(serial)) => {
                self.keep_place(serial, order);
                (Ok(outcome), None)
            }
            (Placed::At(decision, before), existing) => {
                // Before others are moved, since they were moved into what this leaves.
                let (beside, left) = match (before, existing) {
                    (Some(Before::Instead(place)), Some(serial)) => (None, self.leave_now(serial, place)),
                    (Some(Before::Beside(flow)), _) => (Some(flow), None),
                    _ => (None, None),
                };
                let moved = self.book_moves(&decision);
                let decided = Decided::Admitted { bound: decision.bound, moved };
                let number = self.record(&id, order.clone(), request, decided);
                let serial = match existing {
                    Some(serial) => self.give_terms(serial, order, &decision, beside, left, room),
                    None => self.create(id, order, &decision, room),
                };
                if let Some(grant) = self.grants.get_mut(&serial) {
                    grant.decision = number;
                }
                self.advance(serial);
                (Ok(outcome), Some(number))
            }
            (Placed::Kept, None) => (Ok(outcome), None),
        }
    }

    fn create(&mut self, id: Id, order: Order, decision: &Decision, room: Room) -> u64 {
        self.counters.serial += 1;
        let serial = self.counters.serial;
        self.book.own(decision.flow, serial);
        for time in [order.starts.filter(|&starts| starts > self.now.wall), order.ends].into_iter().flatten() {
            self.timers.at_wall(time, serial);
        }
        let grant = Grant {
            id: id.clone(),
            serial,
            order,
            revision: 0,
            created: self.now.wall,
            decision: 0,
            bound: decision.bound,
            // Not announced yet.
            state: State::Released,
            trouble: None,
            violation: None,
            flow: Some(decision.flow),
            is_ended: false,
            sender: Sender::default(),
        };
        self.grants.insert(serial, grant);
        self.by_id.insert(id, serial);
        let waits_for = self.in_the_way(&routes(decision), None, room);
        self.run(serial, waits_for);
        serial
    }

    /// A contract has a new place, beside its old one or instead of it.
    fn give_terms(
        &mut self,
        serial: u64,
        order: Order,
        decision: &Decision,
        beside: Option<FlowId>,
        left: Option<u64>,
        room: Room,
    ) -> u64 {
        let Some(grant) = self.grants.get_mut(&serial) else { return serial };
        let is_pinned = grant.is_pinned();
        (grant.bound, grant.trouble, grant.flow) = (decision.bound, None, Some(decision.flow));
        for time in [order.starts.filter(|&starts| starts > self.now.wall), order.ends].into_iter().flatten() {
            self.timers.at_wall(time, serial);
        }
        grant.order = order;
        self.book.own(decision.flow, serial);
        // Before it leaves what it has: if that stays beside the new place until then, it need not wait for it.
        let demand = self.book.ledger().flow(decision.flow).map(|reservation| reservation.demand);
        let mut waits_for = self.in_the_way(&routes(decision), left.zip(demand), room);
        // What it waits for may wait for what it leaves: it stops, and nobody waits for himself.
        if !waits_for.is_empty() {
            waits_for.extend(left);
        }
        if let Some(flow) = beside {
            if let Some(place) = self.book.place(flow, is_pinned) {
                self.leave_now(serial, place);
            }
            self.book.release(flow);
        }
        self.run(serial, waits_for);
        serial
    }

    /// Other words about the same place: a new rule where the sender needs one, new times.
    fn keep_place(&mut self, serial: u64, order: Order) {
        let Some(grant) = self.grants.get_mut(&serial) else { return };
        let is_rule = grant.order.matching != order.matching;
        for time in [order.starts.filter(|&starts| starts > self.now.wall), order.ends].into_iter().flatten() {
            self.timers.at_wall(time, serial);
        }
        grant.order = order;
        if is_rule && grant.sender.run.is_some() {
            grant.sender.run = Some(grant.sender.next_version());
        }
        self.touch(serial);
        self.advance(serial);
    }

    /// The contracts that were moved to make room run elsewhere from now on; which they are.
    pub(crate) fn book_moves(&mut self, decision: &Decision) -> Vec<Id> {
        let mut moved: Vec<Id> = Vec::new();
        for one in &decision.moved {
            let serial = self.book.owner(one.flow);
            let Some(grant) = self.grants.get(&serial) else { continue };
            let id = grant.id.clone();
            // Not from the ledger: in a list that is decided together, the flow may have got other terms after its move.
            let request = wayleave_schemes::request(&grant.order.contract, &self.model);
            let demand = Demand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
            let reservation = Reservation { demand, route: one.from.clone(), placed: one.placed };
            // Also what it left itself before: only where it is now was looked at beside where it goes.
            let waits_for = self.in_the_way(std::slice::from_ref(&one.to), None, Room::Unknown);
            let place = Place { reservations: vec![reservation], deadline: request.deadline, is_pinned: false };
            self.leave_now(serial, place);
            if let Some(bound) = self.book.placement().promised(one.flow)
                && let Some(grant) = self.grants.get_mut(&serial)
            {
                grant.bound = bound;
            }
            self.run(serial, waits_for);
            self.advance(serial);
            if let Some(grant) = self.grants.get(&serial) {
                let (revision, detail) = (grant.revision, format!("bound {}", grant.bound));
                self.event(EventKind::Rerouted, &id.to_string(), Some(id.tenant.clone()), revision, detail);
            }
            if !moved.contains(&id) {
                moved.push(id);
            }
        }
        moved
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

/// All routes of a decision.
pub(crate) fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}

/// What is decided together can name a contract only once.
fn twice(id: &Id) -> Fault {
    Fault::Invalid { field: "name", message: format!("contract {id} is in the list twice") }
}

pub(crate) fn id_of(order: &Order) -> Id {
    let tenant = order.contract.tenant.as_deref().unwrap_or(DEFAULT_TENANT);
    Id::new(tenant, order.contract.name.as_str())
}
