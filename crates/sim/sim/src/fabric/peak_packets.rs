//! Peak number of packets in all parts together.
//!
//! The peak depends on the order of events in the whole network. Every part records the events that made packets come
//! and go; one of them sorts these records into the order in which one thread would have handled the events.

use crate::clock::Instant;
use crate::events::Actor;

/// Position of an event in the order of one thread. Of simultaneous events in the queue the one with the lower actor
/// is first; an event that is put later comes after the one that put it. So the highest actor so far counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    at: Instant,
    actor: Actor,
    /// In an event that all parts have, a process that opens flows: which flow. Behind all of them: [`Actor::MAX`].
    opening: u32,
    /// Behind such an event, the highest actor since.
    after: Actor,
}

/// A packet comes (1) or goes (-1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    moment: Moment,
    by: i32,
}

/// Records of one part.
#[derive(Debug, Default)]
pub(crate) struct PeakPackets {
    moment: Moment,
    is_shared: bool,
    changes: Vec<Change>,
}

impl PeakPackets {
    /// An event begins; whether all parts have it.
    #[inline]
    pub(crate) fn begin(&mut self, at: Instant, actor: Actor, is_shared: bool) {
        if at > self.moment.at || actor > self.moment.actor {
            self.moment = Moment { at, actor, opening: 0, after: 0 };
            self.is_shared = is_shared;
        } else if self.is_shared {
            (self.moment.opening, self.moment.after) = (u32::MAX, self.moment.after.max(actor));
        }
    }

    /// A flow begins, in all parts.
    pub(crate) fn opens(&mut self, flow: u32) {
        self.moment.opening = flow;
    }

    /// A packet comes (1) or goes (-1). Not inline: it would be where packets are made and end also in runs on one thread.
    #[inline(never)]
    pub(crate) fn change(&mut self, by: i32) {
        self.changes.push(Change { moment: self.moment, by });
    }

    /// Swaps out the records since the last call.
    pub(crate) fn swap(&mut self, with: &mut Vec<Change>) {
        std::mem::swap(&mut self.changes, with);
    }
}

/// The sum of all parts.
#[derive(Debug, Default)]
pub(crate) struct Total {
    now: i64,
    peak: i64,
    /// Records that are not sorted yet.
    changes: Vec<Change>,
    /// Maximum increase from now, if all parts had their peak at the same moment.
    most: i64,
}

impl Total {
    /// Adds the records of a part.
    pub(crate) fn add(&mut self, changes: &mut Vec<Change>) {
        let (mut sum, mut most) = (0, 0);
        for change in changes.iter() {
            sum += i64::from(change.by);
            most = most.max(sum);
        }
        self.most += most;
        self.changes.append(changes);
    }

    /// Concludes the round after all parts have added their records until now.
    pub(crate) fn conclude(&mut self) {
        let may_be_most = self.now + self.most > self.peak;
        if may_be_most {
            // Stable: what a part noted of one moment stays in its order.
            self.changes.sort_by_key(|change| change.moment);
        }
        for change in self.changes.drain(..) {
            self.now += i64::from(change.by);
            if may_be_most {
                self.peak = self.peak.max(self.now);
            }
        }
        self.most = 0;
    }

    /// The most packets that there were at once.
    pub(crate) fn peak(&self) -> u64 {
        u64::try_from(self.peak).unwrap_or(0)
    }
}
