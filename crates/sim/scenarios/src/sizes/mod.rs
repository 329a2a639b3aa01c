//! Flow sizes: fixed, or drawn from a distribution; the published ones are in `published`.
//!
//! A distribution is a value without a generator. The simulator draws a number from [0, 1) and asks for the
//! [`quantile`](FlowSizes::quantile), so that two runs with one seed draw the same sizes on every machine.

mod published;

use wayleave_calculus::sizing::SizeDistribution;
use wayleave_units::Bytes;

pub use published::PUBLISHED;

/// Distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSizes {
    /// All alike.
    Fixed(Bytes),
    /// Each size within the bounds is equally likely.
    Uniform(Bytes, Bytes),
    /// Exponential with this mean, at least 1 B.
    Exponential(Bytes),
    /// Piecewise linear cumulative distribution: sizes in bytes with the share of flows that are not longer, both
    /// rising, the last share 1. A share that rises while the size stays is a size that flows have exactly; so is the
    /// first share. Build it with [`FlowSizes::from_points`].
    Empirical(Vec<(f64, f64)>),
}

impl FlowSizes {
    /// Creates a distribution from points of its cumulative form: (size in bytes, share of flows that are not
    /// longer).
    ///
    /// ```
    /// use wayleave_scenarios::FlowSizes;
    ///
    /// // Three of ten flows have 100 B exactly; the others are spread evenly up to 300 B.
    /// let sizes = FlowSizes::from_points(vec![(100.0, 0.3), (300.0, 1.0)])?;
    /// assert_eq!((sizes.quantile(0.2), sizes.quantile(0.65)), (100, 200));
    /// assert_eq!(sizes.mean(), 0.3 * 100.0 + 0.7 * 200.0);
    /// # Ok::<(), wayleave_scenarios::SizesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no point, a size or a share falls or is no number, a size is negative or above [`Bytes::MAX`], a
    /// share is outside [0, 1], the last share is not 1, or all flows would be empty.
    pub fn from_points(points: Vec<(f64, f64)>) -> Result<Self, SizesError> {
        let sizes = Self::Empirical(points);
        sizes.validate().map(|()| sizes)
    }

    /// The published distribution of this name (see [`PUBLISHED`]).
    ///
    /// ```
    /// use wayleave_scenarios::FlowSizes;
    /// let web_search = FlowSizes::published("web-search").unwrap();
    /// assert_eq!(web_search.quantile(0.53), 53 * 1460);
    /// assert_eq!(FlowSizes::published("mapreduce"), FlowSizes::published("hadoop"));
    /// assert_eq!(FlowSizes::published("web"), None);
    /// ```
    pub fn published(name: &str) -> Option<Self> {
        published::points(name).map(Self::Empirical)
    }

    /// The mean in bytes, exact for the continuous form (sizes are rounded when they are drawn, and none is below 1 B).
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) | Self::Exponential(size) => size.get() as f64,
            Self::Uniform(low, high) => (low.get() as f64 + high.get() as f64) / 2.0,
            Self::Empirical(points) => {
                let first = points.first().map_or(0.0, |(size, share)| size * share);
                // A linear piece is a uniform distribution: its mean is the middle.
                let pieces = points.windows(2).map(|pair| {
                    let ((low, before), (high, share)) = (pair[0], pair[1]);
                    (share - before) * (low + high) / 2.0
                });
                first + pieces.sum::<f64>()
            }
        }
    }

    /// The size in bytes that a share `u` of all flows does not exceed: the inverse of the cumulative distribution,
    /// rounded to whole bytes, at least 1. `u` is cut to [0, 1).
    pub fn quantile(&self, u: f64) -> u64 {
        // The largest number below 1: an exponential has no largest size.
        let u = u.clamp(0.0, 1.0 - f64::EPSILON / 2.0);
        let size = match self {
            Self::Fixed(size) => size.get(),
            Self::Uniform(low, high) => {
                let sizes = high.get().saturating_sub(low.get()) + 1;
                (low.get() + (u * sizes as f64) as u64).min(high.get())
            }
            Self::Exponential(mean) => (-(1.0 - u).ln() * mean.get() as f64).round() as u64,
            Self::Empirical(points) => interpolate(points, u).round() as u64,
        };
        size.max(1)
    }

    /// Checks what [`Self::from_points`] checks, and the same of the other forms.
    ///
    /// # Errors
    /// What is wrong, and at which point.
    pub fn validate(&self) -> Result<(), SizesError> {
        match self {
            Self::Fixed(Bytes::ZERO) | Self::Exponential(Bytes::ZERO) => Err(SizesError::Zero),
            Self::Uniform(low, _) if *low == Bytes::ZERO => Err(SizesError::Zero),
            Self::Uniform(low, high) if low > high => Err(SizesError::UpsideDown { low: *low, high: *high }),
            Self::Fixed(_) | Self::Exponential(_) | Self::Uniform(..) => Ok(()),
            Self::Empirical(points) => check_points(points),
        }
    }
}

