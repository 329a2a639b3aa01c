//! Load of shares on a link (or on all links of a bundle), stored as sums that do not depend on the order of
//! additions and removals.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::figures::WorstLoad;
use super::promise::{HoseCharge, StatedCertainty};

/// A sum of fractions: by denominator, the sum of the numerators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(BTreeMap<u64, u128>);

impl Sum {
    fn add(&mut self, num: u128, den: u64) {
        *self.0.entry(den).or_default() += num;
    }

    fn remove(&mut self, num: u128, den: u64) {
        if let Some(sum) = self.0.get_mut(&den) {
            *sum = sum.saturating_sub(num);
            if *sum == 0 {
                self.0.remove(&den);
            }
        }
    }

    /// Bounds from below and above, in whole numbers.
    fn bounds(&self) -> (u128, u128) {
        let terms = self.0.iter().map(|(&den, &num)| (num / u128::from(den), num.div_ceil(u128::from(den))));
        terms.fold((0, 0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
    }

    fn exact(&self) -> BigRational {
        let term = |(&den, &num): (&u64, &u128)| BigRational::new(BigInt::from(num), BigInt::from(den));
        self.0.iter().map(term).fold(BigRational::zero(), |sum, term| sum + term)
    }
}

/// Number of occurrences of each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueCounts(BTreeMap<u64, u32>);

impl ValueCounts {
    fn add(&mut self, value: u64) {
        *self.0.entry(value).or_default() += 1;
    }

    fn remove(&mut self, value: u64) {
        if let Some(count) = self.0.get_mut(&value) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&value);
            }
        }
    }

    fn largest(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(&value, _)| value)
    }
}

/// A share's claim to a link, with values that are derived elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holding {
    /// Minimum or weight, bit/s.
    pub(crate) min: u64,
    pub(crate) kind: Kind,
    pub(crate) certainty: Option<StatedCertainty>,
    /// The round trip, ns; `None` where it is that of the pairs that use the link.
    pub(crate) trip: Option<u64>,
    /// `true` if a time was promised.
    pub(crate) timed: bool,
}

impl Holding {
    /// Returns `true` for a minimum itself.
    pub(crate) fn is_guaranteed(&self) -> bool {
        matches!(self.kind, Kind::Alone | Kind::Hose(_))
    }

    /// Returns `true` for a minimum of the link alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.kind == Kind::Alone && self.trip.is_none()
    }
}

/// Kind of load of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A minimum on this link itself.
    Alone,
    /// Acknowledgements of such a minimum.
    Acknowledgements,
    Hose(HoseCharge),
    Objective,
}

/// All that is on a link. In the model's terms: `pairs`, `even` of even hoses, `full` and `even` of choosing hoses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pairs: u128,
    acknowledgements: u128,
    even: Sum,
    chosen_full: u128,
    chosen_even: Sum,
    chosen_minima: ValueCounts,
    every_path: u128,
    objectives: u128,
    /// Ordered pairs of hosts that may have packets here.
    pub(crate) senders: u128,
    trips: ValueCounts,
    /// Minima of the link alone.
    pub(crate) alone: u32,
    /// Minima with a time that may pass.
    pub(crate) timed: u32,
    /// Number of shares that are stated as proven and may pass.
    pub(crate) proven: u32,
}

impl Load {
    pub(crate) fn add(&mut self, holding: &Holding, worst: &WorstLoad) {
        let min = u128::from(holding.min);
        let full = min * u128::from(worst.full);
        match holding.kind {
            Kind::Acknowledgements => return self.acknowledgements += min.div_ceil(10),
            Kind::Objective => return self.objectives += min,
            Kind::Alone => self.pairs += min,
            Kind::Hose(HoseCharge::EvenSplits) => self.even.add(min * worst.even.0, worst.even.1),
            Kind::Hose(HoseCharge::EveryPath) => self.every_path += full,
            Kind::Hose(HoseCharge::ChosenPaths) => {
                self.chosen_full += full;
                self.chosen_even.add(min * worst.even.0, worst.even.1);
                self.chosen_minima.add(holding.min);
            }
        }
        self.senders += u128::from(worst.pairs);
        match holding.trip {
            Some(trip) => self.trips.add(trip),
            None => self.alone += 1,
        }
        self.timed += u32::from(holding.timed);
        self.proven += u32::from(holding.certainty == Some(StatedCertainty::Proven));
    }

