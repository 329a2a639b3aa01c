//! Fig. 3: the testbed, with SCC and without (section V).
//!
//! V: "We use same settings as Base-DS, Base-LS and Base-CS", "CS/DS (medium load) and CS/DS/LS (high load)". By II-B, LS sends 400 Mbit/s, a medium load is
//! 50 % and a high one 80 % of the link. Rates of single applications beside each other are not given, so there are two readings ([`Rates`]).

use wayleave_explain::human::count;
use wayleave_scenarios::FlowEndpoints;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::fig4::Change;
use super::readings::{Metric, Metrics, completion, each, missed, ranges};
use super::systems::{SHARE, System, equal_tenants};
use super::testbed::{rack, scenario, settings};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig3",
    runs: "testbed",
    paper: &SCC,
    place: "Fig. 3",
    title: "The testbed: completion times and deadlines with SCC and without",
    full_runs: 10,
    full_seconds: 270,
    quick_seconds: 4,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Compared systems: "We have not implemented in-tunnel algorithms for the testbed" (V).
const COMPARED: [System; 2] = [System::Direct, System::SccTransports];

/// The last two are experiments.
const SYSTEMS: [System; 4] = [System::Direct, System::SccTransports, System::Scc, System::Weighted];

/// Servers that each application has; with one, which is an experiment, a division has one tunnel.
const SENDERS: [usize; 2] = [5, 1];

/// Sending applications, each from five of the servers to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Alone,
    WithDeadlines,
    All,
}

impl Mix {
    const ALL: [Self; 3] = [Self::Alone, Self::WithDeadlines, Self::All];

    const fn name(self) -> &'static str {
        match self {
            Self::Alone => "CS only",
            Self::WithDeadlines => "CS/DS",
            Self::All => "CS/DS/LS",
        }
    }

    /// Mbit/s of LS, DS and CS: "an average load of 400 Mbps" alone (V).
    const fn demands(self, rates: Rates) -> [u32; 3] {
        match (self, rates) {
            (Self::Alone, _) => [0, 0, 400],
            (Self::WithDeadlines, Rates::Simulations) => [0, 300, 300],
            (Self::All, Rates::Simulations) => [300, 300, 300],
            (Self::WithDeadlines, Rates::Motivation) => [0, 250, 250],
            (Self::All, Rates::Motivation) => [400, 200, 200],
        }
    }
}

/// Rates of applications beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rates {
    /// 300 Mbit/s of each (VI): 60 and 90 % of the link.
    Simulations,
    /// Loads of II-B: 50 and 80 % of the link, of which LS has 400 Mbit/s.
    Motivation,
}

impl Rates {
    const fn name(self) -> &'static str {
        match self {
            Self::Simulations => "300 Mbit/s of each",
            Self::Motivation => "loads of II-B: 50 and 80 %, LS with 400 Mbit/s",
        }
    }
}

/// One case, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    system: System,
    mix: Mix,
    /// Servers of each application.
    senders: usize,
    rates: Rates,
    change: Change,
}

impl Case {
    const fn new(system: System, mix: Mix) -> Self {
        Self { system, mix, senders: SENDERS[0], rates: Rates::Simulations, change: Change::SmallShares }
    }
}

/// Experiments on a mix, with names: a case and the direct one with which it is compared.
fn experiments(mix: Mix) -> Vec<(String, Case, Case)> {
    let [many, one] = SENDERS;
    let systems = [
        ("one server for each application", System::SccTransports, one),
        ("in-tunnel scheduling", System::Scc, many),
        ("in-tunnel scheduling and one server for each application", System::Scc, one),
        ("a fair share alone: a queue for each application at every port, equal weights", System::Weighted, many),
    ];
    let of_system = systems.into_iter().map(|(name, system, senders)| {
        let case = Case { senders, ..Case::new(system, mix) };
        (name.to_owned(), case, Case { system: System::Direct, ..case })
    });
    let others = [
        (System::SccTransports, Rates::Motivation, Change::SmallShares),
        (System::Scc, Rates::Motivation, Change::SmallShares),
        (System::SccTransports, Rates::Simulations, Change::FastGrowth),
        (System::SccTransports, Rates::Simulations, Change::LargeShares),
        (System::SccTransports, Rates::Motivation, Change::FastGrowth),
        (System::SccTransports, Rates::Motivation, Change::LargeShares),
    ];
    let of_rates = others.into_iter().filter(|_| mix != Mix::Alone).map(|(system, rates, change)| {
        let parts = [
            (rates != Rates::Simulations).then_some(rates.name()),
            (system == System::Scc).then_some("in-tunnel scheduling"),
            (change != Change::SmallShares).then_some(change.name()),
        ];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let case = Case { rates, change, ..Case::new(system, mix) };
        (name, case, Case { system: System::Direct, change: Change::SmallShares, ..case })
    });
    of_system.chain(of_rates).collect()
}

