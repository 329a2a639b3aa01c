//! Common parts of metrics.

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// A histogram of times, in seconds.
pub(crate) fn seconds() -> Histogram {
    // From 2 us to 8 s.
    Histogram::new(exponential_buckets(2e-6, 2.0, 23))
}

/// A count as a gauge takes it.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
