//! Timers of the host layer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::slot::{HostId, PairSlot};
use crate::clock::Instant;
use crate::events::{Actor, HORIZON};
use crate::fabric::NetworkState;
use crate::transport::NEVER;

/// A timer of the host layer. A number behind a pair is its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostTimer {
    /// Wakes a pair that waits for tokens, a window or a path.
    Pair(PairSlot),
    /// Wakes a class that waits for tokens.
    Class(HostId, u32),
    /// A machine's timer, by its place.
    Scheme(HostId, u32),
    /// Closes a pair that has been idle.
    Idle(PairSlot, u32),
    /// Sends a delayed message.
    Message(u32),
    /// A scheduled change, by its place in the scenario.
    Event(u32),
    /// A broker's timer, by its place.
    BrokerTimer(u32, u32),
    /// Begins a decision slot of a pair's tunnel.
    Slot(PairSlot, u32),
    /// Asks a pair's path role for a probe.
    PathProbe(PairSlot, u32),
    /// Checks whether the answers that a window waits for are lost.
    Silence(PairSlot, u32),
}

/// A queue of timers, ordered by time and then by when they were armed. One actor of the event queue serves all of them.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    all: BinaryHeap<Reverse<(Instant, u64, HostTimer)>>,
    armed: u64,
    /// Time of the event for the next timer; zero while timers are handled.
    at: Instant,
    actor: Actor,
}

impl TimerQueue {
    /// None yet.
    pub(crate) fn new(actor: Actor) -> Self {
        Self { all: BinaryHeap::new(), armed: 0, at: NEVER, actor }
    }

    /// Something will happen at a time.
    pub(crate) fn arm(&mut self, at: Instant, what: HostTimer, fabric: &mut NetworkState, now: Instant) {
        if at == NEVER {
            return;
        }
        self.armed += 1;
        self.all.push(Reverse((at, self.armed, what)));
        if at < self.at {
            self.schedule(at, fabric, now);
        }
    }

    /// Schedules the event for the next timer.
    fn schedule(&mut self, at: Instant, fabric: &mut NetworkState, now: Instant) {
        self.at = at.clamp(now, now + HORIZON / 2);
        fabric.schedule(self.at, self.actor);
    }

    /// Returns `true` if the event is the one for the next timer: then [`TimerQueue::due`] returns the due timers,
    /// and [`TimerQueue::end`] schedules the next event.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        let is_next = self.at == now;
        if is_next {
            self.at = 0;
        }
        is_next
    }

    /// Returns the next due timer, and its time.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, HostTimer)> {
        self.all.peek().filter(|Reverse((at, ..))| *at <= now)?;
        self.all.pop().map(|Reverse((at, _, what))| (at, what))
    }

    /// Schedules the next event after all due timers were handled.
    pub(crate) fn end(&mut self, fabric: &mut NetworkState, now: Instant) {
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
