//! What happens at the edges at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::slot::{EdgeId, PairSlot};
use crate::clock::Instant;
use crate::events::{Actor, HORIZON};
use crate::fabric::Fabric;
use crate::transport::NEVER;

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    /// What a pair waits for is there.
    Pair(PairSlot),
    /// What a class waits for is there, by its edge and number.
    Class(EdgeId, u32),
    /// A machine's timer, by its place.
    Timer(EdgeId, u32),
    /// Whether a pair is still in use.
    Idle(PairSlot, u32),
    /// A message that was held back.
    Message(u32),
    /// Something changes, by its place in the scenario.
    Event(u32),
    /// A broker's timer, by its place.
    BrokerTimer(u32, u32),
    /// A decision slot of a pair's tunnel begins.
    Slot(PairSlot, u32),
    /// A pair's path role may want a probe.
    PathProbe(PairSlot, u32),
    /// Whether a window waits for answers that will not come.
    Silence(PairSlot, u32),
}

/// What will happen, by time; of what falls on the same instant, first what was armed first. One actor stands for all of it.
#[derive(Debug)]
pub(crate) struct Wakes {
    all: BinaryHeap<Reverse<(Instant, u64, Wake)>>,
    armed: u64,
    /// When the event of the next wake stands; zero while wakes are dealt with.
    at: Instant,
    actor: Actor,
}

impl Wakes {
    /// None yet.
    pub(crate) fn new(actor: Actor) -> Self {
        Self { all: BinaryHeap::new(), armed: 0, at: NEVER, actor }
    }

    /// Something will happen at a time.
    pub(crate) fn arm(&mut self, at: Instant, what: Wake, fabric: &mut Fabric, now: Instant) {
        if at == NEVER {
            return;
        }
        self.armed += 1;
        self.all.push(Reverse((at, self.armed, what)));
        if at < self.at {
            self.schedule(at, fabric, now);
        }
    }

    /// Puts the event of the next wake.
    fn schedule(&mut self, at: Instant, fabric: &mut Fabric, now: Instant) {
        self.at = at.clamp(now, now + HORIZON / 2);
        fabric.schedule(self.at, self.actor);
    }

    /// The event has come. Whether it is the one that stands for the next wake: then [`Wakes::due`] has what is due, and
    /// [`Wakes::end`] goes on.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        let is_next = self.at == now;
        if is_next {
            self.at = 0;
        }
        is_next
    }

    /// What is due next, and since when.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, Wake)> {
        self.all.peek().filter(|Reverse((at, ..))| *at <= now)?;
        self.all.pop().map(|Reverse((at, _, what))| (at, what))
    }

    /// All that is due was dealt with.
    pub(crate) fn end(&mut self, fabric: &mut Fabric, now: Instant) {
        self.at = NEVER;
        if let Some(&Reverse((at, ..))) = self.all.peek() {
            self.schedule(at, fabric, now);
        }
    }
}

/// Timers that are armed, each with whose it is.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Timers<T> {
    /// A place for a timer that is armed.
    pub(crate) fn keep(&mut self, timer: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.all[place as usize] = timer;
                place
            }
            None => {
                self.all.push(timer);
                self.all.len() as u32 - 1
            }
        }
    }

    /// A timer rings, and gives up its place.
    pub(crate) fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.all[place as usize]
    }
}
