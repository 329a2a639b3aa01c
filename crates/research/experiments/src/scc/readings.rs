//! Metrics of a run: one for each objective.

use wayleave_sim::{Outcome, TrafficOutcome};

use super::workloads::Application;
use crate::checkpoint::stored;
use crate::stats::mean;

/// The metrics of one run; not a number where an application has no flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metrics {
    /// Round trips of LS packets in us: mean and 99 %.
    pub(super) round_trip: [f64; 2],
    /// Deadlines of DS flows that were missed, in per cent of those that were decided.
    pub(super) missed: f64,
    /// Mean time of CS flows that are complete (AFCT), in ms.
    pub(super) completion: f64,
}

stored!(Metrics { round_trip, missed, completion });

impl Metrics {
    /// Returns the metrics of a run.
    pub(super) fn of(outcome: &Outcome) -> Self {
        let of = |application: Application| traffic(outcome, application.name());
        let round_trips =
            of(Application::Latency).and_then(|traffic| traffic.round_trips.as_ref()).map(|all| all.all());
        let us = |ps: Option<f64>| ps.map_or(f64::NAN, |ps| ps / 1e6);
        Self {
            round_trip: [
                us(round_trips.as_ref().and_then(|all| all.mean())),
                us(round_trips.as_ref().and_then(|all| all.percentile(99.0)).map(|ps| ps as f64)),
            ],
            missed: missed_by(outcome, Application::Deadline.name()),
            completion: of(Application::Completion)
                .and_then(|traffic| traffic.completions.times().mean())
                .map_or(f64::NAN, |ps| ps / 1e9),
        }
    }
}

fn traffic<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a TrafficOutcome> {
    outcome.traffic.iter().find(|traffic| traffic.name == name)
}

/// Deadlines of a traffic that were missed, in per cent of those that were decided.
pub(super) fn missed_by(outcome: &Outcome, name: &str) -> f64 {
    let fraction = traffic(outcome, name).and_then(|traffic| traffic.completions.deadlines().missed_fraction());
    fraction.map_or(f64::NAN, |missed| 100.0 * missed)
}

/// Ranges of claims that have a number or an order: the effect has to be between half of and twice the text's.
pub(super) mod ranges {
    use std::ops::RangeInclusive;

    /// Least effect of a claim that names an order only.
    const NOTICEABLE: f64 = 0.05;

    /// A metric is better, or worse, by this factor: 4x is an improvement by three, so 2.5x to 7x.
    pub(crate) fn times(factor: f64) -> RangeInclusive<f64> {
        let gain = factor - 1.0;
        1.0 + gain / 2.0..=1.0 + 2.0 * gain
    }

    /// The ratio of a metric that is larger.
    pub(crate) fn larger() -> RangeInclusive<f64> {
        1.0 + NOTICEABLE..=f64::INFINITY
    }

    /// The ratio of a metric that is smaller.
    pub(crate) fn smaller() -> RangeInclusive<f64> {
        0.0..=1.0 - NOTICEABLE
    }

    #[test]
    fn no_improvement_is_in_no_range() {
        assert_eq!((times(4.0), times(2.0)), (2.5..=7.0, 1.5..=3.0));
        assert!([times(1.8), larger(), smaller()].iter().all(|range| !range.contains(&1.0)));
    }
}

/// Selector of one metric of a run.
pub(super) type Metric = fn(&Metrics) -> f64;

/// One metric of each run.
pub(super) fn each(runs: &[Metrics], metric: impl Fn(&Metrics) -> f64) -> Vec<f64> {
    runs.iter().map(metric).collect()
}

/// The mean of one metric over the runs.
pub(super) fn mean_of(runs: &[Metrics], metric: impl Fn(&Metrics) -> f64) -> f64 {
    mean(&each(runs, metric))
}

/// Deadlines that were missed, in per cent.
pub(super) fn missed(metrics: &Metrics) -> f64 {
    metrics.missed
}

/// AFCT in ms.
pub(super) fn completion(metrics: &Metrics) -> f64 {
    metrics.completion
}

/// The mean round trip in us.
pub(super) fn round_trip(metrics: &Metrics) -> f64 {
    metrics.round_trip[0]
}
