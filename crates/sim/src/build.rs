//! From a scenario to a run: ports, links, hosts and processes. What its traffic becomes is in [`crate::traffic`].

use std::collections::HashMap;
use std::sync::Arc;

use wayleave_scenarios::{Buffering, Discipline, Ecn, PortBehaviour, Routing, Scenario};
use wayleave_schemes::transports::AnyMarking;
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use crate::clock::{self, LineSpeed};
use crate::copies::Copies;
use crate::engine::Engine;
use crate::events::EventQueue;
use crate::fabric::{Fabric, limit};
use crate::flows::Interface;
use crate::link::{Link, NO_LIMIT, Port, Target};
use crate::outcome::Tally;
use crate::packet::Arena;
use crate::port::{Deficit, Order, Pool, QueuedPort};
use crate::processes::Process;
use crate::recorder::Recorder;
use crate::router::{Attachment, Router};
use crate::stats::Levels;
use crate::telemetry::TelemetryArena;
use crate::traffic::TrafficSpec;

/// A frame's overhead beside its layer-3 packet: Ethernet, preamble, gap (38 B), and six tags.
const FRAME_OVERHEAD: u64 = 38 + 24;

/// What does not change during a run.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) network: Arc<Network>,
    pub(crate) routing: Routing,
    pub(crate) seed: u64,
    pub(crate) telemetry: bool,
    /// Per node, where hosts are attached.
    pub(crate) attachments: Vec<Option<Attachment>>,
    /// Per link of the network, the buffer of its port where it is first come first served.
    pub(crate) limits: Vec<u32>,
    pub(crate) traffic: Vec<TrafficSpec>,
    /// Of each virtual machine, if hosts share.
    pub(crate) vm_classes: Vec<u32>,
    /// The switches of shared services, in the order of their links.
    pub(crate) services: Vec<NodeId>,
}

impl Engine {
    /// A run of a scenario that was validated.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let network = scenario.network.clone();
        let mut builder = PortsBuilder::new(scenario);
        let mut links: Vec<Link> = network.links().map(|(id, _)| builder.link(id)).collect();
        let mut speeds: Vec<LineSpeed> = network.links().map(|(_, link)| LineSpeed::new(link.rate)).collect();
        let mut rates: Vec<Rate> = network.links().map(|(_, link)| link.rate).collect();
        for service in &scenario.shared_services {
            for &into in network.links_into(service.switch) {
                let link = &links[into.index()];
                let number = speeds.len() as u32;
                links[into.index()] = link.clone().leading_to(Target::Service(number));
            }
            let speed = LineSpeed::new(service.rate);
            let latency = clock::from_time(service.processing);
            links.push(Link::new(speed, latency, Target::Switch, Port::Fifo, limit(Some(service.buffer))));
            speeds.push(speed);
            rates.push(service.rate);
        }
        let stride = builder.stride;
        let records = vec![Default::default(); links.len() * stride];
        let limits = links.iter().map(|link| link.limit).collect();
        let levels = |interval| vec![Levels::new(clock::from_time(interval)); links.len()];
        let levels = scenario.record.series.map(levels);
        let (interfaces, interface_of) = interfaces(scenario, links.len());
        let fabric = Fabric {
            links,
            speeds,
            rates,
            ports: builder.ports,
            marking: builder.marking,
            pools: builder.pools,
            arena: Arena::new(),
            events: EventQueue::default(),
            routes: Vec::new(),
            largest: largest(&scenario.network),
            samples: Vec::new(),
            records,
            stride,
            telemetry: TelemetryArena::default(),
            recorder: scenario.record.trace.map(|most| Box::new(Recorder::new(most as usize))),
            levels,
            hops: 0,
        };
        let router = Router::new(network.clone());
        let attachment = |(id, node): (NodeId, &wayleave_topology::Node)| match node.kind {
            NodeKind::Host => router.attachment(id),
            NodeKind::Switch => None,
        };
        let attachments = network.nodes().map(attachment).collect();
        let mut engine = Self {
            spec: Spec {
                network,
                routing: scenario.routing,
                seed,
                telemetry: scenario.switches.telemetry,
                attachments,
                limits,
                traffic: Vec::new(),
                vm_classes: Vec::new(),
                services: scenario.shared_services.iter().map(|service| service.switch).collect(),
            },
            fabric,
            router,
            interfaces,
            interface_of,
            flows: Vec::new(),
            vacant: Vec::new(),
            processes: Vec::new(),
            in_order: Vec::new(),
            copies: Copies::default(),
            has_too_many_flows: false,
            edges: None,
            has_todo: false,
            unsupported: None,
            tally: Tally::new(scenario.traffic.len(), scenario.warmup, scenario.record.series),
            end: clock::from_time(scenario.duration),
            now: 0,
        };
        engine.add_edges(scenario);
        engine.spec.vm_classes = scenario.vms.iter().map(|vm| engine.class_of(vm.service.as_deref())).collect();
        let lowest = scenario.lowest_queue();
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            engine.add_traffic(index as u32, traffic, &scenario.transport, lowest);
        }
        let outages = scenario.outages.iter().map(|&outage| Process::Outage(outage));
        engine.processes.extend(outages);
        if scenario.warmup > Time::ZERO {
            engine.processes.push(Process::WarmedUp(clock::from_time(scenario.warmup)));
        }
        let measures = engine.measures_guarantees();
        engine.processes.extend(measures.map(|interval| Process::Guarantees { next: interval, interval }));
        engine.start_edges();
        engine.start_processes();
        engine
    }
}

