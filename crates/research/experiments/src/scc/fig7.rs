//! Fig. 7: what each objective suffers from the others, with data-mining flows (section VI-A).

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
    id: "scc-fig7",
    runs: "coexistence",
    paper: &SCC,
    place: "Fig. 7",
    title: "Interference between objectives, with data-mining flows",
    full_runs: 2,
    full_seconds: 3_800,
    quick_seconds: 6,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

use Application::{Completion, Deadline, Latency};

/// Sending applications.
const ALONE: &[Application] = &[Deadline];
const ALL: &[Application] = &Application::ALL;
const CASES: [&[Application]; 6] =
    [ALONE, &[Latency, Deadline], &[Deadline, Completion], ALL, &[Completion], &[Latency, Completion]];

/// The claim of Fig. 7a.
const FEWER: &str = "beside CS and LS, SCC reduces the misses of DS by up to 3x";

/// "is not degraded": the text has no number.
const NOT_DEGRADED: f64 = 1.1;

/// One case, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

fn cases() -> Vec<Case> {
    let with = |applications: &[Application]| {
        [System::Direct, System::Scc].map(|system| Case {
            place: NetworkCase::Clos,
            system,
            sizes: Sizes::DataMining,
            applications: applications.to_vec(),
            deadlines: DeadlineFlows::SmallMessages,
        })
    };
    let other = with(ALL).map(|case| Case { deadlines: DeadlineFlows::All, ..case });
    CASES.into_iter().flat_map(with).chain(other).collect()
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let cases = cases();
    let found = gather(run, &cases, &seeds)?;
    let rows: Vec<Row> = cases.into_iter().zip(found).map(|(case, runs)| Row { case, runs }).collect();
    let figure =
        Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes: notes(), ..Figure::default() };
    Ok(settings(figure, run, NetworkCase::Clos))
}

/// Runs of a case; none if it was not run.
fn runs<'a>(rows: &'a [Row], system: System, applications: &[Application]) -> &'a [Metrics] {
    runs_with(rows, system, (applications, DeadlineFlows::SmallMessages))
}

fn runs_with<'a>(
    rows: &'a [Row],
    system: System,
    (applications, deadlines): (&[Application], DeadlineFlows),
) -> &'a [Metrics] {
    let is_it = |case: &Case| (case.system, case.deadlines) == (system, deadlines) && case.applications == applications;
    rows.iter().find(|row| is_it(&row.case)).map_or(&[], |row| &row.runs)
}

