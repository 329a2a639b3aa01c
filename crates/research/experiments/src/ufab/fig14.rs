//! Fig. 14: the tasks of elastic block storage beside each other (section 5.3).

use wayleave_scenarios::{Buffering, DependentFlows, FlowArrivals, FlowEndpoints, FlowSizes, Onward, Reliable};
use wayleave_sim::Outcome;
use wayleave_sim::stats::Histogram;
use wayleave_units::{Bytes, Rate, Time};

use super::readings::listed;
use super::systems::{MTU, System};
use super::testbed::{Tenant, drained, flows, network, scenario, servers, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Band, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig14",
    runs: "block storage",
    paper: &UFAB,
    place: "Fig. 14",
    title: "Completion times of the tasks of block storage",
    full_runs: 5,
    full_seconds: 260,
    quick_seconds: 6,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "SA sends a 64KB message to a random BA every 320us" (5.3).
const MESSAGE: Bytes = Bytes::new(64_000);
const WRITES: Time = Time::from_micros(320);
/// "BA replicates the received data to three CS" (5.3).
const REPLICAS: u32 = 3;
/// "GC reads data from a random CS every 1ms" (5.3).
const COLLECTIONS: Time = Time::from_millis(1);
/// Size of a request for data. Our choice.
const ASK: Bytes = Bytes::new(200);
/// Amount that garbage collection reads, which the text does not state: the first is used, the others show its
/// influence. It writes half of this amount back.
const READS: [Bytes; 3] = [Bytes::new(64_000), Bytes::new(32_000), Bytes::new(128_000)];
/// Rates at which the storage hosts take packets from the network in Gbit/s, which is below their lines if processing or PCIe holds them
/// back (2.1). They receive 7.3 Gbit/s on average, and their minima are 9 Gbit/s.
const DRAINS: [u64; 1] = [9];
/// Longest queues in packets: virtio's default ring, and a quarter of it. With the shared buffer no packet is lost.
const RINGS: [u64; 2] = [256, 64];
/// The least time-out of TCP in Linux guests (`TCP_RTO_MIN`). Other runs have 10 ms.
const TIMEOUT: Time = Time::from_millis(200);
/// Minima of SA, BA and GC in Gbit/s (5.3).
const MINIMA: [(&str, u64); 3] = [("sa", 2), ("ba", 6), ("gc", 1)];
/// Requirement of storage, "converted to 2ms on average and 10ms at tails" (5.3).
const MEAN_MS: f64 = 2.0;
const TAIL_MS: f64 = 10.0;
/// Percentiles of the tail, in per cent: the text does not state which one it has. The first is used, the other is an experiment.
const TAILS: [f64; 2] = [99.0, 99.9];
/// Ratios that were measured on hardware are met within a factor of two; the text prints no interval.
const FACTOR: f64 = 2.0;

const SYSTEMS: [System; 6] =
    [System::Ufab, System::Unbounded, System::Pwc, System::Elastic, System::PwcCubic, System::ElasticCubic];

/// uFAB in other readings, as experiments.
const FORMS: [System; 5] = [System::Hasty, System::Probed, System::AllPaths, System::Printed, System::Sparse];

/// Alternatives that take long to divide rates, or do not exceed minima: "converges slowly (tens of milliseconds)" (2.2).
const SLOW: [System; 5] =
    [System::PwcSlow, System::PwcGradual, System::PwcStiff, System::ElasticSlow, System::ElasticMinima];

/// Alternatives whose pairs change their paths less often: after the gap that the text names (2.2), and never.
const PATHS: [System; 4] = [System::PwcRecommended, System::PwcFixed, System::ElasticRecommended, System::ElasticFixed];

/// Tasks, as the figure names them. `Total` is from the beginning of a write to its last replica.
const TASKS: [&str; 4] = ["SA", "BA", "GC", "total"];

/// One run: the mean and the tails of each task in ms, and the number of started writes that were stored.
#[derive(Clone, Copy, Debug)]
struct Case {
    times: [[f64; 3]; 4],
    stored: f64,
}

stored!(Case { times, stored });

/// Values that the text does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unstated {
    read: Bytes,
    /// Rate of the storage hosts in Gbit/s; none for that of the line.
    drain: Option<u64>,
    /// Longest queue in full packets, beside time-outs of guests' TCP; none for the switches' shared buffer.
    ring: Option<u64>,
}

const USUAL: Unstated = Unstated { read: READS[0], drain: None, ring: None };

