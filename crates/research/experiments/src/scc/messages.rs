//! Messages of 2 kB to many receivers beside long flows: the latency of latency-sensitive flows (II-B, IV-C, VI-A).
//!
//! The text has no figure of this case. II-B defines latency-sensitive flows as messages of 2 kB, VI-A states that SCC reduces their latency by up
//! to 40 %, and section V has 16 servers at one switch.

use wayleave_scenarios::Scenario;
use wayleave_schemes::host::scc::{LatencyFloor, Params};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::readings::{Metric, Metrics, completion, each, mean_of, missed, round_trip};
use super::systems::{System, Tenant};
use super::testbed::{ROUND_TRIP, rack, scenario, settings};
use super::workloads::{Application, DeadlineFlows, Receivers, Spacing, published, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-messages",
    runs: "messages",
    paper: &SCC,
    place: "II-B, IV-C",
    title: "Messages of 2 kB to many receivers, beside long flows",
    full_runs: 5,
    full_seconds: 190,
    quick_seconds: 8,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Rates of LS from each server, in Mbit/s. DS and CS have 300, as in section VI.
const LOADS: [u32; 3] = [30, 100, 300];
const MIDDLE: u32 = LOADS[1];
const LONG: u64 = 300;

/// Parameters or queues of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// Without SCC.
    Direct,
    /// SCC, with "at least 10 N_f" as a floor of rate for the first window of each flow.
    FirstWindow,
    /// SCC, with a floor for all flows.
    AllFlows,
    /// SCC, with a relative weight only.
    Weight,
    /// As before, with slots and reports of 250 us instead of 1 ms.
    FastWeight,
    /// SCC, with LS in a queue of switches that goes first.
    HigherQueue,
}

impl Variant {
    /// Compared at all loads.
    const COMPARED: [Self; 4] = [Self::Direct, Self::FirstWindow, Self::AllFlows, Self::Weight];

    /// Experiments, at the middle load.
    const EXPERIMENTS: [Self; 2] = [Self::FastWeight, Self::HigherQueue];

    const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::FirstWindow => "SCC, floor for the first window",
            Self::AllFlows => "SCC, floor for all flows",
            Self::Weight => "SCC, no floor",
            Self::FastWeight => "SCC, no floor, slot and report of 250 us",
            Self::HigherQueue => "SCC, LS in a higher queue",
        }
    }

    const fn system(self) -> System {
        match self {
            Self::Direct => System::Direct,
            Self::HigherQueue => System::SccFirst,
            _ => System::Scc,
        }
    }

    fn set(self, params: &mut Params) {
        params.latency_min_rate = match self {
            Self::AllFlows => LatencyFloor::AllFlows,
            Self::Weight | Self::FastWeight => LatencyFloor::Weight,
            _ => LatencyFloor::FirstWindow,
        };
        if self == Self::FastWeight {
            (params.decision_slot, params.report_interval) = (Time::from_micros(250), Time::from_micros(250));
        }
    }
}

/// A variant at a rate of LS.
type Case = (Variant, u32);

/// One case, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

fn cases() -> Vec<Case> {
    let compared = LOADS.into_iter().flat_map(|load| Variant::COMPARED.map(|variant| (variant, load)));
    compared.chain(Variant::EXPERIMENTS.map(|variant| (variant, MIDDLE))).collect()
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(4_000, 500));
    let cases = cases();
    let figure = format!("{}, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases, &seeds, |&case, seed| one(run.simulator(), case, duration, seed))?;
    let notes = vec![
        "The text measures the latency of LS beside data-mining flows (VI-A) and omits the figure. Here LS are the messages of II-B, between all servers of the testbed. \
         \"We set average bandwidth of a tunnel to be at least 10 x N_f\" (IV-C) can be a floor of rate, for the first window of ten packets or for all flows, or a part of the weight only, \
         which the tracker scales. \"Up to 40 %\" holds if the largest reduction of all loads is between 20 and 80 %."
            .to_owned(),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("network", "16 servers at one switch, 1 Gbit/s; base round trip 300 us")
        .with("applications", "LS: 2 kB, Poisson, 30, 100 or 300 Mbit/s from each server; DS, CS: data-mining, 300 Mbit/s each; all to random servers")
        .with("divisions", "a share for each application, as much as it sends")
        .with("time", format!("{} ms, of which the first tenth does not count", duration.as_nanos() / 1_000_000)))
}

