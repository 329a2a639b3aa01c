//! The level of the water among the children of one node.
//!
//! Each child is a vessel as wide as its weight that holds its cap. Water of a given amount rises to one level in all
//! vessels that are not full (Bertsekas and Gallager, "Data Networks", section 6.5.2, for one link). The textbook's
//! loop fills one vessel per round and is quadratic; Parley's, too (section 6.2). Here each round settles a constant
//! part of the vessels that are still undecided, so all rounds together are linear:
//!
//! - The level that the water would have if no undecided vessel were full is a lower bound. A vessel that is full at
//!   that level stays full.
//! - If that settles few of them, the level is near, and most are not full. One vessel among the lowest of a sample
//!   is tried: at its level those below it are full, or those above it are not. One side is settled in both cases.
//! - If that has settled few again, the median is tried, found by a selection in linear time.
//!
//! Of many vessels, a sample gives two levels between which the level probably is (`bracket`). One pass then settles
//! most of them: those that are full at the lower one, and those that are not at the upper one. If the level is not
//! there after all, one end of the bracket still settles a side.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hint::select_unpredictable;

use crate::bracket::Bracket;
use crate::claim::{Claim, SiblingClaims, Water, product};
use crate::slope::Slope;

/// Among so few the lower bound alone is quicker, although it may settle them one by one.
const FEW: usize = 64;

/// From here on a sample pays. At 1,000 its sorting, and the wider bracket, cost as much as they save.
const MANY: usize = 2_000;

/// The exact level, an amount over a weight: the amount that the claims that are not full share, over their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// No weight: all are full.
    weight: u64,
    /// The amount in whole units for each unit of weight, and the remainder.
    quotient: u64,
    remainder: u64,
    /// `remainder / weight` in units of 2^-64, rounded up.
    fraction: u64,
}

impl Level {
    /// Every claim gets its cap.
    pub(crate) const FULL: Self = Self { weight: 0, quotient: 0, remainder: 0, fraction: 0 };

    pub(crate) fn new(amount: u64, weight: u64) -> Self {
        if weight == 0 {
            return Self::FULL;
        }
        let (quotient, remainder) = (amount / weight, amount % weight);
        // Below one, so below 2^64.
        let fraction = (u128::from(remainder) << 64).div_ceil(u128::from(weight)) as u64;
        Self { weight, quotient, remainder, fraction }
    }

    /// Share of a claim: its cap or, rounded down, the level times its weight.
    pub(crate) fn share(&self, claim: Claim) -> u64 {
        if self.weight == 0 {
            return claim.cap;
        }
        // The smaller of both is taken instead of asking who is full: that is as good as random, and a branch on it is dear.
        let part = self.quotient.saturating_mul(claim.weight).saturating_add(self.rest(claim.weight));
        select_unpredictable(part < claim.cap, part, claim.cap)
    }

    /// `remainder * weight of the claim / weight`, rounded down.
    fn rest(&self, weight: u64) -> u64 {
        if self.weight.max(weight) > u64::from(u32::MAX) {
            return (product(self.remainder, weight) / u128::from(self.weight)) as u64;
        }
        // A multiplication instead of a division. It is too large by less than `weight / 2^64 < 2^-32`, and the exact value is
        // a multiple of `1 / self.weight > 2^-32`, so it does not reach the next whole number.
        (product(self.fraction, weight) >> 64) as u64
    }
}

/// Finds the claims that are not full, of claims that want more than `amount` together, and returns the rest for
/// them: their level. It takes time linear in the number of claims. `memory` is overwritten.
#[inline(always)]
pub(crate) fn level(amount: u64, among: &impl SiblingClaims, memory: &mut Vec<Claim>) -> Water {
    let (water, heaviest) = (Water { amount, weight: among.weight() }, among.heaviest());
    memory.resize(among.count(), Claim { cap: 0, weight: 0 });
    let (full, uncertain) = if among.count() < MANY {
        match Slope::exact(water, heaviest) {
            Some(slope) => divide(among, memory, |claim| (slope.fills(claim), true)),
            None => divide(among, memory, |claim| (claim.is_full(amount, water.weight), true)),
        }
    } else {
        let bracket = Bracket::guess(water, among, memory);
        let (low, high) = (bracket.low(), bracket.high());
        let (full, uncertain) = divide(among, memory, |claim| (low.fills(claim), high.fills(claim)));
        // Claims that are full below the level hold no more than there is.
        let found = water.without(full).map(|left| left.settled(uncertain, heaviest));
        match found.map_or(Ordering::Less, |found| bracket.side(found)) {
            Ordering::Less => divide(among, memory, |claim| (false, low.fills(claim))),
            Ordering::Equal => return found.unwrap_or(water),
            Ordering::Greater => divide(among, memory, |claim| (high.fills(claim), true)),
        }
    };
    water.without(full).unwrap_or(water).settled(uncertain, heaviest)
}

