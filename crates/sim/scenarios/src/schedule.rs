//! Activity of a traffic: periods at fixed times.

use std::fmt;

use wayleave_units::Time;

/// Activity of a traffic. It is inactive before the first entry.
///
/// ```
/// use wayleave_scenarios::{Period, Schedule};
/// use wayleave_units::Time;
///
/// let ms = Time::from_millis;
/// // On from 2 to 6 ms, from 10 to 14 ms and so on.
/// let periodic = Schedule::periodic(ms(2), ms(4), ms(4));
/// assert!(periodic.validate().is_ok());
/// // On from 0 to 1 ms and from 5 to 7 ms, and never again.
/// let twice = Schedule {
///     periods: vec![
///         Period { from: ms(0), on: ms(1), off: None },
///         Period { from: ms(5), on: ms(2), off: None },
///     ],
/// };
/// assert!(twice.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// In order of time; each holds until the next one begins.
    pub periods: Vec<Period>,
}

/// A period of being on, then off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Start of the first on-time, from the start of the run.
    pub from: Time,
    /// Duration of the on-time; above zero.
    pub on: Time,
    /// Duration of the off-time before it is on again; zero never ends. If absent it is on once.
    pub off: Option<Time>,
}

impl Schedule {
    /// On and off in turn.
    pub fn periodic(from: Time, on: Time, off: Time) -> Self {
        Self { periods: vec![Period { from, on, off: Some(off) }] }
    }

    /// Checks that there are entries in order of time, and that each is on.
    ///
    /// # Errors
    /// What is wrong, and with which entry.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        if self.periods.is_empty() {
            return Err(ScheduleError::Empty);
        }
        if let Some(index) = self.periods.iter().position(|period| period.on == Time::ZERO) {
            return Err(ScheduleError::NeverOn { index });
        }
        let falling = self.periods.windows(2).position(|pair| pair[1].from <= pair[0].from);
        match falling {
            Some(index) => {
                let (before, from) = (self.periods[index].from, self.periods[index + 1].from);
                Err(ScheduleError::Order { index: index + 1, before, from })
            }
            None => Ok(()),
        }
    }
}

/// Error of a schedule. Entries are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// It has no entries.
    Empty,
    /// An entry is on for no time.
    NeverOn {
        /// Index of the entry.
        index: usize,
    },
    /// An entry does not begin after the one above it.
    Order {
        /// Index of the entry.
        index: usize,
        /// Start of the entry above.
        before: Time,
        /// Start of this entry.
        from: Time,
    },
    /// The traffic is a list of flows, each with its own time.
    Listed,
    /// A job begins its iterations itself.
    Job,
}

impl ScheduleError {
    /// The entry that it is about, if it is one.
    pub fn index(&self) -> Option<usize> {
        match *self {
            Self::NeverOn { index } | Self::Order { index, .. } => Some(index),
            Self::Empty | Self::Listed | Self::Job => None,
        }
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the traffic would never be active: expected at least one period"),
            Self::NeverOn { .. } => write!(f, "the time of being on has to be above zero"),
            Self::Order { before, from, .. } => {
                write!(f, "it begins at {from}, before the one above it at {before}: they must be in order of time")
            }
            Self::Job => write!(
                f,
                "a job begins each iteration when the previous one ends, not by a schedule: give start and stop"
            ),
            Self::Listed => write!(f, "flows of a list begin at the times of the list, not by a schedule"),
        }
    }
}

impl std::error::Error for ScheduleError {}
