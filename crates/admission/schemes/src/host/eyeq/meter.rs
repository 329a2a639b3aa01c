//! The rate meter: one rate R for all senders of a class, so that what arrives becomes the class's capacity C.

use wayleave_scheme_api::Arrivals;
use wayleave_units::{Bytes, Rate, Time};

use super::params::{Marks, MeterParams};

/// Factors are whole numbers of this part.
const SHIFT: u32 = 40;

/// A factor of 1.
const ONE: i128 = 1 << SHIFT;

/// A rate meter (Parley, 3.2.1). It counts bytes, and never senders.
///
/// R follows the control equation in integers. Every division rounds so that R comes out lower: the utilisation y up,
/// the growth down, the marked part up, the product down. So R is constant within 2 bit/s where `y = C`.
///
/// ```
/// use wayleave_scheme_api::Arrivals;
/// use wayleave_schemes::host::eyeq::{MeterParams, RateMeter};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let mut meter = RateMeter::new(Rate::from_gbit(9), MeterParams::default());
/// // Two senders at 9 Gbit/s each, no marks: y = 2 C, so R becomes half of what it was.
/// meter.count(Arrivals { bytes: Bytes::new(450_000), ..Arrivals::default() });
/// assert_eq!(meter.finish(Time::from_micros(200)), Rate::from_gbit(18));
/// assert_eq!(meter.rate(), Rate::from_mbit(4_500));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateMeter {
    params: MeterParams,
    capacity: Rate,
    rate: Rate,
    bytes: u64,
    marked: u64,
    /// Smoothed fraction of arriving bytes that are marked, in units of [`ONE`].
    beta: i128,
}

impl RateMeter {
    /// With nothing received, so that each sender may use all of the capacity.
    pub fn new(capacity: Rate, params: MeterParams) -> Self {
        let mut meter = Self { params, capacity, rate: capacity, bytes: 0, marked: 0, beta: 0 };
        meter.reset(capacity);
        meter
    }

    /// Forgets everything: the class has been idle.
    pub fn reset(&mut self, capacity: Rate) {
        let rate = capacity.max(self.params.floor);
        *self = Self { capacity, rate, bytes: 0, marked: 0, beta: 0, params: self.params };
    }

    /// R: what a sender of weight 1 may send.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// C: what all of them may send together.
    pub const fn capacity(&self) -> Rate {
        self.capacity
    }

    /// Another capacity from now on. R is never above it.
    pub fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity;
        self.rate = self.rate.min(self.ceiling());
    }

    /// Something arrives.
    #[inline]
    pub fn count(&mut self, arrivals: Arrivals) {
        self.bytes = self.bytes.saturating_add(arrivals.bytes.get());
        self.marked = self.marked.saturating_add(arrivals.marked.min(arrivals.bytes).get());
    }

    /// Returns the bytes counted in this interval.
    pub const fn counted(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// The end of an interval: R follows what arrived in it. Returns y.
    pub fn finish(&mut self, elapsed: Time) -> Rate {
        let used = utilisation(self.bytes, elapsed);
        self.smooth();
        let factor = match self.params.marks {
            Marks::Printed => (self.growth(used) - self.marks()).max(ONE / 2),
            Marks::Released => self.growth(self.with_marks(elapsed)).max(0),
        };
        // Below 2^64 times 2^41.
        let rate = (i128::from(self.rate.bits_per_second()) * factor) >> SHIFT;
        let rate = Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX));
        self.rate = rate.clamp(self.params.floor, self.ceiling());
        (self.bytes, self.marked) = (0, 0);
        used
    }

    /// Moves beta towards the marked fraction of this interval, rounded up. An interval without arrivals is ignored.
    fn smooth(&mut self) {
        if self.bytes > 0 {
            let all = i128::from(self.bytes);
            let fraction = -(-(i128::from(self.marked) << SHIFT)).div_euclid(all);
            self.beta += ceil_shift(fraction - self.beta, self.params.smoothing);
        }
    }

    /// `1 - alpha (y - C) / C`, rounded down.
    fn growth(&self, used: Rate) -> i128 {
        let capacity = i128::from(self.capacity.bits_per_second().max(1));
        let spare = capacity - i128::from(used.bits_per_second());
        ONE + ((spare * i128::from(self.params.alpha_percent)) << SHIFT).div_euclid(capacity * 100)
    }

    /// `1_marked beta / 2`, rounded up.
    const fn marks(&self) -> i128 {
        if self.marked > 0 { ceil_shift(self.beta, 1) } else { 0 }
    }

    /// y, as the released program has it: with K (1 + beta) more in an interval with marks, and at most 3 C.
    fn with_marks(&self, elapsed: Time) -> Rate {
        let all = u128::from(self.bytes.max(1));
        let more = (u128::from(self.params.mark_bytes.get()) * (all + u128::from(self.marked))).div_ceil(all);
        let more = if self.marked > 0 { u64::try_from(more).unwrap_or(u64::MAX) } else { 0 };
        let most = Rate::from_bits_per_second(self.capacity.bits_per_second().saturating_mul(3));
        utilisation(self.bytes.saturating_add(more), elapsed).min(most)
    }

    fn ceiling(&self) -> Rate {
        self.capacity.max(self.params.floor)
    }
}

/// Divided by a power of two, rounded up.
const fn ceil_shift(value: i128, by: u8) -> i128 {
    -(-value >> if by < 63 { by } else { 63 })
}

/// Returns the arrivals in a time as a rate, rounded up; at most [`Rate::MAX`].
pub(super) fn utilisation(bytes: u64, elapsed: Time) -> Rate {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let rate = bits.div_ceil(u128::from(elapsed.as_nanos().max(1)));
    u64::try_from(rate).map_or(Rate::MAX, |rate| Rate::from_bits_per_second(rate).min(Rate::MAX))
}
