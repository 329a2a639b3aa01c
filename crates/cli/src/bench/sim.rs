//! Packet-hops per CPU-second, with all statistics on.
//!
//! A packet-hop is one transmission of a data packet or an acknowledgement over one link.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use wayleave_scenarios::{
    Buffering, Collective, CollectiveExchange, Congestion, Discipline, Ecn, FastForward, FlowArrivals, FlowEndpoints,
    Job, PacketKind, PortBehaviour, Reliable, Scenario, Traffic, TransportConfig, Workload,
};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::{Metric, cpu_seconds, peak_rss_mb};

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// As it is called on the command line.
    pub(crate) name: &'static str,
    what: What,
    duration: Time,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Packets as fast as they go.
    Packets(Shape, Load),
    /// uFAB's 512 servers at half of their rate.
    Ufab,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    FatTree(u64),
    Star(u64),
}

#[derive(Clone, Copy, Debug)]
enum Load {
    /// A permutation of constant-rate flows.
    ConstantRate,
    /// The same in every one of eight strict priorities.
    Priorities,
    /// A permutation of endless DCTCP flows.
    Dctcp,
    /// Endless DCTCP flows of all others to one host.
    DctcpIncast,
    /// An all-reduce of 160 MB around a ring of all hosts.
    Ring,
    /// The ring case with steady time skipped.
    RingForward,
}

/// Long enough for a second or more each.
pub(crate) const CASES: &[Case] = &[
    case("k4-cbr", Shape::FatTree(4), Load::ConstantRate, 1_000),
    case("k4-dctcp", Shape::FatTree(4), Load::Dctcp, 500),
    case("k8-dctcp", Shape::FatTree(8), Load::Dctcp, 60),
    case("k16-dctcp", Shape::FatTree(16), Load::Dctcp, 10),
    case("incast64-dctcp", Shape::Star(65), Load::DctcpIncast, 10_000),
    case("k4-8queues", Shape::FatTree(4), Load::Priorities, 500),
    case("ring8", Shape::Star(8), Load::Ring, 400),
    case("ring8-forward", Shape::Star(8), Load::RingForward, 400),
    Case { name: "ufab-512", what: What::Ufab, duration: Time::from_millis(8) },
];

const fn case(name: &'static str, network: Shape, load: Load, milliseconds: u64) -> Case {
    Case { name, what: What::Packets(network, load), duration: Time::from_millis(milliseconds) }
}

/// Runs a case on one thread.
///
/// # Errors
/// The reason, if the machine or the case does not allow it.
pub(crate) fn run(case: Case, seed: u64) -> Result<Vec<Metric>, String> {
    let scenario = of(case)?;
    let before = cpu_seconds();
    // Only the second half is measured, when the number of packets in flight has reached its final level.
    let mut second_half = None;
    let outcome = wayleave_sim::run(&scenario, seed, |now| {
        if now.as_nanos() >= case.duration.as_nanos() / 2 {
            second_half.get_or_insert_with(|| (now, cpu_seconds()));
        }
        true
    })
    .map_err(|error| error.to_string())?;
    let after = cpu_seconds();
    let seconds = after - before;
    let (from, at) = second_half.unwrap_or((Time::ZERO, before));
    let simulated_ms = case.duration.saturating_sub(from).as_nanos() as f64 / 1e6;
    let drops: u64 = outcome.flows.iter().map(|flow| flow.drops).sum();
    let delivered: f64 = outcome.flows.iter().map(|flow| flow.delivered_bytes.get() as f64).sum();
    Ok(vec![
        Metric::new("hops_per_cpu_s", outcome.hops as f64 / seconds, "hops/s"),
        Metric::new("events_per_hop", outcome.events as f64 / outcome.hops as f64, "events"),
        Metric::new("hops", outcome.hops as f64, "hops"),
        Metric::new("cpu_s", seconds, "s"),
        Metric::new("cpu_s_per_ms", (after - at) / simulated_ms, "s"),
        Metric::new("bytes_per_packet", outcome.packet_memory as f64 / outcome.peak_packets as f64, "B"),
        Metric::new("drops", drops as f64, "packets"),
        Metric::new("goodput_gbit", delivered * 8.0 / case.duration.as_nanos() as f64, "Gbit/s"),
        Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"),
    ])
}

