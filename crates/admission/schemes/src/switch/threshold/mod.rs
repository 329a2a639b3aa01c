//! Marking by a threshold, as DCTCP requires.
//!
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; K. Ramakrishnan, S. Floyd, D. Black,
//! "The Addition of Explicit Congestion Notification (ECN) to IP", RFC 3168 (2001).
//!
//! Every packet that finds more than K in the queue is marked: a sender learns the extent of congestion within a
//! round trip.
//!
//! | text | here |
//! |---|---|
//! | DCTCP, 3.1 (1): mark if the queue is longer than K when the packet arrives | [`Threshold`] |
//!
//! Deviations: none.

use wayleave_scheme_api::{Described, Descriptor, Mark, Parameters, QueueState, Role, Switch, ValueKind, params};
use wayleave_units::{Bytes, Rate, Time};

use crate::switches::{Ecn, SwitchScheme};

/// Descriptor of marking by a threshold.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "threshold",
    title: "marking threshold",
    roles: &[Role::Switch],
    summary: "Marks packets that arrive at a queue longer than a threshold",
    citation: "M. Alizadeh and others, \"Data Center TCP (DCTCP)\", SIGCOMM 2010, section 3.1",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The threshold.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Marking threshold, K.
        pub size: Bytes = Bytes::ZERO, "size", ValueKind::Bytes { least: Bytes::ZERO, most: Bytes::MAX },
            "required (DCTCP, 3.4: 65 packets at 10 Gbit/s)",
            { example: "97kB", missing: "a marking threshold needs a size" };
    }
}

/// Marks what finds more than this in the queue.
///
/// ```
/// use wayleave_scheme_api::{Mark, QueueState, Switch};
/// use wayleave_schemes::switch::threshold::Threshold;
/// use wayleave_units::{Bytes, Time};
///
/// let mut port = Threshold(Bytes::new(30_000));
/// let found = |queued| QueueState { queued: Bytes::new(queued), idle_since: None };
/// assert_eq!(port.on_arrival(Time::ZERO, found(30_000), 1538), Mark::No);
/// assert_eq!(port.on_arrival(Time::ZERO, found(30_001), 1538), Mark::Congestion);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold(
    /// K.
    pub Bytes,
);

impl Described for Threshold {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl SwitchScheme for Threshold {
    fn begin(params: &Params, _: Rate, _: u64) -> Self {
        Self(params.size)
    }

    fn threshold(params: &Params) -> Option<Bytes> {
        Some(params.size)
    }
}

impl Switch for Threshold {
    #[inline]
    fn on_arrival(&mut self, _now: Time, queue: QueueState, _bytes: u32) -> Mark {
        if queue.queued > self.0 { Mark::Congestion } else { Mark::No }
    }
}

impl Ecn {
    /// Marks packets that find more than this (DCTCP).
    pub const fn above(size: Bytes) -> Self {
        Self::Threshold(Params { size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_marks_only_packets_that_find_more_bytes_queued() {
        let mut port = Threshold(Bytes::new(100));
        for (queued, mark) in [(0, Mark::No), (100, Mark::No), (101, Mark::Congestion), (10_000, Mark::Congestion)] {
            let found = QueueState { queued: Bytes::new(queued), idle_since: None };
            assert_eq!(port.on_arrival(Time::ZERO, found, 1538), mark, "{queued}");
        }
    }
}
