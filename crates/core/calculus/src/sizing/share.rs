//! Shares of a whole: loads and percentiles, in billionths.

use std::fmt;
use std::str::FromStr;

use crate::sizing::WHOLE;

/// The load of a queue, above 0 and below 1 (rho of Parley, 2.1 and 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadFraction(u64);

/// The share of flows that are to complete in time, above 0 % and at most 99.99 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile(u64);

/// Reason that a text is no share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareError(&'static str);

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ShareError {}

impl LoadFraction {
    /// From billionths; `None` unless above 0 and below 1.
    pub const fn from_billionths(billionths: u64) -> Option<Self> {
        if billionths > 0 && billionths < WHOLE { Some(Self(billionths)) } else { None }
    }

    /// In billionths.
    pub const fn billionths(self) -> u64 {
        self.0
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }
}

impl Percentile {
    /// Of one flow: the share.
    pub fn get(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }
}

impl FromStr for LoadFraction {
    type Err = ShareError;

    /// `0.8` or `80%`.
    fn from_str(text: &str) -> Result<Self, ShareError> {
        let share = match text.strip_suffix('%') {
            Some(percent) => decimal(percent, 7),
            None => decimal(text, 9),
        };
        let expected = ShareError("a load above 0 and below 1 is expected, such as 0.8 or 80%");
        share.and_then(Self::from_billionths).ok_or(expected)
    }
}

impl FromStr for Percentile {
    type Err = ShareError;

    /// `99` or `99.9`, with or without `%`.
    fn from_str(text: &str) -> Result<Self, ShareError> {
        let share = decimal(text.strip_suffix('%').unwrap_or(text), 7);
        let is_fine = |&share: &u64| share > 0 && share <= WHOLE / 10_000 * 9_999;
        let expected = ShareError("a percentile above 0 and up to 99.99 is expected, such as 99 or 99.9");
        share.filter(is_fine).map(Self).ok_or(expected)
    }
}

/// A decimal number times 10 to the power of `digits`; `None` if it is none, or has more digits.
fn decimal(text: &str, digits: u32) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && part.is_empty() || !is_number(whole) || !is_number(part) || part.len() > digits as usize {
        return None;
    }
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let part = number(part)?.checked_mul(10_u64.pow(digits - part.len() as u32))?;
    number(whole)?.checked_mul(10_u64.pow(digits))?.checked_add(part)
}

/// Writes a share in percent: `12.5%`, the spelling of options, or `12.5 %` in the alternate form, for people.
fn percent(billionths: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whole, part) = (billionths / 10_000_000, billionths % 10_000_000);
    let space = if f.alternate() { " " } else { "" };
    let part = format!("{part:07}");
    match part.trim_end_matches('0') {
        "" => write!(f, "{whole}{space}%"),
        part => write!(f, "{whole}.{part}{space}%"),
    }
}

impl fmt::Display for LoadFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        percent(self.0, f)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        percent(self.0, f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests assert by panicking")]
mod tests {
    use super::*;

    #[test]
    fn loads_are_written_as_shares_or_in_percent() {
        let load = |text: &str| text.parse::<LoadFraction>().map(LoadFraction::billionths).ok();
        assert_eq!(["0.8", "80%", ".8", "80.0%"].map(load), [Some(800_000_000); 4]);
        assert_eq!(load("0.000000001"), Some(1));
        let wrong = ["", ".", "%", "1", "0", "100%", "-0.5", "0.8x", "1.2", "0.0000000001", "99999999999999999999%"];
        assert_eq!(wrong.map(load), [None; 11]);
        assert_eq!(
            ["12.5%", "0.3", "99.999%"].map(|text| text.parse::<LoadFraction>().unwrap().to_string()),
            ["12.5%", "30%", "99.999%"]
        );
    }

    #[test]
    fn percentiles_are_in_percent() {
        let percentile = |text: &str| text.parse::<Percentile>().map(Percentile::get).ok();
        assert_eq!(["99", "99%", "99.99"].map(percentile), [Some(0.99), Some(0.99), Some(0.9999)]);
        assert_eq!(["0", "100", "99.991", "p99", ""].map(percentile), [None; 5]);
    }
}