fn one(simulator: &Simulator, (variant, load): Case, duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let system = variant.system();
    let network = rack(system.queues())?;
    let servers: Vec<NodeId> = network.hosts().collect();
    let mut run: Scenario = scenario("messages", &network, duration);
    let ends = Receivers::Drawn.ends(&servers);
    let rate = |application| match application {
        Application::Latency => u64::from(load) * servers.len() as u64,
        Application::Deadline | Application::Completion => LONG * servers.len() as u64,
    };
    run.traffic = vec![traffic(Application::Latency, ends.clone(), rate(Application::Latency) as f64, Spacing::Random)];
    for application in [Application::Deadline, Application::Completion] {
        let flows = ("data-mining", &ends, DeadlineFlows::SmallMessages);
        run.traffic.extend(published(application, flows, rate(application) as f64));
    }
    let tenants = Application::ALL.map(|application| Tenant {
        name: application.name(),
        application,
        share: Rate::from_mbit(rate(application)),
    });
    system.carry_with(&mut run, &tenants, |params| variant.set(params))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

/// Runs of a case; none if it was not run.
fn runs(rows: &[Row], case: Case) -> &[Metrics] {
    rows.iter().find(|row| row.case == case).map_or(&[], |row| &row.runs)
}

/// Returns the mean round trip with a variant as a part of that without SCC.
fn part(rows: &[Row], variant: Variant, load: u32) -> Vec<f64> {
    let [with, without] = [variant, Variant::Direct].map(|variant| each(runs(rows, (variant, load)), round_trip));
    ratio_of_means(&with, &without)
}

/// Returns the round trips of all loads in words.
fn by_load(rows: &[Row], variant: Variant) -> String {
    let at = |load| {
        let [without, with] =
            [Variant::Direct, variant].map(|variant| mean_of(runs(rows, (variant, load)), round_trip));
        format!("{without:.0} us without, {with:.0} us with SCC at {load} Mbit/s")
    };
    LOADS.map(at).join("; ")
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let reduced = |part: Vec<f64>| part.into_iter().map(|part| 100.0 * (1.0 - part)).collect::<Vec<_>>();
    let readings = [
        (Variant::FirstWindow, "a floor for the first window"),
        (Variant::AllFlows, "a floor for all flows"),
        (Variant::Weight, "no floor"),
    ];
    let experiments = |statement: Statement, of: &dyn Fn(Vec<f64>) -> Vec<f64>| {
        Variant::EXPERIMENTS.into_iter().fold(statement, |statement, variant| {
            let mean = mean_of(runs(rows, (variant, MIDDLE)), round_trip);
            let name = format!("{}: {mean:.0} us at {MIDDLE} Mbit/s", variant.name());
            statement.tested(name, &of(part(rows, variant, MIDDLE)))
        })
    };
    let best = |variant| {
        let all = LOADS.map(|load| reduced(part(rows, variant, load)));
        all.into_iter().max_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default()
    };
    let worst = |variant| {
        let all = LOADS.map(|load| part(rows, variant, load));
        all.into_iter().max_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default()
    };
    let slowest =
        LOADS.map(|load| mean_of(runs(rows, (Variant::Direct, load)), round_trip)).into_iter().fold(0.0, f64::max);
    let base = ROUND_TRIP.as_nanos() as f64 / 1e3;
    let least = format!(
        "A full packet takes {base:.0} us without queues, so that {:.0} % less is the most that any system can save here.",
        100.0 * (1.0 - base / slowest)
    );
    let less = readings.map(|(variant, reading)| {
        let statement = Statement::mean_within(
            "VI-A",
            "SCC reduces the latency of messages of LS by up to 40 %",
            20.0..=80.0,
            &best(variant),
            by_load(rows, variant),
        );
        experiments(statement.reading(reading), &reduced).remark(least.as_str())
    });
    let kept = readings.map(|(variant, reading)| {
        let statement = Statement::mean_within(
            "VI",
            "SCC meets the requirements of LS beside DS and CS: messages take no longer than without it, at any load",
            0.0..=NO_LONGER,
            &worst(variant),
            by_load(rows, variant),
        );
        experiments(statement.reading(reading), &|part| part)
    });
    less.into_iter().chain(kept).collect()
}

/// "is able to meet the requirements of objectives like CS, DS or LS simultaneously" (VI): within a tenth of the latency without SCC. The
/// text has no number.
const NO_LONGER: f64 = 1.1;

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metric: Metric| {
        Panel::new(
            name,
            title,
            (Axis::linear("LS from each server", "Mbit/s"), y),
            Form::Joined,
            Variant::COMPARED
                .into_iter()
                .chain(Variant::EXPERIMENTS)
                .map(|variant| Series {
                    name: variant.name().to_owned(),
                    points: rows
                        .iter()
                        .filter(|row| row.case.0 == variant)
                        .map(|row| Point::of(f64::from(row.case.1), each(&row.runs, metric)))
                        .collect(),
                })
                .collect(),
        )
    };
    vec![
        panel("round-trips", "Round trips of LS packets", Axis::logarithmic("mean", "us"), round_trip),
        panel("tail", "Round trips of LS packets", Axis::logarithmic("99 %", "us"), |run| run.round_trip[1]),
        panel("misses", "Deadlines that DS misses", Axis::linear("missed", "%"), missed),
        panel("completion", "Average completion time of CS", Axis::linear("AFCT", "ms"), completion),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Catches a variant whose parameters reach no tunnel: it would have the figures of another.
    #[test]
    fn every_variant_runs_and_has_figures_of_its_own() {
        let run =
            |variant| one(&Simulator::default(), (variant, MIDDLE), Time::from_millis(60), 1).unwrap().round_trip[0];
        let [direct, first, weight, higher] =
            [Variant::Direct, Variant::FirstWindow, Variant::Weight, Variant::HigherQueue].map(run);
        assert!([direct, first, weight, higher].iter().all(|mean| (290.0..50_000.0).contains(mean)));
        assert!(direct != first && first != weight && first != higher, "{direct}, {first}, {weight}, {higher}");
    }

    type Change<'a> = &'a dyn Fn(&mut Vec<Row>);

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |mean| Metrics { round_trip: [mean, 2.0 * mean], missed: 1.0, completion: 10.0 };
        let of = |(variant, _): Case| if variant == Variant::Direct { metrics(500.0) } else { metrics(300.0) };
        let rows: Vec<Row> = cases().into_iter().map(|case| Row { case, runs: vec![of(case); 2] }).collect();
        let set = |variant, loads: &'static [u32], mean: f64| {
            move |rows: &mut Vec<Row>| {
                let rows = rows.iter_mut().filter(|row| row.case.0 == variant && loads.contains(&row.case.1));
                rows.for_each(|row| row.runs.fill(metrics(mean)));
            }
        };
        let of_variant = |variant| {
            [
                ("hardly less", set(variant, &LOADS, 401.0)),
                ("far less", set(variant, &LOADS, 99.0)),
                ("longer at one load", set(variant, &[MIDDLE], 551.0)),
            ]
        };
        let changes = [Variant::FirstWindow, Variant::AllFlows, Variant::Weight].map(of_variant);
        let changes: Vec<(&str, Change<'_>)> =
            changes.iter().flatten().map(|(name, change)| (*name, change as &dyn Fn(&mut Vec<Row>))).collect();
        assert_each_can_change(&rows, |rows| statements(rows), &changes);
    }
}
