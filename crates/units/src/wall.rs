//! A point of calendar time: nanoseconds since 1970 in UTC, with RFC 3339 text both ways.
//!
//! Durations and simulated time are [`Time`](crate::Time). This type is for what people agree on in advance: when a
//! contract starts and ends.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

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

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400;

impl fmt::Display for WallTime {
    /// RFC 3339 in UTC, with as many digits of the second as it has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, mut fraction) = (self.0 / SECOND, self.0 % SECOND);
        let (year, month, day) = date(seconds / DAY);
        let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if fraction > 0 {
            let mut digits = 9;
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                digits -= 1;
            }
            write!(f, ".{fraction:0digits$}")?;
        }
        f.write_str("Z")
    }
}

/// Why a text is no [`WallTime`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseWallTimeError {
    /// What is wrong.
    pub kind: ParseWallTimeErrorKind,
    /// The text as it was given (shortened).
    pub text: String,
}

/// What is wrong with a date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseWallTimeErrorKind {
    /// It is not written as RFC 3339 has it.
    Form,
    /// It does not say in which time zone it is.
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
            ParseWallTimeErrorKind::Form => write!(f, "\"{text}\" is no date and time: {FORM}"),
            ParseWallTimeErrorKind::NoZone => {
                write!(f, "\"{text}\" does not say its time zone: add Z for UTC, or an offset such as +01:00")
            }
            ParseWallTimeErrorKind::NoSuchTime => write!(f, "\"{text}\" does not exist: {FORM}"),
            ParseWallTimeErrorKind::TooFine => {
                write!(f, "\"{text}\" is finer than a nanosecond: up to nine digits after the point are accepted")
            }
            ParseWallTimeErrorKind::OutOfRange => {
                write!(f, "\"{text}\" is too early or too late: the years 1970 to 2554 are accepted")
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

fn read(text: &[u8]) -> Result<WallTime, ParseWallTimeErrorKind> {
    use ParseWallTimeErrorKind as Kind;
    let (head, rest) = text.split_at_checked(19).ok_or(Kind::Form)?;
    let signs = [(4, b"-".as_slice()), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if signs.into_iter().any(|(at, accepted)| !accepted.contains(&head[at])) {
        return Err(Kind::Form);
    }
    let number = |from: usize, to: usize| digits(&head[from..to]).ok_or(Kind::Form);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // A leap second (:60) has no place of its own in a count of seconds since 1970, so it does not exist here.
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) || hour > 23 || minute > 59 || second > 59 {
        return Err(Kind::NoSuchTime);
    }
    let (nanos, zone) = fraction(rest)?;
    let offset = offset(zone)?;
    // Signed, because an offset can lead into 1970 from before it.
    let days = days_to(year, month, day).cast_signed() - days_before(1970).cast_signed();
    let seconds = days * 86_400 + (hour * 3600 + minute * 60 + second).cast_signed() - offset;
    let seconds = u64::try_from(seconds).map_err(|_| Kind::OutOfRange)?;
    let nanos = seconds.checked_mul(SECOND).and_then(|whole| whole.checked_add(nanos)).ok_or(Kind::OutOfRange)?;
    Ok(WallTime(nanos))
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

/// The nanoseconds after the point, if there is one, and what follows.
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

/// Seconds east of UTC.
fn offset(zone: &[u8]) -> Result<i64, ParseWallTimeErrorKind> {
    use ParseWallTimeErrorKind as Kind;
    match zone {
        [] => Err(Kind::NoZone),
        [b'Z' | b'z'] => Ok(0),
        [sign @ (b'+' | b'-'), hours @ .., b':', tens, ones] if hours.len() == 2 => {
            let hours = digits(hours).ok_or(Kind::Form)?;
            let minutes = digits(&[*tens, *ones]).ok_or(Kind::Form)?;
            if hours > 23 || minutes > 59 {
                return Err(Kind::NoSuchTime);
            }
            let seconds = (hours * 3600 + minutes * 60).cast_signed();
            Ok(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => Err(Kind::Form),
    }
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of January of a year, counted from the year 0.
const fn days_before(year: u64) -> u64 {
    match year.checked_sub(1) {
        Some(last) => year * 365 + last / 4 - last / 100 + last / 400 + 1,
        None => 0,
    }
}

/// Days from the year 0 to a date.
fn days_to(year: u64, month: u64, day: u64) -> u64 {
    days_before(year) + (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1
}

/// The date that is this many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + days_before(1970);
    // The average year has 365.2425 days: the guess is right or one year off.
    let mut year = days * 400 / 146_097;
    while days_before(year + 1) <= days {
        year += 1;
    }
    while days_before(year) > days {
        year -= 1;
    }
    let mut day = days - days_before(year);
    let mut month = 1;
    while day >= days_of(year, month) {
        day -= days_of(year, month);
        month += 1;
    }
    (year, month, day + 1)
}
