//! Means, percentiles and confidence intervals.

use serde::{Deserialize, Serialize};

use crate::numbers;

/// Of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of samples.
    pub samples: usize,
    /// Their mean.
    #[serde(deserialize_with = "numbers::one")]
    pub mean: f64,
    /// The 95 % confidence interval of the mean of the runs, by Student's t over the seeds; none for one seed.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "numbers::interval")]
    pub ci95: Option<[f64; 2]>,
    /// Not exceeded by half of them.
    #[serde(deserialize_with = "numbers::one")]
    pub median: f64,
    /// Not exceeded by 1 % of them: the lower whisker.
    #[serde(deserialize_with = "numbers::one")]
    pub p1: f64,
    /// Not exceeded by 10 % of them.
    #[serde(deserialize_with = "numbers::one")]
    pub p10: f64,
    /// Not exceeded by 90 % of them.
    #[serde(deserialize_with = "numbers::one")]
    pub p90: f64,
    /// Not exceeded by 99 % of them: the upper whisker.
    #[serde(deserialize_with = "numbers::one")]
    pub p99: f64,
    /// The smallest.
    #[serde(deserialize_with = "numbers::one")]
    pub min: f64,
    /// The largest.
    #[serde(deserialize_with = "numbers::one")]
    pub max: f64,
}

impl Summary {
    /// Of one value for each run.
    pub fn of_runs(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self::of_sorted(&sorted, values)
    }

    /// The mean of each run, and the summary of all their samples together. A run without samples has no mean.
    pub fn pooled(runs: &[Vec<f64>]) -> (Vec<f64>, Self) {
        let means: Vec<f64> = runs.iter().filter(|run| !run.is_empty()).map(|run| mean(run)).collect();
        let mut all = runs.concat();
        all.sort_unstable_by(f64::total_cmp);
        let summary = Self::of_sorted(&all, &means);
        (means, summary)
    }

    fn of_sorted(sorted: &[f64], runs: &[f64]) -> Self {
        Self {
            samples: sorted.len(),
            mean: mean(sorted),
            ci95: confidence(runs),
            median: median(sorted),
            p1: percentile(sorted, 0.01),
            p10: percentile(sorted, 0.10),
            p90: percentile(sorted, 0.90),
            p99: percentile(sorted, 0.99),
            min: sorted.first().copied().unwrap_or(f64::NAN),
            max: sorted.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// Not a number for nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One value for each run, whose mean is the ratio of two means and whose interval is that of the ratio, to first order (the delta
/// method): `r + (one - r other) / mean of the others`.
pub(crate) fn ratio_of_means(ones: &[f64], others: &[f64]) -> Vec<f64> {
    let below = mean(others);
    let ratio = mean(ones) / below;
    ones.iter().zip(others).map(|(one, other)| ratio + (one - ratio * other) / below).collect()
}

/// The middle one, or the mean of the two in the middle.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest value that is not exceeded by this share of them (nearest rank).
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The 95 % confidence interval of the mean, by Student's t.
fn confidence(values: &[f64]) -> Option<[f64; 2]> {
    let freedom = values.len().checked_sub(1).filter(|&freedom| freedom > 0)?;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = student(freedom) * (squares / freedom as f64 / values.len() as f64).sqrt();
    Some([mean - half, mean + half])
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom, as in every textbook's table.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The two-sided 95 % quantile; beyond the table by the first two terms of its expansion around the normal one
/// (Abramowitz and Stegun 26.7.5), which is exact to three digits there.
fn student(freedom: usize) -> f64 {
    const Z: f64 = 1.959_964;
    let n = freedom as f64;
    let expansion =
        || Z + (Z.powi(3) + Z) / (4.0 * n) + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n);
    STUDENT.get(freedom - 1).copied().unwrap_or_else(expansion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confidence_interval_is_that_of_the_textbook() {
        // Ten values with mean 5.5 and standard deviation 3.028: 2.262 * 3.028 / sqrt(10) = 2.166.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let [low, high] = Summary::of_runs(&values).ci95.unwrap();
        assert!((low - 3.334).abs() < 1e-3 && (high - 7.666).abs() < 1e-3, "{low} {high}");
        assert_eq!(Summary::of_runs(&[3.0]).ci95, None);
    }

    #[test]
    fn a_ratio_of_means_has_the_interval_of_the_ratio() {
        // With proportional runs the ratio is certain, even if the runs differ widely.
        assert_eq!(ratio_of_means(&[2.0, 8.0, 20.0], &[1.0, 4.0, 10.0]), [2.0; 3]);
        let runs = ratio_of_means(&[1.0, 3.0], &[1.0, 1.0]);
        assert_eq!((mean(&runs), runs), (2.0, vec![1.0, 3.0]));
    }

    #[test]
    fn the_expansion_continues_where_the_table_ends() {
        // 31, 60 and 120 degrees of freedom, from the table of Abramowitz and Stegun (26.10).
        for (freedom, expected) in [(31, 2.040), (60, 2.000), (120, 1.980)] {
            assert!((student(freedom) - expected).abs() < 6e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn percentiles_are_measured_values() {
        let sorted: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!((percentile(&sorted, 0.01), percentile(&sorted, 0.99), median(&sorted)), (2.0, 198.0, 100.5));
        assert_eq!((percentile(&[7.0], 0.01), percentile(&[7.0], 0.99), median(&[7.0])), (7.0, 7.0, 7.0));
    }

    #[test]
    fn pooled_samples_count_equally_and_the_interval_is_that_of_the_runs() {
        let (means, summary) = Summary::pooled(&[vec![1.0, 1.0, 1.0, 5.0], vec![4.0]]);
        assert_eq!((means.as_slice(), summary.samples, summary.median), (&[2.0, 4.0][..], 5, 1.0));
        let [low, high] = summary.ci95.unwrap();
        assert!((low - (3.0 - 12.706)).abs() < 1e-9 && (high - (3.0 + 12.706)).abs() < 1e-9);
    }
}
