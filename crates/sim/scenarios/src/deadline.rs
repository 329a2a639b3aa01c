//! Deadlines of flows: one for all, or drawn for each from a distribution.
//!
//! As [`FlowSizes`](crate::FlowSizes), a distribution has no generator: the simulator draws a number from [0, 1) and asks
//! for the [`quantile`](Deadline::quantile).

use std::fmt;

use wayleave_units::Time;

/// Deadline of flows, counted from their arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// All alike.
    Fixed(Time),
    /// Each time within the bounds is equally likely.
    Uniform(Time, Time),
    /// Exponential with this mean; what is drawn below the minimum becomes the minimum, so that no flow has a deadline
    /// that it cannot meet.
    Exponential {
        /// Of the distribution before it is cut.
        mean: Time,
        /// The shortest deadline.
        min: Time,
    },
    /// One of these, each equally likely.
    Values(Vec<Time>),
}

impl Deadline {
    /// The deadline that a share `u` of all flows does not exceed, in whole ns. `u` is cut to [0, 1).
    ///
    /// ```
    /// use wayleave_scenarios::Deadline;
    /// use wayleave_units::Time;
    /// let ms = Time::from_millis;
    /// let uniform = Deadline::Uniform(ms(5), ms(25));
    /// assert_eq!((uniform.quantile(0.0), uniform.quantile(0.5)), (ms(5), ms(15)));
    /// // Half of an exponential distribution lies below ln 2 of its mean: 13.86 ms.
    /// let exponential = Deadline::Exponential { mean: ms(20), min: ms(3) };
    /// assert_eq!(exponential.quantile(0.5), Time::from_nanos(13_862_943));
    /// assert_eq!(exponential.quantile(0.1), ms(3));
    /// assert_eq!(Deadline::Values(vec![ms(1), ms(9)]).quantile(0.5), ms(9));
    /// ```
    pub fn quantile(&self, u: f64) -> Time {
        let u = u.clamp(0.0, 1.0 - f64::EPSILON / 2.0);
        match self {
            Self::Fixed(time) => *time,
            Self::Uniform(low, high) => {
                let span = high.saturating_sub(*low).as_nanos() as f64;
                Time::from_nanos(low.as_nanos() + (u * span) as u64)
            }
            Self::Exponential { mean, min } => {
                let drawn = -(1.0 - u).ln() * mean.as_nanos() as f64;
                // An exponential has no largest value, and `u` bounds it at 37 times the mean.
                Time::from_nanos((drawn as u64).min(Time::MAX.as_nanos())).max(*min)
            }
            Self::Values(values) => values.get((u * values.len() as f64) as usize).copied().unwrap_or(Time::ZERO),
        }
    }

    /// Returns `true` if a number has to be drawn for each flow.
    pub fn is_drawn(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Checks that no flow has a deadline of zero, and that there is something to draw from.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Result<(), DeadlineError> {
        match self {
            Self::Fixed(Time::ZERO) => Err(DeadlineError::Zero),
            Self::Fixed(_) => Ok(()),
            Self::Uniform(low, high) if low > high => Err(DeadlineError::UpsideDown { low: *low, high: *high }),
            Self::Uniform(low, _) if *low == Time::ZERO => Err(DeadlineError::Zero),
            Self::Uniform(..) => Ok(()),
            Self::Exponential { mean: Time::ZERO, .. } => Err(DeadlineError::NoMean),
            // Without a minimum some would be zero.
            Self::Exponential { min: Time::ZERO, .. } => Err(DeadlineError::NoMinimum),
            Self::Exponential { .. } => Ok(()),
            Self::Values(values) if values.is_empty() => Err(DeadlineError::NoValues),
            Self::Values(values) if values.contains(&Time::ZERO) => Err(DeadlineError::Zero),
            Self::Values(_) => Ok(()),
        }
    }
}

/// Error of deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadlineError {
    /// Some flow would have no time at all.
    Zero,
    /// A lower bound above the upper one.
    UpsideDown {
        /// The lower bound.
        low: Time,
        /// The upper bound.
        high: Time,
    },
    /// An exponential distribution with a mean of zero.
    NoMean,
    /// An exponential distribution whose minimum is zero.
    NoMinimum,
    /// A list without values.
    NoValues,
}

impl fmt::Display for DeadlineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => write!(f, "a deadline has to be above zero"),
            Self::UpsideDown { low, high } => write!(f, "deadlines from {low} to {high}: the first is the larger one"),
            Self::NoMean => write!(f, "the mean of deadlines has to be above zero"),
            Self::NoMinimum => write!(f, "the shortest of exponential deadlines has to be above zero"),
            Self::NoValues => write!(f, "a list of deadlines needs at least one"),
        }
    }
}

impl std::error::Error for DeadlineError {}
