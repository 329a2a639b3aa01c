//! Random scenarios: every port, transport, routing and workload with every other, with failures in the middle. In
//! any combination a run ends, twice with the same outcome, traced or not, and every lost packet is counted.
//!
//! `SIM_CASES` sets the number of cases, `SIM_CASE` replays one.

use std::num::NonZeroU16;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_scenarios::{
    BrokerAt, Buffering, Congestion, Deadline, Discipline, Ecn, ElasticSwitch, Element, ElementChange, Endpoint, Eyeq,
    FabricBrokerAt, FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig, MessageFaults, OnOff, Outage, Pacing,
    PacketKind, Parley, Period, PortBehaviour, PortEcn, Red, Reliable, Routing, Rpc, RpcServer, Scenario, ScenarioVm,
    Schedule, SendSchedule, SharedService, Sharing, SharingChange, SharingEvent, StartPhase, StaticLimits, Traffic,
    TransportConfig, Workload,
};
use wayleave_schemes::path::flowlet;
use wayleave_schemes::path::presto;
use wayleave_sim::{Outcome, run};
use wayleave_topology::builders::{Cabling, Chain, FatTree, LeafSpine, build};
use wayleave_topology::{LinkId, Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

const CASES: u64 = 300;

/// Generator of one case.
struct Maker {
    rng: ChaCha8Rng,
}

impl Maker {
    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices.choose(&mut self.rng).unwrap().clone()
    }

    fn network(&mut self) -> Network {
        let rates = [10, 100, 1_000, 3_000, 10_000, 100_000].map(Rate::from_mbit);
        let queues = self.rng.random_range(1..=8);
        let buffer = Bytes::new(self.rng.random_range(1_600..200_000));
        let cabling = Cabling {
            rate: self.of(&rates),
            propagation: Time::from_nanos(self.rng.random_range(0..20_000)),
            switch_port: PortSpec::uniform(queues, buffer),
            host_port: PortSpec::uniform(self.rng.random_range(1..=8), Bytes::MAX),
            ..Cabling::default()
        };
        match self.rng.random_range(0..4) {
            0 => build::star(self.rng.random_range(2..8), cabling),
            1 => build::line(&Chain { switches: 3, hosts_per_switch: 2, cabling }),
            2 => build::leaf_spine(&LeafSpine { leaves: 3, spines: 2, cabling, ..LeafSpine::default() }),
            _ => build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }),
        }
        .unwrap()
    }

    fn ports(&mut self, most_queues: usize) -> PortBehaviour {
        let weights: Vec<u32> = (0..most_queues).map(|_| self.rng.random_range(1..9)).collect();
        let strict = self.rng.random_range(0..=most_queues);
        let below = weights[strict..].to_vec();
        let disciplines = [
            Discipline::Fifo,
            Discipline::StrictPriority,
            Discipline::DeficitRoundRobin { weights },
            Discipline::StrictOverWeighted { strict: strict as u8, weights: below },
            Discipline::SmallestRemainingFirst,
        ];
        let total = Bytes::new(self.rng.random_range(5_000..500_000));
        let alpha = self.of(&[0.1, 1.0, 8.0]);
        let buffers =
            [Buffering::AsBuilt, Buffering::EachQueue(total), Buffering::Unlimited, Buffering::Shared { total, alpha }];
        let red = Ecn::Red(Red { min: Bytes::new(5_000), max: Bytes::new(50_000), probability: 0.2, weight: 0.1 });
        let marks = [None, Some(Ecn::above(Bytes::new(20_000))), Some(red)];
        let discipline = self.of(&disciplines);
        let queues = if discipline.has_one_queue() { 1 } else { most_queues };
        let by_queue = PortEcn::PerQueue((0..queues).map(|_| self.of(&marks)).collect());
        let same = self.of(&marks).into();
        PortBehaviour {
            discipline,
            buffering: self.of(&buffers),
            ecn: self.of(&[same, by_queue]),
            telemetry: self.rng.random_bool(0.3),
        }
    }

    fn transport(&mut self) -> TransportConfig {
        let kinds = [Congestion::fixed_window(7), Congestion::newreno(), Congestion::cubic(), Congestion::dctcp()];
        TransportConfig {
            congestion: self.of(&kinds),
            min_timeout: Time::from_micros(self.of(&[200, 1_000, 10_000])),
            pacing: self.of(&[Pacing::Off, Pacing::Window]),
            ..TransportConfig::default()
        }
    }

    fn ends(&mut self, hosts: &[NodeId]) -> FlowEndpoints {
        let (first, others) = (hosts[0], hosts[1..].to_vec());
        let all = hosts.to_vec();
        self.of(&[
            FlowEndpoints::Pairs(vec![(first, others[0])]),
            FlowEndpoints::Permutation(all.clone()),
            FlowEndpoints::AllToAll(others, vec![first]),
            FlowEndpoints::Random(all.clone(), all),
        ])
    }

    fn workload(&mut self) -> Workload {
        let rate = Rate::from_mbit(self.of(&[1, 50, 900]));
        let time = Time::from_micros(self.rng.random_range(1..3_000));
        let kinds = [
            PacketKind::TokenBucket {
                rate,
                burst: Bytes::new(20_000),
                phase: self.of(&[StartPhase::Together, StartPhase::Colliding, StartPhase::Random]),
            },
            PacketKind::ConstantRate { rate },
            PacketKind::OnOff(OnOff { rate, on: time, off: time }),
            PacketKind::Poisson { rate },
        ];
        let sizes = [
            FlowSizes::Fixed(Bytes::new(1)),
            FlowSizes::Uniform(Bytes::new(1), Bytes::new(60_000)),
            FlowSizes::Exponential(Bytes::new(20_000)),
            FlowSizes::published("web-search").unwrap(),
        ];
        let answer = self.of(&sizes);
        let arrivals = [
            FlowArrivals::Once,
            FlowArrivals::Load(0.3),
            FlowArrivals::PerSecond(5_000.0),
            FlowArrivals::Every(Time::from_micros(700)),
            FlowArrivals::Rpc(Rpc { outstanding: 2, think_time: time, ..Rpc::new(answer) }),
            FlowArrivals::Uniform { mean: time, connections: self.of(&[None, Some(2)]) },
        ];
        if self.rng.random_bool(0.4) {
            let frame = Bytes::new(self.rng.random_range(64..=1_538));
            return Workload::Packets { kind: self.of(&kinds), frame };
        }
        let (sizes, mut arrivals) = (self.of(&sizes), self.of(&arrivals));
        if sizes.mean() < 10_000.0 && matches!(arrivals, FlowArrivals::Load(_)) {
            // As a share of 100 Gbit/s these would be billions of flows.
            arrivals = FlowArrivals::PerSecond(20_000.0);
        }
        let mut reliable = Reliable::new(arrivals, Some(sizes));
        reliable.deadline = self.of(&[None, Some(Deadline::Fixed(time))]);
        reliable.transport = self.of(&[None, Some(TransportConfig::default())]);
        Workload::Flows(reliable)
    }

    /// One thing fails, and perhaps works again.
    fn outages(&mut self, network: &Network) -> Vec<Outage> {
        let links: Vec<LinkId> = network.links().map(|(id, _)| id).collect();
        let switches: Vec<NodeId> = network.switches().collect();
        let what = [Element::Link(self.of(&links)), Element::Switch(self.of(&switches))];
        let what = self.of(&what);
        let [first, then] = [700, 1_500].map(Time::from_micros);
        let fails = Outage { at: first, what, change: self.of(&[ElementChange::Fails, ElementChange::FailsSilently]) };
        let works = Outage { at: then, what, change: ElementChange::Works };
        self.of(&[vec![], vec![fails], vec![fails, works]])
    }

    /// Two services at every host, under any scheme; levels of policies where there are brokers, which may fail.
    fn sharing(&mut self, network: &Network) -> Option<Sharing> {
        let time = Time::from_micros(self.rng.random_range(20..500));
        let bytes = Bytes::new(self.rng.random_range(100..100_000));
        let eyeq = Eyeq { interval: self.of(&[Eyeq::default().interval, time]), pair_burst: bytes, ..Eyeq::default() };
        let place = self.of(&[FabricBrokerAt::Outside(time), FabricBrokerAt::Host(network.hosts().next()?)]);
        let parley = Parley { shaper: eyeq.clone(), rack_interval: time, fabric_broker: place, ..Parley::default() };
        let pair = Rate::from_mbit(self.rng.random_range(1..900));
        let schemes = [
            HostSchemeConfig::StaticLimits(StaticLimits { pair_rate: self.of(&[None, Some(pair)]), burst: bytes }),
            HostSchemeConfig::Eyeq(eyeq),
            HostSchemeConfig::ElasticSwitch(ElasticSwitch { partition_period: time, ..ElasticSwitch::default() }),
            HostSchemeConfig::Parley(parley),
        ];
        let scheme = self.of(&schemes);
        let mut sharing = Sharing::new(scheme, self.policy(network, PolicyLevel::Machine));
        sharing.queue = Some(0);
        sharing.idle_timeout = Time::from_micros(self.of(&[50, 400, 100_000]));
        sharing.packet_queue = Bytes::new(self.of(&[0, 3_000, 1_000_000]));
        if sharing.scheme.has_brokers() {
            let rack = self.policy(network, PolicyLevel::Rack);
            let fabric = self.policy(network, PolicyLevel::Fabric);
            (sharing.rack, sharing.fabric) = (self.of(&[None, Some(rack)]), self.of(&[None, Some(fabric.clone())]));
            sharing.faults =
                MessageFaults { loss: 0.1, duplicate: 0.1, delay: self.of(&[Time::ZERO, time]), probe_loss: 0.0 };
            let broker = self.of(&[BrokerAt::Fabric, BrokerAt::Machine(network.hosts().next()?)]);
            let event = |at, what| SharingEvent { at: Time::from_micros(at), what };
            sharing.events.push(event(500, SharingChange::Stops(broker)));
            sharing.events.push(event(900, SharingChange::Interval(time)));
            if sharing.fabric.is_some() {
                sharing.events.push(event(900, SharingChange::Policy(Box::new(fabric))));
            }
            sharing.events.push(event(1_200, SharingChange::Starts(broker)));
        }
        Some(sharing)
    }

    fn policy(&mut self, network: &Network, level: PolicyLevel) -> Policy {
        let mut service = |name: &str, port| {
            let rate = Rate::from_mbit(self.rng.random_range(1..2_000));
            let bandwidth = Bandwidth { min: None, max: self.of(&[None, Some(rate)]), weight: None };
            let protocol = Some(Protocol::TCP);
            let filter = Match { protocol, destination_port: NonZeroU16::new(port), ..Match::default() };
            ServiceSpec {
                name: name.to_owned(),
                filter: Some(filter),
                bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
                ..ServiceSpec::default()
            }
        };
        let services = vec![service("a", 80), service("b", 81)];
        Policy::new(network, level.name(), level, Vec::new(), None, services).unwrap()
    }

    fn scenario(&mut self) -> Scenario {
        let network = Arc::new(self.network());
        let hosts: Vec<NodeId> = network.hosts().collect();
        let queues = |hosts: bool| {
            let of = |id| network.queues(id).len();
            let is_wanted = |from: NodeId| network.hosts().any(|host| host == from) == hosts;
            network.links().filter(|(_, link)| is_wanted(link.from)).map(|(id, _)| of(id)).max().unwrap_or(1)
        };
        let mut scenario = Scenario::new("random", network.clone(), Time::from_micros(3_000));
        scenario.warmup = self.of(&[Time::ZERO, Time::from_micros(400)]);
        scenario.switches = self.ports(queues(false));
        scenario.hosts = self.ports(queues(true));
        scenario.hosts.buffering = Buffering::Unlimited;
        scenario.transport = self.transport();
        let size = Bytes::new(20_000);
        scenario.routing = self.of(&[
            Routing::ecmp(),
            Routing::Flowlet(flowlet::Params { gap: Time::from_micros(50) }),
            Routing::Flowcells(presto::Spreading { size, path_timeout: None }),
            Routing::spraying(),
        ]);
        if self.rng.random_bool(0.2) {
            let switch = network.switches().next().unwrap();
            let rate = Rate::from_mbit(self.of(&[50, 500]));
            let service = SharedService { switch, rate, processing: Time::from_micros(5), buffer: Bytes::new(9_000) };
            scenario.shared_services = vec![service];
        }
        scenario.outages = self.outages(&network);
        scenario.record.series = self.of(&[None, Some(Time::from_micros(10))]);
        scenario.record.trace = self.of(&[None, Some(500)]);
        if self.rng.random_bool(0.5) {
            scenario.sharing = self.sharing(&network);
        }
        for number in 0..self.rng.random_range(1..4) {
            let (ends, workload) = (self.ends(&hosts), self.workload());
            let mut traffic = Traffic::new(&format!("traffic {number}"), ends, workload);
            traffic.queue = Some(self.rng.random_range(0..8));
            if scenario.sharing.is_some() {
                traffic.service = self.of(&[None, Some("a".to_owned()), Some("b".to_owned())]);
                traffic.to_service = self.of(&[None, Some("b".to_owned())]);
            }
            traffic.stop = self.of(&[None, Some(Time::from_micros(2_000))]);
            scenario.traffic.push(traffic);
        }
        scenario
    }
}

