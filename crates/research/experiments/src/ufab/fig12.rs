//! Fig. 12: how systems react to an incast of fourteen tenants (section 5.2).

use wayleave_scenarios::HostSchemeConfig;
use wayleave_units::{Bytes, Time};

use super::fig4::{incast, incast_with};
use super::readings::{Curve, listed, longest, mean_in, microseconds, over_time, rates, round_trips, settles, thinned};
use super::systems::{AS_HERE, AS_PRINTED, SPARSE, System};
use super::testbed::{ROUND_TRIP, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
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

const SYSTEMS: [System; 8] = [
    System::Ufab,
    System::Sparse,
    System::Unbounded,
    System::Pwc,
    System::Elastic,
    System::PwcCubic,
    System::ElasticCubic,
    System::Printed,
];
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

/// Times after which percentiles are taken, in ms from the start of the tenants: the text gives none.
const LENGTHS: [u64; 6] = [2, 5, 10, 20, 50, 99];
/// First windows of CUBIC in packets (RFC 6928: 10) and bursts of PicNIC's limiters in kB (default: 64): the text gives neither.
const FIRST_WINDOWS: [u32; 3] = [2, 4, 20];
const BURSTS_KB: [u64; 3] = [3, 15, 250];

/// Values that the text does not give, on which the percentiles of Fig. 12b depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unstated {
    length_ms: u64,
    first_window: u32,
    burst_kb: u64,
}

impl Unstated {
    /// Returns the values of the sweep: one differs from the default at a time, at each length.
    fn all(lengths: &[u64]) -> Vec<Self> {
        let usual = |length_ms| Self { length_ms, first_window: 10, burst_kb: 64 };
        let at = |&length: &u64| {
            let windows = FIRST_WINDOWS.map(|first_window| Self { first_window, ..usual(length) });
            let bursts = BURSTS_KB.map(|burst_kb| Self { burst_kb, ..usual(length) });
            [usual(length)].into_iter().chain(windows).chain(bursts).collect::<Vec<_>>()
        };
        lengths.iter().flat_map(at).collect()
    }

    /// Returns `true` for the defaults of first window and bursts.
    fn is_usual(self) -> bool {
        (self.first_window, self.burst_kb) == (10, 64)
    }
}

/// A run of the sweep.
#[derive(Clone, Debug)]
struct Swept {
    unstated: Unstated,
    /// 99 % of round trips over those of uFAB' after the same time, over CUBIC, for each seed.
    times: Vec<f64>,
}

/// Everything that was measured.
#[derive(Clone, Debug)]
struct Data {
    rows: Vec<Row>,
    swept: Vec<Swept>,
}

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
        case(run.simulator(), system, duration, seed)
    })?;
    let rows: Vec<Row> = SYSTEMS.into_iter().zip(found).map(|(system, cases)| Row { system, cases }).collect();
    let data = Data { rows, swept: sweep(run, &seeds)? };
    let figure = Figure {
        statements: statements(&data),
        panels: panels(&data.rows),
        tables: vec![table(&data.rows), swept_table(&data.swept)],
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

/// Measures the 99 % percentile for values that the text does not give.
fn sweep(run: &Run, seeds: &[u64]) -> Result<Vec<Swept>, Failed> {
    let lengths = run.choose(&LENGTHS[..], &LENGTHS[..2]);
    let tail = |system: System, unstated: Unstated, seed: u64| -> Result<f64, Failed> {
        let outcome =
            incast_with(run.simulator(), system, SENDERS, Time::from_millis(1 + unstated.length_ms), seed, |run| {
                if system == System::PwcCubic {
                    run.transport.initial_window = unstated.first_window;
                }
                if let Some(HostSchemeConfig::Picnic(settings)) =
                    run.sharing.as_mut().map(|sharing| &mut sharing.scheme)
                {
                    settings.burst = Bytes::new(unstated.burst_kb * 1_000);
                }
            })?;
        Ok(microseconds(&round_trips(&outcome), 99.0))
    };
    let all = Unstated::all(lengths);
    let figure = format!("{}, sweep", ENTRY.id);
    let cubic = run.gather(&figure, (&all, seeds), |&unstated, seed| tail(System::PwcCubic, unstated, seed))?;
    let usual: Vec<Unstated> = Unstated::all(lengths).into_iter().filter(|one| one.is_usual()).collect();
    let figure = format!("{}, sweep of uFAB'", ENTRY.id);
    let ours = run.gather(&figure, (&usual, seeds), |&unstated, seed| tail(System::Unbounded, unstated, seed))?;
    let below = |unstated: Unstated| {
        let at = usual.iter().position(|one| one.length_ms == unstated.length_ms);
        at.map(|at| ours[at].as_slice()).unwrap_or_default()
    };
    let swept =
        |(unstated, tails): (Unstated, Vec<f64>)| Swept { unstated, times: ratio_of_means(&tails, below(unstated)) };
    Ok(all.into_iter().zip(cubic).map(swept).collect())
}

fn case(simulator: &Simulator, system: System, duration: Time, seed: u64) -> Result<Case, Failed> {
    let outcome = incast(simulator, system, SENDERS, duration, seed)?;
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

/// uFAB' decreases the 99th percentile by this factor (5.2).
const DECREASE: f64 = 11.0;

/// Returns the values of the sweep with which the factor is met, in words.
fn agreeing(swept: &[Swept]) -> String {
    let range = DECREASE / FACTOR..=DECREASE * FACTOR;
    let agrees = |one: &&Swept| range.contains(&mean(&one.times));
    let lengths: Vec<u64> =
        swept.iter().filter(|one| one.unstated.is_usual()).filter(agrees).map(|one| one.unstated.length_ms).collect();
    let ends = lengths.iter().min().zip(lengths.iter().max());
    let shown = ends.map_or("none of the lengths".to_owned(), |(least, most)| format!("{least} to {most} ms"));
    let others = swept.iter().filter(|one| !one.unstated.is_usual());
    format!(
        "Over CUBIC the factor is met after {shown} with a first window of 10 packets and bursts of 64 kB, and with {} of {} other values of both (table).",
        others.clone().filter(agrees).count(),
        others.count()
    )
}

fn statements(Data { rows, swept }: &Data) -> Vec<Statement> {
    let of = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| row.system == system).flat_map(|row| row.cases.iter().map(value)).collect()
    };
    let forms =
        [(System::Ufab, AS_HERE), (System::Sparse, SPARSE), (System::Printed, AS_PRINTED), (System::Unbounded, "")];
    let mut statements: Vec<Statement> = forms
        .map(|(system, reading)| {
            let name = if system == System::Unbounded { system } else { System::Ufab }.name();
            converges_quickly(name, &of(system, &|case| case.converged)).reading(reading)
        })
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
    let decrease = Statement::mean_within(
        "5.2, Fig. 12b",
        "uFAB' decreases the 99th percentile by 11 times",
        DECREASE / FACTOR..=DECREASE * FACTOR,
        &shorter,
        format!("{:.1} times less than PicNIC'+WCC+Clove", mean(&shorter)),
    );
    let usual = swept.iter().filter(|one| one.unstated.is_usual());
    let decrease = usual.fold(decrease, |decrease, one| {
        let name = format!("over CUBIC, percentile after {} ms: {:.1} times", one.unstated.length_ms, mean(&one.times));
        decrease.tested(name, &one.times)
    });
    statements.push(decrease.remark(agreeing(swept)));
    statements.extend([forms[0], forms[1], forms[2]].map(|(system, reading)| {
        let most = of(system, &|case| case.round_trips[3]);
        Statement::within(
            "5.2, Fig. 12b",
            "uFAB's round trips stay below the expected bound, 4 times 24 us",
            0.0..=BOUND_US,
            &most,
            format!("the longest takes {} us", listed(&most, 1)),
        )
        .reading(reading)
    }));
    statements
}

