//! From a scenario to the network that runs it: links, ports, and where hosts are attached.

use wayleave_scenarios::Scenario;
use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::Rate;

use super::Fabric;
use crate::clock::{self, LineSpeed};
use crate::custom::Custom;
use crate::events::EventQueue;
use crate::link::{Link, Port, Target, limit};
use crate::packet::Arena;
use crate::port_builder::{PortsBuilder, largest};
use crate::recorder::Recorder;
use crate::router::Router;
use crate::stats::Levels;
use crate::telemetry::TelemetryArena;

impl Fabric {
    /// The network of a scenario that was validated.
    pub(crate) fn new(scenario: &Scenario, custom: &Custom<'_>) -> Self {
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
            largest: largest(&scenario.network),
            recorder: scenario.record.trace.map(|most| Box::new(Recorder::new(most as usize))),
            ports: builder.ports,
            switches: builder.switches,
            pools: builder.pools,
            arena: Arena::new(),
            events: EventQueue::default(),
            routes: Vec::new(),
            samples: Vec::new(),
            telemetry: TelemetryArena::default(),
            hops: 0,
            network,
            router,
            links,
            speeds,
            rates,
            stride,
        }
    }
}