    pub(crate) fn remove(&mut self, holding: &Holding, worst: &WorstLoad) {
        let min = u128::from(holding.min);
        let full = min * u128::from(worst.full);
        match holding.kind {
            Kind::Acknowledgements => return self.acknowledgements -= min.div_ceil(10),
            Kind::Objective => return self.objectives -= min,
            Kind::Alone => self.pairs -= min,
            Kind::Hose(HoseCharge::EvenSplits) => self.even.remove(min * worst.even.0, worst.even.1),
            Kind::Hose(HoseCharge::EveryPath) => self.every_path -= full,
            Kind::Hose(HoseCharge::ChosenPaths) => {
                self.chosen_full -= full;
                self.chosen_even.remove(min * worst.even.0, worst.even.1);
                self.chosen_minima.remove(holding.min);
            }
        }
        self.senders -= u128::from(worst.pairs);
        match holding.trip {
            Some(trip) => self.trips.remove(trip),
            None => self.alone -= 1,
        }
        self.timed -= u32::from(holding.timed);
        self.proven -= u32::from(holding.certainty == Some(StatedCertainty::Proven));
    }
}

/// The loads of a link: its own and that of its bundle.
pub(crate) struct LinkAndBundleLoad<'a>(pub(crate) &'a Load, pub(crate) Option<&'a Load>);

impl LinkAndBundleLoad<'_> {
    fn sum(&self, of: impl Fn(&Load) -> u128) -> u128 {
        of(self.0) + self.1.map_or(0, of)
    }

    fn each(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(self.0).chain(self.1)
    }

    pub(crate) fn senders(&self) -> u128 {
        self.sum(|load| load.senders)
    }

    pub(crate) fn timed(&self) -> bool {
        self.each().any(|load| load.timed > 0)
    }

    pub(crate) fn proven(&self) -> bool {
        self.each().any(|load| load.proven > 0)
    }

    pub(crate) fn alone(&self) -> bool {
        self.each().any(|load| load.alone > 0)
    }

    /// The longest round trip of shares that have one of their own, ns.
    pub(crate) fn trip(&self) -> u64 {
        self.each().map(|load| load.trips.largest()).max().unwrap_or(0)
    }

    pub(crate) fn objectives(&self) -> u128 {
        self.sum(|load| load.objectives)
    }

    fn largest(&self) -> u64 {
        self.each().map(|load| load.chosen_minima.largest()).max().unwrap_or(0)
    }

    /// Pairs, and hoses that are charged in whole numbers.
    fn whole(&self) -> u128 {
        self.sum(|load| load.pairs + load.every_path)
    }

    fn exact(&self, of: impl Fn(&Load) -> &Sum) -> BigRational {
        self.each().map(|load| of(load).exact()).fold(BigRational::zero(), |sum, one| sum + one)
    }

    fn bounds(&self, of: impl Fn(&Load) -> &Sum) -> (u128, u128) {
        self.each().map(|load| of(load).bounds()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Charge of the guaranteed class.
    pub(crate) fn charged(&self) -> BigRational {
        let integer = |value: u128| BigRational::from_integer(BigInt::from(value));
        let full = integer(self.sum(|load| load.chosen_full));
        let even = self.exact(|load| &load.chosen_even) + integer(u128::from(self.largest()));
        integer(self.whole()) + self.exact(|load| &load.even) + full.min(even)
    }

    /// At least what is charged, in whole numbers.
    fn charged_at_most(&self) -> u128 {
        let full = self.sum(|load| load.chosen_full);
        let even = self.bounds(|load| &load.chosen_even).1 + u128::from(self.largest());
        self.whole() + self.bounds(|load| &load.even).1 + full.min(even)
    }

    /// Rate of acknowledgements and probes beside `charged`.
    pub(crate) fn acknowledged(&self) -> BigRational {
        let integer = |value: u128| BigRational::from_integer(BigInt::from(value));
        let pairs = integer(self.sum(|load| load.pairs));
        let hoses = (self.charged() - pairs) / BigInt::from(10);
        hoses + integer(self.sum(|load| load.acknowledgements))
    }

    /// At least `charged` and `acknowledged`, together, in whole numbers.
    fn acknowledged_at_most(&self) -> u128 {
        let charged = self.charged_at_most();
        let hoses = charged - self.sum(|load| load.pairs);
        charged + hoses.div_ceil(10) + self.sum(|load| load.acknowledgements)
    }

    /// Returns `true` if shares may really put more here than is charged.
    pub(crate) fn may_exceed_charge(&self) -> bool {
        let full = self.sum(|load| load.chosen_full);
        if self.bounds(|load| &load.chosen_even).0 + u128::from(self.largest()) >= full {
            return false;
        }
        let integer = |value: u128| BigRational::from_integer(BigInt::from(value));
        integer(self.whole()) + self.exact(|load| &load.even) + integer(full) > self.charged()
    }

    /// The guaranteed class is charged more than this.
    pub(crate) fn exceeds(&self, most: &BigRational) -> bool {
        BigRational::from_integer(self.charged_at_most().into()) > *most && self.charged() > *most
    }

    /// The same with acknowledgements.
    pub(crate) fn exceeds_with_acknowledgements(&self, most: &BigRational) -> bool {
        BigRational::from_integer(self.acknowledged_at_most().into()) > *most
            && self.charged() + self.acknowledged() > *most
    }
}
