//! Loading on a network that differs from the one on which contracts were admitted. Contracts that cannot be kept
//! unchanged are decided again ([`Unfit::DecideAgain`](crate::Unfit)).
//!
//! | contract | becomes |
//! |---|---|
//! | a contract whose route has a missing link or queue | decided again. Its sender may still send by its old rule, so its old reservation is a pending release, up to the first missing hop |
//! | contracts on a link whose queues cannot keep the reservations, or whose routes are too slow now | decided again, with all of the old route as a pending release |
//! | shares on such links | decided again with them |
//! | a pending release over missing links | held up to the first missing hop |
//! | a contract or VM of a missing host, a given route over a missing link | an error: only its tenant could change it |

use std::collections::BTreeSet;

use wayleave_topology::LinkId;

use super::Controller;
use crate::admission::{Cause, Consequences, DisplacedContract};
use crate::scheme_ledger::UndoReservation;

/// A contract that has lost its reservation, with the remaining part up to the first missing hop; `None` for shares.
pub(super) struct LostContract {
    pub(super) serial: u64,
    pub(super) left: Option<UndoReservation>,
}

impl Controller {
    /// Contracts that have no place on this network, or not with the others, give up what they have.
    pub(super) fn give_up(&mut self, lost: Vec<LostContract>) -> Vec<DisplacedContract> {
        let mut displaced: Vec<DisplacedContract> =
            lost.into_iter().filter_map(|one| self.admission.displace_lost(one.serial, one.left)).collect();
        let ledger = self.ledger();
        let is_full = |link: LinkId| !ledger.keeps(link) || !ledger.keeps_shares(link);
        let full: BTreeSet<LinkId> = self.network.links().map(|(link, _)| link).filter(|&link| is_full(link)).collect();
        let flows = full.iter().flat_map(|&link| ledger.flows_on(link).iter().map(|&(_, flow)| flow));
        let book = self.enforcement().scheme_ledger();
        let mut serials: Vec<u64> = flows.map(|flow| book.owner(flow)).collect();
        let is_slow = |serial: u64| {
            let grant = self.contracts().get(serial)?;
            Some(book.promised(grant.flow()?) > grant.terms()?.deadline)
        };
        serials.extend(self.contracts().serials(|grant| is_slow(grant.serial) == Some(true)));
        serials.sort_unstable();
        serials.dedup();
        displaced.extend(serials.into_iter().filter_map(|serial| self.admission.displace_one(serial)));
        // All that is on such a link, or the order would not be that of priorities.
        displaced.extend(self.admission.displace_shares_on(&full));
        displaced.extend(self.admission.displace_shares());
        displaced.sort_by_key(DisplacedContract::rank);
        displaced
    }

    /// Places displaced contracts again, on links that are up.
    pub(super) fn place_again(&mut self, displaced: Vec<DisplacedContract>) {
        if !displaced.is_empty() {
            self.admission.place_displaced(displaced, Cause::Rules, &mut Consequences::default());
        }
    }
}
