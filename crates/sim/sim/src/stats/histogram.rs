//! A distribution in bounded memory, after HdrHistogram (G. Tene, <http://hdrhistogram.org>).
//!
//! It differs from its model in three points. Zero is counted separately, because most waits are zero and those need
//! no bucket. Memory covers only the octaves that were seen, because a run has a histogram for every queue. The sum,
//! the lowest and the highest value are exact, because the highest is compared with bounds.

mod repeat;

use super::buckets::{BUCKETS_PER_OCTAVE, bucket_of, range_of};

/// Resolution of [`Histogram::percentile`]: parts of a percent.
const PARTS_PER_PERCENT: f64 = 1e6;

/// Frequencies of values, for waits in ps as for sizes in bytes.
///
/// Zero and the values below 32 are kept exactly; above, sixteen buckets of equal width share an octave, so that a
/// value read back is too large by less than 1/16 (6.25 %) and never too small. Count, sum, lowest and highest value
/// are exact.
///
/// Empty it owns no memory. It allocates 8 bytes per bucket of every octave from the lowest to the highest value
/// above zero on demand, 7,808 bytes at most. Two histograms of the same values are equal, in any order of recording.
///
/// ```
/// use wayleave_sim::stats::Histogram;
///
/// let mut sizes = Histogram::new();
/// (1..=1_000).for_each(|bytes| sizes.record(bytes));
/// assert_eq!((sizes.count(), sizes.sum(), sizes.min(), sizes.max()), (1_000, 500_500, Some(1), Some(1_000)));
/// // The exact one is 500; its bucket ends at 511.
/// assert_eq!(sizes.percentile(50.0), Some(511));
/// assert_eq!(sizes.mean(), Some(500.5));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
// One cache line, which a record changes as a whole: it must not straddle two.
#[repr(align(64))]
pub struct Histogram {
    /// Counts of the buckets from `first` on, in whole octaves.
    counts: Box<[u64]>,
    sum: u128,
    zeros: u64,
    /// The lowest above zero; `u64::MAX` without any.
    lowest: u64,
    highest: u64,
    first: usize,
}

const _: () = assert!(size_of::<Histogram>() == 64 && align_of::<Histogram>() == 64);

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::default(), sum: 0, zeros: 0, lowest: u64::MAX, highest: 0, first: 0 }
    }
}

