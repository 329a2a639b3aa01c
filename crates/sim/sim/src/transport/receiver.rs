//! The receiving half: the expected segment, and early arrivals.

use super::ranges::Ranges;
use crate::packet::Block;

/// One flow at its receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    expected: u32,
    /// Segments that have arrived beyond it.
    early: Ranges,
}

/// Result of a segment's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// `true` if it had arrived before.
    pub(crate) is_duplicate: bool,
    /// The segment that is expected next.
    pub(crate) expected: u32,
    /// Block that has arrived around it, if an earlier segment is missing.
    pub(crate) block: Block,
}

impl Receiver {
    /// A segment comes.
    #[inline]
    pub(crate) fn on_segment(&mut self, sequence: u32) -> Received {
        if sequence == self.expected && self.early.is_empty() {
            self.expected += 1;
            return Received { is_duplicate: false, expected: self.expected, block: Block::default() };
        }
        self.on_unusual(sequence)
    }

    /// A probe that carries no whole segment comes: it is answered, and nothing else.
    pub(crate) fn on_probe(&self) -> Received {
        Received { is_duplicate: false, expected: self.expected, block: Block::default() }
    }

    fn on_unusual(&mut self, sequence: u32) -> Received {
        if sequence < self.expected {
            return Received { is_duplicate: true, expected: self.expected, block: Block::default() };
        }
        if sequence == self.expected {
            self.expected = self.early.advance(sequence + 1);
            return Received { is_duplicate: false, expected: self.expected, block: Block::default() };
        }
        let mut is_duplicate = true;
        let block = self.early.insert(Block { start: sequence, end: sequence + 1 }, |_| is_duplicate = false);
        Received { is_duplicate, expected: self.expected, block }
    }

    /// Number of segments that have come, if none is missing.
    pub(crate) fn in_order(&self) -> Option<u32> {
        self.early.is_empty().then_some(self.expected)
    }

    /// Returns the number of segments that have arrived without a gap.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }
}
