//! Provisioning for latency (Parley: Jeyakumar et al., "Flexible Network Bandwidth and Latency Provisioning in the
//! Datacenter", 2014, sections 2.1 and 4). From flow sizes and load it computes the bandwidth or the peak load that
//! keeps completion times, and the reverse.
//!
//! A service is a queue with a guaranteed capacity C that its flows load to a share `rho`. Three models, from most to
//! fewest assumptions:
//!
//! | module | arrivals | sizes | order | answer |
//! |---|---|---|---|---|
//! | `markov` | Poisson | exponential | first come, first served | closed form (2.1) |
//! | `simulated` | Poisson | any distribution | first come, first served | simulation, with its error (2.1) |
//! | `bound` | at most `sigma + rho C t` in any time t | any | any that conserves work | equation 2: holds for every flow |
//!
//! Each answers three questions: the completion time of a flow ([`completion`](Markov::completion)), and the load and
//! the bandwidth that keep a completion time. Answers round towards safety: times and bandwidths up, loads down.
//!
//! ```
//! use wayleave_calculus::sizing::{QueueBound, Burst, LoadFraction, Markov, Percentile};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! let ten = Rate::from_gbit(10);
//! // Section 2.1: flows of 1 MB in the mean, 99 % of them within 18.4 ms. That is at a load of 0.8.
//! let service = Markov { mean: Bytes::new(1_000_000), percentile: "99".parse::<Percentile>().unwrap() };
//! let load: LoadFraction = "80%".parse().unwrap();
//! assert_eq!(service.completion(ten, load).as_nanos() / 1_000, 18_420);
//! // Table 3, flows of A at 15 %: 9.01 ms. The control converges in 15 iterations of 500 us.
//! let bound = QueueBound { burst: Burst::Convergence(Time::from_micros(15 * 500)), size: Bytes::new(200_000) };
//! assert_eq!(bound.completion(ten, "0.15".parse().unwrap()).as_nanos() / 10_000, 901);
//! ```

mod bound;
mod markov;
mod share;
mod simulated;

pub use bound::{Burst, QueueBound};
pub use markov::Markov;
pub use share::{LoadFraction, Percentile, ShareError};
pub use simulated::{Estimate, Simulated, SizeDistribution};

use wayleave_units::{Rate, Time};

/// Billionths of a whole.
const WHOLE: u64 = 1_000_000_000;

/// A time in ns that is surely not below `nanos`, which has the errors of a few operations.
fn time_up(nanos: f64) -> Time {
    // A conversion to an integer saturates.
    Time::from_nanos((nanos * (1.0 + 1e-12)).ceil() as u64)
}

/// A rate in bit/s that is surely not below `rate`; `None` if there is none.
fn rate_up(rate: f64) -> Option<Rate> {
    let rate = (rate * (1.0 + 1e-12)).ceil();
    (rate.is_finite() && rate <= Rate::MAX.bits_per_second() as f64).then(|| Rate::from_bits_per_second(rate as u64))
}
