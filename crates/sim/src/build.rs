//! From a scenario to a run: ports, links, hosts and processes.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use wayleave_scenarios::{
    Arrivals, Ends, FlowSizes, PacketKind, Phase, Reliable, Routing, Scenario, Traffic, Transport, Workload,
};
use wayleave_schemes::duplicates::Filter;
use wayleave_topology::{Network, NodeId, NodeKind, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::clock::{self, Instant, LineSpeed};
use crate::connections::Connections;
use crate::copies::{Copies, CopyWay};
use crate::custom::Custom;
use crate::ends::Pairs;
use crate::engine::Engine;
use crate::events::EventQueue;
use crate::fabric::{Fabric, LinkHealth, Step, limit};
use crate::flows::Interface;
use crate::link::{Link, Port, Target};
use crate::outcome::Tally;
use crate::packet::{Arena, Kind};
use crate::port_builder::{PortsBuilder, largest};
use crate::processes::Process;
use crate::random;
use crate::recorder::Recorder;
use crate::router::{Attachment, Router};
use crate::sources::{Source, Way};
use crate::stats::Levels;
use crate::telemetry::TelemetryArena;
use crate::transport::NEVER;

/// Flows of more pairs than this are counted together.
const MAX_COUNTED_PAIRS: usize = 4096;

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
    /// The switches of shared services, in the order of their links.
    pub(crate) services: Vec<NodeId>,
}

/// One kind of traffic, resolved.
#[derive(Debug)]
pub(crate) struct TrafficSpec {
    pub(crate) name: String,
    pub(crate) pairs: Pairs,
    /// Closed loops, or pairs with arrivals of their own, by number.
    pub(crate) loops: Vec<(NodeId, NodeId)>,
    /// How many flows of a pair go on at once, if that is limited.
    pub(crate) connections: Option<Connections>,
    pub(crate) queue: u8,
    /// Its classes where it is sent and where it is received, if hosts share.
    pub(crate) classes: (u32, u32),
    pub(crate) stop: Instant,
    pub(crate) sizes: Option<FlowSizes>,
    pub(crate) answers: Option<FlowSizes>,
    pub(crate) think: Instant,
    pub(crate) deadline: Option<Time>,
    pub(crate) transport: Transport,
    /// The only path, if it is fixed: its first step, the rest in the table of routes.
    pub(crate) fixed: Option<(Step, u32)>,
    /// Where copies go beside it, and what removes them.
    pub(crate) copies: Option<(Vec<(Step, u32)>, Filter)>,
    pub(crate) counting: Counting,
    /// Of its own, so that no traffic changes what another one draws.
    pub(crate) rng: ChaCha8Rng,
}

/// Where flows are counted.
#[derive(Debug)]
pub(crate) enum Counting {
    /// Each pair for itself.
    PerPair(HashMap<(NodeId, NodeId), u32>),
    /// All together.
    Together(Option<u32>),
}

