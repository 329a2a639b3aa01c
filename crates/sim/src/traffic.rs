//! From a scenario's traffic to a run: sources, arrivals of flows, and where they are counted.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use wayleave_scenarios::{
    Arrivals, Deadline, Endpoint, Ends, FlowSizes, Offer, PacketKind, Phase, Reliable, Server, Traffic, Transport,
    Workload,
};
use wayleave_schemes::duplicates::Filter;
use wayleave_topology::{NodeId, Route};
use wayleave_units::Bytes;

use crate::calls::Calls;
use crate::clock::{self, Instant};
use crate::connections::Connections;
use crate::copies::CopyWay;
use crate::ends::Pairs;
use crate::engine::Engine;
use crate::fabric::Step;
use crate::flows::Purpose;
use crate::link::Target;
use crate::packet::Kind;
use crate::processes::Process;
use crate::random;
use crate::schedule::Schedule;
use crate::sources::{Source, Way};
use crate::supply::Supply;
use crate::transport::NEVER;

/// Flows of more pairs than this are counted together.
const MAX_COUNTED_PAIRS: usize = 4096;

/// The purposes of the random numbers of deadlines; those of traffic are below, with those of the edges between them.
const DEADLINES: u64 = 1 << 41;

/// One kind of traffic, resolved.
#[derive(Debug)]
pub(crate) struct TrafficSpec {
    pub(crate) name: String,
    pub(crate) pairs: Pairs,
    /// Closed loops.
    pub(crate) calls: Option<Calls>,
    /// Pairs with arrivals of their own, by number.
    pub(crate) loops: Vec<(Endpoint, Endpoint)>,
    /// How many flows of a pair go on at once, if that is limited.
    pub(crate) connections: Option<Connections>,
    pub(crate) queue: u8,
    /// Its classes where it is sent and where it is received, if hosts share and it names services.
    pub(crate) classes: (Option<u32>, Option<u32>),
    pub(crate) stop: Instant,
    /// When it is active, if not always. Arrivals of flows count the time of being active.
    pub(crate) schedule: Option<Arc<Schedule>>,
    /// What applications of flows write, if not everything at once.
    pub(crate) offer: Option<Offer>,
    pub(crate) sizes: Option<FlowSizes>,
    pub(crate) deadline: Option<Deadline>,
    /// For deadlines that are drawn: they change nothing else.
    pub(crate) deadline_rng: ChaCha8Rng,
    pub(crate) transport: Transport,
    /// The only path, if it is fixed: its first step, the rest in the table of routes.
    pub(crate) fixed: Option<(Step, u32)>,
    /// Where copies go beside it, and what removes them.
    pub(crate) copies: Option<(Vec<(Step, u32)>, Filter)>,
    pub(crate) counting: Counting,
    /// Of its own, so that no traffic changes what another one draws.
    pub(crate) rng: ChaCha8Rng,
}

impl TrafficSpec {
    /// For how long it has been active at a time.
    fn active(&self, now: Instant) -> Instant {
        self.schedule.as_ref().map_or(now, |schedule| schedule.active(now))
    }

    /// When it has been active for so long.
    pub(crate) fn real(&self, active: Instant) -> Instant {
        self.schedule.as_ref().map_or(active, |schedule| schedule.real(active))
    }

    /// When it is active, at a time or later.
    pub(crate) fn next_on(&self, at: Instant) -> Instant {
        self.schedule.as_ref().map_or(at, |schedule| schedule.next_on(at))
    }

    /// What the application of a flow that begins now writes, if not everything at once. Requests and answers are there
    /// at once, and flows with an end do not pause.
    pub(crate) fn supply(&self, purpose: &Purpose, now: Instant) -> Option<Supply> {
        let pauses = self.schedule.is_some() && purpose.bytes == u64::MAX;
        (self.offer.is_some() || pauses).then(|| Supply::new(self.offer, self.schedule.clone(), now))
    }

    /// What the next flow has from its arrival on; [`NEVER`] without a deadline.
    pub(crate) fn draw_deadline(&mut self) -> Instant {
        let Some(deadline) = &self.deadline else { return NEVER };
        let unit = if deadline.is_drawn() { random::unit(&mut self.deadline_rng) } else { 0.0 };
        clock::from_time(deadline.quantile(unit))
    }
}

/// Where flows are counted.
#[derive(Debug)]
pub(crate) enum Counting {
    /// Each pair for itself.
    PerPair(HashMap<(Endpoint, Endpoint), u32>),
    /// All together.
    Together(Option<u32>),
}

