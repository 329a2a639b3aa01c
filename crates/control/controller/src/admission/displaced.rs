//! Contracts that lose their routes when something fails, and contracts that regain them.
//!
//! Contracts that lose all their routes give up their reservations and request new ones, in order of priority (among
//! equals the older first). A contract that finds none gets its old reservation back if that still fits beside the
//! new ones. It is then certain to be restored when the failure is repaired. Protected contracts with a route left
//! need nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use wayleave_contracts::Priority;
use wayleave_ledger::ReservedShare;
use wayleave_protocol::Id;
use wayleave_scheme_api::{Decision, Refusal, Request};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Human;

use super::Admission;
use crate::decision::{Decided, routes};
use crate::enforcement::DrainState;
use crate::event::EventKind;
use crate::grant::{AdmittedContract, DegradedReason};
use crate::scheme_ledger::UndoReservation;

/// A contract that needs another reservation.
pub(crate) struct DisplacedContract {
    pub(super) serial: u64,
    pub(super) priority: Priority,
    pub(super) lost: LostReservation,
}

/// Reservation that a displaced contract had.
pub(super) enum LostReservation {
    /// Routes, with the release that is pending for them, if they were used.
    Routes(UndoReservation, Option<u64>),
    /// A share; `None` if its links no longer exist.
    Share(Option<ReservedShare>),
}

impl DisplacedContract {
    /// Returns the sort key: higher priority first, and among equals the older first.
    pub(crate) fn rank(&self) -> (Reverse<Priority>, u64) {
        (Reverse(self.priority), self.serial)
    }
}

/// A latency contract that lost its routes, and found no others.
struct Without {
    serial: u64,
    id: Id,
    reserved: UndoReservation,
    request: Request,
    refusal: Refusal,
}

/// Cause of the displacement of contracts.
#[derive(Clone, Copy)]
pub(crate) enum Cause<'a> {
    /// An element is down.
    Down(&'a str),
    /// They do not fit by the rules of this version, or on the network as it is now.
    Rules,
}

impl Cause<'_> {
    pub(super) fn detail(self) -> String {
        match self {
            Self::Down(element) => format!("{element} is down"),
            Self::Rules => "decided again at the start".to_owned(),
        }
    }

    /// State of a contract that has found no other place.
    pub(super) fn degraded_reason(self, keeps_place: bool, why: String) -> DegradedReason {
        match self {
            Self::Down(element) => DegradedReason::Failed { element: element.to_owned(), keeps_place, why },
            Self::Rules => DegradedReason::Unfit { why },
        }
    }
}

/// Contracts that changed state because something failed or was repaired.
#[derive(Default)]
pub(crate) struct Consequences {
    /// They have other routes.
    pub(crate) rerouted: Vec<Id>,
    /// They found none.
    pub(crate) degraded: Vec<Id>,
    /// They are kept again.
    pub(crate) restored: Vec<Id>,
}

impl Admission {
    /// Returns `true` if no reserved route of a contract is open from end to end.
    fn is_cut(&self, grant: &AdmittedContract) -> bool {
        let ledger = self.enforcement.ledger();
        let is_open = |route: &Route| route.hops.iter().all(|hop| !ledger.is_closed(hop.link));
        !self.enforcement.routes(grant).iter().any(|(_, route)| is_open(route))
    }