/// Runs a case on one thread and then on several. Wall-clock time counts.
///
/// # Errors
/// The reason, if the machine or the case does not allow it: also if the case cannot be divided, or the outcomes
/// differ.
pub(crate) fn run_on(case: Case, seed: u64, threads: NonZeroUsize) -> Result<Vec<Metric>, String> {
    let scenario = of(case)?;
    if let Some(why) = wayleave_sim::obstacle(&scenario) {
        return Err(format!("case {} uses one thread: {why}", case.name));
    }
    let timed = |threads| {
        let begun = Instant::now();
        let outcome = wayleave_sim::run_on(threads, &scenario, seed, |_| true).map_err(|error| error.to_string())?;
        let seconds = begun.elapsed().as_secs_f64();
        let hops = outcome.hops as f64;
        Ok::<_, String>((format!("{:?}", wayleave_sim::Outcome { packet_memory: 0, ..outcome }), hops, seconds))
    };
    let (one, hops, alone) = timed(NonZeroUsize::MIN)?;
    let (several, _, together) = timed(threads)?;
    if one != several {
        return Err(format!("case {}: the outcome on {threads} threads is another one", case.name));
    }
    Ok(vec![
        Metric::new("hops_per_s", hops / together, "hops/s"),
        Metric::new("hops_per_s_one_thread", hops / alone, "hops/s"),
        Metric::new("speedup", alone / together, ""),
        Metric::new("threads", threads.get() as f64, "threads"),
        Metric::new("hops", hops, "hops"),
        Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"),
    ])
}

fn of(case: Case) -> Result<Scenario, String> {
    match case.what {
        What::Packets(network, load) => scenario(case, network, load),
        What::Ufab => super::ufab::scenario(case.name, case.duration),
    }
}

/// 10 Gbit/s and 1 us everywhere; one queue of 1 MB, marks above 65 full packets (DCTCP, section 3.4).
fn scenario(case: Case, network: Shape, load: Load) -> Result<Scenario, String> {
    // Eight queues of 97 kB as in Chameleon, section 5.1.1.
    let (queues, buffer) = if matches!(load, Load::Priorities) { (8, 97_000) } else { (1, 1_000_000) };
    let ports = PortSpec::uniform(queues, Bytes::new(buffer));
    let host_port = PortSpec::uniform(queues, Bytes::MAX);
    let cabling = Cabling {
        rate: Rate::from_gbit(10),
        propagation: Time::from_micros(1),
        switch_port: ports,
        host_port,
        ..Cabling::default()
    };
    let network = match network {
        Shape::FatTree(k) => build::fat_tree(&FatTree { k, cabling, ..FatTree::default() }),
        Shape::Star(hosts) => build::star(hosts, cabling),
    };
    let network = Arc::new(network.map_err(|error| error.to_string())?);
    let mut scenario = Scenario::new(case.name, network.clone(), case.duration);
    scenario.transport = TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() };
    scenario.switches.ecn = Ecn::above(Bytes::new(65 * 1538)).into();
    if matches!(load, Load::Priorities) {
        let strict = PortBehaviour { discipline: Discipline::StrictPriority, ..PortBehaviour::default() };
        scenario.switches = strict.clone();
        scenario.hosts = PortBehaviour { buffering: Buffering::Unlimited, ..strict };
    }
    if matches!(load, Load::RingForward) {
        scenario.fast_forward = Some(FastForward::default());
    }
    scenario.traffic = traffic(load, &network)?;
    Ok(scenario)
}

/// An all-reduce of all hosts.
fn ring(hosts: &[NodeId]) -> Result<Traffic, String> {
    let data = Bytes::new(160_000_000);
    let ring = CollectiveExchange { collective: Collective::RingAllReduce, data, chunks: 1, compute: Time::ZERO };
    let graph = ring.graph(hosts.len() as u32).map_err(|error| error.to_string())?;
    let ranks = hosts.iter().map(|&host| host.into()).collect();
    let job = Job::new(ranks, Arc::new(graph), 1).map_err(|error| error.to_string())?;
    Ok(Traffic::job("ring", job))
}

fn traffic(load: Load, network: &Network) -> Result<Vec<Traffic>, String> {
    let hosts: Vec<NodeId> = network.hosts().collect();
    let constant = |queue: u8, rate: Rate| {
        let (name, kind) = (format!("cbr-{queue}"), PacketKind::ConstantRate { rate });
        let ends = FlowEndpoints::Permutation(hosts.clone());
        Traffic { queue: Some(queue), ..Traffic::packets(&name, ends, kind, Bytes::new(1538)) }
    };
    let endless = |ends: FlowEndpoints| {
        let workload = Workload::Flows(Reliable::new(FlowArrivals::Once, None));
        Traffic { queue: Some(0), ..Traffic::new("bulk", ends, workload) }
    };
    Ok(match load {
        Load::Ring | Load::RingForward => vec![ring(&hosts)?],
        Load::ConstantRate => vec![constant(0, Rate::from_gbit(9))],
        Load::Priorities => (0..8).map(|queue| constant(queue, Rate::from_mbit(1_125))).collect(),
        Load::Dctcp => vec![endless(FlowEndpoints::Permutation(hosts))],
        Load::DctcpIncast => {
            let to = hosts[0];
            vec![endless(FlowEndpoints::Pairs(hosts[1..].iter().map(|&from| (from, to)).collect()))]
        }
    })
}
