//! The event queue, in order of time.
//!
//! Every actor (a link with packets on it, a port that will be free, a source, a timer) has at most a few entries, so
//! the queue's size depends on the network and not on the number of packets. Keys are one word: time above, actor
//! below. So ties are broken by the actor's number, and a run is identical on every machine.
//!
//! In a small network the near future is a wheel: insertion and the search for the next event have no branch that
//! depends on times, which a processor could only guess. The first event is stored separately, so that it is known
//! while the previous one is still being handled. In a large network there is a calendar; one of its buckets is the
//! range that the network can look ahead to ([`EventQueue::batch`]). Later events are in a heap. Both have an
//! identical order.

mod calendar;
mod heap;
mod key;
mod wheel;

use crate::clock::Instant;
use calendar::Calendar;
use heap::Heap;
use key::{ACTOR_BITS, NONE, actor_of, key};
pub(crate) use key::{Actor, HORIZON, MAX_ACTORS};
use wheel::Wheel;

/// Maximum time before the present at which events can be put: a suspended group resumes a little earlier. In ps: 1
/// ms.
pub(crate) const REACH: Instant = 1_000_000_000;

const _: () = assert!(REACH < HORIZON / 2, "keys count from at most `HORIZON` before the present");

/// Time up to which events are taken, from [`EventQueue::limit`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(u64);

/// Actors by time.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The time that keys count from; at most [`HORIZON`] before the present.
    base: Instant,
    /// In a small network: the first event, which is in neither of the others; or [`NONE`].
    next: u64,
    near: Near,
    /// Later events.
    far: Heap,
}

/// Events of the near future.
#[derive(Debug)]
enum Near {
    /// In a small network.
    Wheel(Box<Wheel>),
    /// In a large one.
    Calendar(Box<Calendar>),
}

impl Default for Near {
    fn default() -> Self {
        Self::Wheel(Box::default())
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self { base: 0, next: NONE, near: Near::default(), far: Heap::default() }
    }
}

impl EventQueue {
    /// For a large network; by default it is for a small one.
    pub(crate) fn large() -> Self {
        Self { near: Near::Calendar(Box::default()), ..Self::default() }
    }

    /// Puts an event; `at` must be at most [`HORIZON`] after the last event that was taken.
    #[inline]
    pub(crate) fn put(&mut self, at: Instant, actor: Actor) {
        debug_assert!(at >= self.base && at - self.base < 2 * HORIZON, "an event is too far away");
        self.put_key(key(at - self.base, actor));
    }

    #[inline]
    fn put_key(&mut self, key: u64) {
        match &mut self.near {
            Near::Wheel(_) if key < self.next => self.put_first(key),
            Near::Wheel(wheel) => {
                if !wheel.put(key) {
                    self.far.put(key);
                }
            }
            Near::Calendar(calendar) => calendar.put(key, &mut self.far),
        }
    }

    /// Puts a key before all others.
    #[cold]
    fn put_first(&mut self, key: u64) {
        let other = std::mem::replace(&mut self.next, key);
        if let Near::Wheel(wheel) = &mut self.near
            && other != NONE
            && !wheel.put(other)
        {
            self.far.put(other);
        }
    }

    /// Returns a time in the form for [`Self::take_before`]: valid until [`Self::is_due_before`] has set the clock.
    #[inline]
    pub(crate) fn limit(&self, until: Instant) -> Limit {
        Limit(until.saturating_sub(self.base).min(HORIZON) << ACTOR_BITS)
    }

    /// The same for the events before a time, and those at that time of actors before one.
    pub(crate) fn limit_at(&self, at: Instant, actor: Actor) -> Limit {
        let after = at.saturating_sub(self.base);
        if after < HORIZON { Limit(key(after, actor)) } else { self.limit(at) }
    }

