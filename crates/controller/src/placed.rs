//! The records of a controller that has admitted contracts as somebody else has decided them: read, they make one that goes on from there.
//!
//! Reading them derives every promise again, so nothing that is said here is believed (`Controller::load`).

use std::collections::BTreeSet;

use wayleave_contracts::Order;
use wayleave_ledger::Reservation;
use wayleave_protocol::contract::State;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_topology::Network;
use wayleave_units::{Time, WallTime};

use crate::book::Reserved;
use crate::grant::{Grant, Sender, Told};
use crate::journal::Counters;
use crate::output::{Change, Kind};
use crate::record::{ContractRecord, TenantRecord, key, put};

/// A contract that was admitted.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What was asked, with its tenant.
    pub order: Order,
    /// What is reserved for it, one for each route, the longest first.
    pub reservations: Vec<Reservation>,
    /// What was promised.
    pub bound: Time,
}

/// The records of these contracts, admitted in this order, whose senders do what they were told. Their tenants are there, without
/// quotas.
pub fn records(network: &Network, now: WallTime, placed: impl IntoIterator<Item = Placed>) -> Vec<Change> {
    let (mut changes, mut tenants, mut serial) = (Vec::new(), BTreeSet::new(), 0);
    for Placed { order, reservations, bound } in placed {
        serial += 1;
        let tenant = order.contract.tenant.as_deref().unwrap_or(DEFAULT_TENANT);
        let id = Id::new(tenant, order.contract.name.as_str());
        if !tenants.contains(&id.tenant) {
            tenants.insert(id.tenant.clone());
        }
        let deadline = order.contract.deadline;
        let grant = grant(id, serial, order, bound, now);
        let reserved = Reserved { reservations, deadline, is_pinned: grant.is_pinned() };
        let record = ContractRecord::of(network, &grant, Some(&reserved));
        changes.push(put(Kind::Contract, key(serial), Some(&record)));
    }
    changes.extend(tenants.into_iter().map(|name| put(Kind::Tenant, name, Some(&TenantRecord::default()))));
    let counters = Counters { serial, revision: serial, decision: serial, ..Counters::default() };
    changes.push(put(Kind::Controller, "counters".to_owned(), Some(&counters)));
    changes
}

fn grant(id: Id, serial: u64, order: Order, bound: Time, now: WallTime) -> Grant {
    let to_come = order.starts.is_some_and(|starts| starts > now);
    let told = (!to_come).then_some(Told { version: 1, runs: true });
    Grant {
        id,
        serial,
        order,
        revision: serial,
        created: now,
        decision: serial,
        bound,
        state: State::Released,
        trouble: None,
        violation: None,
        flow: None,
        is_ended: false,
        sender: Sender { version: 1, run: Some(1), since: 1, told, confirmed: told, ..Sender::default() },
    }
}