impl Engine {
    /// A run of a scenario that was validated.
    pub(crate) fn new(scenario: &Scenario, seed: u64, custom: &Custom<'_>) -> Self {
        let network = scenario.network.clone();
        let mut builder = PortsBuilder::new(scenario, custom);
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
        let health = vec![LinkHealth::default(); links.len()];
        let limits = links.iter().map(|link| link.limit).collect();
        let levels = |interval| vec![Levels::new(clock::from_time(interval)); links.len()];
        let levels = scenario.record.series.map(levels);
        let (interfaces, interface_of) = interfaces(scenario, links.len());
        let fabric = Fabric {
            links,
            speeds,
            rates,
            ports: builder.ports,
            switches: builder.switches,
            health,
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
                routing: scenario.routing.clone(),
                seed,
                telemetry: scenario.switches.telemetry,
                attachments,
                limits,
                traffic: Vec::new(),
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
            has_actions: false,
            tally: Tally::new(scenario.traffic.len(), scenario.warmup, scenario.record.series),
            end: clock::from_time(scenario.duration),
            now: 0,
        };
        engine.add_edges(scenario, custom);
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            engine.add_traffic(index as u32, traffic, &scenario.transport);
        }
        let outages = scenario.outages.iter().map(|&outage| Process::Outage(outage));
        engine.processes.extend(outages);
        if scenario.warmup > Time::ZERO {
            engine.processes.push(Process::WarmedUp(clock::from_time(scenario.warmup)));
        }
        engine.start_edges();
        engine.start_processes();
        engine
    }

    fn add_traffic(&mut self, index: u32, traffic: &Traffic, usual: &Transport) {
        let mut rng = random::generator(self.spec.seed, 2 * u64::from(index));
        let pairs = Pairs::new(&traffic.ends, &mut rng);
        let start = clock::from_time(traffic.start);
        let stop = traffic.stop.map_or(self.end.saturating_add(1), clock::from_time);
        let fixed = traffic.route.as_ref().map(|route| self.add_route(route));
        let copies = traffic.copies.as_ref().map(|copies| {
            let routes = copies.routes.iter().map(|route| self.add_route(route)).collect();
            (routes, Filter::new(copies.window, copies.reset))
        });
        let mut spec = TrafficSpec {
            name: traffic.name.clone(),
            pairs,
            loops: Vec::new(),
            connections: None,
            queue: traffic.queue,
            classes: (
                self.class_of(traffic.service.as_deref()),
                self.class_of(traffic.to_service.as_deref().or(traffic.service.as_deref())),
            ),
            stop,
            sizes: None,
            answers: None,
            think: 0,
            deadline: None,
            transport: usual.clone(),
            fixed,
            copies,
            counting: Counting::Together(None),
            rng: random::generator(self.spec.seed, (2 * u64::from(index)) + 1),
        };
        match &traffic.workload {
            Workload::Packets { kind, frame } => {
                let all = spec.pairs.all(&mut rng);
                self.add_sources(index, &spec, &all, *kind, *frame, (start, stop), &mut rng);
            }
            Workload::Flows(reliable) => self.add_flows(index, &mut spec, reliable, &traffic.ends, start, &mut rng),
            Workload::Listed { flows, transport } => {
                spec.transport = transport.clone().unwrap_or(spec.transport);
                self.processes.push(Process::Listed { traffic: index, flows: flows.clone(), next: 0 });
            }
        }
        self.spec.traffic.push(spec);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one traffic, which are taken apart only here")]
    fn add_sources(
        &mut self,
        index: u32,
        spec: &TrafficSpec,
        pairs: &[(NodeId, NodeId)],
        kind: PacketKind,
        frame: Bytes,
        (start, stop): (Instant, Instant),
        rng: &mut ChaCha8Rng,
    ) {
        let mut ways: Vec<(Way, NodeId)> = Vec::new();
        for &(from, to) in pairs {
            if let Some(way) = self.way(index, spec, from, to, rng) {
                ways.push((way, to));
            }
        }
        let phases = self.phases(&ways, kind, frame, start, rng);
        for ((way, _), phase) in ways.into_iter().zip(phases) {
            let source = Source::new(way, kind, frame, phase, stop, rng);
            self.processes.push(Process::Source { traffic: index, source, start: phase });
        }
    }

    /// The way of a source.
    fn way(&mut self, index: u32, spec: &TrafficSpec, from: NodeId, to: NodeId, rng: &mut ChaCha8Rng) -> Option<Way> {
        let (first, route, last_hop, paths) = match spec.fixed {
            Some((first, route)) => (first, route, Step::END, None),
            None => {
                let (source, sink) = (self.spec.attachments[from.index()]?, self.spec.attachments[to.index()]?);
                let set = self.router.paths(source.switch, sink.switch, spec.queue, &mut self.fabric.routes);
                let path = random::below(rng, self.router.count(set).max(1));
                let route = self.router.start(set, path)?;
                let (first, last) = (Step::new(source.up.0, spec.queue), Step::new(sink.down.0, spec.queue));
                (first, route, last, Some((set, path)))
            }
        };
        let whole = self.open_packets(index, spec, (from, to));
        let is_tagged = spec.fixed.is_some();
        let way = Way { first, route, last_hop, flow: whole, is_tagged, paths, copies: None };
        let Some((routes, filter)) = &spec.copies else {
            self.add_source(whole, (from, to), spec.classes, spec.queue);
            return Some(way);
        };
        let own = self.open_packets(index, spec, (from, to));
        self.tally.is_copy(own, 0);
        let mut ways = Vec::new();
        for (number, &(first, route)) in (1..).zip(routes) {
            let flow = self.open_packets(index, spec, (from, to));
            self.tally.is_copy(flow, number);
            ways.push(CopyWay { first, route, flow });
        }
        let set = self.copies.add(whole, own, ways, filter.clone());
        Some(Way { flow: own, copies: Some(set), ..way })
    }

    /// A place to count packets that nobody acknowledges.
    fn open_packets(&mut self, index: u32, spec: &TrafficSpec, ends: (NodeId, NodeId)) -> u32 {
        let flow = self.tally.open(index, Some(ends));
        if let Some(recorder) = &mut self.fabric.recorder {
            recorder.name(Kind::Datagram, flow, &spec.name, ends, 0);
        }
        flow
    }

    /// When each source of a token bucket begins.
    fn phases(
        &self,
        ways: &[(Way, NodeId)],
        kind: PacketKind,
        frame: Bytes,
        start: Instant,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Instant> {
        let PacketKind::TokenBucket { rate, burst, phase } = kind else { return vec![start; ways.len()] };
        match phase {
            Phase::Together => vec![start; ways.len()],
            Phase::Random => {
                let period = clock::transmission(burst.get(), rate);
                ways.iter().map(|_| start + (random::unit(rng) * period as f64) as Instant).collect()
            }
            Phase::Colliding => {
                let times: Vec<Instant> = ways.iter().map(|(way, _)| self.transit(way, frame)).collect();
                let latest = |to: NodeId| {
                    ways.iter().zip(&times).filter(|((_, other), _)| *other == to).map(|(_, &time)| time).max()
                };
                ways.iter().zip(&times).map(|((_, to), time)| start + latest(*to).unwrap_or(0) - time).collect()
            }
        }
    }

    /// How long the first frame takes to its last port, if nothing delays it.
    fn transit(&self, way: &Way, frame: Bytes) -> Instant {
        let size = u32::try_from(frame.get()).unwrap_or(u32::MAX);
        let mut time = 0;
        let mut step = way.first;
        let mut at = way.route as usize;
        while !self.is_last(step) {
            let link = &self.fabric.links[step.link() as usize];
            time += link.transmission(size, || self.fabric.speeds[step.link() as usize]) + link.latency;
            step = match self.fabric.routes.get(at) {
                Some(&next) if next != Step::END => next,
                _ => way.last_hop,
            };
            at += 1;
        }
        time
    }

    fn is_last(&self, step: Step) -> bool {
        step == Step::END || self.fabric.links[step.link() as usize].target() == Target::Host
    }

    fn add_flows(
        &mut self,
        index: u32,
        spec: &mut TrafficSpec,
        reliable: &Reliable,
        ends: &Ends,
        start: Instant,
        rng: &mut ChaCha8Rng,
    ) {
        spec.sizes = reliable.sizes.clone();
        spec.deadline = reliable.deadline;
        spec.transport = reliable.transport.clone().unwrap_or_else(|| spec.transport.clone());
        let is_countable = matches!(&spec.pairs, Pairs::Fixed(pairs) if pairs.len() <= MAX_COUNTED_PAIRS);
        if is_countable && !matches!(reliable.arrivals, Arrivals::Load(_) | Arrivals::PerSecond(_)) {
            spec.counting = Counting::PerPair(HashMap::new());
        }
        let poisson = |per_second: f64, rng: &mut ChaCha8Rng| {
            let mean_gap = 1e12 / per_second;
            let next = start.saturating_add(random::exponential(rng, mean_gap));
            Process::Poisson { traffic: index, next, mean_gap }
        };
        let process = match &reliable.arrivals {
            Arrivals::Once => Process::Rounds { traffic: index, next: start, period: None },
            Arrivals::Every(period) => {
                let period = Some(clock::from_time(*period).max(1));
                Process::Rounds { traffic: index, next: start, period }
            }
            Arrivals::Uniform { mean, connections } => {
                let mean = clock::from_time(*mean);
                spec.loops = spec.pairs.all(rng);
                spec.connections = connections.map(|most| Connections::new(most, spec.loops.len()));
                let first = |pair| std::cmp::Reverse((start.saturating_add(random::uniform(rng, 2 * mean)), pair));
                let due = (0..spec.loops.len() as u32).map(first).collect();
                Process::Uniform { traffic: index, due, mean }
            }
            Arrivals::PerSecond(rate) => poisson(*rate, rng),
            Arrivals::Load(load) => poisson(self.flows_per_second(spec, *load), rng),
            Arrivals::Rpc { outstanding, answer, think } => {
                spec.answers = Some(answer.clone());
                spec.think = clock::from_time(*think);
                spec.loops = match ends {
                    Ends::Random(..) => (0..*outstanding).filter_map(|_| spec.pairs.draw(rng)).collect(),
                    _ => spec.pairs.all(rng).into_iter().flat_map(|pair| vec![pair; *outstanding as usize]).collect(),
                };
                let due = (0..spec.loops.len()).map(|pair| std::cmp::Reverse((start, pair as u32)));
                Process::Loops { traffic: index, due: BinaryHeap::from_iter(due), wakes_at: NEVER }
            }
        };
        self.processes.push(process);
    }

    /// How many flows a second load the first links of all senders so much.
    fn flows_per_second(&self, spec: &TrafficSpec, load: f64) -> f64 {
        let rate_of = |host: &NodeId| {
            let up = self.spec.attachments[host.index()].map(|attachment| attachment.up);
            up.map_or(0.0, |up| self.spec.network.link(up).rate.bits_per_second() as f64)
        };
        let capacity: f64 = spec.pairs.senders().iter().map(rate_of).sum();
        let mean = spec.sizes.as_ref().map_or(1.0, FlowSizes::mean).max(1.0);
        load * capacity / (8.0 * mean)
    }

    /// A route with its own queues: its first step, and where the others stand.
    fn add_route(&mut self, route: &Route) -> (Step, u32) {
        let mut steps = route.hops.iter().map(|hop| Step::new(hop.link.0, hop.queue));
        let first = steps.next().unwrap_or(Step::END);
        let start = self.fabric.routes.len() as u32;
        self.fabric.routes.extend(steps);
        self.fabric.routes.push(Step::END);
        (first, start)
    }
}

/// The interfaces of hosts, and which link has which.
fn interfaces(scenario: &Scenario, links: usize) -> (Vec<Interface>, Vec<u32>) {
    let network = &scenario.network;
    let mut of_link = vec![u32::MAX; links];
    let mut interfaces = Vec::new();
    for (id, link) in network.links() {
        if network.node(link.from).kind == NodeKind::Host {
            let classes = if scenario.hosts.discipline.has_one_queue() { 1 } else { network.queues(id).len() };
            of_link[id.index()] = interfaces.len() as u32;
            interfaces.push(Interface::new(id.0, classes));
        }
    }
    (interfaces, of_link)
}
