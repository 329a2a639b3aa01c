//! Numbers with Saihu's units, as exact fractions in ns, nanobits and bit/s.

use wayleave_calculus::Rational;
use wayleave_calculus::rational::whole;

use crate::fields::Fields;
use crate::messages::{one_of, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

/// Quantity of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// In ns.
    Time,
    /// In nanobits.
    Data,
    /// In bit/s.
    Rate,
}

/// The most digits and the largest exponent of a number: more would only cost time.
const MAX_DIGITS: usize = 40;
const LARGEST_EXPONENT: i32 = 30;

/// 10 to the power of the prefix.
const PREFIXES: [(&str, i32); 13] = [
    ("", 0),
    ("a", -18),
    ("f", -15),
    ("p", -12),
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

impl Measure {
    /// Returns the values of units without a prefix; the first is the default unit.
    fn units(self) -> &'static [(&'static str, i128, i128)] {
        match self {
            Self::Time => &[("s", 1_000_000_000, 1), ("m", 60_000_000_000, 1), ("h", 3_600_000_000_000, 1)],
            Self::Data => &[("b", 1_000_000_000, 1), ("B", 8_000_000_000, 1)],
            Self::Rate => {
                &[("bps", 1, 1), ("Bps", 8, 1), ("bpm", 1, 60), ("Bpm", 8, 60), ("bph", 1, 3600), ("Bph", 8, 3600)]
            }
        }
    }

    /// The key that gives numbers without a unit one.
    fn key(self) -> &'static str {
        match self {
            Self::Time => "time_unit",
            Self::Data => "data_unit",
            Self::Rate => "rate_unit",
        }
    }

    pub(super) fn examples(self) -> &'static str {
        match self {
            Self::Time => "10us or 1.5ms",
            Self::Data => "1500B or 12kb",
            Self::Rate => "4Mbps or 10Gbps",
        }
    }

    /// Returns a message for thousandths of bits: authors of `mbps` mean millions, and the format defines
    /// thousandths.
    fn ambiguous(self, unit: &str) -> Option<(String, String)> {
        let base = unit.strip_prefix('m').filter(|_| self != Self::Time)?;
        self.units().iter().find(|(name, ..)| *name == base)?;
        let message = format!("{} means thousandths here, and millions to most people", quoted(unit));
        Some((message, format!("write M{base} if millions are meant")))
    }

    /// Returns the value of one unit.
    fn worth(self, unit: &str) -> Option<Rational> {
        // `m` is a minute and `ms` a millisecond: a unit without a prefix comes first.
        let plain = PREFIXES.iter().find_map(|(prefix, power)| {
            let base = unit.strip_prefix(prefix)?;
            let found = self.units().iter().find(|(name, ..)| *name == base)?;
            Some((found, *power))
        });
        let (&(_, numerator, denominator), power) = plain?;
        Some(whole(numerator) / whole(denominator) * ten_to(power))
    }
}

/// Values of numbers without a unit.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    time: Rational,
    data: Rational,
    rate: Rational,
}

impl Units {
    /// Seconds, bits and bits per second.
    pub(crate) fn basic() -> Self {
        Self { time: whole(1_000_000_000), data: whole(1_000_000_000), rate: whole(1) }
    }

