//! From a scenario's traffic to a run: sources, arrivals of flows, and where they are counted.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use wayleave_scenarios::{
    Endpoint, FlowArrivals, FlowEndpoints, FlowSizes, PacketKind, Reliable, Routing, RpcServer, Scenario, StartPhase,
    Traffic, TransportConfig, Workload,
};
use wayleave_schemes::duplicates::Filter;
use wayleave_schemes::services::Services;
use wayleave_schemes::transports::AnyPath;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Time};

use super::jobs::BEGINNING;
use super::table::{Process, Processes};
use super::traffic::{FlowAccounting, TrafficSpec};
use crate::clock::{self, Instant};
use crate::connections::Connections;
use crate::copies::{Copies, CopyPath};
use crate::endpoints::Pairs;
use crate::fabric::{NetworkState, Step};
use crate::flow_chain::Chains;
use crate::hosts::Hosts;
use crate::jobs::JobRun;
use crate::packet::Kind;
use crate::random;
use crate::rpc::Calls;
use crate::run_stats::RunStats;
use crate::schedule::Schedule;
use crate::sources::{Source, SourceDestination};
use crate::transport::NEVER;

/// Flows of more pairs than this are counted together.
pub(crate) const MAX_COUNTED_PAIRS: usize = 4096;

/// The purposes of the random numbers of deadlines; those of traffic are below, with those of the hosts between them.
const DEADLINES: u64 = 1 << 41;

/// Seeds of the path schemes for packets of sources; those of flows are below.
const SOURCES: u64 = 1 << 63;

/// Each pair for itself, if they are known and not too many.
fn counting(pairs: &Pairs) -> FlowAccounting {
    match pairs {
        Pairs::Fixed(pairs) if pairs.len() <= MAX_COUNTED_PAIRS => FlowAccounting::PerPair(HashMap::new()),
        _ => FlowAccounting::Together(None),
    }
}