    /// Counts the cut routes of protected contracts, and reports contracts that lost or regained protection. `turned`
    /// is `None` after a start: all contracts are examined.
    pub(crate) fn refresh_protection(&mut self, turned: Option<&[LinkId]>, cause: &str) {
        let (ledger, contracts) = (self.enforcement.ledger(), self.enforcement.contracts());
        let is_protected = |grant: &AdmittedContract| grant.terms().is_some_and(|terms| terms.protection > 1);
        let serials: BTreeSet<u64> = match turned {
            Some(links) => {
                let flows = links.iter().flat_map(|&link| ledger.flows_on(link).iter().map(|&(_, flow)| flow));
                flows.map(|flow| self.enforcement.scheme_ledger().owner(flow)).collect()
            }
            None => contracts.serials(is_protected).into_iter().collect(),
        };
        let cut = |grant: &AdmittedContract| {
            let routes = self.enforcement.routes(grant);
            let is_cut = |route: &Route| route.hops.iter().any(|hop| ledger.is_closed(hop.link));
            routes.iter().filter(|(_, route)| is_cut(route)).count()
        };
        let grants = serials.into_iter().filter_map(|serial| contracts.get(serial));
        let protected = grants.filter(|grant| is_protected(grant) && !grant.is_ended && !grant.is_failed());
        let changed: Vec<(u64, usize)> = protected
            .map(|grant| (grant.serial, cut(grant)))
            .filter(|&(serial, cut)| contracts.get(serial).is_some_and(|grant| grant.cut_routes() != cut))
            .collect();
        for (serial, cut) in changed {
            if let Some(latency) = self.enforcement.contracts_mut().latency_mut(serial) {
                latency.cut_routes = cut;
            }
            if turned.is_none() {
                continue;
            }
            self.enforcement.touch(serial);
            let Some(grant) = self.enforcement.contracts().get(serial) else { continue };
            let (id, revision) = (Id::clone(&grant.id), grant.revision);
            let all = grant.terms().map_or(0, |terms| terms.protection);
            let (kind, detail) = match cut {
                0 => (EventKind::ProtectionRestored, format!("all {all} disjoint routes are up")),
                cut => (EventKind::ProtectionLost, format!("{cut} of {all} disjoint routes are down: {cause}")),
            };
            self.enforcement.journal_mut().contract_event(kind, &id, revision, detail);
        }
    }

    /// Releases the reservations of contracts that these links have cut, and returns the contracts in the order in
    /// which they are placed again.
    pub(crate) fn displace(&mut self, closed: &[LinkId]) -> Vec<DisplacedContract> {
        let (ledger, book) = (self.enforcement.ledger(), self.enforcement.scheme_ledger());
        let flows = closed.iter().flat_map(|&link| ledger.flows_on(link).iter().map(|&(_, flow)| flow));
        let serials: BTreeSet<u64> = flows.map(|flow| book.owner(flow)).collect();
        let cut = |grant: &&AdmittedContract| !grant.is_ended && grant.flow().is_some() && self.is_cut(grant);
        let contracts = self.enforcement.contracts();
        let cut = serials.iter().filter_map(|&serial| contracts.get(serial)).filter(cut);
        let cut: Vec<u64> = cut.map(|grant| grant.serial).collect();
        let mut displaced: Vec<DisplacedContract> =
            cut.into_iter().filter_map(|serial| self.displace_one(serial)).collect();
        displaced.extend(self.displace_shares());
        displaced.sort_by_key(DisplacedContract::rank);
        displaced
    }

    /// Decides all shares again, by priority, that do not fit on their links.
    pub(crate) fn decide_unfit_again(&mut self) -> Consequences {
        let mut consequences = Consequences::default();
        let displaced = self.displace(&[]);
        if !displaced.is_empty() {
            self.place_displaced(displaced, Cause::Rules, &mut consequences);
        }
        consequences
    }

    /// Displaces a contract whose links no longer exist: it has no reservation. The remaining part of its routes may
    /// carry packets until its sender has another rule.
    pub(crate) fn displace_lost(&mut self, serial: u64, left: Option<UndoReservation>) -> Option<DisplacedContract> {
        let Some(left) = left else {
            let priority = self.enforcement.contracts().get(serial)?.order.priority;
            return Some(DisplacedContract { serial, priority, lost: LostReservation::Share(None) });
        };
        let nothing = UndoReservation { reservations: Vec::new(), ..left };
        let release = self.enforcement.leave_next(serial, left);
        let grant = self.enforcement.contracts_mut().get_mut(serial)?;
        let priority = grant.order.priority;
        grant.latency_mut()?.sender.run = None;
        Some(DisplacedContract { serial, priority, lost: LostReservation::Routes(nothing, release) })
    }

