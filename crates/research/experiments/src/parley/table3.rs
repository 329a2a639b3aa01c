//! Table 3: the 99 % percentile of request completion times, as the load on a rack's links grows (6.3, latency protection).

use wayleave_calculus::sizing::{Burst, LoadFraction, QueueBound};
use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{
    BrokerAt, FlowArrivals, FlowEndpoints, FlowSizes, Reliable, Scenario, SharingChange, SharingEvent,
};
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Rate, Time};

use super::table3_data::{BEYOND, CONTROLS, Case, Data, LOADS, OTHERS, READINGS, RunReadings, text};
use super::table3_statements::statements;
use super::testbed::{
    FRAME, ROUNDS, Size, flows, free, mean_between, policy, racks, received, scenario, service, testbed, throughput,
};
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::stats::mean;

/// Requests of A and of B.
const SIZES: [u64; 2] = [200_000, 1_000_000];
/// A's part of the capacity of the rack's links, in per cent.
const LOAD_OF_A: u64 = 14;

/// Loads of the bounds of equation 2; the last one is that of the policy, 60 Gbit/s "or about 80 %".
const BOUND_LOADS: [&str; 4] = ["0.15", "0.5", "0.7", "0.8"];
/// Payload of a full frame.
const PAYLOAD: f64 = 1460.0;
/// Between each sender and receiver, of each service.
const CONNECTIONS: u32 = 24;
/// Of the machine shaper (6.3).
const INTERVAL: Time = Time::from_micros(500);

/// Duration of a run and its systems.
#[derive(Clone, Copy, Debug)]
struct Length {
    /// In rounds of rack brokers.
    warmup: u64,
    counted: u64,
    /// Without new requests, so that those that began late are not cut off.
    drained: u64,
    round: Time,
    size: Size,
}

impl Length {
    fn time(self, rounds: u64) -> Time {
        Time::from_nanos(rounds * self.round.as_nanos())
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let full = Length { warmup: 3, counted: 4, drained: 1, round: ROUNDS[0], size: Size::Printed };
    let length = run.choose(full, Length { warmup: 6, drained: 2, round: ROUNDS[1], size: Size::Half, ..full });
    let cases = cases();
    let found = run.gather(&format!("parley-table3, {length:?}"), (&cases, &seeds), |&case, seed| {
        seen(&run.simulator().run(&rack(case, length)?, seed)?, length)
    })?;
    let cells = cases.into_iter().zip(found).collect();
    let bounds = SIZES.map(|size| BOUND_LOADS.map(|load| bound(size, load)));
    let data = Data { cells, bounds };
    let figure = Figure {
        statements: statements(&data),
        tables: vec![table(&data), effects(&data)],
        seeds,
        notes: notes(length, &data),
        ..Figure::default()
    };
    Ok(testbed(figure)
        .with("network", length.size.text())
        .with("requests", "200 kB (A) and 1 MB (B) between every sender and receiver, 24 connections each; gaps uniform from 0 to twice their mean")
        .with("policy", "A at most 30, B at least 30, both 60 Gbit/s; machine shapers every 500 us (6.3)")
        .with("loads", "A 14 % of 80 Gbit/s, both 15, 50, 70 and 110 %, with headers: what the switch sees"))
}

/// The longest first, so that threads end together.
fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for system in OTHERS.into_iter().chain(READINGS) {
        cases.extend(LOADS.map(|load| Case { system, load, crashed: 0 }));
    }
    cases.extend(CONTROLS.map(|(system, load)| Case { system, load, crashed: 0 }));
    cases.extend(READINGS.map(|system| Case { system, load: BEYOND, crashed: 2 }));
    cases.sort_by_key(|case| std::cmp::Reverse(case.load));
    cases
}

