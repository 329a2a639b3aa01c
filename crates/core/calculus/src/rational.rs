//! The number type of the calculus, and its conversions from and to the integer types of `units`.
//!
//! Time is in ns, a rate in bit/s, data in nanobits, so every conversion into a [`Rational`] is exact. The reverse
//! conversion rounds in the direction that the name indicates. A bound rounds towards safety: delay, backlog and
//! burst up, capacity down.
//!
//! ```
//! use wayleave_calculus::rational;
//! use wayleave_units::{Amount, Bytes, Rate, Time};
//!
//! let frame = rational::from_amount(Amount::from(Bytes::new(1562)));
//! let delay = frame / rational::from_rate(Rate::from_gbit(10)); // 1249.6 ns
//! assert_eq!(rational::time_rounded_up(&delay), Some(Time::from_nanos(1250)));
//! ```

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use wayleave_units::{Amount, Rate, Time};

/// An exact fraction of integers of any size.
pub type Rational = BigRational;

/// A whole number.
pub fn whole(number: i128) -> Rational {
    Rational::from_integer(BigInt::from(number))
}

/// A fraction; `None` for a denominator of zero.
pub fn ratio(numerator: i128, denominator: i128) -> Option<Rational> {
    let denominator = BigInt::from(denominator);
    if denominator.is_zero() { None } else { Some(Rational::new(BigInt::from(numerator), denominator)) }
}

/// In ns, exactly.
pub fn from_time(time: Time) -> Rational {
    Rational::from_integer(BigInt::from(time.as_nanos()))
}

/// In bit/s, exactly.
pub fn from_rate(rate: Rate) -> Rational {
    Rational::from_integer(BigInt::from(rate.bits_per_second()))
}

/// In nanobits, exactly.
pub fn from_amount(amount: Amount) -> Rational {
    whole(amount.nanobits())
}

/// The first whole ns not below it: for delays. `None` below zero or past the range of a [`Time`].
pub fn time_rounded_up(nanos: &Rational) -> Option<Time> {
    nanos.ceil().to_integer().to_u64().map(Time::from_nanos)
}

/// Returns the first whole bit/s not below it: for demands. `None` below zero or past the range of a [`Rate`].
pub fn rate_rounded_up(rate: &Rational) -> Option<Rate> {
    rate.ceil().to_integer().to_u64().map(Rate::from_bits_per_second)
}

/// The last whole bit/s not above it: for capacities. `None` below zero or past the range of a [`Rate`].
pub fn rate_rounded_down(rate: &Rational) -> Option<Rate> {
    rate.floor().to_integer().to_u64().map(Rate::from_bits_per_second)
}

/// The first whole nanobit not below it: for bursts and backlogs. `None` past the range of an [`Amount`].
pub fn amount_rounded_up(nanobits: &Rational) -> Option<Amount> {
    nanobits.ceil().to_integer().to_i128().map(Amount::from_nanobits)
}

/// The nearest float, an infinity past their range: for plotting only, never for a bound.
pub fn to_f64(number: &Rational) -> f64 {
    number.to_f64().unwrap_or(f64::NAN)
}

/// Zero or the number, whichever is larger.
pub(crate) fn positive_part(number: Rational) -> Rational {
    number.max(Rational::zero())
}
