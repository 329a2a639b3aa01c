//! Fig. 12: two receivers behind one congested link, whose machine shapers only receive marks (6.1).

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Buffering, FlowEndpoints, PacketKind, Scenario, SharingChange, SharingEvent, Traffic};
use wayleave_topology::NodeId;
use wayleave_topology::builders::{LeafSpine, build};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{
    FRAME, MarkFeedback, RELEASED, ROUNDS, System, THRESHOLD, cabling, curves, endless, free, mean_between, policy,
    scenario, service, testbed, throughput,
};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{Summary, mean};

/// Times when the second service begins, when T becomes 1 ms, and of the end, in seconds. The paper has 40, 60 and
/// 80; nothing happens in the first 40.
const PHASES: [[f64; 3]; 2] = [[0.5, 5.5, 10.5], [0.2, 1.0, 1.8]];
const SLOW: Time = Time::from_millis(1);
/// Part of the beginning of each phase that is left out, relative to the phase.
const SETTLING: f64 = 0.25;
/// "Jain's Fairness Index is 0.99", to its digits; below that shares are less fair than those that the text calls almost equal.
const FAIR: f64 = 0.985;
/// 9 MB in 48 equal parts.
const SMALL: Bytes = Bytes::new(187_000);

/// A reading of points that the text leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    hearing: MarkFeedback,
    load: Load,
    /// Buffer of a queue; as in the other figures if absent.
    buffer: Option<Bytes>,
}

/// Traffic of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// One TCP flow of A, and this number of flows of B.
    Tcp(usize),
    /// Packets at line rate without acknowledgements.
    Udp,
}

const fn reading(hearing: MarkFeedback, load: Load, buffer: Option<Bytes>) -> Reading {
    Reading { hearing, load, buffer }
}

const READINGS: [Reading; 10] = [
    reading(MarkFeedback::Printed, Load::Tcp(1), None),
    reading(RELEASED, Load::Tcp(1), None),
    reading(THRESHOLD, Load::Tcp(1), None),
    reading(MarkFeedback::Printed, Load::Tcp(8), None),
    reading(RELEASED, Load::Tcp(8), None),
    reading(MarkFeedback::Printed, Load::Tcp(1), Some(SMALL)),
    reading(RELEASED, Load::Tcp(1), Some(SMALL)),
    reading(THRESHOLD, Load::Tcp(1), Some(SMALL)),
    reading(MarkFeedback::Printed, Load::Udp, None),
    reading(RELEASED, Load::Udp, None),
];

impl Reading {
    fn name(self) -> String {
        let load = match self.load {
            Load::Tcp(1) => "one TCP flow each".to_owned(),
            Load::Tcp(flows) => format!("one TCP flow of A, {flows} of B"),
            Load::Udp => "UDP".to_owned(),
        };
        let buffer = self.buffer.map_or("4.5 MB".to_owned(), |buffer| format!("{} kB", buffer.get() / 1_000));
        format!("{}; {load}; {buffer} a port", self.hearing.name())
    }
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    phases: [f64; 3],
    rows: Vec<Row>,
}

/// All runs of a reading.
#[derive(Clone, Debug)]
struct Row {
    reading: Reading,
    runs: Vec<Seen>,
}

/// A run: traffic received by A and B in Gbit/s at times in seconds, and number of lost packets.
#[derive(Clone, Debug)]
struct Seen {
    rates: [Vec<(f64, f64)>; 2],
    lost: u64,
}

stored!(Seen { rates, lost });

impl Seen {
    /// Jain's index, the mean over the intervals between two times.
    fn index(&self, from: f64, to: f64) -> f64 {
        let from = from + SETTLING * (to - from);
        let both = self.rates[0].iter().zip(&self.rates[1]).filter(|((at, _), _)| (from..to).contains(at));
        mean(&both.map(|((_, one), (_, other))| jain(&[*one, *other])).collect::<Vec<f64>>())
    }

    /// Returns the traffic that both receive together between two times.
    fn total(&self, from: f64, to: f64) -> f64 {
        self.rates.iter().map(|rate| mean_between(rate, from + SETTLING * (to - from), to)).sum()
    }
}

impl Data {
    /// With T of 200 us, and of 1 ms.
    fn indices(&self, row: &Row) -> [Vec<f64>; 2] {
        [0, 1].map(|phase| row.runs.iter().map(|run| run.index(self.phases[phase], self.phases[phase + 1])).collect())
    }

