//! Results read from a run: rates and shortfalls of tenants, round trips, queues.

use wayleave_sim::Outcome;
use wayleave_sim::stats::Histogram;
use wayleave_units::Time;

use super::systems::System;
use crate::data::{Axis, Form, Panel, Point, Series};

/// Picoseconds of a millisecond.
const MS: f64 = 1e9;

/// A time span in ms.
pub(super) type Span = (f64, f64);

/// A value over time: the middle of each interval in ms, and the value there.
pub(super) type Curve = Vec<(f64, f64)>;

fn end_ps(outcome: &Outcome) -> u64 {
    outcome.simulated.as_nanos() * 1_000
}

/// Returns the arrivals of a traffic over time, in Gbit/s on the wire.
pub(super) fn rates(outcome: &Outcome, traffic: usize) -> Curve {
    let series = outcome.traffic[traffic].throughput.as_ref();
    let bins = series.into_iter().flat_map(|series| series.bins(end_ps(outcome)));
    bins.map(|bin| ((bin.start_ps + bin.end_ps) as f64 / 2.0 / MS, bin.per_second() * 8.0 / 1e9)).collect()
}

/// Returns a tenant's shortfall from its minimum over time, at all hosts that receive, in Gbit/s on the wire.
pub(super) fn missed(outcome: &Outcome, tenant: &str) -> Curve {
    let share = outcome.sharing.as_ref().and_then(|sharing| sharing.service(tenant));
    let machines = share.into_iter().flat_map(|share| &share.machines);
    let curves: Vec<Curve> = machines
        .filter_map(|machine| machine.receive_shortfall.as_ref())
        .map(|shortfall| {
            let bins = shortfall.series().bins(end_ps(outcome));
            bins.map(|bin| ((bin.start_ps + bin.end_ps) as f64 / 2.0 / MS, bin.per_second() * 8.0 / 1e9)).collect()
        })
        .collect();
    sum(&curves)
}

/// The most that any port held over time, in kB.
pub(super) fn longest_queue(outcome: &Outcome) -> Curve {
    let mut longest: Curve = Vec::new();
    for levels in outcome.links.iter().filter_map(|link| link.backlog.as_ref()) {
        for (index, bin) in levels.bins(end_ps(outcome)).enumerate() {
            let held = bin.maximum as f64 / 1e3;
            match longest.get_mut(index) {
                Some((_, most)) => *most = most.max(held),
                None => longest.push(((bin.start_ps + bin.end_ps) as f64 / 2.0 / MS, held)),
            }
        }
    }
    longest
}

/// Point by point.
pub(super) fn sum(curves: &[Curve]) -> Curve {
    let mut all: Curve = curves.first().cloned().unwrap_or_default();
    for curve in curves.iter().skip(1) {
        all.iter_mut().zip(curve).for_each(|((_, sum), (_, value))| *sum += value);
    }
    all
}

/// The values in a span.
pub(super) fn within(curve: &[(f64, f64)], (from, to): Span) -> impl Iterator<Item = f64> {
    curve.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, value)| *value)
}

/// The mean in a span; not a number without values.
pub(super) fn mean_in(curve: &[(f64, f64)], span: Span) -> f64 {
    crate::stats::mean(&within(curve, span).collect::<Vec<_>>())
}

/// The largest value in a span.
pub(super) fn most_in(curve: &[(f64, f64)], span: Span) -> f64 {
    within(curve, span).fold(f64::NAN, f64::max)
}

/// Returns the means of groups of `neighbours` points: for panels.
pub(super) fn thinned(curve: &[(f64, f64)], neighbours: usize) -> Curve {
    let mean = |chunk: &[(f64, f64)]| {
        let count = chunk.len() as f64;
        (chunk.iter().map(|point| point.0).sum::<f64>() / count, chunk.iter().map(|point| point.1).sum::<f64>() / count)
    };
    curve.chunks(neighbours.max(1)).map(mean).collect()
}

/// Round trips of all traffic together, in ps.
pub(super) fn round_trips(outcome: &Outcome) -> Histogram {
    let mut all = Histogram::new();
    for round_trips in outcome.traffic.iter().filter_map(|traffic| traffic.round_trips.as_ref()) {
        all.merge(&round_trips.all());
    }
    all
}

/// Returns a percentile of a histogram of ps, in us.
pub(super) fn microseconds(histogram: &Histogram, percent: f64) -> f64 {
    histogram.percentile(percent).map_or(f64::NAN, |ps| ps as f64 / 1e6)
}

/// Returns the time from which a curve stays within these bounds for `stay`, in ms after the start; not a number if
/// it never does.
pub(super) fn settles(curve: &[(f64, f64)], start: f64, bounds: (f64, f64), stay: f64) -> f64 {
    let after: Curve = curve.iter().copied().filter(|(at, _)| *at >= start).collect();
    let mut since = None;
    for (at, value) in after {
        if (bounds.0..=bounds.1).contains(&value) {
            let begun = *since.get_or_insert(at);
            if at - begun >= stay {
                return begun - start;
            }
        } else {
            since = None;
        }
    }
    f64::NAN
}

/// The longest of several times; not a number if one of them is none.
pub(super) fn longest(times: impl IntoIterator<Item = f64>) -> f64 {
    let more = |most: f64, time: f64| if time.is_nan() || most.is_nan() { f64::NAN } else { most.max(time) };
    times.into_iter().fold(0.0, more)
}

/// Returns the panel of rates over time under a system, in the run of the first seed.
pub(super) fn over_time(who: &str, system: System, curves: impl Iterator<Item = (String, Curve)>) -> Panel {
    let series = |(name, curve): (String, Curve)| Series {
        name,
        points: curve.into_iter().map(|(at, rate)| Point::of(at, vec![rate])).collect(),
    };
    Panel::new(
        format!("rates-{}", system.slug()),
        format!("What {who} get under {}, first seed", system.name()),
        (Axis::linear("time", "ms"), Axis::linear("rate", "Gbit/s")),
        Form::Joined,
        curves.map(series).collect(),
    )
}

/// One value for each run, for people.
pub(super) fn listed(values: &[f64], digits: usize) -> String {
    let shown = |value: &f64| if value.is_nan() { "never".to_owned() } else { format!("{value:.digits$}") };
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// As the curves count.
pub(super) fn milliseconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_settles_at_its_last_entry_into_the_band() {
        let curve: Curve =
            [0.0, 5.0, 0.0, 5.0, 5.0, 6.0, 5.0, 0.0].into_iter().zip(0..).map(|(v, at)| (f64::from(at), v)).collect();
        assert_eq!(settles(&curve, 0.0, (4.0, 6.0), 2.0), 3.0);
        assert_eq!(settles(&curve, 2.0, (4.0, 6.0), 2.0), 1.0);
        assert!(settles(&curve, 0.0, (4.0, 6.0), 4.0).is_nan());
    }

    #[test]
    fn neighbours_are_joined_and_curves_added() {
        let curve: Curve = vec![(1.0, 2.0), (2.0, 4.0), (3.0, 9.0)];
        assert_eq!(thinned(&curve, 2), [(1.5, 3.0), (3.0, 9.0)]);
        assert_eq!(sum(&[curve.clone(), curve.clone()])[2], (3.0, 18.0));
        assert_eq!(most_in(&curve, (1.0, 3.0)), 4.0);
    }
}
