//! Fig. 12: latency-sensitive flows in a higher queue of switches (section VI-D).

use wayleave_scenarios::FlowEndpoints;
use wayleave_units::{Rate, Time};

use super::fig1::TOGETHER;
use super::readings::{Metric, Metrics, each, ranges};
use super::systems::{SHARE, System, equal_tenants};
use super::testbed::{Bottleneck, bottleneck, scenario, settings};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig12",
    runs: "higher queue",
    paper: &SCC,
    place: "Fig. 12",
    title: "Latency-sensitive flows in a higher queue of switches",
    full_runs: 10,
    full_seconds: 30,
    quick_seconds: 4,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SYSTEMS: [System; 4] = [System::Scc, System::SccFirst, System::Direct, System::DirectFirst];

/// Of each application, in Mbit/s: "the average bandwidth requirement of each class is 300 Mbps" (VI).
const EACH: f64 = 300.0;

/// "hurt a little": by less than this part. The text has no number.
const LITTLE: f64 = 0.25;

/// One system, run with every seed.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    runs: Vec<Metrics>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 2_000));
    let figure = format!("{}, {duration}", ENTRY.id);
    let found =
        run.gather(&figure, (&SYSTEMS, &seeds), |&system, seed| one(run.simulator(), system, duration, seed))?;
    let rows: Vec<Row> = SYSTEMS.into_iter().zip(found).map(|(system, runs)| Row { system, runs }).collect();
    let notes = vec![format!(
        "The text names neither the network nor the workload of this experiment. Here it is the single bottleneck with the applications of section II, 300 Mbit/s each, 90 % of the link \
         together. \"Hurt a little\" is by less than {:.0} %.",
        100.0 * LITTLE
    )];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("queues", "LS in the first of two, by strict priority; both mark above 20 packets")
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(simulator: &Simulator, system: System, duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let Bottleneck { network, pairs } = bottleneck(Rate::from_mbit(u64::from(TOGETHER)))?;
    let mut run = scenario("higher queue", &network, duration);
    run.traffic = Application::ALL
        .into_iter()
        .zip(pairs)
        .map(|(application, pair)| traffic(application, FlowEndpoints::Pairs(vec![pair]), EACH, Spacing::Random))
        .collect();
    system.carry(&mut run, &equal_tenants(&Application::ALL, SHARE))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

fn of(rows: &[Row], system: System, metric: Metric) -> Vec<f64> {
    rows.iter().find(|row| row.system == system).map_or(Vec::new(), |row| each(&row.runs, metric))
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let shown = |metric: Metric, unit: &str| {
        let [without, with] = [System::Scc, System::SccFirst].map(|system| mean(&of(rows, system, metric)));
        format!("{without:.2} {unit} in one queue, {with:.2} {unit} with a higher one")
    };
    let times = |metric| ratio_of_means(&of(rows, System::SccFirst, metric), &of(rows, System::Scc, metric));
    let hurt = |claim_text: &str, metric, unit: &str| {
        Statement::mean_within("VI-D", claim_text, 1.0..=1.0 + LITTLE, &times(metric), shown(metric, unit))
    };
    vec![
        Statement::mean_within(
            "VI-D",
            "round trips of LS are shorter where they have a higher queue",
            ranges::smaller(),
            &times(|run| run.round_trip[0]),
            shown(|run| run.round_trip[0], "us"),
        ),
        hurt("the misses of DS are hurt a little by it", |run| run.missed, "%"),
        hurt("the completion times of CS are hurt a little by it", |run| run.completion, "ms"),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metrics: &[(&str, Metric)]| {
        Panel::new(
            name,
            title,
            (Axis::categories("what"), y),
            Form::Apart,
            SYSTEMS
                .iter()
                .map(|&system| Series {
                    name: system.name().to_owned(),
                    points: metrics.iter().map(|&(what, metric)| Point::of(what, of(rows, system, metric))).collect(),
                })
                .collect(),
        )
    };
    vec![
        panel(
            "round-trips",
            "Round trips of LS packets",
            Axis::logarithmic("round-trip time", "us"),
            &[("mean", |run| run.round_trip[0]), ("p99", |run| run.round_trip[1])],
        ),
        panel("misses", "Deadlines that DS misses", Axis::linear("missed", "%"), &[("DS", |run| run.missed)]),
        panel(
            "completion",
            "Average completion time of CS",
            Axis::linear("AFCT", "ms"),
            &[("CS", |run| run.completion)],
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |mean, missed, completion| Metrics { round_trip: [mean, 2.0 * mean], missed, completion };
        let row = |system, metrics| Row { system, runs: vec![metrics; 2] };
        let rows =
            vec![row(System::Scc, metrics(500.0, 10.0, 10.0)), row(System::SccFirst, metrics(400.0, 11.0, 11.0))];
        let with = |mean, missed, completion| {
            move |rows: &mut Vec<Row>| rows[1].runs.iter_mut().for_each(|run| *run = metrics(mean, missed, completion))
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("longer round trips", &with(501.0, 11.0, 11.0)),
                ("fewer misses", &with(400.0, 9.9, 11.0)),
                ("many more misses", &with(400.0, 12.6, 11.0)),
                ("shorter times", &with(400.0, 11.0, 9.9)),
                ("much longer times", &with(400.0, 11.0, 12.6)),
            ],
        );
    }
}
