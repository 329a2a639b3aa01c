//! The test in constant time, for ports whose inputs are all at least as fast as the port.
//!
//! Before the last knee of a queue's arrival curve some input still sends at its line rate, which is at least the
//! port's; so both deviations grow until that knee `tau`, and behind it the curve is the plain token bucket
//! `(burst, rate)`. For the same reason the service left over is zero until the last knee above has passed, and one
//! line behind it: the prefix sums of rates and bursts. (Derivation: docs/theory/admission.md.)

use std::cmp::Ordering;

use crate::model::Comparison;

/// A time as an exact fraction: `nanobits / rate` ns; the denominator is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KneeTime {
    pub(crate) num: i128,
    pub(crate) den: i128,
}

impl KneeTime {
    /// At once.
    pub(crate) const ZERO: Self = Self { num: 0, den: 1 };

    /// Time at which an input of `rate` and `burst` stops being bounded by its line: `(burst - frame) / (line -
    /// rate)`. `None` if that never happens.
    pub(crate) fn of_input(rate: i128, burst: i128, line: i128, frame: i128) -> Option<Self> {
        match (burst > frame, line > rate) {
            (false, _) => Some(Self::ZERO),
            (true, true) => Some(Self { num: burst - frame, den: line - rate }),
            (true, false) => None,
        }
    }

    /// The later of two; of two equal ones that with the smaller denominator, so that no order of additions shows.
    pub(crate) fn max(self, other: Self) -> Self {
        match (self.num * other.den).cmp(&(other.num * self.den)) {
            Ordering::Greater => self,
            Ordering::Less => other,
            Ordering::Equal if self.den <= other.den => self,
            Ordering::Equal => other,
        }
    }
}

/// One queue's traffic behind its last knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Sum of rates, bit/s.
    pub(crate) rate: i128,
    /// Sum of bursts, nanobits.
    pub(crate) burst: i128,
    /// Time at which the last input has left its line.
    pub(crate) knee: KneeTime,
}

/// The service that a queue gets: `max(0, rate t - debt)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// bit/s.
    pub(crate) rate: i128,
    /// nanobits.
    pub(crate) debt: i128,
}

impl Service {
    /// Service of the next lower queue.
    pub(crate) fn below(self, load: &Load) -> Self {
        Self { rate: self.rate - load.rate, debt: self.debt + load.burst }
    }
}

/// The additional flow that a queue surely tolerates. It is computed when the ledger changes, so that most checks are
/// one product over 32 bytes per queue. Everything is rounded so that "surely" is true; the exact kernel decides the
/// rest.
///
/// With `tau` the last knee and `slack = service budget - debt - burst + (service - rate) tau`:
/// - a flow `(rate, burst)` that enters a HIGHER queue takes rate and adds debt, and the delay stays within the
///   budget iff `burst + rate (budget + tau) <= slack`;
/// - one that enters THIS queue adds to its load and can only move the knee to later, which lowers the delay, so
///   `burst + rate tau <= slack` is enough;
/// - the backlog never exceeds burst and debt together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tolerance {
    /// nanobits, rounded down, at most `i64::MAX`.
    slack: i64,
    /// `buffer - debt - burst`, at most `i64::MAX`.
    room: i64,
    /// ns, rounded up.
    tau: u64,
    /// `budget + tau`, or [`Self::IDLE`] for a queue without flows, which has promised nothing.
    stretch: u64,
}

impl Tolerance {
    const IDLE: u64 = u64::MAX;

    /// Of a queue with this load and service.
    pub(crate) fn of(load: &Load, service: Service, budget: i128, buffer: i128, flows: u32) -> Self {
        let (earlier, later) = whole_ns(load.knee);
        let rest = service.rate * budget - service.debt - load.burst;
        let slack = rest + (service.rate - load.rate).max(0) * i128::from(earlier);
        Self {
            slack: saturated(slack),
            room: saturated(buffer - service.debt - load.burst),
            tau: later,
            stretch: if flows == 0 { Self::IDLE } else { later.saturating_add(budget as u64).min(Self::IDLE - 1) },
        }
    }

