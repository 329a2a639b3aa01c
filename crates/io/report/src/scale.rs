//! Scales: from a share of something to a length or a step of colour.

use super::palette::STEPS;

/// A share of a whole, from 0 to 1; values beyond an end count as the end.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct ShareOfWhole(f64);

impl ShareOfWhole {
    /// `part / whole`; nothing of nothing is nothing.
    pub fn of(part: f64, whole: f64) -> Self {
        let share = if whole > 0.0 { part / whole } else { 0.0 };
        Self(if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 })
    }

    /// From 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The mean; nothing for no shares.
    pub fn mean(shares: impl IntoIterator<Item = ShareOfWhole>) -> Self {
        let (sum, count) = shares.into_iter().fold((0.0, 0.0), |(sum, count), share| (sum + share.0, count + 1.0));
        Self::of(sum, count)
    }

    /// The largest; nothing for no shares.
    pub fn max(shares: impl IntoIterator<Item = ShareOfWhole>) -> Self {
        Self(shares.into_iter().map(ShareOfWhole::get).fold(0.0, f64::max))
    }

    /// As a length, of `full` for the whole.
    pub fn length(self, full: f64) -> f64 {
        self.0 * full
    }

    /// Its step of colour, each of one width; `None` for nothing, which is not drawn.
    pub fn step(self) -> Option<usize> {
        let steps = STEPS.len();
        (self.0 > 0.0).then(|| ((self.0 * steps as f64).ceil() as usize).clamp(1, steps) - 1)
    }
}

/// A round number from 1, 2 and 5 that is at least `largest`: where an axis ends.
pub fn round_up(largest: u64) -> u64 {
    let power = 10_u64.pow(largest.max(1).ilog10());
    [1, 2, 5].into_iter().map(|digit| digit * power).find(|&end| end >= largest).unwrap_or(10 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_stays_between_zero_and_one() {
        for (part, whole, expected) in [(1.0, 4.0, 0.25), (5.0, 4.0, 1.0), (-1.0, 4.0, 0.0), (1.0, 0.0, 0.0)] {
            assert_eq!(ShareOfWhole::of(part, whole).get(), expected);
        }
        assert_eq!(ShareOfWhole::of(f64::NAN, 1.0).get(), 0.0);
    }

    #[test]
    fn steps_divide_the_scale_evenly_and_zero_has_none() {
        let step = |percent: f64| ShareOfWhole::of(percent, 100.0).step();
        let expected =
            [(0.0, None), (0.1, Some(0)), (20.0, Some(0)), (20.1, Some(1)), (80.1, Some(4)), (100.0, Some(4))];
        for (percent, expected) in expected {
            assert_eq!(step(percent), expected, "{percent} %");
        }
    }

    #[test]
    fn mean_and_maximum_of_no_links_are_zero() {
        assert_eq!((ShareOfWhole::mean([]).get(), ShareOfWhole::max([]).get()), (0.0, 0.0));
    }

    #[test]
    fn an_axis_ends_at_the_next_round_number() {
        let ends = [(0, 1), (1, 1), (3, 5), (7, 10), (10, 10), (11, 20), (450, 500), (999, 1000), (5001, 10_000)];
        for (largest, end) in ends {
            assert_eq!(round_up(largest), end, "{largest}");
        }
    }
}
