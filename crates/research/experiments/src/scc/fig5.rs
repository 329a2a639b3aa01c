//! Fig. 5: what the tunnel's own schedule adds to tunnels, for deadlines beside completion times (section VI-A).

use wayleave_scenarios::FlowEndpoints;
use wayleave_units::{Rate, Time};

use super::readings::{Metrics, completion, each, mean_of, missed};
use super::systems::{HALF, System, equal_tenants};
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
    id: "scc-fig5",
    runs: "in-tunnel scheduling",
    paper: &SCC,
    place: "Fig. 5",
    title: "Tunnels with and without their own schedule",
    full_runs: 10,
    full_seconds: 25,
    quick_seconds: 8,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "low (20%), medium(50%) and high (80%) load" of 500 Mbit/s each, as in Fig. 1.
const LOADS: [u32; 3] = [20, 50, 80];
const ALONE: u32 = 500;
/// Rate that DS and CS share.
const TOGETHER: Rate = Rate::from_mbit(1_000);

/// Sending applications.
const APPLICATIONS: [Application; 2] = [Application::Deadline, Application::Completion];

/// A system at a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    system: System,
    load: u32,
}

const WITH: System = System::Scc;
const WITHOUT: System = System::SccTransports;

/// One case, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

fn cases() -> Vec<Case> {
    let systems = |load| [System::Direct, WITHOUT, WITH].map(|system| Case { system, load });
    LOADS.into_iter().flat_map(systems).collect()
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 3_000));
    let figure = format!("{}, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases(), &seeds, |&case, seed| one(run.simulator(), case, duration, seed))?;
    let notes = vec![
        "\"Reduces by up to 8%\" is read as a part of what it is without: 8 of 100 misses. It holds if the largest reduction of all loads is between half of it and twice it. Remarks have \
         the difference in points of the ratio as well."
            .to_owned(),
        "Both divisions weigh the same. Each has one tunnel here, so its weight never changes, and only the order in the tunnel differs.".to_owned(),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(simulator: &Simulator, case: Case, duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let Bottleneck { network, pairs } = bottleneck(TOGETHER)?;
    let mut run = scenario("in-tunnel scheduling", &network, duration);
    let demand = f64::from(ALONE * case.load / 100);
    run.traffic = APPLICATIONS
        .into_iter()
        .zip(&pairs[1..])
        .map(|(application, &pair)| traffic(application, FlowEndpoints::Pairs(vec![pair]), demand, Spacing::Random))
        .collect();
    case.system.carry(&mut run, &equal_tenants(&APPLICATIONS, HALF))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

/// Runs of a case; none if it was not run.
fn runs(rows: &[Row], system: System, load: u32) -> &[Metrics] {
    rows.iter().find(|row| row.case == Case { system, load }).map_or(&[], |row| &row.runs)
}

/// The reduction by the tunnel's schedule in per cent, at the load where it is largest.
fn largest(rows: &[Row], metric: fn(&Metrics) -> f64) -> (u32, Vec<f64>) {
    let reduction = |load| {
        let [with, without] = [WITH, WITHOUT].map(|system| each(runs(rows, system, load), metric));
        let part: Vec<f64> = ratio_of_means(&with, &without).iter().map(|ratio| 100.0 * (1.0 - ratio)).collect();
        (load, part)
    };
    // At a load without misses there is nothing to reduce.
    let all = LOADS.map(reduction).into_iter().filter(|(_, part)| mean(part).is_finite());
    all.max_by(|one, other| mean(&one.1).total_cmp(&mean(&other.1))).unwrap_or((0, Vec::new()))
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let by_load = |metric: fn(&Metrics) -> f64, unit: &str| {
        let at = |load| {
            let [with, without] = [WITH, WITHOUT].map(|system| mean_of(runs(rows, system, load), metric));
            format!("{with:.2} instead of {without:.2} {unit} at {load} %")
        };
        LOADS.map(at).join(", ")
    };
    let cause = |load: u32| {
        let [shortest, shared] = [shortest_first, processor_sharing].map(|time| 100.0 * time(f64::from(load) / 100.0));
        format!(
            "Flows that share a link take much longer than flows that are served shortest first, whatever makes them share. Of uniform sizes at {load} %, computed for one queue (Schrage and Miller, 1966; processor sharing), the mean completion time is {:.0} % less, so transports under which it is only a few per cent less have to be nearly shortest first themselves.",
            100.0 - 100.0 * shortest / shared
        )
    };
    let statement = |claim_text: &str, range, metric, unit| {
        let (load, part) = largest(rows, metric);
        let measured = format!("{:.1} % at {load} %: {}", mean(&part), by_load(metric, unit));
        Statement::mean_within("VI-A", claim_text, range, &part, measured).supposed(cause(load))
    };
    vec![
        statement("in-tunnel scheduling lowers the misses of DS by up to 8 %", 4.0..=16.0, missed, "%"),
        statement("in-tunnel scheduling lowers the AFCT of CS by up to 6 %", 3.0..=12.0, completion, "ms"),
    ]
}

/// Sizes of CS and DS as parts of the largest ("2 KB-198 KB").
const SIZES: (f64, f64) = (2.0 / 198.0, 1.0);

/// Mean completion time of flows that share a link alike, at this load, where the largest flow alone takes 1.
fn processor_sharing(load: f64) -> f64 {
    f64::midpoint(SIZES.0, SIZES.1) / (1.0 - load)
}

/// The same where the shortest remaining flow goes first (Schrage and Miller, Operations Research 14, 1966).
fn shortest_first(load: f64) -> f64 {
    shortest_first_of(SIZES, load)
}

fn shortest_first_of((low, high): (f64, f64), load: f64) -> f64 {
    const STEPS: u32 = 2_000;
    let density = 1.0 / (high - low);
    let rate = load / f64::midpoint(low, high);
    // Up to the smallest size, no new flow can preempt the remainder of a flow.
    let (mut mean, mut residence, mut squares, mut below) = (0.0, low, 0.0, 0.0);
    let step = (high - low) / f64::from(STEPS);
    for index in 0..STEPS {
        let size = low + (f64::from(index) + 0.5) * step;
        squares += size * size * density * step;
        below += rate * size * density * step;
        residence += step / (1.0 - below);
        let longer = (high - size) * density;
        let waiting = rate / 2.0 * (squares + size * size * longer) / (1.0 - below).powi(2);
        mean += (waiting + residence) * density * step;
    }
    mean
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metric: fn(&Metrics) -> f64| {
        let series = |system: System| Series {
            name: system.name().to_owned(),
            points: LOADS
                .iter()
                .map(|&load| Point::of(f64::from(load), each(runs(rows, system, load), metric)))
                .collect(),
        };
        Panel::new(
            name,
            title,
            (Axis::linear("load of each", "% of 500 Mbit/s"), y),
            Form::Joined,
            [System::Direct, WITHOUT, WITH].map(series).to_vec(),
        )
    };
    vec![
        panel("misses", "Deadlines that DS misses beside CS", Axis::linear("missed", "%"), missed),
        panel("completion", "Average completion time of CS beside DS", Axis::linear("AFCT", "ms"), completion),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn set(rows: &mut [Row], system: System, change: impl Fn(&mut Metrics)) {
        rows.iter_mut().filter(|row| row.case.system == system).flat_map(|row| &mut row.runs).for_each(change);
    }

    /// With nearly equal sizes, the first flow to arrive is served first: M/D/1 takes 1 + load / (2 - 2 load).
    #[test]
    fn shortest_first_agrees_with_textbook_cases() {
        for load in [0.1_f64, 0.5, 0.8] {
            let same = shortest_first_of((0.999, 1.0), load);
            assert!(same < 1.0 + load / (2.0 - 2.0 * load) + 0.01, "{load}: {same}");
        }
        assert!(
            (shortest_first(0.001) - f64::midpoint(SIZES.0, SIZES.1)).abs() < 0.002,
            "alone, a flow takes its own time"
        );
        assert!(shortest_first(0.8) < 0.6 * processor_sharing(0.8));
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = Metrics { round_trip: [f64::NAN; 2], missed: 10.0, completion: 2.0 };
        let mut rows: Vec<Row> = cases().into_iter().map(|case| Row { case, runs: vec![metrics; 2] }).collect();
        set(&mut rows, WITH, |run| (run.missed, run.completion) = (9.2, 1.88));
        type Rows = Vec<Row>;
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("no fewer misses", &|rows: &mut Rows| set(rows, WITH, |run| run.missed = 9.7)),
                ("far fewer misses", &|rows: &mut Rows| set(rows, WITH, |run| run.missed = 8.3)),
                ("no faster", &|rows: &mut Rows| set(rows, WITH, |run| run.completion = 1.95)),
                ("far faster", &|rows: &mut Rows| set(rows, WITH, |run| run.completion = 1.7)),
            ],
        );
    }
}