    /// nanobits, at most `i64::MAX`: for callers that only read it.
    pub(crate) fn margin(&self) -> i64 {
        self.room
    }

    /// `true` if a flow that enters a higher queue surely leaves this one its promises; `false` leaves the question
    /// open.
    pub(crate) fn certainly_above(&self, rate: u64, burst: i64) -> bool {
        self.stretch == Self::IDLE || self.admits(rate, burst, self.stretch)
    }

    /// `true` if a flow surely fits into this queue; `false` leaves the question open.
    pub(crate) fn certainly_within(&self, rate: u64, burst: i64) -> bool {
        self.admits(rate, burst, self.tau)
    }

    /// Strictly below, so that it holds for both comparisons.
    fn admits(&self, rate: u64, burst: i64, time: u64) -> bool {
        let left = i128::from(self.slack) - i128::from(burst);
        burst < self.room && i128::from(rate) * i128::from(time) < left
    }
}

/// Whole ns below and above a knee. Floating point is off by a few parts in 2^53; a part in 2^40 is taken off and added.
fn whole_ns(knee: KneeTime) -> (u64, u64) {
    if knee.num == 0 {
        return (0, 0);
    }
    let tau = float(knee.num) / float(knee.den);
    let margin = tau * 1e-12 + 1.0;
    ((tau - margin).max(0.0) as u64, (tau + margin).ceil() as u64)
}

/// The nearest number. It is converted from 64 bits where these are enough, which takes a tenth of the time.
pub(crate) fn float(whole: i128) -> f64 {
    let low = whole as i64;
    if i128::from(low) == whole { low as f64 } else { float_of_many_bits(whole) }
}

/// A separate function, because the compiler would otherwise merge the two conversions.
#[cold]
#[inline(never)]
fn float_of_many_bits(whole: i128) -> f64 {
    whole as f64
}

fn saturated(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Returns `true` if a queue with this load keeps `budget` (ns) and `buffer` (nanobits) under this service.
pub(crate) fn keeps(load: &Load, service: Service, budget: i128, buffer: i128, comparison: Comparison) -> bool {
    // Short of a stable queue nothing holds.
    load.rate <= service.rate
        && delay_holds(load, service, budget, comparison)
        && backlog_holds(load, service, buffer, comparison)
}

/// `(debt + burst + rate tau) / service - tau <= budget`, multiplied out.
pub(crate) fn delay_holds(load: &Load, service: Service, budget: i128, comparison: Comparison) -> bool {
    let KneeTime { num, den } = load.knee;
    let over = service.debt + load.burst - service.rate * budget;
    comparison.holds(over * den, (service.rate - load.rate) * num)
}

/// `burst + rate m - max(0, service m - debt) <= buffer` at the later of knee and latency, multiplied out.
fn backlog_holds(load: &Load, service: Service, buffer: i128, comparison: Comparison) -> bool {
    let KneeTime { num, den } = load.knee;
    if num * service.rate >= service.debt * den {
        let over = load.burst + service.debt - buffer;
        comparison.holds(over * den, (service.rate - load.rate) * num)
    } else {
        comparison.holds(load.rate * service.debt, (buffer - load.burst) * service.rate)
    }
}

/// The delay bound in ns, rounded up; `None` if there is none.
pub(crate) fn delay_bound(load: &Load, service: Service) -> Option<i128> {
    let KneeTime { num, den } = load.knee;
    let late = (service.debt + load.burst) * den - (service.rate - load.rate) * num;
    (load.rate <= service.rate && service.rate > 0).then(|| rounded_up(late, service.rate * den))
}

/// The backlog bound in nanobits, rounded up; `None` if there is none.
pub(crate) fn backlog_bound(load: &Load, service: Service) -> Option<i128> {
    let KneeTime { num, den } = load.knee;
    if load.rate > service.rate || service.rate <= 0 {
        return None;
    }
    Some(if num * service.rate >= service.debt * den {
        rounded_up((load.burst + service.debt) * den - (service.rate - load.rate) * num, den)
    } else {
        load.burst + rounded_up(load.rate * service.debt, service.rate)
    })
}

fn rounded_up(num: i128, den: i128) -> i128 {
    -(-num).div_euclid(den)
}
