//! Fig. 4: round trips of an incast, by the number of its senders (section 2.2, case 1).

use wayleave_scenarios::Scenario;
use wayleave_units::{Rate, Time};

use super::readings::{mean_in, microseconds, rates, round_trips};
use super::systems::{AS_HERE, AS_PRINTED, System};
use super::testbed::{ROUND_TRIP, Tenant, endless, network, scenario, servers, settings};
use crate::catalogue::{Entry, UFAB};
use crate::data::{Axis, Band, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig4",
    runs: "incast",
    paper: &UFAB,
    place: "Fig. 4",
    title: "Round-trip times of an incast by number of senders",
    full_runs: 5,
    full_seconds: 10,
    quick_seconds: 2,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "their bandwidth guarantees are all 500Mbps" (2.2).
const MIN: Rate = Rate::from_mbit(500);
const SYSTEMS: [System; 5] = [System::Ufab, System::Unbounded, System::Pwc, System::Elastic, System::Printed];
/// "N increase from 2 to 14" (2.2).
const MIN_SENDERS: usize = 2;
const MAX_SENDERS: usize = 14;
/// Section 3.4: in flight is below three bandwidth-delay products, so a round trip takes less than four base round trips.
const BOUND_US: f64 = 4.0 * ROUND_TRIP.as_nanos() as f64 / 1e3;

/// A tenant has its minimum with this part of it (5.1: links carry 95 %).
const TARGET: f64 = 0.95;
/// Time from which the rates of tenants are compared, in ms: a millisecond after all have begun.
const SETTLED: f64 = 2.0;

/// One system with a number of senders: of each run the median, 99 % and the longest round trip in us, and the lowest rate of a tenant in
/// Gbit/s.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    senders: usize,
    runs: Vec<[f64; 4]>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let senders: Vec<usize> = run.choose((MIN_SENDERS..=MAX_SENDERS).collect(), vec![MIN_SENDERS, 8, MAX_SENDERS]);
    let duration = Time::from_millis(run.choose(50, 20));
    let cases: Vec<_> =
        SYSTEMS.iter().flat_map(|&system| senders.iter().map(move |&senders| (system, senders))).collect();
    let found = run.gather(&format!("{}, {duration}", ENTRY.id), (&cases, &seeds), |&(system, senders), seed| {
        let outcome = incast(run.simulator(), system, senders, duration, seed)?;
        let round_trips = round_trips(&outcome);
        let [median, tail, longest] = [50.0, 99.0, 100.0].map(|percent| microseconds(&round_trips, percent));
        let settled = (SETTLED, duration.as_nanos() as f64 / 1e6);
        let lowest = (0..senders).map(|tenant| mean_in(&rates(&outcome, tenant), settled)).fold(f64::NAN, f64::min);
        Ok([median, tail, longest, lowest])
    })?;
    let row = |((system, senders), runs)| Row { system, senders, runs };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let figure = Figure { statements: statements(&rows), panels: vec![panel(&rows)], seeds, ..Figure::default() };
    Ok(settings(figure).with("time", format!("{} ms; all senders begin together", duration.as_nanos() / 1_000_000)))
}

/// Tenants with one sender each, two of them at a host where there are more than seven, send to the last server from 1 ms on.
pub(super) fn incast(
    simulator: &Simulator,
    system: System,
    senders: usize,
    duration: Time,
    seed: u64,
) -> Result<wayleave_sim::Outcome, Failed> {
    incast_with(simulator, system, senders, duration, seed, |_| {})
}

