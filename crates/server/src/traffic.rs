//! What hosts have counted of contracts, and what they say is wrong. It is told every second and goes with the process: it is on no disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wayleave_protocol::agent::Traffic;

/// The last counters of every host: of each contract that it sends, by serial number.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<BTreeMap<String, BTreeMap<u64, Traffic>>>, Mutex<BTreeMap<String, Vec<String>>>);

impl Counted {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<u64, Traffic>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host has told its counters, of all contracts that it sends.
    pub(crate) fn put(&self, node: &str, traffic: Vec<Traffic>) {
        let traffic = traffic.into_iter().map(|one| (one.serial, one)).collect();
        self.lock().insert(node.to_owned(), traffic);
    }

    /// A node has told what is wrong there, all of it.
    pub(crate) fn put_troubles(&self, node: &str, troubles: Vec<String>) {
        let mut all = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.is_empty() {
            all.remove(node)
        } else {
            all.insert(node.to_owned(), troubles)
        };
    }

    /// What is wrong anywhere: each sentence begins with its node.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let all = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().flat_map(|(node, troubles)| troubles.iter().map(move |what| format!("{node}: {what}"))).collect()
    }

    /// What a host has counted of a contract.
    pub(crate) fn of(&self, node: &str, serial: u64) -> Option<Traffic> {
        self.lock().get(node)?.get(&serial).cloned()
    }

    /// All contracts together, with their serial number 0.
    pub(crate) fn sum(&self) -> Traffic {
        let mut sum = Traffic::default();
        for one in self.lock().values().flat_map(BTreeMap::values) {
            sum.packets += one.packets;
            sum.bytes += one.bytes;
            sum.delayed += one.delayed;
            sum.waiting += one.waiting;
            sum.queue_full += one.queue_full;
            sum.oversized += one.oversized;
            sum.waited_ns = sum.waited_ns.saturating_add(one.waited_ns);
            sum.waits.resize(sum.waits.len().max(one.waits.len()), 0);
            sum.waits.iter_mut().zip(&one.waits).for_each(|(to, from)| *to += from);
        }
        sum
    }
}
