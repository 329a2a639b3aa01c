//! Limits of waiting for tokens: the time that packets of a contract wait on their host, and their number.

use wayleave_units::{Bytes, Rate, Time};

/// Default maximum time that packets of a contract wait for tokens: the usual buffer of routers for TCP.
pub const LONGEST_WAIT: Time = Time::from_millis(100);
/// Minimum number of frames that may wait, for any rate: the first window of TCP (RFC 6928) and some more.
const MIN_FRAMES: u64 = 16;
/// Inverse of the fraction by which the pacing rate is below the contract's rate. HTB rounds the time of each packet
/// down to a nanosecond. With the contract's rate it would be one packet ahead of the bucket after some ten thousand
/// packets, and other packets would then overtake that packet.
const SLOWER: u64 = 10_000;

/// Maximum amount of a contract that may wait, and maximum time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit {
    /// Wire bytes.
    pub limit: Bytes,
    /// No packet waits longer.
    pub longest: Time,
}

impl QueueLimit {
    /// Returns the limits of a contract with this rate whose largest frame takes `largest` bytes on the wire: the
    /// amount that the rate sends in `wait`, but never less than the first window of TCP.
    pub fn of(rate: Rate, largest: Bytes, wait: Time) -> Self {
        let in_time = u128::from(rate.bits_per_second()) * u128::from(wait.as_nanos()) / 8_000_000_000;
        let limit = u64::try_from(in_time).unwrap_or(u64::MAX).max(MIN_FRAMES * largest.get()).min(u64::from(u32::MAX));
        // The first that waits may find a class that is one frame behind its bucket.
        let bits = u128::from(limit + largest.get()) * 8_000_000_000;
        let slowed = u128::from(paced(rate)) * 8;
        let longest = Time::from_nanos(u64::try_from(bits.div_ceil(slowed)).unwrap_or(u64::MAX));
        Self { limit: Bytes::new(limit), longest }
    }
}

/// The rate of a class, in bytes a second.
pub fn paced(rate: Rate) -> u64 {
    let bytes = rate.bits_per_second() / 8;
    (bytes - bytes / SLOWER).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_limit_is_the_rate_times_the_delay_but_at_least_a_window() {
        let largest = Bytes::new(1538);
        let fast = QueueLimit::of(Rate::from_mbit(300), largest, Time::from_millis(100));
        assert_eq!(fast.limit, Bytes::new(3_750_000));
        assert!(fast.longest > Time::from_millis(100) && fast.longest < Time::from_millis(101), "{:?}", fast.longest);
        let slow = QueueLimit::of(Rate::from_bits_per_second(10_000), largest, Time::from_millis(100));
        assert_eq!(slow.limit, Bytes::new(16 * 1538));
        // 17 frames at 10 kbit/s.
        assert!(
            slow.longest > Time::from_millis(20_000) && slow.longest < Time::from_millis(22_000),
            "{:?}",
            slow.longest
        );
    }
}
