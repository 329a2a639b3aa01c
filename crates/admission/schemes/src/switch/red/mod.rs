//! Marking by random early detection.
//!
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993; K. Ramakrishnan, S. Floyd, D. Black, "The Addition of Explicit Congestion Notification
//! (ECN) to IP", RFC 3168 (2001).
//!
//! RED averages the queue first, so that bursts pass. It marks a share of packets that grows from 0 at one threshold
//! to a maximum at another, spread evenly instead of in heaps; above, it marks all.
//!
//! | text | here |
//! |---|---|
//! | Fig. 2: the algorithm | [`Red`] |
//! | section 4: `avg = (1 - w) avg + w q`; idle time as small packets | `sample` |
//! | section 4: `p_b = max_p (avg - min) / (max - min)` | `probability` |
//! | section 7, method 2: `p_a = p_b / (1 - count p_b)` | `decide` |
//!
//! Deviations, and points that the text leaves open:
//! - `count` is the number of packets since the last mark without the arriving one, so that gaps between marks are
//!   uniform over 1 ... 1 / p_b (section 7, method 2); Fig. 2 counts the packet first, and never reaches 1 / p_b.
//! - A packet that finds the port idle counts at least one sample of an empty queue, even if it arrives at once; so a
//!   weight of 1 is always the queue itself.
//! - Probabilities do not depend on the packets' sizes (Fig. 2 leaves it open; section 4 offers both).
//! - Nothing is dropped: full queues are the port's.
//! - The default weight is 1, the queue itself, as DCTCP (SIGCOMM 2010, 3.1) sets it; the paper has 0.002.

use wayleave_scheme_api::{Described, Descriptor, Mark, Parameters, QueueState, Role, Switch, ValueKind, params};
use wayleave_units::{Bytes, Rate, Time};

use crate::random::{SplitMix, mix};
use crate::switches::SwitchScheme;

/// Descriptor of random early detection.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "red",
    title: "random early detection",
    roles: &[Role::Switch],
    summary: "Random early detection",
    citation: "S. Floyd, V. Jacobson, \"Random Early Detection Gateways for Congestion Avoidance\", IEEE/ACM Transactions on Networking 1(4), 1993",
    guarantee: "nothing",
    parameters: Params::LIST,
};

/// A size, also of nothing.
const SIZE: ValueKind = ValueKind::Bytes { least: Bytes::ZERO, most: Bytes::MAX };

params! {
    /// Thresholds and probability of marks.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Average queue below which no packet is marked.
        pub min: Bytes = Bytes::ZERO, "min", SIZE, "required (section 5: 5 packets)",
            { example: "30kB" };
        /// Average queue above which every packet is marked.
        pub max: Bytes = Bytes::ZERO, "max", SIZE, "required (section 5: 15 packets)",
            { example: "90kB" };
        /// Marking probability at the threshold max.
        pub probability: f64 = 0.02, "probability", ValueKind::Fraction, "required (section 5: 1/50)",
            { example: "0.1" };
        /// Weight of a sample in the average queue; 1 is the current queue.
        pub weight: f64 = 1.0, "weight", ValueKind::Fraction, "DCTCP, SIGCOMM 2010, 3.1; section 5 has 0.002";
    }
}

/// An idle port's average falls as if packets of this size had found the queue empty all the while (RED, section 4: a
/// typical small packet; tc-red(8): an `avpkt` of 1000 is a good value).
pub const IDLE_PACKET: Bytes = Bytes::new(1000);

/// Nanobits in an idle packet.
const IDLE_PACKET_NANOBITS: u128 = IDLE_PACKET.bits() as u128 * 1_000_000_000;

/// Marks more and more as the average queue grows.
///
/// ```
/// use wayleave_scheme_api::{Mark, QueueState, Switch};
/// use wayleave_schemes::switch::red::{Params, Red};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let (min, max) = (Bytes::new(5_000), Bytes::new(15_000));
/// let params = Params { min, max, probability: 0.02, weight: 1.0 };
/// let mut port = Red::new(params, Rate::from_gbit(10), 1);
/// let found = |queued| QueueState { queued: Bytes::new(queued), idle_since: None };
/// assert_eq!(port.on_arrival(Time::ZERO, found(4_999), 1538), Mark::No);
/// assert_eq!(port.on_arrival(Time::ZERO, found(15_000), 1538), Mark::Congestion);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    params: Params,
    /// Of the port.
    rate: Rate,
    /// avg, in bytes.
    average: f64,
    /// Packets since the last mark, while the average is between the thresholds.
    unmarked: u32,
    random: SplitMix,
}

impl Red {
    /// A port of this rate whose queue was always empty; ports should not share a seed.
    pub fn new(params: Params, rate: Rate, seed: u64) -> Self {
        Self { params, rate, average: 0.0, unmarked: 0, random: SplitMix::new(mix(seed)) }
    }

    /// The average queue, in bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    fn sample(&mut self, now: Time, queue: QueueState) {
        let weight = self.params.weight;
        match queue.idle_since {
            None => self.average += weight * (queue.queued.get() as f64 - self.average),
            Some(since) => self.average *= power(1.0 - weight, self.missed(now.saturating_sub(since))),
        }
    }

    /// Returns the number of small packets that could have been sent in this time; at least the arriving one.
    fn missed(&self, idle: Time) -> u64 {
        let nanobits = u128::from(idle.as_nanos()) * u128::from(self.rate.bits_per_second());
        u64::try_from(nanobits / IDLE_PACKET_NANOBITS).unwrap_or(u64::MAX).max(1)
    }

    /// p_b: the share of packets to mark at this average, which is between the thresholds.
    fn probability(&self) -> f64 {
        let (min, max) = (self.params.min.get() as f64, self.params.max.get() as f64);
        self.params.probability * (self.average - min) / (max - min)
    }

    fn decide(&mut self) -> Mark {
        if self.average >= self.params.max.get() as f64 {
            self.unmarked = 0;
            return Mark::Congestion;
        }
        if self.average < self.params.min.get() as f64 {
            self.unmarked = 0;
            return Mark::No;
        }
        let share = self.probability();
        let left = 1.0 - f64::from(self.unmarked) * share;
        // p_a is at least 1 where nothing is left.
        if self.random.unit() * left < share {
            self.unmarked = 0;
            Mark::Congestion
        } else {
            self.unmarked = self.unmarked.saturating_add(1);
            Mark::No
        }
    }
}

impl Described for Red {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl SwitchScheme for Red {
    fn begin(params: &Params, rate: Rate, seed: u64) -> Self {
        Self::new(*params, rate, seed)
    }

    fn conflict(params: &Params) -> Option<String> {
        let Params { min, max, .. } = params;
        (min >= max).then(|| format!("min is {min} and max is {max}: min must be below max"))
    }
}

impl Switch for Red {
    fn on_arrival(&mut self, now: Time, queue: QueueState, _bytes: u32) -> Mark {
        self.sample(now, queue);
        self.decide()
    }
}

/// `base` to the power of `exponent`, by squaring: the library's power may differ between machines.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