/// All cases, each once.
fn cases() -> Vec<Case> {
    let compared = Mix::ALL.into_iter().flat_map(|mix| SYSTEMS.map(|system| Case::new(system, mix)));
    let tested = Mix::ALL.into_iter().flat_map(experiments).flat_map(|(_, with, without)| [without, with]);
    let mut cases: Vec<Case> = Vec::new();
    for case in compared.chain(tested) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 2_000));
    let figure = format!("{}, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases(), &seeds, |&case, seed| one(run.simulator(), case, duration, seed))?;
    let notes = vec![
        "The text does not say which servers send to which, nor the rates beside \"medium\" and \"high\". Here each application sends from five servers to the sixteenth, whose link is the only \
         bottleneck; beside others each has 300 Mbit/s, as in section VI: 60 % and 90 % of the link. II-B's loads are an experiment: 50 % (250 Mbit/s each) and 80 % (LS 400, the others 200). The base round trip is 300 us, as in the simulations. Without in-tunnel scheduling, as on the \
         testbed. A reduction holds if ours is between half of it and twice it; \"remain the same\" is within a tenth."
            .to_owned(),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("network", "16 servers at one switch, 1 Gbit/s; base round trip 300 us")
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(simulator: &Simulator, case: Case, duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let network = rack(case.system.queues())?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let Some((&last, others)) = hosts.split_last() else { return Err(Failed::broken("a rack without servers")) };
    let mut run = scenario("testbed", &network, duration);
    run.traffic = Application::ALL
        .into_iter()
        .zip(others.chunks(others.len() / Application::ALL.len()))
        .zip(case.mix.demands(case.rates))
        .filter(|&(_, mbit)| mbit > 0)
        .map(|((application, from), mbit)| {
            let ends = FlowEndpoints::Random(from.iter().copied().take(case.senders).collect(), vec![last]);
            traffic(application, ends, f64::from(mbit), Spacing::Random)
        })
        .collect();
    let share = if case.change == Change::LargeShares { case.change.share() } else { SHARE };
    let tenants = equal_tenants(&Application::ALL, share);
    case.system.carry_with(&mut run, &tenants, |params| case.change.apply(params))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

fn of(rows: &[Row], case: Case, metric: Metric) -> Vec<f64> {
    rows.iter().find(|row| row.case == case).map_or(Vec::new(), |row| each(&row.runs, metric))
}

/// Returns the reduction from `before` in per cent.
fn reduction(after: &[f64], before: &[f64]) -> Vec<f64> {
    ratio_of_means(after, before).into_iter().map(|ratio| 100.0 * (1.0 - ratio)).collect()
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let both = |mix, metric| COMPARED.map(|system| of(rows, Case::new(system, mix), metric));
    let less = |mix, metric| -> Vec<f64> {
        let [direct, scc] = both(mix, metric);
        reduction(&scc, &direct)
    };
    let shown = |mix, metric, unit: &str| {
        let [direct, scc] = both(mix, metric).map(|runs| mean(&runs));
        format!("{direct:.2} {unit} without, {scc:.2} {unit} with SCC")
    };
    let tested =
        |statement: Statement, mix, (metric, unit): (Metric, &str), compare: fn(&[f64], &[f64]) -> Vec<f64>| {
            experiments(mix).into_iter().fold(statement, |statement, (name, with, without)| {
                let [with, without] = [with, without].map(|case| of(rows, case, metric));
                let name = format!("{name}: {:.2} {unit} without, {:.2} {unit} with it", mean(&without), mean(&with));
                statement.tested(name, &compare(&with, &without))
            })
        };
    let reduced = |mix: Mix, percent: f64| {
        let statement = Statement::mean_within(
            "V",
            format!("SCC improves the AFCT of {} by {percent} %", mix.name()),
            percent / 2.0..=2.0 * percent,
            &less(mix, completion),
            shown(mix, completion, "ms"),
        );
        tested(statement, mix, (completion, "ms"), reduction)
    };
    let fewer = {
        let [direct, scc] = both(Mix::WithDeadlines, missed);
        ratio_of_means(&direct, &scc)
    };
    vec![
        tested(
            Statement::mean_within(
                "V",
                "alone, the AFCT of CS remains the same with SCC",
                -10.0..=10.0,
                &less(Mix::Alone, completion),
                shown(Mix::Alone, completion, "ms"),
            ),
            Mix::Alone,
            (completion, "ms"),
            reduction,
        ),
        reduced(Mix::WithDeadlines, 17.0),
        reduced(Mix::All, 53.0),
        tested(
            Statement::mean_within(
                "V",
                "SCC reduces the misses of DS by 2x beside CS",
                ranges::times(2.0),
                &fewer,
                shown(Mix::WithDeadlines, missed, "%"),
            ),
            Mix::WithDeadlines,
            (missed, "%"),
            |other, direct| ratio_of_means(direct, other),
        ),
        Statement::not_compared(
            "V",
            "SCC reduces the misses of DS by 1x beside CS and LS",
            shown(Mix::All, missed, "%"),
        )
        .remark("A reduction by 1x is none, or all of them."),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, metric: Metric, mixes: &[Mix]| {
        Panel::new(
            name,
            title,
            (Axis::categories("applications"), y),
            Form::Apart,
            SENDERS
                .into_iter()
                .flat_map(|senders| SYSTEMS.map(|system| (system, senders)))
                .map(|(system, senders)| Series {
                    name: format!("{}, {} each", system.name(), count(senders, "server")),
                    points: mixes
                        .iter()
                        .map(|&mix| {
                            let case = Case { senders, ..Case::new(system, mix) };
                            Point::of(mix.name(), of(rows, case, metric))
                        })
                        .filter(|point| !point.values.is_empty())
                        .collect(),
                })
                .filter(|series| !series.points.is_empty())
                .collect(),
        )
    };
    vec![
        panel("completion", "Average completion time of CS", Axis::linear("AFCT", "ms"), completion, &Mix::ALL),
        panel(
            "misses",
            "Deadlines that DS misses",
            Axis::linear("missed", "%"),
            missed,
            &[Mix::WithDeadlines, Mix::All],
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Catches a system whose ports have too few queues, and one that is not plugged in: it would have the figures of another.
    #[test]
    fn every_system_runs_and_has_its_own_figures() {
        let run = |system| one(&Simulator::default(), Case::new(system, Mix::All), Time::from_millis(100), 1).unwrap();
        let runs = SYSTEMS.map(|system| (system, run(system)));
        for (system, metrics) in &runs {
            // A flow takes at least a base round trip (0.3 ms), and one that is counted has ended within the run.
            assert!((0.3..100.0).contains(&metrics.completion), "{system:?}: {metrics:?}");
            assert!((0.0..=100.0).contains(&metrics.missed), "{system:?}: {metrics:?}");
            assert!((300.0..100_000.0).contains(&metrics.round_trip[0]), "{system:?}: {metrics:?}");
        }
        for (at, (system, metrics)) in runs.iter().enumerate() {
            for (other, others) in &runs[..at] {
                assert!(metrics.completion != others.completion, "{system:?} and {other:?}: {metrics:?}");
            }
        }
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = |missed, completion| Metrics { round_trip: [300.0, 400.0], missed, completion };
        let row = |system, mix, metrics| Row { case: Case::new(system, mix), runs: vec![metrics; 2] };
        let direct = Mix::ALL.map(|mix| row(System::Direct, mix, metrics(4.0, 10.0)));
        let scc = [(Mix::Alone, 10.0), (Mix::WithDeadlines, 8.0), (Mix::All, 5.0)]
            .map(|(mix, completion)| row(System::SccTransports, mix, metrics(2.0, completion)));
        let rows: Vec<Row> = direct.into_iter().chain(scc).collect();
        let with = |at: usize, missed: f64, completion: f64| {
            move |rows: &mut Vec<Row>| rows[at].runs.iter_mut().for_each(|run| *run = metrics(missed, completion))
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("worse alone", &with(3, 2.0, 11.1)),
                ("better alone", &with(3, 2.0, 8.9)),
                ("hardly better beside DS", &with(4, 2.0, 9.2)),
                ("much better beside DS", &with(4, 2.0, 6.5)),
                ("hardly better beside both", &with(5, 2.0, 7.4)),
                ("takes no time", &with(5, 2.0, -1.0)),
                ("more misses", &with(4, 4.1, 8.0)),
                ("no misses", &with(4, 0.9, 8.0)),
            ],
        );
    }
}
