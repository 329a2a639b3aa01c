//! Main figures of a traffic, and their spread over the seeds of a sweep.

use super::result::{RunResult, SweepParameter, TrafficResult};
use super::text;

/// One main figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Mean completion time, or packet delay where no flow ends, in ps.
    MeanTime,
    /// 99 % of them.
    TailTime,
    /// 99 % of the slowdowns, in thousandths.
    TailSlowdown,
    /// 99 % of the round trips, in ps.
    TailRoundTrip,
    /// In bit/s.
    Goodput,
    /// The part of all packets.
    Lost,
}

impl Measure {
    /// All of them, in the order in which people ask.
    pub const ALL: [Self; 6] =
        [Self::MeanTime, Self::TailTime, Self::TailSlowdown, Self::TailRoundTrip, Self::Goodput, Self::Lost];

    /// The value for a traffic; `None` where there is none.
    pub fn of(self, traffic: &TrafficResult) -> Option<f64> {
        match self {
            Self::MeanTime => Some(traffic.times()?.mean),
            Self::TailTime => Some(traffic.times()?.p99 as f64),
            Self::TailSlowdown => Some(traffic.slowdown_thousandths.as_ref()?.p99 as f64),
            Self::TailRoundTrip => Some(traffic.round_trip_ps.as_ref()?.p99 as f64),
            Self::Goodput => Some(traffic.goodput_bps as f64),
            Self::Lost => (traffic.sent > 0).then(|| text::part(traffic.drops, traffic.sent)),
        }
    }

    /// Returns the name of the figure for this traffic.
    pub fn name(self, traffic: &TrafficResult) -> &'static str {
        let has_completions = traffic.completion_ps.is_some();
        match self {
            Self::MeanTime if has_completions => "mean completion time",
            Self::MeanTime => "mean packet delay",
            Self::TailTime if has_completions => "p99 completion time",
            Self::TailTime => "p99 packet delay",
            Self::TailSlowdown => "p99 slowdown",
            Self::TailRoundTrip => "p99 round-trip time",
            Self::Goodput => "goodput",
            Self::Lost => "packets lost",
        }
    }

    /// A value as it is read.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::MeanTime | Self::TailTime | Self::TailRoundTrip => text::mean_time(value),
            Self::TailSlowdown => text::slowdown(value),
            Self::Goodput => text::rate(value),
            Self::Lost => text::share(value),
        }
    }
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedSpread {
    /// Over the seeds.
    pub mean: f64,
    /// Of any seed.
    pub lowest: f64,
    /// Of any seed.
    pub highest: f64,
}

impl SeedSpread {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sum: f64 = values.iter().sum();
        let lowest = values.iter().copied().reduce(f64::min)?;
        let highest = values.iter().copied().reduce(f64::max)?;
        Some(Self { mean: sum / values.len() as f64, lowest, highest })
    }
}

/// Runs that differ in their seed only.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Parameters that the sweep gave to all of them.
    pub parameters: &'a [SweepParameter],
    /// The complete ones.
    pub runs: Vec<&'a RunResult>,
}

impl<'a> Group<'a> {
    /// The groups of some results, in their order; runs that were stopped are in none.
    pub fn all(results: impl IntoIterator<Item = &'a RunResult>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for run in results.into_iter().filter(|run| run.is_complete()) {
            match groups.iter_mut().find(|group| group.parameters == run.parameters) {
                Some(group) => group.runs.push(run),
                None => groups.push(Self { parameters: &run.parameters, runs: vec![run] }),
            }
        }
        groups
    }

    /// A figure of the traffic of a name.
    pub fn spread(&self, traffic: &str, measure: Measure) -> Option<SeedSpread> {
        let find = |run: &&RunResult| {
            run.traffic.iter().find(|known| known.name == traffic).and_then(|known| measure.of(known))
        };
        SeedSpread::of(&self.runs.iter().filter_map(find).collect::<Vec<_>>())
    }
}

/// The traffic of all runs by name, in the order in which it comes.
pub fn traffic_names<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Vec<&'a TrafficResult> {
    let mut names: Vec<&TrafficResult> = Vec::new();
    for traffic in results.into_iter().flat_map(|run| &run.traffic) {
        match names.iter_mut().find(|known| known.name == traffic.name) {
            // Prefer a traffic with finished flows: it determines the names of its figures.
            Some(known) if known.completion_ps.is_none() => *known = traffic,
            Some(_) => {}
            None => names.push(traffic),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_mean_minimum_and_maximum() {
        assert_eq!(SeedSpread::of(&[3.0, 1.0, 2.0]), Some(SeedSpread { mean: 2.0, lowest: 1.0, highest: 3.0 }));
        assert_eq!(SeedSpread::of(&[]), None);
    }
}
