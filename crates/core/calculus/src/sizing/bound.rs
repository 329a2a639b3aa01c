//! Equation 2 of Parley, section 4: no assumption on arrivals beyond a limit, on sizes, or on the order of service.
//!
//! Arrivals are at most `sigma + rho C t` in any time t (equation 1). A flow of size Z then completes within a time
//! of `(sigma + Z) / (C (1 - rho))`. The printed proof counts the arrivals after the flow and leaves out the backlog
//! at its beginning. The result holds nevertheless: as long as the flow is not complete the queue is busy, and a busy
//! period of length t serves `C t`. That is at most the arrivals in the period, `sigma + rho C t`, and the flow
//! itself if it is not counted among them.

use wayleave_units::{Bytes, Rate, Time};

use crate::sizing::WHOLE;
use crate::sizing::share::LoadFraction;

/// Nanoseconds of a second.
const NANOS: u128 = 1_000_000_000;

/// Maximum burst (sigma).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// A burst of this size.
    Size(Bytes),
    /// Amount that a line brings until rate control has converged, `C t` (section 4; 6.3: 15 iterations).
    Convergence(Time),
}

/// Flows of one size in a queue whose arrivals are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Sigma.
    pub burst: Burst,
    /// Z: of the flow, or the largest for which the bound shall hold.
    pub size: Bytes,
}

