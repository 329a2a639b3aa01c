//! Sets of segments that arrived out of order, as few ranges.

use crate::packet::Block;

/// Ranges in order; no two of them touch. A receiver keeps early segments in this form, and a sender the reports on
/// them.
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

    /// Adds a block. Calls `news` for each new part of the block, in order. Returns the range that now contains it.
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

    /// Drops everything before a segment. Returns the first segment from there on that is missing.
    pub(crate) fn advance(&mut self, expected: u32) -> u32 {
        let over = self.0.partition_point(|range| range.start <= expected);
        let reached = self.0[..over].last().map_or(expected, |range| range.end.max(expected));
        self.0.drain(..over);
        reached
    }
}
