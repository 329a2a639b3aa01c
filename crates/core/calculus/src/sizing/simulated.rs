//! M/G/1, first come, first served, by simulation (Parley, 2.1: "an offline simulation to derive a bandwidth
//! guarantee").
//!
//! Lindley's recursion: a flow waits for the time that the previous flow still needs at its arrival. Batches of flows
//! give one percentile each; their spread is the error. One seed draws equal flows for every capacity and load. Each
//! completion time is monotone in both, step by step also in floating point, so that bisection finds the best answer.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_units::{Rate, Time};

use crate::sizing::share::{LoadFraction, Percentile};
use crate::sizing::{WHOLE, rate_up, time_up};

/// Batches, behind one that is thrown away: it begins with an empty queue.
const BATCHES: usize = 20;
/// Minimum number of flows in a batch, and minimum number of these beyond the percentile.
const FLOWS: f64 = 50_000.0;
const BEYOND: f64 = 100.0;
/// Student's t for 19 degrees of freedom, 97.5 %.
const STUDENT: f64 = 2.093;
/// A search ends when its interval is this part of the answer.
const PRECISION: f64 = 1e-4;

/// Distribution of the sizes of flows.
pub trait SizeDistribution {
    /// Returns the mean size in bytes.
    fn mean(&self) -> f64;

    /// Returns the size in bytes that a share `u` of all flows does not exceed.
    fn quantile(&self, u: f64) -> u64;
}

/// Poisson arrivals of flows with any sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated<'a, S> {
    /// Sizes of flows.
    pub sizes: &'a S,
    /// Share of flows that are to complete in time.
    pub percentile: Percentile,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The percentile of the completion time.
    pub within: Time,
    /// With 95 % confidence it is not above this.
    pub at_most: Time,
    /// Number of counted flows.
    pub flows: u64,
}

impl<S: SizeDistribution> Simulated<'_, S> {
    /// The time that the share of flows does not exceed.
    pub fn completion(&self, capacity: Rate, load: LoadFraction) -> Estimate {
        let offered = capacity.bits_per_second() as f64 * (load.billionths() as f64 / WHOLE as f64);
        self.run(capacity.bits_per_second() as f64, offered)
    }

    /// The most load that keeps a completion time with 95 % confidence; `None` if not even one of a thousandth does.
    pub fn peak_load(&self, capacity: Rate, within: Time) -> Option<LoadFraction> {
        let capacity = capacity.bits_per_second() as f64;
        let keeps = |load: f64| self.run(capacity, capacity * load).at_most <= within;
        let (mut low, mut high) = (0.001, 1.0);
        if !keeps(low) {
            return None;
        }
        while high - low > PRECISION * low {
            let middle = (low + high) / 2.0;
            if keeps(middle) { low = middle } else { high = middle }
        }
        LoadFraction::from_billionths((low * WHOLE as f64) as u64)
    }

    /// The least bandwidth that keeps a completion time under an offered rate with 95 % confidence; `None` if it is more than can be written.
    pub fn bandwidth(&self, offered: Rate, within: Time) -> Option<Rate> {
        let offered = offered.bits_per_second().max(1) as f64;
        let keeps = |capacity: f64| self.run(capacity, offered).at_most <= within;
        let (mut low, mut high) = (offered, 2.0 * offered);
        while !keeps(high) {
            (low, high) = (high, 2.0 * high);
            rate_up(high)?;
        }
        while high - low > PRECISION * high {
            let middle = (low + high) / 2.0;
            if keeps(middle) { high = middle } else { low = middle }
        }
        rate_up(high)
    }

    /// With a capacity and an offered rate in bit/s.
    fn run(&self, capacity: f64, offered: f64) -> Estimate {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut unit = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let share = self.percentile.get();
        let flows = FLOWS.max((BEYOND / (1.0 - share)).ceil()) as usize;
        let gap = self.sizes.mean() * 8e9 / offered;
        let mut batch = vec![0.0; flows];
        let rank = ((flows as f64 * share).ceil() as usize).clamp(1, flows) - 1;
        let mut found = Vec::with_capacity(BATCHES);
        let mut work = 0.0_f64;
        for number in 0..=BATCHES {
            for completion in &mut batch {
                let size = self.sizes.quantile(unit()) as f64;
                work = (work - -(1.0 - unit()).ln() * gap).max(0.0) + size * 8e9 / capacity;
                *completion = work;
            }
            let (_, percentile, _) = batch.select_nth_unstable_by(rank, f64::total_cmp);
            if number > 0 {
                found.push(*percentile);
            }
        }
        let count = BATCHES as f64;
        let mean = found.iter().sum::<f64>() / count;
        let variance = found.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = STUDENT * (variance / count).sqrt();
        Estimate { within: time_up(mean), at_most: time_up(mean + error), flows: (BATCHES * flows) as u64 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests assert by panicking")]
mod tests {
    use wayleave_units::Bytes;

    use super::*;
    use crate::sizing::Markov;

    const MB: Bytes = Bytes::new(1_000_000);

    struct Exponential;

    impl SizeDistribution for Exponential {
        fn mean(&self) -> f64 {
            1e6
        }

        fn quantile(&self, u: f64) -> u64 {
            (-(1.0 - u).ln() * 1e6).round() as u64
        }
    }

    struct Fixed;

    impl SizeDistribution for Fixed {
        fn mean(&self) -> f64 {
            1e6
        }

        fn quantile(&self, _: f64) -> u64 {
            1_000_000
        }
    }

    fn simulated<S>(sizes: &S) -> Simulated<'_, S> {
        Simulated { sizes, percentile: "99".parse().unwrap(), seed: 1 }
    }

    #[test]
    fn exponential_sizes_are_the_closed_form() {
        let markov = Markov { mean: MB, percentile: "99".parse().unwrap() };
        for load in ["0.3", "0.5", "0.8"] {
            let load = load.parse().unwrap();
            let wanted = markov.completion(Rate::from_gbit(10), load).as_nanos() as f64;
            let estimate = simulated(&Exponential).completion(Rate::from_gbit(10), load);
            let error = (estimate.at_most.as_nanos() - estimate.within.as_nanos()) as f64;
            let off = (estimate.within.as_nanos() as f64 - wanted).abs();
            assert!(off < 2.0 * error + 0.002 * wanted, "{load}: {estimate:?}, and {wanted} ns are right");
            assert!(error < 0.05 * wanted, "{load}: {estimate:?}");
        }
    }

    /// Erlang (1909): the waiting time of M/D/1, in service times.
    fn waits_at_most(load: f64, time: f64) -> f64 {
        let term = |k: u32| {
            let x = load * (time - f64::from(k));
            let factorial: f64 = (1..=k).map(f64::from).product();
            (-x).powi(k as i32) / factorial * x.exp()
        };
        (1.0 - load) * (0..=time as u32).map(term).sum::<f64>()
    }

    #[test]
    fn fixed_sizes_are_erlang_s_queue() {
        for load in [0.5, 0.7] {
            let (mut low, mut high) = (0.0, 40.0);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if waits_at_most(load, middle) < 0.99 { low = middle } else { high = middle }
            }
            let wanted = (1.0 + high) * 800_000.0;
            let asked = LoadFraction::from_billionths((load * 1e9) as u64).unwrap();
            let estimate = simulated(&Fixed).completion(Rate::from_gbit(10), asked);
            let off = (estimate.within.as_nanos() as f64 / wanted - 1.0).abs();
            assert!(off < 0.02, "{load}: {estimate:?}, and {wanted} ns are right");
        }
    }
}
