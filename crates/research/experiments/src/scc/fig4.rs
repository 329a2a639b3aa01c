//! Fig. 4: deadlines and completion times beside each other on one bottleneck, with SCC and without (section V).

use wayleave_scenarios::FlowEndpoints;
use wayleave_units::{Rate, Time};

use super::fig1::{ALONE, HIGH, LOADS, TOGETHER};
use super::readings::{Metric, Metrics, completion, each, missed};
use super::systems::{SHARE, System, equal_tenants};
use super::testbed::{Bottleneck, bottleneck, scenario, settings, simulate};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig4",
    runs: "coexistence",
    paper: &SCC,
    place: "Fig. 4",
    title: "Deadlines and completion times beside each other, with SCC and without",
    full_runs: 10,
    full_seconds: 120,
    quick_seconds: 6,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Loads of each application beyond those of section II, in per cent of the link's capacity.
const NEARLY_FULL: (u32, u32) = (45, TOGETHER);
const FULL: (u32, u32) = (50, TOGETHER);

const SYSTEMS: [System; 3] = [System::Direct, System::Scc, System::SccTransports];

/// One system at one load, run with every seed.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    /// Load of each application in per cent, and the Mbit/s that count as 100 %.
    load: (u32, u32),
    runs: Vec<Metrics>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 3_000));
    let loads = LOADS.map(|load| (load, ALONE)).into_iter().chain([NEARLY_FULL, FULL]);
    let cases: Vec<_> = loads.flat_map(|load| SYSTEMS.map(|system| (system, load))).collect();
    let figure = format!("{}, {duration}", ENTRY.id);
    let found = run.gather(&figure, (&cases, &seeds), |&(system, load), seed| one(system, load, duration, seed))?;
    let rows: Vec<Row> =
        cases.into_iter().zip(found).map(|((system, load), runs)| Row { system, load, runs }).collect();
    let notes = vec![
        "The motivation's scenario (II-B): DS and CS share 1 Gbit/s, and a load of 80 % is 400 Mbit/s of each. 90 % and 100 % are ours. A factor holds if ours is between half of it \
         and twice it."
            .to_owned(),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("SCC", "a division with the same share for each application")
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(system: System, (load, counts_for): (u32, u32), duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let Bottleneck { network, pairs } = bottleneck(Rate::from_mbit(u64::from(TOGETHER)))?;
    let mut run = scenario("coexistence", &network, duration);
    let mbit = f64::from(load * counts_for / 100);
    run.traffic = [Application::Deadline, Application::Completion]
        .into_iter()
        .zip(pairs)
        .map(|(application, pair)| traffic(application, FlowEndpoints::Pairs(vec![pair]), mbit, Spacing::Random))
        .collect();
    system.carry(&mut run, &equal_tenants(&[Application::Deadline, Application::Completion], SHARE))?;
    simulate(&run, seed).map(|outcome| Metrics::of(&outcome))
}

fn runs(rows: &[Row], system: System, load: (u32, u32)) -> &[Metrics] {
    rows.iter().find(|row| row.system == system && row.load == load).map_or(&[], |row| &row.runs)
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system, load, metric: Metric| each(runs(rows, system, load), metric);
    let better =
        |load, metric: Metric| ratio_of_means(&of(System::Direct, load, metric), &of(System::Scc, load, metric));
    let shown = |load: (u32, u32), metric: Metric, unit: &str| {
        let [direct, scc] = [System::Direct, System::Scc].map(|system| mean(&of(system, load, metric)));
        format!(
            "{:.2}x at {} %: {direct:.2} {unit} without, {scc:.2} {unit} with SCC",
            mean(&better(load, metric)),
            percent(load)
        )
    };
    let at_more_load = |statement: Statement, metric: Metric, unit: &str| {
        [NEARLY_FULL, FULL].into_iter().fold(statement, |statement, load| {
            statement.tested(format!("the load: {}", shown(load, metric, unit)), &better(load, metric))
        })
    };
    let high = (HIGH, ALONE);
    vec![
        at_more_load(
            Statement::mean_within(
                "V",
                "at high load 4x fewer flows miss their deadlines with SCC",
                2.0..=8.0,
                &better(high, missed),
                shown(high, missed, "%"),
            ),
            missed,
            "%",
        ),
        at_more_load(
            Statement::mean_within(
                "V",
                "at high load completion times are 5x better with SCC",
                2.5..=10.0,
                &better(high, completion),
                shown(high, completion, "ms"),
            ),
            completion,
            "ms",
        ),
    ]
}

/// Of the link, with both applications.
fn percent((load, counts_for): (u32, u32)) -> f64 {
    f64::from(load * counts_for * 2) / f64::from(TOGETHER)
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, y: Axis, metric: Metric| Panel {
        name: name.to_owned(),
        title: y.name.clone(),
        x: Axis::linear("load of both together", "%"),
        y,
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: SYSTEMS
            .iter()
            .map(|&system| Series {
                name: system.name().to_owned(),
                points: rows
                    .iter()
                    .filter(|row| row.system == system)
                    .map(|row| Point::of(percent(row.load), each(&row.runs, metric)))
                    .collect(),
            })
            .collect(),
    };
    vec![
        panel("misses", Axis::linear("missed", "%"), missed),
        panel("completion", Axis::logarithmic("AFCT", "ms"), completion),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |missed, completion| Metrics { round_trip: [300.0, 400.0], missed, completion };
        let row = |system, load, metrics| Row { system, load, runs: vec![metrics; 2] };
        let rows: Vec<Row> = [(HIGH, ALONE), NEARLY_FULL, FULL]
            .into_iter()
            .flat_map(|load| [row(System::Direct, load, metrics(8.0, 10.0)), row(System::Scc, load, metrics(2.0, 2.0))])
            .collect();
        let with = |missed, completion| {
            move |rows: &mut Vec<Row>| rows[1].runs.iter_mut().for_each(|run| *run = metrics(missed, completion))
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("as many misses", &with(4.1, 2.0)),
                ("hardly a miss", &with(0.9, 2.0)),
                ("as slow", &with(2.0, 4.1)),
                ("much faster", &with(2.0, 0.9)),
            ],
        );
    }
}
