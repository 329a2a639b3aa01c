//! From a scenario to a run: ports, links, hosts and processes. What its traffic becomes is in [`crate::traffic`].

use std::sync::Arc;

use wayleave_scenarios::{Draw, Jitter, Routing, Scenario};
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Rate, Time};

use crate::clock::{self, LineSpeed};
use crate::copies::Copies;
use crate::custom::Custom;
use crate::engine::Engine;
use crate::events::{Actor, EventQueue};
use crate::fabric::{self, Fabric, LinkHealth, limit};
use crate::flows::Interface;
use crate::link::{Link, NO_LIMIT, Port, Target};
use crate::outcome::Tally;
use crate::packet::Arena;
use crate::port_builder::{PortsBuilder, holds_each, largest};
use crate::processes::Process;
use crate::recorder::Recorder;
use crate::router::{Attachment, Router};
use crate::stats::Levels;
use crate::telemetry::TelemetryArena;
use crate::traffic::TrafficSpec;

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
        let jitter = stages(scenario, seed, &mut links, &mut speeds, &mut rates);
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
            jitter,
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
            has_actions: false,
            tally: Tally::new(scenario.traffic.len(), scenario.warmup, scenario.record.series),
            end: clock::from_time(scenario.duration),
            now: 0,
        };
        engine.add_edges(scenario, custom);
        engine.spec.vm_classes = scenario.vms.iter().map(|vm| engine.class_of(vm.service.as_deref())).collect();
        let lowest = scenario.lowest_queue();
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            engine.add_traffic(index as u32, traffic, &scenario.transport, lowest);
        }
        if let (Jitter::Each { draw: Draw::Against { traffic }, .. }, Some(jitter)) =
            (scenario.jitter, &mut engine.fabric.jitter)
        {
            jitter.against = engine.tally.flows_of(traffic as u32);
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

/// Nodes whose packets each take a time of their own: links into their switches lead to them, and each has the number of a link
/// as its actor.
fn stages(
    scenario: &Scenario,
    seed: u64,
    links: &mut Vec<Link>,
    speeds: &mut Vec<LineSpeed>,
    rates: &mut Vec<Rate>,
) -> Option<Box<fabric::Jitter>> {
    let Jitter::Each { draw, order } = scenario.jitter else { return None };
    let network = &scenario.network;
    let first = links.len();
    let mut of_host_link = vec![None; first];
    let mut most = Vec::new();
    for (id, node) in network.nodes().filter(|&(id, _)| holds_each(scenario, id)) {
        let stage = most.len() as u32;
        most.push(clock::from_time(node.jitter));
        if node.kind == NodeKind::Host {
            network.links_from(id).iter().for_each(|link| of_host_link[link.index()] = Some(stage));
        } else {
            for into in network.links_into(id) {
                links[into.index()] = links[into.index()].clone().leading_to(Target::Jitter(stage));
            }
        }
        // Nothing is ever on it.
        links.push(Link::new(LineSpeed::new(Rate::MAX), 0, Target::Host, Port::Fifo, NO_LIMIT));
        speeds.push(LineSpeed::new(Rate::MAX));
        rates.push(Rate::MAX);
    }
    Some(Box::new(fabric::Jitter::new(of_host_link, most, first as Actor, (draw, order), seed)))
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