    /// A contract gives up its reservation.
    pub(crate) fn displace_one(&mut self, serial: u64) -> Option<DisplacedContract> {
        let grant = self.enforcement.contracts().get(serial)?;
        let (flow, is_pinned) = (grant.flow()?, grant.is_pinned());
        let reserved = self.enforcement.scheme_ledger().reserved(flow, is_pinned)?;
        let release = self.enforcement.leave_next(serial, reserved.clone());
        self.enforcement.scheme_ledger_mut().release(flow);
        let grant = self.enforcement.contracts_mut().get_mut(serial)?;
        let priority = grant.order.priority;
        let latency = grant.latency_mut()?;
        (latency.flow, latency.sender.run) = (None, None);
        Some(DisplacedContract { serial, priority, lost: LostReservation::Routes(reserved, release) })
    }

    /// Places displaced contracts again. Contracts that do not fit keep their old reservation if it still fits, and
    /// are degraded.
    pub(crate) fn place_displaced(
        &mut self,
        displaced: Vec<DisplacedContract>,
        cause: Cause<'_>,
        consequences: &mut Consequences,
    ) {
        let (mut flows, mut shares) = (Vec::new(), Vec::new());
        for DisplacedContract { serial, lost, .. } in displaced {
            match lost {
                LostReservation::Routes(reserved, release) => {
                    flows.extend(self.place_flow(serial, reserved, release, cause, consequences));
                }
                LostReservation::Share(share) => shares.extend(self.place_share(serial, share, cause, consequences)),
            }
        }
        for one in flows {
            let id = one.id.clone();
            if self.degrade(one, cause) {
                consequences.degraded.push(id);
            }
        }
        shares.into_iter().for_each(|one| self.degrade_share(one, cause, consequences));
        self.degrade_parted(cause, consequences);
        self.refresh_certainty();
        self.retry_later();
    }

    /// Requests other routes for a contract. Returns the contract if there are none.
    fn place_flow(
        &mut self,
        serial: u64,
        reserved: UndoReservation,
        release: Option<u64>,
        cause: Cause<'_>,
        consequences: &mut Consequences,
    ) -> Option<Without> {
        let grant = self.enforcement.contracts().get(serial)?;
        let (id, request) = (Id::clone(&grant.id), wayleave_schemes::request(grant.terms()?, &self.model));
        let decision = match self.enforcement.scheme_ledger_mut().admit(&request) {
            Ok(decision) => decision,
            Err(refusal) => return Some(Without { serial, id, reserved, request, refusal }),
        };
        self.settle(serial, &decision, release);
        let revision = self.enforcement.contracts().get(serial).map_or(0, |grant| grant.revision);
        let detail = format!("{}; bound {}", cause.detail(), decision.bound.up());
        self.enforcement.journal_mut().contract_event(EventKind::Rerouted, &id, revision, detail);
        consequences.rerouted.push(id);
        None
    }

