//! Claims on an amount, and the amount that they share.

use core::cmp::Ordering;

/// One who takes part: what it can take at most, and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) cap: u64,
    pub(crate) weight: u64,
}

impl Claim {
    /// By the level at which they are full: cap/weight, compared exactly.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        product(self.cap, other.weight).cmp(&product(other.cap, self.weight))
    }

    /// Returns `true` if it is full when vessels of `weight` together contain `amount`.
    pub(crate) fn is_full(&self, amount: u64, weight: u64) -> bool {
        product(self.cap, weight) <= product(amount, self.weight)
    }
}

pub(crate) fn product(one: u64, other: u64) -> u128 {
    u128::from(one) * u128::from(other)
}

/// Claims of the children of one node, one for each.
pub(crate) trait SiblingClaims {
    /// Number of claims.
    fn count(&self) -> usize;
    /// The weight of all. It is below 2^64: fewer than 2^32 weights below 2^32, or minima of 2^56 together.
    fn weight(&self) -> u64;
    /// None of them has more weight.
    fn heaviest(&self) -> u64;
    /// All of them.
    fn claims(&self) -> impl Iterator<Item = Claim>;
    /// One of each `stride`.
    fn sample(&self, stride: usize) -> impl Iterator<Item = Claim>;
}

/// Rest for the claims that are not known to be full, and their weight. One over the other it is a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Water {
    pub(crate) amount: u64,
    pub(crate) weight: u64,
}
