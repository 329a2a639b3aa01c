//! One scenario under each system.
//!
//! All tenants have equal requests. A system gives each kind of tenants its matching mechanism; the rest uses DCTCP.
//! Shapers hold the latency contracts that a system admits to their token buckets, regardless of the tenants' load;
//! without shapers, three times this traffic is sent.

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Ecn, Element, ElementChange, FlowArrivals, FlowEndpoints, FlowSizes,
    HostSchemeConfig, Outage, PacketKind, Parley, Period, PortEcn, Reliable, Routing, Scenario, Schedule, SchemeOf,
    Sharing, StartPhase, StaticLimits, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::host::scc;
use wayleave_schemes::host::ufab;
use wayleave_schemes::path::presto;
use wayleave_topology::{Class, Classes, NodeId, StrictResidual};
use wayleave_units::{Bytes, Rate, Time};

use super::tenants::{Admitted, BEST_EFFORT, BUFFER, DIVISIONS, HOSES, LATENCY, LINE, Objectives, Size, Stage, policy};
use crate::failed::Failed;

/// System that keeps promises, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// All classes: contracts by Chameleon's placement, hoses by uFAB, objectives by SCC, each in its queues.
    OneFabric,
    /// Latency contracts in seven queues; everything else below, by DCTCP.
    Chameleon,
    /// Everything in uFAB's windows.
    Ufab,
    /// Everything in Parley's shapers.
    Parley,
    /// QJump's highest priority for admitted traffic; everything else below, by DCTCP.
    Qjump,
    /// Nothing: hashes and DCTCP.
    Dctcp,
    /// Nothing: hashes and CUBIC.
    Cubic,
}

impl System {
    pub(super) const ALL: [Self; 7] =
        [Self::OneFabric, Self::Chameleon, Self::Ufab, Self::Parley, Self::Qjump, Self::Dctcp, Self::Cubic];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::OneFabric => "one fabric",
            Self::Chameleon => "Chameleon",
            Self::Ufab => "uFAB",
            Self::Parley => "Parley",
            Self::Qjump => "QJump",
            Self::Dctcp => "ECMP+DCTCP",
            Self::Cubic => "ECMP+CUBIC",
        }
    }

    /// Returns `true` if the deadlines of latency contracts are promised.
    pub(super) const fn promises_latency(self) -> bool {
        matches!(self, Self::OneFabric | Self::Chameleon | Self::Qjump)
    }
}

/// Length of the intervals in which arriving traffic is counted.
pub(super) const BIN: Time = Time::from_micros(500);
/// Duration of one pattern of hoses.
pub(super) const PATTERN: Time = Time::from_millis(4);
/// Period in which latency tenants send together, at their fastest: their buckets are full again when the next one
/// begins.
const ROUND: Time = Time::from_millis(2);
const ROUND_ON: Time = Time::from_micros(800);
/// Flows of one division.
const SENDERS: usize = 1_000;
/// A small message of best effort.
const MESSAGE: Bytes = Bytes::new(20_000);
/// DCTCP's threshold at 10 Gbit/s: 65 packets (SIGCOMM 2010, section 3.4).
const THRESHOLD: Bytes = Bytes::new(97_500);

/// SCC takes it that the fabric spreads flowcells over all paths (III-A). One packet each: those of 64 kB are longer than the queue above which ports
/// mark, so that cells that meet look like a full link (docs/theory/fabric.md).
const CELL: Bytes = Bytes::new(1_460);
/// Time without acknowledgements after which a path is left out. Objectives and best effort wait for less than this,
/// even behind bursts of contracts.
const SILENCE: Time = Time::from_millis(2);

/// The switch that dies.
pub(super) const DEAD: &str = "core1";

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) system: System,
    pub(super) size: Size,
    pub(super) duration: Time,
    /// `true` if a core switch dies.
    pub(super) fails: bool,
    /// `true` if hoses turn to all-to-one and back; otherwise they stay in their permutation.
    pub(super) flips: bool,
}

impl Case {
    /// One fabric, with nothing that dies.
    pub(super) const fn one_fabric(size: Size, duration: Time) -> Self {
        Self { system: System::OneFabric, size, duration, fails: false, flips: true }
    }

    /// Returns the time when the switch dies: in the middle of a permutation, in which all hose traffic passes the
    /// cores. All-to-one traffic is limited at its receivers, and would not miss a core. Runs last a multiple of four
    /// patterns.
    pub(super) fn dies_at(&self) -> Time {
        Time::from_nanos(self.duration.as_nanos() / 4 * 3 - PATTERN.as_nanos() / 2)
    }
}

/// A run with its promises.
pub(super) struct Set {
    pub(super) stage: Stage,
    pub(super) scenario: Scenario,
    pub(super) admitted: Vec<Admitted>,
    pub(super) residuals: Vec<StrictResidual>,
    pub(super) hose: Rate,
    /// By traffic, the latency contract that it belongs to.
    pub(super) contract_of: Vec<Option<usize>>,
}

