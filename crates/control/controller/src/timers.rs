//! Timers of a controller.

use std::collections::BTreeSet;

use wayleave_topology::NodeId;
use wayleave_units::{Time, WallTime};

/// Pending timers. The handler looks up the present state of the object, so no timer has to be cancelled.
#[derive(Default)]
pub(crate) struct Timers {
    steady: BTreeSet<(Time, TimerEvent)>,
    wall: BTreeSet<(WallTime, u64)>,
}

/// Something by the steady clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerEvent {
    /// A route is empty.
    Empty(u64),
    /// A sender should have confirmed this version.
    Confirmed(u64, u64),
    /// Degraded contracts are tried again.
    Retry,
    /// A contract has not been violated for some time.
    Healed(u64),
    /// The last packets of an ended share have left.
    ShareEmpty,
    /// The heartbeat of a node's agent is due.
    Heartbeat(NodeId),
    /// The agent of a node should have reported its rules in this session.
    Reported(NodeId, u64),
}

impl Timers {
    pub(crate) fn at(&mut self, time: Time, due: TimerEvent) {
        self.steady.insert((time, due));
    }

    /// A contract starts or ends.
    pub(crate) fn at_wall(&mut self, time: WallTime, serial: u64) {
        self.wall.insert((time, serial));
    }

    pub(crate) fn pop(&mut self, now: Time) -> Option<TimerEvent> {
        let first = self.steady.first().copied().filter(|(time, _)| *time <= now)?;
        self.steady.remove(&first);
        Some(first.1)
    }

    pub(crate) fn pop_wall(&mut self, now: WallTime) -> Option<u64> {
        let first = self.wall.first().copied().filter(|(time, _)| *time <= now)?;
        self.wall.remove(&first);
        Some(first.1)
    }

    pub(crate) fn next(&self) -> (Option<Time>, Option<WallTime>) {
        (self.steady.first().map(|&(time, _)| time), self.wall.first().map(|&(time, _)| time))
    }

    pub(crate) fn has(&self, due: TimerEvent) -> bool {
        self.steady.iter().any(|&(_, other)| other == due)
    }
}
