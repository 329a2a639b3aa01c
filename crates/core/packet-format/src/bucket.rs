//! The token bucket of Chameleon (CoNEXT 2020), section 4.2.3, in nanobits: exact, and the same as the eBPF program's.

use wayleave_units::{Bytes, Rate, Time};

const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// A token bucket. A packet passes if there are tokens for all its bytes; otherwise it is dropped and costs nothing.
///
/// Deviation from section 4.2.4: a change of rate or burst does not fill the bucket. It keeps its level, limited by
/// the new burst; so a contract that is changed often cannot send a burst each time.
///
/// ```
/// use wayleave_units::{Bytes, Rate, Time};
/// use wayleave_packet_format::TokenBucket;
/// let mut bucket = TokenBucket::full(Rate::from_mbit(8), Bytes::new(1000), Time::ZERO).ok_or("burst too large")?;
/// assert!(bucket.take(Time::ZERO, Bytes::new(1000)));
/// assert!(!bucket.take(Time::from_micros(99), Bytes::new(100)));
/// assert!(bucket.take(Time::from_micros(100), Bytes::new(100)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: u64,
    burst: u64,
    fill_ns: u64,
    tokens: u64,
    last: u64,
}

impl TokenBucket {
    /// The largest burst: levels below it can be added to a refill without overflow.
    pub const MAX: Bytes = Bytes::new((1 << 63) / NANOBITS_PER_BYTE);

    /// A full bucket; `None` for a burst above [`Self::MAX`].
    pub fn full(rate: Rate, burst: Bytes, now: Time) -> Option<Self> {
        let mut bucket = Self { rate: 0, burst: 0, fill_ns: 0, tokens: 0, last: now.as_nanos() };
        bucket.change(rate, burst)?;
        bucket.tokens = bucket.burst;
        Some(bucket)
    }

    /// Another rate and burst; the level stays, as far as the burst allows. `None`, and no change, for a burst above [`Self::MAX`].
    pub fn change(&mut self, rate: Rate, burst: Bytes) -> Option<()> {
        self.burst = Some(burst).filter(|&burst| burst <= Self::MAX)?.get() * NANOBITS_PER_BYTE;
        self.rate = rate.bits_per_second();
        self.fill_ns = if self.rate == 0 { u64::MAX } else { self.burst.div_ceil(self.rate) };
        Some(())
    }

    /// Takes tokens for `bytes`, if there are enough.
    pub fn take(&mut self, now: Time, bytes: Bytes) -> bool {
        let now = now.as_nanos();
        if now > self.last {
            let elapsed = now - self.last;
            // Before it is full the product is less than a burst.
            self.tokens = if elapsed >= self.fill_ns { self.burst } else { self.tokens + elapsed * self.rate };
            self.last = now;
        }
        self.tokens = self.tokens.min(self.burst);
        let Some(cost) = bytes.get().checked_mul(NANOBITS_PER_BYTE) else { return false };
        match self.tokens.checked_sub(cost) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }

    /// Tokens that were left after the last packet, in nanobits.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the time of the last fill.
    pub const fn last(&self) -> Time {
        Time::from_nanos(self.last)
    }

    /// Its size in nanobits.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// Returns the time that an empty bucket takes to be full, in ns rounded up; never, without a rate.
    pub const fn fill_ns(&self) -> u64 {
        self.fill_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The definition of a token bucket: between any two moments no more than burst + rate x time.
        #[test]
        fn no_interval_exceeds_burst_and_rate(
            rate in 0u64..2_000_000_000, burst in 1u64..200_000,
            packets in prop::collection::vec((0u64..3_000_000, 1u64..3000), 1..60),
        ) {
            let mut bucket = TokenBucket::full(Rate::from_bits_per_second(rate), Bytes::new(burst), Time::ZERO).unwrap();
            let (mut now, mut sent) = (0, alloc::vec::Vec::new());
            for (pause, bytes) in packets {
                now += pause;
                if bucket.take(Time::from_nanos(now), Bytes::new(bytes)) {
                    sent.push((now, bytes));
                }
            }
            for first in 0..sent.len() {
                let mut sum = 0;
                for &(at, bytes) in &sent[first..] {
                    sum += u128::from(bytes) * 8_000_000_000;
                    let allowed = u128::from(burst) * 8_000_000_000 + u128::from(rate) * u128::from(at - sent[first].0);
                    prop_assert!(sum <= allowed);
                }
            }
        }
    }

    #[test]
    fn a_change_never_adds_tokens() {
        let mut bucket = TokenBucket::full(Rate::from_mbit(8), Bytes::new(1000), Time::ZERO).unwrap();
        assert!(bucket.take(Time::ZERO, Bytes::new(900)));
        bucket.change(Rate::from_mbit(8), Bytes::new(5000)).unwrap();
        assert!(!bucket.take(Time::ZERO, Bytes::new(101)));
        bucket.change(Rate::from_mbit(8), Bytes::new(50)).unwrap();
        assert!(!bucket.take(Time::ZERO, Bytes::new(51)));
        assert!(bucket.take(Time::ZERO, Bytes::new(50)));
    }

    #[test]
    fn extremes_neither_overflow_nor_refill() {
        assert_eq!(TokenBucket::full(Rate::ZERO, Bytes::new(TokenBucket::MAX.get() + 1), Time::ZERO), None);
        let mut bucket = TokenBucket::full(Rate::MAX, TokenBucket::MAX, Time::ZERO).unwrap();
        assert!(bucket.take(Time::ZERO, TokenBucket::MAX));
        assert!(bucket.take(Time::MAX, TokenBucket::MAX));
        assert!(!bucket.take(Time::ZERO, Bytes::new(1)), "a clock that goes back fills nothing");
        let mut none = TokenBucket::full(Rate::ZERO, Bytes::new(100), Time::ZERO).unwrap();
        assert!(none.take(Time::ZERO, Bytes::new(100)) && !none.take(Time::from_millis(1_000_000_000), Bytes::new(1)));
    }
}
