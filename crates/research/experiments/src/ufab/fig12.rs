//! Fig. 12: how systems react to an incast of fourteen tenants (section 5.2).

use wayleave_units::Time;

use super::fig4::incast;
use super::readings::{Curve, listed, longest, mean_in, microseconds, over_time, rates, round_trips, settles, thinned};
use super::systems::System;
use super::testbed::{ROUND_TRIP, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig12",
    runs: "incast",
    paper: &UFAB,
    place: "Fig. 12",
    title: "Rates and round-trip times of an incast of fourteen tenants",
    full_runs: 10,
    full_seconds: 20,
    quick_seconds: 2,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SYSTEMS: [System; 6] =
    [System::Ufab, System::Unbounded, System::Pwc, System::Elastic, System::PwcCubic, System::ElasticCubic];
const SENDERS: usize = 14;
/// Start time, in ms.
const START: f64 = 1.0;
/// Of 9.5 Gbit/s.
const FAIR: f64 = 9.5 / SENDERS as f64;
/// A tenant has converged when it stays within this part of its fair share for [`STAY`]; means of half a millisecond.
const NEAR: f64 = 0.25;
const STAY: f64 = 5.0;
/// In intervals of 100 us.
const SMOOTHED: usize = 5;
/// Section 3.4: four base round trips, in us.
const BOUND_US: f64 = 4.0 * ROUND_TRIP.as_nanos() as f64 / 1e3;
/// Times that were measured on hardware are met if they are met within a factor of two; the text prints no interval.
const FACTOR: f64 = 2.0;

/// One run of a system.
#[derive(Clone, Debug)]
struct Case {
    rates: Vec<Curve>,
    /// Time when the last tenant had converged, in ms after the start; not a number if one never did.
    converged: f64,
    /// Standard deviation over mean of the rates of tenants in the second half, the mean of all.
    fluctuation: f64,
    /// Median, 99 %, 99.9 % and the longest round trip, in us.
    round_trips: [f64; 4],
}

stored!(Case { rates, converged, fluctuation, round_trips });

/// All runs of a system.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    cases: Vec<Case>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(100, 60));
    let found = run.gather(&format!("{}, {duration}", ENTRY.id), (&SYSTEMS, &seeds), |&system, seed| {
        case(system, duration, seed)
    })?;
    let rows: Vec<Row> = SYSTEMS.into_iter().zip(found).map(|(system, cases)| Row { system, cases }).collect();
    let figure = Figure {
        statements: statements(&rows),
        panels: panels(&rows),
        tables: vec![table(&rows)],
        seeds,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("time", format!("{} ms; all tenants begin together at 1 ms", duration.as_nanos() / 1_000_000)))
}

const NOTES: [&str; 2] = [
    "A tenant has converged when its rate over half a millisecond stays within 25 % of a fourteenth of 9.5 Gbit/s for 5 ms. The text says \"quickly\" and \"slowly\"; its Table 1 gives less than 1 ms to uFAB and 10 to 200 ms to systems like the alternatives.",
    "Round trips of the text are measured on hardware without an interval; they count as met within a factor of two.",
];

fn case(system: System, duration: Time, seed: u64) -> Result<Case, Failed> {
    let outcome = incast(system, SENDERS, duration, seed)?;
    let rates: Vec<Curve> = (0..SENDERS).map(|index| thinned(&rates(&outcome, index), SMOOTHED)).collect();
    let end = duration.as_nanos() as f64 / 1e6;
    let bounds = ((1.0 - NEAR) * FAIR, (1.0 + NEAR) * FAIR);
    let times: Vec<f64> = rates.iter().map(|curve| settles(curve, START, bounds, STAY)).collect();
    let fluctuations: Vec<f64> = rates.iter().map(|curve| fluctuation(curve, (end / 2.0, end))).collect();
    let round_trips = round_trips(&outcome);
    Ok(Case {
        converged: longest(times),
        fluctuation: mean(&fluctuations),
        round_trips: [50.0, 99.0, 99.9, 100.0].map(|percent| microseconds(&round_trips, percent)),
        rates,
    })
}

