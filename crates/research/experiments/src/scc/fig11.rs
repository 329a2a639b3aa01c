//! Fig. 11: an oversubscribed network, and one transport for all (section VI-D).

use super::coexist::{Case, NetworkCase, Sizes, gather, notes, settings};
use super::readings::{Metrics, completion, each, missed, ranges};
use super::systems::System;
use super::workloads::{Application, DeadlineFlows};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig11",
    runs: "dynamics",
    paper: &SCC,
    place: "Fig. 11",
    title: "An oversubscribed network, and one transport for all",
    full_runs: 5,
    full_seconds: 600,
    quick_seconds: 20,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const PLACES: [NetworkCase; 2] = [NetworkCase::Oversubscribed, NetworkCase::Clos];
const SYSTEMS: [System; 3] = [System::Direct, System::Scc, System::SccOverDctcp];
/// "reduces deadline missing ratio of DS traffic only marginally": by less than a tenth. The text has no number.
const MARGINAL: f64 = 10.0;

/// One case, run with every seed.
#[derive(Clone, Debug)]
struct Row {
    place: NetworkCase,
    system: System,
    runs: Vec<Metrics>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let sizes = Sizes::WebSearch;
    let (applications, deadlines) = (Application::ALL.to_vec(), DeadlineFlows::SmallMessages);
    let at = |place| SYSTEMS.map(|system| Case { place, system, sizes, applications: applications.clone(), deadlines });
    let cases: Vec<Case> = PLACES.into_iter().flat_map(at).collect();
    let found = gather(run, &cases, &seeds)?;
    let row = |(case, runs): (Case, Vec<Metrics>)| Row { place: case.place, system: case.system, runs };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let mut notes = notes();
    notes.push(
        "On the oversubscribed network \"300 Mbps\" of each application \"based on network core load\" is read as 30 % of each rack's only uplink: 100 Mbit/s of each from every host, to \
         hosts of other racks. Fig. 11b, whose network is not said, has the one of Fig. 10."
            .to_owned(),
    );
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure, run, NetworkCase::Oversubscribed))
}

