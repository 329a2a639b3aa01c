//! Division of a port's queues among classes.

use wayleave_units::{Bytes, Time};

use crate::limits::{MAX_BUDGET, MAX_QUEUES};

/// Promise to the traffic of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A delay bound for every packet: the queues in strict priority.
    Latency,
    /// Minimum rates.
    Guaranteed,
    /// Objectives of divisions: deadlines, completion times, latencies.
    Objective,
    /// Nothing.
    BestEffort,
}

impl Class {
    /// The classes that share what the latency queues leave, in the order of their queues.
    pub const SHARING: [Self; 3] = [Self::Guaranteed, Self::Objective, Self::BestEffort];

    /// Returns the name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Guaranteed => "guaranteed",
            Self::Objective => "objective",
            Self::BestEffort => "best effort",
        }
    }
}

/// Maximum weight of a class: a quantum is at most this number of the largest frames.
pub const MAX_WEIGHT: u16 = 100;

/// Division of the queues of all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Number of queues, from the highest, in strict priority for latency contracts. Host ports may have fewer.
    pub latency: u8,
    /// The weight of the guaranteed class.
    pub guaranteed: u16,
    /// The weight of the objective class.
    pub objective: u16,
    /// The weight of best effort.
    pub best_effort: u16,
    /// eta: maximum part of a line that hosts fill, per cent (95 in uFAB, SIGCOMM 2022, section 4.1).
    pub target: u8,
    /// Maximum sum of minima and weights, per cent of a class's guaranteed rate: hosts attain less than the target.
    pub promise: u8,
    /// The longest round trip without queues between hosts that share links; that of the network where it is not given.
    pub round_trip: Option<Time>,
}

impl Default for Classes {
    /// Five latency queues of eight, and 6:3:1 below. The target is uFAB's; uFAB left 0.82 to 0.93 of the guaranteed
    /// rate of a class in a model of one port below strict priority, so 85 % are promised.
    fn default() -> Self {
        Self { latency: 5, guaranteed: 6, objective: 3, best_effort: 1, target: 95, promise: 85, round_trip: None }
    }
}

impl Classes {
    /// The class of a queue of a switch.
    pub fn class_of(&self, queue: u8) -> Class {
        match queue.checked_sub(self.latency) {
            None => Class::Latency,
            Some(below) => Class::SHARING.get(usize::from(below)).copied().unwrap_or(Class::BestEffort),
        }
    }

    /// The queue of a class in switches; the highest for latency contracts.
    pub fn queue_of(&self, class: Class) -> u8 {
        match class {
            Class::Latency => 0,
            Class::Guaranteed => self.latency,
            Class::Objective => self.latency + 1,
            Class::BestEffort => self.latency + 2,
        }
    }

    /// Returns the number of queues that a switch needs.
    pub fn queues(&self) -> usize {
        usize::from(self.latency) + Class::SHARING.len()
    }

    /// The weight of a class; latency contracts have none.
    pub fn weight(&self, class: Class) -> u16 {
        match class {
            Class::Latency => 0,
            Class::Guaranteed => self.guaranteed,
            Class::Objective => self.objective,
            Class::BestEffort => self.best_effort,
        }
    }

    /// The sum of the weights.
    pub fn weights(&self) -> u32 {
        Class::SHARING.iter().map(|&class| u32::from(self.weight(class))).sum()
    }

    /// The quantum of a class on a link whose largest frame is this: no quantum is smaller than a frame, and all are in the
    /// proportion of the weights without their common divisor.
    pub fn quantum(&self, class: Class, frame: Bytes) -> Bytes {
        let divisor = Class::SHARING.iter().fold(0, |divisor, &class| common_divisor(divisor, self.weight(class)));
        Bytes::new(u64::from(self.weight(class) / divisor.max(1)) * frame.get())
    }

    /// Checks everything that does not depend on a network.
    ///
    /// # Errors
    /// The first error.
    pub fn validate(&self) -> Result<(), ClassesError> {
        if self.latency == 0 || self.queues() > MAX_QUEUES {
            return Err(ClassesError::Latency(self.latency));
        }
        for class in Class::SHARING {
            let weight = self.weight(class);
            if weight == 0 || weight > MAX_WEIGHT {
                return Err(ClassesError::Weight { class, weight });
            }
        }
        for (key, percent) in [("target", self.target), ("promise", self.promise)] {
            if !(1..=100).contains(&percent) {
                return Err(ClassesError::Percent { key, percent });
            }
        }
        if self.promise > self.target {
            return Err(ClassesError::PromiseAboveTarget { promise: self.promise, target: self.target });
        }
        match self.round_trip {
            Some(time) if time == Time::ZERO || time > MAX_BUDGET => Err(ClassesError::RoundTrip(time)),
            _ => Ok(()),
        }
    }
}

fn common_divisor(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Error of classes.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum ClassesError {
    /// No latency queue, or no room for three more.
    #[error("{0} latency queues: expected 1 to 5, since three more queues are for the other classes")]
    Latency(u8),
    /// A weight of zero, or above [`MAX_WEIGHT`].
    #[error("{} has the weight {weight}: expected 1 to {MAX_WEIGHT}", class.name())]
    Weight {
        /// The class.
        class: Class,
        /// Its weight.
        weight: u16,
    },
    /// No percentage above zero.
    #[error("{key} is {percent} %: expected 1 to 100 %")]
    Percent {
        /// Key of the value.
        key: &'static str,
        /// Its value.
        percent: u8,
    },
    /// More is promised than hosts fill.
    #[error("promise is {promise} % and target is {target} %: no more can be promised than is filled")]
    PromiseAboveTarget {
        /// Part that may be promised.
        promise: u8,
        /// Part that is filled.
        target: u8,
    },
    /// A round trip of zero, or beyond any budget.
    #[error("a round trip of {0}: expected more than zero and at most 10s")]
    RoundTrip(Time),
    /// A switch port with too few queues.
    #[error(
        "link {link} has {queues} queues, and the classes need {needed}: leave out classes, or give its port more queues"
    )]
    TooFewQueues {
        /// The link.
        link: String,
        /// Its queues.
        queues: usize,
        /// Number of queues that the classes need.
        needed: usize,
    },
}

impl ClassesError {
    /// The key of `classes` in a file that it is about, if it is one.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Latency(_) => Some("latency"),
            Self::Weight { class: Class::BestEffort, .. } => Some("bestEffort"),
            Self::Weight { class, .. } => Some(class.name()),
            Self::Percent { key, .. } => Some(key),
            Self::PromiseAboveTarget { .. } => Some("promise"),
            Self::RoundTrip(_) => Some("roundTrip"),
            Self::TooFewQueues { .. } => None,
        }
    }
}
