//! Table 3: the 99 % percentile of request completion times, as the load on a rack's links grows (6.3, latency protection).

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::provision::{Bound, Burst, Load};
use wayleave_scenarios::{Arrivals, BrokerAt, Ends, FlowSizes, Reliable, Scenario, SharingChange, SharingEvent};
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{
    System, T_RACK, flows, free, network, policy, racks, received, scenario, service, simulate, testbed,
};
use crate::data::{Figure, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// Requests of A and of B.
const SIZES: [u64; 2] = [200_000, 1_000_000];
/// A's part of the capacity of the rack's links, in per cent.
const LOAD_OF_A: u64 = 14;
/// A and B together. What the last column offers the text does not say: B offers its maximum and more.
const LOADS: [u64; 4] = [15, 50, 70, 110];
/// What the bounds of equation 2 are for; the last one is that of the policy, 60 Gbit/s "or about 80 %".
const BOUND_LOADS: [&str; 4] = ["0.15", "0.5", "0.7", "0.8"];
/// A and B with a bound, in ms, as printed.
const PRINTED: [[f64; 4]; 2] = [[9.01, 15.32, 25.53, 38.30], [9.77, 16.60, 27.67, 0.0]];
/// Of frames with a full segment: what a rack's switch counts, and its links carry, and what is payload.
const FRAME: [f64; 2] = [1538.0, 1460.0];
/// Between each sender and receiver, of each service.
const CONNECTIONS: u32 = 24;
/// Of the machine shaper (6.3).
const INTERVAL: Time = Time::from_micros(500);

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    system: System,
    load: u64,
    /// Rack brokers of the receiving rack that die before anything is counted.
    crashed: usize,
}

/// How long, and with what.
#[derive(Clone, Copy, Debug)]
struct Length {
    /// In rounds of rack brokers.
    warmup: u64,
    counted: u64,
    /// Without new requests, so that those that began late are not cut off.
    drained: u64,
    round: Time,
}

/// Parley as section 3.2.1 has it, and without marks.
const READINGS: [System; 2] = [System::Parley, System::ParleyWithoutMarks];

impl Length {
    fn time(self, rounds: u64) -> Time {
        Time::from_nanos(rounds * self.round.as_nanos())
    }
}

/// What was seen of one service in ms.
#[derive(Clone, Copy, Debug)]
struct Seen {
    tail: f64,
    requests: u64,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(1, 1);
    let length = Length { warmup: 5, counted: 10, drained: 1, round: run.choose(T_RACK[0], T_RACK[1]) };
    let mut cases: Vec<Case> = Vec::new();
    for system in System::ALL {
        cases.extend(LOADS.map(|load| Case { system, load, crashed: 0 }));
    }
    cases.extend(READINGS.map(|system| Case { system, load: LOADS[3], crashed: 2 }));
    // The longest first, so that threads end together.
    cases.sort_by_key(|case| std::cmp::Reverse(case.load));
    let jobs: Vec<(Case, u64)> = cases.iter().flat_map(|&case| seeds.iter().map(move |&seed| (case, seed))).collect();
    let seen = run.map(&jobs, |&(case, seed)| {
        let outcome = simulate(&rack(case, length)?, seed)?;
        Ok([0, 1].map(|service| tail(&outcome, service)))
    })?;
    let of = |case: Case, service: usize| -> Vec<Seen> {
        jobs.iter().zip(&seen).filter(|((of, _), _)| *of == case).map(|(_, seen)| seen[service]).collect()
    };
    let mean = |case: Case, service: usize| {
        let tails: Vec<f64> = of(case, service).iter().map(|seen| seen.tail).collect();
        crate::stats::mean(&tails)
    };
    let text = |tail: f64| if tail.is_finite() { format!("{tail:.2} ms") } else { "-".to_owned() };
    let mut rows = Vec::new();
    for system in System::ALL {
        for (service, name) in ["A", "B"].into_iter().enumerate() {
            let cells = LOADS.iter().map(|&load| text(mean(Case { system, load, crashed: 0 }, service)));
            rows.push([system.name().to_owned(), name.to_owned()].into_iter().chain(cells).collect());
        }
    }
    let crashed = |system: System| mean(Case { system, load: LOADS[3], crashed: 2 }, 0);
    for system in READINGS {
        let name = format!("{}, two brokers crashed", system.name());
        let dashes = ["-", "-", "-"].map(str::to_owned).into_iter();
        rows.push([name, "A".to_owned()].into_iter().chain(dashes).chain([text(crashed(system))]).collect());
    }
    let bounds: Vec<Vec<f64>> =
        SIZES.iter().map(|&size| BOUND_LOADS.iter().map(|load| bound(size, load)).collect()).collect();
    for (service, name) in ["A", "B"].into_iter().enumerate() {
        // B offers more than it is guaranteed in the last column, where nothing bounds it.
        let cells = bounds[service].iter().zip(PRINTED[service]);
        let cells = cells.map(|(&bound, printed)| text(if printed > 0.0 { bound } else { f64::INFINITY }));
        rows.push(["bound (equation 2)".to_owned(), name.to_owned()].into_iter().chain(cells).collect());
    }
    let columns = ["system", "service", "15 %", "50 %", "70 %", "> 100 %"].map(str::to_owned).to_vec();
    let table = Table {
        name: "tails".to_owned(),
        title: "99 % percentile of completion times, by load at the receiving rack".to_owned(),
        columns,
        rows,
    };
    let figure = Figure {
        statements: statements(
            &|system, at, service| mean(Case { system, load: LOADS[at], crashed: 0 }, service),
            &crashed,
            &bounds,
        ),
        tables: vec![table],
        seeds,
        notes: notes(length, &of(Case { system: System::Parley, load: LOADS[3], crashed: 0 }, 0)),
        ..Figure::default()
    };
    Ok(testbed(figure)
        .with("network", "Fig. 11; one rack receives, the 80 hosts of the others send")
        .with("requests", "200 kB (A) and 1 MB (B) between every sender and receiver, 24 connections each; gaps uniform from 0 to twice their mean")
        .with("policy", "A at most 30, B at least 30, both 60 Gbit/s; machine shapers every 500 us (6.3)")
        .with("loads", "A 14 % of 80 Gbit/s, both 15, 50, 70 and 110 %, with headers: what the switch sees"))
}

