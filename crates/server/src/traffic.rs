//! What hosts have counted of contracts, and what they say is wrong. It is told every second and goes with the process: it is on no disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wayleave_protocol::agent::Traffic;

/// What nodes have told last.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Told>);

/// By node.
#[derive(Debug, Default)]
struct Told {
    /// Of each contract that it sends, by serial number.
    traffic: BTreeMap<String, BTreeMap<u64, Traffic>>,
    /// Of all packets, by what became of them.
    packets: BTreeMap<String, BTreeMap<String, u64>>,
    /// What is wrong there.
    troubles: BTreeMap<String, Vec<String>>,
}

impl Counted {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host has told its counters, of all contracts that it sends.
    pub(crate) fn put(&self, node: &str, traffic: Vec<Traffic>) {
        let traffic = traffic.into_iter().map(|one| (one.serial, one)).collect();
        self.lock().traffic.insert(node.to_owned(), traffic);
    }

    /// A host has told what became of all packets.
    pub(crate) fn put_packets(&self, node: &str, packets: BTreeMap<String, u64>) {
        self.lock().packets.insert(node.to_owned(), packets);
    }

    /// What became of all packets, by host and by what became of them.
    pub(crate) fn packets(&self) -> Vec<(String, String, u64)> {
        let told = self.lock();
        let of = |(node, packets): (&String, &BTreeMap<String, u64>)| {
            packets.iter().map(|(became, &count)| (node.clone(), became.clone(), count)).collect::<Vec<_>>()
        };
        told.packets.iter().flat_map(of).collect()
    }

    /// A node has told what is wrong there, all of it.
    pub(crate) fn put_troubles(&self, node: &str, troubles: Vec<String>) {
        let all = &mut self.lock().troubles;
        if troubles.is_empty() {
            all.remove(node)
        } else {
            all.insert(node.to_owned(), troubles)
        };
    }

    /// What is wrong anywhere: each sentence begins with its node.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let all = &self.lock().troubles;
        all.iter().flat_map(|(node, troubles)| troubles.iter().map(move |what| format!("{node}: {what}"))).collect()
    }

    /// What a host has counted of a contract.
    pub(crate) fn of(&self, node: &str, serial: u64) -> Option<Traffic> {
        self.lock().traffic.get(node)?.get(&serial).cloned()
    }

    /// All contracts together, with their serial number 0.
    pub(crate) fn sum(&self) -> Traffic {
        let mut sum = Traffic::default();
        for one in self.lock().traffic.values().flat_map(BTreeMap::values) {
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
