//! Table 5: who guarantees what. The ticks of the systems that Wayleave has are measured, packet by packet; those of the
//! others are as the paper prints them.
//!
//! One small experiment for all, on the network of section 5.1: contracts of clock synchronization (Table 1, CS), admitted by
//! the system, all of them sending their bursts at once, with full frames of other traffic on every link. A tick stands for
//! - packet latency: no packet was later than promised, in any attack of `wayleave-verify`;
//! - bandwidth: the rate that was asked for is reserved, and no packet was lost;
//! - burst: a burst of several packets leaves its shaper at once;
//! - work conservation: a lone sender gets most of an idle link.
//!
//! Congestion control promises nothing, so there is nothing to keep; its crosses are shown by what a small packet and a
//! flow saw beside eight others (bandwidth: whether one of eight flows could have half of the link).

use std::sync::Arc;

use wayleave_contracts::{Category, Mix};
use wayleave_ledger::Model;
use wayleave_roles::{Admission, Request};
use wayleave_scenarios::{
    Arrivals, Congestion, Ecn, Ends, PacketKind, Phase, Reliable, Scenario, Traffic, Transport, Workload,
};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::standing::Standing;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};
use wayleave_verify::{Background, Claim, Effort, Promise, verify};

use super::system::{Fast, Qjump, Silo, System};
use super::table5_rows::{ROWS, Row, Tick};
use crate::data::{Figure, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// As many contracts as QJump has places (5.1.1).
const CONTRACTS: usize = 32;
/// A burst of several packets, each of at most 1500 B with its overhead.
const BURST: Bytes = Bytes::new(6_000);
/// How long flows are simulated.
const DURATION: Time = Time::from_millis(100);
/// DCTCP's threshold at 1 Gbit/s: 20 packets (SIGCOMM 2010, section 3.4).
const THRESHOLD: Bytes = Bytes::new(30_000);
/// A lone sender is work-conserving with this share of an idle link.
const MOST: f64 = 0.9;

/// What a system was seen to do.
struct Seen {
    name: &'static str,
    ticks: [Tick; 4],
    /// In words, one for each tick.
    how: [String; 4],
}

#[derive(Clone, Copy)]
enum Job {
    Admission(&'static str, System),
    Transport(&'static str, fn() -> Congestion),
}

/// The systems of the paper's table that are measured, and Wayleave as it is today.
const JOBS: [Job; 5] = [
    Job::Admission("Chameleon", System::Chameleon),
    Job::Admission("Silo", System::Silo(Silo::SHAPED)),
    Job::Admission("QJump", System::Qjump(Qjump { fast: Fast::Refused, ..Qjump::FLAT })),
    Job::Transport("DCTCP", Congestion::dctcp),
    Job::Admission(WAYLEAVE, System::Wayleave),
];
const WAYLEAVE: &str = "Wayleave";

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seen = run.map(&JOBS, |job| match *job {
        Job::Admission(name, system) => admission(name, system),
        Job::Transport(name, congestion) => transport(name, &congestion()),
    })?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut statements = Vec::new();
    for row in ROWS {
        let measured = seen.iter().find(|seen| seen.name == row.name);
        rows.push(cells(row.name, measured.map_or(row.ticks, |seen| seen.ticks), row.switches, measured.is_some()));
        statements.extend(measured.map(|seen| compared(row, seen)));
    }
    let wayleave = seen.iter().filter(|seen| seen.name == WAYLEAVE);
    for seen in wayleave {
        rows.push(cells("Wayleave (today)", seen.ticks, "PQ, VLAN/MPLS or similar", true));
        let is_so = seen.ticks == [Tick::Yes, Tick::Yes, Tick::Yes, Tick::No];
        let says = "not in the paper: Wayleave today has the ticks of Chameleon, and conserves no work either";
        statements.push(
            Statement::claim("-", says, is_so, seen.how.join("; ")).remark(
                "Contracts are as Chameleon's. What they leave idle goes to best effort below them, not to themselves; bandwidth \
                 contracts that conserve work are planned.",
            ),
        );
    }
    let columns = ["system", "packet latency", "bandwidth", "burst", "work conserving", "switches", "source"];
    let table = Table {
        name: "features".to_owned(),
        title: "Guarantees of packet latency, bandwidth and burst, and work conservation".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    };
    let figure = Figure {
        statements,
        tables: vec![table],
        notes: vec![
            "\"measured\": seen packet by packet here. \"the paper\": as it prints it, since Wayleave does not have the system."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure
        .with("network", "fat tree, k = 4, 16 hosts, 8 queues of 97 kB a port, links at 1 Gbit/s")
        .with(
            "contracts",
            "the first 32 requests of clock synchronization (Table 1) of seed 1, under attack by wayleave-verify",
        )
        .with("model", "Wayleave's own: wire bytes, and best effort on every link"))
}

fn cells(name: &str, ticks: [Tick; 4], switches: &str, is_measured: bool) -> Vec<String> {
    let source = if is_measured { "measured" } else { "the paper" };
    let ticks = ticks.map(|tick| tick.name().to_owned());
    [name.to_owned()].into_iter().chain(ticks).chain([switches.to_owned(), source.to_owned()]).collect()
}

fn compared(row: &Row, seen: &Seen) -> Statement {
    let [latency, bandwidth, burst, conserving] = row.ticks.map(Tick::name);
    let says = format!(
        "{}: packet latency {latency}, bandwidth {bandwidth}, burst {burst}, work conserving {conserving}",
        row.name
    );
    Statement::claim("Table 5", says, row.ticks == seen.ticks, seen.how.join("; "))
}

fn network() -> Result<Arc<Network>, Failed> {
    build::fat_tree(&FatTree::default()).map(Arc::new).map_err(Failed::broken)
}

/// A scheme that admits contracts.
fn admission(name: &'static str, system: System) -> Result<Seen, Failed> {
    let (network, model) = (network()?, Model::default());
    let mut scheme = system.with_model(&network, model)?;
    let clocks = Mix::new(&network, 8, 1).filter(|contract| Category::of(contract) == Some(Category::Clock));
    let requests: Vec<Request> = clocks.take(CONTRACTS).map(|of| wayleave_schemes::request(&of, &model)).collect();
    let mut is_reserved = true;
    for request in &requests {
        // A refusal is a guarantee that is not given, not one that is broken.
        let Ok(decision) = scheme.admit(request) else { continue };
        is_reserved &= scheme.held(decision.flow).is_some_and(|held| held.demand.rate >= request.rate);
    }
    let (report, all) = attacked(&scheme, &network, &model)?;
    let packets: u64 = report.findings.iter().map(|finding| finding.packets).sum();
    let lost: u64 = report.findings.iter().map(|finding| finding.drops).sum();
    let worst = report
        .closest(&all)
        .map_or(0.0, |at| report.findings[at].delay_ps as f64 / 10.0 / all.promises[at].bound.as_nanos().max(1) as f64);
    let at_once = burst(&mut system.with_model(&network, model)?, &requests[0])?;
    let lone = lone_contract(&scheme, &network)?;
    let flows = all.promises.len();
    Ok(Seen {
        name,
        ticks: [report.is_sound() && flows > 0, is_reserved && lost == 0, at_once >= BURST, lone >= MOST].map(Tick::of),
        how: [
            format!(
                "{flows} contracts, {packets} packets, {} late, the worst at {worst:.0} % of its bound",
                report.violations.len()
            ),
            format!("{lost} lost, the rate {}", if is_reserved { "reserved" } else { "not reserved" }),
            format!("{at_once} of a burst of {BURST} leave at once"),
            format!("alone, a contract gets {:.2} % of an idle link", 100.0 * lone),
        ],
    })
}

fn attacked(
    scheme: &Scheme,
    network: &Arc<Network>,
    model: &Model,
) -> Result<(wayleave_verify::Verification, Claim), Failed> {
    let promise = |flow| {
        let held = scheme.held(flow)?;
        let carried = held.route.hops.iter().map(|hop| model.largest_frame(network.link(hop.link)));
        let frame = carried.chain(held.demand.max_frame).min()?;
        let (route, rate, burst) = (held.route.clone(), held.demand.rate, held.demand.burst);
        Some(Promise { name: format!("{flow:?}"), route, rate, burst, frame, bound: held.released, today: None })
    };
    let largest = network.links().map(|(_, link)| model.largest_frame(link)).collect();
    let claim = Claim {
        network: network.clone(),
        background: Background::Saturating { largest },
        promises: scheme.flows().into_iter().filter_map(promise).collect(),
        protected: Vec::new(),
        order: wayleave_verify::Order::Free,
        services: Vec::new(),
    };
    let report = verify(&claim, &Effort::QUICK, None, |_, _| true).map_err(Failed::broken)?;
    Ok((report, claim))
}

/// How much of a burst of several packets leaves the shaper at once.
fn burst(scheme: &mut Scheme, like: &Request) -> Result<Bytes, Failed> {
    let request = Request { burst: BURST, deadline: Time::from_millis(50), ..like.clone() };
    let decision = scheme.admit(&request).map_err(|refusal| Failed::broken(format!("no burst: {refusal:?}")))?;
    Ok(scheme.held(decision.flow).map_or(Bytes::ZERO, |held| held.demand.burst))
}

/// The share of an idle link that a contract gets, which always has something to send.
fn lone_contract(scheme: &Scheme, network: &Arc<Network>) -> Result<f64, Failed> {
    let Some(held) = scheme.flows().first().and_then(|&flow| scheme.held(flow)) else { return Ok(0.0) };
    let (Some(first), Some(last)) = (held.route.hops.first(), held.route.hops.last()) else { return Ok(0.0) };
    let ends = Ends::Pairs(vec![(network.link(first.link).from, network.link(last.link).to)]);
    let kind = PacketKind::TokenBucket { rate: held.demand.rate, burst: held.demand.burst, phase: Phase::Together };
    let frame = held.demand.burst.min(Bytes::new(1500));
    let mut scenario = Scenario::new("lone contract", network.clone(), DURATION);
    scenario.traffic.push(Traffic::packets("contract", ends, kind, frame));
    let outcome = wayleave_sim::run(&scenario, 1, |_| true).map_err(Failed::broken)?;
    let rate = network.link(first.link).rate;
    Ok(outcome.flows.iter().map(|flow| share(flow.delivered_bytes, rate)).sum())
}

/// Of a link, over the whole time.
fn share(bytes: Bytes, rate: Rate) -> f64 {
    bytes.bits() as f64 / (rate.bits_per_second() as f64 * DURATION.as_nanos() as f64 / 1e9)
}

/// Congestion control: alone, and beside eight other senders to the same host, with a small packet now and then.
fn transport(name: &'static str, congestion: &Congestion) -> Result<Seen, Failed> {
    let network = network()?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let run = |senders: &[NodeId]| {
        let mut scenario = Scenario::new(name, network.clone(), DURATION);
        scenario.transport = Transport { congestion: congestion.clone(), ..Transport::default() };
        scenario.switches.ecn = Ecn::above(THRESHOLD).into();
        let pairs = Ends::Pairs(senders.iter().map(|&from| (from, hosts[0])).collect());
        let flows = Reliable::new(Arrivals::Once, None);
        // Nobody is a way to hear the probe alone.
        if !senders.is_empty() {
            scenario.traffic.push(Traffic::new("flows", pairs, Workload::Flows(flows)));
        }
        let probe = Ends::Pairs(vec![(hosts[15], hosts[0])]);
        let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(1) };
        scenario.traffic.push(Traffic::packets("probe", probe, kind, Bytes::new(300)));
        wayleave_sim::run(&scenario, 1, |_| true).map_err(Failed::broken)
    };
    let gbit = Rate::from_gbit(1);
    let of = |outcome: &wayleave_sim::Outcome, name: &str| -> Vec<wayleave_sim::FlowOutcome> {
        outcome.flows.iter().filter(|flow| outcome.traffic[flow.traffic].name == name).cloned().collect()
    };
    let lone: f64 = of(&run(&hosts[1..2])?, "flows").iter().map(|flow| share(flow.payload, gbit)).sum();
    let crowd = run(&hosts[4..12])?;
    let least = of(&crowd, "flows").iter().map(|flow| share(flow.payload, gbit)).fold(1.0, f64::min);
    let probe = of(&crowd, "probe");
    let slowest = probe.iter().filter_map(|flow| flow.delay.max()).max().unwrap_or(0);
    let idle = of(&run(&[])?, "probe").iter().filter_map(|flow| flow.delay.max()).max().unwrap_or(0);
    let drops: u64 = crowd.flows.iter().map(|flow| flow.drops).sum();
    Ok(Seen {
        name,
        // Nothing is promised: neither a time, nor a rate, nor room for a burst.
        ticks: [false, least >= 0.5, false, lone >= MOST].map(Tick::of),
        how: [
            format!(
                "no bound; beside eight flows a small packet took up to {:.0} us, {:.0} us alone",
                slowest as f64 / 1e6,
                idle as f64 / 1e6
            ),
            format!("of eight flows one got {:.0} % of the link", 100.0 * least),
            format!("nothing is kept free for a burst; {drops} packets lost"),
            format!("alone, a flow gets {:.0} % of an idle link", 100.0 * lone),
        ],
    })
}
