//! A level over time, such as the length of a queue, in bounded memory: mean and maximum for each interval.

use super::bins::{Bins, Content};

/// A level that stays until it changes, such as the bytes in a queue: its time-weighted mean and its maximum in each
/// interval.
///
/// The level is zero at time zero. There are at most 1,024 intervals of 24 bytes or a little more each; when time goes
/// beyond the last one, neighbours are joined in pairs and the interval doubles, as in a [`Series`](super::Series).
/// Means and maxima of joined intervals are exact.
///
/// ```
/// use wayleave_sim::stats::Levels;
/// let mut queue = Levels::new(1_000);
/// queue.set(500, 3_000);
/// queue.set(750, 0);
/// queue.set(1_500, 1_000);
/// let bins: Vec<(f64, u64)> = queue.bins(2_000).map(|bin| (bin.mean(), bin.maximum)).collect();
/// assert_eq!(bins, [(750.0, 3_000), (500.0, 1_000)]);
/// ```
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Levels {
    /// Level times ps of the open interval.
    area: u128,
    level: u64,
    /// Until when the area is known; since when the level lasts or longer.
    since: u64,
    /// Since when the open interval lasts.
    start: u64,
    interval: u64,
    /// The maximum of the open interval.
    maximum: u64,
    /// Boxed, so that what every change touches is one cache line.
    closed: Box<Bins<Level>>,
}

const _: () = assert!(size_of::<Levels>() == 64);

/// State of an interval. Halves of 64 bits keep it at 24 bytes; a `u128` would make it 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    area: [u64; 2],
    maximum: u64,
}

impl Level {
    fn new(area: u128, maximum: u64) -> Self {
        Self { area: [area as u64, (area >> 64) as u64], maximum }
    }

    fn area(self) -> u128 {
        u128::from(self.area[1]) << 64 | u128::from(self.area[0])
    }
}

impl Content for Level {
    fn join(self, other: Self) -> Self {
        Self::new(self.area() + other.area(), self.maximum.max(other.maximum))
    }
}

impl Levels {
    /// With level zero. The first intervals have this length in ps.
    ///
    /// # Panics
    ///
    /// Where the interval is zero.
    pub fn new(interval_ps: u64) -> Self {
        let closed = Box::new(Bins::new(interval_ps));
        Self { area: 0, level: 0, since: 0, start: 0, interval: interval_ps, maximum: 0, closed }
    }

    /// Changes the level at a time, which is not before the last change. A level that lasts for no time counts for the
    /// maximum, not for the mean.
    #[inline]
    pub fn set(&mut self, time_ps: u64, level: u64) {
        debug_assert!(time_ps >= self.since, "time runs backwards from {} to {time_ps} ps", self.since);
        let time_ps = time_ps.max(self.since);
        if time_ps - self.start >= self.interval {
            self.open_at(time_ps);
        }
        self.last_until(time_ps);
        self.level = level;
        self.maximum = self.maximum.max(level);
    }

    /// Lets the level last until a time in the open interval, or at its end.
    #[inline]
    fn last_until(&mut self, time_ps: u64) {
        self.area += u128::from(self.level) * u128::from(time_ps - self.since);
        self.since = time_ps;
    }

    /// Closes interval after interval until the one of `time_ps` is open. After a long silence that is little work,
    /// since no more than half of the bins are filled between two doublings.
    #[cold]
    #[inline(never)]
    fn open_at(&mut self, time_ps: u64) {
        while time_ps - self.start >= self.interval {
            let end = self.start + self.interval;
            self.last_until(end);
            self.close();
            // There is an even number of bins: what starts behind the last one starts a bin of twice the length too.
            (_, self.start) = self.closed.at(end);
            self.interval = self.closed.interval_ps();
            // At the very start of an interval the old level has ended already.
            self.maximum = if time_ps > end { self.level } else { 0 };
        }
    }

    /// Puts what is open into its bin.
    fn close(&mut self) {
        let (bin, _) = self.closed.at(self.start);
        *bin = bin.join(Level::new(self.area, self.maximum));
        (self.area, self.maximum) = (0, 0);
    }

    /// The level now.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// The length of an interval now, in ps: the first one, doubled as often as was necessary.
    pub fn interval_ps(&self) -> u64 {
        self.interval
    }

    /// The intervals from zero to `end_ps`, 1,024 at most; the last one is cut there. The level stays from the last
    /// change to `end_ps`, which is not before that change.
    pub fn bins(&self, end_ps: u64) -> impl Iterator<Item = LevelBin> + use<> {
        let mut whole = self.clone();
        if let Some(last) = end_ps.checked_sub(1).filter(|_| end_ps > self.since) {
            whole.open_at(last.max(self.since));
            whole.maximum = whole.maximum.max(self.level);
            whole.last_until(end_ps);
        }
        whole.close();
        let spans = whole.closed.into_spans(end_ps);
        spans.map(|(start_ps, end_ps, level)| LevelBin { start_ps, end_ps, area: level.area(), maximum: level.maximum })
    }

    /// Bytes of memory, with its own 64.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of::<Bins<Level>>() + self.closed.memory()
    }
}

/// One interval of [`Levels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelBin {
    /// Start, in ps.
    pub start_ps: u64,
    /// End, in ps; this time itself belongs to the next one.
    pub end_ps: u64,
    /// The level times how long it lasted, in ps, summed.
    pub area: u128,
    /// The highest level, also one that lasted for no time.
    pub maximum: u64,
}

impl LevelBin {
    /// The time-weighted mean.
    pub fn mean(&self) -> f64 {
        self.area as f64 / (self.end_ps - self.start_ps) as f64
    }
}
