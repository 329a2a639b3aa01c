//! Fig. 15: seven tenants on the testbed at 100 Gbit/s, one after the other, and a core that fails; what probes cost (section 5.4).

use wayleave_scenarios::{Element, ElementChange, Outage, Scenario, ScenarioVm};
use wayleave_scenarios::{Endpoint, FlowArrivals, FlowEndpoints, Reliable};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::{Contender, LINE, SHARED, most, received, round_trip_us};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::testbed::{Tenant, endless, flows, network, policy, servers};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig15",
    runs: "100GE",
    paper: &UFAB,
    place: "Fig. 15",
    title: "Seven tenants at 100 Gbit/s, a core failure, and the cost of probes",
    full_runs: 5,
    full_seconds: 2,
    quick_seconds: 2,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// The text gives no minima: these sum up to 85 of the 95 Gbit/s that S8's link shares out.
const MINIMA: [u64; 7] = [5, 5, 10, 10, 15, 20, 20];
/// A series has up to 1,024 intervals: the longest run has 960.
const BIN: Time = Time::from_micros(125);
/// Frames of probes, on the wire: Ethernet with preamble and gap, IPv4, and 9 B for each of five switches; the text's L_p is 52 B.
const PRINTED_PROBE: f64 = 52.0;
/// L_w (5.4).
const PROBE_INTERVAL: f64 = 4_000.0;

/// One run of the seven.
#[derive(Clone, Debug)]
struct Joins {
    /// From when each begins to the first interval in which it has its minimum, in ms.
    joins_ms: Vec<f64>,
    /// From the failure to the end of the last interval in which one of them misses its minimum, in ms.
    recovers_ms: f64,
    /// Queue that packets found at S8's port, as the 99th percentile, and the longest queue, in bandwidth-delay
    /// products.
    queue: [f64; 2],
    longest_us: f64,
}

stored!(Joins { joins_ms, recovers_ms, queue, longest_us });

/// One tenant with a number of pairs.
#[derive(Clone, Copy, Debug)]
struct Probing {
    pairs: usize,
    /// Part of all bytes that are probes; the same if each had the text's 52 B; what one had, in bytes.
    part: f64,
    printed: f64,
    size: f64,
}

stored!(Probing { pairs, part, printed, size });

#[derive(Clone, Debug)]
struct Data {
    runs: Vec<Joins>,
    probing: Vec<Probing>,
    /// Of the first run: each tenant's rate over time.
    rates: Vec<Vec<f64>>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let step = Time::from_millis(run.choose(10, 2));
    let found = run
        .gather(&format!("{}, {step}", ENTRY.id), (&["joins"], &seeds), |_, seed| joins(run.simulator(), step, seed))?;
    let mut found = found.into_iter().next().unwrap_or_default();
    let rates = found.first_mut().map(|(_, rates)| std::mem::take(rates)).unwrap_or_default();
    let counts = run.choose(vec![1, 2, 4, 8, 16, 32, 64, 128, 256], vec![1, 8, 64]);
    let probing =
        run.gather(&format!("{}, probing", ENTRY.id), (&counts, &[1]), |&pairs, _| probing(run.simulator(), pairs))?;
    let probing = probing.concat();
    let data = Data { runs: found.into_iter().map(|(run, _)| run).collect(), probing, rates };
    let notes = vec![
        format!(
            "The text gives no minima; here {MINIMA:?} Gbit/s. Core 1 fails without a word for what comes from the first pod: that it is dead has to be noticed by probes. What goes back still passes it, since nothing here moves acknowledgements from a dead path of which nobody is told. A bandwidth-delay product is {:.0} kB.",
            product_bytes() / 1e3
        ),
        "Pairs of Fig. 15b beyond the seven other servers are those of virtual machines there.".to_owned(),
    ];
    let panels = vec![rates_panel(&data), probing_panel(&data)];
    let figure = Figure { statements: statements(&data), panels, seeds, notes, ..Figure::default() };
    Ok(figure
        .with("network", "the testbed of Fig. 10 with 100 Gbit/s; ports share 22 MB a switch")
        .with("time", format!("one tenant every {} ms, core 1 fails at nine times that", step.as_nanos() / 1_000_000)))
}

