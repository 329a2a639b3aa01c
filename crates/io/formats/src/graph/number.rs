//! Numbers as other tools write them (`10000000000.0`, `1e10`, `2.5 Gbps`), as whole bit/s and ns.
//!
//! They mostly come from floating point and are seldom a whole number of anything, so they are rounded towards safety:
//! rates down, delays up.

use wayleave_units::{Rate, Time};

use crate::fields::Quantity;
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};

/// Unit of a rate without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// bit/s
    Bit,
    /// kbit/s
    Kbit,
    /// Mbit/s
    Mbit,
    /// Gbit/s
    Gbit,
    /// Tbit/s
    Tbit,
}

/// Unit of a delay without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayUnit {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl RateUnit {
    /// In bit/s.
    const fn worth(self) -> u64 {
        match self {
            Self::Bit => 1,
            Self::Kbit => 1_000,
            Self::Mbit => 1_000_000,
            Self::Gbit => 1_000_000_000,
            Self::Tbit => 1_000_000_000_000,
        }
    }

    /// Returns the unit of a word that always means bits. `mbps` is excluded: in Linux `tc` it means bytes.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word.strip_suffix("/s").unwrap_or(word) {
            "bit" | "bits" => Self::Bit,
            "kbit" | "Kbit" | "Kbps" | "kb" | "Kb" => Self::Kbit,
            "Mbit" | "Mbps" | "Mb" => Self::Mbit,
            "Gbit" | "Gbps" | "Gb" => Self::Gbit,
            "Tbit" | "Tbps" | "Tb" => Self::Tbit,
            _ => return None,
        })
    }

    /// The unit of a prefix alone, as Topology Zoo writes it.
    pub(super) fn of_prefix(prefix: &str) -> Option<Self> {
        Some(match prefix {
            "" => Self::Bit,
            "K" | "k" => Self::Kbit,
            "M" => Self::Mbit,
            "G" => Self::Gbit,
            "T" => Self::Tbit,
            word => return Self::of_word(word),
        })
    }
}

impl DelayUnit {
    /// In ns.
    const fn worth(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// The unit of a word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "ns" => Self::Ns,
            "us" | "µs" | "μs" => Self::Us,
            "ms" => Self::Ms,
            "s" => Self::S,
            _ => return None,
        })
    }
}

/// Returns `true` if a text is a number without a unit.
pub(super) fn is_plain(text: &str) -> bool {
    let (number, word) = split(text);
    word.is_empty() && scale(number, 1, Rounding::Down).is_some()
}

/// Parses a line rate. `plain` is the unit of a number without one.
pub(super) fn rate(text: &str, at: Span, plain: Option<RateUnit>, problems: &mut Problems<'_>) -> Option<Rate> {
    let (number, word) = split(text);
    let unit = if word.is_empty() { plain } else { RateUnit::of_word(word) };
    let stated = Explicit { text, number, at };
    let worth = unit.map(RateUnit::worth);
    let rate =
        stated.value::<Rate>(worth, Rounding::Down, (Rate::MAX.bits_per_second(), Rate::MAX.to_string()), problems)?;
    if rate == 0 {
        problems.report(ProblemKind::Impossible, at, || "a link needs a rate above zero, such as 10Gbit");
        return None;
    }
    Some(Rate::from_bits_per_second(rate))
}

/// A delay from a text, with units as for [`rate`].
pub(super) fn delay(text: &str, at: Span, plain: Option<DelayUnit>, problems: &mut Problems<'_>) -> Option<Time> {
    let (number, word) = split(text);
    let unit = if word.is_empty() { plain } else { DelayUnit::of_word(word) };
    let stated = Explicit { text, number, at };
    let worth = unit.map(DelayUnit::worth);
    stated
        .value::<Time>(worth, Rounding::Up, (Time::MAX.as_nanos(), Time::MAX.to_string()), problems)
        .map(Time::from_nanos)
}

/// A plain number, as a coordinate is one.
pub(super) fn real(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    Some(text).filter(|_| plain).and_then(|text| text.parse().ok()).filter(|number: &f64| number.is_finite())
}

/// A text, and the number that it begins with.
struct Explicit<'t> {
    text: &'t str,
    number: &'t str,
    at: Span,
}