fn table(data: &Data) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let cell = |runs: &[RunReadings], service: usize| {
        let tails: Vec<f64> = runs.iter().map(|run| run.tails[service]).collect();
        if tails.is_empty() { "-".to_owned() } else { text(mean(&tails)) }
    };
    let services = [(0, "A"), (1, "B")];
    for system in OTHERS.into_iter().chain(CONTROLS.map(|(system, _)| system)).chain(READINGS) {
        for (service, name) in services {
            let cells = LOADS.map(|load| cell(data.runs(system, load, 0), service));
            rows.push([system.name(), name.to_owned()].into_iter().chain(cells).collect());
        }
    }
    for system in READINGS {
        let cells = LOADS.map(|load| cell(data.runs(system, load, 2), 0));
        rows.push(
            [format!("{}; two brokers crashed", system.name()), "A".to_owned()].into_iter().chain(cells).collect(),
        );
    }
    for (service, name) in services {
        // B offers more than it is guaranteed in the last column, where nothing bounds it.
        let cells = data.bounds[service]
            .iter()
            .enumerate()
            .map(|(at, &bound)| if service == 1 && at == 3 { "-".to_owned() } else { text(bound) });
        rows.push(["bound (equation 2)".to_owned(), name.to_owned()].into_iter().chain(cells).collect());
    }
    Table {
        name: "tails".to_owned(),
        title: "p99 completion time, by load at the receiving rack (mean of the seeds)".to_owned(),
        columns: ["system", "service", "15 %", "50 %", "70 %", "> 100 %"].map(str::to_owned).to_vec(),
        rows,
    }
}

