//! Systems that promise bandwidth or nothing at all: one host sends to a receiver to which eight others send as much as they can.
//!
//! The one has a guarantee of half of the receiver's link, where the system knows guarantees. Beside its flow it sends small packets now and
//! then, and bursts of four packets. A system that names no bound for a packet is held against the least that any could promise: what the packet
//! takes alone, and one frame before it on each link.

use std::sync::Arc;

use wayleave_contracts::{Policy, PolicyLevel};
use wayleave_scenarios::{
    Congestion, Ecn, FlowArrivals, FlowEndpoints, HostSchemeConfig, PacketKind, Reliable, Scenario, Sharing,
    StartPhase, Traffic, TransportConfig, Workload,
};
use wayleave_sim::{FlowOutcome, Outcome};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::contracts::share;
use super::rows::Tick;
use super::seen::{MAX, ObservedProperties};
use crate::failed::Failed;
use crate::policies::{self, minimum, service};
use crate::simulator::Simulator;

/// Of a rack: a receiver and nine senders.
const HOSTS: usize = 10;
const LINE: Rate = Rate::from_gbit(10);
/// The first half is not counted: limiters converge, the slowest are ElasticSwitch's with a round every 15 ms.
const WARMUP: Time = Time::from_millis(500);
const DURATION: Time = Time::from_millis(1_000);
/// Of the receiver's link, of the one and of the eight others together.
const GUARANTEES: [Rate; 2] = [Rate::from_gbit(5), Rate::from_gbit(3)];
/// A guarantee is kept if at least this share arrives as payload: headers take a twentieth of a link.
const KEPT: f64 = 0.9;
/// DCTCP's threshold at 10 Gbit/s: 65 packets (SIGCOMM 2010, section 3.4).
const THRESHOLD: Bytes = Bytes::new(97_500);
/// A full frame on the wire takes this long on a link; a packet passes two links.
const FRAMES: Time = Time::from_nanos(2 * 1_538 * 8 / 10);
/// Four packets at once.
const BURST: Bytes = Bytes::new(6_000);

const ONE: &str = "one";
const OTHERS: &str = "others";

/// Scheme that shares the network, if any.
pub(super) type Shares = Option<fn() -> HostSchemeConfig>;

/// Measures a system.
pub(super) fn sharing(simulator: &Simulator, name: &'static str, shares: Shares) -> Result<ObservedProperties, Failed> {
    let cabling = Cabling { rate: LINE, ..Cabling::default() };
    // Everything stays in the first rack, whose uplinks a rack broker of Parley monitors.
    let racks =
        LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: HOSTS as u64, parallel: 1, uplink_rate: None, cabling };
    let network = Arc::new(build::leaf_spine(&racks).map_err(Failed::broken)?);
    let hosts: Vec<NodeId> = network.hosts().take(HOSTS).collect();
    let run = |cross_traffic: CrossTraffic| -> Result<Outcome, Failed> {
        let scenario = scenario(name, &network, &hosts, shares.map(|scheme| scheme()), cross_traffic)?;
        simulator.run(&scenario, 1)
    };
    let (idle, lone, many) = (run(CrossTraffic::Nobody)?, run(CrossTraffic::Flow)?, run(CrossTraffic::Many)?);
    let of_link =
        |outcome: &Outcome| flows(outcome, ONE).map(|flow| share(flow.payload, LINE, DURATION - WARMUP)).sum::<f64>();
    let slowest =
        |outcome: &Outcome, name: &str| flows(outcome, name).filter_map(|flow| flow.delay.max()).max().unwrap_or(0);
    let drops = |name: &str| flows(&many, name).map(|flow| flow.drops).sum::<u64>();
    let bound = |name: &str| slowest(&idle, name) + FRAMES.as_nanos() * 1_000;
    let is_kept = |name: &str| slowest(&many, name) <= bound(name) && drops(name) == 0;
    let times = |name: &str| {
        let us = |ps: u64| ps as f64 / 1e6;
        format!(
            "up to {:.0} us beside eight flows, {:.0} us alone, {} lost",
            us(slowest(&many, name)),
            us(slowest(&idle, name)),
            drops(name)
        )
    };
    let half = GUARANTEES[0].bits_per_second() as f64 / LINE.bits_per_second() as f64;
    let (of_many, of_lone) = (of_link(&many), of_link(&lone));
    Ok(ObservedProperties {
        name,
        ticks: [is_kept(PROBE), of_many >= KEPT * half, is_kept(BURSTS), of_lone >= MAX].map(Tick::of),
        how: [
            format!("a small packet takes {}", times(PROBE)),
            format!(
                "beside eight flows one gets {:.0} % of the link; half of it is guaranteed where that is known",
                100.0 * of_many
            ),
            format!("the packets of a burst of {BURST} take {}", times(BURSTS)),
            format!("alone, a flow gets {:.0} % of an idle link", 100.0 * of_lone),
        ],
    })
}

