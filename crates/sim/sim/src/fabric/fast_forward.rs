//! Suspended parts of the network: their events are delayed, and their earlier counts are credited for the time in
//! between.

use super::{NetworkState, QueueRecord};
use crate::clock::Instant;
use crate::events::Actor;
use crate::link::Port;

/// Counts of a link until a time.
#[derive(Clone, Debug)]
pub(crate) struct LinkCounts {
    taken: u64,
    queues: Vec<QueueRecord>,
}

impl NetworkState {
    /// Takes the events of some actors out of the queue.
    pub(crate) fn take_events(&mut self, is_meant: impl Fn(Actor) -> bool) -> Vec<(Instant, Actor)> {
        let (meant, others): (Vec<_>, Vec<_>) =
            self.events.take_all().into_iter().partition(|&(_, actor)| is_meant(actor));
        for (at, actor) in others {
            self.events.put(at, actor);
        }
        meant
    }

    /// Returns `true` if events can be put from then on, which is a little before now.
    pub(crate) fn reaches_back_to(&self, at: Instant) -> bool {
        self.events.reaches_back_to(at)
    }

    /// Delays a link, its port and the packets there, which were suspended for this time.
    pub(crate) fn delay(&mut self, link: u32, by: Instant) {
        let state = &mut self.links[link as usize];
        state.delay(by, &mut self.arena);
        if let Port::Queued(port) = state.port() {
            self.ports[port as usize].delay(by, &mut self.arena);
        }
    }

    /// Returns the counts of a link until now.
    pub(crate) fn counts_at(&mut self, link: u32) -> LinkCounts {
        self.flush_immediate(link);
        let first = link as usize * self.stride;
        let queues = self.records[first..first + self.stride].to_vec();
        LinkCounts { taken: self.links[link as usize].taken(), queues }
    }

    /// Credits the counts of a link since an earlier time `times.0 / times.1` times more.
    pub(crate) fn repeat(&mut self, link: u32, earlier: &LinkCounts, times: (u64, u64)) {
        self.flush_immediate(link);
        let scaled = |now: u64, before: u64| {
            let more = u128::from(now.saturating_sub(before)) * u128::from(times.0) / u128::from(times.1.max(1));
            u64::try_from(more).unwrap_or(u64::MAX)
        };
        let state = &mut self.links[link as usize];
        state.credit(scaled(state.taken(), earlier.taken));
        let records = &mut self.records[link as usize * self.stride..];
        for (record, before) in records.iter_mut().zip(&earlier.queues) {
            record.wait.repeat_since(&before.wait, times);
            if let Some(found) = &mut record.found {
                match &before.found {
                    Some(before) => found.repeat_since(before, times),
                    None => found.repeat_since(&Default::default(), times),
                }
            }
            record.drops += scaled(record.drops, before.drops);
            record.marks += scaled(record.marks, before.marks);
            record.immediate += scaled(record.immediate, before.immediate);
        }
    }
}