impl Maker {
    /// Switches, offers, deadlines, jitter, requests of several parts and virtual machines, on top of a scenario.
    fn vary(&mut self, scenario: &mut Scenario) {
        let hosts: Vec<NodeId> = scenario.network.hosts().collect();
        let time = Time::from_micros(self.rng.random_range(1..900));
        let service = scenario.sharing.as_ref().map(|_| "a".to_owned());
        let places = [0, 0, 1, 1].map(|host| hosts[host]);
        let vm = |(index, &host): (usize, &NodeId)| ScenarioVm {
            name: format!("vm {index}"),
            host,
            service: service.clone(),
        };
        scenario.vms = places.iter().enumerate().map(vm).collect();
        let vms: Vec<Endpoint> = (0..4).filter_map(|vm| Endpoint::of_vm(&scenario.vms, vm)).collect();
        let once = Period { from: Time::from_micros(100), on: time, off: None };
        let again = Period { from: Time::from_micros(1_500), on: time, off: Some(time) };
        let schedules = [
            Schedule::periodic(Time::ZERO, time, time),
            Schedule { periods: vec![once] },
            Schedule { periods: vec![once, again] },
        ];
        for traffic in &mut scenario.traffic {
            let schedule = self.of(&schedules);
            traffic.active = self.of(&[None, Some(schedule)]);
            if self.rng.random_bool(0.3) {
                traffic.ends = self.of(&[
                    FlowEndpoints::AllToAll(vms.clone(), vms.clone()),
                    FlowEndpoints::Random(vms.clone(), vms.clone()),
                    FlowEndpoints::Pairs(vec![(vms[0], vms[2]), (vms[1], vms[2]), (vms[1], hosts[1].into())]),
                ]);
            }
            match &mut traffic.workload {
                Workload::Packets { kind, .. } => {
                    if let PacketKind::ConstantRate { rate } = *kind {
                        *kind = PacketKind::Jittered { rate, jitter: time };
                    }
                }
                Workload::Flows(reliable) => self.vary_flows(reliable, time),
                Workload::Listed { .. } | Workload::Job(_) => {}
            }
        }
    }

