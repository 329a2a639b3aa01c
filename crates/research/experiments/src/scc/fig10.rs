//! Figs. 6 and 10: the three applications beside each other, with flows of three studies (sections VI-A and VI-D). Fig. 10 shows the data-mining flows of
//! Fig. 6 again; they are measured as Fig. 6.

use super::coexist::{Case, NetworkCase, Sizes, gather, notes, settings};
use super::readings::{Metrics, completion, each, mean_of, missed, ranges, round_trip};
use super::systems::System;
use super::workloads::{Application, DeadlineFlows};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

/// Fig. 6.
pub(crate) const DATA_MINING: Entry = Entry {
    id: "scc-fig6",
    runs: "coexistence",
    paper: &SCC,
    place: "Fig. 6",
    title: "Three objectives beside each other, with data-mining flows",
    full_runs: 5,
    full_seconds: 3_300,
    quick_seconds: 10,
    measure: measure_data_mining,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Fig. 10.
pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig10",
    runs: "coexistence",
    paper: &SCC,
    place: "Fig. 10",
    title: "Three objectives beside each other, with flows of two other studies",
    full_runs: 5,
    full_seconds: 700,
    quick_seconds: 15,
    measure: measure_all,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SYSTEMS: [System; 2] = [System::Direct, System::Scc];

/// [`SYSTEMS`], and sharing alone.
const ALL: [System; 3] = [System::Direct, System::Scc, System::Weighted];

/// The flows of Fig. 10 that Fig. 6 does not have.
const OTHERS: [Sizes; 2] = [Sizes::WebSearch, Sizes::MapReduce];

/// On which network, with which flows.
type Where = (NetworkCase, Sizes);

/// "its size is not given": one figure again on twice as many leaves and spines, an experiment.
const AGAIN: Where = (NetworkCase::LargerClos, Sizes::WebSearch);

/// One case, run with every seed.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    at: Where,
    runs: Vec<Metrics>,
}

fn measure_data_mining(run: &Run) -> Result<Figure, Failed> {
    let at = (NetworkCase::Clos, Sizes::DataMining);
    measure(run, &[at], Some((System::SccFirst, at)), |rows| {
        [deadlines(rows, Sizes::DataMining), latency(rows)].concat()
    })
}

fn measure_all(run: &Run) -> Result<Figure, Failed> {
    let places = OTHERS.map(|sizes| (NetworkCase::Clos, sizes));
    measure(run, &[places[0], places[1], AGAIN], None, statements)
}

fn measure(
    run: &Run,
    places: &[Where],
    more: Option<(System, Where)>,
    statements: fn(&[Row]) -> Vec<Statement>,
) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let (applications, deadlines) = (Application::ALL.to_vec(), DeadlineFlows::SmallMessages);
    let each = places.iter().flat_map(|&at| ALL.map(|system| (system, at)));
    let cases: Vec<Case> = each
        .chain(more)
        .map(|(system, (place, sizes))| Case { place, system, sizes, applications: applications.clone(), deadlines })
        .collect();
    let found = gather(run, &cases, &seeds)?;
    let row = |(case, runs): (Case, Vec<Metrics>)| Row { system: case.system, at: (case.place, case.sizes), runs };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let figure =
        Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes: notes(), ..Figure::default() };
    let largest = if places.contains(&AGAIN) { AGAIN.0 } else { NetworkCase::Clos };
    Ok(settings(figure, run, largest))
}

/// Runs of a case; none if it was not run.
fn runs(rows: &[Row], system: System, sizes: Sizes) -> &[Metrics] {
    runs_at(rows, system, (NetworkCase::Clos, sizes))
}

fn runs_at(rows: &[Row], system: System, at: Where) -> &[Metrics] {
    rows.iter().find(|row| (row.system, row.at) == (system, at)).map_or(&[], |row| &row.runs)
}

/// Returns the metric with SCC as a part of the metric without.
fn part(rows: &[Row], sizes: Sizes, metric: fn(&Metrics) -> f64) -> Vec<f64> {
    let [direct, scc] = SYSTEMS.map(|system| each(runs(rows, system, sizes), metric));
    ratio_of_means(&scc, &direct)
}

fn with_and_without(rows: &[Row], sizes: Sizes, metric: fn(&Metrics) -> f64, unit: &str) -> String {
    let [direct, scc] = SYSTEMS.map(|system| mean_of(runs(rows, system, sizes), metric));
    format!("{scc:.2} {unit} with SCC, {direct:.2} {unit} without")
}