/// Returns the reading in which all flows of DS have deadlines. Misses that no system avoids are not counted.
fn all_flows(rows: &[Row]) -> Statement {
    let unavoidable = Sizes::DataMining.unavoidable(DeadlineFlows::All);
    let above = |system| each(runs_with(rows, system, (ALL, DeadlineFlows::All)), |run| run.missed - unavoidable);
    let [direct, scc] = [System::Direct, System::Scc].map(above);
    let fewer = ratio_of_means(&direct, &scc);
    let measured = format!(
        "{:.2}x: {:.2} % with SCC, {:.2} % without, above {unavoidable:.2} % that a link of its own does not avoid",
        mean(&fewer),
        mean(&scc),
        mean(&direct)
    );
    Statement::mean_within("VI-A", FEWER, ranges::times(3.0), &fewer, measured)
        .reading("all flows of DS have deadlines, and misses are those above the unavoidable ones")
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let direct = |applications: &[Application], metric: fn(&Metrics) -> f64| {
        each(runs(rows, System::Direct, applications), metric)
    };
    let all = direct(ALL, missed);
    let scc = each(runs(rows, System::Scc, ALL), missed);
    let more = ratio_of_means(&all, &direct(ALONE, missed));
    let fewer = ratio_of_means(&all, &scc);
    let by_deadlines = ratio_of_means(&direct(&[Deadline, Completion], completion), &direct(&[Completion], completion));
    let by_latency = ratio_of_means(&direct(&[Latency, Completion], completion), &direct(&[Completion], completion));
    let times = |times: &[f64], what: String| format!("{:.2}x: {what}", mean(times));
    vec![
        Statement::mean_within(
            "VI-A",
            "without SCC, DS misses more deadlines beside CS and LS than alone",
            ranges::larger(),
            &more,
            times(&more, format!("{:.2} %, alone {:.2} %", mean(&all), mean(&direct(ALONE, missed)))),
        ),
        Statement::mean_within(
            "VI-A",
            FEWER,
            ranges::times(3.0),
            &fewer,
            times(&fewer, format!("{:.2} % with SCC, {:.2} % without", mean(&scc), mean(&all))),
        ),
        all_flows(rows),
        Statement::mean_within(
            "VI-A",
            "without SCC, CS suffers from DS",
            ranges::larger(),
            &by_deadlines,
            times(&by_deadlines, format!("{:.2} ms beside DS", mean(&direct(&[Deadline, Completion], completion)))),
        ),
        Statement::mean_within(
            "VI-A",
            "beside LS only, CS is not degraded",
            0.0..=NOT_DEGRADED,
            &by_latency,
            times(&by_latency, format!("{:.2} ms beside LS", mean(&direct(&[Latency, Completion], completion)))),
        )
        .supposed(format!(
            "LS sends as much here as DS does, since \"all flows follow\" the same sizes: beside DS the factor is {:.2}.",
            mean(&by_deadlines)
        )),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, who: Application, metric: fn(&Metrics) -> f64| {
        let beside = CASES.into_iter().filter(|applications| applications.contains(&who)).collect::<Vec<_>>();
        let series = |system: System| Series {
            name: system.name().to_owned(),
            points: beside
                .iter()
                .map(|applications| {
                    let names: Vec<&str> = applications.iter().map(|application| application.name()).collect();
                    Point::of(names.join("+"), each(runs(rows, system, applications), metric))
                })
                .collect(),
        };
        Panel::new(
            name,
            title,
            (Axis::categories("sender"), y),
            Form::Apart,
            vec![series(System::Direct), series(System::Scc)],
        )
    };
    vec![
        panel("misses", "Deadlines that DS misses", Axis::linear("missed", "%"), Deadline, missed),
        panel("completion", "Average completion time of CS", Axis::linear("AFCT", "ms"), Completion, completion),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    type Rows = Vec<Row>;

    fn set(rows: &mut [Row], system: System, applications: &[Application], change: impl Fn(&mut Metrics)) {
        let is_it = |case: &Case| {
            (case.system, case.deadlines) == (system, DeadlineFlows::SmallMessages) && case.applications == applications
        };
        let rows = rows.iter_mut().filter(|row| is_it(&row.case));
        rows.flat_map(|row| &mut row.runs).for_each(change);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = Metrics { round_trip: [f64::NAN; 2], missed: 3.0, completion: 2.0 };
        let mut rows: Rows = cases().into_iter().map(|case| Row { case, runs: vec![metrics; 2] }).collect();
        set(&mut rows, System::Direct, ALL, |run| run.missed = 9.0);
        set(&mut rows, System::Direct, &[Deadline, Completion], |run| run.completion = 3.0);
        let direct = System::Direct;
        let unavoidable = Sizes::DataMining.unavoidable(DeadlineFlows::All);
        let of_all = |rows: &mut Rows, system, missed: f64| {
            let is_it = |case: &Case| (case.system, case.deadlines) == (system, DeadlineFlows::All);
            let rows = rows.iter_mut().filter(|row| is_it(&row.case));
            rows.flat_map(|row| &mut row.runs).for_each(|run| run.missed = unavoidable + missed);
        };
        of_all(&mut rows, System::Direct, 9.0);
        of_all(&mut rows, System::Scc, 3.0);
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("no harm to DS", &|rows: &mut Rows| set(rows, direct, ALONE, |run| run.missed = 10.0)),
                ("SCC misses as many", &|rows: &mut Rows| set(rows, System::Scc, ALL, |run| run.missed = 9.0)),
                ("SCC misses hardly any", &|rows: &mut Rows| set(rows, System::Scc, ALL, |run| run.missed = 1.0)),
                ("SCC misses as many of all", &|rows: &mut Rows| of_all(rows, System::Scc, 9.0)),
                ("SCC misses hardly any of all", &|rows: &mut Rows| of_all(rows, System::Scc, 1.0)),
                ("no harm to CS", &|rows: &mut Rows| {
                    set(rows, direct, &[Deadline, Completion], |run| run.completion = 1.9);
                }),
                ("LS harms CS", &|rows: &mut Rows| {
                    set(rows, direct, &[Latency, Completion], |run| run.completion = 2.3);
                }),
            ],
        );
    }
}