    fn vary_flows(&mut self, reliable: &mut Reliable, time: Time) {
        let (min, mean) = (Time::from_micros(10), time);
        reliable.deadline = self.of(&[
            None,
            Some(Deadline::Uniform(min, min + time)),
            Some(Deadline::Exponential { mean, min }),
            Some(Deadline::Values(vec![min, time])),
        ]);
        let writes = SendSchedule::Writes { bytes: Bytes::new(3_000), every: time };
        if let FlowArrivals::Rpc(rpc) = &mut reliable.arrivals {
            rpc.server = RpcServer::Drawn;
            (rpc.chain, rpc.fan_out) = (self.rng.random_range(1..4), self.rng.random_range(1..3));
        } else {
            reliable.send_schedule = self.of(&[None, Some(SendSchedule::Rate(Rate::from_mbit(300))), Some(writes)]);
        }
        if reliable.arrivals == FlowArrivals::Once && self.rng.random_bool(0.5) {
            reliable.sizes = None;
        }
    }
}

/// Returns the results that have to be equal in every run, in all detail.
fn found(outcome: &Outcome) -> String {
    let Outcome { ending, hops, traffic, flows, queues, services, links, sharing, .. } = outcome;
    format!("{:?}", (ending, hops, traffic, flows, queues, services, links, sharing))
}