/// Sets a run up.
pub(super) fn set(case: Case, seed: u64) -> Result<Set, Failed> {
    let stage = Stage::new(case.size, seed)?;
    let classes = Classes::default();
    let (in_classes, residuals) = stage.chameleon(Some(classes))?;
    let hose = stage.hose(&stage.shared_link(classes), &residuals);
    let admitted = match case.system {
        System::OneFabric => in_classes,
        System::Chameleon => stage.chameleon(None)?.0,
        System::Qjump => stage.qjump(),
        System::Ufab | System::Parley | System::Dctcp | System::Cubic => stage.all_tenants(),
    };
    let mut scenario = Scenario::new(case.system.name(), stage.network.clone(), case.duration);
    scenario.record.promises = true;
    scenario.record.carried_from = Time::from_nanos(case.duration.as_nanos() / 2);
    scenario.record.series = Some(BIN);
    let mut contract_of = Vec::new();
    for (number, admitted) in admitted.iter().enumerate() {
        let rounds = case.duration.as_nanos() / ROUND.as_nanos();
        for round in 0..rounds {
            scenario.traffic.push(contract(case.system, admitted, round));
            contract_of.push(Some(number));
        }
    }
    tenants(&stage, case, seed, &mut scenario.traffic);
    contract_of.resize(scenario.traffic.len(), None);
    ports(case.system, &mut scenario);
    if case.system == System::OneFabric {
        scenario.routing = Routing::Flowcells(presto::Spreading { size: CELL, path_timeout: Some(SILENCE) });
    }
    share(case.system, &stage, hose, &residuals, &mut scenario)?;
    // A core switch dies, without a notification.
    if let Some(core) = stage.network.find_node(DEAD).filter(|_| case.fails) {
        let at = case.dies_at();
        scenario.outages.push(Outage { at, what: Element::Switch(core), change: ElementChange::FailsSilently });
    }
    Ok(Set { stage, scenario, admitted, residuals, hose, contract_of })
}

/// One round of a latency tenant.
fn contract(system: System, admitted: &Admitted, round: u64) -> Traffic {
    let contract = &admitted.contract;
    let times = if system.promises_latency() { 1 } else { 3 };
    let kind = PacketKind::TokenBucket {
        rate: Rate::from_bits_per_second(contract.rate.bits_per_second() * times),
        burst: Bytes::new(contract.burst.get() * times),
        phase: StartPhase::Together,
    };
    let ends = FlowEndpoints::Pairs(vec![(contract.from, contract.to)]);
    let mut traffic = Traffic::packets(
        &format!("{} {round}", contract.name),
        ends,
        kind,
        contract.max_frame.unwrap_or(contract.burst),
    );
    traffic.route.clone_from(&admitted.route);
    traffic.queue = Some(0);
    traffic.service = Some(LATENCY.to_owned());
    traffic.start = Time::from_nanos(ROUND.as_nanos() * round);
    traffic.stop = Some(traffic.start + ROUND_ON);
    traffic
}

/// All other tenants.
fn tenants(stage: &Stage, case: Case, seed: u64, all: &mut Vec<Traffic>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x0b1e_c717);
    let hosts = &stage.hosts;
    let add = |name: &str, service: &str, queue: Class, pairs: Vec<(NodeId, NodeId)>, sizes: Option<FlowSizes>| {
        let arrivals = match sizes {
            Some(_) => FlowArrivals::Every(Time::from_millis(1)),
            None => FlowArrivals::Once,
        };
        let mut reliable = Reliable::new(arrivals, sizes);
        reliable.transport = Some(transport(case.system, queue));
        let mut traffic = Traffic::new(name, FlowEndpoints::Pairs(pairs), Workload::Flows(reliable));
        traffic.service = Some(service.to_owned());
        traffic.queue = Some(self::queue(case.system, queue));
        traffic
    };
    let mut permutation = || {
        let mut order: Vec<NodeId> = hosts.clone();
        order.shuffle(&mut random);
        (0..order.len()).map(|at| (order[at], order[(at + 1) % order.len()])).collect::<Vec<_>>()
    };
    for (number, name) in HOSES.iter().enumerate() {
        let to = hosts[number * hosts.len() / HOSES.len()];
        let everybody = hosts.iter().filter(|&&host| host != to).map(|&host| (host, to)).collect();
        let spread = add(&format!("{name} spread"), name, Class::Guaranteed, permutation(), None);
        if !case.flips {
            all.push(spread);
            continue;
        }
        let to_one = add(&format!("{name} flips"), name, Class::Guaranteed, everybody, None);
        for (mut traffic, from) in [(spread, Time::ZERO), (to_one, PATTERN)] {
            traffic.active = Some(Schedule { periods: vec![Period { from, on: PATTERN, off: Some(PATTERN) }] });
            all.push(traffic);
        }
    }
    for (name, ..) in DIVISIONS {
        let pairs = permutation();
        all.push(add(name, name, Class::Objective, pairs, None));
    }
    let pairs = permutation();
    all.push(add("best long", BEST_EFFORT, Class::BestEffort, pairs, None));
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xc20d);
    let senders = (0..SENDERS).map(|_| {
        let from = random.random_range(0..hosts.len());
        (hosts[from], hosts[(from + random.random_range(1..hosts.len())) % hosts.len()])
    });
    all.push(add("cs crowd", "cs", Class::Objective, senders.collect(), None));
    let incast = hosts[1..9].iter().map(|&host| (host, hosts[0])).collect();
    all.push(add("best messages", BEST_EFFORT, Class::BestEffort, incast, Some(FlowSizes::Fixed(MESSAGE))));
}

