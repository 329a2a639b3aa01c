//! Scales with round numbers on them.

/// The digits at which a logarithmic axis ends, and at which a linear one is divided.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];
/// More marks than this run into each other.
const MAX_MARKS: usize = 7;

/// A scale from values to shares of the axis, with marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    /// Round values, from the lowest.
    pub marks: Vec<f64>,
}

impl Axis {
    /// From zero to a round number that is at least `highest`.
    pub fn linear(highest: f64) -> Self {
        Self::between(0.0, highest)
    }

    /// From `low` to `high`, with round marks in between.
    pub fn between(low: f64, high: f64) -> Self {
        let range = if high > low && (high - low).is_finite() { high - low } else { 1.0 };
        let step = round_up(range / 5.0);
        let first = (low / step).floor() * step;
        let count = ((low + range - first) / step - 1e-9).ceil().max(1.0);
        let marks = (0..=count as usize).map(|index| first + index as f64 * step).collect();
        Self { low: first, high: first + count * step, is_logarithmic: false, marks }
    }

    /// From `low` to `high` with these marks.
    pub fn exactly(low: f64, high: f64, marks: Vec<f64>) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, is_logarithmic: false, marks }
    }

    /// Returns the axis with other marks.
    pub(super) fn with_marks(&self, marks: Vec<f64>) -> Self {
        Self { marks, ..self.clone() }
    }

    /// From a round number below `lowest` to one above `highest`; both are above zero.
    pub fn logarithmic(lowest: f64, highest: f64) -> Self {
        let lowest = if lowest.is_finite() && lowest > 0.0 { lowest } else { 1.0 };
        let low = round_down(lowest);
        let high = round_up(highest.max(lowest * 1.000_001));
        let decades = (high / low).log10();
        // Whole decades, and where those are few, 2 and 5 as well.
        let digits: &[f64] = if decades < 2.2 { &ROUND } else { &ROUND[..1] };
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let mut marks: Vec<f64> = powers
            .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
            .filter(|mark| (low * 0.999..=high * 1.001).contains(mark))
            .collect();
        let every = marks.len().div_ceil(MAX_MARKS).max(1);
        marks = marks.into_iter().step_by(every).collect();
        Self { low, high, is_logarithmic: true, marks }
    }

    /// Returns the position of a value, from 0 at the low end to 1. Values beyond an end count as the end.
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The next round number that is at least so large.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    // A little less is as much, after such arithmetic.
    ROUND.into_iter().map(|digit| digit * power).find(|&round| round >= value * 0.999_999).unwrap_or(10.0 * power)
}

/// The next round number that is at most so large.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    ROUND.into_iter().rev().map(|digit| digit * power).find(|&round| round <= value * 1.000_001).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_ends_at_the_first_round_mark_beyond_the_highest_value() {
        assert_eq!(Axis::linear(87.0).marks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Axis::linear(1.0).marks.last(), Some(&1.0));
        assert_eq!(Axis::linear(0.0).marks.first(), Some(&0.0));
    }

    #[test]
    fn a_logarithmic_axis_holds_all_values_between_round_ends() {
        let axis = Axis::logarithmic(23.0, 48_000.0);
        assert_eq!(axis.marks, [100.0, 1_000.0, 10_000.0]);
        assert_eq!((axis.share(20.0), axis.share(50_000.0)), (0.0, 1.0));
        let narrow = Axis::logarithmic(23.0, 48.0);
        assert_eq!(narrow.marks, [20.0, 50.0]);
    }

    #[test]
    fn every_value_has_a_place_on_every_axis() {
        for axis in
            [Axis::linear(0.0), Axis::logarithmic(0.0, 0.0), Axis::logarithmic(5.0, 5.0), Axis::between(3.0, 3.0)]
        {
            for value in [0.0, 5.0, 1e18, f64::NAN, f64::INFINITY] {
                let share = axis.share(value);
                assert!((0.0..=1.0).contains(&share), "{value} on {axis:?}: {share}");
            }
            assert!(axis.marks.len() <= 12, "{axis:?}");
        }
    }

    #[test]
    fn an_axis_over_many_decades_has_few_marks() {
        assert!(Axis::logarithmic(1.0, 1e15).marks.len() <= MAX_MARKS);
    }
}
