//! What was seen of a group of flows, and whether it is steady: batch means over windows of equal length (Law, "Simulation Modeling
//! and Analysis", section 9.5.3), of which the first half is not used.

use crate::clock::Instant;

/// When there are so many windows, neighbours are joined.
const MOST_WINDOWS: usize = 64;

/// A judgement needs so many windows, half of which count, and another one so many more.
const WINDOWS_PER_LOOK: usize = 8;
const LEAST_WINDOWS: usize = 16;

/// Student's t at 97.5 % with seven degrees of freedom: no judgement goes by fewer than eight windows.
const STUDENT: f64 = 2.365;

/// A trend counts when its slope is so many standard errors from zero.
const SIGNIFICANT: f64 = 3.5;

/// What DCTCP remembers of marks may change by so much: a window with one mark changes it by six per cent.
const LEAST_MEMORY: f64 = 0.001;

/// Rates that differ by less are the same: a ps in a few hundred segments of 100 ns.
const EXACT: f64 = 1e-8;

/// What is seen of one flow at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sight {
    /// When the latest acknowledgement came, by the clock of the sender.
    pub(super) at: Instant,
    /// Segments acknowledged.
    pub(super) acknowledged: u32,
    /// Segments under way.
    pub(super) in_flight: u32,
    /// What congestion control lets be under way, in segments.
    pub(super) window: f64,
    /// What it remembers of marks, from 0 to 1.
    pub(super) memory: f64,
}

/// The rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Segments in a ps.
    pub(super) rate: f64,
    /// Half the width of its confidence interval, as a share of it.
    pub(super) error: f64,
    /// How long a segment takes, in ps, where all windows agree on that exactly.
    pub(super) period: Option<Instant>,
}

/// What is wrong with a flow that is not steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsteady {
    /// It stands still.
    Idle,
    /// Its windows differ too much.
    Noise,
    /// It becomes faster or slower.
    Trend,
    /// What it has under way, or might have, grows or shrinks.
    Flight,
    /// What congestion control remembers grows or shrinks.
    Memory,
}

/// What was seen of a group of flows.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Where windows end; the first begins at the first of these.
    times: Vec<Instant>,
    /// By flow, as many as there are times.
    flows: Vec<Vec<Sight>>,
    /// So many looks make a window.
    stride: u32,
    /// Looks since the last window ended.
    looks: u32,
}

impl History {
    pub(super) fn new(flows: usize) -> Self {
        Self { times: Vec::new(), flows: vec![Vec::new(); flows], stride: 1, looks: 0 }
    }

    /// A look at all flows; whether it is time to judge.
    pub(super) fn look(&mut self, now: Instant, sights: impl Iterator<Item = Sight>) -> bool {
        self.looks += 1;
        if self.looks < self.stride && !self.times.is_empty() {
            return false;
        }
        self.looks = 0;
        self.times.push(now);
        for (flow, sight) in self.flows.iter_mut().zip(sights) {
            flow.push(sight);
        }
        let windows = self.windows();
        if windows == MOST_WINDOWS {
            thin(&mut self.times);
            self.flows.iter_mut().for_each(thin);
            self.stride *= 2;
        }
        windows >= LEAST_WINDOWS && windows.is_multiple_of(WINDOWS_PER_LOOK)
    }

    fn windows(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// All of it is so much later: nothing happened in between.
    pub(super) fn delay(&mut self, by: Instant) {
        self.times.iter_mut().for_each(|time| *time += by);
    }

    /// How long the second half of the windows lasts.
    pub(super) fn span(&self) -> Instant {
        let half = self.windows() / 2;
        match (self.times.get(half), self.times.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0,
        }
    }

    /// The paces of all flows in the second half of the windows, if all are steady: `error` is what the confidence interval of a rate
    /// may have at most.
    pub(super) fn judge(&self, error: f64) -> Result<Vec<Pace>, Unsteady> {
        let half = self.windows() / 2;
        self.flows.iter().map(|flow| judge(&flow[half..], error)).collect()
    }
}

/// Keeps every second one, with the first and, of an odd number, the last.
fn thin<T: Copy>(all: &mut Vec<T>) {
    *all = all.iter().copied().step_by(2).collect();
}

fn judge(sights: &[Sight], error: f64) -> Result<Pace, Unsteady> {
    let (Some(first), Some(last)) = (sights.first(), sights.last()) else { return Err(Unsteady::Idle) };
    let (begin, end) = (first.at, last.at);
    let segments = f64::from(last.acknowledged.wrapping_sub(first.acknowledged));
    if segments < 1.0 || end <= begin {
        return Err(Unsteady::Idle);
    }
    let rates: Vec<f64> = sights
        .windows(2)
        .map(|pair| {
            let time = pair[1].at.saturating_sub(pair[0].at);
            f64::from(pair[1].acknowledged.wrapping_sub(pair[0].acknowledged)) / time.max(1) as f64
        })
        .collect();
    let rate = segments / (end - begin) as f64;
    let line = Line::through(&rates);
    // Acknowledgements come in bursts: one more or less is at either end.
    let width = STUDENT * line.deviation / (rates.len() as f64).sqrt() / rate + 0.5 / segments;
    if width > error {
        return Err(Unsteady::Noise);
    }
    if line.is_significant() && line.change().abs() > error / 2.0 * rate {
        return Err(Unsteady::Trend);
    }
    // Sights are taken at any phase of a burst.
    if has_trend(sights, |sight| f64::from(sight.in_flight), 1.0) || has_trend(sights, |sight| sight.window, 1.0) {
        return Err(Unsteady::Flight);
    }
    if has_trend(sights, |sight| sight.memory, LEAST_MEMORY) {
        return Err(Unsteady::Memory);
    }
    Ok(Pace { rate, error: width, period: period(rate, &rates) })
}

/// Whether something grows or shrinks by more than so much.
fn has_trend(sights: &[Sight], of: impl Fn(&Sight) -> f64, most: f64) -> bool {
    let values: Vec<f64> = sights.iter().map(of).collect();
    let line = Line::through(&values);
    line.is_significant() && line.change().abs() > most
}

/// How long a segment takes, if that is whole ps in all windows.
fn period(rate: f64, rates: &[f64]) -> Option<Instant> {
    let period = (1.0 / rate).round();
    let is_exact = |rate: f64| (rate * period - 1.0).abs() < EXACT;
    (is_exact(rate) && rates.iter().all(|&rate| is_exact(rate))).then_some(period as Instant)
}

/// The line of least squares through equally spaced values.
#[derive(Clone, Copy, Debug)]
struct Line {
    count: f64,
    slope: f64,
    /// The standard error of the slope.
    slope_error: f64,
    /// The standard deviation of the values from their mean.
    deviation: f64,
}

impl Line {
    fn through(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let (mut squares, mut products, mut spread) = (0.0, 0.0, 0.0);
        for (index, value) in values.iter().enumerate() {
            let (x, y) = (index as f64 - middle, value - mean);
            squares += x * x;
            products += x * y;
            spread += y * y;
        }
        let slope = products / squares.max(1.0);
        let residual = (spread - slope * products).max(0.0) / (count - 2.0).max(1.0);
        let slope_error = (residual / squares.max(1.0)).sqrt();
        Self { count, slope, slope_error, deviation: (spread / (count - 1.0).max(1.0)).sqrt() }
    }

    fn is_significant(self) -> bool {
        self.slope.abs() > SIGNIFICANT * self.slope_error
    }

    /// From the first to the last value.
    fn change(self) -> f64 {
        self.slope * (self.count - 1.0)
    }
}
