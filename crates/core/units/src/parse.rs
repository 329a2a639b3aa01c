//! Exact decimal text with a unit, in both directions.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// One suffix of a quantity, with its value.
pub(crate) struct Unit {
    name: &'static str,
    meaning: Meaning,
}

enum Meaning {
    /// Used for printing as well as for reading.
    Canonical(u64),
    /// Read, never printed.
    Alias(u64),
    /// Refused: means two things; the suffix to write instead.
    Ambiguous(&'static str),
}

impl Unit {
    pub(crate) const fn new(name: &'static str, worth: u64) -> Self {
        Self { name, meaning: Meaning::Canonical(worth) }
    }

    pub(crate) const fn alias(name: &'static str, worth: u64) -> Self {
        Self { name, meaning: Meaning::Alias(worth) }
    }

    pub(crate) const fn ambiguous(name: &'static str, instead: &'static str) -> Self {
        Self { name, meaning: Meaning::Ambiguous(instead) }
    }
}

/// Reason for which a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    /// The mistake.
    pub kind: ParseUnitErrorKind,
    /// The text as it was given (shortened).
    pub text: String,
    /// The accepted form, with examples.
    pub expected: &'static str,
}

/// Mistakes in a quantity's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseUnitErrorKind {
    /// There is no number at its start.
    NoNumber,
    /// The number at its start has no single decimal point between digits.
    BadPoint,
    /// The number has no unit.
    NoUnit,
    /// A minus sign.
    Negative,
    /// The suffix is no unit of this quantity; the nearest one that is.
    UnknownUnit(Option<&'static str>),
    /// The suffix means two things; what to write instead.
    AmbiguousUnit(String),
    /// A comma in place of a decimal point; the text with a point.
    DecimalComma(String),
    /// More precise than the smallest unit.
    TooFine(&'static str),
    /// Above the largest value that is accepted, which is given.
    TooLarge(String),
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, expected) = (&self.text, self.expected);
        match &self.kind {
            ParseUnitErrorKind::NoNumber => write!(f, "\"{text}\" does not begin with a number: expected {expected}"),
            ParseUnitErrorKind::BadPoint => {
                write!(f, "\"{text}\" has a misplaced decimal point: expected {expected}")
            }
            ParseUnitErrorKind::NoUnit => write!(f, "\"{text}\" has no unit: expected {expected}"),
            ParseUnitErrorKind::Negative => write!(f, "\"{text}\" is negative: expected {expected}"),
            ParseUnitErrorKind::UnknownUnit(Some(near)) => {
                write!(f, "\"{text}\" has an unknown unit, did you mean {near}? Expected {expected}")
            }
            ParseUnitErrorKind::UnknownUnit(None) => {
                write!(f, "\"{text}\" has an unknown unit: expected {expected}")
            }
            ParseUnitErrorKind::AmbiguousUnit(instead) => {
                write!(f, "\"{text}\" can mean bits or bytes (Linux tc and people differ): write {instead}")
            }
            ParseUnitErrorKind::DecimalComma(instead) => {
                write!(f, "\"{text}\" has a decimal comma: write {instead}")
            }
            ParseUnitErrorKind::TooFine(smallest) => {
                write!(f, "\"{text}\" is not a whole number of {smallest}: expected {expected}")
            }
            ParseUnitErrorKind::TooLarge(max) => write!(f, "\"{text}\" is too large: expected at most {max}"),
        }
    }
}

impl core::error::Error for ParseUnitError {}

/// Reads `text` as a decimal number with one of `units`, exactly.
pub(crate) fn parse(text: &str, units: &[Unit], expected: &'static str, max: u64) -> Result<u64, ParseUnitError> {
    let fail = |kind| Err(ParseUnitError { kind, text: shorten(text), expected });
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return fail(ParseUnitErrorKind::Negative);
    }
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, suffix) = (&trimmed[..end], trimmed[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if number.is_empty() {
        return fail(ParseUnitErrorKind::NoNumber);
    }
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return fail(ParseUnitErrorKind::BadPoint);
    }
    if suffix.is_empty() {
        return fail(ParseUnitErrorKind::NoUnit);
    }
    if suffix.strip_prefix(',').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit())) {
        return fail(ParseUnitErrorKind::DecimalComma(shorten(&trimmed.replacen(',', ".", 1))));
    }
    let Some(unit) = units.iter().find(|unit| unit.name == suffix) else {
        // `Mbps` and `mBPS` are as ambiguous as `mbps`.
        let folded = suffix.to_ascii_lowercase();
        let ambiguous = units.iter().find(|u| matches!(u.meaning, Meaning::Ambiguous(_)) && u.name == folded);
        return match ambiguous {
            Some(unit) => fail(ambiguity(number, unit)),
            None => fail(ParseUnitErrorKind::UnknownUnit(nearest(suffix, units))),
        };
    };
    let worth = match unit.meaning {
        Meaning::Canonical(worth) | Meaning::Alias(worth) => worth,
        Meaning::Ambiguous(_) => return fail(ambiguity(number, unit)),
    };
    let too_large = || ParseUnitErrorKind::TooLarge(DisplayExact(max, units).to_string());
    match scale(whole, fraction, worth) {
        Scaled::Exact(value) if value <= u128::from(max) => match u64::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => fail(too_large()),
        },
        Scaled::Exact(_) | Scaled::TooLarge => fail(too_large()),
        Scaled::TooFine => fail(ParseUnitErrorKind::TooFine(smallest(units))),
    }
}

