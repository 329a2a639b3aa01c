//! Quantities for people: a space before the unit, and rates per second.
//!
//! The alternate form of `Display` is exact: `{rate:#}` gives `698.5 Mbit/s`, where `{rate}` gives `698.5Mbit`, the
//! spelling of files. [`Human`] rounds to four digits towards the safe side. Both forms can be read again.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::{Bytes, Rate, Time};

/// More digits than this are noise to a reader.
const DIGITS: u32 = 4;

/// Quantities rounded for a reader, without hiding which of two is larger.
///
/// ```
/// use wayleave_units::{Human, Rate, Time};
/// assert_eq!(Time::from_nanos(804_001).up(), "804.1 us");
/// assert_eq!(Rate::from_bits_per_second(697_999_999).down(), "697.9 Mbit/s");
/// assert_eq!(format!("{:#}", Rate::from_bits_per_second(697_999_999)), "697.999999 Mbit/s");
/// ```
pub trait Human {
    /// With four digits, rounded up: for bounds and requests, so that an excess over a limit remains visible.
    fn up(self) -> String;
    /// With four digits, rounded down: for limits, and for remaining amounts.
    fn down(self) -> String;
}

/// Returns a number with its noun in the right form: `1 flow`, `2 flows`, `2 switches`, `2 entries`.
pub fn count<N: fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{number} {}", plural(&number, noun))
}

/// Returns the form of an English noun for a number, without the number.
pub fn plural<'n, N: PartialEq + From<u8>>(number: &N, noun: &'n str) -> Cow<'n, str> {
    match noun.strip_suffix("ry") {
        _ if *number == N::from(1) => Cow::Borrowed(noun),
        Some(stem) => Cow::Owned(format!("{stem}ries")),
        None if noun.ends_with("ch") => Cow::Owned(format!("{noun}es")),
        None => Cow::Owned(format!("{noun}s")),
    }
}

/// The numbers of four digits below and above a value.
fn bracket(value: u64) -> (u64, u64) {
    let digits = value.checked_ilog10().map_or(1, |log| log + 1);
    let step = 10u64.pow(digits.saturating_sub(DIGITS));
    let down = value / step * step;
    (down, if down == value { value } else { down.saturating_add(step) })
}

impl Human for Time {
    fn up(self) -> String {
        format!("{:#}", Self::from_nanos(bracket(self.as_nanos()).1))
    }

    fn down(self) -> String {
        format!("{:#}", Self::from_nanos(bracket(self.as_nanos()).0))
    }
}

impl Human for Rate {
    fn up(self) -> String {
        format!("{:#}", Self::from_bits_per_second(bracket(self.bits_per_second()).1))
    }

    fn down(self) -> String {
        format!("{:#}", Self::from_bits_per_second(bracket(self.bits_per_second()).0))
    }
}

impl Human for Bytes {
    fn up(self) -> String {
        format!("{:#}", Self::new(bracket(self.get()).1))
    }

    fn down(self) -> String {
        format!("{:#}", Self::new(bracket(self.get()).0))
    }
}

/// Returns a quantity in the spelling of files (`10Mbit`) in the form for people (`10 Mbit/s`), exactly. Other text is
/// returned unchanged.
///
/// ```
/// use wayleave_units::readable;
/// assert_eq!(["10Mbit", "1.5kB", "300us", "20"].map(readable), ["10 Mbit/s", "1.5 kB", "300 us", "20"]);
/// ```
pub fn readable(text: &str) -> Cow<'_, str> {
    let rate = text.parse::<Rate>().map(|rate| format!("{rate:#}"));
    let time = || text.parse::<Time>().map(|time| format!("{time:#}"));
    let size = || text.parse::<Bytes>().map(|size| format!("{size:#}"));
    rate.or_else(|_| time()).or_else(|_| size()).map_or(Cow::Borrowed(text), Cow::Owned)
}
