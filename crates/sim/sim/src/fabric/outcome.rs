//! Counts of queues and links at the end of a run.

use wayleave_topology::{Link, LinkId};
use wayleave_units::{Bytes, Rate, Time};

use super::{NetworkState, QueueRecord};
use crate::clock::{self, Instant};
use crate::link::Port;
use crate::outcome::{LinkOutcome, QueueCounts, QueueOutcome, ServiceOutcome};
use crate::stats::Histogram;

impl NetworkState {
    /// Packets put on links.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// The most packets that there were at once.
    pub(crate) fn peak_packets(&self) -> u64 {
        self.peak_of_all.unwrap_or_else(|| u64::from(self.arena.peak()))
    }

    /// Returns the bytes of memory of structures that grow with traffic.
    pub(crate) fn memory(&self) -> u64 {
        (self.arena.memory() + self.events.memory()) as u64 + self.memory_elsewhere
    }

    /// Returns all links, after all queues. `counted` is the time for which their traffic was counted.
    pub(crate) fn link_outcomes(&mut self, counted: Time, end: Instant) -> Vec<LinkOutcome> {
        let mut levels = self.levels.take().map(Vec::into_iter);
        let (links, arena) = (&mut self.links, &self.arena);
        let link = |(id, link): (LinkId, &Link)| {
            let state = &mut links[id.index()];
            let mut backlog = levels.as_mut().and_then(Iterator::next);
            let is_empty = match state.port() {
                Port::Fifo => true,
                Port::Queued(port) => self.ports[port as usize].is_empty(),
            };
            if let Some(backlog) = backlog.as_mut().filter(|_| is_empty && state.free_at <= end) {
                backlog.set(state.free_at, 0);
            }
            let sent = state.sent(end, arena);
            let utilisation = share(sent, link.rate, counted);
            let lost_silently = self.health[id.index()].lost_silently;
            LinkOutcome { link: id, sent: Bytes::new(sent), utilisation, lost_silently, backlog }
        };
        self.network.links().map(link).collect()
    }

    /// Every queue that something passed.
    pub(crate) fn queue_outcomes(&mut self) -> Vec<QueueOutcome> {
        let mut outcomes = Vec::new();
        let links = self.network.links().len();
        for link in 0..links {
            self.flush_immediate(link as u32);
            for queue in 0..self.stride {
                if let Some(counts) = self.counts(link, queue) {
                    outcomes.push(QueueOutcome { link: LinkId(link as u32), queue: queue as u8, counts });
                }
            }
        }
        outcomes
    }

    /// Every shared service that something passed.
    pub(crate) fn service_outcomes(&mut self) -> Vec<ServiceOutcome> {
        let first = self.network.links().len();
        let mut outcomes = Vec::new();
        for (index, switch) in self.services.clone().into_iter().enumerate() {
            self.flush_immediate((first + index) as u32);
            outcomes.extend(self.counts(first + index, 0).map(|counts| ServiceOutcome { switch, counts }));
        }
        outcomes
    }

    /// Returns the counts of a queue, if anything passed it.
    fn counts(&mut self, link: usize, queue: usize) -> Option<QueueCounts> {
        let mut record = std::mem::take(&mut self.records[link * self.stride + queue]);
        record.wait.record_many(0, record.immediate);
        if let Some(found) = &mut record.found {
            found.record_many(0, record.immediate);
        }
        if record.wait.count() == 0 && record.drops == 0 {
            return None;
        }
        let rate = self.rates[link];
        let found = record.found.map_or_else(|| workload(&record.wait, rate), |found| *found);
        let peak = match self.links[link].port() {
            Port::Fifo => clock::transmitted(record.longest, rate),
            Port::Queued(_) => u64::from(record.peak),
        };
        let QueueRecord { wait, drops, marks, .. } = record;
        Some(QueueCounts { wait, found, peak: Bytes::new(peak), drops, marks })
    }
}

/// First come, first served, a packet waits for the bytes that it finds.
fn workload(wait: &Histogram, rate: Rate) -> Histogram {
    let mut found = Histogram::new();
    for bucket in wait.iter() {
        let bits = u128::from(bucket.high) * u128::from(rate.bits_per_second()) / u128::from(clock::PS_PER_SECOND);
        found.record_many(u64::try_from(bits / 8).unwrap_or(u64::MAX), bucket.count);
    }
    found
}

fn share(sent: u64, rate: Rate, time: Time) -> f64 {
    let possible = rate.bits_per_second() as f64 * time.as_nanos() as f64 / 1e9;
    if possible > 0.0 { sent as f64 * 8.0 / possible } else { 0.0 }
}
