//! A calendar of events (R. Brown, CACM 1988): those of the near future are in buckets of equal width, which are sorted when their time
//! comes. The width follows the traffic, so that a bucket holds some ten events.

use super::heap::Heap;
use super::key::{ACTOR_BITS, NONE};

/// Buckets; a power of two.
const BUCKETS: u64 = 1024;

/// Average numbers of events per bucket below and above which the width of buckets changes. Sorting a few is cheaper
/// than keeping them in a heap, and a batch has to be long enough for looking ahead.
const FEW: u64 = 12;
const MANY: u64 = 48;

/// Number of buckets after which their width is checked.
const TURNS: u64 = 256;

/// The width of a bucket is a power of two in ps: at most 1.1 ms, so that all buckets together last for half of [`super::HORIZON`]. Keys
/// count from a multiple of that, and from [`super::REACH`] before the present at least.
const WIDEST: u32 = 62 - ACTOR_BITS - BUCKETS.trailing_zeros();

/// Keys by time, the near ones.
#[derive(Debug)]
pub(super) struct Calendar {
    /// The keys of the present bucket, the next one last.
    batch: Vec<u64>,
    /// The number of the present bucket, counted from the time that keys count from.
    present: u64,
    /// Later buckets, by number modulo [`BUCKETS`].
    buckets: Box<[Vec<u64>]>,
    /// One bit for each that is not empty.
    occupied: [u64; BUCKETS as usize / 64],
    /// The width of a bucket: its binary logarithm, in ps.
    width: u32,
    /// Buckets and events since the last check of the width.
    turns: u64,
    taken: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        let buckets = (0..BUCKETS).map(|_| Vec::new()).collect();
        // 65 ns.
        let (width, occupied) = (16, [0; BUCKETS as usize / 64]);
        Self { batch: Vec::new(), present: 0, buckets, occupied, width, turns: 0, taken: 0 }
    }
}

impl Calendar {
    #[inline]
    fn bucket_of(&self, key: u64) -> u64 {
        key >> (ACTOR_BITS + self.width)
    }

    /// Puts a key; one that lies beyond the last bucket goes to the far ones.
    #[inline(never)]
    pub(super) fn put(&mut self, key: u64, far: &mut Heap) {
        match self.bucket_of(key).saturating_sub(self.present) {
            0 => self.put_in_batch(key),
            ahead if ahead < BUCKETS => {
                let bucket = (self.bucket_of(key) % BUCKETS) as usize;
                self.buckets[bucket].push(key);
                self.occupied[bucket / 64] |= 1 << (bucket % 64);
            }
            _ => far.put(key),
        }
    }

    fn put_in_batch(&mut self, key: u64) {
        // Mostly it is one of the next.
        let behind = self.batch.iter().rev().take_while(|&&other| other < key).count();
        self.batch.insert(self.batch.len() - behind, key);
    }

    /// Takes the least key, if it is less than another.
    #[inline(always)]
    pub(super) fn take_before(&mut self, limit: u64, far: &mut Heap) -> Option<u64> {
        if self.batch.is_empty() {
            self.turn(far);
        }
        self.batch.pop_if(|key| *key < limit)
    }

    /// The least key; it stays.
    #[inline]
    pub(super) fn first(&mut self, far: &mut Heap) -> Option<u64> {
        if self.batch.is_empty() {
            self.turn(far);
        }
        self.batch.last().copied()
    }

    /// Takes all keys, in no order.
    pub(super) fn take_all(&mut self, keys: &mut Vec<u64>) {
        keys.append(&mut self.batch);
        self.buckets.iter_mut().for_each(|bucket| keys.append(bucket));
        self.occupied.fill(0);
    }

    /// The keys of the present bucket that are still to come.
    #[inline]
    pub(super) fn batch(&self) -> &[u64] {
        &self.batch
    }

    /// The keys of the next bucket become those of the present one.
    pub(super) fn turn(&mut self, far: &mut Heap) {
        let near = self.next_occupied();
        let beyond = Some(far.first()).filter(|&key| key != NONE).map(|key| self.bucket_of(key));
        let Some(next) = [near, beyond].into_iter().flatten().min() else { return };
        self.present = next;
        let bucket = (next % BUCKETS) as usize;
        if near == Some(next) {
            std::mem::swap(&mut self.batch, &mut self.buckets[bucket]);
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        while self.bucket_of(far.first()) == next {
            self.batch.push(far.take());
        }
        self.batch.sort_unstable_by(|one, other| other.cmp(one));
        (self.turns, self.taken) = (self.turns + 1, self.taken + self.batch.len() as u64);
        if self.turns == TURNS {
            self.adapt_width(far);
        }
    }

    /// The number of the next bucket that is not empty.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let first = self.present + 1;
        let start = (first % BUCKETS) as usize;
        let words = self.occupied.len();
        // The word of the first bucket comes twice: its upper bits now, the lower ones at last.
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mask = match step {
                0 => u64::MAX << (start % 64),
                _ if step == words => !(u64::MAX << (start % 64)),
                _ => u64::MAX,
            };
            let found = self.occupied[word] & mask;
            if found != 0 {
                let bucket = word as u64 * 64 + u64::from(found.trailing_zeros());
                return Some(first + (bucket + BUCKETS - start as u64) % BUCKETS);
            }
        }
        None
    }

    /// Makes buckets wider or narrower where they hold too few or too many events.
    #[cold]
    fn adapt_width(&mut self, far: &mut Heap) {
        let (turns, taken) = (std::mem::take(&mut self.turns), std::mem::take(&mut self.taken));
        let width = match taken / turns {
            mean if mean < FEW => (self.width + 1).min(WIDEST),
            mean if mean > MANY => self.width.saturating_sub(1),
            _ => return,
        };
        if width == self.width {
            return;
        }
        let mut keys: Vec<u64> = std::mem::take(&mut self.batch);
        // The next event is in the present bucket, at any width.
        let next = keys.last().copied().unwrap_or(0);
        self.buckets.iter_mut().for_each(|bucket| keys.append(bucket));
        self.occupied.fill(0);
        self.width = width;
        self.present = self.bucket_of(next);
        while self.bucket_of(far.first()) <= self.present {
            keys.push(far.take());
        }
        keys.sort_unstable_by(|one, other| other.cmp(one));
        keys.into_iter().for_each(|key| self.put(key, far));
    }

    /// Moves the base of keys later by at most `by`, in ps; buckets keep their places. Returns the actual amount.
    #[cold]
    pub(super) fn rebase(&mut self, by: u64) -> u64 {
        let passed = (by >> self.width).min(self.present) / BUCKETS * BUCKETS;
        let by = passed << self.width;
        let keys = self.batch.iter_mut().chain(self.buckets.iter_mut().flatten());
        keys.for_each(|key| *key -= by << ACTOR_BITS);
        self.present -= passed;
        by
    }

    #[cfg(test)]
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let keys = self.batch.capacity() + self.buckets.iter().map(Vec::capacity).sum::<usize>();
        keys * size_of::<u64>() + size_of_val(&*self.buckets)
    }
}
