//! State of a class and of a pair at a machine.

use wayleave_scheme_api::{Bucket, ClassId, Share};
use wayleave_sharing::DemandEstimator;
use wayleave_units::{Bytes, Rate, Time};

use super::meter::RateMeter;
use crate::usage_report::MeteredUsage;

/// A class at this machine.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) id: ClassId,
    /// Activity: `Active` if it shares the line, with the end of the last interval in which it moved bytes.
    pub(super) activity: Activity,
    pub(super) transmit: Transmit,
    pub(super) receive: Receive,
}

/// Activity of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It has moved nothing for long.
    Idle,
    /// It last moved something in the interval that ended then.
    Active { last: Time },
}

/// Sending side of a class.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    pub(super) terms: Share,
    /// Rate that a broker allows.
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
    /// Pairs without a limit from their receivers.
    pub(super) free: u32,
    /// Pairs with a limit from their receivers, and the sum of these limits, in bit/s.
    pub(super) limited: u32,
    pub(super) limits: u64,
    /// `true` if at some moment in this interval no pair had anything to send.
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

    /// Removes a pair that no longer waits.
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

/// Receiving side of a class.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    pub(super) terms: Share,
    /// Rate that a broker allows.
    pub(super) allowed: Option<Rate>,
    /// Since the start.
    pub(super) total: Bytes,
    /// Since the last sample.
    pub(super) unsampled: u64,
    /// Time of the last feedback to a sender.
    pub(super) last_sent_at: Time,
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
    /// Rate that its receiver allows.
    pub(super) limit: Option<Rate>,
    /// Time of the receiver's last feedback.
    pub(super) last_feedback: Time,
    /// Distinguishes this pair from earlier ones with the same number.
    pub(super) epoch: u32,
}

/// Presence of data to send in a pair.
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
    /// Last rate in a feedback to it, in bit/s; initially the whole capacity.
    pub(super) last_sent: u64,
}
