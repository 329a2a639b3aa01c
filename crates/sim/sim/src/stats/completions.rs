//! Completion times of flows: as a whole, against the ideal for each class of sizes, and against deadlines.
//!
//! Slowdown is the completion time over the time that the flow alone in the network would need, as pFabric (Alizadeh et
//! al., SIGCOMM 2013, section 5) and many others after it normalise completion times. Classes are decades of sizes
//! that include their upper end, so that its classes (0, 100 kB], (100 kB, 10 MB] and above are sums of some of them.

use super::histogram::Histogram;

/// Resolution of slowdowns in a histogram: parts of a slowdown of one.
pub const SLOWDOWN_PARTS: u64 = 1_000;

/// Decades of sizes: 0 and 1 byte, then (1, 10], (10, 100] and so on up to the largest `u64`.
const DECADES: usize = 21;

/// Completion times, slowdowns by size, and deadlines of any number of flows, in bounded memory (340 KB at most).
///
/// ```
/// use wayleave_sim::stats::Completions;
/// let mut flows = Completions::new();
/// flows.record(20_000, 30_000_000, 20_000_000, None);
/// flows.record(5_000_000, 30_000_000, 20_000_000, Some(1_000_000));
/// assert_eq!((flows.finished(), flows.deadlines().missed), (2, 1));
/// assert_eq!(flows.times().max(), Some(30_000_000));
/// let small = flows.sizes(0, 100_000);
/// assert_eq!(small.finished(), 1);
/// // In thousandths: one and a half times the ideal.
/// assert_eq!(small.slowdowns.max(), Some(1_500));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// From the smallest decade up to the largest that was seen.
    decades: Vec<SizeClass>,
    deadlines: Deadlines,
}

/// Statistics of the flows in a size range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// Bytes delivered by finished flows.
    pub bytes: u128,
    /// Their completion times in ps.
    pub times: Histogram,
    /// Their slowdowns in thousandths, rounded up: 1,000 where a flow was as fast as if it were alone.
    pub slowdowns: Histogram,
    /// Number of flows that had not finished when the run ended.
    pub unfinished: u64,
}

/// Results of deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Finished in time.
    pub met: u64,
    /// Finished late, or not finished when the deadline had passed.
    pub missed: u64,
    /// Neither finished nor late when the run ended.
    pub open: u64,
}

impl Deadlines {
    /// The part of the deadlines that were missed among those that are decided, from 0 to 1; `None` without any.
    pub fn missed_fraction(&self) -> Option<f64> {
        let decided = self.met + self.missed;
        (decided > 0).then(|| self.missed as f64 / decided as f64)
    }

    fn merge(&mut self, other: &Self) {
        self.met += other.met;
        self.missed += other.missed;
        self.open += other.open;
    }
}

impl SizeClass {
    /// Returns the number of finished flows.
    pub fn finished(&self) -> u64 {
        self.times.count()
    }

    /// The slowdown that at least `percent` per cent of the flows do not exceed, as
    /// [`Histogram::percentile`] has it; `None` where no flow finished.
    pub fn slowdown_percentile(&self, percent: f64) -> Option<f64> {
        self.slowdowns.percentile(percent).map(|slowdown| slowdown as f64 / SLOWDOWN_PARTS as f64)
    }

    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.times.merge(&other.times);
        self.slowdowns.merge(&other.slowdowns);
        self.unfinished += other.unfinished;
    }
}

impl Completions {
    /// Without flows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a flow of `bytes` bytes that finished `elapsed_ps` after its arrival. Alone in the network it would
    /// need `ideal_ps`, which is above zero; `deadline_ps` is its deadline, counted from its arrival, if it has one.
    ///
    /// # Panics
    /// If the ideal is zero.
    pub fn record(&mut self, bytes: u64, elapsed_ps: u64, ideal_ps: u64, deadline_ps: Option<u64>) {
        assert!(ideal_ps > 0, "a flow of {bytes} B needs some time even when it is alone");
        let class = self.decade(bytes);
        class.bytes += u128::from(bytes);
        class.times.record(elapsed_ps);
        class.slowdowns.record(slowdown(elapsed_ps, ideal_ps));
        match deadline_ps {
            Some(deadline) if elapsed_ps <= deadline => self.deadlines.met += 1,
            Some(_) => self.deadlines.missed += 1,
            None => {}
        }
    }