/// A metric of all runs of a case; nothing if it was not run.
fn of(rows: &[Row], place: NetworkCase, system: System, metric: fn(&Metrics) -> f64) -> Vec<f64> {
    let row = rows.iter().find(|row| (row.place, row.system) == (place, system));
    row.map_or_else(Vec::new, |row| each(&row.runs, metric))
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let reduced = |place, metric: fn(&Metrics) -> f64| -> Vec<f64> {
        let [direct, scc] = [System::Direct, System::Scc].map(|system| of(rows, place, system, metric));
        ratio_of_means(&scc, &direct).iter().map(|part| 100.0 * (1.0 - part)).collect()
    };
    let both = |place, one, other, metric: fn(&Metrics) -> f64, unit: &str| {
        let [ones, others] = [one, other].map(|system| mean(&of(rows, place, system, metric)));
        format!("{ones:.2} {unit} with {}, {others:.2} {unit} with {}", one.name(), other.name())
    };
    let times = |one, other, metric: fn(&Metrics) -> f64| {
        ratio_of_means(&of(rows, NetworkCase::Clos, one, metric), &of(rows, NetworkCase::Clos, other, metric))
    };
    let racks = NetworkCase::Oversubscribed;
    vec![
        Statement::mean_within(
            "VI-D",
            "on the oversubscribed network SCC reduces the AFCT of CS by 20 %",
            10.0..=40.0,
            &reduced(racks, completion),
            both(racks, System::Scc, System::Direct, completion, "ms"),
        )
        .ruled_out([&format!(
            "the transport: {}",
            both(racks, System::SccOverDctcp, System::Direct, completion, "ms")
        )]),
        Statement::mean_within(
            "VI-D",
            "on the oversubscribed network SCC reduces the misses of DS only marginally",
            0.0..=MARGINAL,
            &reduced(racks, missed),
            both(racks, System::Scc, System::Direct, missed, "%"),
        ),
        Statement::mean_within(
            "VI-D",
            "SCC over DCTCP improves the AFCT of CS by 3x",
            ranges::times(3.0),
            &times(System::Direct, System::SccOverDctcp, completion),
            both(NetworkCase::Clos, System::SccOverDctcp, System::Direct, completion, "ms"),
        )
        .ruled_out([&format!(
            "the transport: {}",
            both(NetworkCase::Clos, System::Scc, System::Direct, completion, "ms")
        )]),
        Statement::mean_within(
            "VI-D",
            "SCC over DCTCP misses fewer deadlines than D2TCP without SCC",
            ranges::larger(),
            &times(System::Direct, System::SccOverDctcp, missed),
            both(NetworkCase::Clos, System::SccOverDctcp, System::Direct, missed, "%"),
        ),
        Statement::mean_within(
            "VI-D",
            "SCC over DCTCP misses more deadlines than SCC over D2TCP",
            ranges::larger(),
            &times(System::SccOverDctcp, System::Scc, missed),
            both(NetworkCase::Clos, System::SccOverDctcp, System::Scc, missed, "%"),
        ),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metric: fn(&Metrics) -> f64| {
        Panel::new(
            name,
            title,
            (Axis::categories("network"), y),
            Form::Apart,
            SYSTEMS
                .map(|system| Series {
                    name: system.name().to_owned(),
                    points: PLACES.map(|place| Point::of(place.name(), of(rows, place, system, metric))).to_vec(),
                })
                .to_vec(),
        )
    };
    vec![
        panel("completion", "Average completion time of CS", Axis::linear("AFCT", "ms"), completion),
        panel("misses", "Deadlines that DS misses", Axis::linear("missed", "%"), missed),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    type Rows = Vec<Row>;

    fn set(rows: &mut [Row], place: NetworkCase, system: System, change: impl Fn(&mut Metrics)) {
        let rows = rows.iter_mut().filter(|row| (row.place, row.system) == (place, system));
        rows.flat_map(|row| &mut row.runs).for_each(change);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |missed, completion| Metrics { round_trip: [f64::NAN; 2], missed, completion };
        let row = |place| {
            SYSTEMS.map(|system| {
                let metrics = match (place, system) {
                    (_, System::Direct) => metrics(10.0, 10.0),
                    (NetworkCase::Oversubscribed, _) => metrics(9.5, 8.0),
                    (NetworkCase::Clos, System::SccOverDctcp) => metrics(8.0, 3.3),
                    _ => metrics(5.0, 3.0),
                };
                Row { place, system, runs: vec![metrics; 2] }
            })
        };
        let rows: Rows = PLACES.into_iter().flat_map(row).collect();
        let racks = NetworkCase::Oversubscribed;
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("no faster", &|rows: &mut Rows| set(rows, racks, System::Scc, |run| run.completion = 9.5)),
                ("far faster", &|rows: &mut Rows| set(rows, racks, System::Scc, |run| run.completion = 5.0)),
                ("more misses", &|rows: &mut Rows| set(rows, racks, System::Scc, |run| run.missed = 11.0)),
                ("fast", &|rows: &mut Rows| {
                    set(rows, NetworkCase::Clos, System::SccOverDctcp, |run| run.completion = 1.0)
                }),
                ("far fewer misses", &|rows: &mut Rows| set(rows, racks, System::Scc, |run| run.missed = 5.0)),
                ("slow", &|rows: &mut Rows| {
                    set(rows, NetworkCase::Clos, System::SccOverDctcp, |run| run.completion = 9.0)
                }),
                ("late", &|rows: &mut Rows| {
                    set(rows, NetworkCase::Clos, System::SccOverDctcp, |run| run.missed = 11.0)
                }),
                ("as good", &|rows: &mut Rows| {
                    set(rows, NetworkCase::Clos, System::SccOverDctcp, |run| run.missed = 4.9)
                }),
            ],
        );
    }
}