/// Returns C T, with the base round trip between pods: six links and switches of 1.351 us in each direction, a full
/// frame and an acknowledgement of 84 B.
fn product_bytes() -> f64 {
    let round_trip_ns = 12.0 * 1_351.0 + 6.0 * (1_538.0 + 84.0) * 8.0 / 100.0;
    SHARED * round_trip_ns / 8.0
}

fn joins(simulator: &Simulator, step: Time, seed: u64) -> Result<(Joins, Vec<Vec<f64>>), Failed> {
    let network = network(LINE)?;
    let servers = servers(&network);
    let Some((&last, others)) = servers.split_last() else { return Err(Failed::broken("a testbed without servers")) };
    let name = |at: usize| format!("vf{}", at + 1);
    let tenants: Vec<Tenant> = (MINIMA.iter().zip(others).enumerate())
        .map(|(at, (&min, &host))| Tenant { name: name(at), min: Rate::from_gbit(min), hosts: vec![host, last] })
        .collect();
    let times = |count: u64| Time::from_nanos(step.as_nanos() * count);
    let mut scenario = Scenario::new("seven", network.clone(), times(12));
    scenario.switches.buffering =
        wayleave_scenarios::Buffering::Shared { total: wayleave_units::Bytes::new(22_000_000), alpha: 1.0 };
    scenario.record.series = Some(BIN);
    Contender::Sparse.share(&mut scenario, policy(&network, &tenants)?);
    scenario.traffic =
        (others.iter().enumerate()).map(|(at, &host)| endless(&name(at), host, last, times(at as u64))).collect();
    let core = network.find_node("core1").ok_or_else(|| Failed::broken("no core1"))?;
    let into_core = network.links_into(core).iter().filter(|&&link| {
        let from = network.link(link).from;
        network.node(from).name.starts_with("pod1-")
    });
    scenario.outages = into_core
        .map(|&link| Outage { at: times(9), what: Element::Link(link), change: ElementChange::FailsSilently })
        .collect();
    let outcome = simulator.run(&scenario, seed)?;
    let rates: Vec<Vec<f64>> = (0..MINIMA.len()).map(|at| received(&outcome, &name(at), last)).collect();
    let bin_ms = BIN.as_nanos() as f64 / 1e6;
    let bins = |time: Time| (time.as_nanos() / BIN.as_nanos()) as usize;
    // Of a minimum on the wire a probe with each 4 kB takes a fiftieth.
    let has = |at: usize, rate: f64| rate >= 0.97 * MINIMA[at] as f64;
    let joins_ms = (rates.iter().enumerate())
        .map(|(at, rates)| {
            let after = rates.get(bins(times(at as u64))..).unwrap_or_default();
            let first = after.iter().position(|&rate| has(at, rate));
            first.map_or(f64::INFINITY, |first| (first + 1) as f64 * bin_ms)
        })
        .collect();
    let missed = |(at, rates): (usize, &Vec<f64>)| {
        let after = rates.get(bins(times(9))..).unwrap_or_default();
        after.iter().rposition(|&rate| !has(at, rate)).map_or(0.0, |last| (last + 1) as f64 * bin_ms)
    };
    let recovers_ms = most(&rates.iter().enumerate().map(missed).collect::<Vec<_>>());
    let port = outcome.queues.iter().find(|queue| network.link(queue.link).to == last);
    let queue = port.map_or([f64::NAN; 2], |port| {
        let found = port.counts.found.percentile(99.0).unwrap_or(0) as f64;
        [found, port.counts.peak.get() as f64].map(|bytes| bytes / product_bytes())
    });
    Ok((Joins { joins_ms, recovers_ms, queue, longest_us: round_trip_us(&outcome, 100.0) }, rates))
}

