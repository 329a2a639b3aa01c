//! Rate allocation: a pair's rate above its guarantee, by congestion.

use wayleave_units::{Rate, Time};

use super::params::Params;

/// The rate of one pair. It is never below the guarantee; above it, it follows CUBIC's curve in units of the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateAllocation {
    rate: Rate,
    /// The rate at which it last met congestion.
    peak: Rate,
    /// The rate from which the curve began.
    base: Rate,
    /// Start of the curve: after the hold.
    since: Time,
    /// Congestion reports before this time may concern packets sent at the rate before.
    deaf_until: Time,
}

/// Entitlement of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entitlement {
    pub(super) guarantee: Rate,
    /// The guarantee, or its substitute.
    pub(super) weight: Rate,
    pub(super) line: Rate,
}

impl RateAllocation {
    /// A pair begins with its guarantee.
    pub(super) fn new(now: Time, rate: Rate) -> Self {
        Self { rate, peak: rate, base: rate, since: now, deaf_until: now }
    }

    pub(super) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Keeps the rate at or above the guarantee during congestion.
    pub(super) fn guarantee(&mut self, guarantee: Rate) {
        self.rate = self.rate.max(guarantee);
    }

    /// Congestion: a part of the rate is given up, and the curve begins after the hold.
    pub(super) fn reduce(&mut self, now: Time, entitled: Entitlement, params: &Params) {
        if now < self.deaf_until {
            return;
        }
        let keep = 100 - u64::from(params.decrease_percent.min(100));
        let reduced = Rate::from_bits_per_second(self.rate.bits_per_second() * keep / 100);
        self.peak = self.rate;
        self.rate = reduced.max(entitled.guarantee);
        self.base = self.rate;
        self.since = now + hold(entitled, params);
        // The next word comes one period later, and is of that period.
        self.deaf_until = now + Time::from_nanos(params.rate_period.as_nanos() / 2 * 3);
    }

    /// A period without congestion, in which the pair used its rate.
    pub(super) fn grow(&mut self, now: Time, elapsed: Time, entitled: Entitlement, params: &Params) {
        let Some(age) = now.checked_sub(self.since) else { return };
        let weight = i128::from(entitled.weight.bits_per_second().max(1));
        let inflection = inflection(self.peak.saturating_sub(self.base), weight, params.growth);
        let cube = |time: Time| (micros(time) - inflection).pow(3);
        let begun = age.saturating_sub(elapsed);
        let risen = i128::from(params.growth.min(MAX_GROWTH)) * weight * (cube(age) - cube(begun)) / CUBIC_MICROS;
        // The further above its guarantee, the more careful.
        let cautious = risen * weight / i128::from(self.rate.max(entitled.weight).bits_per_second().max(1));
        let rate = self.rate.bits_per_second().saturating_add(u64::try_from(cautious).unwrap_or(0));
        self.rate = Rate::from_bits_per_second(rate).min(entitled.line).max(entitled.guarantee);
    }
}

/// A cubic second in cubic microseconds.
const CUBIC_MICROS: i128 = 1_000_000_000_000_000_000;

/// The end of the curve, 5 s: with [`MAX_GROWTH`] and rates up to 10 Tbit/s every product is below 2^127.
const END: i128 = 5_000_000;

/// The largest factor of the curve.
const MAX_GROWTH: u64 = 10_000;

/// A time on the curve, in microseconds.
fn micros(time: Time) -> i128 {
    i128::from(time.as_nanos() / 1_000).min(END)
}

/// Returns the time at which the curve is back at the peak: the cube root of `deficit / (growth * weight)`, in
/// microseconds.
fn inflection(deficit: Rate, weight: i128, growth: u64) -> i128 {
    let cube =
        i128::from(deficit.bits_per_second()) * CUBIC_MICROS / (i128::from(growth.clamp(1, MAX_GROWTH)) * weight);
    let (mut low, mut high) = (0, END);
    while low < high {
        let middle = (low + high + 1) / 2;
        if middle.pow(3) <= cube { low = middle } else { high = middle - 1 }
    }
    low
}

/// Returns the time for which a pair does not grow.
fn hold(entitled: Entitlement, params: &Params) -> Time {
    let hold = u128::from(params.min_hold.as_nanos()) * u128::from(entitled.line.bits_per_second());
    let hold = hold / u128::from(entitled.weight.bits_per_second().max(1));
    u64::try_from(hold).map_or(params.max_hold, |nanos| Time::from_nanos(nanos).min(params.max_hold))
}
