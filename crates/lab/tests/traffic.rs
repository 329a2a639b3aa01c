//! Real packets through a lab: forwarded by their tags, measured, and late when nobody shapes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;

use std::thread::sleep;
use std::time::Duration;

use common::{Down, is_able, labs, name};
use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, Sender, Settings};
use wayleave_dataplane::net::{Batch, Namespace, attach_ingress};
use wayleave_dataplane::switch::port_of;
use wayleave_lab::traffic::{FlowReport, FlowSpec, HEADERS, Load, Traffic};
use wayleave_lab::{Lab, Sentinel, UpOptions, scaled};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Rate, Time};
use wayleave_wire::{Mac, Selector, Tag};

/// The program of every host, fed by hand.
struct Hosts(Vec<(NodeId, Host)>);

impl Hosts {
    fn start(lab: &Lab) -> Self {
        let plan = lab.plan();
        let start = |node: &wayleave_lab::NodePlan| {
            let mut host = Host::open(&lab.pins().join(&node.ports.name), &Settings::default()).unwrap();
            let mut lines = Vec::new();
            for endpoint in plan.on_host(node.node) {
                host.add_endpoint(endpoint.outside.ifindex, Mac::new(endpoint.mac)).unwrap();
                lines.extend(attach_ingress(&endpoint.outside.interface, &host.pinned(HostProgram::Endpoint)));
            }
            for port in &node.ports.ports {
                lines.extend(attach_ingress(&port.interface, &host.pinned(HostProgram::Uplink)));
            }
            Batch::tc().extend(lines).run(&Namespace::open(&node.namespace).unwrap()).unwrap();
            for other in &plan.endpoints {
                let path = path(lab, node.node, other.host, None);
                host.set_best_effort(Mac::new(other.mac), path.as_slice()).unwrap();
            }
            (node.node, host)
        };
        Self(plan.hosts().map(start).collect())
    }

    fn of(&mut self, node: NodeId) -> &mut Host {
        &mut self.0.iter_mut().find(|(id, _)| *id == node).unwrap().1
    }
}

/// The way over the only switch of a star, in a queue for contracts, or in those for best effort.
fn path(lab: &Lab, from: NodeId, to: NodeId, queue: Option<u8>) -> Option<HostPath> {
    let network = lab.network();
    let out: LinkId = *network.links_from(from).first()?;
    let down = network.links_from(network.link(out).to).iter().copied().find(|&link| network.link(link).to == to)?;
    let uplink = lab.plan().port(network, out)?.ifindex;
    let lowest = |link: LinkId| network.queues(link).len() as u8;
    let tag = Tag::new(port_of(network, down), queue.unwrap_or(lowest(down) - 1)).ok()?;
    Some(HostPath { uplink, queue: queue.unwrap_or(lowest(out)), tags: vec![tag] })
}

fn star(hosts: u64) -> (Lab, Down) {
    let network = scaled(&build::star(hosts, Cabling::default()).unwrap(), Rate::from_mbit(10)).unwrap();
    let name = name();
    let down = Down(name.clone());
    (labs().up(&UpOptions { name, topology: "star", network: &network, endpoints: &[] }).unwrap(), down)
}

fn flow(lab: &Lab, [from, to]: [&str; 2], port: u16, load: Load) -> FlowSpec {
    let endpoint = |id| lab.plan().endpoint(id).unwrap().clone();
    let (from, to) = (endpoint(from), endpoint(to));
    let name = format!("{} to {}", from.id, to.id);
    let bound = Some(Time::from_millis(25));
    FlowSpec { name, from, to, port, source_port: None, payload: 1000, overhead: 28, load, bound }
}

/// 2 Mbit/s in bursts of three packets.
const CONTRACT: Load = Load::Bursts {
    rate: Rate::from_mbit(2),
    burst: Bytes::new(3 * (1000 + HEADERS + 28)),
    period: Time::from_millis(50),
};

fn run(specs: Vec<FlowSpec>) -> Vec<FlowReport> {
    let traffic = Traffic::start(specs).unwrap();
    sleep(Duration::from_millis(2_000));
    traffic.stop()
}

#[test]
fn a_contract_keeps_its_bound_beside_a_flood_and_would_not_without_its_queue() {
    if !is_able() {
        return;
    }
    let (lab, _down) = star(3);
    let mut hosts = Hosts::start(&lab);
    let flood = Load::Constant { rate: Rate::from_mbit(15) };
    let specs =
        vec![flow(&lab, ["host:h1", "host:h3"], 7001, CONTRACT), flow(&lab, ["host:h2", "host:h3"], 7002, flood)];
    let sentinel = Sentinel::start().unwrap();

    let without = &run(specs.clone())[0];
    assert!(
        without.late.len() > 10 || without.lost() > 10,
        "best effort beside a flood is late: {:?}",
        without.worst()
    );

    let from = lab.plan().endpoint("host:h1").unwrap();
    let to = lab.plan().endpoint("host:h3").unwrap();
    let rule = HostRule {
        senders: vec![Sender {
            ifindex: from.outside.ifindex,
            selector: Selector { destination: Some(Mac::new(to.mac)), ..Selector::default() },
        }],
        rate: Rate::from_mbit(2),
        burst: Bytes::new(3 * (1000 + HEADERS + 28)),
        max_frame: None,
        paths: path(&lab, from.host, to.host, Some(0)).into_iter().collect(),
        bound: Time::from_millis(25),
    };
    hosts.of(from.host).install(1, 1, &rule).unwrap();
    let reports = run(specs);
    let stalls = sentinel.stop();
    let with = &reports[0];
    let (_, broken) = with.late_by_stalls(&stalls);
    assert!(with.sent > 300, "{}", with.sent);
    assert_eq!(
        (broken, with.lost(), with.reordered, with.duplicates),
        (Vec::new(), 0, 0, 0),
        "worst {:?}",
        with.worst()
    );
    assert!(reports[1].lost() > 100, "the flood overflows its queue");
    let contract = hosts.of(from.host).counters().unwrap().contracts[&1];
    assert_eq!((contract.packets, contract.shaped), (with.sent, 0));
}
