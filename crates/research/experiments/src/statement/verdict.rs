//! Verdicts, computed from the numbers that were measured, the range that the text names, and the numbers of named experiments.

use serde::{Deserialize, Serialize};

use crate::numbers;
use crate::stats::Summary;

/// Class of a statement or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The measurement is in the range.
    Holds,
    /// The measurement is outside, and that of a named experiment or reading of the text is in the range.
    HoldsUnderReading,
    /// A named experiment moves the measurement towards the range, and not into it.
    PartlyExplained,
    /// No experiment with numbers explains the difference.
    Unexplained,
    /// There are fewer runs than the figure needs, also of the experiment that would explain a difference, or the confidence interval
    /// crosses an end of the range.
    Undecided,
    /// No measurement here can be compared with it, such as a time of another program on another machine.
    NotCompared,
}

impl Verdict {
    /// All classes, best first.
    pub const ALL: [Self; 6] = [
        Self::Holds,
        Self::HoldsUnderReading,
        Self::PartlyExplained,
        Self::Unexplained,
        Self::Undecided,
        Self::NotCompared,
    ];

    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsUnderReading => "holds under a named reading",
            Self::PartlyExplained => "partly explained",
            Self::Unexplained => "unexplained",
            Self::Undecided => "undecided",
            Self::NotCompared => "not compared",
        }
    }
}

/// Rule that compares numbers with a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Nothing is compared.
    #[default]
    Nothing,
    /// All numbers have to be in the range.
    Every,
    /// The confidence interval of the mean has to be in the range. There is one number per run.
    Mean,
    /// A truth value: 1 for true, 0 for false.
    Truth,
}

/// Position of numbers in relation to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// In the range.
    Inside,
    /// Outside of the range.
    Outside,
    /// The confidence interval crosses an end of the range.
    Crosses,
    /// Not compared.
    NotCompared,
}

/// Smallest part of the distance to the range by which an experiment has to move the measurement to explain a part of the difference.
const LEAST_PART: f64 = 0.1;

/// Minimum number of runs of a mean with an interval.
pub(super) const MIN_RUNS_OF_MEAN: usize = 2;

impl Check {
    /// Compares numbers with a range.
    pub(super) fn outcome(self, [low, high]: [f64; 2], numbers: Estimate) -> Outcome {
        let contains = |value: f64| (low..=high).contains(&value);
        let [least, most] = numbers.ends();
        match self {
            Self::Nothing => Outcome::NotCompared,
            _ if numbers.count == 0 => Outcome::Outside,
            _ if contains(least) && contains(most) => Outcome::Inside,
            Self::Mean if least <= high && most >= low => Outcome::Crosses,
            _ => Outcome::Outside,
        }
    }

    /// Returns the distance of numbers from a range: of their mean, or of the farthest one. Infinite if one of them is no number.
    fn distance(self, [low, high]: [f64; 2], numbers: Estimate) -> f64 {
        let of = |value: f64| if value.is_nan() { f64::INFINITY } else { (low - value).max(value - high).max(0.0) };
        match self {
            _ if numbers.count == 0 => f64::INFINITY,
            Self::Mean => of(numbers.value),
            _ => numbers.ends().into_iter().map(of).fold(0.0, f64::max),
        }
    }

    /// Returns the centre of numbers and their spread: the mean with its confidence interval, or the least and the largest number.
    pub(super) fn estimate(self, values: &[f64]) -> Estimate {
        let Summary { mean, ci95, min, max, .. } = Summary::of_runs(values);
        let interval = if self == Self::Mean { ci95 } else { Some([min, max]).filter(|_| values.len() > 1) };
        Estimate { value: mean, interval, count: values.len() }
    }
}

/// Several numbers in short. Verdicts are computed from it, so that they can be computed again without the numbers of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean of the numbers.
    #[serde(deserialize_with = "numbers::one")]
    pub value: f64,
    /// The 95 % confidence interval of the mean, or the least and the largest number; none for a single number.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "numbers::interval")]
    pub interval: Option<[f64; 2]>,
    /// Number of numbers.
    pub count: usize,
}

impl Estimate {
    /// Returns `true` if there is an interval of at least `runs` numbers.
    pub(super) fn has_interval_of(self, runs: usize) -> bool {
        self.count >= runs.max(MIN_RUNS_OF_MEAN) && self.interval.is_some()
    }

    fn ends(self) -> [f64; 2] {
        self.interval.unwrap_or([self.value; 2])
    }
}

/// Experiment that changes one thing, with its numbers for the same statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The changed thing, and the result in words.
    pub name: String,
    /// Its numbers, which are compared with the range of the statement.
    pub estimate: Estimate,
}

/// Effect of an experiment on a statement whose measurement is outside of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It brings the measurement into the range.
    Closes,
    /// It moves the measurement by a part of its distance from the range.
    Moves {
        /// Distance by which the measurement comes nearer.
        by: f64,
        /// Distance without the experiment.
        of: f64,
    },
    /// It would move the measurement, but has fewer runs than a verdict needs.
    TooFewRuns,
    /// It does not move the measurement by a tenth of the distance towards the range.
    Nothing,
}

impl Effect {
    /// Compares the numbers of an experiment with those of the statement. A mean needs `runs` numbers and their interval; where all numbers
    /// count, an experiment needs as many.
    pub(super) fn of(check: Check, range: [f64; 2], without: Estimate, with: Estimate, runs: usize) -> Self {
        let [before, after] = [without, with].map(|numbers| check.distance(range, numbers));
        let by = before - after;
        let moves = after.is_finite() && by >= LEAST_PART * before;
        let lacks_runs = match check {
            Check::Mean => !with.has_interval_of(runs),
            Check::Every => with.count < without.count,
            Check::Truth | Check::Nothing => false,
        };
        match check.outcome(range, with) {
            Outcome::Inside if !lacks_runs => Self::Closes,
            _ if !moves => Self::Nothing,
            _ if lacks_runs => Self::TooFewRuns,
            _ => Self::Moves { by, of: before },
        }
    }
}