/// Runs one tenant of S1 that fills its line with `pairs` pairs.
fn probing(simulator: &Simulator, pairs: usize) -> Result<Probing, Failed> {
    let network = network(LINE)?;
    let servers = servers(&network);
    let Some((&from, others)) = servers.split_first() else { return Err(Failed::broken("a testbed without servers")) };
    let tenant = Tenant { name: "vf".to_owned(), min: Rate::from_gbit(10), hosts: servers.clone() };
    let mut scenario = Scenario::new("probes", network.clone(), Time::from_millis(3));
    scenario.warmup = Time::from_millis(1);
    Contender::Sparse.share(&mut scenario, policy(&network, &[tenant])?);
    let at = |pair: usize| -> NodeId { others[pair % others.len()] };
    let vm = |pair: usize| ScenarioVm { name: format!("vm{pair}"), host: at(pair), service: Some("vf".to_owned()) };
    scenario.vms = (0..pairs).map(vm).collect();
    let ends: Option<Vec<(Endpoint, Endpoint)>> =
        (0..pairs).map(|pair| Some((from.into(), Endpoint::of_vm(&scenario.vms, pair)?))).collect();
    let ends = FlowEndpoints::Pairs(ends.ok_or_else(|| Failed::broken("a pair without its machine"))?);
    scenario.traffic = vec![flows("vf", ends, Reliable::new(FlowArrivals::Once, None))];
    let outcome = simulator.run(&scenario, 1)?;
    let probes = outcome.sharing.as_ref().map(|sharing| sharing.probes).unwrap_or_default();
    let up = network.links_from(from).first().and_then(|up| outcome.links.iter().find(|link| link.link == *up));
    let all = up.map_or(f64::NAN, |up| up.sent.get() as f64);
    let (count, bytes) = (probes.sent as f64, probes.bytes.get() as f64);
    let printed = count * PRINTED_PROBE;
    Ok(Probing { pairs, part: bytes / all, printed: printed / (all - bytes + printed), size: bytes / count })
}

/// "Near zero" in bandwidth-delay products; ours, as the text has no number.
const NEAR_ZERO: f64 = 0.1;
/// The part of a limit that has to be reached to be near it; ours.
const REACHED: f64 = 0.75;

fn statements(data: &Data) -> Vec<Statement> {
    let runs = &data.runs;
    let joins: Vec<f64> = runs.iter().map(|run| most(&run.joins_ms)).collect();
    let recovers: Vec<f64> = runs.iter().map(|run| run.recovers_ms).collect();
    let [found, peak] = [0, 1].map(|at| runs.iter().map(|run| run.queue[at]).collect::<Vec<f64>>());
    let last =
        data.probing.last().copied().unwrap_or(Probing { pairs: 0, part: f64::NAN, printed: f64::NAN, size: f64::NAN });
    let bound = |size: f64| 100.0 * size / (size + PROBE_INTERVAL);
    let parts: Vec<f64> = data.probing.iter().map(|one| one.part * 100.0).collect();
    let longest = most(&runs.iter().map(|run| run.longest_us).collect::<Vec<_>>());
    vec![
        Statement::within(
            "5.4",
            "every tenant has its minimum at once: within a millisecond, as the abstract says of all convergence",
            0.0..=1.0,
            &joins,
            format!("{:.3} ms at most; intervals are {:.3} ms", most(&joins), BIN.as_nanos() as f64 / 1e6),
        ),
        Statement::within(
            "5.4",
            "after core 1 has failed its tenants move, and all have their minima again within a millisecond",
            0.0..=1.0,
            &recovers,
            format!("after {:.2} ms in the mean, {:.2} ms at most", mean(&recovers), most(&recovers)),
        ),
        Statement::within(
            "5.4, 3.4",
            "the queue is near zero in spite of bursts and failures: 99 % of packets find at most a tenth of a bandwidth-delay product",
            0.0..=NEAR_ZERO,
            &found,
            format!("99 % of packets found at most {:.3} bandwidth-delay products", most(&found)),
        ),
        Statement::within(
            "3.4",
            "no queue holds more than two bandwidth-delay products, which is what the bound of 3.4 leaves to it",
            0.0..=2.0,
            &peak,
            format!(
                "at most {:.2} bandwidth-delay products; the longest round trip took {longest:.1} us",
                most(&peak)
            ),
        ),
        Statement::within(
            "5.4",
            "what probes cost goes to a limit as pairs become more, L_p / (L_p + L_w): three quarters of it or more, and never more than it",
            REACHED..=1.0,
            &[last.part * 100.0 / bound(last.size), most(&parts) / bound(last.size)],
            format!("{:.2} % with {} pairs; {:.2} % is the limit for probes of {:.0} B", last.part * 100.0, last.pairs, bound(last.size), last.size),
        ),
        Statement::within(
            "5.4",
            "with L_w of 4 kB the limit is 1.28 %, of which probes reach three quarters or more",
            REACHED * 1.28..=1.28,
            &[last.part * 100.0],
            format!("{:.2} % with {} pairs", last.part * 100.0, last.pairs),
        )
        .tested(format!(
            "probes of 52 B: the same number of probes would be {:.2} %. A probe of Fig. 22 through five switches is an Ethernet frame of {:.0} B with preamble and gap.",
            last.printed * 100.0,
            last.size
        ), &[last.printed * 100.0]),
    ]
}

