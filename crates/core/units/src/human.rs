//! Quantities as people read them: four digits are enough, and rounding never hides which of two is larger.

use alloc::string::{String, ToString};

use crate::{Bytes, Rate, Time};

/// More digits than this are noise to a reader.
const DIGITS: u32 = 4;

/// A bound, or a request: rounded up, so that an excess over a limit remains visible.
pub trait Human {
    /// With four digits, rounded up.
    fn up(self) -> String;
    /// With four digits, rounded down: for amounts that are left.
    fn down(self) -> String;
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
        Self::from_nanos(bracket(self.as_nanos()).1).to_string()
    }

    fn down(self) -> String {
        Self::from_nanos(bracket(self.as_nanos()).0).to_string()
    }
}

impl Human for Rate {
    fn up(self) -> String {
        Self::from_bits_per_second(bracket(self.bits_per_second()).1).to_string()
    }

    fn down(self) -> String {
        Self::from_bits_per_second(bracket(self.bits_per_second()).0).to_string()
    }
}

impl Human for Bytes {
    fn up(self) -> String {
        Self::new(bracket(self.get()).1).to_string()
    }

    fn down(self) -> String {
        Self::new(bracket(self.get()).0).to_string()
    }
}
