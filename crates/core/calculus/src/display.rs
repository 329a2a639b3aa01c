//! Curves for people: `min(1.562 kB + 1 Gbit/s * t, 97 kB + 100 Mbit/s * t)`, `1 Gbit/s * [t - 12 us]+`.
//!
//! A `~` marks a number that was rounded to whole bytes, ns or bit/s: bursts, latencies and rates of traffic up, rates
//! of services down. The curve itself is exact.

use core::fmt;

use num_traits::Zero;
use wayleave_units::{Bytes, Rate, Time};

use crate::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve, rational};

impl fmt::Display for ArrivalCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_extremum(f, "min", self.pieces())
    }
}

impl fmt::Display for ServiceCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_extremum(f, "max", self.pieces())
    }
}

impl fmt::Display for BucketCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = rate_text(&self.rate, Rounding::Up);
        match (self.burst.is_zero(), self.rate.is_zero()) {
            (true, true) => f.write_str("0"),
            (true, false) => write!(f, "{rate} * t"),
            (false, true) => f.write_str(&burst_text(&self.burst)),
            (false, false) => write!(f, "{} + {rate} * t", burst_text(&self.burst)),
        }
    }
}

impl fmt::Display for RateLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = rate_text(&self.rate, Rounding::Down);
        match self.latency() {
            None => f.write_str("0"),
            Some(latency) if latency.is_zero() => write!(f, "{rate} * t"),
            Some(latency) => write!(f, "{rate} * [t - {}]+", time_text(&latency)),
        }
    }
}

fn write_extremum(f: &mut fmt::Formatter<'_>, name: &str, pieces: &[impl fmt::Display]) -> fmt::Result {
    match pieces {
        [] => f.write_str("0"),
        [piece] => piece.fmt(f),
        [first, rest @ ..] => {
            write!(f, "{name}({first}")?;
            rest.iter().try_for_each(|piece| write!(f, ", {piece}"))?;
            f.write_str(")")
        }
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

fn rate_text(rate: &Rational, rounding: Rounding) -> String {
    let (whole, mark) = rounded(rate, rounding);
    let text = rational::rate_rounded_up(&whole).map(|rate: Rate| format!("{rate:#}"));
    mark.to_owned() + &text.unwrap_or_else(|| format!("{whole} bit/s"))
}

fn time_text(time: &Rational) -> String {
    let (whole, mark) = rounded(time, Rounding::Up);
    let text = rational::time_rounded_up(&whole).map(|time: Time| format!("{time:#}"));
    mark.to_owned() + &text.unwrap_or_else(|| format!("{whole} ns"))
}

fn burst_text(nanobits: &Rational) -> String {
    let nanobits_per_byte = rational::whole(8_000_000_000);
    let (whole, mark) = rounded(&(nanobits / nanobits_per_byte), Rounding::Up);
    let text = u64::try_from(whole.to_integer()).map(|bytes| format!("{:#}", Bytes::new(bytes)));
    mark.to_owned() + &text.unwrap_or_else(|_| format!("{whole} B"))
}

/// The whole number to print, and the mark if it is not the number itself.
fn rounded(number: &Rational, rounding: Rounding) -> (Rational, &'static str) {
    let whole = match rounding {
        Rounding::Up => number.ceil(),
        Rounding::Down => number.floor(),
    };
    let mark = if whole == *number { "" } else { "~" };
    (whole, mark)
}
