//! Requests of the Java program with which we ran Chameleon's published controller, from its seeds.
//!
//! The program draws with `java.util.Random`, whose recurrence the Java API documents. `silo1` and `reroute2` of the fixtures of
//! `wayleave-schemes` have requests that it recorded.

use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::LatencyContract;
use crate::mix::{TABLE_1, TABLE_2};

/// An endless list of random requests between random hosts, as [`RequestMix`](crate::RequestMix), but as the Java program draws them.
pub struct JavaMix {
    hosts: Vec<NodeId>,
    weights: [u32; 4],
    random: JavaRandom,
    count: u64,
}

impl JavaMix {
    /// Scenario 1 to 8 of Table 2 (others count as 8) on the hosts of a network, of which there must be two.
    pub fn new(network: &Network, scenario: usize, seed: u64) -> Self {
        let weights = TABLE_2[scenario.clamp(1, 8) - 1];
        Self { hosts: network.hosts().collect(), weights, random: JavaRandom::new(seed), count: 0 }
    }

    fn host(&mut self) -> NodeId {
        self.hosts[self.random.below(self.hosts.len() as u64) as usize]
    }

    fn category(&mut self) -> usize {
        let drawn = self.random.fraction();
        let mut end = 0.0;
        let is_beyond = |weight: &&u32| {
            end += f64::from(**weight) / 100.0;
            drawn >= end
        };
        self.weights[..3].iter().take_while(is_beyond).count()
    }
}

impl Iterator for JavaMix {
    type Item = LatencyContract;

    fn next(&mut self) -> Option<LatencyContract> {
        if self.hosts.len() < 2 {
            return None;
        }
        self.count += 1;
        let (from, mut to) = (self.host(), self.host());
        while to == from {
            to = self.host();
        }
        let rows = TABLE_1[self.category()];
        let row = &rows[self.random.below(rows.len() as u64) as usize];
        let mut between = |(low, high): (u64, u64)| low as f64 + (high - low) as f64 * self.random.fraction();
        // The program rounds to whole bytes a second, whole bytes and nanoseconds.
        let rate = Rate::from_bits_per_second((between(row.rate_kbit) * 125.0).round() as u64 * 8);
        let burst = Bytes::new(between(row.burst_bytes).round() as u64);
        let deadline = Time::from_nanos((between(row.deadline_ms) * 1e6).round() as u64);
        Some(LatencyContract::new(format!("{}-{}", row.name, self.count), from, to, rate, burst, deadline))
    }
}

/// `java.util.Random`: a linear congruential generator with 48 bits.
struct JavaRandom(u64);

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    const fn new(seed: u64) -> Self {
        Self((seed ^ Self::MULTIPLIER) & Self::MASK)
    }

    const fn next(&mut self, bits: u32) -> u64 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB) & Self::MASK;
        self.0 >> (48 - bits)
    }

    /// `nextInt(bound)`.
    const fn below(&mut self, bound: u64) -> u64 {
        if bound.is_power_of_two() {
            return (bound * self.next(31)) >> 31;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // Draws above the last multiple of the bound are repeated.
            if bits - value + (bound - 1) < 1 << 31 {
                return value;
            }
        }
    }

    /// `nextDouble()`.
    const fn fraction(&mut self) -> f64 {
        ((self.next(26) << 27) + self.next(27)) as f64 / (1_u64 << 53) as f64
    }
}