/// Returns the effects of marks: their number, and the traffic that the rack receives.
fn effects(data: &Data) -> Table {
    let cell = |runs: &[RunReadings]| {
        let of = |what: fn(&RunReadings) -> f64| mean(&runs.iter().map(what).collect::<Vec<_>>());
        if runs.is_empty() {
            "-".to_owned()
        } else {
            format!("{:.1} Gbit/s, {:.0} %", of(|run| run.received), of(|run| run.marked))
        }
    };
    let rows =
        OTHERS.into_iter().chain(CONTROLS.map(|(system, _)| system)).chain(READINGS).map(|system| {
            [system.name()].into_iter().chain(LOADS.map(|load| cell(data.runs(system, load, 0)))).collect()
        });
    Table {
        name: "received".to_owned(),
        title: "Throughput of the rack while requests start, and fraction of marked packets".to_owned(),
        columns: ["system", "15 %", "50 %", "70 %", "> 100 %"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn notes(length: Length, data: &Data) -> Vec<String> {
    let requests = data.runs(READINGS[0], BEYOND, 0).iter().map(|run| run.requests);
    let (all, runs) = (requests.clone().sum::<u64>(), requests.count());
    vec![
        format!(
            "Requests that begin within {} are counted, after {} of warm-up in which rack brokers settle, who work every {} (20 minutes, and 1 s in \
             Table 1, in the paper): {all} of A in {runs} runs, {} of them beyond the percentile. None begin in the last {}. The windows were \
             chosen so that all figures of Parley take a quarter of an hour together.",
            length.time(length.counted),
            length.time(length.warmup),
            length.round,
            all / 100,
            length.time(length.drained),
        ),
        "Requests that are not complete at the end count as slower than all others.".to_owned(),
        "A request takes one of 24 connections of its pair, or waits for one; each begins with an initial window of 10.".to_owned(),
        "EyeQ \"assumes a congestion-free core\" (6.3): its row is without marks. For Parley the text has marks (3.2.1), and its table has A's \
         tail at 70 % the same under all three systems (6.17, 6.03 and 6.08 ms), as if nobody had heard of marks. So Parley has rows without \
         marks, with the equation as it is printed, and with the form that EyeQ's program compiles."
            .to_owned(),
        "The text calls 60 of 80 Gbit/s \"about 80 %\"; it is 75 %. The bounds are for 80 %.".to_owned(),
    ]
}

/// Returns the bound in ms, at 10 Gbit/s: the burst is the traffic of 15 iterations of 500 us (6.3).
fn bound(size: u64, load: &str) -> f64 {
    let burst = Burst::Convergence(Time::from_nanos(15 * INTERVAL.as_nanos()));
    let bound = QueueBound { burst, size: Bytes::new(size) };
    let load: Option<LoadFraction> = load.parse().ok();
    load.map_or(f64::NAN, |load| bound.completion(Rate::from_gbit(10), load).as_nanos() as f64 / 1e6)
}

fn seen(outcome: &Outcome, length: Length) -> Result<RunReadings, Failed> {
    let seconds = |rounds: u64| length.time(rounds).as_nanos() as f64 / 1e9;
    let (from, to) = (seconds(length.warmup), seconds(length.warmup + length.counted));
    let received = [0, 1].map(|service| mean_between(&throughput(outcome, service), from, to)).iter().sum::<f64>();
    let (marked, delivered) =
        outcome.flows.iter().fold((0, 0), |(marked, all), flow| (marked + flow.marked, all + flow.delivered));
    Ok(RunReadings {
        tails: [0, 1].map(|service| tail(outcome, service)),
        requests: outcome.traffic[0].completions.finished() + outcome.traffic[0].completions.unfinished(),
        received: received * length.size.scale(),
        marked: 100.0 * marked as f64 / delivered.max(1) as f64,
    })
}

/// The percentile in ms among all requests that began in the counted time.
fn tail(outcome: &Outcome, service: usize) -> f64 {
    let completions = &outcome.traffic[service].completions;
    let (finished, open) = (completions.finished(), completions.unfinished());
    // The rank of the percentile, as a percentage of those that were completed.
    let percent = 99.0 * (finished + open) as f64 / finished.max(1) as f64;
    let tail = (percent <= 100.0).then(|| completions.times().percentile(percent)).flatten();
    tail.map_or(f64::INFINITY, |ps| ps as f64 / 1e9)
}

fn rack(case: Case, length: Length) -> Result<Scenario, Failed> {
    let network = length.size.network()?;
    let thirty = Some(length.size.gbit(30));
    let machine =
        policy(&network, PolicyLevel::Machine, None, vec![service("A", 7001, free()), service("B", 7002, free())])?;
    let services = vec![service("A", 7001, received(None, thirty)), service("B", 7002, received(thirty, None))];
    let rack = policy(&network, PolicyLevel::Rack, Some(length.size.gbit(60)), services)?;
    let all = racks(&network);
    let (receivers, senders) = all.split_last().ok_or_else(|| Failed::broken("no racks"))?;
    let senders = senders.concat();
    let arriving = length.time(length.warmup + length.counted);
    let mut run = scenario("table 3", network.clone(), arriving + length.time(length.drained));
    run.warmup = length.time(length.warmup);
    run.record.series = Some(length.round);
    case.system.share(&mut run, machine, rack, INTERVAL, length.round);
    if let Some(sharing) = &mut run.sharing {
        for &host in &receivers[..case.crashed] {
            let what = SharingChange::Stops(BrokerAt::Machine(host));
            sharing.events.push(SharingEvent { at: length.time(1), what });
        }
    }
    let capacity = length.size.gbit(80).bits_per_second() as f64;
    let loads = [LOAD_OF_A, case.load - LOAD_OF_A].map(|percent| capacity * percent as f64 / 100.0);
    let pairs = senders.len() * receivers.len();
    for (at, name) in ["A", "B"].into_iter().enumerate() {
        let bits = SIZES[at] as f64 * 8.0 * FRAME.get() as f64 / PAYLOAD;
        let mean = Time::from_nanos((bits * 1e9 * pairs as f64 / loads[at]) as u64);
        let arrivals = FlowArrivals::Uniform { mean, connections: Some(CONNECTIONS) };
        let sizes = Some(FlowSizes::Fixed(Bytes::new(SIZES[at])));
        let ends = FlowEndpoints::AllToAll(senders.clone(), receivers.clone());
        let mut traffic = flows(name, ends, Reliable::new(arrivals, sizes));
        traffic.stop = Some(arriving);
        traffic.service = run.sharing.is_some().then(|| name.to_owned());
        run.traffic.push(traffic);
    }
    Ok(run)
}
