//! Sets of segments that arrived out of order, as few ranges.

use crate::packet::Block;

/// Ranges in order; no two of them touch. A receiver keeps what came early so, and a sender what it was told of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<Block>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Block> {
        self.0.iter().copied()
    }

    /// Adds a block. `news` hears of each part of it that was not there, in order. The range that contains it now.
    pub(crate) fn insert(&mut self, block: Block, mut news: impl FnMut(Block)) -> Block {
        let from = self.0.partition_point(|range| range.end < block.start);
        let (mut to, mut merged, mut known) = (from, block, block.start);
        while let Some(range) = self.0.get(to).filter(|range| range.start <= block.end) {
            if known < range.start {
                news(Block { start: known, end: range.start });
            }
            known = known.max(range.end);
            merged = Block { start: merged.start.min(range.start), end: merged.end.max(range.end) };
            to += 1;
        }
        if known < block.end {
            news(Block { start: known, end: block.end });
        }
        if to == from {
            self.0.insert(from, merged);
        } else {
            self.0[from] = merged;
            self.0.drain(from + 1..to);
        }
        merged
    }

    /// Everything before a segment is of no interest any more. What is next to it is: the first segment that is missing.
    pub(crate) fn advance(&mut self, expected: u32) -> u32 {
        let over = self.0.partition_point(|range| range.start <= expected);
        let reached = self.0[..over].last().map_or(expected, |range| range.end.max(expected));
        self.0.drain(..over);
        reached
    }
}
