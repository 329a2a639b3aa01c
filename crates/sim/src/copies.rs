//! Packets that are sent over several routes at once: the sender's copies, and the receiver's filter.
//!
//! Chameleon (CoNEXT 2020), section 4.2.2. Every copy is a packet like any other, and is counted as one; what the filter
//! hands up is counted once more, as the flow itself.

use wayleave_schemes::duplicates::{Filter, Verdict};

use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::fabric::Step;
use crate::packet::Packet;
use crate::trace::Event;

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
    /// The ways beside the source's own.
    ways: Vec<CopyWay>,
    /// Where the flow itself is counted.
    whole: u32,
    filter: Filter,
}

/// Where one copy goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyWay {
    pub(crate) first: Step,
    pub(crate) route: u32,
    /// Index of its statistics.
    pub(crate) flow: u32,
}

impl Copies {
    /// A flow that is sent over these ways as well as its own, whose copy is counted at `own`; the number of the set.
    pub(crate) fn add(&mut self, whole: u32, own: u32, ways: Vec<CopyWay>, filter: Filter) -> u32 {
        let number = self.sets.len() as u32;
        for flow in ways.iter().map(|way| way.flow).chain([own]) {
            if self.of_flow.len() <= flow as usize {
                self.of_flow.resize(flow as usize + 1, NONE);
            }
            self.of_flow[flow as usize] = number;
        }
        self.sets.push(CopySet { ways, whole, filter });
        number
    }

    /// Whether no flow has copies.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

impl Engine {
    /// The further copies of a packet leave, right behind the first.
    pub(crate) fn duplicate(&mut self, set: u32, packet: Packet, now: Instant) {
        self.tally.sent(self.copies.sets[set as usize].whole, &packet);
        for at in 0..self.copies.sets[set as usize].ways.len() {
            let way = self.copies.sets[set as usize].ways[at];
            let copy = Packet { flow: way.flow, route: way.route, ..packet };
            self.tally.sent(way.flow, &copy);
            let id = self.fabric.arena.insert(copy);
            self.fabric.note(Event::Sent, (way.first.link(), way.first.queue()), id, now);
            if let Some(dropped) = self.fabric.depart(way.first, id, now) {
                self.dropped(dropped);
            }
        }
    }

    /// A packet that may be a copy has come: the first one counts.
    #[cold]
    pub(crate) fn eliminate(&mut self, packet: &Packet, now: Instant) {
        let set = self.copies.of_flow.get(packet.flow as usize).and_then(|&set| self.copies.sets.get_mut(set as usize));
        let Some(set) = set else { return };
        // Numbers are of 16 bits on the wire.
        match set.filter.on_packet(clock::to_time(now), packet.sequence as u16) {
            Verdict::Accept => self.tally.delivered(set.whole, packet, now),
            Verdict::Discard => self.tally.duplicate(set.whole),
        }
    }
}
