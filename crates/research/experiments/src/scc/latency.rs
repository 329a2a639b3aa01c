//! Latency of latency-sensitive flows beside data-mining flows (VI-A): by packet, by flow, and by place.
//!
//! "SCC, improves latency of latency-sensitive flows' by up to 40%. We omit results due to space limitation." II-B names the metric of LS flows:
//! "the instantaneous end-to-end packet RTT", which includes time in SCC's tunnels. Fig. 6's statement has it. The other metrics here are ours, and their
//! statements are claims of their own.

use std::sync::Arc;

use wayleave_scenarios::Ecn;
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Time};

use super::coexist::{Case, NetworkCase, Sizes, network, notes, of_case, settings};
use super::systems::System;
use super::testbed::{FRAME, ROUND_TRIP};
use super::workloads::{Application, DeadlineFlows};
use crate::catalogue::{Entry, SCC};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-latency",
    runs: "latency",
    paper: &SCC,
    place: "VI-A",
    title: "Latency of LS beside data-mining flows, by packet, by flow and by place",
    full_runs: 5,
    full_seconds: 360,
    quick_seconds: 10,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Systems, and experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Direct,
    Scc,
    /// SCC, with LS in a higher queue.
    SccFirst,
    /// Direct coexistence, with [`MORE_MARKS`].
    DirectMoreMarks,
    /// SCC, with [`MORE_MARKS`].
    SccMoreMarks,
}

/// DCTCP's threshold at 10 Gbit/s in packets (SIGCOMM 2010), at all ports: section VI gives none, and II-B has 20 at 1 Gbit/s.
const MORE_MARKS: u64 = 65;

impl Variant {
    const ALL: [Self; 5] = [Self::Direct, Self::Scc, Self::SccFirst, Self::DirectMoreMarks, Self::SccMoreMarks];

    const fn system(self) -> System {
        match self {
            Self::Direct | Self::DirectMoreMarks => System::Direct,
            Self::Scc | Self::SccMoreMarks => System::Scc,
            Self::SccFirst => System::SccFirst,
        }
    }

    /// Returns the queue above which switches mark, where it is not that of the other figures.
    const fn marks(self) -> Option<u64> {
        match self {
            Self::DirectMoreMarks | Self::SccMoreMarks => Some(MORE_MARKS),
            Self::Direct | Self::Scc | Self::SccFirst => None,
        }
    }

    /// Returns the same network without SCC.
    const fn without(self) -> Self {
        match self.marks() {
            Some(_) => Self::DirectMoreMarks,
            None => Self::Direct,
        }
    }

    fn name(self) -> String {
        let name = self.system().name();
        self.marks().map_or(name.to_owned(), |marks| format!("{name}, marks above {marks} packets"))
    }
}

/// Largest flow of a few packets, in bytes: the end of a decade of the statistics. The text has 2 kB for "more than 80 % of
/// the flows".
const SMALL: u64 = 10_000;

/// Latencies of LS in a run, in us.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Latency {
    /// Mean round trip of its packets, from their release by the transport.
    packets: f64,
    /// The 99th percentile of these round trips.
    tail: f64,
    /// Mean part of it in tunnels of the sending host.
    tunnels: f64,
    /// Mean completion time of flows up to [`SMALL`].
    small: f64,
    /// Mean completion time of all flows.
    flows: f64,
}

stored!(Latency { packets, tail, tunnels, small, flows });

/// One variant, run with every seed.
type Row = crate::run::CaseRuns<Variant, Latency>;

impl Latency {
    fn of(outcome: &Outcome) -> Option<Self> {
        let traffic = outcome.traffic.iter().find(|traffic| traffic.name == Application::Latency.name())?;
        let us = |ps: Option<f64>| ps.map_or(f64::NAN, |ps| ps / 1e6);
        let round_trips = traffic.round_trips.as_ref()?.all();
        Some(Self {
            packets: us(round_trips.mean()),
            tail: us(round_trips.percentile(99.0).map(|ps| ps as f64)),
            // No packet has waited in a tunnel where there is none.
            tunnels: traffic.host_waits.mean().map_or(0.0, |ps| ps / 1e6),
            small: us(traffic.completions.sizes(0, SMALL).times.mean()),
            flows: us(traffic.completions.times().mean()),
        })
    }

    /// Mean round trip without the part in tunnels.
    fn network(&self) -> f64 {
        self.packets - self.tunnels
    }
}

type Metric = fn(&Latency) -> f64;

