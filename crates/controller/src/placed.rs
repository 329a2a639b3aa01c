//! The records of a controller that has admitted contracts as somebody else has decided them: read, they make one that goes on from there.
//!
//! Reading them derives every promise again, so nothing that is said here is believed (`Controller::load`).

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_contracts::{Order, SharedOrder};
use wayleave_ledger::{Reservation, Share};
use wayleave_protocol::contract::State;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_roles::Certainty;
use wayleave_topology::Network;
use wayleave_units::{Time, WallTime};

use crate::book::Reserved;
use crate::grant::{Grant, Sender, Told};
use crate::journal::Counters;
use crate::output::{Change, Kind};
use crate::record::{ContractRecord, TenantRecord, key, put};
use crate::shared::SharedGrant;
use crate::shared_record::SharedRecord;

/// A contract that was admitted.
#[derive(Clone, Debug)]
pub enum Placed {
    /// About latency.
    Flow {
        /// What was asked, with its tenant.
        order: Order,
        /// What is reserved for it, one for each route, the longest first.
        reservations: Vec<Reservation>,
        /// What was promised.
        bound: Time,
    },
    /// About something else.
    Share {
        /// What was asked, with its tenant.
        order: SharedOrder,
        /// What it holds; nothing for best effort.
        share: Option<Share>,
        /// How much is known of what was promised.
        certainty: Option<Certainty>,
        /// Its minimum is there so soon, if that was asked for.
        within: Option<Time>,
    },
}

/// The records of these contracts, admitted in this order, whose senders do what they were told. Their tenants are there, without
/// quotas.
pub fn records(network: &Network, now: WallTime, placed: impl IntoIterator<Item = Placed>) -> Vec<Change> {
    let (mut changes, mut tenants, mut serial) = (Vec::new(), BTreeSet::new(), 0);
    for placed in placed {
        serial += 1;
        let tenant = match placed {
            Placed::Flow { order, reservations, bound } => {
                let tenant = order.contract.tenant.as_deref().unwrap_or(DEFAULT_TENANT).to_owned();
                let id = Id::new(tenant.as_str(), order.contract.name.as_str());
                let deadline = order.contract.deadline;
                let grant = grant(id, serial, order, bound, now);
                let reserved = Reserved { reservations, deadline, is_pinned: grant.is_pinned() };
                let record = ContractRecord::of(network, &grant, Some(&reserved));
                changes.push(put(Kind::Contract, key(serial), Some(&record)));
                tenant
            }
            Placed::Share { order, share, certainty, within } => {
                let tenant = order.contract.tenant().unwrap_or(DEFAULT_TENANT).to_owned();
                let id = Id::new(tenant.as_str(), order.contract.name());
                let grant = SharedGrant { certainty, within, ..SharedGrant::new(id, serial, order, now) };
                let grant = SharedGrant { revision: serial, decision: serial, ..grant };
                let record = SharedRecord::of(network, &grant, share.as_ref());
                changes.push(put(Kind::Shared, key(serial), Some(&record)));
                tenant
            }
        };
        tenants.insert(tenant);
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
        id: Arc::new(id),
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
