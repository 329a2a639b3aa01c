//! The product of a rate and a time, exactly.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use crate::{Bytes, Rate, Time};

/// An amount of data in nanobits (bit/s times ns); may be negative as an intermediate value.
///
/// A burst that grows by a rate times a delay is a whole number of nanobits, so sums of a million
/// bursts are exact and can be taken back exactly.
///
/// ```
/// use wayleave_units::{Amount, Bytes, Rate, Time};
/// let burst = Amount::from(Bytes::new(100)) + Rate::from_mbit(1) * Time::from_nanos(1);
/// assert_eq!(burst.nanobits(), 800_000_000_000 + 1_000_000);
/// assert_eq!(burst.bytes_rounded_up(), 101);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

impl Amount {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);
    const PER_BYTE: i128 = 8_000_000_000;

    /// From nanobits.
    pub const fn from_nanobits(nanobits: i128) -> Self {
        Self(nanobits)
    }

    /// Nanobits.
    pub const fn nanobits(self) -> i128 {
        self.0
    }

    /// Whole bytes, rounded up.
    pub const fn bytes_rounded_up(self) -> i128 {
        -((-self.0).div_euclid(Self::PER_BYTE))
    }

    /// The time that `rate` takes for it, in ns rounded up; `None` for a rate of zero, or past the range of a time.
    pub fn time_at(self, rate: Rate) -> Option<Time> {
        let rate = i128::from(rate.bits_per_second());
        if rate == 0 {
            return None;
        }
        let nanos = -((-self.0).div_euclid(rate));
        u64::try_from(nanos).ok().map(Time::from_nanos)
    }
}

impl Mul<Time> for Rate {
    type Output = Amount;
    /// Amount that flows at this rate in that time, exactly.
    fn mul(self, time: Time) -> Amount {
        Amount::from_nanobits(i128::from(self.0) * i128::from(time.0))
    }
}

impl From<Bytes> for Amount {
    fn from(bytes: Bytes) -> Self {
        Self(i128::from(bytes.get()) * Self::PER_BYTE)
    }
}

impl Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Amount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Neg for Amount {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl core::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Amount {
    /// In whole bytes, rounded up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.bytes_rounded_up()) {
            Ok(bytes) => Bytes::new(bytes).fmt(f),
            Err(_) => write!(f, "{}{}B", self.bytes_rounded_up(), if f.alternate() { " " } else { "" }),
        }
    }
}
