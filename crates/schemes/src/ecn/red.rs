//! Random early detection (Floyd and Jacobson, 1993).

use wayleave_roles::{Mark, QueueState, Switch};
use wayleave_units::{Bytes, Rate, Time};

use crate::random::{SplitMix, mix};

/// An idle port's average falls as if packets of this size had found the queue empty all the while (RED, section 4: a
/// typical small packet; tc-red(8): an `avpkt` of 1000 is a good value).
pub const IDLE_PACKET: Bytes = Bytes::new(1000);

/// Nanobits in an idle packet.
const IDLE_PACKET_NANOBITS: u128 = IDLE_PACKET.bits() as u128 * 1_000_000_000;

/// When a port marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedParams {
    /// min_th: no mark while the average is below.
    pub min: Bytes,
    /// max_th: everything is marked from here on; not below `min`.
    pub max: Bytes,
    /// max_p: the share of marks where the average comes up to `max`, from 0 to 1 (1/50 in the paper's simulations, section 5).
    pub probability: f64,
    /// w_q: what a sample counts in the average, above 0 and up to 1, which is the queue itself (0.002 in the
    /// paper's simulations, section 5; bounds in section 6).
    pub weight: f64,
    /// Line rate of the port.
    pub rate: Rate,
}

/// Marks more and more as the average queue grows.
///
/// ```
/// use wayleave_roles::{Mark, QueueState, Switch};
/// use wayleave_schemes::ecn::{Red, RedParams};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let (min, max) = (Bytes::new(5_000), Bytes::new(15_000));
/// let mut port = Red::new(RedParams { min, max, probability: 0.02, weight: 1.0, rate: Rate::from_gbit(10) }, 1);
/// let found = |queued| QueueState { queued: Bytes::new(queued), idle_since: None };
/// assert_eq!(port.on_arrival(Time::ZERO, found(4_999), 1538), Mark::No);
/// assert_eq!(port.on_arrival(Time::ZERO, found(15_000), 1538), Mark::Congestion);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    params: RedParams,
    /// avg, in bytes.
    average: f64,
    /// Packets since the last mark, while the average is between the thresholds.
    unmarked: u32,
    random: SplitMix,
}

impl Red {
    /// A port whose queue was always empty; ports should not share a seed.
    pub fn new(params: RedParams, seed: u64) -> Self {
        Self { params, average: 0.0, unmarked: 0, random: SplitMix::new(mix(seed)) }
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

    /// How many small packets could have been sent in this time; at least the one that comes.
    fn missed(&self, idle: Time) -> u64 {
        let nanobits = u128::from(idle.as_nanos()) * u128::from(self.params.rate.bits_per_second());
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
