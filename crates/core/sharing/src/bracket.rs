//! Two levels with the one that is sought between them, probably.
//!
//! A sample of the claims is filled with its part of the amount. The claims of the sample some places before and after the level
//! there are full at the ends of the bracket, as in the selection of Floyd and Rivest ("Expected Time Bounds for Selection",
//! 1975). A sample that misleads costs time and nothing else: whether the level is between them is seen when it is found.

use core::cmp::Ordering;

use crate::claim::{Claim, SiblingClaims, Water};
use crate::slope::Slope;

/// A lower and an upper level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bracket {
    low: u64,
    high: u64,
    /// Of both, so that passes over claims have one number less to keep.
    shift: u32,
}

impl Bracket {
    /// Around the level of water among hundreds of claims or more. `memory` has room for all of them and is overwritten.
    #[inline(always)]
    pub(crate) fn guess(water: Water, among: &impl SiblingClaims, memory: &mut [Claim]) -> Self {
        // To sort three times the root of the number of claims, and to settle the claims that the bracket leaves
        // undecided, costs little beside one pass.
        let stride = among.count().isqrt() / 3;
        let mut size = 0;
        for claim in among.sample(stride).filter(|claim| claim.weight > 0) {
            memory[size] = claim;
            size += 1;
        }
        let sample = &mut memory[..size];
        sample.sort_unstable_by(Claim::order);
        let full = full(water.amount / stride as u64, sample);
        // Three standard deviations of the number of claims of a sample that are below the median of all.
        let margin = size.isqrt() * 3 / 2 + 1;
        let low = full.checked_sub(margin).map(|at| sample[at]);
        let high = sample.get(full + margin).copied();
        // The distance of a level above the sample is not known: room for twice as much.
        let top = high.or(sample.last().copied());
        Self::new(low, high, top.map_or(0, |claim| claim.cap / claim.weight), among.heaviest())
    }

    /// A claim that is full with `low` is so at the lower end, and one that is not full before `high` is not so at
    /// the upper one. `top` is the largest level that matters.
    fn new(low: Option<Claim>, high: Option<Claim>, top: u64, heaviest: u64) -> Self {
        let most = u64::MAX / heaviest.max(1);
        let shift = most.ilog2().saturating_sub((top + 1).ilog2() + 1);
        let rounded_up = |claim: Claim| (u128::from(claim.cap) << shift).div_ceil(u128::from(claim.weight));
        let end = |exact: u128| u64::try_from(exact).unwrap_or(u64::MAX).min(most);
        let low = low.map_or(0, |claim| end(rounded_up(claim)));
        let high = high.map_or(most, |claim| end(rounded_up(claim).saturating_sub(1)));
        Self { low, high, shift }
    }

    /// The lower end.
    pub(crate) fn low(&self) -> Slope {
        Slope { per_weight: self.low, shift: self.shift }
    }

    /// The upper end.
    pub(crate) fn high(&self) -> Slope {
        Slope { per_weight: self.high, shift: self.shift }
    }

    /// Position of a level: before the bracket, in it, or after it.
    pub(crate) fn side(&self, level: Water) -> Ordering {
        if self.low().order(level) == Ordering::Greater {
            Ordering::Less
        } else if self.high().order(level) == Ordering::Less {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

/// Number of claims of a sorted sample that an amount fills.
fn full(mut amount: u64, sample: &[Claim]) -> usize {
    let mut weight: u64 = sample.iter().map(|claim| claim.weight).sum();
    let mut full = 0;
    for claim in sample {
        if !claim.is_full(amount, weight) {
            break;
        }
        (amount, weight) = (amount - claim.cap, weight - claim.weight);
        full += 1;
    }
    full
}
