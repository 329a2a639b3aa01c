//! Fig. 9: one objective alone, with SCC and without (section VI-C).

use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::readings::{Metric, Metrics, completion, each, missed, ranges};
use super::systems::{System, equal_tenants};
use super::testbed::{clos, clos_scenario, clos_settings};
use super::workloads::{Application, DeadlineFlows, Receivers, published};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig9",
    runs: "isolation",
    paper: &SCC,
    place: "Fig. 9",
    title: "One objective alone, with SCC and without",
    full_runs: 3,
    full_seconds: 500,
    quick_seconds: 18,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SYSTEMS: [System; 2] = [System::Direct, System::Scc];

/// Of the edge links, in per cent: "across a range of network loads".
const LOADS: [u32; 4] = [20, 40, 60, 80];
const LOW: u32 = LOADS[0];
const HIGH: u32 = LOADS[3];

type Case = (System, Application, u32, Receivers);

/// One system with one application at one load, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let (hosts, duration) = run.choose((16, Time::from_millis(20_000)), (4, Time::from_millis(3_000)));
    let cases = cases();
    let figure = format!("{}, {hosts} hosts a leaf, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases, &seeds, |&case, seed| one(run.simulator(), case, hosts, duration, seed))?;
    let notes = vec![
        "Misses are those of flows up to 200 kB, since only these have deadlines; AFCT is that of flows that are complete at the end. \"Similar\" is within a tenth; a factor holds if the largest is \
         between half of it and twice it. The text has 2x in its list of answers and 2.5x beside the figure: both stand."
            .to_owned(),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(clos_settings(figure, hosts, duration))
}

/// Both systems with both applications; as an experiment, deadlines with receivers that are kept.
fn cases() -> Vec<Case> {
    let of = |application, receivers| {
        LOADS.into_iter().flat_map(move |load| SYSTEMS.map(|system| (system, application, load, receivers)))
    };
    of(Application::Deadline, Receivers::Drawn)
        .chain(of(Application::Completion, Receivers::Drawn))
        .chain(SYSTEMS.map(|system| (system, Application::Deadline, HIGH, Receivers::Kept)))
        .collect()
}

fn one(
    simulator: &Simulator,
    (system, application, load, receivers): Case,
    per_leaf: u64,
    duration: Time,
    seed: u64,
) -> Result<Metrics, Failed> {
    let network = clos(per_leaf)?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut run = clos_scenario("isolation", &network, duration);
    let mbit = 10 * u64::from(load) * hosts.len() as u64;
    let flows = ("data-mining", &receivers.ends(&hosts), DeadlineFlows::SmallMessages);
    run.traffic = published(application, flows, mbit as f64);
    system.carry(&mut run, &equal_tenants(&[application], Rate::from_mbit(mbit)))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

fn of(rows: &[Row], case: Case, metric: Metric) -> Vec<f64> {
    rows.iter().find(|row| row.case == case).map_or(Vec::new(), |row| each(&row.runs, metric))
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let both = |application, load, metric| {
        SYSTEMS.map(|system| of(rows, (system, application, load, Receivers::Drawn), metric))
    };
    let fewer = |load| {
        let [direct, scc] = both(Application::Deadline, load, missed);
        ratio_of_means(&direct, &scc)
    };
    let most = LOADS.into_iter().map(fewer).max_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default();
    let shown = |application, load, metric, unit: &str| {
        let [direct, scc] = both(application, load, metric).map(|runs| mean(&runs));
        format!("{direct:.2} {unit} without, {scc:.2} {unit} with SCC at {load} %")
    };
    let misses = LOADS.map(|load| shown(Application::Deadline, load, missed, "%")).join("; ");
    let kept = SYSTEMS.map(|system| mean(&of(rows, (system, Application::Deadline, HIGH, Receivers::Kept), missed)));
    let begins = format!(
        "tunnels that begin (where every host keeps its receiver, {:.2} % are missed without and {:.2} % with SCC at {HIGH} %)",
        kept[0], kept[1]
    );
    let fewer_misses = |section, claim_text: &str, factor: f64| {
        Statement::mean_within(section, claim_text, ranges::times(factor), &most, misses.clone())
            .ruled_out([begins.as_str()])
    };
    let times = |load| {
        let [direct, scc] = both(Application::Completion, load, completion);
        ratio_of_means(&scc, &direct)
    };
    vec![
        fewer_misses("VI-C", "SCC reduces the misses of DS alone by up to 2.5x", 2.5),
        fewer_misses("VI", "SCC reduces the misses of DS alone by up to 2x (list of answers)", 2.0),
        Statement::mean_within(
            "VI-C",
            "alone, the AFCT of CS with SCC is similar to that of L2DCT at low loads",
            0.9..=1.1,
            &times(LOW),
            shown(Application::Completion, LOW, completion, "ms"),
        ),
        Statement::mean_within(
            "VI-C",
            "SCC improves the AFCT of CS alone at higher loads",
            ranges::smaller(),
            &times(HIGH),
            shown(Application::Completion, HIGH, completion, "ms"),
        ),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, application: Application, metric: Metric| {
        Panel::new(
            name,
            title,
            (Axis::linear("load", "%"), y),
            Form::Joined,
            SYSTEMS
                .iter()
                .map(|&system| Series {
                    name: system.name().to_owned(),
                    points: LOADS
                        .iter()
                        .map(|&load| {
                            Point::of(f64::from(load), of(rows, (system, application, load, Receivers::Drawn), metric))
                        })
                        .collect(),
                })
                .collect(),
        )
    };
    vec![
        panel("misses", "Deadlines that DS misses alone", Axis::linear("missed", "%"), Application::Deadline, missed),
        panel(
            "completion",
            "Average completion time of CS alone",
            Axis::linear("AFCT", "ms"),
            Application::Completion,
            completion,
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |missed, completion| Metrics { round_trip: [f64::NAN; 2], missed, completion };
        let metrics_of = |system| if system == System::Scc { metrics(4.0, 9.2) } else { metrics(8.0, 10.0) };
        let rows: Vec<Row> = cases().into_iter().map(|case| Row { case, runs: vec![metrics_of(case.0); 2] }).collect();
        let with = |application: Application, load: u32, missed: f64, completion: f64| {
            move |rows: &mut Vec<Row>| {
                let is_it =
                    |row: &&mut Row| row.case.0 == System::Scc && row.case.1 == application && row.case.2 == load;
                rows.iter_mut().filter(is_it).for_each(|row| row.runs.fill(metrics(missed, completion)));
            }
        };
        let all = |missed: f64| {
            move |rows: &mut Vec<Row>| {
                rows.iter_mut()
                    .filter(|row| row.case.0 == System::Scc)
                    .flat_map(|row| &mut row.runs)
                    .for_each(|run| run.missed = missed);
            }
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("as many misses", &all(8.1)),
                ("hardly a miss", &all(1.0)),
                ("slower at low loads", &with(Application::Completion, LOW, 4.0, 11.1)),
                ("faster at low loads", &with(Application::Completion, LOW, 4.0, 8.9)),
                ("slower at high loads", &with(Application::Completion, HIGH, 4.0, 10.1)),
            ],
        );
    }
}