fn converges_quickly(name: &str, times: &[f64]) -> Statement {
    Statement::mean_within(
        "5.2, Fig. 12a; Table 1",
        format!("{name} converges quickly: in less than 1 ms"),
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

fn swept_table(swept: &[Swept]) -> Table {
    let cells = swept.iter().map(|one| {
        let Unstated { length_ms, first_window, burst_kb } = one.unstated;
        vec![
            format!("{length_ms} ms"),
            format!("{first_window} packets"),
            format!("{burst_kb} kB"),
            format!("{:.1}", mean(&one.times)),
        ]
    });
    Table {
        name: "unstated".to_owned(),
        title: "99 % of round trips, PicNIC'+CUBIC+Clove over uFAB', by values that the text does not give".to_owned(),
        columns: ["percentile after", "first window", "burst of limiters", "times"].map(str::to_owned).to_vec(),
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
            System::Ufab | System::Sparse | System::Printed => (0.3, [24.0, 30.0, 40.0, 50.0]),
            System::Unbounded => (0.5, [24.0, 200.0, 300.0, 400.0]),
            _ => (20.0, [50.0, 2_250.0, 2_300.0, 2_400.0]),
        };
        let row = |system: System| {
            let (converged, round_trips) = of(system);
            let fluctuation = if system == System::Ufab { 0.05 } else { 0.1 };
            Row { system, cases: vec![Case { rates: Vec::new(), converged, fluctuation, round_trips }; 2] }
        };
        let swept = |unstated: Unstated| Swept { unstated, times: vec![unstated.length_ms as f64; 2] };
        let all = Unstated::all(&LENGTHS).into_iter().map(swept).collect();
        let data = Data { rows: SYSTEMS.map(row).to_vec(), swept: all };
        assert!(agreeing(&data.swept).contains("after 10 to 20 ms"), "{}", agreeing(&data.swept));
        let slower = |system: System, by: f64| {
            move |data: &mut Data| {
                for case in data.rows.iter_mut().filter(|row| row.system == system).flat_map(|row| &mut row.cases) {
                    case.converged *= by;
                    case.round_trips.iter_mut().for_each(|time| *time *= by);
                }
            }
        };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("uFAB is slow", &slower(System::Ufab, 10.0)),
                ("uFAB as printed is slow", &slower(System::Printed, 10.0)),
                ("uFAB with fewer probes is slow", &slower(System::Sparse, 10.0)),
                ("uFAB' is slow", &slower(System::Unbounded, 10.0)),
                ("uFAB' is fast", &slower(System::Unbounded, 0.1)),
                ("PWC is slower", &slower(System::Pwc, 10.0)),
                ("PWC is fast", &slower(System::Pwc, 0.1)),
                ("ElasticSwitch is slower", &slower(System::Elastic, 10.0)),
                ("ElasticSwitch is fast", &slower(System::Elastic, 0.1)),
                ("all rates fluctuate like those of uFAB", &|data: &mut Data| {
                    data.rows.iter_mut().flat_map(|row| &mut row.cases).for_each(|case| case.fluctuation = 0.1);
                }),
            ],
        );
    }
}
