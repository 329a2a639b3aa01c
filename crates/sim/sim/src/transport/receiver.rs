//! The receiving half: what is expected next, and what came early.

use super::ranges::Ranges;
use crate::packet::Block;

/// One flow at its receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    expected: u32,
    /// What has come beyond it.
    early: Ranges,
}

/// What came of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Whether it was there already.
    pub(crate) is_duplicate: bool,
    /// The segment that is expected next.
    pub(crate) expected: u32,
    /// What has come around it, if something before it is missing.
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

    /// How many segments have come without a gap.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }
}