    /// Takes the first event, if it is before a time. If there is none, [`Self::is_due_before`] decides if that is
    /// final.
    #[inline(always)]
    pub(crate) fn take_before(&mut self, limit: Limit) -> Option<(Instant, Actor)> {
        let key = match &mut self.near {
            Near::Wheel(wheel) => {
                let key = self.next;
                if key >= limit.0 {
                    return None;
                }
                wheel.advance(key);
                let (near, slot) = wheel.first();
                self.next = if near < self.far.first() {
                    wheel.take(slot);
                    near
                } else {
                    self.far.take()
                };
                key
            }
            Near::Calendar(calendar) => calendar.take_before(limit.0, &mut self.far)?,
        };
        Some((self.base + (key >> ACTOR_BITS), actor_of(key)))
    }

    /// Returns `true` if an event is before a time; the clock is set then, so that the event can be taken.
    #[cold]
    pub(crate) fn is_due_before(&mut self, until: Instant) -> bool {
        let Some(first) = self.first_at().filter(|&first| first < until) else { return false };
        if first - self.base >= HORIZON {
            self.rebase(first - REACH);
        }
        true
    }

    /// Adapts the step length of the wheel, if this is due and better. `taken` is the number of events taken until
    /// now.
    pub(crate) fn adapt(&mut self, taken: u64) {
        if let Near::Wheel(wheel) = &mut self.near
            && let Some(width) = wheel.better_width(taken)
        {
            self.put_again(|wheel| wheel.set_width(width), |key| key);
        }
    }

    /// Changes an empty wheel, and puts what was in the queue again.
    #[cold]
    fn put_again(&mut self, change: impl FnOnce(&mut Wheel), changed: impl Fn(u64) -> u64) {
        let keys = self.take_all_keys();
        if let Near::Wheel(wheel) = &mut self.near {
            change(wheel);
        }
        keys.into_iter().for_each(|key| self.put_key(changed(key)));
    }

    /// Returns `true` if an event can be put then, which may be [`REACH`] before the last one that was taken.
    pub(crate) fn reaches_back_to(&self, at: Instant) -> bool {
        at >= self.base
    }

    /// Takes all events, in no order: suspended groups put theirs again later.
    pub(crate) fn take_all(&mut self) -> Vec<(Instant, Actor)> {
        let keys = self.take_all_keys();
        keys.into_iter().map(|key| (self.base + (key >> ACTOR_BITS), actor_of(key))).collect()
    }

    fn take_all_keys(&mut self) -> Vec<u64> {
        let mut keys = self.far.take_all();
        keys.extend(Some(std::mem::replace(&mut self.next, NONE)).filter(|&key| key != NONE));
        match &mut self.near {
            Near::Wheel(wheel) => wheel.take_all(&mut keys),
            Near::Calendar(calendar) => calendar.take_all(&mut keys),
        }
        keys
    }

