//! The buckets of a [`Histogram`](super::Histogram): sixteen of equal width in every octave.
//!
//! The layout is that of HdrHistogram (G. Tene, <http://hdrhistogram.org>): values below 16 have a bucket each; above,
//! the leading one and the four bits behind it choose the bucket, and the bits behind those are forgotten.

/// Bits of a value that choose a bucket within its octave.
const PRECISION_BITS: u32 = 4;

/// Buckets in an octave: a bucket is at most 1/16 of its lowest value wide.
pub(super) const BUCKETS_PER_OCTAVE: usize = 1 << PRECISION_BITS;

/// The bucket of a value; below 976 for every `u64`.
#[inline]
pub(super) const fn bucket_of(value: u64) -> usize {
    // Values below 16 count as octave 4, so that they are not shifted.
    let shift = (value | 1 << PRECISION_BITS).ilog2() - PRECISION_BITS;
    shift as usize * BUCKETS_PER_OCTAVE + (value >> shift) as usize
}

/// The lowest and the highest value of a bucket.
pub(super) const fn range_of(bucket: usize) -> (u64, u64) {
    let shift = (bucket / BUCKETS_PER_OCTAVE).saturating_sub(1);
    let leading = (bucket - shift * BUCKETS_PER_OCTAVE) as u64;
    let low = leading << shift;
    (low, low | ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_up_to_the_last_value() {
        let mut next = 0;
        for bucket in 0..=bucket_of(u64::MAX) {
            let (low, high) = range_of(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
            next = high.wrapping_add(1);
        }
        assert_eq!((bucket_of(u64::MAX), next), (975, 0));
    }

    #[test]
    fn a_bucket_is_narrower_than_a_sixteenth_of_its_lowest_value() {
        for bucket in 1..=bucket_of(u64::MAX) {
            let (low, high) = range_of(bucket);
            assert!((high - low) < low.div_ceil(16), "bucket {bucket}: {low} to {high}");
        }
    }

    #[test]
    fn values_below_32_have_a_bucket_each() {
        for value in 0..32 {
            assert_eq!(range_of(bucket_of(value)), (value, value));
        }
    }
}
