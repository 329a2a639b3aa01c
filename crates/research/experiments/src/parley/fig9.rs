//! Fig. 9: how much waits at a receiver whose 100 senders are limited, by load (section 4).

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{
    Buffering, Congestion, FlowSpec, HostSchemeConfig, Scenario, Sharing, StaticLimits, Traffic, TransportConfig,
    Workload,
};
use wayleave_sim::stats::Histogram;
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{FRAME, free, policy, service};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;

/// C of section 4's example.
const LINE: Rate = Rate::from_mbit(100);
const SENDERS: u64 = 100;
/// Of each limiter (section 4).
const BURST: Bytes = Bytes::new(64_000);
/// Per cent of the line, all senders together.
const LOADS: [u64; 4] = [50, 70, 90, 95];
/// "About 83 MTU sized packets": what arrives in 10 ms at 100 Mbit/s.
const CONVERGING: f64 = 83.0;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let duration = Time::from_millis(run.choose(300_000, 120_000));
    let jobs: Vec<(u64, u64)> = LOADS.iter().flat_map(|&load| seeds.iter().map(move |&seed| (load, seed))).collect();
    let queues = run.map(&jobs, |&(load, seed)| queue(run.simulator(), load, seed, duration))?;
    let of = |load: u64| jobs.iter().zip(&queues).filter(move |((of, _), _)| *of == load).map(|(_, queue)| queue);
    let tails = LOADS.map(|load| of(load).map(|queue| packets(queue.percentile(99.0).unwrap_or(0))).collect());
    let series = LOADS.iter().map(|&load| {
        let mut all = Histogram::new();
        of(load).for_each(|queue| all.merge(queue));
        let points = all.cdf(200).into_iter().map(|point| Point::of(packets(point.value), vec![point.fraction]));
        Series { name: format!("load {load} %"), points: points.collect() }
    });
    let panel = Panel::new(
        "queue",
        "Queue length at packet arrivals, receiver's port",
        (Axis::linear("queue", "packets"), Axis::linear("fraction of packets", "")),
        Form::Steps,
        series.collect(),
    );
    let figure = Figure {
        statements: statements(&tails),
        panels: vec![panel],
        seeds,
        notes: vec![
            "A sender gives its limiter one segment after the other. Linux may give it up to 64 kB at once, as one segment that the \
             interface cuts; how that was in the paper's emulation is not said."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure
        .with("network", "100 senders and a receiver at one switch, links at 100 Mbit/s, no limit to buffers")
        .with(
            "senders",
            "one long TCP flow (CUBIC) each, limited to 1/100 of the load, bucket 64 kB, begun at random in a second",
        )
        .with("time", format!("{duration} each; the first minute, in which full buckets drain, does not count")))
}

fn packets(bytes: u64) -> f64 {
    bytes as f64 / FRAME.get() as f64
}

/// From the 99 % percentile of each run, in packets, at each load.
fn statements(tails: &[Vec<f64>; LOADS.len()]) -> Vec<Statement> {
    let measured: Vec<String> =
        LOADS.iter().zip(tails).map(|(load, tails)| format!("{:.1} packets at {load} %", mean(tails))).collect();
    let measured = measured.join(", ");
    let below =
        |claim_text: &str, most: f64| Statement::mean_within("4", claim_text, 0.0..=most, &tails[2], measured.clone());
    vec![
        below("at 90 % load the 99 % percentile of the queue is less than 25 packets", 25.0),
        below(
            "that is smaller than the burst until rate control has converged, 83 packets at 100 Mbit/s and 10 ms",
            CONVERGING,
        ),
    ]
}

/// Returns the queue that packets find at the receiver's port, in bytes.
fn queue(simulator: &Simulator, load: u64, seed: u64, duration: Time) -> Result<Histogram, Failed> {
    let cabling = Cabling { rate: LINE, ..Cabling::default() };
    let network = std::sync::Arc::new(build::star(SENDERS + 1, cabling).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let (receiver, senders) = hosts.split_last().ok_or_else(|| Failed::broken("no hosts"))?;
    let machine = policy(&network, PolicyLevel::Machine, None, vec![service("bulk", 80, free())])?;
    let mut scenario = Scenario::new("fig. 9", network.clone(), duration);
    scenario.warmup = Time::from_millis(60_000);
    scenario.transport = TransportConfig { congestion: Congestion::cubic(), ..TransportConfig::default() };
    scenario.switches.buffering = Buffering::Unlimited;
    let pair = Rate::from_bits_per_second(LINE.bits_per_second() * load / 100 / SENDERS);
    let limits = StaticLimits { pair_rate: Some(pair), burst: BURST };
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::StaticLimits(limits), machine));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut flows: Vec<FlowSpec> = senders
        .iter()
        .map(|&from| {
            let start = Time::from_nanos(random.random_range(0..1_000_000_000));
            // More than it can send.
            FlowSpec { start, from, to: *receiver, size: Bytes::new(1_000_000_000), queue: None }
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    let mut traffic = Traffic::new(
        "bulk",
        wayleave_scenarios::FlowEndpoints::Pairs(senders.iter().map(|&from| (from, *receiver)).collect()),
        Workload::Listed { flows, transport: None },
    );
    traffic.service = Some("bulk".to_owned());
    scenario.traffic.push(traffic);
    let outcome = simulator.run(&scenario, seed)?;
    let mut found = Histogram::new();
    for queue in outcome.queues.iter().filter(|queue| network.link(queue.link).to == *receiver) {
        found.merge(&queue.counts.found);
    }
    Ok(found)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let at = |tail: f64| LOADS.map(|_| vec![tail, tail + 0.1]);
        assert_each_can_change(
            &at(20.0),
            statements,
            &[("it is longer", &|data| *data = at(30.0)), ("much longer", &|data| *data = at(90.0))],
        );
    }
}