    /// Returns the time of the first event without taking it.
    #[inline]
    pub(crate) fn first_at(&mut self) -> Option<Instant> {
        let key = match &mut self.near {
            Near::Wheel(_) => Some(self.next).filter(|&key| key != NONE)?,
            Near::Calendar(calendar) => calendar.first(&mut self.far)?,
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
        let by = now - self.base;
        match &mut self.near {
            Near::Wheel(_) => {
                self.put_again(|wheel| wheel.rebase(by), |key| key.saturating_sub(by << ACTOR_BITS));
                self.base += by;
            }
            Near::Calendar(calendar) => {
                let by = calendar.rebase(by);
                self.far.rebase(by << ACTOR_BITS);
                self.base += by;
            }
        }
    }

    /// Returns `true` if it is made for a large network.
    pub(crate) fn is_large(&self) -> bool {
        matches!(self.near, Near::Calendar(_))
    }

    /// Takes the first event.
    #[cfg(test)]
    pub(crate) fn take(&mut self) -> Option<(Instant, Actor)> {
        self.is_due_before(Instant::MAX).then(|| self.take_before(self.limit(Instant::MAX)))?
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

    fn calendar(&self) -> Option<&Calendar> {
        match &self.near {
            Near::Wheel(_) => None,
            Near::Calendar(calendar) => Some(calendar),
        }
    }

    /// Returns `true` if the next event is the first of a new batch.
    #[inline]
    pub(crate) fn is_batch_over(&self) -> bool {
        self.calendar().is_some_and(|calendar| calendar.batch().is_empty())
    }

    /// The next batch begins, after the one before it is over.
    pub(crate) fn turn(&mut self) {
        if let Near::Calendar(calendar) = &mut self.near {
            calendar.turn(&mut self.far);
        }
    }

    /// The actors of the batch, in no order that matters.
    pub(crate) fn batch(&self) -> impl Iterator<Item = Actor> {
        let batch = self.calendar().map_or(&[][..], Calendar::batch);
        batch.iter().map(|&key| actor_of(key))
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let near = match &self.near {
            Near::Wheel(wheel) => wheel.memory(),
            Near::Calendar(calendar) => calendar.memory(),
        };
        near + self.far.memory()
    }

    /// The binary logarithm of the width of a bucket or a step, in ps.
    #[cfg(test)]
    fn width(&self) -> u32 {
        match &self.near {
            Near::Wheel(wheel) => wheel.width(),
            Near::Calendar(calendar) => calendar.width(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use wayleave_repo_checks::Random;

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
    fn events_can_be_put_slightly_into_the_past_even_with_later_keys() {
        for mut queue in [EventQueue::default(), EventQueue::large()] {
            for at in [3 * HORIZON / 4, 3 * HORIZON / 2, 9 * HORIZON / 4] {
                queue.put(at, 5);
                assert_eq!(queue.take(), Some((at, 5)));
                assert!(queue.reaches_back_to(at - REACH), "from {} to {at}", queue.base);
                queue.put(at + 1, 1);
                queue.put(at - REACH, 7);
                queue.put(at - REACH, 6);
                let order: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
                assert_eq!(order, [(at - REACH, 6), (at - REACH, 7), (at + 1, 1)]);
            }
        }
    }

    #[test]
    fn a_limit_at_a_time_excludes_later_actors() {
        for mut queue in [EventQueue::default(), EventQueue::large()] {
            for event in [(5, 9), (7, 1), (7, 3), (7, 4), (8, 0)] {
                queue.put(event.0, event.1);
            }
            let limit = queue.limit_at(7, 3);
            assert_eq!([(); 3].map(|()| queue.take_before(limit)), [Some((5, 9)), Some((7, 1)), None]);
        }
    }

    #[test]
    fn a_long_history_equals_a_sorted_set() {
        let widths = compare(EventQueue::default());
        assert!(widths.len() > 10, "{widths:?}");
    }

    #[test]
    fn a_calendar_equals_a_sorted_set_for_any_bucket_width() {
        let widths = compare(EventQueue::large());
        assert!(widths.len() > 10, "{widths:?}");
    }

    /// Against a set. The widths that buckets had.
    fn compare(mut queue: EventQueue) -> BTreeSet<u32> {
        let mut random = Random::new(1);
        let mut model = BTreeSet::new();
        let (mut now, mut taken, mut widths) = (0, 0, BTreeSet::new());
        // Traffic that becomes dense and sparse again, so that buckets become narrow and wide, with events of a distant future in it.
        for spread in [HORIZON / 4, 1_000_000, 2_000, 40, 5_000_000_000, 300_000, HORIZON / 4] {
            for step in 0..40_000 {
                if random.below(2) > 0 && model.len() < 3_000 || model.is_empty() {
                    let within = if random.one_in(50) { HORIZON } else { spread };
                    let event = (now + random.below(within), (step % 977) as Actor);
                    if model.insert(event) {
                        queue.put(event.0, event.1);
                    }
                } else {
                    let first = queue.take();
                    assert_eq!(first, model.pop_first(), "at step {step} of {spread}");
                    now = first.unwrap().0;
                    taken += 1;
                }
                queue.adapt(taken);
                widths.extend([queue.width()]);
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