impl Unstated {
    fn name(self) -> String {
        let read = format!("garbage collection reads {} kB", self.read.get() / 1_000);
        let ring = |packets| {
            format!("queues of {packets} packets, time-outs of {} ms or more", TIMEOUT.as_nanos() / 1_000_000)
        };
        let drain = |gbit| format!("storage hosts take {gbit} Gbit/s from lines of 10");
        self.drain.map(drain).or(self.ring.map(ring)).unwrap_or(read)
    }
}

/// One system.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    unstated: Unstated,
    cases: Vec<Case>,
}

impl Row {
    fn each(&self, task: usize, at: usize) -> Vec<f64> {
        self.cases.iter().map(|case| case.times[task][at]).collect()
    }
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(200, 40));
    let reads = run.choose(&READS[..], &READS[..1]);
    let drains = run.choose(&DRAINS[..], &[]);
    let by_read = reads.iter().map(|&read| Unstated { read, ..USUAL });
    let unstated = by_read.chain(drains.iter().map(|&drain| Unstated { drain: Some(drain), ..USUAL }));
    let rings = run.choose(&RINGS[..], &[]).iter().map(|&ring| Unstated { ring: Some(ring), ..USUAL });
    let unstated = unstated.chain(rings);
    let others =
        run.choose([&SLOW[..], &PATHS[..], &FORMS[..]].concat(), Vec::new()).into_iter().map(|system| (system, USUAL));
    let cases: Vec<_> = unstated.flat_map(|unstated| SYSTEMS.map(|system| (system, unstated))).chain(others).collect();
    let figure = format!("{}, {duration}", ENTRY.id);
    let found = run.gather(&figure, (&cases, &seeds), |&(system, unstated), seed| {
        case(run.simulator(), system, unstated, duration, seed)
    })?;
    let row = |((system, unstated), cases)| Row { system, unstated, cases };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let figure = Figure {
        statements: statements(&rows),
        panels: vec![panel(&rows, 0), panel(&rows, 1)],
        tables: vec![table(&rows)],
        seeds,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("tasks", "SA at S1 to S4 writes 64 kB to a BA drawn of S5 to S8 every 320 us; BA sends it to three CS at the other hosts; GC at S5 to S8 reads from a CS that is drawn every 1 ms, and writes half of it back")
        .with("minima", "SA 2, BA 6, GC 1 Gbit/s at each of its hosts")
        .with("time", format!("{} ms after 10 ms of warm-up; five times as long with limited queues", duration.as_nanos() / 1_000_000)))
}

const NOTES: [&str; 5] = [
    "Queues of 256 or 64 packets with time-outs of 200 ms show whether lost packets could explain the tails of the text.",
    "A host that takes less than its line carries is modelled by the rate of its last link: packets wait at the last switch, whose telemetry uFAB reads. In a host they would wait unseen.",
    "The text does not say how much garbage collection reads. It is 64 kB, of which half is written back; the table has 32 kB and 128 kB as well.",
    "The tail is the 99 % percentile; the text does not say which one it means. Hosts begin at random times within a period.",
    "Whatever is not complete at the end has no time. The table shows how many of all writes were stored.",
];

fn case(
    simulator: &Simulator,
    system: System,
    Unstated { read, drain, ring }: Unstated,
    duration: Time,
    seed: u64,
) -> Result<Case, Failed> {
    // A write that waits for a time-out has to be complete before the end.
    let duration = if ring.is_some() { duration * 5 } else { duration };
    let network = network(Rate::from_gbit(10))?;
    let servers = servers(&network);
    let (agents, stores) = servers.split_at(servers.len() / 2);
    let network = drain.map_or(Ok(network.clone()), |gbit| drained(&network, stores, Rate::from_gbit(gbit)))?;
    let tenants: Vec<Tenant> = MINIMA
        .iter()
        .map(|&(name, min)| Tenant {
            name: name.to_owned(),
            min: Rate::from_gbit(min),
            hosts: if name == "sa" { servers.clone() } else { stores.to_vec() },
        })
        .collect();
    let warmup = Time::from_millis(10);
    let mut run = scenario("block storage", &network, system, &tenants, (warmup + duration, Time::from_millis(1)))?;
    run.warmup = warmup;
    if let Some(packets) = ring {
        run.switches.buffering = Buffering::EachQueue(MTU * packets);
        run.transport.min_timeout = TIMEOUT;
    }
    let among = || FlowEndpoints::Random(stores.to_vec(), stores.to_vec());
    let every = |period, size| Reliable::new(FlowArrivals::Periodic(period), Some(FlowSizes::Fixed(size)));
    let after = |traffic: &str, to, size: Option<Bytes>| {
        Reliable::new(
            FlowArrivals::After(DependentFlows { traffic: traffic.to_owned(), to }),
            size.map(FlowSizes::Fixed),
        )
    };
    let half = Bytes::new(read.get() / 2);
    let named = |name: &str, mut traffic: wayleave_scenarios::Traffic| {
        traffic.name = name.to_owned();
        traffic
    };
    run.traffic = vec![
        named("write", flows("sa", FlowEndpoints::Random(agents.to_vec(), stores.to_vec()), every(WRITES, MESSAGE))),
        named("replicate", flows("ba", among(), after("write", Onward::Drawn(REPLICAS), None))),
        named("ask", flows("gc", among(), every(COLLECTIONS, ASK))),
        named("read", flows("gc", among(), after("ask", Onward::Sender, Some(read)))),
        named("write-back", flows("gc", among(), after("read", Onward::Sender, Some(half)))),
    ];
    Ok(case_of(&simulator.run(&run, seed)?))
}

