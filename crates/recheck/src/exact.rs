//! Between exact figures, which are rationals, and whole units.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use wayleave_units::{Bytes, Time};

/// A whole number as a rational.
pub(crate) fn whole(value: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(value.into())
}

/// `None` past the range of a time.
pub(crate) fn time_rounded_up(nanos: &BigRational) -> Option<Time> {
    nanos.ceil().to_integer().to_u64().map(Time::from_nanos)
}

/// `None` past the range of a size.
pub(crate) fn bytes_rounded_up(bytes: &BigRational) -> Option<Bytes> {
    bytes.ceil().to_integer().to_u64().map(Bytes::new)
}