impl Histogram {
    /// Without any value, and without memory of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a value once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        self.sum += u128::from(value);
        self.lowest = self.lowest.min(value);
        self.highest = self.highest.max(value);
        let bucket = bucket_of(value);
        // Below `first` this wraps far beyond the end, so that one comparison covers both sides.
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.record_outside(bucket),
        }
    }

    /// Counts a value `count` times.
    pub fn record_many(&mut self, value: u64, count: u64) {
        if let Some(others) = count.checked_sub(1) {
            self.record(value);
            if value == 0 {
                self.zeros += others;
            } else {
                self.sum += u128::from(value) * u128::from(others);
                // The record above has made room.
                self.counts[bucket_of(value) - self.first] += others;
            }
        }
    }

    /// Counts a value in an octave that was not seen before.
    #[cold]
    #[inline(never)]
    fn record_outside(&mut self, bucket: usize) {
        self.cover(bucket, bucket);
        self.counts[bucket - self.first] += 1;
    }

    /// Makes memory reach from the octave of one bucket to that of another, and over all that was seen.
    fn cover(&mut self, low: usize, high: usize) {
        let (mut first, mut end) = (low, high + 1);
        if !self.counts.is_empty() {
            first = first.min(self.first);
            end = end.max(self.first + self.counts.len());
        }
        first = first / BUCKETS_PER_OCTAVE * BUCKETS_PER_OCTAVE;
        end = end.next_multiple_of(BUCKETS_PER_OCTAVE);
        if end - first == self.counts.len() {
            return;
        }
        let mut counts = vec![0; end - first].into_boxed_slice();
        if !self.counts.is_empty() {
            counts[self.first - first..][..self.counts.len()].copy_from_slice(&self.counts);
        }
        (self.counts, self.first) = (counts, first);
    }

    /// Adds what another one counted: the same as recording all its values here.
    ///
    /// ```
    /// use wayleave_sim::stats::Histogram;
    /// let (mut one, mut other, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
    /// one.record(7);
    /// other.record(1 << 40);
    /// [7, 1 << 40].into_iter().for_each(|value| both.record(value));
    /// one.merge(&other);
    /// assert_eq!(one, both);
    /// ```
    pub fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.sum += other.sum;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
        if !other.counts.is_empty() {
            self.cover(other.first, other.first + other.counts.len() - 1);
            let counts = &mut self.counts[other.first - self.first..];
            for (count, more) in counts.iter_mut().zip(&other.counts) {
                *count += more;
            }
        }
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.zeros + self.counts.iter().sum::<u64>()
    }

    /// Returns the number of recorded zeros.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The lowest value; `None` without any.
    pub fn min(&self) -> Option<u64> {
        if self.zeros > 0 { Some(0) } else { Some(self.lowest).filter(|_| !self.counts.is_empty()) }
    }

    /// The highest value; `None` without any.
    pub fn max(&self) -> Option<u64> {
        Some(self.highest).filter(|_| self.zeros > 0 || !self.counts.is_empty())
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// A value that at least `percent` per cent of the values do not exceed; `None` without values.
    ///
    /// It is the upper end of the bucket of the value with that rank (the nearest rank, rounded up), or the highest
    /// value where that is less: never below the exact percentile, and above it by less than 1/16. Percents
    /// count to six decimals and are clipped to 0 and 100; 100 is the highest value exactly.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = rank(percent, count);
        let mut seen = 0;
        for bucket in self.iter() {
            seen += bucket.count;
            if seen >= rank {
                return Some(bucket.high);
            }
        }
        Some(self.highest)
    }

    /// The buckets that hold something, from the lowest to the highest; the last one ends at the highest value.
    pub fn iter(&self) -> impl Iterator<Item = HistogramBucket> + '_ {
        let zeros = HistogramBucket { low: 0, high: 0, count: self.zeros };
        let others = self.counts.iter().enumerate().map(|(index, &count)| {
            let (low, high) = range_of(self.first + index);
            HistogramBucket { low, high: high.min(self.highest), count }
        });
        [zeros].into_iter().chain(others).filter(|bucket| bucket.count > 0)
    }

    /// The cumulative distribution in at most `most` points, from the lowest to the highest value.
    ///
    /// Each point is exact: its fraction of the values does not exceed its value, the rest does. Where there are more
    /// buckets than points, points stay that are evenly spaced among the buckets, so nearly evenly on a logarithmic
    /// axis; the last point always stays, and with two or more the first one does.
    ///
    /// ```
    /// use wayleave_sim::stats::{CdfPoint, Histogram};
    /// let mut waits = Histogram::new();
    /// [0, 0, 0, 9].into_iter().for_each(|wait_ps| waits.record(wait_ps));
    /// let points = [CdfPoint { value: 0, fraction: 0.75 }, CdfPoint { value: 9, fraction: 1.0 }];
    /// assert_eq!(waits.cdf(100), points);
    /// assert_eq!(waits.cdf(1), points[1..]);
    /// ```
    pub fn cdf(&self, most: usize) -> Vec<CdfPoint> {
        let total = self.count() as f64;
        let mut seen = 0;
        let mut points: Vec<CdfPoint> = self
            .iter()
            .map(|bucket| {
                seen += bucket.count;
                CdfPoint { value: bucket.high, fraction: seen as f64 / total }
            })
            .collect();
        thin(&mut points, most);
        points
    }

    /// Bytes of memory, with its own 64.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.counts)
    }
}

/// Some neighbouring values, and the number of their occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramBucket {
    /// The lowest value that counts here.
    pub low: u64,
    /// The highest one.
    pub high: u64,
    /// Number of values in this range.
    pub count: u64,
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// A value, as recorded.
    pub value: u64,
    /// Share of all values that do not exceed it, from 0 to 1.
    pub fraction: f64,
}

/// The nearest rank, from 1 to `count`. In integers: 99.9 % of 1,000 values are 999, not 999 and a rounding error.
fn rank(percent: f64, count: u64) -> u64 {
    // A percent that is no number becomes 0.
    let parts = (percent.clamp(0.0, 100.0) * PARTS_PER_PERCENT).round() as u128;
    let rank = (parts * u128::from(count)).div_ceil(100 * PARTS_PER_PERCENT as u128);
    (rank as u64).max(1)
}

/// Keeps at most `most` points, evenly spaced, with both ends.
fn thin(points: &mut Vec<CdfPoint>, most: usize) {
    let count = points.len();
    if count <= most {
        return;
    }
    let kept = match most {
        0 => Vec::new(),
        1 => vec![points[count - 1]],
        _ => (0..most).map(|index| points[index * (count - 1) / (most - 1)]).collect(),
    };
    *points = kept;
}
