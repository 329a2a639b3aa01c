//! Small networks and runs, shared by all tests of this binary.

use std::num::NonZeroU16;
use std::sync::Arc;

use wayleave_contracts::{Match, Protocol, ServiceSpec};
use wayleave_scenarios::{
    Buffering, Congestion, Discipline, FlowArrivals, FlowEndpoints, FlowSizes, FlowSpec, PacketKind, PortBehaviour,
    Reliable, Scenario, StartPhase, Traffic, TransportConfig, Workload,
};
use wayleave_sim::{FlowOutcome, Outcome, QueueCounts, QueueOutcome};
use wayleave_topology::{LinkId, LinkSpec, Network, NetworkBuilder, Node, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// A full segment on the wire: 1,460 B of payload, 40 B of headers, 38 B of Ethernet with preamble and gap.
pub(crate) const FRAME: u64 = 1538;

/// Its payload.
pub(crate) const SEGMENT: u64 = 1460;

/// Picoseconds that bytes take, rounded up.
pub(crate) fn takes(bytes: u64, rate: Rate) -> u64 {
    (u128::from(bytes) * 8 * 1_000_000_000_000).div_ceil(u128::from(rate.bits_per_second())) as u64
}

/// Returns the service `a<index>` of TCP to port `index` + 1.
pub(crate) fn service_of_port(index: usize) -> ServiceSpec {
    let filter = Match {
        protocol: Some(Protocol::TCP),
        destination_port: NonZeroU16::new(index as u16 + 1),
        ..Match::default()
    };
    ServiceSpec { name: format!("a{index}"), filter: Some(filter), ..ServiceSpec::default() }
}

/// Builds a network cable by cable.
pub(crate) struct Cables {
    builder: NetworkBuilder,
    /// Queues of every port.
    pub(crate) queues: usize,
    /// Of every queue of a switch.
    pub(crate) buffer: Bytes,
    /// Of every link.
    pub(crate) mtu: Bytes,
}

impl Cables {
    pub(crate) fn new() -> Self {
        Self { builder: NetworkBuilder::default(), queues: 8, buffer: Bytes::new(10_000_000), mtu: Bytes::new(1500) }
    }

    pub(crate) fn host(&mut self, name: &str) -> NodeId {
        self.builder.add_node(name, NodeKind::Host).unwrap()
    }

    pub(crate) fn switch(&mut self, name: &str) -> NodeId {
        self.builder.add_node(name, NodeKind::Switch).unwrap()
    }

    /// With constants in ns.
    pub(crate) fn slow(&mut self, name: &str, kind: NodeKind, processing: u64, jitter: u64) -> NodeId {
        let (processing, jitter) = (Time::from_nanos(processing), Time::from_nanos(jitter));
        self.builder.add(Node { name: name.to_owned(), kind, processing, jitter }).unwrap()
    }

    /// Both directions; propagation in ns.
    pub(crate) fn join(&mut self, from: NodeId, to: NodeId, rate: Rate, propagation: u64) -> (LinkId, LinkId) {
        let port = PortSpec::uniform(self.queues, self.buffer);
        let propagation = Time::from_nanos(propagation);
        let spec = LinkSpec { from, to, rate, propagation, mtu: self.mtu, port: port.clone() };
        self.builder.add_cable(spec, port).unwrap()
    }

    pub(crate) fn build(self) -> Arc<Network> {
        Arc::new(self.builder.build())
    }
}

/// One switch with hosts on cables of these rates.
pub(crate) struct Star {
    pub(crate) network: Arc<Network>,
    pub(crate) hosts: Vec<NodeId>,
    /// Per host, from it to the switch.
    pub(crate) up: Vec<LinkId>,
    /// Per host, from the switch to it.
    pub(crate) down: Vec<LinkId>,
}

/// One switch with hosts on cables of these rates; propagation of each cable in ns.
pub(crate) fn star(rates: &[Rate], propagation: u64) -> Star {
    star_of(Cables::new(), rates, propagation)
}

/// The same with other ports.
pub(crate) fn star_of(mut cables: Cables, rates: &[Rate], propagation: u64) -> Star {
    let switch = cables.switch("s");
    let (mut hosts, mut up, mut down) = (Vec::new(), Vec::new(), Vec::new());
    for (index, &rate) in rates.iter().enumerate() {
        let host = cables.host(&format!("h{index}"));
        let (there, back) = cables.join(host, switch, rate, propagation);
        hosts.push(host);
        up.push(there);
        down.push(back);
    }
    Star { network: cables.build(), hosts, up, down }
}

/// Runs to the end.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Outcome {
    wayleave_sim::run(scenario, seed, |_| true).unwrap()
}