/// Metrics of latency: that of the text first.
const METRICS: [(&str, Metric); 5] = [
    ("the mean end-to-end round trip of packets", |run| run.packets),
    ("the 99th percentile of these round trips (ours)", |run| run.tail),
    ("their mean without the time in tunnels of the host (ours)", Latency::network),
    ("the mean completion time of flows up to 10 kB (ours)", |run| run.small),
    ("the mean completion time of all flows (ours)", |run| run.flows),
];

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(10_000, 500));
    let place = NetworkCase::Clos;
    let network = Arc::new(network(place, run)?);
    let rows = run.rows(&format!("{}, {duration}", ENTRY.id), Variant::ALL.to_vec(), &seeds, |&variant, seed| {
        let (applications, deadlines) = (Application::ALL.to_vec(), DeadlineFlows::SmallMessages);
        let case = Case { place, system: variant.system(), sizes: Sizes::DataMining, applications, deadlines };
        let mut scenario = of_case(&case, &network, duration)?;
        if let Some(marks) = variant.marks() {
            scenario.switches.ecn = Ecn::above(Bytes::new(marks * FRAME.get())).into();
        }
        Latency::of(&run.simulator().run(&scenario, seed)?)
            .ok_or_else(|| Failed::Broken("a run without the traffic of LS".to_owned()))
    })?;
    let notes = notes().into_iter().chain([format!(
        "The applications of Fig. 6 for {} s instead of 100 s: the mean over packets is that of the longest flows, and most flows have a few packets. \
         Round trips begin when the transport releases a packet, so that time in SCC's tunnels is a part of them.",
        duration.as_nanos() / 1_000_000_000
    )]);
    let figure = Figure {
        statements: statements(&rows),
        panels: panels(&rows),
        seeds,
        notes: notes.collect(),
        ..Figure::default()
    };
    Ok(settings(figure, run, place)
        .with("time", format!("{} ms, of which the first tenth does not count", duration.as_nanos() / 1_000_000)))
}

fn each(rows: &[Row], variant: Variant, metric: Metric) -> Vec<f64> {
    rows.iter().find(|row| row.case == variant).map_or(Vec::new(), |row| row.runs.iter().map(metric).collect())
}

/// Returns by how many per cent a variant reduces a metric.
fn reduced(rows: &[Row], variant: Variant, metric: Metric) -> Vec<f64> {
    let part = ratio_of_means(&each(rows, variant, metric), &each(rows, variant.without(), metric));
    part.into_iter().map(|part| 100.0 * (1.0 - part)).collect()
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let base = ROUND_TRIP.as_nanos() as f64 / 1e3;
    let direct = mean(&each(rows, Variant::Direct, |run| run.packets));
    let least = format!(
        "A full packet takes {base:.0} us without queues, so that {:.0} % less is the most that any system can save of its round trip here.",
        100.0 * (1.0 - base / direct)
    );
    let statement = |(name, metric): (&str, Metric)| {
        let means = |variant: Variant| {
            let [without, with] = [variant.without(), variant].map(|variant| mean(&each(rows, variant, metric)));
            format!("{with:.0} us with SCC, {without:.0} us without")
        };
        let found = reduced(rows, Variant::Scc, metric);
        let measured = format!("{:.0} %: {}", mean(&found), means(Variant::Scc));
        let claim = format!("with data-mining flows SCC reduces the latency of LS flows by up to 40 %: {name}");
        let statement = Statement::mean_within("VI-A", claim, 20.0..=80.0, &found, measured);
        let experiments = [Variant::SccFirst, Variant::SccMoreMarks];
        experiments.into_iter().fold(statement.remark(least.as_str()), |statement, variant| {
            statement.tested(format!("{}: {}.", variant.name(), means(variant)), &reduced(rows, variant, metric))
        })
    };
    METRICS.map(statement).to_vec()
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let series = |variant: Variant| Series {
        name: variant.name(),
        points: METRICS.map(|(name, metric)| Point::of(name, each(rows, variant, metric))).to_vec(),
    };
    vec![Panel::new(
        "latency",
        "Latency of LS",
        (Axis::categories("measured"), Axis::logarithmic("mean", "us")),
        Form::Apart,
        Variant::ALL.map(series).to_vec(),
    )]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let latency = |us: f64| Latency { packets: 2.0 * us, tail: us, tunnels: us, small: us, flows: us };
        let of = |variant: Variant| if variant.system() == System::Direct { 1_000.0 } else { 600.0 };
        let rows = Variant::ALL.map(|case| Row { case, runs: vec![latency(of(case)); 2] }).to_vec();
        let set = |us| {
            move |rows: &mut Vec<Row>| {
                rows.iter_mut().filter(|row| row.case == Variant::Scc).for_each(|row| row.runs.fill(latency(us)));
            }
        };
        let (hardly, far) = (set(900.0), set(100.0));
        assert_each_can_change(&rows, |rows| statements(rows), &[("hardly less", &hardly), ("far less", &far)]);
    }
}
