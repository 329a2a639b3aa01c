//! Fig. 4: deadlines and completion times beside each other on one bottleneck, with SCC and without (section V).

use wayleave_units::{Rate, Time};

use super::fig1::{ALONE, HIGH, LOADS, TOGETHER};
use super::readings::{Metrics, each};
use super::systems::System;
use super::testbed::{Bottleneck, bottleneck, scenario, settings, simulate};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig4",
    runs: "coexistence",
    paper: &SCC,
    place: "Fig. 4",
    title: "Deadlines and completion times beside each other, with SCC and without",
    full_seconds: 120,
    quick_seconds: 6,
    measure,
};

const SYSTEMS: [System; 3] = [System::Direct, System::Scc, System::SccTransports];

/// One system at one load, run with every seed.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    /// In per cent, of what counts for so many Mbit/s.
    load: (u32, u32),
    runs: Vec<Metrics>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(10, 2);
    let duration = Time::from_millis(run.choose(20_000, 3_000));
    let loads = LOADS.map(|load| (load, ALONE)).into_iter().chain([(45, TOGETHER), (50, TOGETHER)]);
    let cases: Vec<_> = loads.flat_map(|load| SYSTEMS.map(|system| (system, load))).collect();
    let jobs: Vec<_> = cases.iter().flat_map(|&case| seeds.iter().map(move |&seed| (case, seed))).collect();
    let mut found = run.map(&jobs, |&((system, load), seed)| one(system, load, duration, seed))?.into_iter();
    let row = |(system, load)| Row { system, load, runs: found.by_ref().take(seeds.len()).collect() };
    let rows: Vec<Row> = cases.into_iter().map(row).collect();
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, ..Figure::default() };
    Ok(settings(figure).with("SCC", "two divisions with equal shares"))
}

fn one(system: System, (load, counts_for): (u32, u32), duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let Bottleneck { network, pairs } = bottleneck(Rate::from_mbit(u64::from(TOGETHER)))?;
    let mut run = scenario("coexistence", &network, duration);
    let mbit = f64::from(load * counts_for / 100);
    run.traffic = [Application::Deadline, Application::Completion]
        .into_iter()
        .zip(pairs)
        .map(|(application, pair)| traffic(application, pair, mbit, Spacing::Random))
        .collect();
    system.carry(&mut run)?;
    simulate(&run, seed).map(|outcome| Metrics::of(&outcome))
}

fn runs(rows: &[Row], system: System, load: (u32, u32)) -> &[Metrics] {
    rows.iter().find(|row| row.system == system && row.load == load).map_or(&[], |row| &row.runs)
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system, metric: fn(&Metrics) -> f64| each(runs(rows, system, (HIGH, ALONE)), metric);
    let better = |metric: fn(&Metrics) -> f64| ratio_of_means(&of(System::Direct, metric), &of(System::Scc, metric));
    let [misses, completion] = [|run: &Metrics| run.missed, |run: &Metrics| run.completion];
    vec![
        Statement::mean_within(
            "V",
            "at high load 4x fewer flows miss their deadlines with SCC",
            2.0..=8.0,
            &better(misses),
            format!("{:.2} % without, {:.2} % with SCC", mean(&of(System::Direct, misses)), mean(&of(System::Scc, misses))),
        ),
        Statement::mean_within(
            "V",
            "at high load completion times are 5x better with SCC",
            2.5..=10.0,
            &better(completion),
            format!(
                "{:.2} ms without, {:.2} ms with SCC",
                mean(&of(System::Direct, completion)),
                mean(&of(System::Scc, completion))
            ),
        ),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, y: Axis, metric: fn(&Metrics) -> f64| Panel {
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
                    .map(|row| {
                        let percent = f64::from(row.load.0 * row.load.1 * 2 / TOGETHER);
                        Point::of(percent, each(&row.runs, metric))
                    })
                    .collect(),
            })
            .collect(),
    };
    vec![
        panel("misses", Axis::linear("missed", "%"), |run| run.missed),
        panel("completion", Axis::logarithmic("AFCT", "ms"), |run| run.completion),
    ]
}
