//! What a machine keeps of a class and of a pair.

use wayleave_scheme_api::{Bucket, ClassId, Share};
use wayleave_sharing::DemandEstimator;
use wayleave_units::{Bytes, Rate, Time};

use super::meter::RateMeter;
use crate::usage_report::MeteredUsage;

/// A class at this machine.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) id: ClassId,
    /// Whether it shares the line, and since when it has moved nothing.
    pub(super) activity: Activity,
    pub(super) transmit: Transmit,
    pub(super) receive: Receive,
}

/// Whether a class takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It has moved nothing for long.
    Idle,
    /// It last moved something in the interval that ended then.
    Active { last: Time },
}

/// What a class sends.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    pub(super) terms: Share,
    /// What a broker allows.
    pub(super) allowed: Option<Rate>,
    /// Since the start.
    pub(super) total: Bytes,
    /// In this interval.
    pub(super) sent: u64,
    pub(super) demand: DemandEstimator,
    /// Its limit by the other classes' demands.
    pub(super) limit: Option<Rate>,
    /// Its root limiter as it is set.
    pub(super) bucket: Option<Bucket>,
    pub(super) waiting: BackloggedPairs,
}

/// The pairs of a class that have something to send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackloggedPairs {
    /// Those that no receiver limits.
    pub(super) free: u32,
    /// Those that a receiver limits, and their limits together, in bit/s.
    pub(super) limited: u32,
    pub(super) limits: u64,
    /// Whether there was a moment in this interval without any.
    pub(super) paused: bool,
}

impl BackloggedPairs {
    /// A pair begins to wait, or ends.
    pub(super) fn add(&mut self, limit: Option<Rate>) {
        match limit {
            None => self.free += 1,
            Some(limit) => {
                self.limited += 1;
                self.limits = self.limits.saturating_add(limit.bits_per_second());
            }
        }
    }

    /// The way back.
    pub(super) fn remove(&mut self, limit: Option<Rate>) {
        match limit {
            None => self.free = self.free.saturating_sub(1),
            Some(limit) => {
                self.limited = self.limited.saturating_sub(1);
                self.limits = self.limits.saturating_sub(limit.bits_per_second());
            }
        }
        self.paused |= self.is_empty();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.free == 0 && self.limited == 0
    }

    /// The most that the pairs which wait could send; `None`: as much as there is.
    pub(super) fn most(&self) -> Option<Rate> {
        (self.free == 0 && self.limited > 0).then(|| Rate::from_bits_per_second(self.limits))
    }
}

/// What a class receives.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    pub(super) terms: Share,
    /// What a broker allows.
    pub(super) allowed: Option<Rate>,
    /// Since the start.
    pub(super) total: Bytes,
    /// Since the last sample.
    pub(super) unsampled: u64,
    /// When a sender was last told something.
    pub(super) told_at: Time,
    pub(super) meter: RateMeter,
    pub(super) metered: MeteredUsage,
    pub(super) demand: DemandEstimator,
}

/// A pair that leaves this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendingPair {
    /// The place of its class.
    pub(super) class: usize,
    pub(super) demand: Backlog,
    /// What its receiver allows.
    pub(super) limit: Option<Rate>,
    /// When it last said so.
    pub(super) heard: Time,
    /// Tells this pair from others that have had its number.
    pub(super) epoch: u32,
}

/// Whether a pair has something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    Something,
    Nothing,
}

/// A pair that arrives at this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiving {
    /// The place of its class.
    pub(super) class: usize,
    /// `w_sender`.
    pub(super) weight: u64,
    /// The rate that it was last told, in bit/s; at first all that there is.
    pub(super) told: u64,
}
