//! Common parts of metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// A gauge whose value may be unknown: then it has no sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownGauge {
    gauge: Gauge,
    is_known: Arc<AtomicBool>,
}

impl KnownGauge {
    pub(crate) fn set(&self, count: Option<u64>) {
        self.is_known.store(count.is_some(), Ordering::Relaxed);
        self.gauge.set(signed(count.unwrap_or(0)));
    }
}

impl EncodeMetric for KnownGauge {
    fn encode(&self, encoder: MetricEncoder<'_>) -> std::fmt::Result {
        if self.is_known.load(Ordering::Relaxed) { self.gauge.encode(encoder) } else { Ok(()) }
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// A histogram of times, in seconds.
pub(crate) fn seconds() -> Histogram {
    // From 2 us to 8 s.
    Histogram::new(exponential_buckets(2e-6, 2.0, 23))
}

/// A count as a gauge takes it.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