/// Sums over the claims that are full, and the others as far as they may be full.
#[inline(always)]
fn divide<'a>(
    among: &impl SiblingClaims,
    memory: &'a mut [Claim],
    is_and_may_be_full: impl Fn(&Claim) -> (bool, bool),
) -> (Sums, &'a mut [Claim]) {
    let (mut full, mut kept) = (Sums::default(), 0);
    among.claims().for_each(|claim| {
        let (is_full, may_be) = is_and_may_be_full(&claim);
        memory[kept] = claim;
        full.add(&claim, is_full);
        kept += usize::from(!is_full & may_be);
    });
    (full, &mut memory[..kept])
}

impl Water {
    /// Without the claims that are full, if they hold no more than there is.
    fn without(self, full: Sums) -> Option<Self> {
        let amount = u128::from(self.amount).checked_sub(full.caps)? as u64;
        Some(Self { amount, weight: self.weight - full.weights })
    }

    /// Without the undecided claims that turn out to be full.
    fn settled(mut self, mut uncertain: &mut [Claim], heaviest: u64) -> Self {
        while !uncertain.is_empty() {
            // A quarter is a constant part.
            let before = uncertain.len();
            let enough = before - before.div_ceil(4);
            let Self { amount, weight } = self;
            uncertain = match Slope::exact(self, heaviest) {
                Some(slope) => self.take_out(uncertain, |claim| slope.fills(claim)),
                None => self.take_out(uncertain, |claim| claim.is_full(amount, weight)),
            };
            if uncertain.len() == before {
                break;
            }
            if uncertain.len() <= FEW {
                continue;
            }
            if uncertain.len() > enough {
                let pivot = low_of_sample(uncertain);
                uncertain = self.settle(uncertain, pivot);
            }
            if uncertain.len() > enough {
                let middle = uncertain.len() / 2;
                let (_, &mut median, _) = uncertain.select_nth_unstable_by(middle, Claim::order);
                uncertain = self.settle(uncertain, median);
            }
        }
        self
    }

    /// Takes out the claims that are full, with the amounts that they hold; returns the others.
    fn take_out<'a>(&mut self, uncertain: &'a mut [Claim], is_full: impl Fn(&Claim) -> bool) -> &'a mut [Claim] {
        let (mut full, mut kept) = (Sums::default(), 0);
        for at in 0..uncertain.len() {
            let claim = uncertain[at];
            let is_full = is_full(&claim);
            uncertain[kept] = claim;
            full.add(&claim, is_full);
            kept += usize::from(!is_full);
        }
        self.lose(full);
        &mut uncertain[..kept]
    }

    /// Without the claims that are full: they hold no more than there was.
    fn lose(&mut self, full: Sums) {
        (self.amount, self.weight) = (self.amount - full.caps as u64, self.weight - full.weights);
    }

    /// Settles the claims up to a pivot, or the pivot and those beyond it; returns those that remain undecided.
    fn settle<'a>(&mut self, uncertain: &'a mut [Claim], pivot: Claim) -> &'a mut [Claim] {
        let is_low = |claim: &Claim| claim.order(&pivot) != Ordering::Greater;
        let low = Sums::of(uncertain, is_low);
        let left = u128::from(self.amount).checked_sub(low.caps).map(|left| left as u64);
        if left.is_some_and(|left| pivot.is_full(left, self.weight - low.weights)) {
            return self.take_out(uncertain, is_low);
        }
        // The pivot is not full, and the claims beyond it are not either: their weight stays in.
        keep(uncertain, |claim| claim.order(&pivot) == Ordering::Less)
    }
}

/// Sums over claims.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    caps: u128,
    weights: u64,
}

impl Sums {
    /// Sum of the claims that are meant.
    fn of(claims: &[Claim], is_meant: impl Fn(&Claim) -> bool) -> Self {
        let mut sums = Self::default();
        claims.iter().for_each(|claim| sums.add(claim, is_meant(claim)));
        sums
    }

    /// One more, if it is meant. That is as good as random, and a branch on it would be dear.
    #[inline]
    fn add(&mut self, claim: &Claim, is_meant: bool) {
        self.caps += u128::from(select_unpredictable(is_meant, claim.cap, 0));
        self.weights += select_unpredictable(is_meant, claim.weight, 0);
    }
}

/// Moves the claims that are to stay to the front and returns them; the others are lost. Without a branch, as above.
fn keep(claims: &mut [Claim], stays: impl Fn(&Claim) -> bool) -> &mut [Claim] {
    let mut kept = 0;
    for at in 0..claims.len() {
        let claim = claims[at];
        claims[kept] = claim;
        kept += usize::from(stays(&claim));
    }
    &mut claims[..kept]
}

/// The fourth of fifteen claims that are spread over all of them.
fn low_of_sample(claims: &[Claim]) -> Claim {
    let mut sample: [Claim; 15] = core::array::from_fn(|at| claims[at * claims.len() / 15]);
    sample.sort_unstable_by(Claim::order);
    sample[3]
}