fn fluctuation(curve: &[(f64, f64)], span: (f64, f64)) -> f64 {
    let mean = mean_in(curve, span);
    let squares: Curve = curve.iter().map(|(at, rate)| (*at, (rate - mean).powi(2))).collect();
    mean_in(&squares, span).sqrt() / mean
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| row.system == system).flat_map(|row| row.cases.iter().map(value)).collect()
    };
    let mut statements: Vec<Statement> = [System::Ufab, System::Unbounded]
        .map(|system| converges_quickly(system, &of(system, &|case| case.converged)))
        .to_vec();
    let tails = |system: System| of(system, &|case| case.round_trips[1]);
    let slow = |system: System| converges_slowly(system, &of(system, &|case| case.converged));
    let in_part =
        format!("the transport: over CUBIC, which fills buffers, 99 % are {} us", listed(&tails(System::PwcCubic), 0));
    let elastic_in_part = format!("the transport: over CUBIC 99 % are {:.0} us", mean(&tails(System::ElasticCubic)));
    let fluctuates = |system: System| {
        let [theirs, ours] = [system, System::Ufab].map(|system| of(system, &|case| 100.0 * case.fluctuation));
        fluctuates_more(system, &theirs, &ours)
    };
    let on_cubic = |system: System| of(system, &|case| f64::from(u8::from(is_slow(case.converged))));
    statements.extend([
        slow(System::Pwc).tested("the transport: CUBIC", &on_cubic(System::PwcCubic)).ruled_out([
            "the unit of weights, Swift's targets and increase, the meter's interval and burst (docs/theory/sharing.md)",
        ]),
        tail(System::Pwc, 2.2, &tails(System::Pwc)).tested(in_part, &tails(System::PwcCubic)),
        fluctuates(System::Pwc),
        slow(System::Elastic),
        fluctuates(System::Elastic),
        tail(System::Elastic, 2.3, &tails(System::Elastic)).tested(elastic_in_part, &tails(System::ElasticCubic)).ruled_out([
            "its periods, hold, growth, headroom and burst, and thresholds of marks (docs/theory/sharing.md)",
        ]),
    ]);
    let shorter = ratio_of_means(&tails(System::Pwc), &tails(System::Unbounded));
    let over_cubic = ratio_of_means(&tails(System::PwcCubic), &tails(System::Unbounded));
    statements.push(
        Statement::mean_within(
            "5.2, Fig. 12b",
            "uFAB' decreases the 99th percentile by 11 times",
            11.0 / FACTOR..=11.0 * FACTOR,
            &shorter,
            format!("{:.1} times less than PicNIC'+WCC+Clove", mean(&shorter)),
        )
        .tested(format!("the transport of PicNIC': over CUBIC it is {:.1} times", mean(&over_cubic)), &over_cubic),
    );
    let most = of(System::Ufab, &|case| case.round_trips[3]);
    statements.push(Statement::within(
        "5.2, Fig. 12b",
        "uFAB's round trips stay below the expected bound, 4 times 24 us",
        0.0..=BOUND_US,
        &most,
        format!("the longest takes {} us", listed(&most, 1)),
    ));
    statements
}

fn converges_quickly(system: System, times: &[f64]) -> Statement {
    Statement::mean_within(
        "5.2, Fig. 12a; Table 1",
        format!("{} converges quickly: in less than 1 ms", system.name()),
        0.0..=1.0,
        times,
        format!("after {} ms", listed(times, 1)),
    )
}

/// Returns the statement of slow convergence. A system that never converges in the time of the run is slow too:
/// `times` contains the whole run then.
fn converges_slowly(system: System, times: &[f64]) -> Statement {
    let never = times.iter().filter(|time| time.is_nan()).count();
    let slow = times.iter().all(|&time| is_slow(time));
    Statement::claim(
        "5.2, Fig. 12a; Table 1",
        format!("{} converges slowly: not before 10 ms", system.name()),
        slow,
        format!("after {} ms; {never} of {} never", listed(times, 1), times.len()),
    )
}

/// Returns `true` if rates converge after 10 ms, the least time of Table 1 for systems like the alternatives, or never.
fn is_slow(converged_ms: f64) -> bool {
    converged_ms.is_nan() || converged_ms >= 10.0
}

/// The text shows rates that fluctuate beside those of uFAB: here by half more, as the standard deviation of rates over their mean.
fn fluctuates_more(system: System, theirs: &[f64], ours: &[f64]) -> Statement {
    Statement::mean_within(
        "5.2, Fig. 12a",
        format!("rates fluctuate under {}: by half more than under uFAB", system.name()),
        1.5..=f64::INFINITY,
        &ratio_of_means(theirs, ours),
        format!("{:.1} % of the mean, {:.1} % under uFAB", mean(theirs), mean(ours)),
    )
}