    fn totals(&self, row: &Row) -> [f64; 2] {
        [0, 1].map(|phase| {
            mean(&row.runs.iter().map(|run| run.total(self.phases[phase], self.phases[phase + 1])).collect::<Vec<_>>())
        })
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let (seeds, phases) = (run.seeds(3, 1), run.choose(PHASES[0], PHASES[1]));
    let seen = run.gather(&format!("parley-fig12, {phases:?}"), (&READINGS, &seeds), |&reading, seed| {
        let outcome = run.simulator().run(&two_services(reading, phases, seed)?, seed)?;
        let lost = outcome.queues.iter().map(|queue| queue.counts.drops).sum();
        Ok(Seen { rates: [throughput(&outcome, 0), throughput(&outcome, 1)], lost })
    })?;
    let rows = READINGS.into_iter().zip(seen).map(|(reading, runs)| Row { reading, runs }).collect();
    let data = Data { phases, rows };
    let figure = Figure {
        statements: statements(&data),
        panels: data.rows.iter().map(panel).collect(),
        tables: vec![table(&data)],
        notes: notes(),
        seeds,
        ..Figure::default()
    };
    Ok(testbed(figure)
        .with("network", "racks of Fig. 11 with one link between the receiving rack and the spine, 10 Gbit/s")
        .with(
            "traffic",
            format!(
                "long flows of A; of B from {} s on, a random part of 100 ms later; T is 200 us, from {} s on 1 ms, until {} s",
                phases[0], phases[1], phases[2]
            ),
        )
        .with("index", "Jain's fairness index of what A and B receive, the mean over intervals of 100 ms, after a quarter of the phase to settle"))
}

fn statements(data: &Data) -> Vec<Statement> {
    let cause = cause(data);
    data.rows
        .iter()
        .flat_map(|row| {
            let ([fast, slow], name) = (data.indices(row), row.reading.name());
            let almost = Statement::mean_within(
                "6.1",
                "with T = 200 us the link is shared almost equally: Jain's index is 0.99",
                FAIR..=f64::INFINITY,
                &fast,
                text(data, row),
            );
            let (claim_text, range) = match row.reading.load {
                Load::Tcp(_) => ("with T = 1 ms the machine shaper is too slow to guarantee fair shares", 0.0..=FAIR),
                Load::Udp => ("with UDP in place of TCP a reaction time of 1 ms is sufficient", FAIR..=f64::INFINITY),
            };
            let later = Statement::mean_within("6.1", claim_text, range, &slow, text(data, row));
            [almost, later].map(|statement| statement.reading(name.as_str()).supposed(cause.clone()))
        })
        .collect()
}

/// Returns the common conclusion of the readings.
fn cause(data: &Data) -> String {
    let tcp = || data.rows.iter().filter(|row| row.reading.load != Load::Udp);
    let as_printed = |row: &&Row| {
        let [fast, slow] = data.indices(row).map(|index| mean(&index));
        fast >= FAIR && slow < FAIR
    };
    let both: Vec<String> = tcp().filter(as_printed).map(|row| row.reading.name()).collect();
    let both = if both.is_empty() { "none of them".to_owned() } else { both.join(" | ") };
    let kept = || tcp().filter(|row| row.runs.iter().all(|run| run.lost == 0));
    let fair = kept().filter(|row| mean(&data.indices(row)[1]) >= FAIR).count();
    format!(
        "What the text leaves open: the form of marks, what a port can hold, how many flows there are. The table of readings changes one at a time. Both \
         statements about TCP agree with {both}. Where nothing is lost TCP does not back off: {fair} of {} such readings are fair with 1 ms.",
        kept().count()
    )
}

/// Both indices of a reading.
fn text(data: &Data, row: &Row) -> String {
    let [fast, slow] = data.indices(row).map(|index| Summary::of_runs(&index));
    format!("index {:.3} and {:.3}", fast.mean, slow.mean)
}

fn table(data: &Data) -> Table {
    let columns =
        ["reading", "index, 200 us (0.99)", "index, 1 ms", "together, 200 us", "together, 1 ms", "packets lost"];
    let rows = data.rows.iter().map(|row| {
        let indices = data.indices(row).map(|index| {
            let Summary { mean, ci95, .. } = Summary::of_runs(&index);
            ci95.map_or(format!("{mean:.3}"), |[low, high]| format!("{mean:.3} ({low:.3} to {high:.3})"))
        });
        let totals = data.totals(row).map(|total| format!("{total:.2} Gbit/s"));
        let lost: u64 = row.runs.iter().map(|run| run.lost).sum();
        [row.reading.name()].into_iter().chain(indices).chain(totals).chain([lost.to_string()]).collect()
    });
    Table {
        name: "readings".to_owned(),
        title: "Fairness by the form of marks, the buffer and the transport, with 95 % confidence intervals".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn panel(row: &Row) -> Panel {
    let runs: Vec<_> = row.runs.iter().map(|run| &run.rates).collect();
    let name = row.reading.name();
    Panel::new(
        name.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("-"),
        name,
        (Axis::linear("time", "s"), Axis::linear("received", "Gbit/s")),
        Form::Joined,
        curves(&runs),
    )
}

fn notes() -> Vec<String> {
    [
        "Marks have two forms: the equation as section 3.2.1 prints it, and the one that EyeQ's released program compiles, which counts an interval \
         with marks as if K to 2 K more bytes had arrived. K is 45 kB in the program; 80 kB is the switches' threshold of Table 1. Each row says its form.",
        "The text says that TCP backs off as well, so something was lost; how much a port could hold it does not say. Of the 9 MB that a switch \
         shares in all figures one port alone may hold 4.5 MB; 187 kB are 9 MB in 48 equal parts.",
        "UDP: both senders offer 10 Gbit/s, each packet delayed by up to its own length, since equal constant rates that meet at a port keep their \
         order for ever, and one of them is always the one that finds the queue full.",
        "Phases are 0.5, 5 and 5 s (0.2, 0.8 and 0.8 s with --quick) in place of 40, 20 and 20.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Senders under two racks, receivers under the third.
fn two_services(reading: Reading, phases: [f64; 3], seed: u64) -> Result<Scenario, Failed> {
    let fabric =
        LeafSpine { leaves: 3, spines: 1, hosts_per_leaf: 2, parallel: 1, uplink_rate: None, cabling: cabling(4) };
    let network = Arc::new(build::leaf_spine(&fabric).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let services = || vec![service("A", 7001, free()), service("B", 7002, free())];
    let machine = policy(&network, PolicyLevel::Machine, None, services())?;
    let rack = policy(&network, PolicyLevel::Rack, None, services())?;
    let seconds = |seconds: f64| Time::from_nanos((seconds * 1e9) as u64);
    let mut run = scenario("fig. 12", network, seconds(phases[2]));
    if let Some(buffer) = reading.buffer {
        run.switches.buffering = Buffering::EachQueue(buffer);
    }
    System::Eyeq(reading.hearing).share(&mut run, machine, rack, Time::from_micros(200), ROUNDS[0]);
    if let Some(sharing) = &mut run.sharing {
        sharing.events.push(SharingEvent { at: seconds(phases[1]), what: SharingChange::Interval(SLOW) });
    }
    run.record.series = Some(Time::from_millis(100));
    let mut second = sent(reading.load, "B", (hosts[2], hosts[5]));
    // Runs differ in where the one service meets the sawtooth of the other.
    second.start = seconds(phases[0] + ChaCha8Rng::seed_from_u64(seed).random_range(0.0..0.1));
    let one = if reading.load == Load::Udp { Load::Udp } else { Load::Tcp(1) };
    run.traffic = vec![sent(one, "A", (hosts[0], hosts[4])), second];
    Ok(run)
}

fn sent(load: Load, name: &str, ends: (NodeId, NodeId)) -> Traffic {
    match load {
        Load::Tcp(flows) => endless(name, FlowEndpoints::Pairs(vec![ends; flows])),
        Load::Udp => {
            let rate = Rate::from_gbit(10);
            let kind = PacketKind::Jittered { rate, jitter: Time::from_nanos(FRAME.get() * 8 / 10) };
            let mut traffic = Traffic::packets(name, FlowEndpoints::Pairs(vec![ends]), kind, FRAME);
            traffic.service = Some(name.to_owned());
            traffic
        }
    }
}

/// Jain's fairness index: 1 if all are alike, 1/n if one has everything.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    sum * sum / (rates.len() as f64 * squares)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    fn the_index_is_one_for_equals_and_one_half_for_one_of_two() {
        assert_eq!((jain(&[3.0, 3.0]), jain(&[5.0, 0.0])), (1.0, 0.5));
    }

    /// Returns observations with 4 Gbit/s for A, and for B the given rates with 200 us and with 1 ms.
    fn seen(fast: f64, slow: f64) -> Seen {
        let times = || (0..18).map(|tenth| f64::from(tenth) / 10.0 + 0.05);
        let other = times().map(|at| (at, if at < PHASES[1][1] { fast } else { slow })).collect();
        Seen { rates: [times().map(|at| (at, 4.0)).collect(), other], lost: 3 }
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |reading, slow| Row { reading, runs: vec![seen(4.0, slow), seen(4.1, slow)] };
        let data = Data { phases: PHASES[1], rows: vec![row(READINGS[0], 2.0), row(READINGS[8], 4.1)] };
        let shape = |row: usize, fast: f64, slow: f64| {
            move |data: &mut Data| data.rows[row].runs.iter_mut().for_each(|run| *run = seen(fast, slow))
        };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("unfair with 200 us", &shape(0, 2.0, 2.0)),
                ("nothing is received", &|data: &mut Data| data.rows[0].runs.clear()),
                ("fair with 1 ms", &shape(0, 4.0, 4.1)),
                ("UDP unfair", &shape(1, 4.0, 2.0)),
                ("UDP unfair with 200 us", &shape(1, 2.0, 4.0)),
                ("no UDP is received", &|data: &mut Data| data.rows[1].runs.clear()),
            ],
        );
    }
}
