//! Packets that are sent over several routes at once: the sender's copies, and the receiver's filter.
//!
//! Chameleon (CoNEXT 2020), section 4.2.2. Every copy is a packet like any other, and is counted as one; what the filter
//! hands up is counted once more, as the flow itself.

use wayleave_schemes::duplicates::{DuplicateCheck, Filter};

use crate::clock::{self, Instant};
use crate::fabric::Step;
use crate::packet::Packet;
use crate::run_stats::RunStats;

/// No set of copies.
const NONE: u32 = u32::MAX;

/// The flows that are sent over several routes.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    sets: Vec<CopySet>,
    /// By index of statistics: its set, as far as there are any.
    of_flow: Vec<u32>,
}

/// One flow's copies.
#[derive(Debug)]
struct CopySet {
    /// Routes in addition to the source's own.
    copy_paths: Vec<CopyPath>,
    /// Index of the flow's own statistics.
    whole: u32,
    filter: Filter,
}

/// Route of one copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPath {
    pub(crate) first: Step,
    pub(crate) route: u32,
    /// Index of its statistics.
    pub(crate) flow: u32,
}

impl Copies {
    /// Adds a flow that is sent over these routes in addition to its own, whose copy is counted at `own`. Returns the
    /// number of the set.
    pub(crate) fn add(&mut self, whole: u32, own: u32, copy_paths: Vec<CopyPath>, filter: Filter) -> u32 {
        let number = self.sets.len() as u32;
        for flow in copy_paths.iter().map(|copy_path| copy_path.flow).chain([own]) {
            if self.of_flow.len() <= flow as usize {
                self.of_flow.resize(flow as usize + 1, NONE);
            }
            self.of_flow[flow as usize] = number;
        }
        self.sets.push(CopySet { copy_paths, whole, filter });
        number
    }

    /// Returns `true` if no flow has copies.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the index of statistics of a set's flow.
    pub(crate) fn whole(&self, set: u32) -> u32 {
        self.sets[set as usize].whole
    }

    /// Returns the routes of a set in addition to its source's own.
    pub(crate) fn paths(&self, set: u32) -> &[CopyPath] {
        &self.sets[set as usize].copy_paths
    }

    /// A packet that may be a copy has come: the first one counts.
    #[cold]
    pub(crate) fn eliminate(&mut self, packet: &Packet, stats: &mut RunStats, now: Instant) {
        let set = self.of_flow.get(packet.flow as usize).and_then(|&set| self.sets.get_mut(set as usize));
        let Some(set) = set else { return };
        // Numbers are of 16 bits on the wire.
        match set.filter.on_packet(clock::to_time(now), packet.sequence as u16) {
            DuplicateCheck::Accept => stats.delivered(set.whole, packet, || packet.sequence, now),
            DuplicateCheck::Discard => stats.duplicate(set.whole),
        }
    }
}