impl SizeDistribution for FlowSizes {
    fn mean(&self) -> f64 {
        self.mean()
    }

    fn quantile(&self, u: f64) -> u64 {
        self.quantile(u)
    }
}

/// The size at which the cumulative distribution reaches `u`.
fn interpolate(points: &[(f64, f64)], u: f64) -> f64 {
    let above = points.partition_point(|&(_, share)| share < u);
    let Some(&(high, share)) = points.get(above).or(points.last()) else { return 0.0 };
    match above.checked_sub(1).map(|below| points[below]) {
        Some((low, before)) if share > before => low + (high - low) * ((u - before) / (share - before)).min(1.0),
        _ => high,
    }
}

fn check_points(points: &[(f64, f64)]) -> Result<(), SizesError> {
    let mut last = (0.0, 0.0);
    for (point, &(size, share)) in points.iter().enumerate() {
        if size.is_nan() || share.is_nan() {
            return Err(SizesError::NoNumber { point });
        }
        if !(0.0..=Bytes::MAX.get() as f64).contains(&size) {
            return Err(SizesError::BadSize { point, size });
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(SizesError::BadShare { point, share });
        }
        if size < last.0 {
            return Err(SizesError::SizeFalls { point, before: last.0, size });
        }
        if share < last.1 {
            return Err(SizesError::ShareFalls { point, before: last.1, share });
        }
        last = (size, share);
    }
    match points.last() {
        None => Err(SizesError::Empty),
        Some(&(0.0, _)) => Err(SizesError::Zero),
        Some(&(_, share)) if share < 1.0 => Err(SizesError::Unfinished { share }),
        Some(_) => Ok(()),
    }
}

/// Error of a distribution. Points are counted from 0 here and from 1 in messages.
#[derive(thiserror::Error, Clone, Debug, PartialEq)]
pub enum SizesError {
    /// There is no point.
    #[error("a distribution of flow sizes needs at least one point")]
    Empty,
    /// Flows of 0 B.
    #[error("flows of 0B: expected a size of at least 1B")]
    Zero,
    /// A lower bound above the upper one.
    #[error("flow sizes from {low} to {high}: the first is the larger one")]
    UpsideDown {
        /// The lower bound.
        low: Bytes,
        /// The upper bound.
        high: Bytes,
    },
    /// A size or a share is not a number.
    #[error("point {} of the distribution is not a number", .point + 1)]
    NoNumber {
        /// Index of the point.
        point: usize,
    },
    /// A size is negative or above [`Bytes::MAX`].
    #[error("point {} has a size of {size} bytes: expected 0 to {}", .point + 1, Bytes::MAX)]
    BadSize {
        /// Index of the point.
        point: usize,
        /// Its size in bytes.
        size: f64,
    },
    /// A share is not within [0, 1].
    #[error("point {} has a share of {share}: expected 0 to 1", .point + 1)]
    BadShare {
        /// Index of the point.
        point: usize,
        /// Its share.
        share: f64,
    },
    /// A size is below the one before it.
    #[error("the sizes do not rise: point {} has {size} bytes after {before}", .point + 1)]
    SizeFalls {
        /// Index of the point.
        point: usize,
        /// The size before, in bytes.
        before: f64,
        /// The size, in bytes.
        size: f64,
    },
    /// A share is below the one before it.
    #[error("the shares do not rise: point {} has {share} after {before}", .point + 1)]
    ShareFalls {
        /// Index of the point.
        point: usize,
        /// The share before.
        before: f64,
        /// The share.
        share: f64,
    },
    /// The last share is not 1: the sizes of the other flows are unknown.
    #[error("the last share is {share}, and 1 is expected")]
    Unfinished {
        /// The last share.
        share: f64,
    },
}

