//! Repetition of counts since an earlier time: for time that is skipped and not simulated.

use super::Histogram;

impl Histogram {
    /// Returns the number of values since an earlier state of the same histogram.
    pub(crate) fn count_since(&self, earlier: &Self) -> u64 {
        self.count().saturating_sub(earlier.count())
    }

    /// Repeats the values since an earlier state of the same histogram, `times.0 / times.1` times. The rounding
    /// remainder of one bucket counts in the next, so that the total number is right.
    pub(crate) fn repeat_since(&mut self, earlier: &Self, times: (u64, u64)) {
        let (numerator, denominator) = (u128::from(times.0), u128::from(times.1.max(1)));
        let mut left = denominator / 2;
        let mut scaled = |now: u64, before: u64| {
            left += u128::from(now.saturating_sub(before)) * numerator;
            let whole = left / denominator;
            left -= whole * denominator;
            u64::try_from(whole).unwrap_or(u64::MAX)
        };
        self.zeros += scaled(self.zeros, earlier.zeros);
        for (index, count) in self.counts.iter_mut().enumerate() {
            let place = (self.first + index).checked_sub(earlier.first);
            let before = place.and_then(|place| earlier.counts.get(place)).copied().unwrap_or(0);
            *count += scaled(*count, before);
        }
        self.sum += self.sum.saturating_sub(earlier.sum) * numerator / denominator;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_since_the_mark_count_as_often_as_they_are_repeated() {
        let mut histogram = Histogram::new();
        (0..100).for_each(|value| histogram.record(value));
        let earlier = histogram.clone();
        for value in [0, 0, 40, 5_000] {
            histogram.record(value);
        }
        let seen = histogram.clone();
        histogram.repeat_since(&earlier, (5, 2));
        assert_eq!(seen.count_since(&earlier), 4);
        // Two and a half times four values, whose sum is 5,040.
        assert_eq!(histogram.count(), 104 + 10);
        assert_eq!(histogram.sum(), seen.sum() + 12_600);
        assert_eq!(histogram.zeros(), 3 + 5);
        assert_eq!(histogram.max(), Some(5_000));
    }

    #[test]
    fn values_before_the_mark_are_not_repeated() {
        let mut histogram = Histogram::new();
        (0..100).for_each(|value| histogram.record(value));
        let earlier = histogram.clone();
        histogram.repeat_since(&earlier, (1_000, 1));
        assert_eq!(histogram, earlier);
    }
}
