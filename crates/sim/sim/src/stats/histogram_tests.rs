//! A histogram against the sorted list of all values.

use super::{Histogram, HistogramBucket};
use proptest::collection::vec;
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// Values of every magnitude, many of them zero.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![1 => Just(0), 3 => (any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift)];
    vec(value, 0..200)
}

#[test]
fn a_histogram_is_one_cache_line_and_allocates_at_the_first_value_above_zero() {
    let mut histogram = of(&[0, 0]);
    assert_eq!(histogram.memory(), 64);
    histogram.record(1_000);
    assert_eq!(histogram.memory(), 64 + 16 * 8);
    // Within the octave of 1,000.
    histogram.record(512);
    assert_eq!(histogram.memory(), 64 + 16 * 8);
    // Two octaves above, which makes three with the one between.
    histogram.record(4_000);
    assert_eq!(histogram.memory(), 64 + 3 * 16 * 8);
}

#[test]
fn memory_is_bounded_for_any_values() {
    let all: Vec<u64> = (0..64).map(|shift| u64::MAX >> shift).collect();
    assert_eq!(of(&all).memory(), 64 + 976 * 8);
}

#[test]
fn the_sum_of_the_largest_values_does_not_overflow() {
    assert_eq!(of(&[u64::MAX; 3]).sum(), 3 * u128::from(u64::MAX));
}

#[test]
fn recording_many_is_recording_each() {
    let mut histogram = of(&[5, 0]);
    for (value, count) in [(0, 2), (5, 0), (1_000, 3), (1 << 40, 1), (0, 0)] {
        histogram.record_many(value, count);
    }
    assert_eq!(histogram, of(&[0, 0, 0, 5, 1_000, 1_000, 1_000, 1 << 40]));
}

#[test]
fn an_empty_histogram_has_no_percentile() {
    let empty = Histogram::new();
    assert_eq!((empty.min(), empty.max(), empty.mean(), empty.percentile(50.0)), (None, None, None, None));
    assert_eq!((empty.count(), empty.iter().count(), empty.cdf(10).len()), (0, 0, 0));
}

#[test]
fn a_rank_is_exact_where_floating_point_is_not() {
    // 99.9 / 100 is a little too large in binary: its 1,000-fold rounds up to 1,000.
    let mut histogram = of(&[1; 999]);
    histogram.record(1 << 30);
    assert_eq!(histogram.percentile(99.9), Some(1));
    assert_eq!(histogram.percentile(99.900_001), Some(1 << 30));
}

#[test]
fn percents_outside_their_range_are_clipped() {
    let histogram = of(&[3, 5]);
    assert_eq!(histogram.percentile(-1.0), Some(3));
    assert_eq!(histogram.percentile(1_000.0), Some(5));
    assert_eq!(histogram.percentile(f64::NAN), Some(3));
}

#[test]
fn buckets_are_listed_in_order_without_empty_ones() {
    let buckets: Vec<HistogramBucket> = of(&[33, 0, 1_000, 32, 0]).iter().collect();
    let bucket = |low, high, count| HistogramBucket { low, high, count };
    // 1,000 is in a bucket that ends at 1,023, but nothing above 1,000 was recorded.
    assert_eq!(buckets, [bucket(0, 0, 2), bucket(32, 33, 2), bucket(992, 1_000, 1)]);
}

proptest! {
    #[test]
    fn merging_is_recording_all_values(one in values(), other in values()) {
        let mut merged = of(&one);
        merged.merge(&of(&other));
        prop_assert_eq!(merged, of(&[one, other].concat()));
    }

    #[test]
    fn the_order_of_the_values_does_not_matter(mut list in values()) {
        let histogram = of(&list);
        list.reverse();
        prop_assert_eq!(&histogram, &of(&list));
        list.sort_unstable();
        prop_assert_eq!(histogram, of(&list));
    }

    #[test]
    fn count_sum_and_extremes_are_exact(list in values()) {
        let histogram = of(&list);
        prop_assert_eq!(histogram.count(), list.len() as u64);
        prop_assert_eq!(histogram.sum(), list.iter().map(|&value| u128::from(value)).sum::<u128>());
        prop_assert_eq!(histogram.min(), list.iter().copied().min());
        prop_assert_eq!(histogram.max(), list.iter().copied().max());
    }

    #[test]
    fn a_percentile_is_never_too_small_and_less_than_a_sixteenth_too_large(list in values(), percent in 0..=1_000u32) {
        prop_assume!(!list.is_empty());
        let mut sorted = list.clone();
        sorted.sort_unstable();
        let rank = (percent as usize * sorted.len()).div_ceil(1_000).max(1);
        let exact = sorted[rank - 1];
        let shown = of(&list).percentile(f64::from(percent) / 10.0).unwrap();
        prop_assert!(shown >= exact, "{shown} < {exact}");
        prop_assert!(u128::from(shown - exact) * 16 <= u128::from(exact), "{shown} is far above {exact}");
    }

    #[test]
    fn a_cdf_rises_to_one_and_never_overestimates(list in values(), most in 1..50usize) {
        prop_assume!(!list.is_empty());
        let points = of(&list).cdf(most);
        prop_assert!(points.len() <= most);
        prop_assert!(points.is_sorted_by(|a, b| a.value < b.value && a.fraction < b.fraction));
        for point in &points {
            let below = list.iter().filter(|&&value| value <= point.value).count();
            prop_assert_eq!(point.fraction, below as f64 / list.len() as f64);
        }
        prop_assert_eq!(points.last().map(|point| point.fraction), Some(1.0));
    }
}