fn case_of(outcome: &Outcome) -> Case {
    let ms = |times: &Histogram| {
        let [tail, far] = TAILS.map(|tail| times.percentile(tail).map(|ps| ps as f64));
        [times.mean(), tail, far].map(|ps| ps.map_or(f64::NAN, |ps| ps / 1e9))
    };
    let [write, replicate, _, _, back] = [0, 1, 2, 3, 4].map(|at| &outcome.traffic[at]);
    let stored = replicate.completions.finished() as f64;
    let begun = stored + (replicate.completions.unfinished() + write.completions.unfinished()) as f64;
    Case {
        times: [
            ms(&write.completions.times()),
            ms(&replicate.completions.times()),
            ms(&back.chains),
            ms(&replicate.chains),
        ],
        stored: 100.0 * stored / begun,
    }
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let times = |(system, unstated): (System, Unstated), task: usize, at: usize| -> Vec<f64> {
        let of = rows.iter().find(|row| row.system == system && row.unstated == unstated);
        of.map(|row| row.each(task, at)).unwrap_or_default()
    };
    let total = TASKS.len() - 1;
    let mut unstated: Vec<Unstated> = Vec::new();
    for row in rows {
        if !unstated.contains(&row.unstated) {
            unstated.push(row.unstated);
        }
    }
    let within = |claim_text: &str, at: usize, most: f64, what: &str| -> Vec<Statement> {
        let of = |&unstated: &Unstated| {
            let values = times((System::Ufab, unstated), total, at);
            let measured = format!("{} ms{what}", listed(&values, 2));
            Statement::mean_within("5.3, Fig. 14", claim_text, 0.0..=most, &values, measured).reading(unstated.name())
        };
        unstated.iter().map(of).collect()
    };
    let mut statements = within("uFAB completes I/O operations within 2 ms on average", 0, MEAN_MS, "");
    statements.extend(within("and within 10 ms at the tail", 1, TAIL_MS, " for 99 %"));
    for (system, ratio, at) in [(System::Pwc, 4.8, 0), (System::Pwc, 21.0, 1), (System::Elastic, 33.0, 1)] {
        let compare = |system, unstated| {
            ratio_of_means(&times((system, unstated), total, at), &times((System::Ufab, unstated), total, at))
        };
        let [theirs, ours] = [system, System::Ufab].map(|system| times((system, USUAL), total, at));
        let statement = shorter(system, (ratio, at), &theirs, &ours)
            .ruled_out(["other parameters of the alternatives (docs/theory/sharing.md)"]);
        let statement = if at == 1 {
            let [theirs, ours] = [system, System::Ufab].map(|system| times((system, USUAL), total, 2));
            let ratios = ratio_of_means(&theirs, &ours);
            statement.tested(format!("the {} % percentile: {:.1} times", TAILS[1], mean(&ratios)), &ratios)
        } else {
            statement
        };
        let forms = FORMS.into_iter().filter(|form| rows.iter().any(|row| row.system == *form));
        let statement = forms.fold(statement, |statement, form| {
            let [theirs, ours] = [system, form].map(|system| times((system, USUAL), total, at));
            let ratios = ratio_of_means(&theirs, &ours);
            statement.tested(format!("{}: {:.1} times", form.name(), mean(&ratios)), &ratios)
        });
        let cubic = if system == System::Pwc { System::PwcCubic } else { System::ElasticCubic };
        let is_of_system = |slow: &System| slow.name().starts_with(system.name());
        let is_run = |slow: &System| rows.iter().any(|row| row.system == *slow);
        let slow = SLOW
            .into_iter()
            .chain(PATHS)
            .filter(|slow| is_of_system(slow) && is_run(slow))
            .map(|system| (system, USUAL));
        let experiments = unstated.iter().flat_map(|&unstated| [(system, unstated), (cubic, unstated)]).chain(slow);
        let others = experiments.filter(|&experiment| experiment != (system, USUAL));
        statements.push(others.fold(statement, |statement, (system, unstated)| {
            let ratios = compare(system, unstated);
            let name = format!("{}, {}: {:.1} times", system.name(), unstated.name(), mean(&ratios));
            statement.tested(name, &ratios)
        }));
    }
    statements
}

