//! Time, rate and size: integer newtypes with exact parsing and printing.
//!
//! Everything that Wayleave promises is computed in integers: [`Time`] in nanoseconds, [`Rate`] in bit/s, [`Bytes`]
//! in bytes, and their product, [`Amount`], in nanobits (bit/s times ns), so that a burst plus a rate times a delay
//! is exact and taking it back restores every bit.
//!
//! Text carries explicit suffixes (`10Gbit`, `500us`, `97kB`, `64KiB`). A suffix with two meanings is refused with a
//! hint: `mbps` is bytes to Linux `tc` and bits to all others. [`Human`] is for text that people read.
//!
//! ```
//! use wayleave_units::{Bytes, Rate, Time};
//! let rate: Rate = "1.5Gbit".parse()?;
//! assert_eq!(rate.bits_per_second(), 1_500_000_000);
//! assert_eq!(rate.to_string(), "1.5Gbit");
//! assert_eq!(format!("{rate:#}"), "1.5 Gbit/s");
//! assert_eq!("500us".parse::<Time>()?, Time::from_micros(500));
//! assert_eq!("64KiB".parse::<Bytes>()?.get(), 65_536);
//! assert!("10mbps".parse::<Rate>().unwrap_err().to_string().contains("10Mbit"));
//! # Ok::<(), wayleave_units::ParseUnitError>(())
//! ```
#![no_std]

extern crate alloc;

mod amount;
mod human;
mod parse;
mod text;
mod wall;

pub use amount::Amount;
pub use human::{Human, count, plural, readable};
pub use parse::{ParseUnitError, ParseUnitErrorKind};
pub use text::{escaped, escaped_but, is_deceptive, is_plain};
pub use wall::{ParseWallTimeError, ParseWallTimeErrorKind, WallTime};

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::str::FromStr;

use parse::Unit;

/// Declares one newtype over `u64` with the arithmetic that all of them share.
macro_rules! quantity {
    ($(#[$meta:meta])* $name:ident, $max:expr, $max_doc:literal, $per:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// Nothing at all.
            pub const ZERO: Self = Self(0);
            #[doc = $max_doc]
            pub const MAX: Self = Self($max);

            /// The sum, or `None` above [`Self::MAX`].
            pub fn checked_add(self, other: Self) -> Option<Self> {
                self.0.checked_add(other.0).filter(|&sum| sum <= $max).map(Self)
            }

            /// The difference, or `None` below zero.
            pub fn checked_sub(self, other: Self) -> Option<Self> {
                self.0.checked_sub(other.0).map(Self)
            }

            /// The difference, zero where it would be negative.
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }

        /// Exact text, in the spelling of files; in the alternate form (`{:#}`) as people read it.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                parse::write_exact(f, self.0, Self::UNITS, $per)
            }
        }

        impl FromStr for $name {
            type Err = ParseUnitError;
            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                parse::parse(text, Self::UNITS, Self::FORM, $max).map(Self)
            }
        }
    };
}

quantity!(
    /// A point in time or a duration, in whole nanoseconds.
    Time,
    100_000_000_000_000_000,
    "10^8 s, about three years.",
    ""
);

quantity!(
    /// A data rate in bit/s.
    Rate,
    10_000_000_000_000,
    "10 Tbit/s: with deadlines up to 100 s it keeps every product of the admission check inside `i128`.",
    "/s"
);

quantity!(
    /// A size in bytes.
    Bytes,
    100_000_000_000,
    "100 GB.",
    ""
);

impl Time {
    const FORM: &'static str = "a time such as 500us, 1.5ms or 2s";
    const UNITS: &'static [Unit] = &[
        Unit::new("s", 1_000_000_000),
        Unit::new("ms", 1_000_000),
        Unit::new("us", 1_000),
        Unit::new("ns", 1),
        Unit::alias("µs", 1_000),
        Unit::alias("μs", 1_000),
    ];

    /// From whole nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// From whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl Rate {
    const FORM: &'static str = "a rate such as 10Gbit, 2.5Mbit/s or 500kbit";
    const UNITS: &'static [Unit] = &[
        Unit::new("Tbit", 1_000_000_000_000),
        Unit::new("Gbit", 1_000_000_000),
        Unit::new("Mbit", 1_000_000),
        Unit::new("kbit", 1_000),
        Unit::new("bit", 1),
        Unit::alias("Tbit/s", 1_000_000_000_000),
        Unit::alias("Gbit/s", 1_000_000_000),
        Unit::alias("Mbit/s", 1_000_000),
        Unit::alias("kbit/s", 1_000),
        Unit::alias("bit/s", 1),
        Unit::ambiguous("bps", "bit"),
        Unit::ambiguous("kbps", "kbit"),
        Unit::ambiguous("mbps", "Mbit"),
        Unit::ambiguous("gbps", "Gbit"),
        Unit::ambiguous("tbps", "Tbit"),
        Unit::ambiguous("k", "kbit"),
        Unit::ambiguous("K", "kbit"),
        Unit::ambiguous("M", "Mbit"),
        Unit::ambiguous("G", "Gbit"),
        Unit::ambiguous("T", "Tbit"),
    ];

    /// From bit/s.
    pub const fn from_bits_per_second(rate: u64) -> Self {
        Self(rate)
    }

    /// From Mbit/s.
    pub const fn from_mbit(rate: u64) -> Self {
        Self(rate * 1_000_000)
    }

    /// From Gbit/s.
    pub const fn from_gbit(rate: u64) -> Self {
        Self(rate * 1_000_000_000)
    }

    /// bit/s.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
}

impl Bytes {
    const FORM: &'static str = "a size such as 1500B, 97kB or 64KiB";
    const UNITS: &'static [Unit] = &[
        Unit::new("GB", 1_000_000_000),
        Unit::new("MB", 1_000_000),
        Unit::new("kB", 1_000),
        Unit::new("B", 1),
        Unit::alias("KiB", 1_024),
        Unit::alias("MiB", 1_048_576),
        Unit::alias("GiB", 1_073_741_824),
        Unit::ambiguous("b", "B"),
        Unit::ambiguous("KB", "kB"),
        Unit::ambiguous("kb", "kB"),
        Unit::ambiguous("Kb", "kB"),
        Unit::ambiguous("mb", "MB"),
        Unit::ambiguous("Mb", "MB"),
        Unit::ambiguous("gb", "GB"),
        Unit::ambiguous("Gb", "GB"),
        Unit::ambiguous("K", "kB"),
        Unit::ambiguous("k", "kB"),
        Unit::ambiguous("M", "MB"),
        Unit::ambiguous("G", "GB"),
    ];

    /// From bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}
