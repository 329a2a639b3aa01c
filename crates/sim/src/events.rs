//! The event queue: who acts next.
//!
//! Every actor (a link with packets on it, a port that will be free, a source, a timer) stands in the queue at most a
//! few times, so the queue stays as small as the network is, however many packets there are. Keys are one word: time
//! above, actor below. So ties are broken by the actor's number, and a run is the same on every machine. The heap has
//! four children a node, which halves its depth; an event that is taken leaves a hole at the root, which the next
//! event that is put fills: most events put one other.

use crate::clock::Instant;

/// Bits of an actor's number.
const ACTOR_BITS: u32 = 22;

/// How many actors there can be.
pub(crate) const MAX_ACTORS: usize = 1 << ACTOR_BITS;

/// No event is put later than this after the present: 2.2 s. Whoever waits longer wakes up and waits again.
pub(crate) const HORIZON: Instant = 1 << (63 - ACTOR_BITS);

/// Who acts.
pub(crate) type Actor = u32;

/// Actors by time.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    keys: Vec<u64>,
    /// The time that keys count from; at most [`HORIZON`] before the present.
    base: Instant,
    root: Root,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Root {
    /// The first event.
    #[default]
    Filled,
    /// It was taken; its place is free.
    Hole,
}

impl EventQueue {
    /// Puts an event; `at` must be at most [`HORIZON`] after the last event that was taken.
    #[inline]
    pub(crate) fn put(&mut self, at: Instant, actor: Actor) {
        debug_assert!(at >= self.base && at - self.base < 2 * HORIZON, "an event is too far away");
        let key = (at - self.base) << ACTOR_BITS | u64::from(actor);
        if self.root == Root::Hole {
            self.root = Root::Filled;
            self.sink(key);
        } else {
            self.keys.push(key);
            self.rise(self.keys.len() - 1);
        }
    }

    /// Takes the first event.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Instant, Actor)> {
        self.fill();
        let key = *self.keys.first()?;
        self.root = Root::Hole;
        let at = self.base + (key >> ACTOR_BITS);
        if key >> ACTOR_BITS >= HORIZON {
            self.rebase(at);
        }
        Some((at, (key & (MAX_ACTORS as u64 - 1)) as Actor))
    }

    /// Whether an event can be put then, which may be a little before the last one that was taken.
    pub(crate) fn reaches_back_to(&self, at: Instant) -> bool {
        at >= self.base
    }

    /// Takes all events, in no order: what stands still for a while puts its own again later.
    pub(crate) fn take_all(&mut self) -> Vec<(Instant, Actor)> {
        self.fill();
        let base = self.base;
        let event = |key: u64| (base + (key >> ACTOR_BITS), (key & (MAX_ACTORS as u64 - 1)) as Actor);
        self.keys.drain(..).map(event).collect()
    }

    /// Closes the hole with the last key.
    #[inline]
    fn fill(&mut self) {
        if self.root == Root::Hole {
            self.root = Root::Filled;
            if let Some(last) = self.keys.pop()
                && !self.keys.is_empty()
            {
                self.sink(last);
            }
        }
    }

    #[cold]
    fn rebase(&mut self, to: Instant) {
        let passed = (to - self.base) << ACTOR_BITS;
        // The hole's key is the smallest: it stays at or above zero like all others.
        self.keys.iter_mut().for_each(|key| *key -= passed.min(*key));
        self.base = to;
    }

    #[inline]
    fn rise(&mut self, mut at: usize) {
        let keys = self.keys.as_mut_slice();
        let key = keys[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if keys[parent] <= key {
                break;
            }
            keys[at] = keys[parent];
            at = parent;
        }
        keys[at] = key;
    }

    /// Puts a key at the root and lets it sink to its place.
    #[inline]
    fn sink(&mut self, key: u64) {
        let keys = self.keys.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let (child, least) = match keys.get(first..first + 4) {
                Some(&[a, b, c, d]) => {
                    let left = if b < a { (first + 1, b) } else { (first, a) };
                    let right = if d < c { (first + 3, d) } else { (first + 2, c) };
                    if right.1 < left.1 { right } else { left }
                }
                _ => match (first..keys.len()).map(|child| (child, keys[child])).min_by_key(|&(_, key)| key) {
                    Some(least) => least,
                    None => break,
                },
            };
            if key <= least {
                break;
            }
            keys[at] = least;
            at = child;
        }
        keys[at] = key;
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn events_come_in_order_of_time_and_then_of_actor() {
        let mut queue = EventQueue::default();
        for (at, actor) in [(7, 1), (5, 9), (7, 0), (5, 3)] {
            queue.put(at, actor);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(order, [(5, 3), (5, 9), (7, 0), (7, 1)]);
    }

    #[test]
    fn a_long_history_equals_a_sorted_set() {
        // A multiplicative generator is enough here, and needs no seed to be printed.
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) % below
        };
        let (mut queue, mut model) = (EventQueue::default(), BTreeSet::new());
        let mut now = 0;
        for step in 0..20_000 {
            if random(2) > 0 || model.is_empty() {
                let event = (now + random(HORIZON / 4), (step % 977) as Actor);
                if model.insert(event) {
                    queue.put(event.0, event.1);
                }
            } else {
                let taken = queue.take();
                assert_eq!(taken, model.pop_first(), "at step {step}");
                now = taken.unwrap().0;
            }
        }
        while let Some(event) = model.pop_first() {
            assert_eq!(queue.take(), Some(event));
        }
        assert!(now > 10 * HORIZON, "the clock was set again many times");
        assert_eq!(queue.take(), None);
    }
}
