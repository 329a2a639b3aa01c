//! From a scenario to the network that runs it: links, ports, and where hosts are attached.

use wayleave_scenarios::{Jitter as Kind, JitterDistribution, Scenario};
use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::Rate;

use super::jitter::Jitter;
use super::{NO_STAMPER, NetworkState};
use crate::clock::{self, LineSpeed};
use crate::custom::Custom;
use crate::events::{Actor, EventQueue};
use crate::link::{Link, NO_LIMIT, Port, Target, limit};
use crate::packet::Arena;
use crate::port_builder::{PortsBuilder, holds_each, largest};
use crate::recorder::Recorder;
use crate::router::Router;
use crate::stats::Levels;
use crate::telemetry::TelemetryArena;

impl NetworkState {
    /// The network of a scenario that was validated.
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
        let mut stamper_of = builder.stamper_of;
        stamper_of.resize(links.len(), NO_STAMPER);
        let router = Router::new(network.clone());
        let attachment = |(id, node): (NodeId, &wayleave_topology::Node)| match node.kind {
            NodeKind::Host => router.attachment(id),
            NodeKind::Switch => None,
        };
        let levels = |interval| vec![Levels::new(clock::from_time(interval)); links.len()];
        Self {
            attachments: network.nodes().map(attachment).collect(),
            limits: links.iter().map(|link| link.limit).collect(),
            services: scenario.shared_services.iter().map(|service| service.switch).collect(),
            records: vec![Default::default(); links.len() * stride],
            health: vec![Default::default(); links.len()],
            levels: scenario.record.series.map(levels),
            is_watched: scenario.record.series.is_some() || scenario.record.trace.is_some(),
            largest: largest(&scenario.network),
            recorder: scenario.record.trace.map(|most| Box::new(Recorder::new(most as usize))),
            ports: builder.ports,
            switches: builder.switches,
            stampers: builder.stampers,
            stamper_of,
            pools: builder.pools,
            arena: Arena::new(),
            events: if links.len() < super::prefetch::LARGE { EventQueue::default() } else { EventQueue::large() },
            routes: Vec::new(),
            samples: Vec::new(),
            telemetry: TelemetryArena::default(),
            hops: 0,
            part: None,
            peak_of_all: None,
            memory_elsewhere: 0,
            network,
            router,
            links,
            speeds,
            rates,
            stride,
            jitter,
        }
    }

    /// The traffic against which nodes hold packets up, if there is one.
    pub(crate) fn attacked(scenario: &Scenario) -> Option<u32> {
        match scenario.jitter {
            Kind::Each { draw: JitterDistribution::Against { traffic }, .. } => Some(traffic as u32),
            _ => None,
        }
    }

    /// Nodes hold packets up against these flows.
    pub(crate) fn attack(&mut self, flows: Vec<u32>) {
        if let Some(jitter) = &mut self.jitter {
            jitter.attack(flows);
        }
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
) -> Option<Box<Jitter>> {
    let Kind::Each { draw, order } = scenario.jitter else { return None };
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
    Some(Box::new(Jitter::new(of_host_link, most, first as Actor, (draw, order), seed)))
}
