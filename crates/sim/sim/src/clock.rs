//! The simulator's clock: whole picoseconds since the start of the run.
//!
//! A 64 B frame at 100 Gbit/s lasts 5.12 ns, so nanoseconds, in which policies and contracts count, are too coarse here.

use wayleave_units::{Rate, Time};

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

/// Picoseconds in a second.
pub(crate) const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point of simulated time, in ps.
pub(crate) type Instant = u64;

/// As the clock counts.
pub(crate) const fn from_time(time: Time) -> Instant {
    time.as_nanos().saturating_mul(PS_PER_NS)
}

/// As policies count, rounded down.
pub(crate) const fn to_time(instant: Instant) -> Time {
    Time::from_nanos(instant / PS_PER_NS)
}

/// Returns the transmission time of bytes at a rate, rounded up to whole ps.
pub(crate) fn transmission(bytes: u64, rate: Rate) -> Instant {
    let bits = u128::from(bytes) * 8;
    let time = (bits * u128::from(PS_PER_SECOND)).div_ceil(u128::from(rate.bits_per_second().max(1)));
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// Returns the number of whole bytes that leave in a time, at a rate.
pub(crate) fn transmitted(time: Instant, rate: Rate) -> u64 {
    let bits = u128::from(time) * u128::from(rate.bits_per_second()) / u128::from(PS_PER_SECOND);
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// Transmission times of bytes on one line: a multiplication if the rate allows it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LineSpeed {
    /// This many ps for each byte, exactly: every rate that divides 8 Tbit/s, such as 10 and 100 Gbit/s.
    PerByte(u32),
    /// Any other rate in bit/s.
    Rate(u64),
}

impl LineSpeed {
    pub(crate) fn new(rate: Rate) -> Self {
        let rate = rate.bits_per_second().max(1);
        let ps = 8 * PS_PER_SECOND / rate;
        match u32::try_from(ps) {
            Ok(ps) if u64::from(ps) * rate == 8 * PS_PER_SECOND => Self::PerByte(ps),
            _ => Self::Rate(rate),
        }
    }

    /// Rounded up to whole ps.
    #[inline]
    pub(crate) fn transmission(self, bytes: u32) -> Instant {
        match self {
            Self::PerByte(ps) => u64::from(bytes) * u64::from(ps),
            // 4 GB at 8e12 overflow; frames have at most 64 KiB.
            Self::Rate(rate) => (u64::from(bytes) * 8).saturating_mul(PS_PER_SECOND).div_ceil(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_frame_at_100_gbit_lasts_5_12_ns() {
        assert_eq!(LineSpeed::new(Rate::from_gbit(100)).transmission(64), 5_120);
        assert_eq!(transmission(64, Rate::from_gbit(100)), 5_120);
    }

    #[test]
    fn a_rate_without_whole_ps_per_byte_is_rounded_up_once_per_frame() {
        let speed = LineSpeed::new(Rate::from_gbit(3));
        assert!(matches!(speed, LineSpeed::Rate(_)));
        // 12,000 bits at 3 Gbit/s are 4 us exactly; 8 bits are 2,666.7 ps.
        assert_eq!(speed.transmission(1_500), 4_000_000);
        assert_eq!(speed.transmission(1), 2_667);
    }
}