#[test]
fn every_combination_runs_and_counts_every_packet() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cases = match number("SIM_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("SIM_CASES").unwrap_or(CASES),
    };
    let all = cases.end - cases.start;
    let (mut tried, mut shared, mut hops) = (0, 0, 0);
    for case in cases {
        let mut maker = Maker { rng: ChaCha8Rng::seed_from_u64(case) };
        let mut scenario = maker.scenario();
        if case % 2 == 1 {
            Maker { rng: ChaCha8Rng::seed_from_u64(case << 32) }.vary(&mut scenario);
        }
        if scenario.validate().is_err() {
            continue;
        }
        let replay = format!("case {case} (SIM_CASE={case} replays it)");
        println!("{replay}");
        let outcome = run(&scenario, case, |_| true).unwrap();
        tried += 1;
        let services = outcome.sharing.iter().flat_map(|sharing| &sharing.services);
        let mut machines = services.flat_map(|service| &service.machines);
        shared += u64::from(machines.any(|machine| machine.sent > Bytes::ZERO));
        hops += outcome.hops;
        for flow in &outcome.flows {
            if matches!(scenario.traffic[flow.traffic].workload, Workload::Packets { .. }) {
                assert!(flow.delivered + flow.drops <= flow.sent, "{replay}: {flow:?}");
            }
            assert!(flow.sent_bytes >= flow.payload || scenario.warmup > Time::ZERO, "{replay}: {flow:?}");
        }
        for link in &outcome.links {
            let about = scenario.network.link(link.link);
            // A packet may be on the line at the beginning and at the end, and 20 us of propagation count as well.
            let time = (outcome.counted + about.propagation).as_nanos() as f64 / 1e9;
            let most = about.rate.bits_per_second() as f64 / 8.0 * time + 2.0 * 1_562.0;
            assert!(link.sent.get() as f64 <= most, "{replay}: {} sent {}, {most} B at most", about.name, link.sent);
        }
        // With a trace, ports choose at other moments, and make the same choices.
        scenario.record.trace = if scenario.record.trace.is_none() { Some(1) } else { None };
        let again = run(&scenario, case, |_| true).unwrap();
        assert!(
            found(&outcome) == found(&again),
            "{replay}: two runs differ, the second with trace {:?}",
            scenario.record.trace
        );
    }
    assert!(all == 1 || 8 * shared >= tried, "services shared in {shared} of {tried} cases");
    assert!(all == 1 || (4 * tried >= all && hops > all), "{tried} of {all} cases were valid, with {hops} hops");
}
