//! Amounts over time in bounded memory: a sum for each interval.

use super::bins::{Bins, Content};

/// Picoseconds in a second.
const PS_PER_SECOND: f64 = 1e12;

/// Amounts over time, such as bytes delivered: their sum in each interval.
///
/// There are at most 1,024 intervals. When time goes beyond the last one, neighbours are joined in pairs and the
/// interval doubles: nothing is lost but resolution. So memory is bounded by 8 KiB, and a run of unknown length can
/// start with a short interval. The sum over all intervals is exact.
///
/// Times may come in any order; a time in the interval of the one before is the fast case and touches one cache line.
///
/// ```
/// use wayleave_sim::stats::Series;
/// let mut delivered = Series::new(1_000_000);
/// delivered.add(400_000, 1_500);
/// delivered.add(900_000, 1_500);
/// delivered.add(2_100_000, 64);
/// let amounts: Vec<u64> = delivered.bins(3_000_000).map(|bin| bin.amount).collect();
/// assert_eq!(amounts, [3_000, 0, 64]);
/// // 3,000 bytes in a microsecond are 24 Gbit/s.
/// let first = delivered.bins(3_000_000).next().map(|bin| bin.per_second() * 8.0);
/// assert_eq!(first, Some(24e9));
/// ```
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Series {
    /// Since when the open interval lasts.
    start: u64,
    interval: u64,
    /// Amount in the open interval that is not in its bin yet.
    open: u64,
    bins: Bins<u64>,
}

// One cache line, which every addition changes.
const _: () = assert!(size_of::<Series>() == 64);

impl Content for u64 {
    fn join(self, other: Self) -> Self {
        self + other
    }
}

impl Series {
    /// Without amounts. The first intervals have this length in ps.
    ///
    /// # Panics
    ///
    /// Where the interval is zero.
    pub fn new(interval_ps: u64) -> Self {
        Self { start: 0, interval: interval_ps, open: 0, bins: Bins::new(interval_ps) }
    }

    /// Adds an amount at a time.
    #[inline]
    pub fn add(&mut self, time_ps: u64, amount: u64) {
        // Before the start this wraps far beyond the interval.
        if time_ps.wrapping_sub(self.start) >= self.interval {
            self.open_at(time_ps);
        }
        self.open += amount;
    }

    /// Puts what is open into its bin, and opens the bin of another time.
    #[cold]
    #[inline(never)]
    fn open_at(&mut self, time_ps: u64) {
        self.close();
        let (_, start) = self.bins.at(time_ps);
        (self.start, self.interval) = (start, self.bins.interval_ps());
    }

    fn close(&mut self) {
        if self.open > 0 {
            *self.bins.at(self.start).0 += self.open;
            self.open = 0;
        }
    }

    /// The length of an interval now, in ps: the first one, doubled as often as was necessary.
    pub fn interval_ps(&self) -> u64 {
        self.interval
    }

    /// All amounts together.
    pub fn total(&self) -> u64 {
        self.bins.contents().iter().sum::<u64>() + self.open
    }

    /// The intervals from zero to `end_ps`, also empty ones, 1,024 at most. The last one is cut at `end_ps`; what came
    /// in intervals behind it is left out.
    pub fn bins(&self, end_ps: u64) -> impl Iterator<Item = Bin> + use<> {
        let mut whole = self.clone();
        whole.close();
        whole.bins.into_spans(end_ps).map(|(start_ps, end_ps, amount)| Bin { start_ps, end_ps, amount })
    }

    /// Bytes of memory, with its own 64.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.bins.memory()
    }
}

/// One interval of a [`Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Start, in ps.
    pub start_ps: u64,
    /// End, in ps; this time itself belongs to the next one.
    pub end_ps: u64,
    /// Amount in it.
    pub amount: u64,
}

impl Bin {
    /// The amount for each second: bytes/s of an amount in bytes.
    pub fn per_second(&self) -> f64 {
        self.amount as f64 * PS_PER_SECOND / (self.end_ps - self.start_ps) as f64
    }
}