/// Returns the statement that SCC reduces a metric by up to `percent` per cent.
fn reduction(
    rows: &[Row],
    sizes: Sizes,
    what: &str,
    percent: f64,
    metric: fn(&Metrics) -> f64,
    unit: &str,
) -> Statement {
    let reduced: Vec<f64> = part(rows, sizes, metric).iter().map(|part| 100.0 * (1.0 - part)).collect();
    let claim_text = format!("with {} flows SCC reduces {what} by up to {percent:.0} %", sizes.name());
    let measured = format!("{:.0} %: {}", mean(&reduced), with_and_without(rows, sizes, metric, unit));
    let reduces = |part: Vec<f64>| part.iter().map(|part| 100.0 * (1.0 - part)).collect::<Vec<_>>();
    let alone = format!("A flow of CS alone on its link takes {:.1} ms on average.", sizes.alone_ms());
    let statement =
        Statement::mean_within("VI", claim_text, percent / 2.0..=percent * 2.0, &reduced, measured).remark(alone);
    experiments(statement, rows, sizes, (metric, unit), |one, other| reduces(ratio_of_means(one, other)))
}

/// Adds what a fair share alone does, and what SCC does on the larger network if these flows were there. `compare` gets the numbers with
/// and without.
fn experiments(
    statement: Statement,
    rows: &[Row],
    sizes: Sizes,
    (metric, unit): (fn(&Metrics) -> f64, &str),
    compare: impl Fn(&[f64], &[f64]) -> Vec<f64>,
) -> Statement {
    let without = runs(rows, SYSTEMS[0], sizes);
    let weighted = runs(rows, System::Weighted, sizes);
    let statement =
        statement.tested(fair(rows, sizes, metric, unit), &compare(&each(weighted, metric), &each(without, metric)));
    let [direct, scc] = SYSTEMS.map(|system| runs_at(rows, system, (AGAIN.0, sizes)));
    if direct.is_empty() || scc.is_empty() {
        return statement;
    }
    let name = format!(
        "twice as many leaves and spines: {:.2} {unit} with SCC, {:.2} {unit} without.",
        mean_of(scc, metric),
        mean_of(direct, metric)
    );
    statement.tested(name, &compare(&each(scc, metric), &each(direct, metric)))
}

/// Describes the result of a fair share alone.
fn fair(rows: &[Row], sizes: Sizes, metric: fn(&Metrics) -> f64, unit: &str) -> String {
    let weighted = mean_of(runs(rows, System::Weighted, sizes), metric);
    format!(
        "a fair share alone, with a queue for each application at every port and equal weights: {weighted:.2} {unit}."
    )
}

fn met(metrics: &Metrics) -> f64 {
    100.0 - metrics.missed
}

/// "completes 3.2x more flows" or "reduces deadline missing ratio by 3.2x": both.
fn deadlines(rows: &[Row], sizes: Sizes) -> Vec<Statement> {
    let times = match sizes {
        Sizes::DataMining => 3.2,
        Sizes::WebSearch => 1.8,
        Sizes::MapReduce => {
            let measured = with_and_without(rows, sizes, missed, "%");
            let claim_text = "with mapreduce flows SCC reduces misses \"by 0.8x\"";
            return vec![
                Statement::not_compared("VI-D", claim_text, measured)
                    .remark("A factor below one is no reduction in any reading."),
            ];
        }
    };
    type Compare = fn(&[f64], &[f64]) -> Vec<f64>;
    let claim_text = format!("with {} flows SCC misses {times}x fewer deadlines", sizes.name());
    let statement = |found: Vec<f64>, metric: fn(&Metrics) -> f64, compare: Compare| {
        let claim_text = claim_text.clone();
        let measured = format!("{:.2}x: {}", mean(&found), with_and_without(rows, sizes, metric, "%"));
        let statement = Statement::mean_within("VI", claim_text, ranges::times(times), &found, measured);
        experiments(statement, rows, sizes, (metric, "%"), compare)
    };
    let fewer = {
        let [direct, scc] = SYSTEMS.map(|system| each(runs(rows, system, sizes), missed));
        ratio_of_means(&direct, &scc)
    };
    let mut all = vec![statement(fewer, missed, |with, without| ratio_of_means(without, with))];
    if sizes == Sizes::DataMining {
        let more = statement(part(rows, sizes, met), met, ratio_of_means);
        all.push(more.reading("\"completes 3.2x more flows\": 3.2x more deadlines are met"));
    }
    all
}

