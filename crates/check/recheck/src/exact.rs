//! Exact figures: fractions of unlimited size, and conversion to whole units.
//!
//! [`Fraction`] is for derivations: values that are added, multiplied and compared thousands of times need not be in
//! lowest terms, and reducing them costs far more than the sums themselves. Reported values are [`BigRational`]s.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use wayleave_units::{Bytes, Time};

/// A whole number as a rational.
pub(crate) fn rational(value: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(value.into())
}

/// A whole number as a fraction.
pub(crate) fn whole(value: impl Into<BigInt>) -> Fraction {
    Fraction::new(value.into(), BigInt::from(1))
}

/// `None` past the range of a time.
pub(crate) fn time_rounded_up(nanos: &BigRational) -> Option<Time> {
    nanos.ceil().to_integer().to_u64().map(Time::from_nanos)
}

/// `None` past the range of a size.
pub(crate) fn bytes_rounded_up(bytes: &BigRational) -> Option<Bytes> {
    bytes.ceil().to_integer().to_u64().map(Bytes::new)
}

/// A fraction that need not be in lowest terms; equal if its value is. The denominator is positive.
#[derive(Clone, Debug)]
pub(crate) struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

impl Fraction {
    /// The quotient of two whole numbers.
    pub(crate) fn new(numerator: BigInt, denominator: BigInt) -> Self {
        match denominator.sign() {
            Sign::Plus => Self { numerator, denominator },
            Sign::Minus => Self { numerator: -numerator, denominator: -denominator },
            Sign::NoSign => unreachable!("the caller has checked that the divisor is not zero"),
        }
    }

    pub(crate) fn zero() -> Self {
        whole(0)
    }

    pub(crate) fn numerator(&self) -> &BigInt {
        &self.numerator
    }

    pub(crate) fn denominator(&self) -> &BigInt {
        &self.denominator
    }

    /// In lowest terms.
    pub(crate) fn reduced(&self) -> BigRational {
        BigRational::new(self.numerator.clone(), self.denominator.clone())
    }

    /// Returns `true` if it is written as a whole number.
    pub(crate) fn is_whole(&self) -> bool {
        self.denominator == BigInt::from(1)
    }

    /// Returns `self + sign * other`, over one denominator if both are equal.
    fn plus(&self, other: &Self, signed: impl Fn(BigInt, BigInt) -> BigInt) -> Self {
        if self.denominator == other.denominator {
            let numerator = signed(self.numerator.clone(), other.numerator.clone());
            return Self { numerator, denominator: self.denominator.clone() };
        }
        let numerator = signed(&self.numerator * &other.denominator, &other.numerator * &self.denominator);
        Self { numerator, denominator: &self.denominator * &other.denominator }
    }

    fn times(&self, other: &Self) -> Self {
        let (numerator, denominator) = (&self.numerator * &other.numerator, &self.denominator * &other.denominator);
        Self { numerator, denominator }
    }

    fn over(&self, other: &Self) -> Self {
        Self::new(&self.numerator * &other.denominator, &self.denominator * &other.numerator)
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.denominator == other.denominator {
            return self.numerator.cmp(&other.numerator);
        }
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

/// An operator of fractions, each of them owned or borrowed.
macro_rules! operator {
    ($operator:ident, $method:ident, $of:expr) => {
        impl $operator<&Fraction> for &Fraction {
            type Output = Fraction;
            fn $method(self, other: &Fraction) -> Fraction {
                $of(self, other)
            }
        }
        impl $operator<Fraction> for &Fraction {
            type Output = Fraction;
            fn $method(self, other: Fraction) -> Fraction {
                $of(self, &other)
            }
        }
        impl $operator<&Fraction> for Fraction {
            type Output = Fraction;
            fn $method(self, other: &Fraction) -> Fraction {
                $of(&self, other)
            }
        }
        impl $operator<Fraction> for Fraction {
            type Output = Fraction;
            fn $method(self, other: Fraction) -> Fraction {
                $of(&self, &other)
            }
        }
    };
}

operator!(Add, add, |one: &Fraction, other: &Fraction| one.plus(other, |a, b| a + b));
operator!(Sub, sub, |one: &Fraction, other: &Fraction| one.plus(other, |a, b| a - b));
operator!(Mul, mul, Fraction::times);
operator!(Div, div, Fraction::over);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fractions_calculate_as_rationals_do(
            n in -50i64..50, d in 1i64..20, m in -50i64..50, e in prop_oneof![-20i64..0, 1i64..20], k in 1i64..9,
        ) {
            // Not in lowest terms.
            let (one, other) = (Fraction::new((n * k).into(), (d * k).into()), Fraction::new(m.into(), e.into()));
            let (a, b) = (BigRational::new(n.into(), d.into()), BigRational::new(m.into(), e.into()));
            prop_assert_eq!((&one + &other).reduced(), &a + &b);
            prop_assert_eq!((&one - &other).reduced(), &a - &b);
            prop_assert_eq!((&one * &other).reduced(), &a * &b);
            if m != 0 {
                prop_assert_eq!((&one / &other).reduced(), &a / &b);
            }
            prop_assert_eq!(one.cmp(&other), a.cmp(&b));
            prop_assert_eq!(one == other, a == b);
        }
    }
}