impl Explicit<'_> {
    /// Returns the number multiplied by its unit. Errors use the terms of the quantity `T`.
    fn value<T: Quantity>(
        &self,
        worth: Option<u64>,
        rounding: Rounding,
        (most, most_text): (u64, String),
        problems: &mut Problems<'_>,
    ) -> Option<u64> {
        let value = worth.and_then(|worth| scale(self.number, worth, rounding));
        if value.is_some_and(|value| value <= most) {
            return value;
        }
        let text = self.text.trim();
        problems.report(ProblemKind::BadValue, self.at, || {
            if value.is_some() {
                return format!("{} is too large: expected at most {most_text}", quoted(text));
            }
            let error = text.parse::<T>().err().map(|error| error.to_string());
            error.unwrap_or_else(|| format!("{} cannot be read", quoted(text)))
        });
        None
    }
}

/// The number at the start of a text, with its exponent, and the rest.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = sign + digits(&text[sign..]);
    if let Some(fraction) = text[end..].strip_prefix('.') {
        end += 1 + digits(fraction);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(&exponent[sign..]);
        if count > 0 {
            end += 1 + sign + count;
        }
    }
    (&text[..end], text[end..].trim_start())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Up,
    Down,
}

/// Returns a decimal number multiplied by `worth`, rounded to an integer. Too large numbers saturate; negative or
/// malformed ones give `None`.
fn scale(number: &str, worth: u64, rounding: Rounding) -> Option<u64> {
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => (&number[..at], exponent(&number[at + 1..])),
        None => (number, 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    if (whole.len() + fraction.len() == 0) || !digits.all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Twenty-five digits times the largest unit stay inside u128; further ones only decide how it is rounded.
    const KEPT: usize = 25;
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).skip_while(|&digit| digit == b'0').collect();
    let (kept, cut) = digits.split_at(digits.len().min(KEPT));
    let value = kept.iter().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0')) * u128::from(worth);
    let places = cut.len() as i64 - fraction.len() as i64 + i64::from(exponent);
    let mut inexact = cut.iter().any(|&digit| digit != b'0');
    let rounded = if places >= 0 {
        let power = u32::try_from(places).ok().and_then(|places| 10u128.checked_pow(places));
        if value == 0 { 0 } else { power.and_then(|power| value.checked_mul(power)).unwrap_or(u128::MAX) }
    } else {
        match u32::try_from(-places).ok().and_then(|places| 10u128.checked_pow(places)) {
            Some(power) => {
                inexact |= value % power != 0;
                value / power
            }
            None => {
                inexact |= value != 0;
                0
            }
        }
    };
    let up = u128::from(inexact && rounding == Rounding::Up);
    Some(u64::try_from(rounded.saturating_add(up)).unwrap_or(u64::MAX))
}

/// An exponent; one beyond `i32` is as good as the largest, which leaves nothing or too much of every number.
fn exponent(text: &str) -> i32 {
    const BEYOND: i32 = i32::MAX / 2;
    text.parse().unwrap_or(if text.starts_with('-') { -BEYOND } else { BEYOND })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_scaled_exactly_or_rounded_to_the_safe_side() {
        for (number, worth, down, up) in [
            ("10000000000.0", 1, 10_000_000_000, 10_000_000_000),
            ("1e10", 1, 10_000_000_000, 10_000_000_000),
            ("1.5E+3", 1_000, 1_500_000, 1_500_000),
            ("2.5", 1_000_000_000, 2_500_000_000, 2_500_000_000),
            ("0.30000000000000004", 1_000_000, 300_000, 300_001),
            ("25e-1", 1, 2, 3),
            ("1e-40", 1, 0, 1),
            ("0e99", 1, 0, 0),
            ("+7.", 1, 7, 7),
            (".5", 10, 5, 5),
            ("0.10000000000000000000000000000000000001", 10, 1, 2),
            ("99999999999999999999999999999999999999", 1_000_000_000_000, u64::MAX, u64::MAX),
            ("1e99999999999", 1, u64::MAX, u64::MAX),
            ("1e-99999999999", 1, 0, 1),
        ] {
            assert_eq!(scale(number, worth, Rounding::Down), Some(down), "{number}");
            assert_eq!(scale(number, worth, Rounding::Up), Some(up), "{number}");
        }
        for number in ["", ".", "-1", "e5", "1.2.3", "nan"] {
            assert_eq!(scale(number, 1, Rounding::Down), None, "{number}");
        }
    }

    #[test]
    fn a_number_ends_where_its_unit_begins() {
        for (text, number, word) in [
            (" 10 Gbps ", "10", "Gbps"),
            ("1e3", "1e3", ""),
            ("1.5e-3s", "1.5e-3", "s"),
            ("2exa", "2", "exa"),
            ("-3ms", "-3", "ms"),
            ("fast", "", "fast"),
        ] {
            assert_eq!(split(text), (number, word), "{text}");
        }
    }
}