fn flows<'a>(outcome: &'a Outcome, name: &'a str) -> impl Iterator<Item = &'a FlowOutcome> {
    outcome.flows.iter().filter(move |flow| outcome.traffic[flow.traffic].name == name)
}

const PROBE: &str = "probe";
const BURSTS: &str = "bursts";

/// Senders besides small packets and bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrossTraffic {
    Nobody,
    Flow,
    Many,
}

fn scenario(
    name: &str,
    network: &Arc<Network>,
    hosts: &[NodeId],
    scheme: Option<HostSchemeConfig>,
    cross_traffic: CrossTraffic,
) -> Result<Scenario, Failed> {
    let mut scenario = Scenario::new(name, network.clone(), DURATION);
    scenario.warmup = WARMUP;
    scenario.transport = TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() };
    scenario.switches.ecn = Ecn::above(THRESHOLD).into();
    if let Some(scheme) = scheme {
        let policy = |level| policy(network, level);
        let rack = matches!(scheme, HostSchemeConfig::Parley(_)).then(|| policy(PolicyLevel::Rack)).transpose()?;
        scenario.sharing = Some(Sharing { rack, ..Sharing::new(scheme, policy(PolicyLevel::Machine)?) });
    }
    let shares = scenario.sharing.is_some();
    let mut add = |traffic: Traffic, service: &str| {
        let service = shares.then(|| service.to_owned());
        scenario.traffic.push(Traffic { service, ..traffic });
    };
    let to_first = |senders: &[NodeId]| FlowEndpoints::Pairs(senders.iter().map(|&from| (from, hosts[0])).collect());
    let endless = || Workload::Flows(Reliable::new(FlowArrivals::Once, None));
    if cross_traffic != CrossTraffic::Nobody {
        add(Traffic::new(ONE, to_first(&hosts[1..2]), endless()), ONE);
    }
    if cross_traffic == CrossTraffic::Many {
        add(Traffic::new(OTHERS, to_first(&hosts[2..]), endless()), OTHERS);
    }
    if cross_traffic != CrossTraffic::Flow {
        let small = PacketKind::ConstantRate { rate: Rate::from_mbit(1) };
        add(Traffic::packets(PROBE, to_first(&hosts[1..2]), small, Bytes::new(300)), ONE);
        let bursts = PacketKind::TokenBucket { rate: Rate::from_mbit(1), burst: BURST, phase: StartPhase::Together };
        // Once everything has settled.
        let mut traffic = Traffic::packets(BURSTS, to_first(&hosts[1..2]), bursts, Bytes::new(1_500));
        traffic.start = WARMUP;
        add(traffic, ONE);
    }
    Ok(scenario)
}

fn policy(network: &Network, level: PolicyLevel) -> Result<Policy, Failed> {
    let service = |name, port, guarantee| service(name, port, minimum(Some(guarantee)));
    let services = vec![service(ONE, 80, GUARANTEES[0]), service(OTHERS, 81, GUARANTEES[1])];
    policies::policy(network, level, None, services)
}
