//! Token buckets in exact integers: tokens are bits times 10^-12, so that a whole number of them comes in every
//! picosecond.

use wayleave_scheme_api::{Bucket, ExcessAction};

use crate::clock::{Instant, NEVER, PS_PER_SECOND};

/// A token bucket in wire bytes ([`Bucket`]), with its tokens.
///
/// ```
/// use wayleave_scheme_api::{Bucket, ExcessAction};
/// use wayleave_stack::ShaperBucket;
/// use wayleave_units::{Bytes, Rate};
///
/// // 8 Gbit/s: a byte a nanosecond. The burst is there at once, the next 1,000 B take 1 us.
/// let bucket = Bucket { rate: Rate::from_gbit(8), burst: Bytes::new(1_538), excess: ExcessAction::Waits };
/// let mut tokens = ShaperBucket::new(bucket, 1_538, 0);
/// assert_eq!(tokens.ready_at(1_538, 0), 0);
/// tokens.take(1_538, 0);
/// assert_eq!(tokens.ready_at(1_000, 0), 1_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct ShaperBucket {
    /// In bit/s, which are tokens per ps.
    rate: u64,
    /// The most tokens that it holds.
    depth: u128,
    tokens: u128,
    /// Since when tokens have not been added.
    at: Instant,
    excess: ExcessAction,
}

/// Bytes in tokens.
fn tokens(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(PS_PER_SECOND)
}

impl ShaperBucket {
    /// A full one. A burst below one frame would let nothing through, so it holds at least `frame` bytes in the end.
    pub fn new(bucket: Bucket, frame: u32, now: Instant) -> Self {
        let depth = tokens(bucket.burst.get().max(u64::from(frame)));
        Self {
            rate: bucket.rate.bits_per_second(),
            depth,
            tokens: tokens(bucket.burst.get()),
            at: now,
            excess: bucket.excess,
        }
    }

    /// It gets another rate and another depth, and keeps its tokens, up to this.
    pub fn replace(&mut self, bucket: Bucket, frame: u32, now: Instant) {
        self.refill(now);
        self.excess = bucket.excess;
        self.rate = bucket.rate.bits_per_second();
        self.depth = tokens(bucket.burst.get().max(u64::from(frame)));
        self.tokens = self.tokens.min(self.depth);
    }

    /// Returns the treatment of a packet that finds too few tokens.
    pub fn excess(&self) -> ExcessAction {
        self.excess
    }

    fn refill(&mut self, now: Instant) {
        let come = u128::from(now - self.at) * u128::from(self.rate);
        self.tokens = (self.tokens + come).min(self.depth);
        self.at = now;
    }

    /// Returns the time at which there are tokens for `bytes` bytes: now, or later, or [`NEVER`].
    pub fn ready_at(&mut self, bytes: u32, now: Instant) -> Instant {
        self.refill(now);
        let lacks = tokens(u64::from(bytes)).min(self.depth).saturating_sub(self.tokens);
        match lacks {
            0 => now,
            _ if self.rate == 0 => NEVER,
            _ => u64::try_from(lacks.div_ceil(u128::from(self.rate))).map_or(NEVER, |wait| now.saturating_add(wait)),
        }
    }

    /// Takes the tokens of `bytes` bytes, which must be available.
    pub fn take(&mut self, bytes: u32, now: Instant) {
        self.refill(now);
        self.tokens = self.tokens.saturating_sub(tokens(u64::from(bytes)));
    }

    /// Puts tokens back that were taken and not used.
    pub fn put_back(&mut self, bytes: u32) {
        self.tokens = (self.tokens + tokens(u64::from(bytes))).min(self.depth);
    }
}

#[cfg(test)]
mod tests {
    use wayleave_units::{Bytes, Rate};

    use super::*;

    fn bucket(rate: Rate, burst: u64) -> Bucket {
        Bucket { rate, burst: Bytes::new(burst), excess: ExcessAction::Waits }
    }

    /// 7 bit/s: a byte takes 8/7 s, and nothing is lost over a thousand bytes. Two bytes are available at first.
    #[test]
    fn a_rate_without_integral_intervals_is_exact_to_the_picosecond() {
        let mut tokens = ShaperBucket::new(bucket(Rate::from_bits_per_second(7), 2), 1, 0);
        let mut now = 0;
        for sent in 0..1_000_u64 {
            now = tokens.ready_at(1, now);
            assert_eq!(now, (sent.saturating_sub(1) * 8 * PS_PER_SECOND).div_ceil(7));
            tokens.take(1, now);
        }
    }

    #[test]
    fn a_new_bucket_is_full_and_a_replaced_one_keeps_its_tokens() {
        let mut tokens = ShaperBucket::new(bucket(Rate::from_gbit(8), 3_000), 1_000, 0);
        tokens.take(2_500, 0);
        // 500 B are left: 500 more take 500 ns at 8 Gbit/s, and 1 us at half that rate.
        assert_eq!(tokens.ready_at(1_000, 0), 500_000);
        tokens.replace(bucket(Rate::from_gbit(4), 3_000), 1_000, 0);
        assert_eq!(tokens.ready_at(1_000, 0), 1_000_000);
        tokens.replace(bucket(Rate::from_gbit(4), 1_000), 1_000, 1_000_000_000);
        assert_eq!(tokens.ready_at(1_000, 1_000_000_000), 1_000_000_000, "as many as the new depth");
        tokens.take(1_000, 1_000_000_000);
        assert_eq!(tokens.ready_at(1_000, 1_000_000_000), 1_002_000_000, "and no more");
    }

    #[test]
    fn a_burst_below_a_frame_passes_a_frame_once_it_is_earned() {
        let mut tokens = ShaperBucket::new(bucket(Rate::from_gbit(8), 0), 1_538, 0);
        assert_eq!(tokens.ready_at(1_538, 0), 1_538_000);
        let mut closed = ShaperBucket::new(bucket(Rate::ZERO, 0), 1_538, 0);
        assert_eq!(closed.ready_at(1, PS_PER_SECOND), NEVER);
    }

    #[test]
    fn returned_tokens_never_overfill_a_bucket() {
        let mut tokens = ShaperBucket::new(bucket(Rate::from_gbit(8), 2_000), 1_000, 0);
        tokens.take(1_000, 0);
        tokens.put_back(1_500);
        tokens.take(2_000, 0);
        assert_eq!(tokens.ready_at(1_000, 0), 1_000_000);
    }
}