/// The same with a change of the scenario.
pub(super) fn incast_with(
    simulator: &Simulator,
    system: System,
    senders: usize,
    duration: Time,
    seed: u64,
    change: impl FnOnce(&mut Scenario),
) -> Result<wayleave_sim::Outcome, Failed> {
    let network = network(Rate::from_gbit(10))?;
    let servers = servers(&network);
    let Some((&last, others)) = servers.split_last() else { return Err(Failed::broken("a testbed without servers")) };
    let from = |index: usize| others[index % others.len()];
    let tenants: Vec<Tenant> = (0..senders)
        .map(|index| Tenant { name: format!("vf{}", index + 1), min: MIN, hosts: vec![from(index), last] })
        .collect();
    let mut run = scenario("incast", &network, system, &tenants, (duration, Time::from_micros(100)))?;
    let flow = |(index, tenant): (usize, &Tenant)| endless(&tenant.name, from(index), last, Time::from_millis(1));
    run.traffic = tenants.iter().enumerate().map(flow).collect();
    change(&mut run);
    simulator.run(&run, seed)
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system: System| rows.iter().filter(move |row| row.system == system);
    let each = |system: System, at: usize| -> Vec<f64> {
        of(system).flat_map(|row| row.runs.iter().map(move |run| run[at])).collect()
    };
    let tails = |system: System, senders: usize| -> Vec<f64> {
        of(system).filter(|row| row.senders == senders).flat_map(|row| row.runs.iter().map(|run| run[1])).collect()
    };
    let growth = |system: System| ratio_of_means(&tails(system, MAX_SENDERS), &tails(system, MIN_SENDERS));
    let grows = growth(System::Pwc);
    let within_bound = |(system, reading): (System, &str)| {
        let longest = each(system, 2);
        let most = longest.iter().copied().fold(f64::NAN, f64::max);
        let claim_text = "uFAB's round trips stay within four base round trips, 96 us, whatever the number of senders";
        Statement::within("2.2, 3.4", claim_text, 0.0..=BOUND_US, &longest, format!("at most {most:.1} us"))
            .reading(reading)
    };
    let has_minima = |(system, reading): (System, &str)| {
        let lowest = each(system, 3);
        let least = lowest.iter().copied().fold(f64::NAN, f64::min);
        Statement::within(
            "2.2, 3.3",
            "every tenant has its minimum of 500 Mbit/s, of which links carry 95 %",
            TARGET * 0.5..=10.0,
            &lowest,
            format!("the lowest rate is {least:.3} Gbit/s"),
        )
        .reading(reading)
    };
    let forms = [(System::Ufab, AS_HERE), (System::Printed, AS_PRINTED)];
    let mut statements: Vec<Statement> = forms.map(within_bound).into_iter().chain(forms.map(has_minima)).collect();
    statements.push(
        Statement::mean_within(
            "2.2",
            "the tail latency of PicNIC'+WCC+Clove grows with the number of senders: by a quarter or more from 2 to 14",
            1.25..=f64::INFINITY,
            &grows,
            format!(
                "99 % of round trips are {:.2} times as long with {MAX_SENDERS} senders as with {MIN_SENDERS}, {:.0} us; {:.2} times under uFAB",
                mean(&grows),
                mean(&tails(System::Pwc, MAX_SENDERS)),
                mean(&growth(System::Ufab)),
            ),
        ),
    );
    statements
}

fn panel(rows: &[Row]) -> Panel {
    let series = |system: System, at: usize, what: &str| Series {
        name: format!("{}, {what}", system.name()),
        points: rows
            .iter()
            .filter(|row| row.system == system)
            .map(|row| Point::of(row.senders as f64, row.runs.iter().map(|run| run[at]).collect()))
            .collect(),
    };
    let axes = (Axis::linear("senders", ""), Axis::logarithmic("round-trip time", "us"));
    let series = SYSTEMS.iter().flat_map(|&system| [series(system, 0, "median"), series(system, 1, "p99")]).collect();
    Panel {
        bands: vec![Band { low: 0.0, high: BOUND_US, label: "four base round trips".to_owned() }],
        ..Panel::new("round-trips", "Round trips by the number of senders", axes, Form::Joined, series)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |system: System, senders: usize| Row {
            system,
            senders,
            runs: vec![[24.0, 2.0 * senders as f64, 50.0, 0.6]; 2],
        };
        let rows: Vec<Row> =
            SYSTEMS.into_iter().flat_map(|system| [row(system, MIN_SENDERS), row(system, MAX_SENDERS)]).collect();
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("one round trip of uFAB is too long", &|rows: &mut Vec<Row>| rows[0].runs[1][2] = 97.0),
                ("one as printed", &|rows: &mut Vec<Row>| rows[8].runs[1][2] = 97.0),
                ("a tenant misses its minimum", &|rows: &mut Vec<Row>| rows[1].runs[0][3] = 0.47),
                ("a tenant has more than the line", &|rows: &mut Vec<Row>| rows[1].runs[0][3] = 11.0),
                ("one misses it as printed", &|rows: &mut Vec<Row>| rows[9].runs[0][3] = 0.43),
                ("one has more than the line as printed", &|rows: &mut Vec<Row>| rows[9].runs[0][3] = 11.0),
                ("the tail does not grow", &|rows: &mut Vec<Row>| {
                    rows.iter_mut().flat_map(|row| &mut row.runs).for_each(|run| run[1] = 30.0 - run[1]);
                }),
            ],
        );
    }
}
