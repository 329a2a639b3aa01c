//! Traffic between two points of a history.

use std::time::Duration;

use super::series::SLOT_S;

/// Sums of the intervals between two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(super) bits: u64,
    pub(super) covered: Duration,
    /// Highest rate of an interval.
    max_bps: u64,
    /// Number of runs of intervals that adjoin.
    pub(super) runs: u32,
    /// `true` if the next interval adjoins the last one.
    is_continued: bool,
    /// `true` if an interval has no time by the clock of its node.
    pub(super) has_arrivals: bool,
    /// `true` if the traffic of an interval is unknown.
    pub(super) is_interrupted: bool,
    /// `true` if counters went back: they count from a new start.
    pub(super) has_new_start: bool,
}

impl Window {
    /// A window that begins with counters of which nothing earlier is known.
    pub(crate) fn interrupted() -> Self {
        Self { is_interrupted: true, ..Self::default() }
    }

    /// Adds the traffic of an interval.
    pub(crate) fn add(&mut self, bits: u64, took: Duration, rate_bps: u64) {
        self.bits = self.bits.saturating_add(bits);
        self.covered = self.covered.saturating_add(took);
        self.max_bps = self.max_bps.max(rate_bps);
        self.runs += u32::from(!std::mem::replace(&mut self.is_continued, true));
    }

    /// Takes an interval of which the traffic is unknown.
    pub(crate) fn interrupt(&mut self) {
        (self.is_continued, self.is_interrupted) = (false, true);
    }

    /// Takes an interval at whose end counters were lower than at its begin: its traffic is unknown.
    pub(crate) fn start_anew(&mut self) {
        self.interrupt();
        self.has_new_start = true;
    }

    /// Takes an interval without a time by the clock of its node.
    pub(crate) fn on_arrival(&mut self) {
        self.has_arrivals = true;
    }

    /// Returns the mean rate; `None` if less than half of [`SLOT_S`] was observed.
    pub(crate) fn mean_bps(&self) -> Option<u64> {
        let is_known = self.covered >= Duration::from_secs(SLOT_S) / 2;
        let mean = u128::from(self.bits) * 1_000_000_000 / self.covered.as_nanos().max(1);
        is_known.then(|| u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// Returns the highest rate; `None` if the mean is unknown.
    pub(crate) fn max_bps(&self) -> Option<u64> {
        self.mean_bps().map(|mean| self.max_bps.max(mean))
    }
}