/// The 99 % percentile that the text prints, in ms.
fn tail(system: System, ms: f64, us: &[f64]) -> Statement {
    Statement::mean_within(
        "5.2, Fig. 12b",
        format!("{} has a 99th percentile of round trips of {ms} ms", system.name()),
        ms * 1e3 / FACTOR..=ms * 1e3 * FACTOR,
        us,
        format!("{} us", listed(us, 0)),
    )
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let curve = |(number, curve): (usize, &Curve)| (format!("vf{number}"), curve.clone());
    let rates =
        |row: &Row| row.cases.first().map(|case| over_time("tenants", row.system, (1..).zip(&case.rates).map(curve)));
    let tails = |row: &Row| Series {
        name: row.system.name().to_owned(),
        points: ["p50", "p99", "p99.9", "maximum"]
            .into_iter()
            .enumerate()
            .map(|(at, name)| Point::of(name, row.cases.iter().map(|case| case.round_trips[at]).collect()))
            .collect(),
    };
    let axes = (Axis::categories("percentile"), Axis::logarithmic("round-trip time", "us"));
    let tails = Panel::new("round-trips", "Round trips", axes, Form::Apart, rows.iter().map(tails).collect());
    rows.iter().filter_map(rates).chain([tails]).collect()
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let each = |of: &dyn Fn(&Case) -> f64| mean(&row.cases.iter().map(of).collect::<Vec<_>>());
        let converged: Vec<f64> = row.cases.iter().map(|case| case.converged).filter(|time| !time.is_nan()).collect();
        let never = row.cases.len() - converged.len();
        vec![
            row.system.name().to_owned(),
            if converged.is_empty() { "never".to_owned() } else { format!("{:.1} ms", mean(&converged)) },
            format!("{never} of {}", row.cases.len()),
            format!("{:.1} %", 100.0 * each(&|case| case.fluctuation)),
            format!("{:.0} us", each(&|case| case.round_trips[1])),
            format!("{:.0} us", each(&|case| case.round_trips[3])),
        ]
    });
    Table {
        name: "systems".to_owned(),
        title: "Convergence and round-trip times (mean of the seeds)".to_owned(),
        columns: ["system", "converged after", "never", "fluctuation", "p99 round-trip time", "maximum"]
            .map(str::to_owned)
            .to_vec(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let of = |system: System| match system {
            System::Ufab => (0.3, [24.0, 30.0, 40.0, 50.0]),
            System::Unbounded => (0.5, [24.0, 200.0, 300.0, 400.0]),
            _ => (20.0, [50.0, 2_250.0, 2_300.0, 2_400.0]),
        };
        let row = |system: System| {
            let (converged, round_trips) = of(system);
            let fluctuation = if system == System::Ufab { 0.05 } else { 0.1 };
            Row { system, cases: vec![Case { rates: Vec::new(), converged, fluctuation, round_trips }; 2] }
        };
        let rows: Vec<Row> = SYSTEMS.map(row).to_vec();
        let slower = |system: System, by: f64| {
            move |rows: &mut Vec<Row>| {
                for case in rows.iter_mut().filter(|row| row.system == system).flat_map(|row| &mut row.cases) {
                    case.converged *= by;
                    case.round_trips.iter_mut().for_each(|time| *time *= by);
                }
            }
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("uFAB is slow", &slower(System::Ufab, 10.0)),
                ("uFAB' is slow", &slower(System::Unbounded, 10.0)),
                ("uFAB' is fast", &slower(System::Unbounded, 0.1)),
                ("PWC is slower", &slower(System::Pwc, 10.0)),
                ("PWC is fast", &slower(System::Pwc, 0.1)),
                ("ElasticSwitch is slower", &slower(System::Elastic, 10.0)),
                ("ElasticSwitch is fast", &slower(System::Elastic, 0.1)),
                ("all rates fluctuate like those of uFAB", &|rows: &mut Vec<Row>| {
                    rows.iter_mut().flat_map(|row| &mut row.cases).for_each(|case| case.fluctuation = 0.1);
                }),
            ],
        );
    }
}