/// Returns the statement that the mean or the tail of the whole is shorter than that of another system by a factor.
fn shorter(than: System, (times, at): (f64, usize), others: &[f64], ours: &[f64]) -> Statement {
    let ratios = ratio_of_means(others, ours);
    let claim_text = if at == 0 {
        format!("uFAB decreases the storing time {times} times on average, compared to {}", than.name())
    } else {
        format!("uFAB's tail of the total time is {times:.0} times shorter than that of {}", than.name())
    };
    let section = if at == 0 { "section 1" } else { "5.3, Fig. 14" };
    let measured = format!("{:.1} times: {} ms against {} ms", mean(&ratios), listed(others, 2), listed(ours, 2));
    Statement::mean_within(section, claim_text, times / FACTOR..=times * FACTOR, &ratios, measured)
}

fn panel(rows: &[Row], at: usize) -> Panel {
    let (name, most) = [("mean", MEAN_MS), ("tail", TAIL_MS)][at];
    // Experiments are in the table.
    let shown = rows.iter().filter(|row| row.unstated == USUAL && SYSTEMS.contains(&row.system));
    let series = shown.map(|row| Series {
        name: row.system.name().to_owned(),
        points: TASKS.iter().enumerate().map(|(task, name)| Point::of(*name, row.each(task, at))).collect(),
    });
    let axes = (Axis::categories("task"), Axis::logarithmic("completion time", "ms"));
    let title = format!("Completion times of tasks, {name}");
    Panel {
        bands: vec![Band { low: 0.0, high: most, label: format!("{most:.0} ms") }],
        ..Panel::new(name, title, axes, Form::Apart, series.collect())
    }
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let times = (0..TASKS.len())
            .map(|task| format!("{:.2} / {:.2} ms", mean(&row.each(task, 0)), mean(&row.each(task, 1))));
        let stored = mean(&row.cases.iter().map(|case| case.stored).collect::<Vec<_>>());
        let Unstated { read, drain, ring } = row.unstated;
        let first = [
            format!("{} kB", read.get() / 1_000),
            format!("{} Gbit/s", drain.unwrap_or(10)),
            ring.map_or_else(|| "shared".to_owned(), |packets| format!("{packets} packets")),
            row.system.name().to_owned(),
        ];
        first.into_iter().chain(times).chain([format!("{stored:.1} %")]).collect()
    });
    Table {
        name: "tasks".to_owned(),
        title: "Mean and p99 completion time (mean of the seeds)".to_owned(),
        columns: ["garbage read", "hosts take", "queues", "system", "SA", "BA", "GC", "total", "writes stored"]
            .map(str::to_owned)
            .to_vec(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Catches: flows whose last acknowledgement opens the window of their pair, which finds them over before they do themselves: they left twice, and two others
    /// had their place.
    #[test]
    fn flows_that_end_before_their_pair_resumes_leave_once() {
        let case = case(&Simulator::default(), System::Unbounded, USUAL, Time::from_millis(40), 1).unwrap();
        assert!(case.stored > 95.0, "{case:?}");
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |system: System, tail: f64| {
            let mean = if system == System::Pwc { 4.8 } else { 1.0 };
            let case = Case { times: [[mean, tail, tail]; 4], stored: 99.0 };
            Row { system, unstated: USUAL, cases: vec![case; 3] }
        };
        let tails = |system: System| match system {
            System::Pwc => 21.0,
            System::Elastic => 33.0,
            _ => 1.0,
        };
        let rows: Vec<Row> = SYSTEMS.map(|system| row(system, tails(system))).to_vec();
        let scaled = |system: System, by: f64| {
            move |rows: &mut Vec<Row>| {
                let cases = rows.iter_mut().filter(|row| row.system == system).flat_map(|row| &mut row.cases);
                cases.for_each(|case| case.times.iter_mut().flatten().for_each(|time| *time *= by));
            }
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("uFAB is slow", &scaled(System::Ufab, 11.0)),
                ("PWC is slower", &scaled(System::Pwc, 3.0)),
                ("PWC is faster", &scaled(System::Pwc, 0.3)),
                ("ElasticSwitch is slower", &scaled(System::Elastic, 3.0)),
                ("ElasticSwitch is faster", &scaled(System::Elastic, 0.3)),
            ],
        );
    }
}
