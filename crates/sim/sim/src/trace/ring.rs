//! The last records of a run, in bounded memory.

use super::record::TraceRecord;

/// Number of records in the first allocation; later it doubles up to the bound.
const FIRST: usize = 1_024;

/// Keeps the last records, up to a bound. Memory grows with the number of records, up to 32 bytes for each record of
/// the bound.
///
/// ```
/// use wayleave_sim::trace::{TraceRecord, Ring};
///
/// let mut ring = Ring::new(2);
/// (0..5).for_each(|time_ps| ring.push(TraceRecord { time_ps, ..TraceRecord::default() }));
/// assert_eq!(ring.iter().map(|record| record.time_ps).collect::<Vec<_>>(), [3, 4]);
/// assert_eq!(ring.seen(), 5);
/// ```
#[derive(Clone, Debug)]
pub struct Ring {
    records: Vec<TraceRecord>,
    most: usize,
    /// Once it is full: the oldest, which the next one replaces.
    oldest: usize,
    seen: u64,
}

impl Ring {
    /// For `most` records, one at least.
    pub fn new(most: usize) -> Self {
        Self { records: Vec::new(), most: most.max(1), oldest: 0, seen: 0 }
    }

    /// Keeps a record, and forgets the oldest one where there is no room for both.
    #[inline]
    pub fn push(&mut self, record: TraceRecord) {
        self.seen += 1;
        if self.records.len() < self.most {
            self.push_more(record);
            return;
        }
        self.records[self.oldest] = record;
        self.oldest += 1;
        if self.oldest == self.most {
            self.oldest = 0;
        }
    }

    /// A vector that grew on its own could end up with twice the memory that the bound allows.
    #[inline(never)]
    fn push_more(&mut self, record: TraceRecord) {
        let length = self.records.len();
        if length == self.records.capacity() {
            self.records.reserve_exact(length.max(FIRST).min(self.most - length));
        }
        self.records.push(record);
    }

    /// The records that are left, from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &TraceRecord> {
        let (newer, older) = self.records.split_at(self.oldest);
        older.iter().chain(newer)
    }

    /// Returns the number of records that are kept.
    pub fn kept(&self) -> usize {
        self.records.len()
    }

    /// Returns the number of all records, including the forgotten ones.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Bytes of memory that it owns.
    pub fn memory(&self) -> usize {
        self.records.capacity() * size_of::<TraceRecord>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ring: &Ring) -> Vec<u64> {
        ring.iter().map(|record| record.time_ps).collect()
    }

    #[test]
    fn the_last_records_stay_in_order_for_any_bound() {
        for most in 1..20 {
            let mut ring = Ring::new(most);
            for time_ps in 0..50 {
                ring.push(TraceRecord { time_ps, ..TraceRecord::default() });
                let first = (time_ps + 1).saturating_sub(most as u64);
                assert_eq!(times(&ring), (first..=time_ps).collect::<Vec<_>>(), "bound {most}");
                assert_eq!((ring.kept() as u64, ring.seen()), (time_ps + 1 - first, time_ps + 1));
            }
        }
    }

    #[test]
    fn memory_never_exceeds_the_bound() {
        let mut ring = Ring::new(5_000);
        assert_eq!(ring.memory(), 0);
        for _ in 0..12_000 {
            ring.push(TraceRecord::default());
            assert!(ring.memory() <= 5_000 * 32, "{} B", ring.memory());
        }
    }

    #[test]
    fn a_bound_of_zero_keeps_one() {
        let mut ring = Ring::new(0);
        ring.push(TraceRecord { time_ps: 1, ..TraceRecord::default() });
        ring.push(TraceRecord { time_ps: 2, ..TraceRecord::default() });
        assert_eq!(times(&ring), [2]);
    }
}