enum Scaled {
    Exact(u128),
    TooFine,
    TooLarge,
}

/// `whole.fraction * worth`, if it is a whole number.
fn scale(whole: &str, fraction: &str, worth: u64) -> Scaled {
    let fraction = fraction.trim_end_matches('0');
    if whole.trim_start_matches('0').len() > 25 {
        return Scaled::TooLarge;
    }
    // Twelve digits after the point resolve the smallest part of the largest unit.
    if fraction.len() > 12 {
        return Scaled::TooFine;
    }
    let digits = |text: &str| text.bytes().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let Some(wholes) = digits(whole).checked_mul(u128::from(worth)) else {
        return Scaled::TooLarge;
    };
    let parts = digits(fraction) * u128::from(worth);
    let places = 10u128.pow(fraction.len() as u32);
    if parts % places == 0 { Scaled::Exact(wholes + parts / places) } else { Scaled::TooFine }
}

fn ambiguity(number: &str, unit: &Unit) -> ParseUnitErrorKind {
    let Meaning::Ambiguous(instead) = unit.meaning else { return ParseUnitErrorKind::UnknownUnit(None) };
    let hint = if instead.ends_with("bit") {
        format!("{number}{instead} if bits per second are meant")
    } else {
        format!("{number}{instead} if bytes are meant")
    };
    ParseUnitErrorKind::AmbiguousUnit(hint)
}

fn smallest(units: &[Unit]) -> &'static str {
    units.iter().rev().find(|unit| matches!(unit.meaning, Meaning::Canonical(1))).map_or("units", |unit| unit.name)
}

/// The unit that differs from `suffix` by case or by one letter.
fn nearest(suffix: &str, units: &[Unit]) -> Option<&'static str> {
    let usable = || units.iter().filter(|unit| !matches!(unit.meaning, Meaning::Ambiguous(_)));
    usable()
        .find(|unit| unit.name.eq_ignore_ascii_case(suffix))
        .or_else(|| usable().find(|unit| suffix.len() > 1 && differs_by_one(unit.name, suffix)))
        .map(|unit| unit.name)
}

fn differs_by_one(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    match long.len() - short.len() {
        0 => short.bytes().zip(long.bytes()).filter(|(x, y)| x != y).count() == 1,
        1 => {
            let same = short.bytes().zip(long.bytes()).take_while(|(x, y)| x == y).count();
            short.as_bytes()[same..] == long.as_bytes()[same + 1..]
        }
        _ => false,
    }
}

pub(crate) fn shorten(text: &str) -> String {
    let clean: String = text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().count() > 40 { clean + "…" } else { clean }
}

/// A quantity in the spelling of files.
struct DisplayExact<'a>(u64, &'a [Unit]);

impl fmt::Display for DisplayExact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_exact(f, self.0, self.1, "")
    }
}

/// Prints `value` in the largest unit that keeps at least one digit before the point, exactly. The alternate form has a
/// space before the unit, and `per` after it.
pub(crate) fn write_exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit], per: &str) -> fmt::Result {
    let (space, per) = if f.alternate() { (" ", per) } else { ("", "") };
    let canonical = || {
        units.iter().filter_map(|unit| match unit.meaning {
            Meaning::Canonical(worth) => Some((unit.name, worth)),
            _ => None,
        })
    };
    let Some((name, worth)) = canonical().find(|&(_, worth)| value >= worth).or_else(|| canonical().next_back()) else {
        return write!(f, "{value}");
    };
    let (whole, mut rest) = (value / worth, value % worth);
    if rest == 0 {
        return f.pad(&format!("{whole}{space}{name}{per}"));
    }
    let mut digits = worth.ilog10() as usize;
    while rest.is_multiple_of(10) {
        rest /= 10;
        digits -= 1;
    }
    f.pad(&format!("{whole}.{rest:0digits$}{space}{name}{per}"))
}
