//! Shares that something that failed takes their links, or that do not fit any more on those that are left.
//!
//! A pair loses its route. Hoses and objectives use other links, which then carry more: where that is more than can be promised there, all
//! shares of those links are decided again, those of higher priority first, and so is a minimum with a time whose paths have become too
//! slow. A hose or an objective of which a member is cut off keeps its place, and is degraded until the member can be reached again.

use std::collections::BTreeSet;

use wayleave_contracts::Contract;
use wayleave_ledger::ReservedShare;
use wayleave_protocol::Id;
use wayleave_scheme_api::Refusal;
use wayleave_topology::{LinkId, Route};

use super::Admission;
use super::displaced::{Cause, Consequences, DisplacedContract, LostReservation};
use crate::decision::Decided;
use crate::event::EventKind;
use crate::grant::{AdmittedContract, DegradedReason};

/// A share that has found no other place.
pub(super) struct UnplacedShare {
    serial: u64,
    id: Id,
    share: Option<ReservedShare>,
    refusal: Refusal,
}

impl Admission {
    /// Shares that have lost their routes, or that share links with too much, give up what they hold.
    pub(crate) fn displace_shares(&mut self) -> Vec<DisplacedContract> {
        let ledger = self.enforcement.ledger();
        let is_cut = |share: &ReservedShare| matches!(share, ReservedShare::Pair { .. }) && ledger.is_parted(share);
        let held = |serial: u64| ledger.share(self.share_of(serial)?);
        let cut = self
            .enforcement
            .contracts()
            .serials_of_shares(|grant| !grant.is_failed() && held(grant.serial).is_some_and(&is_cut));
        let mut displaced: Vec<DisplacedContract> =
            cut.into_iter().filter_map(|serial| self.displace_share(serial)).collect();
        let slow =
            self.enforcement.contracts().serials_of_shares(|grant| !grant.is_failed() && self.is_too_slow(grant));
        displaced.extend(slow.into_iter().filter_map(|serial| self.displace_share(serial)));
        displaced.extend(self.displace_shares_on(&self.crowded_links()));
        displaced
    }

    /// All shares that use one of these links give up what they hold.
    pub(crate) fn displace_shares_on(&mut self, links: &BTreeSet<LinkId>) -> Vec<DisplacedContract> {
        if links.is_empty() {
            return Vec::new();
        }
        let ledger = self.enforcement.ledger();
        let uses = |share: &ReservedShare| ledger.links_of_share(share).iter().any(|link| links.contains(link));
        let held = |serial: u64| ledger.share(self.share_of(serial)?);
        let serials = self.enforcement.contracts().serials_of_shares(|grant| held(grant.serial).is_some_and(&uses));
        serials.into_iter().filter_map(|serial| self.displace_share(serial)).collect()
    }

    /// Returns `true` if the minimum of a contract may be there later than it asked for.
    fn is_too_slow(&self, grant: &AdmittedContract) -> bool {
        let Contract::Bandwidth(contract) = &grant.order.contract else { return false };
        let bound = grant.share().and_then(|share| self.enforcement.scheme_ledger().share_bound(share));
        bound.zip(contract.within).is_some_and(|(bound, within)| bound > within)
    }

    /// The open links on which more is promised than fits.
    fn crowded_links(&self) -> BTreeSet<LinkId> {
        let ledger = self.enforcement.ledger();
        let links = ledger.network().links().map(|(link, _)| link);
        links.filter(|&link| !ledger.is_closed(link) && !ledger.keeps_shares(link)).collect()
    }

    fn displace_share(&mut self, serial: u64) -> Option<DisplacedContract> {
        let share = self.take_share(serial)?;
        let priority = self.enforcement.contracts().get(serial)?.order.priority;
        Some(DisplacedContract { serial, priority, lost: LostReservation::Share(Some(share)) })
    }

    /// Requests another placement for a displaced share. Returns the lost share if there is none.
    pub(super) fn place_share(
        &mut self,
        serial: u64,
        share: Option<ReservedShare>,
        cause: Cause<'_>,
        consequences: &mut Consequences,
    ) -> Option<UnplacedShare> {
        let grant = self.enforcement.contracts().get(serial)?;
        let (id, contract) = (Id::clone(&grant.id), grant.order.contract.clone());
        let was_degraded = grant.is_failed();
        let decision = match self.admit_share(&contract) {
            Ok(decision) => decision,
            Err(refusal) => return Some(UnplacedShare { serial, id, share, refusal }),
        };
        let route = decision.as_ref().and_then(|one| one.route.as_ref());
        let is_moved = route.is_some_and(|route| !share.as_ref().is_some_and(|share| uses_route(share, route)));
        self.settle_share(serial, decision);
        if was_degraded {
            consequences.restored.push(id.clone());
        }
        if is_moved {
            let revision = self.enforcement.contracts().get(serial).map_or(0, |grant| grant.revision);
            let detail = cause.detail();
            self.enforcement.journal_mut().contract_event(EventKind::Rerouted, &id, revision, detail);
            consequences.rerouted.push(id);
        }
        None
    }