impl QueueBound {
    /// No flow takes longer.
    pub fn completion(&self, capacity: Rate, load: LoadFraction) -> Time {
        let capacity = u128::from(capacity.bits_per_second().max(1));
        let left = u128::from(WHOLE - load.billionths());
        // Bits times NANOS: below 2^64 * 2^30 * 2.
        let nanobits = self.burst_nanobits(capacity) + u128::from(self.size.bits()) * NANOS;
        // nanobits / capacity ns, over left / WHOLE.
        let alone = nanobits.div_ceil(capacity);
        let nanos = match nanobits.checked_mul(u128::from(WHOLE)) {
            Some(scaled) => scaled.div_ceil(capacity * left),
            None => alone.saturating_mul(u128::from(WHOLE)).div_ceil(left),
        };
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The most load that keeps a completion time; `None` if none does.
    pub fn peak_load(&self, capacity: Rate, within: Time) -> Option<LoadFraction> {
        let capacity = u128::from(capacity.bits_per_second().max(1));
        let nanobits = self.burst_nanobits(capacity) + u128::from(self.size.bits()) * NANOS;
        // 1 - alone / within, rounded down.
        let alone = nanobits.div_ceil(capacity);
        let within = u128::from(within.as_nanos());
        let taken = alone.saturating_mul(u128::from(WHOLE)).div_ceil(within.max(1));
        LoadFraction::from_billionths(u64::try_from(u128::from(WHOLE).checked_sub(taken)?).ok()?)
    }

    /// The least bandwidth that keeps a completion time under an offered rate, rho C; `None` if none does.
    pub fn bandwidth(&self, offered: Rate, within: Time) -> Option<Rate> {
        let (offered, within) = (u128::from(offered.bits_per_second()), u128::from(within.as_nanos()));
        let size = u128::from(self.size.bits()) * NANOS;
        let rate = match self.burst {
            // (sigma + Z) / (C - r) <= T
            Burst::Size(burst) => {
                let nanobits = size + u128::from(burst.bits()) * NANOS;
                offered + nanobits.div_ceil(within.max(1)).max(1)
            }
            // (C t + Z) / (C - r) <= T: C (T - t) >= Z + r T
            Burst::Convergence(time) => {
                let left = within.checked_sub(u128::from(time.as_nanos())).filter(|&left| left > 0)?;
                (size + offered * within).div_ceil(left).max(offered + 1)
            }
        };
        u64::try_from(rate).ok().map(Rate::from_bits_per_second).filter(|&rate| rate <= Rate::MAX)
    }

    fn burst_nanobits(&self, capacity: u128) -> u128 {
        match self.burst {
            Burst::Size(burst) => u128::from(burst.bits()) * NANOS,
            Burst::Convergence(time) => capacity * u128::from(time.as_nanos()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests assert by panicking")]
mod tests {
    use rand::{Rng, SeedableRng};

    use super::*;

    const TEN: Rate = Rate::from_gbit(10);

    fn table(size: u64) -> Vec<u64> {
        let bound = QueueBound { burst: Burst::Convergence(Time::from_micros(15 * 500)), size: Bytes::new(size) };
        ["0.15", "0.5", "0.7", "0.8"].map(|load| bound.completion(TEN, load.parse().unwrap()).as_nanos()).to_vec()
    }

    #[test]
    fn table_3_bounds() {
        // In units of 10 us, as the table rounds: 9.01, 15.32, 25.53, 38.30 ms and 9.77, 16.60, 27.67 ms. The fourth of B is not given there.
        let rounded = |times: Vec<u64>| -> Vec<u64> { times.iter().map(|time| (time + 5_000) / 10_000).collect() };
        assert_eq!(rounded(table(200_000)), [901, 1532, 2553, 3830]);
        assert_eq!(rounded(table(1_000_000)), [976, 1660, 2767, 4150]);
    }

    #[test]
    fn section_4_a_burst_of_83_packets() {
        // 100 Mbit/s and 10 ms until convergence: 125,000 B, 83 packets of 1,500 B.
        let bound = QueueBound { burst: Burst::Convergence(Time::from_millis(10)), size: Bytes::new(0) };
        assert_eq!(bound.burst_nanobits(100_000_000) / NANOS / 8 / 1_500, 83);
    }

    #[test]
    fn loads_and_bandwidths_are_the_best_that_meet_the_time() {
        let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(7);
        let mut found = [0; 2];
        for case in 0..2_000 {
            let mut below = |bound: u64| rng.next_u64() % bound;
            let capacity = Rate::from_bits_per_second(1 + below(100_000_000_000));
            let within = Time::from_nanos(1 + below(100_000_000));
            let burst = match case % 2 {
                0 => Burst::Size(Bytes::new(below(1_000_000))),
                _ => Burst::Convergence(Time::from_nanos(below(20_000_000))),
            };
            let bound = QueueBound { burst, size: Bytes::new(1 + below(10_000_000)) };
            if let Some(load) = bound.peak_load(capacity, within) {
                assert!(bound.completion(capacity, load) <= within, "case {case}");
                found[0] += 1;
            }
            let offered = Rate::from_bits_per_second(below(50_000_000_000));
            if let Some(rate) = bound.bandwidth(offered, within) {
                let kept = |rate: u64| {
                    // (sigma + Z) * 1e9 <= (C - r) * T, exactly.
                    let nanobits = bound.burst_nanobits(u128::from(rate)) + u128::from(bound.size.bits()) * NANOS;
                    let left = u128::from(rate.saturating_sub(offered.bits_per_second()));
                    left > 0 && nanobits <= left * u128::from(within.as_nanos())
                };
                let rate = rate.bits_per_second();
                assert!(kept(rate) && !kept(rate - 1), "case {case}: {rate}");
                found[1] += 1;
            }
        }
        assert!(found[0] > 300 && found[1] > 1_000, "{found:?}");
    }

    /// Random arrivals up to the limit, served last come first: the worst order that conserves work.
    #[test]
    fn no_flow_is_late_in_any_order() {
        let mut tightest = 0.0_f64;
        for seed in 0..300 {
            let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(seed);
            let mut below = |bound: u64| rng.next_u64() % bound;
            // One unit of work a step; arrivals in thousandths.
            let (sigma, rho) = (1_000 * (5 + below(50)), 100 + below(850));
            let mut tokens = sigma;
            let mut stack: Vec<(u64, u64, u64)> = Vec::new();
            for now in 0..3_000_u64 {
                tokens = sigma.min(tokens + rho);
                while tokens >= 1_000 && below(3) > 0 {
                    let size = (1 + below(4)).min(tokens / 1_000) * 1_000;
                    tokens -= size;
                    stack.push((now, size, size));
                }
                if let Some((began, size, left)) = stack.last_mut() {
                    *left -= 1_000;
                    if *left == 0 {
                        let took = (now + 1 - *began) as f64;
                        // Z is among the arrivals, so the bound even holds without it; discrete steps bring up to one rho more.
                        let bound = (sigma + rho + *size) as f64 / (1_000 - rho) as f64;
                        assert!(took <= bound, "seed {seed}: {took} > {bound}");
                        tightest = tightest.max(took / bound);
                        stack.pop();
                    }
                }
            }
        }
        assert!(tightest > 0.5, "the arrivals load the queue: {tightest}");
    }
}