    /// Counts a flow that is `elapsed_ps` old when the run ends, and has not finished.
    ///
    /// It has no completion time: percentiles of a class with unfinished flows are too small, and should not be shown
    /// without their number.
    pub fn record_unfinished(&mut self, bytes: u64, elapsed_ps: u64, deadline_ps: Option<u64>) {
        self.decade(bytes).unfinished += 1;
        match deadline_ps {
            Some(deadline) if elapsed_ps > deadline => self.deadlines.missed += 1,
            Some(_) => self.deadlines.open += 1,
            None => {}
        }
    }

    fn decade(&mut self, bytes: u64) -> &mut SizeClass {
        let decade = decade_of(bytes);
        if self.decades.len() <= decade {
            self.decades.resize_with(decade + 1, SizeClass::default);
        }
        &mut self.decades[decade]
    }

    /// Adds what another one counted: the same as recording all its flows here.
    pub fn merge(&mut self, other: &Self) {
        if self.decades.len() < other.decades.len() {
            self.decades.resize_with(other.decades.len(), SizeClass::default);
        }
        self.decades.iter_mut().zip(&other.decades).for_each(|(class, more)| class.merge(more));
        self.deadlines.merge(&other.deadlines);
    }

    /// Returns the number of finished flows.
    pub fn finished(&self) -> u64 {
        self.decades.iter().map(SizeClass::finished).sum()
    }

    /// Returns the number of flows that had not finished when the run ended.
    pub fn unfinished(&self) -> u64 {
        self.decades.iter().map(|class| class.unfinished).sum()
    }

    /// Returns the results of deadlines.
    pub fn deadlines(&self) -> Deadlines {
        self.deadlines
    }

    /// Completion times of all sizes, in ps.
    pub fn times(&self) -> Histogram {
        self.all().times
    }

    /// Flows of all sizes together.
    pub fn all(&self) -> SizeClass {
        sum(&self.decades)
    }

    /// The decades that hold flows, from the smallest, with the sizes in bytes that they are for: above the first
    /// number, up to and with the second. Flows without bytes count in the first decade, up to one byte.
    pub fn decades(&self) -> impl Iterator<Item = ((u64, u64), &SizeClass)> {
        let classes = self.decades.iter().enumerate().map(|(decade, class)| (decade_range(decade), class));
        classes.filter(|(_, class)| class.finished() + class.unfinished > 0)
    }

    /// The flows of more than `above` bytes, up to and with `most`. Decades are not divided: each counts where its
    /// upper end lies, so both numbers should be powers of ten, 0 or `u64::MAX`.
    pub fn sizes(&self, above: u64, most: u64) -> SizeClass {
        let within = |decade: &usize| {
            let (_, high) = decade_range(*decade);
            above < high && high <= most
        };
        sum((0..self.decades.len()).filter(within).map(|decade| &self.decades[decade]))
    }
}

fn sum<'a>(classes: impl IntoIterator<Item = &'a SizeClass>) -> SizeClass {
    classes.into_iter().fold(SizeClass::default(), |mut sum, class| {
        sum.merge(class);
        sum
    })
}

/// Returns the time as a multiple of the ideal, in thousandths, rounded up.
fn slowdown(elapsed_ps: u64, ideal_ps: u64) -> u64 {
    let slowdown = (u128::from(elapsed_ps) * u128::from(SLOWDOWN_PARTS)).div_ceil(ideal_ps.into());
    slowdown.min(u64::MAX.into()) as u64
}

/// The decade of a size: the number of digits of the size less one.
fn decade_of(bytes: u64) -> usize {
    bytes.saturating_sub(1).checked_ilog10().map_or(0, |digits| digits as usize + 1)
}

