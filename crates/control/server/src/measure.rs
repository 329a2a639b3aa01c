//! Common parts of metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
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

/// A histogram that was counted elsewhere: a sum, and the number of observations up to each edge and above the one before. It
/// may be unknown: then it has no samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownHistogram(Arc<Mutex<Option<CountedTimes>>>);

/// Sum of all observations, and their numbers by class.
type CountedTimes = (f64, Vec<(f64, u64)>);

impl KnownHistogram {
    pub(crate) fn set(&self, counted: Option<CountedTimes>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counted;
    }
}

impl EncodeMetric for KnownHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((sum, classes)) => {
                let count = classes.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
                encoder.encode_histogram::<NoLabelSet>(*sum, count, classes, None)
            }
            None => Ok(()),
        }
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
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
