//! Which segments beyond the first missing one have arrived, and which are taken for lost (RFC 6675).

use std::collections::VecDeque;

use crate::packet::Block;

/// A segment is lost when this many later ones have arrived (RFC 5681, section 3.2; RFC 6675, DupThresh).
const DUPLICATE_THRESHOLD: u32 = 3;

const ARRIVED: u8 = 1;
const LOST: u8 = 2;
const SENT_AGAIN: u8 = 4;

/// The segments from the first missing one on. Empty as long as everything arrives in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// Of the segments from `first` on; none stands for segments about which nothing is known.
    states: VecDeque<u8>,
    first: u32,
    /// Everything before has been judged.
    judged: u32,
    /// How many segments from `judged` on have arrived.
    arrived_beyond: u32,
    /// Lost and not sent again.
    to_send_again: u32,
    /// No segment before has to be sent again.
    again_from: u32,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Segments that were not known to have arrived.
    pub(crate) newly: u32,
    /// Of these, or of those newly lost: no longer in flight.
    pub(crate) left_flight: u32,
    /// Segments that are taken for lost now.
    pub(crate) newly_lost: u32,
}

impl Scoreboard {
    /// With nothing known about the segments from `first` on.
    pub(crate) fn new(first: u32) -> Self {
        Self { first, judged: first, again_from: first, ..Self::default() }
    }

    /// Whether nothing is known: it is not needed.
    pub(crate) fn is_clear(&self) -> bool {
        self.states.is_empty()
    }

    /// Everything before `expected` has arrived, and the block.
    pub(crate) fn acknowledge(&mut self, expected: u32, sequence: u32, block: Block) -> Change {
        let mut change = Change::default();
        self.advance(expected, &mut change);
        if block.end > self.first {
            self.mark_block(sequence, block, &mut change);
        }
        self.judge(&mut change);
        while self.states.back() == Some(&0) {
            self.states.pop_back();
        }
        change
    }

    fn advance(&mut self, expected: u32, change: &mut Change) {
        while self.first < expected {
            let state = self.states.pop_front().unwrap_or(0);
            self.arrives(state, change);
            if self.first >= self.judged && state & ARRIVED != 0 {
                self.arrived_beyond -= 1;
            }
            self.first += 1;
        }
        self.judged = self.judged.max(expected);
        self.again_from = self.again_from.max(expected);
    }

    /// Counts a segment in this state as arrived.
    fn arrives(&mut self, state: u8, change: &mut Change) {
        if state & ARRIVED != 0 {
            return;
        }
        change.newly += 1;
        if state & LOST == 0 || state & SENT_AGAIN != 0 {
            change.left_flight += 1;
        } else {
            self.to_send_again -= 1;
        }
    }

    /// From the segment that came outwards, up to what is known already.
    fn mark_block(&mut self, sequence: u32, block: Block, change: &mut Change) {
        let middle = sequence.clamp(block.start, block.end - 1).max(self.first);
        for segment in middle..block.end {
            if !self.mark(segment, change) && segment > middle {
                break;
            }
        }
        for segment in (block.start.max(self.first)..middle).rev() {
            if !self.mark(segment, change) {
                break;
            }
        }
    }

    /// A segment has arrived; whether that is news.
    fn mark(&mut self, segment: u32, change: &mut Change) -> bool {
        let at = (segment - self.first) as usize;
        if at >= self.states.len() {
            self.states.resize(at + 1, 0);
        }
        let state = self.states[at];
        if state & ARRIVED != 0 {
            return false;
        }
        self.arrives(state, change);
        self.states[at] = ARRIVED;
        if segment >= self.judged {
            self.arrived_beyond += 1;
        }
        true
    }

    fn judge(&mut self, change: &mut Change) {
        while self.arrived_beyond >= DUPLICATE_THRESHOLD {
            let at = (self.judged - self.first) as usize;
            let state = &mut self.states[at];
            if *state & ARRIVED != 0 {
                self.arrived_beyond -= 1;
            } else if *state & LOST == 0 {
                *state |= LOST;
                self.to_send_again += 1;
                change.newly_lost += 1;
                change.left_flight += 1;
            }
            self.judged += 1;
        }
    }

    /// The time-out: everything before `next` that has not arrived is lost, again if need be.
    pub(crate) fn lose_all(&mut self, next: u32) {
        self.states.resize((next - self.first) as usize, 0);
        self.to_send_again = 0;
        for state in &mut self.states {
            if *state & ARRIVED == 0 {
                *state = LOST;
                self.to_send_again += 1;
            }
        }
        (self.judged, self.again_from, self.arrived_beyond) = (next, self.first, 0);
    }

    /// The first segment that has to be sent again; it counts as sent.
    pub(crate) fn send_again(&mut self) -> Option<u32> {
        if self.to_send_again == 0 {
            return None;
        }
        loop {
            let state = self.states.get_mut((self.again_from - self.first) as usize)?;
            self.again_from += 1;
            if *state & (LOST | SENT_AGAIN | ARRIVED) == LOST {
                *state |= SENT_AGAIN;
                self.to_send_again -= 1;
                return Some(self.again_from - 1);
            }
        }
    }

    /// Whether something has to be sent again.
    pub(crate) fn has_to_send_again(&self) -> bool {
        self.to_send_again > 0
    }
}
