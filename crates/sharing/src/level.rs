//! How high the water stands: the level among the children of one node.
//!
//! Each child is a vessel as wide as its weight that holds its cap. Water of a given amount rises to the same level in all
//! vessels that are not full (Bertsekas and Gallager, "Data Networks", section 6.5.2, for one link). The textbook's loop
//! fills one vessel a round and is quadratic; Parley's, too (section 6.2). Here each round settles a constant part of the
//! vessels that are still in doubt, so all rounds together are linear:
//!
//! - The level that the water would have if no vessel in doubt were full is a lower bound. Whoever is full at that level
//!   stays full.
//! - If that settles few of them, the level is near, and most are not full. One vessel among the lowest of a sample is tried: at
//!   its level those below it are full, or those above it are not. One side is settled either way.
//! - If that has settled few again, the median is tried, found by a selection in linear time.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Among so few the lower bound alone is quicker, although it may settle them one by one.
const FEW: usize = 32;

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

    /// Whether it is full where `amount` stands in vessels of `weight` together.
    pub(crate) fn is_full(&self, amount: u64, weight: u64) -> bool {
        product(self.cap, weight) <= product(amount, self.weight)
    }
}

fn product(one: u64, other: u64) -> u128 {
    u128::from(one) * u128::from(other)
}

/// The exact level, `amount / weight`: what those who are not full share, over their weights. No weight: all are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    weight: u64,
    /// `amount / weight`, and what that leaves.
    quotient: u64,
    remainder: u64,
}

impl Level {
    /// Everybody gets the cap.
    pub(crate) const FULL: Self = Self { weight: 0, quotient: 0, remainder: 0 };

    pub(crate) fn new(amount: u64, weight: u64) -> Self {
        if weight == 0 {
            return Self::FULL;
        }
        Self { weight, quotient: amount / weight, remainder: amount % weight }
    }

    /// What a claim gets: its cap or, rounded down, the level times its weight.
    pub(crate) fn share(&self, claim: Claim) -> u64 {
        if self.weight == 0 {
            return claim.cap;
        }
        // The parts of whole units and of the rest. The smaller of both is taken instead of asking who is full: that is as good
        // as random, and a branch on it costs more than the division.
        let rest = match self.remainder.checked_mul(claim.weight) {
            Some(product) => product / self.weight,
            None => (product(self.remainder, claim.weight) / u128::from(self.weight)) as u64,
        };
        self.quotient.saturating_mul(claim.weight).saturating_add(rest).min(claim.cap)
    }
}

/// The level of `amount` among claims, in time linear in their number. `memory` is overwritten.
pub(crate) fn level(amount: u64, claims: impl Iterator<Item = Claim> + Clone, memory: &mut Vec<Claim>) -> Level {
    // The sum is below 2^64: fewer than 2^32 weights below 2^32, or minima of 2^56 together.
    let weight: u64 = claims.clone().map(|claim| claim.weight).sum();
    // The first round, without keeping those who are full.
    let (mut left, mut full, mut kept) = (Water { amount, weight }, Sums::default(), 0);
    for claim in claims {
        if kept == memory.len() {
            memory.push(claim);
        }
        // Without a branch, as in `split`.
        memory[kept] = claim;
        let is_full = u64::from(claim.is_full(amount, weight));
        full.add(Claim { cap: claim.cap * is_full, weight: claim.weight * is_full });
        kept += 1 - is_full as usize;
    }
    left = left.without(full);
    let mut doubt = &mut memory[..kept];
    while !doubt.is_empty() {
        // A quarter is a constant part.
        let enough = doubt.len() - doubt.len().div_ceil(4);
        let full = split(doubt, |claim| claim.is_full(left.amount, left.weight));
        left = left.without(Sums::of(&doubt[..full]));
        doubt = &mut doubt[full..];
        if full == 0 {
            break;
        }
        if doubt.len() <= FEW {
            continue;
        }
        if doubt.len() > enough {
            let pivot = low_of_sample(doubt);
            doubt = left.settle(doubt, pivot);
        }
        if doubt.len() > enough {
            let middle = doubt.len() / 2;
            let (_, &mut median, _) = doubt.select_nth_unstable_by(middle, Claim::order);
            doubt = left.settle(doubt, median);
        }
    }
    Level::new(left.amount, left.weight)
}

/// What is left for those who are not known to be full, and their weight.
#[derive(Clone, Copy, Debug)]
struct Water {
    amount: u64,
    weight: u64,
}

impl Water {
    /// Without those who are full: they hold no more than there was.
    fn without(self, full: Sums) -> Self {
        Self { amount: self.amount - full.caps as u64, weight: self.weight - full.weights }
    }

    /// Settles those up to a pivot, or the pivot and those beyond it: who is left in doubt.
    fn settle<'a>(&mut self, doubt: &'a mut [Claim], pivot: Claim) -> &'a mut [Claim] {
        let low = split(doubt, |claim| claim.order(&pivot) != Ordering::Greater);
        let (low, high) = doubt.split_at_mut(low);
        let below = Sums::of(low);
        if below.caps <= u128::from(self.amount) {
            let left = self.without(below);
            if pivot.is_full(left.amount, left.weight) {
                *self = left;
                return high;
            }
        }
        // The pivot is not full, nor is who is beyond it: their weight stays in.
        let below = split(low, |claim| claim.order(&pivot) == Ordering::Less);
        &mut low[..below]
    }
}

/// Sums over claims.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    caps: u128,
    weights: u64,
}

impl Sums {
    fn of(claims: &[Claim]) -> Self {
        let mut sums = Self::default();
        claims.iter().for_each(|&claim| sums.add(claim));
        sums
    }

    fn add(&mut self, claim: Claim) {
        self.caps += u128::from(claim.cap);
        self.weights += claim.weight;
    }
}

/// The fourth of fifteen claims that are spread over all of them.
fn low_of_sample(claims: &[Claim]) -> Claim {
    let mut sample: [Claim; 15] = core::array::from_fn(|at| claims[at * claims.len() / 15]);
    sample.sort_unstable_by(Claim::order);
    sample[3]
}

/// Moves those who are meant to the front; how many they are.
fn split(claims: &mut [Claim], is_meant: impl Fn(&Claim) -> bool) -> usize {
    let mut front = 0;
    for at in 0..claims.len() {
        let claim = claims[at];
        // Without a branch on what is as good as random: the swap is harmless where nothing is meant.
        claims[at] = claims[front];
        claims[front] = claim;
        front += usize::from(is_meant(&claim));
    }
    front
}
