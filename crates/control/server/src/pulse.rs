//! The progress of the engine's thread: who keeps the lease of a leader goes by it, and so does the watchdog of the system.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Maximum time of an engine that reads the ledger: as long as the watchdog waits (`WatchdogSec` in `packaging/systemd/wayleave.service`).
const MAX_READING: Duration = Duration::from_secs(30);

/// Progress of the engine's thread.
#[derive(Debug, Default)]
pub struct EngineHeartbeat {
    count_progress: AtomicU64,
    is_reading: AtomicBool,
}

impl EngineHeartbeat {
    /// Records progress of the engine's loop.
    pub(crate) fn record_progress(&self) {
        self.count_progress.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of signs of progress.
    pub(crate) fn count_progress(&self) -> u64 {
        self.count_progress.load(Ordering::Relaxed)
    }

    /// The engine reads the ledger, or no longer: that takes time and has no steps.
    pub(crate) fn reads(&self, is_reading: bool) {
        self.is_reading.store(is_reading, Ordering::Relaxed);
        self.record_progress();
    }
}

/// Detects a hanging engine from observations of its progress.
#[derive(Debug)]
pub(crate) struct Watch {
    count_progress: u64,
    /// Time of the last progress, in nanoseconds of the observer's clock.
    seen: u64,
    /// Maximum time without progress.
    most: Duration,
}

impl Watch {
    /// An engine that was in order at this time. It may be silent for `most` while it does not read the ledger.
    pub(crate) fn new(most: Duration, now: u64) -> Self {
        Self { count_progress: 0, seen: now, most }
    }

    /// Observes the progress; returns the time without progress, if it is too long.
    pub(crate) fn look(&mut self, pulse: &EngineHeartbeat, now: u64) -> Option<Duration> {
        let count_progress = pulse.count_progress();
        if count_progress != self.count_progress {
            (self.count_progress, self.seen) = (count_progress, now);
        }
        let most = if pulse.is_reading.load(Ordering::Relaxed) { self.most.max(MAX_READING) } else { self.most };
        Some(Duration::from_nanos(now.saturating_sub(self.seen))).filter(|&silent| silent > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn an_engine_without_progress_for_too_long_hangs() {
        let (pulse, mut watch) = (EngineHeartbeat::default(), Watch::new(Duration::from_secs(3), 5 * SECOND));
        assert_eq!(watch.look(&pulse, 8 * SECOND), None);
        assert_eq!(watch.look(&pulse, 9 * SECOND), Some(Duration::from_secs(4)));
        pulse.record_progress();
        assert_eq!(watch.look(&pulse, 9 * SECOND), None);
        assert_eq!(watch.look(&pulse, 12 * SECOND), None);
        assert_eq!(watch.look(&pulse, 13 * SECOND), Some(Duration::from_secs(4)), "beats of before count once");
    }

    #[test]
    fn reading_the_ledger_may_take_longer_but_not_indefinitely() {
        let (pulse, mut watch) = (EngineHeartbeat::default(), Watch::new(Duration::from_secs(3), 0));
        pulse.reads(true);
        assert_eq!(watch.look(&pulse, SECOND), None);
        assert_eq!(watch.look(&pulse, 31 * SECOND), None);
        assert_eq!(watch.look(&pulse, 32 * SECOND), Some(Duration::from_secs(31)));
        pulse.reads(false);
        assert_eq!(watch.look(&pulse, 32 * SECOND), None);
        assert_eq!(watch.look(&pulse, 36 * SECOND), Some(Duration::from_secs(4)));
    }
}
