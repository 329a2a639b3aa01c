//! A distribution for each interval, such as round trips over time, in bounded memory.

use super::bins::MAX_BINS;
use super::histogram::Histogram;

/// Values over time: their distribution in each interval.
///
/// There are at most 1,024 intervals, each with a [`Histogram`] of at most 8 KiB, mostly below 1 KiB. When time goes
/// beyond the last one, neighbours are joined in pairs and the interval doubles, as in a [`Series`](super::Series).
///
/// ```
/// use wayleave_sim::stats::Histograms;
/// let mut round_trips = Histograms::new(1_000);
/// round_trips.record(100, 20);
/// round_trips.record(900, 30);
/// round_trips.record(2_500, 10);
/// let means: Vec<Option<f64>> = round_trips.bins(4_000).map(|bin| bin.values.mean()).collect();
/// assert_eq!(means, [Some(25.0), None, Some(10.0), None]);
/// assert_eq!(round_trips.all().count(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histograms {
    interval_ps: u64,
    /// Bins up to the last one that was used.
    bins: Vec<Histogram>,
}

/// One interval of [`Histograms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramBin<'a> {
    /// Start, in ps.
    pub start_ps: u64,
    /// End, in ps; this time itself belongs to the next one.
    pub end_ps: u64,
    /// Values recorded in it.
    pub values: &'a Histogram,
}

/// Of an interval that nothing came in.
static EMPTY: std::sync::LazyLock<Histogram> = std::sync::LazyLock::new(Histogram::new);

impl Histograms {
    /// Without values. The first intervals have this length in ps.
    ///
    /// # Panics
    ///
    /// Where the interval is zero.
    pub fn new(interval_ps: u64) -> Self {
        assert!(interval_ps > 0, "an interval of zero has no end");
        Self { interval_ps, bins: Vec::new() }
    }

    /// Counts a value at a time.
    pub fn record(&mut self, time_ps: u64, value: u64) {
        self.at(time_ps).record(value);
    }

    /// The interval of a time. Joins intervals until there is one.
    fn at(&mut self, time_ps: u64) -> &mut Histogram {
        while time_ps / self.interval_ps >= MAX_BINS as u64 {
            self.halve();
        }
        let index = (time_ps / self.interval_ps) as usize;
        if self.bins.len() <= index {
            self.bins.resize_with(index + 1, Histogram::new);
        }
        &mut self.bins[index]
    }

    #[cold]
    fn halve(&mut self) {
        let mut joined = Vec::with_capacity(self.bins.len().div_ceil(2));
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut one) = bins.next() {
            if let Some(other) = bins.next() {
                one.merge(&other);
            }
            joined.push(one);
        }
        self.bins = joined;
        self.interval_ps *= 2;
    }

    /// The length of an interval now, in ps: the first one, doubled as often as was necessary.
    pub fn interval_ps(&self) -> u64 {
        self.interval_ps
    }

    /// All values together.
    pub fn all(&self) -> Histogram {
        self.bins.iter().fold(Histogram::new(), |mut all, bin| {
            all.merge(bin);
            all
        })
    }

    /// The intervals from zero to `end_ps`, also empty ones. The last one is cut at `end_ps`; what came behind it is left
    /// out.
    pub fn bins(&self, end_ps: u64) -> impl Iterator<Item = HistogramBin<'_>> {
        let interval = self.interval_ps;
        (0..end_ps.div_ceil(interval)).map(move |index| {
            let start_ps = index * interval;
            let values = self.bins.get(index as usize).unwrap_or(&EMPTY);
            HistogramBin { start_ps, end_ps: start_ps.saturating_add(interval).min(end_ps), values }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_joins_neighbours_and_loses_no_value() {
        let mut values = Histograms::new(10);
        for time in 0..30_000 {
            values.record(time, time / 100);
        }
        // 1,024 intervals of 10 end at 10,240, and of 40 at 40,960.
        assert_eq!(values.interval_ps(), 40);
        assert_eq!(values.all().count(), 30_000);
        let counts: Vec<u64> = values.bins(30_000).map(|bin| bin.values.count()).collect();
        assert_eq!(counts, [40; 750]);
        let last = values.bins(30_000).last().map(|bin| (bin.start_ps, bin.end_ps, bin.values.max()));
        assert_eq!(last, Some((29_960, 30_000, Some(299))));
        // An end far behind the last value has empty intervals only.
        assert_eq!(values.bins(30_041).last().map(|bin| (bin.end_ps, bin.values.count())), Some((30_041, 0)));
    }
}
