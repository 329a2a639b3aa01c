//! Shortfall of a guarantee while there was demand (uFAB, SIGCOMM 2022, section 5: bandwidth dissatisfaction).

use super::series::Series;

/// Bits of a byte times ps of a second.
const BITS_PS: u128 = 8 * 1_000_000_000_000;

/// Amounts that a guaranteed rate owed and missed, interval by interval.
///
/// In an interval the demand is the amount received in the interval plus the amount that still waits at its end. Owed
/// is the lesser of guarantee and demand; missed is the owed amount beyond the received one. Demand in only a part of
/// an interval may be owed for the whole interval, so intervals should be short beside the demands.
///
/// ```
/// use wayleave_sim::stats::Shortfall;
///
/// // 8 Gbit/s, 1 kB in every microsecond.
/// let mut shortfall = Shortfall::new(1_000_000);
/// let guarantee = 8_000_000_000;
/// // 400 B of 1,000 B while much waits; then 400 B, and 100 B wait; then 1,200 B, more than is owed.
/// shortfall.close((0, 1_000_000), guarantee, 400, 1_000_000);
/// shortfall.close((1_000_000, 2_000_000), guarantee, 800, 100);
/// shortfall.close((2_000_000, 3_000_000), guarantee, 2_000, 1_000_000);
/// assert_eq!((shortfall.owed(), shortfall.missed()), (1_000 + 500 + 1_000, 600 + 100));
/// let missed: Vec<u64> = shortfall.series().bins(3_000_000).map(|bin| bin.amount).collect();
/// assert_eq!(missed, [600, 100, 0]);
/// assert_eq!(shortfall.fraction(), Some(0.28));
/// ```
#[derive(Clone, Debug)]
pub struct Shortfall {
    owed: u64,
    missed: u64,
    /// Total amount received until the end of the last interval; wraps.
    before: u64,
    series: Series,
}

impl Shortfall {
    /// Nothing owed. The intervals of its series have this length in ps at first.
    pub fn new(interval_ps: u64) -> Self {
        Self { owed: 0, missed: 0, before: 0, series: Series::new(interval_ps) }
    }

    /// An interval ends, from the first to the second of two times in ps. `rate` in bit/s was guaranteed in it, `got` bytes
    /// have been got since the count began, and `waiting` bytes are wanted and not there.
    pub fn close(&mut self, (start_ps, end_ps): (u64, u64), rate: u64, got: u64, waiting: u64) {
        let now = got.wrapping_sub(std::mem::replace(&mut self.before, got));
        let bytes = u128::from(rate) * u128::from(end_ps.saturating_sub(start_ps)) / BITS_PS;
        let guaranteed = u64::try_from(bytes).unwrap_or(u64::MAX);
        let owed = guaranteed.min(now.saturating_add(waiting));
        let missed = owed.saturating_sub(now);
        self.owed += owed;
        self.missed += missed;
        self.series.add(start_ps, missed);
    }

    /// Forgets the owed and missed amounts. The count of the received amount, which is `got`, begins again. The
    /// series keeps its content.
    pub fn forget(&mut self, got: u64) {
        (self.owed, self.missed) = (0, 0);
        self.before = self.before.wrapping_sub(got);
    }

    /// Bytes.
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Returns the missed bytes, a part of the owed ones.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns the missed share of the owed amount; `None` if nothing was owed.
    pub fn fraction(&self) -> Option<f64> {
        (self.owed > 0).then(|| self.missed as f64 / self.owed as f64)
    }

    /// Bytes that were missed, over time.
    pub fn series(&self) -> &Series {
        &self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_reset_within_an_interval_loses_nothing() {
        let mut shortfall = Shortfall::new(1_000_000);
        shortfall.close((0, 1_000_000), 8_000_000_000, 700, 5_000);
        // 300 B come, the count begins again, and 200 B come.
        shortfall.forget(1_000);
        shortfall.close((1_000_000, 2_000_000), 8_000_000_000, 200, 5_000);
        assert_eq!((shortfall.owed(), shortfall.missed()), (1_000, 500));
        assert_eq!(shortfall.series().total(), 300 + 500);
    }
}