/// The queue of a class.
fn queue(system: System, class: Class) -> u8 {
    match system {
        System::OneFabric => Classes::default().queue_of(class),
        System::Chameleon | System::Qjump => 7,
        System::Ufab | System::Parley | System::Dctcp | System::Cubic => 0,
    }
}

fn transport(system: System, class: Class) -> TransportConfig {
    // uFAB's windows are the only ones: its edge is the transport's congestion control (4.1).
    const PACKETS: u32 = 10_000;
    let windows = || TransportConfig {
        congestion: Congestion::fixed_window(PACKETS),
        initial_window: PACKETS,
        max_window: PACKETS,
        ..TransportConfig::default()
    };
    let congestion = |congestion| TransportConfig { congestion, ..TransportConfig::default() };
    match (system, class) {
        (System::OneFabric, Class::Guaranteed) | (System::Ufab, _) => windows(),
        (System::Cubic, _) => congestion(Congestion::cubic()),
        _ => congestion(Congestion::dctcp()),
    }
}

fn ports(system: System, scenario: &mut Scenario) {
    let classes = Classes::default();
    let discipline = match system {
        System::OneFabric => {
            let weights = Class::SHARING.iter().map(|&class| u32::from(classes.weight(class))).collect();
            Discipline::StrictOverWeighted { strict: classes.latency, weights }
        }
        System::Chameleon | System::Qjump => Discipline::StrictPriority,
        System::Ufab | System::Parley | System::Dctcp | System::Cubic => Discipline::Fifo,
    };
    scenario.hosts.discipline = discipline.clone();
    scenario.switches.discipline = discipline;
    // As much in one queue as in eight.
    let buffer = if scenario.switches.discipline == Discipline::Fifo { 8 * BUFFER.get() } else { BUFFER.get() };
    scenario.switches.buffering = Buffering::EachQueue(Bytes::new(buffer));
    scenario.switches.ecn = match system {
        // Bytes of the own queue, as many as the line carries in a round trip.
        System::OneFabric => {
            let round_trip = scenario.network.longest_round_trip(|_| super::tenants::FRAME);
            let marks = LINE.bits_per_second() as u128 * u128::from(round_trip.as_nanos()) / 8_000_000_000;
            let marks = Some(Ecn::above(Bytes::new(marks as u64)));
            PortEcn::PerQueue(vec![None, None, None, None, None, None, marks.clone(), marks])
        }
        System::Chameleon | System::Qjump | System::Parley | System::Dctcp => Ecn::above(THRESHOLD).into(),
        System::Ufab | System::Cubic => PortEcn::default(),
    };
}

fn share(
    system: System,
    stage: &Stage,
    hose: Rate,
    residuals: &[StrictResidual],
    scenario: &mut Scenario,
) -> Result<(), Failed> {
    let unlimited = || HostSchemeConfig::StaticLimits(StaticLimits::default());
    let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    // Without contracts, their tenants have a minimum that carries them all.
    let latency = Some(Rate::from_mbit(1_000));
    let machine = |objectives, latency| policy(stage, PolicyLevel::Machine, hose, objectives, latency);
    let sharing = match system {
        System::OneFabric => {
            let line = |residual: &StrictResidual| LINE.saturating_sub(residual.rate);
            scenario.reserved = residuals.iter().map(line).collect();
            let params = scc::Params::below_classes(Time::from_micros(100));
            let mut sharing = Sharing::new(HostSchemeConfig::Scc(params), machine(Objectives::Divisions, None)?);
            let settings = ufab::Settings::beside_other_classes();
            sharing.other_schemes.push(SchemeOf { scheme: HostSchemeConfig::Ufab(settings), services: named(&HOSES) });
            sharing.other_schemes.push(SchemeOf { scheme: unlimited(), services: named(&[LATENCY, BEST_EFFORT]) });
            sharing
        }
        System::Ufab => {
            Sharing::new(HostSchemeConfig::Ufab(ufab::Settings::default()), machine(Objectives::Minima, latency)?)
        }
        System::Parley => {
            let rack = policy(stage, PolicyLevel::Rack, hose, Objectives::Minima, latency)?;
            let machine = machine(Objectives::Minima, latency)?;
            Sharing { rack: Some(rack), ..Sharing::new(HostSchemeConfig::Parley(Parley::default()), machine) }
        }
        // Nothing is limited; what arrives is measured against the same minima.
        System::Chameleon | System::Qjump | System::Dctcp | System::Cubic => {
            Sharing::new(unlimited(), machine(Objectives::Minima, None)?)
        }
    };
    scenario.sharing = Some(sharing);
    Ok(())
}
