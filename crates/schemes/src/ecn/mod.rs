//! Marking by the length of the queue: DCTCP's threshold, and random early detection.
//!
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; S. Floyd, V. Jacobson, "Random Early
//! Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993; K. Ramakrishnan,
//! S. Floyd, D. Black, "The Addition of Explicit Congestion Notification (ECN) to IP", RFC 3168 (2001).
//!
//! DCTCP marks every packet that finds more than K in the queue: a sender hears of congestion within a round trip and
//! as much of it as there is. RED averages the queue first, so that bursts pass, and marks a share of packets that grows
//! from 0 at one threshold to a maximum at another, spread evenly instead of in heaps; above, it marks all.
//!
//! | text | here |
//! |---|---|
//! | DCTCP, 3.1 (1): mark if the queue is longer than K when the packet comes | [`Threshold`] |
//! | RED, Fig. 2: the algorithm | [`Red`] |
//! | RED, section 4: `avg = (1 - w) avg + w q`; idle time as small packets | `sample` |
//! | RED, section 4: `p_b = max_p (avg - min) / (max - min)` | `probability` |
//! | RED, section 7, method 2: `p_a = p_b / (1 - count p_b)` | `decide` |
//!
//! Deviations, and what the texts leave open:
//! - `count` is the number of packets since the last mark without the one that comes, so that gaps between marks are
//!   uniform over 1 ... 1 / p_b (section 7, method 2); Fig. 2 counts the packet first, and never reaches 1 / p_b.
//! - A packet that finds the port idle counts at least one sample of an empty queue, also if it comes at once; so a
//!   weight of 1 is the queue itself, always.
//! - Probabilities do not depend on the packets' sizes (Fig. 2 leaves it open; section 4 offers both).
//! - RED drops nothing: full queues are the port's.

mod red;

use wayleave_roles::{Mark, QueueState, Switch};
use wayleave_units::{Bytes, Time};

pub use red::{IDLE_PACKET, Red, RedParams};

/// Marks what finds more than this in the queue.
///
/// ```
/// use wayleave_roles::{Mark, QueueState, Switch};
/// use wayleave_schemes::ecn::Threshold;
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

impl Switch for Threshold {
    #[inline]
    fn on_arrival(&mut self, _now: Time, queue: QueueState, _bytes: u32) -> Mark {
        if queue.queued > self.0 { Mark::Congestion } else { Mark::No }
    }
}

#[cfg(test)]
mod tests;
