//! Claims kept in the order in which rising water fills them, with sums: the level without a scan over all claims.
//!
//! The order is cut into blocks of a few hundred claims, each with its sums. A change moves one claim within or between two
//! blocks; the level is found over the sums of blocks and then within one block. With n claims both cost about the square
//! root of n steps in memory that lies together.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::claim::Claim;
use crate::level::Level;

/// A block of twice as many claims is cut in two.
const BLOCK: usize = 256;

/// A claim, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    claim: Claim,
    owner: u32,
}

impl Entry {
    fn order(&self, other: &Self) -> Ordering {
        self.claim.order(&other.claim).then(self.owner.cmp(&other.owner))
    }
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Never empty, by [`Entry::order`].
    entries: Vec<Entry>,
    caps: u128,
    weights: u64,
}

impl Block {
    fn of(entries: &[Entry]) -> Self {
        let caps = entries.iter().map(|entry| u128::from(entry.claim.cap)).sum();
        let weights = entries.iter().map(|entry| entry.claim.weight).sum();
        Self { entries: entries.to_vec(), caps, weights }
    }

    fn position(&self, entry: &Entry) -> usize {
        self.entries.partition_point(|other| other.order(entry) == Ordering::Less)
    }
}

/// The claims of one node's children that ask for something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    blocks: Vec<Block>,
    caps: u128,
    weights: u64,
}

impl Index {
    /// From the claims of all owners.
    pub(crate) fn new(claims: impl IntoIterator<Item = (u32, Claim)>) -> Self {
        let entries = claims.into_iter().map(|(owner, claim)| Entry { claim, owner });
        let mut entries: Vec<Entry> = entries.filter(|entry| entry.claim.cap > 0).collect();
        entries.sort_unstable_by(Entry::order);
        let blocks: Vec<Block> = entries.chunks(BLOCK).map(Block::of).collect();
        let caps = blocks.iter().map(|block| block.caps).sum();
        let weights = blocks.iter().map(|block| block.weights).sum();
        Self { blocks, caps, weights }
    }

    /// Sum of the caps of all claims.
    pub(crate) fn caps(&self) -> u128 {
        self.caps
    }

    /// Puts a claim in the place of its owner's old one.
    pub(crate) fn replace(&mut self, owner: u32, old: Claim, new: Claim) {
        if old != new {
            self.remove(Entry { claim: old, owner });
            self.insert(Entry { claim: new, owner });
        }
    }

    /// The level of `amount`: equal to [`crate::level::level`] of all claims.
    pub(crate) fn level(&self, amount: u64) -> Level {
        if self.caps <= u128::from(amount) {
            return Level::FULL;
        }
        // All claims are full up to some place in the order, and none after it.
        let (mut amount, mut weight) = (amount, self.weights);
        for block in &self.blocks {
            let left = u128::from(amount).checked_sub(block.caps).map(|left| left as u64);
            let last = block.entries.last().map(|entry| entry.claim);
            match (left, last) {
                (Some(left), Some(last)) if last.is_full(left, weight - block.weights) => {
                    (amount, weight) = (left, weight - block.weights);
                }
                _ => {
                    for entry in &block.entries {
                        if !entry.claim.is_full(amount, weight) {
                            break;
                        }
                        (amount, weight) = (amount - entry.claim.cap, weight - entry.claim.weight);
                    }
                    break;
                }
            }
        }
        Level::new(amount, weight)
    }

    /// The block in which an entry is, or belongs.
    fn block(&self, entry: &Entry) -> usize {
        let after = |block: &Block| block.entries.first().is_some_and(|first| first.order(entry) != Ordering::Greater);
        self.blocks.partition_point(after).saturating_sub(1)
    }

    fn insert(&mut self, entry: Entry) {
        if entry.claim.cap == 0 {
            return;
        }
        (self.caps, self.weights) = (self.caps + u128::from(entry.claim.cap), self.weights + entry.claim.weight);
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let at = self.block(&entry);
        let block = &mut self.blocks[at];
        block.entries.insert(block.position(&entry), entry);
        (block.caps, block.weights) = (block.caps + u128::from(entry.claim.cap), block.weights + entry.claim.weight);
        if block.entries.len() == 2 * BLOCK {
            let (low, high) = block.entries.split_at(BLOCK);
            let (low, high) = (Block::of(low), Block::of(high));
            self.blocks[at] = low;
            self.blocks.insert(at + 1, high);
        }
    }

    fn remove(&mut self, entry: Entry) {
        if entry.claim.cap == 0 {
            return;
        }
        (self.caps, self.weights) = (self.caps - u128::from(entry.claim.cap), self.weights - entry.claim.weight);
        let at = self.block(&entry);
        let block = &mut self.blocks[at];
        let position = block.position(&entry);
        assert_eq!(block.entries.get(position), Some(&entry), "what is removed was there");
        block.entries.remove(position);
        (block.caps, block.weights) = (block.caps - u128::from(entry.claim.cap), block.weights - entry.claim.weight);
        if block.entries.is_empty() {
            self.blocks.remove(at);
        }
    }
}