/// The interfaces of hosts, and which link has which.
fn interfaces(scenario: &Scenario, links: usize) -> (Vec<Interface>, Vec<u32>) {
    let network = &scenario.network;
    let mut of_link = vec![u32::MAX; links];
    let mut interfaces = Vec::new();
    for (id, link) in network.links() {
        if network.node(link.from).kind == NodeKind::Host {
            let classes = match scenario.hosts.discipline {
                Discipline::Fifo | Discipline::SmallestRemainingFirst => 1,
                Discipline::StrictPriority | Discipline::DeficitRoundRobin { .. } => network.queues(id).len(),
            };
            of_link[id.index()] = interfaces.len() as u32;
            interfaces.push(Interface::new(id.0, classes));
        }
    }
    (interfaces, of_link)
}

/// Makes the ports of all links.
struct PortsBuilder<'a> {
    scenario: &'a Scenario,
    ports: Vec<QueuedPort>,
    marking: Vec<(AnyMarking, bool)>,
    pools: Vec<Pool>,
    /// Per node: its pool.
    pool_of: HashMap<NodeId, u32>,
    stride: usize,
}

impl<'a> PortsBuilder<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let queues = |behaviour: &PortBehaviour| match behaviour.discipline {
            Discipline::Fifo | Discipline::SmallestRemainingFirst => 1,
            _ => crate::port::MAX_QUEUES,
        };
        let stride = queues(&scenario.switches).max(queues(&scenario.hosts));
        Self { scenario, ports: Vec::new(), marking: Vec::new(), pools: Vec::new(), pool_of: HashMap::new(), stride }
    }

    fn link(&mut self, id: LinkId) -> Link {
        let network = &self.scenario.network;
        let link = network.link(id);
        let behaviour = match network.node(link.from).kind {
            NodeKind::Host => &self.scenario.hosts,
            NodeKind::Switch => &self.scenario.switches,
        };
        let to = network.node(link.to);
        let (target, mut inside) = match to.kind {
            NodeKind::Host => (Target::Host, Time::ZERO),
            NodeKind::Switch => (Target::Switch, to.processing + to.jitter),
        };
        // What a sending host adds to every packet (its tagger) is the same before its port and behind it.
        let from = network.node(link.from);
        if from.kind == NodeKind::Host {
            inside += from.processing + from.jitter;
        }
        let latency = clock::from_time(link.propagation + inside);
        let speed = LineSpeed::new(link.rate);
        let limits = limits(network, id, behaviour);
        let is_plain = behaviour.discipline == Discipline::Fifo
            && !matches!(behaviour.buffering, Buffering::Shared { .. })
            && !matches!(behaviour.ecn, Some(Ecn::Red { .. }))
            && !behaviour.telemetry;
        if is_plain {
            let mut plain = Link::new(speed, latency, target, Port::Fifo, limits[0]);
            if let Some(Ecn::Threshold(threshold)) = behaviour.ecn {
                plain.mark_above = limit(Some(threshold));
            }
            return plain;
        }
        let port = self.port(id, behaviour, &limits);
        Link::new(speed, latency, target, Port::Queued(port), NO_LIMIT)
    }

    fn port(&mut self, id: LinkId, behaviour: &PortBehaviour, limits: &[u32]) -> u32 {
        let network = &self.scenario.network;
        let link = network.link(id);
        let order = match &behaviour.discipline {
            Discipline::Fifo | Discipline::StrictPriority => Order::Strict,
            Discipline::DeficitRoundRobin { weights } => {
                let frame = u32::try_from(link.mtu.get() + FRAME_OVERHEAD).unwrap_or(u32::MAX);
                Order::Deficit(Box::new(Deficit::new(weights, frame)))
            }
            Discipline::SmallestRemainingFirst => Order::SmallestRemaining,
        };
        let pool = match behaviour.buffering {
            Buffering::Shared { total, alpha } => Some(self.pool(link.from, total, alpha)),
            _ => None,
        };
        self.ports.push(QueuedPort::new(limits, order, pool));
        // Every port draws its own marks.
        let seed = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(id.0) + 1);
        self.marking.push((marking(behaviour.ecn, link.rate, seed), behaviour.telemetry));
        (self.ports.len() - 1) as u32
    }

    fn pool(&mut self, node: NodeId, total: Bytes, alpha: f64) -> u32 {
        let pools = &mut self.pools;
        *self.pool_of.entry(node).or_insert_with(|| {
            pools.push(Pool { total: total.get(), used: 0, alpha });
            (pools.len() - 1) as u32
        })
    }
}