impl Engine {
    /// `lowest` is the queue of traffic that names none.
    pub(crate) fn add_traffic(&mut self, index: u32, traffic: &Traffic, usual: &Transport, lowest: u8) {
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
            calls: None,
            loops: Vec::new(),
            connections: None,
            queue: traffic.queue.unwrap_or(lowest),
            classes: {
                let to_service = traffic.to_service.as_deref().or(traffic.service.as_deref());
                let class = |service: Option<&str>| service.map(|service| self.class_of(Some(service)));
                (class(traffic.service.as_deref()), class(to_service))
            },
            stop,
            schedule: traffic.active.as_ref().map(|active| Arc::new(Schedule::new(active))),
            offer: None,
            sizes: None,
            deadline: None,
            deadline_rng: random::generator(self.spec.seed, DEADLINES + u64::from(index)),
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
        pairs: &[(Endpoint, Endpoint)],
        kind: PacketKind,
        frame: Bytes,
        (start, stop): (Instant, Instant),
        rng: &mut ChaCha8Rng,
    ) {
        let mut ways: Vec<(Way, NodeId)> = Vec::new();
        for &(from, to) in pairs {
            if let Some(way) = self.way(index, spec, from, to, rng) {
                ways.push((way, to.host));
            }
        }
        let phases = self.phases(&ways, kind, frame, start, rng);
        for ((way, _), phase) in ways.into_iter().zip(phases) {
            let start = spec.active(phase);
            let source = Source::new(way, kind, frame, start, stop, rng).switched(spec.schedule.clone());
            self.processes.push(Process::Source { traffic: index, source, start });
        }
    }

    /// The classes of what goes from one endpoint to another: those of the services that its traffic names, otherwise
    /// those of the endpoints.
    pub(crate) fn classes_of(&self, spec: &TrafficSpec, from: Endpoint, to: Endpoint) -> (u32, u32) {
        let of = |end: Endpoint| end.vm().and_then(|vm| self.spec.vm_classes.get(vm)).copied();
        let usual = || self.class_of(None);
        let at = |named: Option<u32>, end: Endpoint| named.or_else(|| of(end)).unwrap_or_else(usual);
        (at(spec.classes.0, from), at(spec.classes.1, to))
    }

    /// The way of a source.
    fn way(
        &mut self,
        index: u32,
        spec: &TrafficSpec,
        from: Endpoint,
        to: Endpoint,
        rng: &mut ChaCha8Rng,
    ) -> Option<Way> {
        let (first, route, last_hop, paths) = match spec.fixed {
            Some((first, route)) => (first, route, Step::END, None),
            None => {
                let (source, sink) =
                    (self.spec.attachments[from.host.index()]?, self.spec.attachments[to.host.index()]?);
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
            self.add_source(whole, (from, to), self.classes_of(spec, from, to), spec.queue);
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
    fn open_packets(&mut self, index: u32, spec: &TrafficSpec, ends: (Endpoint, Endpoint)) -> u32 {
        let flow = self.tally.open(index, Some(ends));
        if let Some(recorder) = &mut self.fabric.recorder {
            recorder.name(Kind::Datagram, flow, &spec.name, (ends.0.host, ends.1.host), 0);
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
        ends: &Ends<Endpoint>,
        start: Instant,
        rng: &mut ChaCha8Rng,
    ) {
        // Requests of closed loops are due in real time.
        let begins = start;
        let start = spec.active(start);
        spec.offer = reliable.offer;
        spec.sizes = reliable.sizes.clone();
        spec.deadline = reliable.deadline.clone();
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
            Arrivals::Rpc(rpc) => {
                let each = rpc.outstanding;
                let calls = match (rpc.server, ends) {
                    (Server::Drawn, Ends::AllToAll(from, to) | Ends::Random(from, to)) => Calls::drawn(rpc, from, to),
                    (_, Ends::Random(..)) => Calls::kept(rpc, (0..each).filter_map(|_| spec.pairs.draw(rng))),
                    _ => {
                        let pairs = spec.pairs.all(rng).into_iter();
                        Calls::kept(rpc, pairs.flat_map(|pair| vec![pair; each as usize]))
                    }
                };
                let loops = calls.loops.len();
                spec.calls = Some(calls);
                let due = (0..loops).map(|pair| std::cmp::Reverse((begins, pair as u32)));
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