fn statements(
    of: &dyn Fn(System, usize, usize) -> f64,
    crashed: &dyn Fn(System) -> f64,
    bounds: &[Vec<f64>],
) -> Vec<Statement> {
    let of_a = |system: System, at: usize| of(system, at, 0);
    let nothing = of_a(System::Nothing, 3);
    let eyeq = of_a(System::Eyeq, 3);
    let text = |tail: f64| if tail.is_finite() { format!("{tail:.2} ms") } else { "more than the run".to_owned() };
    let beyond = |system: System| format!("{} {}", system.name(), text(of_a(system, 3)));
    let tails = System::ALL.map(beyond).join(", ");
    let mut all = Vec::new();
    for system in READINGS {
        let parley = of_a(system, 3);
        all.push(Statement::claim(
            "6.3",
            format!(
                "beyond 100 % load Parley protects A's tail, and neither EyeQ nor nothing does ({})",
                system.name()
            ),
            parley < eyeq / 2.0 && parley < nothing / 2.0,
            tails.clone(),
        ));
        all.push(Statement::claim(
            "Table 3",
            format!(
                "beyond 100 % load A's tail under Parley is below the bound of equation 2 (16.07 and 15.54 ms of 38.30 in the runs \
                 without crashes; {})",
                system.name()
            ),
            parley <= bounds[0][3],
            text(parley),
        ));
    }
    for system in READINGS {
        for (service, name) in ["A", "B"].into_iter().enumerate() {
            let low: Vec<f64> = (0..3).map(|at| of(system, at, service) / of(System::Nothing, at, service)).collect();
            let ratios: Vec<String> = low.iter().map(|ratio| format!("{ratio:.2}")).collect();
            let says = format!(
                "below 100 % load Parley does not significantly affect latency (within 10 % of nothing in Table 3): {name} ({})",
                system.name()
            );
            let measured =
                format!("{name}'s tail is {} times that without guarantees, at 15, 50 and 70 %", ratios.join(", "));
            let claim = Statement::claim("6.3", says, low.iter().all(|&ratio| ratio <= 1.1), measured);
            all.push(claim.because(match system {
                System::Parley => {
                    "Marks: the rows without them are of the same requests. At rest the equation gives y = C (1 - beta), whatever the load."
                }
                _ => "The row of EyeQ, which has no brokers, is beside it: what both have in common are the machine shapers.",
            }));
        }
    }
    for system in READINGS {
        let rising: Vec<f64> = (0..3).map(|at| of_a(system, at)).collect();
        all.push(Statement::claim(
            "6.3",
            format!("A's latency grows with the total load, though its own is constant ({})", system.name()),
            rising[0] <= rising[1] && rising[1] <= rising[2],
            format!("{}, {}, {} at 15, 50 and 70 %", text(rising[0]), text(rising[1]), text(rising[2])),
        ));
    }
    for system in READINGS {
        let (parley, crashed) = (of_a(system, 3), crashed(system));
        all.push(Statement::claim(
            "6.3, remark",
            format!(
                "with two crashed rack brokers the others underestimate, and A's tail is several times as long (84.62 ms; {})",
                system.name()
            ),
            crashed > 2.0 * parley,
            format!("{}, and {} without a crash", text(crashed), text(parley)),
        ));
    }
    for (service, printed) in PRINTED.iter().enumerate() {
        let off = bounds[service].iter().zip(printed).filter(|(_, printed)| **printed > 0.0);
        let is_so = off.clone().all(|(bound, printed)| (bound - printed).abs() <= 0.01);
        let shown: Vec<String> = off.map(|(bound, _)| format!("{bound:.2}")).collect();
        let name = ["A", "B"][service];
        let says = format!("Table 3's bounds of {name}");
        all.push(Statement::claim("Table 3", says, is_so, format!("{} ms", shown.join(", "))));
    }
    all
}

