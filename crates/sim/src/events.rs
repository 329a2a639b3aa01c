//! The event queue: who acts next.
//!
//! Every actor (a link with packets on it, a port that will be free, a source, a timer) stands in the queue at most a
//! few times, so the queue stays as small as the network is, however many packets there are. Keys are one word: time
//! above, actor below. So ties are broken by the actor's number, and a run is the same on every machine.
//!
//! In a small network a heap is fastest. In a large one it is a calendar: there it costs less, and a bucket is what the network
//! can look ahead to ([`EventQueue::batch`]). The order is the same.

mod calendar;
mod heap;
mod key;

use crate::clock::Instant;
use calendar::Calendar;
use heap::Heap;
use key::{ACTOR_BITS, actor_of, key};
pub(crate) use key::{Actor, HORIZON, MAX_ACTORS};

/// Actors by time.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// The time that keys count from; at most [`HORIZON`] before the present.
    base: Instant,
    /// All events; where there is a calendar, those that lie beyond it.
    heap: Heap,
    calendar: Option<Box<Calendar>>,
}

impl EventQueue {
    /// For a large network; by default it is for a small one.
    pub(crate) fn large() -> Self {
        Self { calendar: Some(Box::default()), ..Self::default() }
    }

    /// Puts an event; `at` must be at most [`HORIZON`] after the last event that was taken.
    #[inline]
    pub(crate) fn put(&mut self, at: Instant, actor: Actor) {
        debug_assert!(at >= self.base && at - self.base < 2 * HORIZON, "an event is too far away");
        let key = key(at - self.base, actor);
        match &mut self.calendar {
            None => self.heap.put(key),
            Some(calendar) => calendar.put(key, &mut self.heap),
        }
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Instant, Actor)> {
        let key = match &mut self.calendar {
            None => self.heap.take()?,
            Some(calendar) => calendar.take(&mut self.heap)?,
        };
        let at = self.base + (key >> ACTOR_BITS);
        if key >> ACTOR_BITS >= HORIZON {
            self.rebase(at);
        }
        Some((at, actor_of(key)))
    }

    /// Whether an event can be put then, which may be a little before the last one that was taken.
    pub(crate) fn reaches_back_to(&self, at: Instant) -> bool {
        at >= self.base
    }

    /// Takes all events, in no order: what stands still for a while puts its own again later.
    pub(crate) fn take_all(&mut self) -> Vec<(Instant, Actor)> {
        let mut keys = self.heap.take_all();
        if let Some(calendar) = &mut self.calendar {
            calendar.take_all(&mut keys);
        }
        keys.into_iter().map(|key| (self.base + (key >> ACTOR_BITS), actor_of(key))).collect()
    }

    /// When the first event is; it stays.
    #[inline]
    pub(crate) fn first_at(&mut self) -> Option<Instant> {
        let key = match &mut self.calendar {
            None => self.heap.first()?,
            Some(calendar) => calendar.first(&mut self.heap)?,
        };
        Some(self.base + (key >> ACTOR_BITS))
    }

    /// No event will be put before a time, and none is: [`HORIZON`] counts from there.
    pub(crate) fn advance(&mut self, to: Instant) {
        if to - self.base >= HORIZON {
            self.rebase(to);
        }
    }

    /// Keys count from a time closer to the present, or the present itself.
    #[cold]
    fn rebase(&mut self, now: Instant) {
        let mut by = now - self.base;
        if let Some(calendar) = &mut self.calendar {
            by = calendar.rebase(by);
        }
        self.heap.rebase(by << ACTOR_BITS);
        self.base += by;
    }

    /// Whether it is made for a large network.
    pub(crate) fn is_large(&self) -> bool {
        self.calendar.is_some()
    }

    /// The same events as in a large network.
    #[cfg(test)]
    pub(crate) fn become_large(&mut self) {
        let mut large = Self { base: self.base, ..Self::large() };
        while let Some((at, actor)) = self.take() {
            large.put(at, actor);
        }
        *self = large;
    }

    /// Whether the next event is the first of a new batch.
    #[inline]
    pub(crate) fn is_batch_over(&self) -> bool {
        self.calendar.as_ref().is_some_and(|calendar| calendar.batch().is_empty())
    }

    /// The next batch begins, after the one before it is over.
    pub(crate) fn turn(&mut self) {
        if let Some(calendar) = &mut self.calendar {
            calendar.turn(&mut self.heap);
        }
    }

    /// The actors of the batch, in no order that matters.
    pub(crate) fn batch(&self) -> impl Iterator<Item = Actor> {
        let batch = self.calendar.as_ref().map_or(&[][..], |calendar| calendar.batch());
        batch.iter().map(|&key| actor_of(key))
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.heap.memory() + self.calendar.as_ref().map_or(0, |calendar| calendar.memory())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn events_come_in_order_of_time_and_then_of_actor() {
        for mut queue in [EventQueue::default(), EventQueue::large()] {
            for (at, actor) in [(7, 1), (5, 9), (7, 0), (5, 3)] {
                queue.put(at, actor);
            }
            let order: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
            assert_eq!(order, [(5, 3), (5, 9), (7, 0), (7, 1)]);
        }
    }

    #[test]
    fn a_long_history_equals_a_sorted_set() {
        compare(EventQueue::default());
    }

    #[test]
    fn a_calendar_equals_a_sorted_set_however_wide_its_buckets_are() {
        let widths = compare(EventQueue::large());
        assert!(widths.len() > 10, "{widths:?}");
    }

    /// Against a set. The widths that buckets had.
    fn compare(mut queue: EventQueue) -> BTreeSet<u32> {
        // A multiplicative generator is enough here, and needs no seed to be printed.
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) % below
        };
        let mut model = BTreeSet::new();
        let (mut now, mut widths) = (0, BTreeSet::new());
        // Traffic that becomes dense and sparse again, so that buckets become narrow and wide, with events of a distant future in it.
        for spread in [HORIZON / 4, 1_000_000, 2_000, 40, 5_000_000_000, 300_000, HORIZON / 4] {
            for step in 0..40_000 {
                if random(2) > 0 && model.len() < 3_000 || model.is_empty() {
                    let within = if random(50) == 0 { HORIZON } else { spread };
                    let event = (now + random(within), (step % 977) as Actor);
                    if model.insert(event) {
                        queue.put(event.0, event.1);
                    }
                } else {
                    let taken = queue.take();
                    assert_eq!(taken, model.pop_first(), "at step {step} of {spread}");
                    now = taken.unwrap().0;
                }
                widths.extend(queue.calendar.as_ref().map(|calendar| calendar.width()));
            }
        }
        while let Some(event) = model.pop_first() {
            assert_eq!(queue.take(), Some(event));
        }
        assert!(now > 10 * HORIZON, "the clock was set again many times");
        assert_eq!(queue.take(), None);
        widths
    }
}
