//! A bounded number of bins over a time without a known end.

/// The most bins of a series: more than a plot has pixels to show them, and an even number.
pub(super) const MAX_BINS: usize = 1_024;

/// Content of a bin.
pub(super) trait Content: Copy + Default {
    /// Returns the joined content of two neighbouring bins.
    fn join(self, other: Self) -> Self;
}

/// Bins of one length from time zero on. When time goes beyond the last one, neighbours are joined in pairs and the
/// interval doubles, so half of the bins or more are in use at any time after the first doubling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bins<T> {
    interval_ps: u64,
    contents: Vec<T>,
}

impl<T: Content> Bins<T> {
    pub(super) fn new(interval_ps: u64) -> Self {
        assert!(interval_ps > 0, "an interval of zero has no end");
        Self { interval_ps, contents: Vec::new() }
    }

    pub(super) fn interval_ps(&self) -> u64 {
        self.interval_ps
    }

    /// Returns the bins up to the last one that was used.
    pub(super) fn contents(&self) -> &[T] {
        &self.contents
    }

    /// The bin of a time, and when it starts. Joins bins until there is one.
    pub(super) fn at(&mut self, time_ps: u64) -> (&mut T, u64) {
        while time_ps / self.interval_ps >= MAX_BINS as u64 {
            self.halve();
        }
        let index = (time_ps / self.interval_ps) as usize;
        if self.contents.len() <= index {
            self.contents.resize(index + 1, T::default());
        }
        (&mut self.contents[index], index as u64 * self.interval_ps)
    }

    fn halve(&mut self) {
        for index in 0..self.contents.len().div_ceil(2) {
            let one = self.contents[2 * index];
            let other = self.contents.get(2 * index + 1).copied().unwrap_or_default();
            self.contents[index] = one.join(other);
        }
        self.contents.truncate(self.contents.len().div_ceil(2));
        // Below 2^54 whenever a time is beyond the last bin, so this cannot overflow.
        self.interval_ps *= 2;
    }

    /// Returns the contents of the bins from zero to `end_ps`, with start and end; the last one is cut there. Joins
    /// bins until they reach the end, so that there are never more than [`MAX_BINS`].
    pub(super) fn into_spans(mut self, end_ps: u64) -> impl Iterator<Item = (u64, u64, T)> {
        if let Some(last) = end_ps.checked_sub(1) {
            self.at(last);
        }
        let Self { interval_ps, contents } = self;
        let count = end_ps.div_ceil(interval_ps) as usize;
        contents.into_iter().take(count).enumerate().map(move |(index, content)| {
            let start = index as u64 * interval_ps;
            (start, start.saturating_add(interval_ps).min(end_ps), content)
        })
    }

    /// Bytes of memory that it owns.
    pub(super) fn memory(&self) -> usize {
        self.contents.capacity() * size_of::<T>()
    }
}
