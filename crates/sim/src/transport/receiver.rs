//! The receiving half: what is expected next, and what came early.

use std::collections::VecDeque;

use crate::packet::Block;

/// How far around a segment its block is told. Longer blocks are told in pieces by their other acknowledgements.
const REACH: usize = 64;

/// One flow at its receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    expected: u32,
    /// Which of the segments behind the expected one have come; the expected one itself stands first.
    early: VecDeque<bool>,
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
        let Some(at) = sequence.checked_sub(self.expected) else {
            return Received { is_duplicate: true, expected: self.expected, block: Block::default() };
        };
        let at = at as usize;
        if at >= self.early.len() {
            self.early.resize(at + 1, false);
        }
        let is_duplicate = std::mem::replace(&mut self.early[at], true);
        while self.early.front() == Some(&true) {
            self.early.pop_front();
            self.expected += 1;
        }
        let block = self.block(sequence);
        Received { is_duplicate, expected: self.expected, block }
    }

    /// The block around a segment that came early.
    fn block(&self, sequence: u32) -> Block {
        let Some(at) = sequence.checked_sub(self.expected) else { return Block::default() };
        let at = at as usize;
        let before = self.early.range(..at).rev().take(REACH).take_while(|&&has_come| has_come).count();
        let behind = self.early.range(at..).take(REACH).take_while(|&&has_come| has_come).count();
        Block { start: sequence - before as u32, end: sequence + behind as u32 }
    }

    /// How many segments have come without a gap.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }
}