/// Makes the processes of a scenario, and registers them with the other parts of a run.
pub(crate) struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    fabric: &'a mut NetworkState,
    hosts: &'a mut Hosts,
    copies: &'a mut Copies,
    stats: &'a mut RunStats,
    processes: Processes,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        (scenario, seed): (&'a Scenario, u64),
        fabric: &'a mut NetworkState,
        hosts: &'a mut Hosts,
        copies: &'a mut Copies,
        stats: &'a mut RunStats,
    ) -> Self {
        let processes = Processes::new(fabric.actors());
        Self { scenario, seed, fabric, hosts, copies, stats, processes }
    }

    /// All processes. The first one is that of the hosts, if there are any: they know its number.
    pub(crate) fn build(mut self) -> Processes {
        let scenario = self.scenario;
        if self.hosts.is_shared() {
            self.processes.all.push(Process::Hosts);
        }
        let class = |vm: &wayleave_scenarios::ScenarioVm| {
            vm.service.as_deref().map_or(Services::OTHER.0, |name| self.class_of(name))
        };
        self.processes.vm_classes = scenario.vms.iter().map(class).collect();
        let lowest = scenario.lowest_queue();
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            self.add_traffic(index as u32, traffic, &scenario.transport, lowest);
        }
        let outages = scenario.outages.iter().map(|&outage| Process::Outage(outage));
        self.processes.all.extend(outages);
        if scenario.warmup > Time::ZERO {
            self.processes.all.push(Process::WarmedUp(clock::from_time(scenario.warmup)));
        }
        let measures = self.hosts.measures_guarantees();
        self.processes.all.extend(measures.map(|interval| Process::Guarantees { next: interval, interval }));
        if scenario.fast_forward.is_some() {
            self.processes.all.push(Process::Forward { wakes_at: NEVER });
        }
        self.processes
    }

    /// The class of a service; best effort where hosts do not share.
    fn class_of(&self, service: &str) -> u32 {
        self.hosts.class_of(service)
    }

    /// `lowest` is the queue of traffic that names none.
    fn add_traffic(&mut self, index: u32, traffic: &Traffic, usual: &TransportConfig, lowest: u8) {
        let mut rng = random::generator(self.seed, 2 * u64::from(index));
        let pairs = Pairs::new(&traffic.ends, &mut rng);
        let start = clock::from_time(traffic.start);
        let end = clock::from_time(self.scenario.duration);
        let stop = traffic.stop.map_or(end.saturating_add(1), clock::from_time);
        let fixed = traffic.route.as_ref().map(|route| self.fabric.add_route(route));
        let copies = traffic.copies.as_ref().map(|copies| {
            let routes = copies.routes.iter().map(|route| self.fabric.add_route(route)).collect();
            (routes, Filter::new(copies.window, copies.reset))
        });
        let mut spec = TrafficSpec {
            name: traffic.name.clone(),
            pairs,
            calls: None,
            chains: None,
            followers: Vec::new(),
            job: None,
            loops: Vec::new(),
            connections: None,
            queue: traffic.queue.unwrap_or(lowest),
            classes: {
                let to_service = traffic.to_service.as_deref().or(traffic.service.as_deref());
                let class = |service: Option<&str>| service.map(|service| self.class_of(service));
                (class(traffic.service.as_deref()), class(to_service))
            },
            stop,
            schedule: traffic.active.as_ref().map(|active| Arc::new(Schedule::new(active))),
            send_schedule: None,
            sizes: None,
            deadline: None,
            deadline_rng: random::generator(self.seed, DEADLINES + u64::from(index)),
            transport: usual.clone(),
            fixed,
            copies,
            counting: FlowAccounting::Together(None),
            rng: random::generator(self.seed, (2 * u64::from(index)) + 1),
        };
        match &traffic.workload {
            Workload::Packets { kind, frame } => {
                let all = spec.pairs.all(&mut rng);
                self.add_sources(index, &spec, &all, *kind, *frame, (start, stop), &mut rng);
            }
            Workload::Flows(reliable) => self.add_flows(index, &mut spec, reliable, &traffic.ends, start, &mut rng),
            Workload::Listed { flows, transport } => {
                spec.transport = transport.clone().unwrap_or(spec.transport);
                self.processes.all.push(Process::Listed { traffic: index, flows: flows.clone(), next: 0 });
            }
            Workload::Job(job) => {
                spec.transport = job.transport.clone().unwrap_or(spec.transport);
                spec.job = Some(JobRun::new(job, self.processes.all.len()));
                spec.counting = counting(&spec.pairs);
                let due = BinaryHeap::from([std::cmp::Reverse((start, BEGINNING))]);
                self.processes.all.push(Process::Job { traffic: index, due, wakes_at: NEVER });
            }
        }
        self.processes.traffic.push(spec);
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
        let mut destinations: Vec<(SourceDestination, NodeId)> = Vec::new();
        for &(from, to) in pairs {
            if let Some(destination) = self.destination(index, spec, from, to, rng) {
                destinations.push((destination, to.host));
            }
        }
        let phases = self.phases(&destinations, kind, frame, start, rng);
        for ((destination, _), phase) in destinations.into_iter().zip(phases) {
            let start = spec.active(phase);
            let source = Source::new(destination, kind, frame, start, stop, rng).switched(spec.schedule.clone());
            let source = source.spread(self.spreading(&destination));
            self.processes.all.push(Process::Source { traffic: index, source, start });
        }
    }

    /// Returns the choice of paths for a source's packets; `None` if all take one, and where hosts share: their stacks choose.
    fn spreading(&self, destination: &SourceDestination) -> Option<AnyPath> {
        let routing = &self.scenario.routing;
        let is_one = matches!(routing, Routing::PerFlow(_)) || destination.paths.is_none() || self.hosts.is_shared();
        (!is_one).then(|| routing.path(self.seed.rotate_left(32) ^ (SOURCES | u64::from(destination.flow))))
    }

    /// Returns the route of a source.
    fn destination(
        &mut self,
        index: u32,
        spec: &TrafficSpec,
        from: Endpoint,
        to: Endpoint,
        rng: &mut ChaCha8Rng,
    ) -> Option<SourceDestination> {
        let (first, route, last_hop, paths) = match spec.fixed {
            Some((first, route)) => (first, route, Step::END, None),
            None => {
                let direction = self.fabric.direction(from.host, to.host, spec.queue)?;
                let paths = direction.paths;
                let path = random::below(rng, self.fabric.path_count(paths).max(1));
                let route = self.fabric.start(paths, path)?;
                let (first, last_hop) = self.fabric.ends(&direction, path);
                (first, route, last_hop, Some((paths, path)))
            }
        };
        let whole = self.open_packets(index, spec, (from, to));
        let is_tagged = spec.fixed.is_some();
        let destination = SourceDestination { first, route, last_hop, flow: whole, is_tagged, paths, copies: None };
        let Some((routes, filter)) = &spec.copies else {
            let classes = spec.classes_between(from, to, &self.processes.vm_classes);
            if self.hosts.is_shared() {
                self.hosts.add_source(whole, (from, to), classes, spec.queue);
            }
            return Some(destination);
        };
        let own = self.open_packets(index, spec, (from, to));
        self.stats.is_copy(own, 0);
        let mut destinations = Vec::new();
        for (number, &(first, route)) in (1..).zip(routes) {
            let flow = self.open_packets(index, spec, (from, to));
            self.stats.is_copy(flow, number);
            destinations.push(CopyPath { first, route, flow });
        }
        let set = self.copies.add(whole, own, destinations, filter.clone());
        Some(SourceDestination { flow: own, copies: Some(set), ..destination })
    }

    /// Opens statistics of packets that are not acknowledged.
    fn open_packets(&mut self, index: u32, spec: &TrafficSpec, ends: (Endpoint, Endpoint)) -> u32 {
        let flow = self.stats.open(index, Some(ends));
        self.fabric.name(Kind::Datagram, flow, &spec.name, (ends.0.host, ends.1.host), 0);
        flow
    }

    /// Returns the start time of each source of a token bucket.
    fn phases(
        &self,
        destinations: &[(SourceDestination, NodeId)],
        kind: PacketKind,
        frame: Bytes,
        start: Instant,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Instant> {
        let PacketKind::TokenBucket { rate, burst, phase } = kind else { return vec![start; destinations.len()] };
        match phase {
            StartPhase::Together => vec![start; destinations.len()],
            StartPhase::Random => {
                let period = clock::transmission(burst.get(), rate);
                destinations.iter().map(|_| start + (random::unit(rng) * period as f64) as Instant).collect()
            }
            StartPhase::Colliding => {
                let size = u32::try_from(frame.get()).unwrap_or(u32::MAX);
                let transit = |destination: &SourceDestination| {
                    self.fabric.transit(destination.first, destination.route, destination.last_hop, size)
                };
                let times: Vec<Instant> = destinations.iter().map(|(destination, _)| transit(destination)).collect();
                let latest = |to: NodeId| {
                    destinations.iter().zip(&times).filter(|((_, other), _)| *other == to).map(|(_, &time)| time).max()
                };
                destinations.iter().zip(&times).map(|((_, to), time)| start + latest(*to).unwrap_or(0) - time).collect()
            }
        }
    }

    fn add_flows(
        &mut self,
        index: u32,
        spec: &mut TrafficSpec,
        reliable: &Reliable,
        ends: &FlowEndpoints<Endpoint>,
        start: Instant,
        rng: &mut ChaCha8Rng,
    ) {
        // Requests of closed loops are due in real time.
        let begins = start;
        let start = spec.active(start);
        spec.send_schedule = reliable.send_schedule;
        spec.sizes = reliable.sizes.clone();
        spec.deadline = reliable.deadline.clone();
        spec.transport = reliable.transport.clone().unwrap_or_else(|| spec.transport.clone());
        if !matches!(reliable.arrivals, FlowArrivals::Load(_) | FlowArrivals::PerSecond(_)) {
            spec.counting = counting(&spec.pairs);
        }
        let poisson = |per_second: f64, rng: &mut ChaCha8Rng| {
            let mean_gap = 1e12 / per_second;
            let next = start.saturating_add(random::exponential(rng, mean_gap));
            Process::Poisson { traffic: index, next, mean_gap }
        };
        let process = match &reliable.arrivals {
            FlowArrivals::Once => Process::Rounds { traffic: index, next: start, period: None },
            FlowArrivals::Every(period) => {
                let period = Some(clock::from_time(*period).max(1));
                Process::Rounds { traffic: index, next: start, period }
            }
            FlowArrivals::Uniform { mean, connections } => {
                let mean = clock::from_time(*mean);
                spec.loops = spec.pairs.all(rng);
                spec.connections = connections.map(|most| Connections::new(most, spec.loops.len()));
                let first = |pair| std::cmp::Reverse((start.saturating_add(random::uniform(rng, 2 * mean)), pair));
                let due = (0..spec.loops.len() as u32).map(first).collect();
                Process::Uniform { traffic: index, due, mean }
            }
            FlowArrivals::Periodic(period) => {
                let period = clock::from_time(*period).max(1);
                spec.loops = match ends {
                    // Each sender draws its receiver when it is due.
                    FlowEndpoints::Random(from, _) => from.iter().map(|&from| (from, from)).collect(),
                    _ => spec.pairs.all(rng),
                };
                let first = |pair| std::cmp::Reverse((start.saturating_add(random::uniform(rng, period)), pair));
                let due = (0..spec.loops.len() as u32).map(first).collect();
                Process::Periodic { traffic: index, due, period }
            }
            FlowArrivals::After(after) => {
                spec.chains = Some(Chains::new(after, ends));
                // It comes earlier in the list, as validated.
                if let Some(before) = self.processes.traffic.iter_mut().find(|other| other.name == after.traffic) {
                    before.followers.push(index);
                }
                return;
            }
            FlowArrivals::PerSecond(rate) => poisson(*rate, rng),
            FlowArrivals::Load(load) => poisson(self.flows_per_second(spec, *load), rng),
            FlowArrivals::Rpc(rpc) => {
                let each = rpc.outstanding;
                let calls = match (rpc.server, ends) {
                    (RpcServer::Drawn, FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to)) => {
                        Calls::drawn(rpc, from, to)
                    }
                    (_, FlowEndpoints::Random(..)) => Calls::kept(rpc, (0..each).filter_map(|_| spec.pairs.draw(rng))),
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
        self.processes.all.push(process);
    }

    /// Number of flows a second that load the links of all senders by this part.
    fn flows_per_second(&self, spec: &TrafficSpec, load: f64) -> f64 {
        let rate_of = |host: &NodeId| {
            let network = self.fabric.network();
            network.links_from(*host).iter().map(|&up| network.link(up).rate.bits_per_second() as f64).sum::<f64>()
        };
        let capacity: f64 = spec.pairs.senders().iter().map(rate_of).sum();
        let mean = spec.sizes.as_ref().map_or(1.0, FlowSizes::mean).max(1.0);
        load * capacity / (8.0 * mean)
    }
}
