//! A point of calendar time: nanoseconds since 1970 in UTC, with RFC 3339 text in both directions.
//!
//! Durations and simulated time are [`Time`](crate::Time). This type is for times that people agree on in advance:
//! the start and the end of a contract.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::parse::shorten;

/// A point of calendar time in UTC, in whole nanoseconds since 1970-01-01T00:00:00Z, up to the year 2554.
///
/// ```
/// use wayleave_units::WallTime;
/// let start: WallTime = "2026-11-21T09:00:00.25+01:00".parse()?;
/// assert_eq!(start.to_string(), "2026-11-21T08:00:00.25Z");
/// assert_eq!("1970-01-01T00:00:01Z".parse::<WallTime>()?.as_nanos(), 1_000_000_000);
/// # Ok::<(), wayleave_units::ParseWallTimeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(u64);

impl WallTime {
    /// From whole nanoseconds since 1970.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Whole nanoseconds since 1970.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl fmt::Display for WallTime {
    /// RFC 3339 in UTC, with as many digits of the second as it has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every u64 of nanoseconds is before the year 10000, where these end.
        let time = Timestamp::from_nanosecond(i128::from(self.0)).map_err(|_| fmt::Error)?;
        write!(f, "{time}")
    }
}

/// Reason for which a text is no [`WallTime`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseWallTimeError {
    /// The mistake.
    pub kind: ParseWallTimeErrorKind,
    /// The text as it was given (shortened).
    pub text: String,
}

/// Mistakes in a date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseWallTimeErrorKind {
    /// It is not written as RFC 3339 has it.
    Form,
    /// It does not name its time zone.
    NoZone,
    /// There is no such day or time of day.
    NoSuchTime,
    /// More than nine digits of a second.
    TooFine,
    /// Before 1970 or after 2554.
    OutOfRange,
}

impl fmt::Display for ParseWallTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FORM: &str = "expected a date and time such as 2026-11-21T08:00:00Z or 2026-11-21T09:00:00+01:00";
        let text = &self.text;
        match self.kind {
            ParseWallTimeErrorKind::Form => write!(f, "\"{text}\" is not a date and time: {FORM}"),
            ParseWallTimeErrorKind::NoZone => {
                write!(f, "\"{text}\" does not say its time zone: add Z for UTC, or an offset such as +01:00")
            }
            ParseWallTimeErrorKind::NoSuchTime => write!(f, "\"{text}\" does not exist: {FORM}"),
            ParseWallTimeErrorKind::TooFine => {
                write!(f, "\"{text}\" is finer than a nanosecond: expected at most nine digits after the point")
            }
            ParseWallTimeErrorKind::OutOfRange => {
                write!(f, "\"{text}\" is too early or too late: expected a year from 1970 to 2554")
            }
        }
    }
}

impl core::error::Error for ParseWallTimeError {}

impl FromStr for WallTime {
    type Err = ParseWallTimeError;

    fn from_str(text: &str) -> Result<Self, ParseWallTimeError> {
        read(text.trim().as_bytes()).map_err(|kind| ParseWallTimeError { kind, text: shorten(text) })
    }
}

/// Holds a text to the form of RFC 3339 alone, which is stricter than the forms that jiff reads, so that each mistake
/// has its name.
fn read(text: &[u8]) -> Result<WallTime, ParseWallTimeErrorKind> {
    use ParseWallTimeErrorKind as Kind;
    let (head, rest) = text.split_at_checked(19).ok_or(Kind::Form)?;
    let signs = [(4, b"-".as_slice()), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if signs.into_iter().any(|(at, accepted)| !accepted.contains(&head[at])) {
        return Err(Kind::Form);
    }
    let year = digits(&head[..4]).ok_or(Kind::Form)?;
    let two = |from: usize| digits(&head[from..from + 2]).map(|number| number as i8).ok_or(Kind::Form);
    let (month, day, hour, minute, second) = (two(5)?, two(8)?, two(11)?, two(14)?, two(17)?);
    // A leap second (:60) has no place of its own in a count of seconds since 1970, so it does not exist here.
    let there = DateTime::new(year as i16, month, day, hour, minute, second, 0).map_err(|_| Kind::NoSuchTime)?;
    let (nanos, zone) = fraction(rest)?;
    let second = offset(zone)?.to_timestamp(there).map_err(|_| Kind::OutOfRange)?;
    let nanos = second.as_nanosecond() + i128::from(nanos);
    u64::try_from(nanos).map(WallTime).map_err(|_| Kind::OutOfRange)
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

/// The nanoseconds after the point, if there is one, and the rest.
fn fraction(text: &[u8]) -> Result<(u64, &[u8]), ParseWallTimeErrorKind> {
    let Some(rest) = text.strip_prefix(b".") else { return Ok((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, zone) = rest.split_at(length);
    let kept = fraction.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    match (length, kept) {
        (0, _) => Err(ParseWallTimeErrorKind::Form),
        (_, 10..) => Err(ParseWallTimeErrorKind::TooFine),
        _ => {
            let value = digits(&fraction[..kept]).unwrap_or_default();
            Ok((value * 10u64.pow(9 - kept as u32), zone))
        }
    }
}

fn offset(zone: &[u8]) -> Result<Offset, ParseWallTimeErrorKind> {
    use ParseWallTimeErrorKind as Kind;
    match zone {
        [] => Err(Kind::NoZone),
        [b'Z' | b'z'] => Ok(Offset::UTC),
        [sign @ (b'+' | b'-'), hours @ .., b':', tens, ones] if hours.len() == 2 => {
            let hours = digits(hours).ok_or(Kind::Form)?;
            let minutes = digits(&[*tens, *ones]).ok_or(Kind::Form)?;
            if hours > 23 || minutes > 59 {
                return Err(Kind::NoSuchTime);
            }
            let seconds = (hours * 3600 + minutes * 60) as i32;
            Offset::from_seconds(if *sign == b'-' { -seconds } else { seconds }).map_err(|_| Kind::NoSuchTime)
        }
        _ => Err(Kind::Form),
    }
}