    /// With the units that an object gives.
    pub(crate) fn of(&self, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Self {
        let mut read = |measure: Measure, outer: &Rational| {
            let Some(node) = fields.get(measure.key()) else { return outer.clone() };
            let Some(text) = node.expect_text(problems) else { return outer.clone() };
            if let Some((message, hint)) = measure.ambiguous(text) {
                problems.report(ProblemKind::BadValue, node.span, || (message, hint));
                return outer.clone();
            }
            measure.worth(text).unwrap_or_else(|| {
                let known: Vec<&str> = measure.units().iter().map(|(name, ..)| *name).collect();
                problems.report(ProblemKind::BadValue, node.span, || {
                    let message =
                        format!("{} is not a {}: {} is expected", quoted(text), measure.key(), one_of(&known));
                    (message, "with an optional prefix: n, u, m, k, M, G or T")
                });
                outer.clone()
            })
        };
        Self {
            time: read(Measure::Time, &self.time),
            data: read(Measure::Data, &self.data),
            rate: read(Measure::Rate, &self.rate),
        }
    }

    /// A number with or without a unit, not negative.
    pub(crate) fn read(&self, measure: Measure, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Rational> {
        let text = node.expect_text(problems)?;
        let unit = split(text.trim()).map_or("", |(_, unit)| unit);
        if let Some((message, hint)) = measure.ambiguous(unit) {
            problems.report(ProblemKind::BadValue, node.span, || (message, hint));
            return None;
        }
        let value = self.value(measure, text.trim());
        if value.is_none() {
            problems.report(ProblemKind::BadValue, node.span, || {
                let examples = measure.examples();
                let key = measure.key();
                let message = format!("{} is not accepted: a number such as {examples} is expected", quoted(text));
                (message, format!("without a unit it counts in the {key} of the object or of the network"))
            });
        }
        value
    }

    /// Parses a number of a text, whose errors the caller reports.
    pub(super) fn number(&self, measure: Measure, text: &str) -> Option<Rational> {
        let unit = split(text).map_or("", |(_, unit)| unit);
        if measure.ambiguous(unit).is_some() { None } else { self.value(measure, text) }
    }

    fn value(&self, measure: Measure, text: &str) -> Option<Rational> {
        let (number, unit) = split(text)?;
        let worth = match (unit, measure) {
            ("", Measure::Time) => self.time.clone(),
            ("", Measure::Data) => self.data.clone(),
            ("", Measure::Rate) => self.rate.clone(),
            (unit, _) => measure.worth(unit)?,
        };
        Some(number * worth)
    }
}

/// `1.5e-3ms` as a number and a unit.
fn split(text: &str) -> Option<(Rational, &str)> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (mantissa, rest) = text.split_at(digits_end);
    let (whole_part, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole_part, fraction].concat();
    if digits.is_empty() || digits.len() > MAX_DIGITS || fraction.contains('.') {
        return None;
    }
    let (exponent, unit) = exponent(rest)?;
    let number = Rational::from_integer(digits.parse().ok()?);
    Some((number * ten_to(exponent - fraction.len() as i32), unit.trim_start()))
}

/// `e-3ms` as -3 and `ms`. No unit begins with an e before a digit or a sign.
fn exponent(rest: &str) -> Option<(i32, &str)> {
    let Some(tail) = rest.strip_prefix(['e', 'E']) else { return Some((0, rest)) };
    let unsigned = tail.strip_prefix(['+', '-']).unwrap_or(tail);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    if digits == 0 {
        return Some((0, rest));
    }
    let end = tail.len() - unsigned.len() + digits;
    let exponent: i32 = tail[..end].parse().ok()?;
    (exponent.abs() <= LARGEST_EXPONENT).then_some((exponent, &tail[end..]))
}

fn ten_to(power: i32) -> Rational {
    num_traits::pow::Pow::pow(whole(10), power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(measure: Measure, text: &str) -> Option<Rational> {
        Units::basic().value(measure, text)
    }

    #[test]
    fn units_follow_saihu_and_numbers_are_exact() {
        for (measure, text, expected) in [
            (Measure::Time, "10us", whole(10_000)),
            (Measure::Time, "1m", whole(60_000_000_000)),
            (Measure::Time, "0.1ns", whole(1) / whole(10)),
            (Measure::Time, "1e-3", whole(1_000_000)),
            (Measure::Time, "1e-2 ms", whole(10_000)),
            (Measure::Data, "2kB", whole(16_000_000_000_000)),
            (Measure::Data, "3", whole(3_000_000_000)),
            (Measure::Rate, "4Mbps", whole(4_000_000)),
            (Measure::Rate, "1.5kBpm", whole(200)),
            (Measure::Rate, "1Ebps", whole(1_000_000_000_000_000_000)),
        ] {
            assert_eq!(value(measure, text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_number_with_an_unknown_unit_is_refused() {
        let long = "1".repeat(41);
        for text in ["", "us", "1.2.3s", "-1s", "1 x", "1Mb", "1e99s", ".", "1e-", "ms", "\u{0661}s", &long] {
            assert_eq!(value(Measure::Time, text), None, "{text}");
        }
    }
}
