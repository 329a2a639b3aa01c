//! M/M/1, first come, first served: the completion time is exponential with the rate `mu (1 - rho)` (Parley, 2.1).

use wayleave_units::{Bytes, Rate, Time};

use crate::sizing::share::{LoadFraction, Percentile};
use crate::sizing::{WHOLE, rate_up, time_up};

/// Poisson arrivals of flows with exponential sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markov {
    /// The mean size.
    pub mean: Bytes,
    /// Percentile of flows that are to complete in time.
    pub percentile: Percentile,
}

impl Markov {
    /// The time that the share of flows does not exceed: `-ln(1 - p) / (mu (1 - rho))`.
    pub fn completion(&self, capacity: Rate, load: LoadFraction) -> Time {
        let left = (WHOLE - load.billionths()) as f64 / WHOLE as f64;
        time_up(self.factor() * self.mean_nanos(capacity) / left)
    }

    /// The most load that keeps a completion time; `None` if none does.
    pub fn peak_load(&self, capacity: Rate, within: Time) -> Option<LoadFraction> {
        let left = self.factor() * self.mean_nanos(capacity) / within.as_nanos().max(1) as f64;
        let load = (1.0 - left * (1.0 + 1e-12)) * WHOLE as f64;
        if load < 1.0 { None } else { LoadFraction::from_billionths(load as u64) }
    }

    /// The least bandwidth that keeps a completion time under an offered rate; `None` if it is more than can be written.
    pub fn bandwidth(&self, offered: Rate, within: Time) -> Option<Rate> {
        let excess = self.factor() * self.mean.bits() as f64 * 1e9 / within.as_nanos().max(1) as f64;
        rate_up(offered.bits_per_second() as f64 + excess)
    }

    /// Mean completion times in the percentile.
    fn factor(&self) -> f64 {
        -(-self.percentile.get()).ln_1p()
    }

    /// Of a mean flow alone.
    fn mean_nanos(&self, capacity: Rate) -> f64 {
        self.mean.bits() as f64 * 1e9 / capacity.bits_per_second().max(1) as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests assert by panicking")]
mod tests {
    use super::*;

    #[test]
    fn section_2_1_ninety_nine_percent_within_18_4_ms() {
        let service = Markov { mean: Bytes::new(1_000_000), percentile: "99".parse().unwrap() };
        let ten = Rate::from_gbit(10);
        let time = service.completion(ten, "0.8".parse().unwrap());
        // mu is 1.25 per ms: ln(100) / (1.25 * 0.2) ms = 18.42068 ms.
        assert_eq!(time.as_nanos(), 18_420_681);
        // And back: the time was rounded up to a nanosecond.
        let load = service.peak_load(ten, time).unwrap();
        assert!((800_000_000..=800_000_010).contains(&load.billionths()), "{load}");
        assert!(service.completion(ten, load) <= time);
        let bandwidth = service.bandwidth(Rate::from_gbit(8), time).unwrap().bits_per_second();
        assert!((9_999_999_900..=10_000_000_000).contains(&bandwidth), "{bandwidth}");
    }

    #[test]
    fn an_infeasible_target_has_no_result() {
        let service = Markov { mean: Bytes::new(1_000_000), percentile: "99".parse().unwrap() };
        // Alone a mean flow takes 0.8 ms, and 1 % of flows take 3.68 ms.
        assert_eq!(service.peak_load(Rate::from_gbit(10), Time::from_micros(3_684)), None);
        assert!(service.peak_load(Rate::from_gbit(10), Time::from_micros(3_685)).is_some());
        assert_eq!(service.bandwidth(Rate::MAX, Time::from_nanos(1)), None);
    }
}