fn notes(length: Length, parley: &[Seen]) -> Vec<String> {
    let requests: u64 = parley.iter().map(|seen| seen.requests).sum();
    vec![
        format!(
            "Requests that begin within {} are counted, after {} of warm-up in which rack brokers settle, who work every {} (20 minutes in the \
             paper): {requests} of A, {} of them beyond the percentile. None begin in the last {}.",
            length.time(length.counted),
            length.time(length.warmup),
            length.round,
            requests / 100,
            length.time(length.drained),
        ),
        "Requests that are not complete at the end count as slower than all others. A dash is a percentile among those.".to_owned(),
        "A request takes one of 24 connections of its pair, or waits for one; each begins with an initial window of 10.".to_owned(),
        "EyeQ \"assumes a congestion-free core\" (6.3): its row is without marks. For Parley the text has marks (3.2.1), and its table has A's \
         tail at 70 % the same under all three systems (6.17, 6.03 and 6.08 ms), as if nobody had heard of marks. Both have \
         rows with and without."
            .to_owned(),
    ]
}

/// In ms, at 10 Gbit/s: the burst is what 15 iterations of 500 us bring (6.3).
fn bound(size: u64, load: &str) -> f64 {
    let burst = Burst::Convergence(Time::from_nanos(15 * INTERVAL.as_nanos()));
    let bound = Bound { burst, size: Bytes::new(size) };
    let load: Option<Load> = load.parse().ok();
    load.map_or(f64::NAN, |load| bound.completion(Rate::from_gbit(10), load).as_nanos() as f64 / 1e6)
}

/// The percentile in ms among all requests that began in the counted time.
fn tail(outcome: &Outcome, service: usize) -> Seen {
    let completions = &outcome.traffic[service].completions;
    let (finished, open) = (completions.finished(), completions.unfinished());
    let all = finished + open;
    // The rank of the percentile, as a percentage of those that were completed.
    let percent = 99.0 * all as f64 / finished.max(1) as f64;
    let tail = (percent <= 100.0).then(|| completions.times().percentile(percent)).flatten();
    Seen { tail: tail.map_or(f64::INFINITY, |ps| ps as f64 / 1e9), requests: all }
}

fn rack(case: Case, length: Length) -> Result<Scenario, Failed> {
    let network = network()?;
    let thirty = Some(Rate::from_gbit(30));
    let machine =
        policy(&network, PolicyLevel::Machine, None, vec![service("A", 7001, free()), service("B", 7002, free())])?;
    let services = vec![service("A", 7001, received(None, thirty)), service("B", 7002, received(thirty, None))];
    let rack = policy(&network, PolicyLevel::Rack, Some(Rate::from_gbit(60)), services)?;
    let all = racks(&network);
    let (receivers, senders) = all.split_last().ok_or_else(|| Failed::broken("no racks"))?;
    let senders = senders.concat();
    let arriving = length.time(length.warmup + length.counted);
    let duration = arriving + length.time(length.drained);
    let mut run = scenario("table 3", network.clone(), duration);
    run.warmup = length.time(length.warmup);
    case.system.share(&mut run, machine, rack, INTERVAL, length.round);
    if let Some(sharing) = &mut run.sharing {
        for &host in &receivers[..case.crashed] {
            let what = SharingChange::Stops(BrokerAt::Machine(host));
            sharing.events.push(SharingEvent { at: length.time(1), what });
        }
    }
    let capacity = Rate::from_gbit(80).bits_per_second();
    let loads = [LOAD_OF_A, case.load - LOAD_OF_A].map(|percent| capacity as f64 * percent as f64 / 100.0);
    let pairs = senders.len() * receivers.len();
    for (at, name) in ["A", "B"].into_iter().enumerate() {
        let bits = SIZES[at] as f64 * 8.0 * FRAME[0] / FRAME[1];
        let mean = Time::from_nanos((bits * 1e9 * pairs as f64 / loads[at]) as u64);
        let arrivals = Arrivals::Uniform { mean, connections: Some(CONNECTIONS) };
        let sizes = Some(FlowSizes::Fixed(Bytes::new(SIZES[at])));
        let ends = Ends::AllToAll(senders.clone(), receivers.clone());
        let mut traffic = flows(name, ends, Reliable::new(arrivals, sizes));
        traffic.stop = Some(arriving);
        traffic.service = run.sharing.is_some().then(|| name.to_owned());
        run.traffic.push(traffic);
    }
    Ok(run)
}
