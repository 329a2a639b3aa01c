//! Contracts of other kinds than latency: bandwidth, objectives, best effort.
//!
//! Agents of the hosts keep shares, and none confirms that it does. So a contract is there as long as its share is
//! reserved, it begins to be promised when the last packets of latency contracts have left what it was given, and what it had is
//! free after its end as soon as its last packets have left, as `plan` counts it: from the end on, not from the time at which agents have heard of it.
//! A controller that is started again meanwhile frees it at once.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::SharedOrder;
use wayleave_protocol::Id;
use wayleave_protocol::contract::State;
use wayleave_roles::Certainty;
use wayleave_topology::ShareId;
use wayleave_units::{Time, WallTime};

use crate::grant::Trouble;

/// An admitted contract of another kind than latency.
#[derive(Clone, Debug)]
pub struct SharedGrant {
    /// Which.
    pub id: Id,
    /// Its number, which no other contract of any kind ever has.
    pub serial: u64,
    /// What was asked.
    pub order: SharedOrder,
    /// Its revision: that of its terms and its state.
    pub revision: u64,
    /// When it was first admitted.
    pub created: WallTime,
    /// The decision that admitted it as it is.
    pub decision: u64,
    /// How much is known of what it is promised; `None` for best effort, and while it has no place.
    pub certainty: Option<Certainty>,
    /// Its minimum is there so soon after there is something to send, if that was asked for.
    pub within: Option<Time>,
    /// The state that was last announced.
    pub state: State,
    /// Why it is degraded, if it is.
    pub trouble: Option<Trouble>,
    /// What it has reserved; nothing for best effort, and if it is degraded and its place was given to others.
    pub(crate) share: Option<ShareId>,
    /// The pending releases of latency contracts that have to be complete before it is promised anything.
    pub(crate) waits_for: BTreeSet<u64>,
}

impl SharedGrant {
    /// A contract that is not announced yet and holds nothing.
    pub(crate) fn new(id: Id, serial: u64, order: SharedOrder, created: WallTime) -> Self {
        Self {
            id,
            serial,
            order,
            revision: 0,
            created,
            decision: 0,
            certainty: None,
            within: None,
            state: State::Released,
            trouble: None,
            share: None,
            waits_for: BTreeSet::new(),
        }
    }

    /// How many routes that latency contracts have left have to be empty before it is promised anything.
    pub fn waits_for(&self) -> usize {
        self.waits_for.len()
    }

    /// What it has reserved.
    pub fn share(&self) -> Option<ShareId> {
        self.share
    }

    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.trouble, Some(Trouble::Failed { .. } | Trouble::Unfit { .. }))
    }

    /// Its state by the calendar. Nobody confirms it, so it is never enforced.
    pub(crate) fn state_now(&self, wall: WallTime) -> State {
        if self.trouble.is_some() {
            return State::Degraded;
        }
        let is_to_come = self.order.starts.is_some_and(|starts| starts > wall);
        if is_to_come || !self.waits_for.is_empty() { State::Pending } else { State::Admitted }
    }
}

/// All of them, by serial number and by name.
#[derive(Clone, Default)]
pub(crate) struct SharedContracts {
    by_serial: BTreeMap<u64, SharedGrant>,
    by_id: BTreeMap<Id, u64>,
    /// Those that wait for releases.
    waiting: BTreeSet<u64>,
}

impl SharedContracts {
    pub(crate) fn get(&self, serial: u64) -> Option<&SharedGrant> {
        self.by_serial.get(&serial)
    }

    pub(crate) fn get_mut(&mut self, serial: u64) -> Option<&mut SharedGrant> {
        self.by_serial.get_mut(&serial)
    }

    pub(crate) fn named(&self, id: &Id) -> Option<&SharedGrant> {
        self.get(*self.by_id.get(id)?)
    }

    /// In the order of their serial numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SharedGrant> {
        self.by_serial.values()
    }

    /// In the order of their names.
    pub(crate) fn iter_named(&self) -> impl Iterator<Item = &SharedGrant> {
        self.by_id.values().filter_map(|&serial| self.get(serial))
    }

    /// Serial numbers of those for which something holds.
    pub(crate) fn serials(&self, holds: impl Fn(&SharedGrant) -> bool) -> Vec<u64> {
        self.iter().filter(|grant| holds(grant)).map(|grant| grant.serial).collect()
    }

    pub(crate) fn insert(&mut self, grant: SharedGrant) {
        if !grant.waits_for.is_empty() {
            self.waiting.insert(grant.serial);
        }
        self.by_id.insert(grant.id.clone(), grant.serial);
        self.by_serial.insert(grant.serial, grant);
    }

    pub(crate) fn remove(&mut self, serial: u64) -> Option<SharedGrant> {
        let grant = self.by_serial.remove(&serial)?;
        self.waiting.remove(&serial);
        if self.by_id.get(&grant.id) == Some(&serial) {
            self.by_id.remove(&grant.id);
        }
        Some(grant)
    }

    /// A contract waits for these releases from now on, and for no others.
    pub(crate) fn wait(&mut self, serial: u64, releases: BTreeSet<u64>) {
        let Some(grant) = self.by_serial.get_mut(&serial) else { return };
        if releases.is_empty() {
            self.waiting.remove(&serial)
        } else {
            self.waiting.insert(serial)
        };
        grant.waits_for = releases;
    }

    /// The contracts that wait for releases of which some are complete; they wait for those no longer.
    pub(crate) fn take_ready(&mut self, is_pending: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut ready = Vec::new();
        for &serial in &self.waiting {
            let Some(grant) = self.by_serial.get_mut(&serial) else { continue };
            let before = grant.waits_for.len();
            grant.waits_for.retain(|&release| is_pending(release));
            if grant.waits_for.len() < before {
                ready.push(serial);
            }
        }
        let waits = |serial: &u64| self.by_serial.get(serial).is_some_and(|grant| !grant.waits_for.is_empty());
        self.waiting.retain(waits);
        ready
    }
}