/// Fig. 6 beside deadlines.
fn latency(rows: &[Row]) -> Vec<Statement> {
    let at = Sizes::DataMining;
    let statement = reduction(rows, at, "the latency of LS packets", 40.0, round_trip, "us").remark(
        "The metric is II-B's: \"the instantaneous end-to-end packet RTT\", with the time in tunnels of the host.",
    );
    // Fig. 12's use of the queues of switches.
    let [direct, first] = [System::Direct, System::SccFirst].map(|system| each(runs(rows, system, at), round_trip));
    let reduced: Vec<f64> = ratio_of_means(&first, &direct).iter().map(|part| 100.0 * (1.0 - part)).collect();
    let name = format!("{}: {:.0} us.", System::SccFirst.name(), mean(&first));
    let statement = if first.is_empty() { statement } else { statement.tested(name, &reduced) };
    vec![reduction(rows, at, "the AFCT of CS", 40.0, completion, "ms"), statement]
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let completions = [(Sizes::WebSearch, 24.0), (Sizes::MapReduce, 32.0)]
        .map(|(sizes, percent)| reduction(rows, sizes, "the AFCT of CS", percent, completion, "ms"));
    let deadlines = OTHERS.into_iter().flat_map(|sizes| deadlines(rows, sizes));
    completions.into_iter().chain(deadlines).collect()
}

fn flows((place, sizes): Where) -> String {
    match place {
        NetworkCase::LargerClos => format!("{}, {}", sizes.name(), place.name()),
        _ => sizes.name().to_owned(),
    }
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metric: fn(&Metrics) -> f64| {
        Panel::new(
            name,
            title,
            (Axis::categories("flows"), y),
            Form::Apart,
            ALL.into_iter()
                .chain([System::SccFirst])
                .map(|system| Series {
                    name: system.name().to_owned(),
                    points: rows
                        .iter()
                        .filter(|row| row.system == system)
                        .map(|row| Point::of(flows(row.at), each(&row.runs, metric)))
                        .collect(),
                })
                .filter(|series| !series.points.is_empty())
                .collect(),
        )
    };
    vec![
        panel("completion", "Average completion time of CS", Axis::linear("AFCT", "ms"), completion),
        panel("misses", "Deadlines that DS misses", Axis::linear("missed", "%"), missed),
        panel("latency", "Round trips of LS packets", Axis::linear("mean", "us"), round_trip),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    type Rows = Vec<Row>;

    fn set(rows: &mut [Row], sizes: Sizes, change: impl Fn(&mut Metrics)) {
        let scc = rows.iter_mut().filter(|row| row.system == System::Scc && row.at.1 == sizes);
        scc.flat_map(|row| &mut row.runs).for_each(change);
    }

    fn rows() -> Rows {
        let metrics = Metrics { round_trip: [1_000.0; 2], missed: 75.0, completion: 10.0 };
        let row = |sizes| SYSTEMS.map(|system| Row { system, at: (NetworkCase::Clos, sizes), runs: vec![metrics; 2] });
        let mut rows: Rows = Sizes::ALL.into_iter().flat_map(row).collect();
        set(&mut rows, Sizes::DataMining, |run| {
            *run = Metrics { round_trip: [600.0; 2], missed: 23.0, completion: 6.0 }
        });
        set(&mut rows, Sizes::WebSearch, |run| (run.missed, run.completion) = (40.0, 7.6));
        set(&mut rows, Sizes::MapReduce, |run| run.completion = 6.8);
        rows
    }

    fn without_any(rows: &mut Rows) {
        let direct = rows.iter_mut().filter(|row| row.system == System::Direct);
        direct.flat_map(|row| &mut row.runs).for_each(|run| run.missed = 95.0);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &rows(),
            |rows| statements(rows),
            &[
                ("slower in search", &|rows: &mut Rows| set(rows, Sizes::WebSearch, |run| run.completion = 9.0)),
                ("slower in mapreduce", &|rows: &mut Rows| set(rows, Sizes::MapReduce, |run| run.completion = 9.0)),
                ("more in search", &|rows: &mut Rows| set(rows, Sizes::WebSearch, |run| run.missed = 90.0)),
                ("far faster in search", &|rows: &mut Rows| set(rows, Sizes::WebSearch, |run| run.completion = 4.0)),
                ("far faster in mapreduce", &|rows: &mut Rows| set(rows, Sizes::MapReduce, |run| run.completion = 3.0)),
                ("hardly any in search", &|rows: &mut Rows| set(rows, Sizes::WebSearch, |run| run.missed = 10.0)),
            ],
        );
        assert_each_can_change(
            &rows(),
            |rows| [deadlines(rows, Sizes::DataMining), latency(rows)].concat(),
            &[
                ("misses", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.missed = 70.0)),
                ("completion", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.completion = 9.0)),
                ("latency", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.round_trip[0] = 900.0)),
                ("hardly any misses", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.missed = 10.0)),
                ("far faster", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.completion = 1.0)),
                ("far quicker", &|rows: &mut Rows| set(rows, Sizes::DataMining, |run| run.round_trip[0] = 100.0)),
                ("hardly any met without", &without_any),
            ],
        );
    }
}