    /// A displaced contract has found no other routes; whether it is still there.
    fn degrade(&mut self, one: Without, cause: Cause<'_>) -> bool {
        let Without { serial, id, reserved, request, refusal } = one;
        let why = refusal.reason().code().to_owned();
        let book = self.enforcement.scheme_ledger_mut();
        let flow = book.put_back_if_it_fits(reserved, &request, serial);
        if let Some(flow) = flow {
            // It is not in force: moving it would help no other contract.
            book.pin(flow, true);
        }
        let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) else { return false };
        if let Some(latency) = grant.latency_mut() {
            latency.flow = flow;
            latency.sender.stop = Some(latency.sender.next_version());
        }
        grant.degraded_reason = Some(cause.degraded_reason(flow.is_some(), why));
        let order = grant.order.clone();
        self.record(&id, order, Decided::Refused(refusal));
        self.enforcement.touch(serial);
        self.enforcement.advance(serial);
        true
    }

    /// A contract without a reservation has got one; `left` is the release that is pending for its old one.
    fn settle(&mut self, serial: u64, decision: &Decision, left: Option<u64>) {
        self.book_moves(decision);
        let enforcement = &mut self.enforcement;
        enforcement.scheme_ledger_mut().own(decision.flow, serial);
        let demand = enforcement.ledger().flow(decision.flow).map(|reservation| reservation.demand);
        let mut waits_for = enforcement.must_wait_for(&routes(decision), left.zip(demand), DrainState::Certain);
        // Other displaced contracts may wait for the route that it leaves: it stops, so that they do not wait for one another.
        if !waits_for.is_empty() {
            waits_for.extend(left);
        }
        if let Some(grant) = enforcement.contracts_mut().get_mut(serial) {
            grant.degraded_reason = None;
            if let Some(latency) = grant.latency_mut() {
                latency.reserve(decision.flow, decision.bound);
            }
        }
        enforcement.refresh_degraded(serial);
        enforcement.run(serial, waits_for);
        enforcement.advance(serial);
    }

    /// Contracts of all kinds that a failure has degraded, in the order in which they are tried again.
    fn failed(&self) -> Vec<u64> {
        let is_failed = |grant: &&AdmittedContract| grant.is_failed() && !grant.is_ended;
        let failed = self.enforcement.contracts().iter().filter(is_failed);
        let mut failed: Vec<_> = failed.map(|grant| (Reverse(grant.order.priority), grant.serial)).collect();
        failed.sort_unstable();
        failed.into_iter().map(|(_, serial)| serial).collect()
    }

    /// Restores contracts after an element is up again or capacity was released. Contracts that kept their
    /// reservations use them again, and the others request new ones.
    pub(crate) fn restore(&mut self, consequences: &mut Consequences) {
        let failed = self.failed();
        // Reservations that were kept come first: they need no decision.
        for &serial in &failed {
            let Some(grant) = self.enforcement.contracts().get(serial) else { continue };
            let Some(flow) = grant.flow().filter(|_| !self.is_cut(grant)) else { continue };
            let (id, is_pinned) = (Id::clone(&grant.id), grant.has_given_route());
            let routes: Vec<_> = self.enforcement.routes(grant).into_iter().map(|(_, route)| route).collect();
            let enforcement = &mut self.enforcement;
            enforcement.scheme_ledger_mut().pin(flow, is_pinned);
            let waits_for = enforcement.must_wait_for(&routes, None, DrainState::Certain);
            if let Some(grant) = enforcement.contracts_mut().get_mut(serial) {
                grant.degraded_reason = None;
            }
            enforcement.refresh_degraded(serial);
            enforcement.run(serial, waits_for);
            enforcement.advance(serial);
            consequences.restored.push(id);
        }
        self.restore_kept_shares(consequences);
        for serial in failed {
            let grant = self.enforcement.contracts().get(serial).filter(|grant| grant.is_failed());
            let Some(grant) = grant else { continue };
            let Some(terms) = grant.terms() else {
                self.restore_share(serial, consequences);
                continue;
            };
            let (id, kept) = (Id::clone(&grant.id), grant.flow());
            let request = wayleave_schemes::request(terms, &self.model);
            if let Ok(decision) = self.enforcement.scheme_ledger_mut().admit(&request) {
                if let Some(flow) = kept {
                    self.enforcement.scheme_ledger_mut().release(flow);
                }
                self.settle(serial, &decision, None);
                consequences.restored.push(id);
            }
        }
        self.refresh_certainty();
    }

    /// Degraded contracts are tried again.
    pub(crate) fn retry(&mut self) {
        self.restore(&mut Consequences::default());
        self.retry_later();
    }

    pub(crate) fn retry_later(&mut self) {
        if !self.failed().is_empty() {
            self.enforcement.schedule_retry();
        }
    }
}
