//! Statistics of millions of packets in bounded memory: distributions, time series, completions of flows.
//!
//! The simulator calls these on its hot path. So a [`Histogram`] is one cache line beside its counters. A series
//! keeps its open interval in its own line and touches its bins only when a bin ends. Values needed only at the end
//! of a run are computed then. Nothing here knows the simulator: times are picoseconds since the start of the run and
//! sizes are bytes, both as `u64`.
//!
//! ```
//! use wayleave_sim::stats::Histogram;
//!
//! let mut waits = Histogram::new();
//! for wait_ps in [0, 0, 0, 5_120, 1_230_400] {
//!     waits.record(wait_ps);
//! }
//! assert_eq!(waits.percentile(50.0), Some(0));
//! assert_eq!(waits.percentile(100.0), Some(1_230_400));
//! ```

mod bins;
mod buckets;
mod completions;
mod histogram;
#[cfg(test)]
mod histogram_tests;
mod histograms;
mod lag;
mod levels;
mod series;
#[cfg(test)]
mod series_tests;
mod shortfall;

pub use completions::{Completions, Deadlines, SLOWDOWN_PARTS, SizeClass};
pub use histogram::{CdfPoint, Histogram, HistogramBucket};
pub use histograms::{HistogramBin, Histograms};
pub use lag::Lag;
pub use levels::{LevelBin, Levels};
pub use series::{Bin, Series};
pub use shortfall::Shortfall;