/// Frames that leave together at a time in ns, and none later.
pub(crate) fn burst(name: &str, from: NodeId, to: NodeId, frame: u64, count: u64, at: u64) -> Traffic {
    let (rate, burst) = (Rate::from_bits_per_second(1), Bytes::new(frame * count));
    let kind = PacketKind::TokenBucket { rate, burst, phase: StartPhase::Together };
    let mut traffic = Traffic::packets(name, FlowEndpoints::Pairs(vec![(from, to)]), kind, Bytes::new(frame));
    traffic.start = Time::from_nanos(at);
    highest(traffic)
}

/// The same in queue 0.
pub(crate) fn highest(mut traffic: Traffic) -> Traffic {
    traffic.queue = Some(0);
    traffic
}

/// Packets at exponential distances.
pub(crate) fn poisson(name: &str, from: NodeId, to: NodeId, frame: u64, rate: Rate) -> Traffic {
    highest(Traffic::packets(
        name,
        FlowEndpoints::Pairs(vec![(from, to)]),
        PacketKind::Poisson { rate },
        Bytes::new(frame),
    ))
}

/// Flows from a list of (start in ns, from, to, bytes of payload).
pub(crate) fn listed(name: &str, flows: &[(u64, NodeId, NodeId, u64)]) -> Traffic {
    let flows = flows.iter().map(|&(start, from, to, size)| FlowSpec {
        start: Time::from_nanos(start),
        from,
        to,
        size: Bytes::new(size),
        queue: None,
    });
    let flows = flows.collect();
    highest(Traffic::new(name, FlowEndpoints::<NodeId>::Pairs(Vec::new()), Workload::Listed { flows, transport: None }))
}

/// A flow without end between two hosts.
pub(crate) fn endless(name: &str, from: NodeId, to: NodeId) -> Traffic {
    let reliable = Reliable::new(FlowArrivals::Once, None);
    highest(Traffic::new(name, FlowEndpoints::Pairs(vec![(from, to)]), Workload::Flows(reliable)))
}

/// One flow of this payload for every pair at once.
pub(crate) fn once(name: &str, pairs: &[(NodeId, NodeId)], bytes: u64) -> Traffic {
    highest(Traffic::flows(
        name,
        FlowEndpoints::Pairs(pairs.to_vec()),
        FlowArrivals::Once,
        FlowSizes::Fixed(Bytes::new(bytes)),
    ))
}

/// Returns a window of `packets` full packets that never changes.
pub(crate) fn fixed_window(packets: u32) -> TransportConfig {
    TransportConfig {
        congestion: Congestion::fixed_window(packets),
        initial_window: packets,
        ..TransportConfig::default()
    }
}

/// Ports with this order of service and this buffer for each queue.
pub(crate) fn ports(discipline: Discipline, buffering: Buffering) -> PortBehaviour {
    PortBehaviour { discipline, buffering, ..PortBehaviour::default() }
}

/// The first flow of a traffic.
pub(crate) fn flow(outcome: &Outcome, traffic: usize) -> &FlowOutcome {
    outcome.flows.iter().find(|flow| flow.traffic == traffic).unwrap()
}

/// A queue.
pub(crate) fn queue(outcome: &Outcome, link: LinkId, number: u8) -> &QueueCounts {
    let is_it = |queue: &&QueueOutcome| queue.link == link && queue.queue == number;
    &outcome.queues.iter().find(is_it).unwrap().counts
}

/// Flows that finished.
pub(crate) fn finished(outcome: &Outcome, traffic: usize) -> u64 {
    outcome.traffic[traffic].completions.finished()
}

/// Asserts that a measured number is within a share of the expected one.
#[track_caller]
pub(crate) fn assert_near(measured: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (measured - expected).abs() / expected.abs();
    assert!(off <= tolerance, "{what}: {measured} is not within {} % of {expected}", tolerance * 100.0);
}
