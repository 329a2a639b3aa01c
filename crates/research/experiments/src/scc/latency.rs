//! Latency of latency-sensitive flows beside data-mining flows (VI-A): by packet, by flow, and by place.
//!
//! "SCC, improves latency of latency-sensitive flows' by up to 40%. We omit results due to space limitation." The text does
//! not state whose latency this is, nor where it is measured.

use std::sync::Arc;

use wayleave_sim::Outcome;
use wayleave_units::Time;

use super::coexist::{Case, NetworkCase, Sizes, network, notes, outcome, settings};
use super::systems::System;
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
    full_seconds: 900,
    quick_seconds: 10,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SYSTEMS: [System; 3] = [System::Direct, System::Scc, System::SccFirst];

/// Largest flow of a few packets, in bytes: the end of a decade of the statistics. The text has 2 kB for "more than 80 % of
/// the flows".
const SMALL: u64 = 10_000;

/// Latencies of LS in a run, in us.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Latency {
    /// Mean round trip of its packets, from their release by the transport.
    packets: f64,
    /// Mean part of it in tunnels of the sending host.
    tunnels: f64,
    /// Mean completion time of flows up to [`SMALL`].
    small: f64,
    /// Mean completion time of all flows.
    flows: f64,
}

stored!(Latency { packets, tunnels, small, flows });

/// One system, run with every seed.
type Row = crate::run::CaseRuns<System, Latency>;

impl Latency {
    fn of(outcome: &Outcome) -> Option<Self> {
        let traffic = outcome.traffic.iter().find(|traffic| traffic.name == Application::Latency.name())?;
        let us = |ps: Option<f64>| ps.map_or(f64::NAN, |ps| ps / 1e6);
        Some(Self {
            packets: us(traffic.round_trips.as_ref()?.all().mean()),
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

/// Readings of "latency of latency-sensitive flows".
const READINGS: [(&str, Metric); 4] = [
    ("round trips of all packets", |run| run.packets),
    ("round trips of all packets, without their time in tunnels of the host", Latency::network),
    ("completion times of flows up to 10 kB", |run| run.small),
    ("completion times of all flows", |run| run.flows),
];

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(10_000, 500));
    let place = NetworkCase::Clos;
    let network = Arc::new(network(place, run)?);
    let rows = run.rows(&format!("{}, {duration}", ENTRY.id), SYSTEMS.to_vec(), &seeds, |&system, seed| {
        let (applications, deadlines) = (Application::ALL.to_vec(), DeadlineFlows::SmallMessages);
        let case = Case { place, system, sizes: Sizes::DataMining, applications, deadlines };
        Latency::of(&outcome(&case, &network, duration, seed)?)
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

fn each(rows: &[Row], system: System, metric: Metric) -> Vec<f64> {
    rows.iter().find(|row| row.case == system).map_or(Vec::new(), |row| row.runs.iter().map(metric).collect())
}

/// Returns by how many per cent a system reduces a metric.
fn reduced(rows: &[Row], system: System, metric: Metric) -> Vec<f64> {
    let part = ratio_of_means(&each(rows, system, metric), &each(rows, System::Direct, metric));
    part.into_iter().map(|part| 100.0 * (1.0 - part)).collect()
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let statement = |(reading, metric): (&str, Metric)| {
        let found = reduced(rows, System::Scc, metric);
        let [direct, scc, first] = SYSTEMS.map(|system| mean(&each(rows, system, metric)));
        let measured = format!("{:.0} %: {scc:.0} us with SCC, {direct:.0} us without", mean(&found));
        let claim = "with data-mining flows SCC reduces the latency of LS flows by up to 40 %";
        Statement::mean_within("VI-A", claim, 20.0..=80.0, &found, measured)
            .reading(reading)
            .tested(format!("{}: {first:.0} us.", System::SccFirst.name()), &reduced(rows, System::SccFirst, metric))
    };
    READINGS.map(statement).to_vec()
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let series = |system: System| Series {
        name: system.name().to_owned(),
        points: READINGS.map(|(reading, metric)| Point::of(reading, each(rows, system, metric))).to_vec(),
    };
    vec![Panel::new(
        "latency",
        "Latency of LS",
        (Axis::categories("measured"), Axis::logarithmic("mean", "us")),
        Form::Apart,
        SYSTEMS.map(series).to_vec(),
    )]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let latency = |us: f64| Latency { packets: 2.0 * us, tunnels: us, small: us, flows: us };
        let of = |system| if system == System::Direct { 1_000.0 } else { 600.0 };
        let rows = SYSTEMS.map(|case| Row { case, runs: vec![latency(of(case)); 2] }).to_vec();
        let set = |us| {
            move |rows: &mut Vec<Row>| {
                rows.iter_mut().filter(|row| row.case == System::Scc).for_each(|row| row.runs.fill(latency(us)));
            }
        };
        let (hardly, far) = (set(900.0), set(100.0));
        assert_each_can_change(&rows, |rows| statements(rows), &[("hardly less", &hardly), ("far less", &far)]);
    }
}