impl SizesError {
    /// The point that it is about, counted from 0, if it is one.
    pub fn point(&self) -> Option<usize> {
        match *self {
            Self::NoNumber { point }
            | Self::BadSize { point, .. }
            | Self::BadShare { point, .. }
            | Self::SizeFalls { point, .. }
            | Self::ShareFalls { point, .. } => Some(point),
            Self::Empty | Self::Zero | Self::UpsideDown { .. } | Self::Unfinished { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use wayleave_calculus::sizing::{LoadFraction, Simulated};
    use wayleave_units::{Rate, Time};

    use super::*;

    #[test]
    fn the_mean_of_drawn_sizes_is_the_mean() {
        let draws = 1_000_000;
        for (name, _) in PUBLISHED {
            let sizes = FlowSizes::published(name).unwrap();
            sizes.validate().unwrap();
            // The midpoint rule over the inverse: no randomness, and an error far below what is asserted.
            let drawn = (0..draws).map(|draw| sizes.quantile((f64::from(draw) + 0.5) / f64::from(draws)) as f64);
            let mean = drawn.sum::<f64>() / f64::from(draws);
            assert!((mean / sizes.mean() - 1.0).abs() < 1e-3, "{name}: {mean} drawn, {} expected", sizes.mean());
        }
    }

    #[test]
    fn quantiles_hit_the_points_and_rise() {
        for (name, _) in PUBLISHED {
            let sizes = FlowSizes::published(name).unwrap();
            let FlowSizes::Empirical(points) = &sizes else { panic!("{name}") };
            for &(size, share) in points.iter().filter(|point| point.1 > 0.0 && point.1 < 1.0) {
                // At a jump the lower point has the same share as the one before it: both sizes are right.
                let reached = points.iter().find(|point| point.1 >= share).unwrap().0;
                assert_eq!(sizes.quantile(share), reached.round() as u64, "{name} at {size} B");
            }
            let drawn: Vec<u64> = (0..1000).map(|step| sizes.quantile(f64::from(step) / 1000.0)).collect();
            assert!(drawn.is_sorted(), "{name}");
            assert!(sizes.quantile(1.0) as f64 <= points.last().unwrap().0, "{name}");
        }
    }

    #[test]
    fn a_jump_is_a_size_that_many_flows_have() {
        let sizes = FlowSizes::from_points(vec![(10.0, 0.0), (10.0, 0.5), (20.0, 0.5), (20.0, 1.0)]).unwrap();
        assert_eq!([0.0, 0.3, 0.5, 0.51, 0.99].map(|u| sizes.quantile(u)), [10, 10, 10, 20, 20]);
        assert_eq!(sizes.mean(), 15.0);
    }

    #[test]
    fn simple_forms_have_the_textbook_quantiles() {
        let (low, high) = (Bytes::new(1), Bytes::new(4));
        let uniform = FlowSizes::Uniform(low, high);
        assert_eq!([0.0, 0.24, 0.25, 0.5, 0.75, 1.0].map(|u| uniform.quantile(u)), [1, 1, 2, 3, 4, 4]);
        assert_eq!(uniform.mean(), 2.5);
        // The median of an exponential distribution is ln 2 times its mean.
        let exponential = FlowSizes::Exponential(Bytes::new(1000));
        assert_eq!([0.0, 0.5].map(|u| exponential.quantile(u)), [1, 693]);
        assert!(exponential.quantile(1.0) < 40_000);
        assert_eq!(FlowSizes::Fixed(Bytes::new(7)).quantile(0.9), 7);
    }

    #[test]
    fn an_invalid_distribution_is_refused_with_its_point() {
        for (points, expected) in [
            (vec![], "a distribution of flow sizes needs at least one point"),
            (vec![(1.0, f64::NAN)], "point 1 of the distribution is not a number"),
            (vec![(-1.0, 0.5)], "point 1 has a size of -1 bytes: expected 0 to 100GB"),
            (vec![(1.0, 0.0), (2e11, 1.0)], "point 2 has a size of 200000000000 bytes: expected 0 to 100GB"),
            (vec![(1.0, 97.0)], "point 1 has a share of 97: expected 0 to 1"),
            (vec![(5.0, 0.1), (4.0, 1.0)], "the sizes do not rise: point 2 has 4 bytes after 5"),
            (vec![(5.0, 0.1), (6.0, 0.05)], "the shares do not rise: point 2 has 0.05 after 0.1"),
            (vec![(5.0, 0.1), (6.0, 0.99)], "the last share is 0.99, and 1 is expected"),
            (vec![(0.0, 1.0)], "flows of 0B: expected a size of at least 1B"),
        ] {
            assert_eq!(FlowSizes::from_points(points).unwrap_err().to_string(), expected);
        }
        let upside_down = FlowSizes::Uniform(Bytes::new(2), Bytes::new(1)).validate().unwrap_err();
        assert_eq!(upside_down.to_string(), "flow sizes from 2B to 1B: the first is the larger one");
        assert_eq!(FlowSizes::Fixed(Bytes::ZERO).validate(), Err(SizesError::Zero));
    }

    #[test]
    fn simulated_sizing_of_a_published_distribution_just_meets_the_time() {
        let sizes = FlowSizes::published("web-search").unwrap();
        let simulated = Simulated { sizes: &sizes, percentile: "99".parse().unwrap(), seed: 1 };
        let (ten, within) = (Rate::from_gbit(10), Time::from_millis(30));
        let load = simulated.peak_load(ten, within).unwrap();
        assert!(simulated.completion(ten, load).at_most <= within);
        let more = LoadFraction::from_billionths((load.billionths() as f64 * 1.01) as u64).unwrap();
        assert!(simulated.completion(ten, more).at_most > within, "{load}");
        // The same question the other way round.
        let offered = Rate::from_bits_per_second((load.get() * 1e10) as u64);
        let rate = simulated.bandwidth(offered, within).unwrap().bits_per_second() as f64;
        assert!((rate / 1e10 - 1.0).abs() < 0.001, "{rate}");
        // The largest flow alone takes longer than a microsecond.
        assert_eq!(simulated.peak_load(ten, Time::from_micros(1)), None);
    }
}