    /// A share has found no other place: a pair keeps its old one, if that would still fit once its links are up.
    pub(super) fn degrade_share(&mut self, without: UnplacedShare, cause: Cause<'_>, consequences: &mut Consequences) {
        let UnplacedShare { serial, id, share, refusal } = without;
        let ledger = self.enforcement.ledger();
        let keeps = |share: &ReservedShare| {
            let is_pair = matches!(share, ReservedShare::Pair { .. });
            is_pair && ledger.is_parted(share) && ledger.share_denial_once_open(share).is_none()
        };
        let kept = share.filter(keeps);
        let keeps = kept.is_some();
        self.return_share(Some(serial), kept);
        let why = refusal.reason().code().to_owned();
        let Some(order) = self.enforcement.contracts().get(serial).map(|grant| grant.order.clone()) else { return };
        self.record(&id, order, Decided::Refused(refusal));
        self.fail_share(serial, cause.degraded_reason(keeps, why), consequences);
    }

    /// Hoses and objectives of which a member is cut off are kept no longer, and keep their places.
    pub(super) fn degrade_parted(&mut self, cause: Cause<'_>, consequences: &mut Consequences) {
        let ledger = self.enforcement.ledger();
        let held = |serial: u64| ledger.share(self.share_of(serial)?);
        let is_parted = |serial| held(serial).is_some_and(|share| ledger.is_parted(share));
        for serial in
            self.enforcement.contracts().serials_of_shares(|grant| !grant.is_failed() && is_parted(grant.serial))
        {
            let why = Refusal::Disconnected.reason().code().to_owned();
            self.fail_share(serial, cause.degraded_reason(true, why), consequences);
        }
    }

    fn fail_share(&mut self, serial: u64, degraded_reason: DegradedReason, consequences: &mut Consequences) {
        let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) else { return };
        let was_failed = grant.is_failed();
        grant.degraded_reason = Some(degraded_reason);
        let id = Id::clone(&grant.id);
        if let Some(state) = grant.share_state_mut().filter(|state| state.share.is_none()) {
            state.certainty = None;
        }
        self.enforcement.wait_for(serial, BTreeSet::new());
        self.enforcement.touch(serial);
        self.enforcement.announce(serial);
        if !was_failed {
            consequences.degraded.push(id);
        }
    }

    /// Shares that kept their places use them again, if all that they need is open.
    pub(super) fn restore_kept_shares(&mut self, consequences: &mut Consequences) {
        let ledger = self.enforcement.ledger();
        let held = |serial: u64| ledger.share(self.share_of(serial)?);
        let is_whole = |serial| held(serial).is_some_and(|share| !ledger.is_parted(share));
        for serial in
            self.enforcement.contracts().serials_of_shares(|grant| grant.is_failed() && is_whole(grant.serial))
        {
            let Some(grant) = self.enforcement.contracts_mut().get_mut(serial) else { continue };
            grant.degraded_reason = None;
            let (id, share) = (Id::clone(&grant.id), grant.share());
            let waits_for = share.map(|share| self.enforcement.share_must_wait_for(share)).unwrap_or_default();
            self.enforcement.renew_rule(serial);
            self.enforcement.wait_for(serial, waits_for);
            self.enforcement.refresh_degraded(serial);
            self.enforcement.touch(serial);
            self.enforcement.announce(serial);
            self.enforcement.wait_for_hosts(serial);
            consequences.restored.push(id);
        }
    }

    /// Places a degraded share; a share that kept its own reservation requests another one.
    pub(super) fn restore_share(&mut self, serial: u64, consequences: &mut Consequences) {
        let Some(grant) = self.enforcement.contracts().get(serial).filter(|grant| grant.is_failed()) else { return };
        let (id, contract) = (Id::clone(&grant.id), grant.order.contract.clone());
        let kept = self.take_share(serial);
        match self.admit_share(&contract) {
            Ok(decision) => {
                self.settle_share(serial, decision);
                consequences.restored.push(id);
            }
            Err(_) => self.return_share(Some(serial), kept),
        }
    }

    /// A share that comes or goes can make others proven, or measured.
    pub(super) fn follow_certainty(&mut self) {
        let turns = self.enforcement.ledger().certainty_turns();
        if std::mem::replace(&mut self.certainty_turns, turns) != turns {
            self.refresh_certainty();
        }
    }

    /// Updates certainties: they depend on the links that are up, and on other shares.
    pub(super) fn refresh_certainty(&mut self) {
        let book = self.enforcement.scheme_ledger();
        let now = |serial: u64| book.certainty(self.share_of(serial)?);
        let serials = self
            .enforcement
            .contracts()
            .serials_of_shares(|grant| grant.share().is_some() && now(grant.serial) != grant.certainty());
        for serial in serials {
            let certainty = self.share_of(serial).and_then(|share| self.enforcement.scheme_ledger().certainty(share));
            if let Some(state) = self.enforcement.contracts_mut().share_mut(serial) {
                state.certainty = certainty;
            }
            self.enforcement.touch(serial);
        }
    }
}

fn uses_route(share: &ReservedShare, route: &Route) -> bool {
    matches!(share, ReservedShare::Pair { route: old, .. } if old == route)
}
