//! Numbers of simulations, on the terminal and in the report.

use wayleave_units::{Bytes, Human, Rate, Time};

/// Returns a time in ps with four digits, rounded up to whole ns: `46.14 us`.
pub fn time(ps: u64) -> String {
    Time::from_nanos(ps.div_ceil(1_000)).up()
}

/// The same for a mean.
pub fn mean_time(ps: f64) -> String {
    time(ps.ceil() as u64)
}

/// Returns a rate in bit/s with four digits, rounded down: `93.83 Gbit/s`.
pub fn rate(bits_per_second: f64) -> String {
    Rate::from_bits_per_second(bits_per_second as u64).down()
}

/// Returns a size with four digits, rounded up: `43.5 kB`.
pub fn size(bytes: u64) -> String {
    Bytes::new(bytes).up()
}

/// A slowdown in thousandths, with three digits or more.
pub fn slowdown(thousandths: f64) -> String {
    let decimals = match thousandths {
        _ if thousandths < 9_995.0 => 2,
        _ if thousandths < 99_950.0 => 1,
        _ => 0,
    };
    format!("{:.decimals$}", thousandths / 1e3)
}

/// Returns `3.2 %`. A positive share is never rounded to 0 %, and a share below 100 % never to 100 %.
pub fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        _ if percent <= 0.0 || percent.is_nan() => "0 %".to_owned(),
        _ if percent < 0.01 => "below 0.01 %".to_owned(),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ if percent < 100.0 => format!("{:.1} %", percent.min(99.9)),
        _ => format!("{percent:.1} %"),
    }
}

/// The part of all that `some` are; nothing of nothing is nothing.
pub fn part(some: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { some as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_below_a_nanosecond_is_not_rounded_to_zero() {
        assert_eq!((time(0).as_str(), time(1).as_str(), time(1_230_400).as_str()), ("0 ns", "1 ns", "1.231 us"));
    }

    #[test]
    fn quantities_have_a_space_before_their_unit() {
        assert_eq!((rate(93.834e9).as_str(), rate(0.0).as_str()), ("93.83 Gbit/s", "0 bit/s"));
        assert_eq!((size(43_500).as_str(), size(64).as_str()), ("43.5 kB", "64 B"));
    }

    #[test]
    fn neither_small_nor_almost_full_shares_are_rounded_away() {
        let shown = [0.0, 0.000_01, 0.001, 0.5, 0.999_9, 1.0].map(share);
        assert_eq!(shown, ["0 %", "below 0.01 %", "0.10 %", "50.0 %", "99.9 %", "100.0 %"]);
    }
}
