//! Records of a controller for contracts that were decided elsewhere: a controller loaded from them continues with
//! these contracts.
//!
//! Loading derives every promise again, so nothing in the records is trusted (`Controller::load`).

use std::collections::BTreeSet;

use wayleave_contracts::ContractRequest;
use wayleave_ledger::{Reservation, ReservedShare};
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_scheme_api::Certainty;
use wayleave_topology::Network;
use wayleave_units::{Time, WallTime};

use crate::contract_record::{ContractRecord, HeldReservation};
use crate::grant::{AdmittedContract, KindState, LatencyState, RuleState, Sender, ShareState};
use crate::journal::Counters;
use crate::output::{RecordChange, RecordKind};
use crate::record::{TenantRecord, key, put};
use crate::scheme_ledger::UndoReservation;

/// An admitted contract with its reservation.
#[derive(Clone, Debug)]
pub struct PlacedReservation {
    /// Order, with its tenant.
    pub order: ContractRequest,
    /// Reservation.
    pub holds: ReservationKind,
}

/// Reservation of an admitted contract, by its kind.
#[derive(Clone, Debug)]
pub enum ReservationKind {
    /// Routes of a latency contract.
    Routes {
        /// Its reservations, one for each route, the longest first.
        reservations: Vec<Reservation>,
        /// Promised bound.
        bound: Time,
    },
    /// A share of a contract of another kind.
    Share {
        /// The share; nothing for best effort.
        share: Option<ReservedShare>,
        /// Certainty of the promise.
        certainty: Option<Certainty>,
        /// Its minimum is there so soon, if that was asked for.
        within: Option<Time>,
    },
}

/// Returns the records of these contracts, admitted in this order, whose senders have confirmed their rules. Their
/// tenants exist, without quotas.
pub fn records(
    network: &Network,
    now: WallTime,
    placed: impl IntoIterator<Item = PlacedReservation>,
) -> Vec<RecordChange> {
    let (mut changes, mut tenants, mut serial) = (Vec::new(), BTreeSet::new(), 0);
    for PlacedReservation { order, holds } in placed {
        serial += 1;
        let tenant = order.tenant().unwrap_or(DEFAULT_TENANT).to_owned();
        let mut grant = AdmittedContract::new(Id::new(tenant.as_str(), order.name()), serial, order, now);
        (grant.revision, grant.decision) = (serial, serial);
        let held = hold(&mut grant, holds, now);
        changes.push(put(RecordKind::Contract, key(serial), Some(&ContractRecord::of(network, &grant, &held))));
        tenants.insert(tenant);
    }
    changes.extend(tenants.into_iter().map(|name| put(RecordKind::Tenant, name, Some(&TenantRecord::default()))));
    let counters = Counters { serial, revision: serial, decision: serial, ..Counters::default() };
    changes.push(put(RecordKind::Controller, "counters".to_owned(), Some(&counters)));
    changes
}

fn hold(grant: &mut AdmittedContract, holds: ReservationKind, now: WallTime) -> HeldReservation {
    match holds {
        ReservationKind::Routes { reservations, bound } => {
            let (is_pinned, deadline) =
                (grant.is_pinned(), grant.terms().map(|terms| terms.deadline).unwrap_or_default());
            let is_to_come = grant.order.starts.is_some_and(|starts| starts > now);
            let announced = (!is_to_come).then_some(RuleState { version: 1, runs: true });
            let sender = Sender {
                version: 1,
                offered: 1,
                run: Some(1),
                since: 1,
                announced,
                confirmed: announced,
                ..Sender::default()
            };
            grant.held = KindState::Latency(LatencyState { bound, sender, ..LatencyState::default() });
            HeldReservation::Routes(Some(UndoReservation { reservations, deadline, is_pinned }))
        }
        ReservationKind::Share { share, certainty, within } => {
            grant.held = KindState::Share(ShareState { certainty, within, ..ShareState::default() });
            HeldReservation::Share(share)
        }
    }
}
