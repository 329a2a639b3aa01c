//! Pending releases: routes that a contract has left, or is about to leave, while packets may still be on them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wayleave_schemes::transition::LeftRoutes;
use wayleave_topology::{FlowId, LinkId, NodeId};
use wayleave_units::Time;

use crate::scheme_ledger::UndoReservation;

/// A route (or several, of a protected contract) that its sender leaves.
#[derive(Clone, Debug)]
pub(crate) struct PendingRelease {
    pub(crate) serial: u64,
    /// The host that sends there.
    pub(crate) node: NodeId,
    /// Reservations on the route.
    pub(crate) reserved: UndoReservation,
    /// Once the sender has this version, or a later one, it sends nothing more there.
    pub(crate) until: u64,
    /// Maximum time that packets are in transit on the route.
    pub(crate) drain: Time,
    pub(crate) phase: Phase,
    /// The reservation, if it is kept in the ledger until then. If not, a contract that needs the capacity has to wait.
    pub(crate) held: Option<FlowId>,
}

/// Progress of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The sender may still send there.
    Sending,
    /// The sender has stopped; the last packets have left at this time, by the steady clock.
    Draining(Time),
}

impl PendingRelease {
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> {
        self.reserved.reservations.iter().flat_map(|one| one.route.hops.iter().map(|hop| hop.link))
    }
}

/// All pending releases, and the contracts that wait for them.
#[derive(Default)]
pub(crate) struct PendingReleases {
    by_number: BTreeMap<u64, PendingRelease>,
    of_contract: HashMap<u64, BTreeSet<u64>>,
    /// Releases that are free in the ledger already.
    freed: LeftRoutes<u64>,
    /// By release, the contracts that wait for it.
    waiters: HashMap<u64, BTreeSet<u64>>,
}

impl PendingReleases {
    pub(crate) fn insert(&mut self, number: u64, release: PendingRelease) {
        self.of_contract.entry(release.serial).or_default().insert(number);
        if release.held.is_none() {
            self.freed.insert(number, release.links());
        }
        self.by_number.insert(number, release);
    }

    /// From a record: what was held is not free, although its flow is not there yet.
    pub(crate) fn insert_loaded(&mut self, number: u64, release: PendingRelease, was_held: bool) {
        if was_held {
            self.of_contract.entry(release.serial).or_default().insert(number);
            self.by_number.insert(number, release);
        } else {
            self.insert(number, release);
        }
    }

    /// Sets the flow that holds a release in the ledger.
    pub(crate) fn hold(&mut self, number: u64, flow: Option<FlowId>) {
        if let Some(release) = self.by_number.get_mut(&number) {
            release.held = flow;
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<PendingRelease> {
        let release = self.by_number.remove(&number)?;
        forget(&mut self.of_contract, release.serial, number);
        if release.held.is_none() {
            self.freed.remove(number, release.links());
        }
        Some(release)
    }

    /// A copy of all.
    pub(crate) fn all(&self) -> BTreeMap<u64, PendingRelease> {
        self.by_number.clone()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&PendingRelease> {
        self.by_number.get(&number)
    }

    pub(crate) fn set_phase(&mut self, number: u64, phase: Phase) {
        if let Some(release) = self.by_number.get_mut(&number) {
            release.phase = phase;
        }
    }

    pub(crate) fn set_until(&mut self, number: u64, until: u64) {
        if let Some(release) = self.by_number.get_mut(&number) {
            release.until = until;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &PendingRelease)> {
        self.by_number.iter().map(|(&number, release)| (number, release))
    }

    /// Returns the releases of a contract.
    pub(crate) fn of(&self, serial: u64) -> impl Iterator<Item = (u64, &PendingRelease)> {
        let numbers = self.of_contract.get(&serial).into_iter().flatten();
        numbers.filter_map(|&number| Some((number, self.by_number.get(&number)?)))
    }

    /// A contract waits until a release is complete.
    pub(crate) fn add_waiter(&mut self, number: u64, serial: u64) {
        self.waiters.entry(number).or_default().insert(serial);
    }

    /// A contract waits no longer.
    pub(crate) fn remove_waiter(&mut self, number: u64, serial: u64) {
        forget(&mut self.waiters, number, serial);
    }

    /// The contracts that have waited for a release that is complete.
    pub(crate) fn take_waiters(&mut self, number: u64) -> BTreeSet<u64> {
        self.waiters.remove(&number).unwrap_or_default()
    }

    /// Returns the releases on these links whose reservation is free in the ledger.
    pub(crate) fn freed_on(&self, links: &BTreeSet<LinkId>) -> BTreeSet<u64> {
        self.freed.on(links)
    }
}

fn forget<K: std::hash::Hash + Eq>(index: &mut HashMap<K, BTreeSet<u64>>, key: K, number: u64) {
    if let Some(numbers) = index.get_mut(&key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(&key);
        }
    }
}
