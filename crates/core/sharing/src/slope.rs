//! A level as a fixed-point number, so that one product of 64 bits gives the contents of a vessel.

use core::cmp::Ordering;

use crate::claim::{Claim, Water};

/// Water per unit of weight: `per_weight / 2 shift`. The caller that makes one ensures that no product with a weight
/// overflows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) per_weight: u64,
    pub(crate) shift: u32,
}

impl Slope {
    /// A level such that, for weights up to the heaviest, the result of [`Slope::of`] is exact. `None`: 64 bits are
    /// too few.
    pub(crate) fn exact(water: Water, heaviest: u64) -> Option<Self> {
        let Water { amount, weight } = water;
        // Rounded up, a slope is too large by less than `2^-shift` for a unit of weight. So for a vessel it is by less than
        // `1 / weight`, of which the exact value is a multiple, and does not reach the next whole number.
        let shift = u128::BITS - (u128::from(weight) * u128::from(heaviest)).leading_zeros();
        if weight == 0 || shift >= u64::BITS {
            return None;
        }
        let per_weight = match amount.checked_mul(1 << shift) {
            Some(amount) => amount.div_ceil(weight),
            None => u64::try_from((u128::from(amount) << shift).div_ceil(u128::from(weight))).ok()?,
        };
        per_weight.checked_mul(heaviest)?;
        Some(Self { per_weight, shift })
    }

    /// Contents of a vessel of a weight, rounded down.
    pub(crate) fn of(self, weight: u64) -> u64 {
        (self.per_weight * weight) >> self.shift
    }

    /// Returns `true` if a claim is full.
    pub(crate) fn fills(self, claim: &Claim) -> bool {
        claim.cap <= self.of(claim.weight)
    }

    /// Compared with a level.
    pub(crate) fn order(self, water: Water) -> Ordering {
        let amount = u128::from(water.amount) << self.shift;
        (u128::from(self.per_weight) * u128::from(water.weight)).cmp(&amount)
    }
}