/// The sizes of a decade: above the first, up to and with the second.
fn decade_range(decade: usize) -> (u64, u64) {
    debug_assert!(decade < DECADES);
    let power = |exponent: usize| 10_u64.checked_pow(exponent as u32).unwrap_or(u64::MAX);
    (if decade == 0 { 0 } else { power(decade - 1) }, power(decade))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_decade_includes_its_upper_end() {
        let expected = [(0, 0), (1, 0), (2, 1), (10, 1), (11, 2), (100_000, 5), (100_001, 6), (u64::MAX, DECADES - 1)];
        for (bytes, decade) in expected {
            assert_eq!(decade_of(bytes), decade, "{bytes} B");
            let (above, most) = decade_range(decade);
            assert!((bytes > above || bytes == 0) && bytes <= most, "{bytes} B in {above} to {most}");
        }
    }

    #[test]
    fn the_classes_of_pfabric_are_sums_of_decades() {
        let mut flows = Completions::new();
        for bytes in [1, 100_000, 100_001, 10_000_000, 10_000_001, u64::MAX] {
            flows.record(bytes, 2_000, 1_000, None);
        }
        let counts = [(0, 100_000), (100_000, 10_000_000), (10_000_000, u64::MAX)]
            .map(|(above, most)| flows.sizes(above, most).finished());
        assert_eq!(counts, [2, 2, 2]);
        assert_eq!(flows.decades().map(|(_, class)| class.finished()).sum::<u64>(), 6);
        assert_eq!(flows.decades().last().map(|(range, _)| range.1), Some(u64::MAX));
    }

    #[test]
    fn a_slowdown_rounds_up() {
        let mut flows = Completions::new();
        flows.record(1_000, 4, 3, None);
        let all = flows.all();
        assert_eq!(all.slowdowns.max(), Some(1_334));
        assert_eq!(all.slowdown_percentile(50.0), Some(1.334));
    }

    #[test]
    fn a_slowdown_beyond_the_range_is_the_largest_value() {
        assert_eq!(slowdown(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn a_deadline_is_met_up_to_its_last_picosecond() {
        let mut flows = Completions::new();
        for elapsed in [999, 1_000, 1_001] {
            flows.record(5, elapsed, 1_000, Some(1_000));
        }
        flows.record(5, 1, 1_000, None);
        assert_eq!(flows.deadlines(), Deadlines { met: 2, missed: 1, open: 0 });
        assert_eq!(flows.deadlines().missed_fraction(), Some(1.0 / 3.0));
    }

    #[test]
    fn an_unfinished_flow_misses_a_deadline_that_has_passed_and_has_no_completion_time() {
        let mut flows = Completions::new();
        for deadline in [Some(100), Some(99), None] {
            flows.record_unfinished(1_000, 100, deadline);
        }
        assert_eq!(flows.deadlines(), Deadlines { met: 0, missed: 1, open: 1 });
        assert_eq!((flows.finished(), flows.unfinished(), flows.times().max()), (0, 3, None));
        assert_eq!(Deadlines { open: 1, ..Deadlines::default() }.missed_fraction(), None);
    }

    #[test]
    #[should_panic(expected = "needs some time even when it is alone")]
    fn an_ideal_of_zero_panics() {
        Completions::new().record(7, 1, 0, None);
    }

    type Drawn = (u64, u64, u64, Option<u64>, bool);

    fn of(flows: &[Drawn]) -> Completions {
        let mut completions = Completions::new();
        for &(bytes, elapsed_ps, ideal_ps, deadline_ps, finished) in flows {
            match finished {
                true => completions.record(bytes, elapsed_ps, ideal_ps, deadline_ps),
                false => completions.record_unfinished(bytes, elapsed_ps, deadline_ps),
            }
        }
        completions
    }

    fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
        let bytes = (any::<u64>(), 0..64u32).prop_map(|(bytes, shift)| bytes >> shift);
        vec((bytes, any::<u64>(), 1..u64::MAX, any::<Option<u64>>(), any::<bool>()), 0..20)
    }

    proptest! {
        #[test]
        fn merging_is_recording_all_flows(one in drawn(), other in drawn()) {
            let mut merged = of(&one);
            merged.merge(&of(&other));
            prop_assert_eq!(merged, of(&[one, other].concat()));
        }
    }
}
