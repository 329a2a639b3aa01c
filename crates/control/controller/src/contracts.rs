//! The contracts that were admitted and have not been forgotten: by serial number and by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wayleave_protocol::Id;

use crate::grant::{AdmittedContract, KindState, LatencyState, Sender, ShareState};

/// All contracts, those included that are being released.
#[derive(Default)]
pub(crate) struct Contracts {
    /// Shared with the controllers of questions, which copy what they change.
    by_serial: BTreeMap<u64, Arc<AdmittedContract>>,
    /// The contract that has the name now.
    by_id: HashMap<Arc<Id>, u64>,
    /// Serial numbers of the contracts of other kinds than latency.
    shares: BTreeSet<u64>,
}

impl Contracts {
    pub(crate) fn get(&self, serial: u64) -> Option<&AdmittedContract> {
        self.by_serial.get(&serial).map(|grant| &**grant)
    }

    /// Returns the contract with this serial number as a shared pointer.
    pub(crate) fn get_shared(&self, serial: u64) -> Option<&Arc<AdmittedContract>> {
        self.by_serial.get(&serial)
    }

    pub(crate) fn get_mut(&mut self, serial: u64) -> Option<&mut AdmittedContract> {
        self.by_serial.get_mut(&serial).map(Arc::make_mut)
    }

    /// State of a latency contract, to be changed.
    pub(crate) fn latency_mut(&mut self, serial: u64) -> Option<&mut LatencyState> {
        self.get_mut(serial)?.latency_mut()
    }

    /// Rules of the sender of a latency contract.
    pub(crate) fn sender(&self, serial: u64) -> Option<&Sender> {
        self.get(serial)?.announced_sender()
    }

    /// Returns the sender state of a contract for changes.
    pub(crate) fn sender_mut(&mut self, serial: u64) -> Option<&mut Sender> {
        self.latency_mut(serial).map(|latency| &mut latency.sender)
    }

    /// State of a contract of another kind than latency, to be changed.
    pub(crate) fn share_mut(&mut self, serial: u64) -> Option<&mut ShareState> {
        self.get_mut(serial)?.share_state_mut()
    }

    /// All of them, shared.
    pub(crate) fn share(&self) -> BTreeMap<u64, Arc<AdmittedContract>> {
        self.by_serial.clone()
    }

    /// The same contracts, of which changes here are not seen elsewhere.
    pub(crate) fn of_shared(by_serial: BTreeMap<u64, Arc<AdmittedContract>>) -> Self {
        // The latest of several with one name has the name: it comes last.
        let by_id = by_serial.iter().map(|(&serial, grant)| (grant.id.clone(), serial)).collect();
        let shares = by_serial.values().filter(|grant| is_share(grant)).map(|grant| grant.serial).collect();
        Self { by_serial, by_id, shares }
    }

    /// The contract of this name; the last that had it, while its reservation is held.
    pub(crate) fn named(&self, id: &Id) -> Option<&AdmittedContract> {
        self.get(*self.by_id.get(id)?)
    }

    /// In the order of their serial numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &AdmittedContract> {
        self.by_serial.values().map(|grant| &**grant)
    }

    /// In the order of their names, without those whose name another contract has now.
    pub(crate) fn iter_named(&self) -> impl Iterator<Item = &AdmittedContract> {
        let mut named: Vec<&AdmittedContract> = self.by_id.values().filter_map(|&serial| self.get(serial)).collect();
        named.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        named.into_iter()
    }

    /// In the order of their serial numbers, shared.
    pub(crate) fn iter_shared(&self) -> impl Iterator<Item = &Arc<AdmittedContract>> {
        self.by_serial.values()
    }

    /// Serial numbers of the contracts for which something holds.
    pub(crate) fn serials(&self, holds: impl Fn(&AdmittedContract) -> bool) -> Vec<u64> {
        self.iter().filter(|grant| holds(grant)).map(|grant| grant.serial).collect()
    }

    /// Serial numbers of the contracts of other kinds than latency for which something holds.
    pub(crate) fn serials_of_shares(&self, holds: impl Fn(&AdmittedContract) -> bool) -> Vec<u64> {
        let shares = self.shares.iter().filter_map(|&serial| self.get(serial));
        shares.filter(|grant| holds(grant)).map(|grant| grant.serial).collect()
    }

    /// Adds a contract; the latest of several with one name has the name.
    pub(crate) fn insert(&mut self, grant: AdmittedContract) {
        if self.by_id.get(&grant.id).is_none_or(|&other| other < grant.serial) {
            self.by_id.insert(grant.id.clone(), grant.serial);
        }
        if is_share(&grant) {
            self.shares.insert(grant.serial);
        }
        self.by_serial.insert(grant.serial, Arc::new(grant));
    }

    pub(crate) fn remove(&mut self, serial: u64) {
        self.shares.remove(&serial);
        if let Some(grant) = self.by_serial.remove(&serial)
            && self.by_id.get(&grant.id) == Some(&serial)
        {
            self.by_id.remove(&grant.id);
        }
    }
}

fn is_share(grant: &AdmittedContract) -> bool {
    matches!(grant.held, KindState::Share(_))
}