/// The largest frame that any link carries.
fn largest(network: &Network) -> u32 {
    let mtu = network.links().map(|(_, link)| link.mtu.get()).max().unwrap_or(0);
    u32::try_from(mtu + FRAME_OVERHEAD).unwrap_or(u32::MAX)
}

/// What each queue of a port may hold; one queue for all has what all have.
fn limits(network: &Network, id: LinkId, behaviour: &PortBehaviour) -> Vec<u32> {
    let built = network.queues(id);
    let is_single = matches!(behaviour.discipline, Discipline::Fifo | Discipline::SmallestRemainingFirst);
    match behaviour.buffering {
        Buffering::AsBuilt if is_single => {
            let total = built.iter().fold(0_u64, |sum, queue| sum.saturating_add(queue.buffer.get()));
            vec![u32::try_from(total).unwrap_or(NO_LIMIT)]
        }
        Buffering::AsBuilt => built.iter().map(|queue| limit(Some(queue.buffer))).collect(),
        Buffering::EachQueue(bytes) => vec![limit(Some(bytes)); if is_single { 1 } else { built.len() }],
        Buffering::Unlimited | Buffering::Shared { .. } => {
            vec![NO_LIMIT; if is_single { 1 } else { built.len() }]
        }
    }
}

fn marking(ecn: Option<Ecn>, rate: Rate, seed: u64) -> AnyMarking {
    match ecn {
        None => AnyMarking::None,
        Some(Ecn::Threshold(threshold)) => AnyMarking::threshold(threshold),
        Some(Ecn::Red { min, max, probability, weight }) => AnyMarking::red(min, max, probability, weight, rate, seed),
    }
}