fn rates_panel(data: &Data) -> Panel {
    let bin_ms = BIN.as_nanos() as f64 / 1e6;
    // A line of a thousand points shows no more than one of 120.
    let every = (data.rates.first().map_or(0, Vec::len) / 120).max(1);
    let series = |(at, rates): (usize, &Vec<f64>)| Series {
        name: format!("VF{}, {} Gbit/s", at + 1, MINIMA[at]),
        points: rates
            .chunks(every)
            .enumerate()
            .map(|(number, rates)| Point::of((number * every) as f64 * bin_ms, vec![mean(rates)]))
            .collect(),
    };
    let axes = (Axis::linear("time", "ms"), Axis::linear("rate", "Gbit/s"));
    let series = data.rates.iter().enumerate().map(series).collect();
    Panel::new("rates", "What each tenant receives (first seed)", axes, Form::Joined, series)
}

fn probing_panel(data: &Data) -> Panel {
    let series = |name: &str, of: fn(&Probing) -> f64| Series {
        name: name.to_owned(),
        points: data.probing.iter().map(|one| Point::of(one.pairs as f64, vec![100.0 * of(one)])).collect(),
    };
    let axes = (Axis::logarithmic("pairs", ""), Axis::linear("probes", "%"));
    let series = vec![series("actual size", |one| one.part), series("at 52 B each", |one| one.printed)];
    Panel::new("probes", "What probes cost by the number of pairs", axes, Form::Joined, series)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let data = Data {
            runs: vec![Joins { joins_ms: vec![0.2; 7], recovers_ms: 0.5, queue: [0.1, 1.0], longest_us: 30.0 }],
            probing: vec![Probing { pairs: 64, part: 0.0125, printed: 0.0127, size: 60.0 }],
            rates: Vec::new(),
        };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("one comes late", &|data: &mut Data| data.runs[0].joins_ms[3] = 1.5),
                ("the failure lasts", &|data: &mut Data| data.runs[0].recovers_ms = 3.0),
                ("a long queue", &|data: &mut Data| data.runs[0].queue[1] = 2.5),
                ("packets find a queue", &|data: &mut Data| data.runs[0].queue[0] = 0.2),
                ("hardly any probes", &|data: &mut Data| data.probing[0].part = 0.004),
                ("more probes", &|data: &mut Data| data.probing[0].part = 0.03),
            ],
        );
    }
}
