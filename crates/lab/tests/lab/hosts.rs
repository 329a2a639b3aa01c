//! The programs of a lab's hosts, fed by hand in place of a controller and agents.

use std::collections::{HashMap, VecDeque};

use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, Sender, Settings};
use wayleave_dataplane::net::{Batch, Namespace, attach_ingress};
use wayleave_dataplane::switch::port_of;
use wayleave_lab::{Lab, NodePlan};
use wayleave_topology::{LinkId, NodeId, NodeKind};
use wayleave_units::{Bytes, Rate, Time};
use wayleave_wire::{Demand, Mac, Selector, Tag};

/// Where the receivers of contracts listen.
pub(crate) const CONTRACT_PORT: u16 = 7000;

/// The program of every host.
pub(crate) struct Hosts(Vec<(NodeId, Host)>);

impl Hosts {
    /// Starts all of them, with best-effort routes to everybody.
    pub(crate) fn start(lab: &Lab) -> Self {
        let plan = lab.plan();
        let settings = Settings { contracts: 64, ..Settings::default() };
        let start = |node: &NodePlan| {
            let mut host = Host::open(&lab.pins().join(node.file_name()), &settings).unwrap();
            let mut lines = Vec::new();
            for endpoint in plan.on_host(node.node) {
                host.add_endpoint(endpoint.outside.ifindex, Mac::new(endpoint.mac)).unwrap();
                lines.extend(attach_ingress(&endpoint.outside.interface, &host.pinned(HostProgram::Endpoint)));
            }
            for port in &node.ports.ports {
                lines.extend(attach_ingress(&port.interface, &host.pinned(HostProgram::Uplink)));
            }
            Batch::tc().extend(lines).run(&Namespace::open(&node.namespace).unwrap()).unwrap();
            for other in plan.endpoints.iter().filter(|other| other.host != node.node) {
                host.set_best_effort(Mac::new(other.mac), &[path(lab, node.node, other.host, None)]).unwrap();
            }
            (node.node, host)
        };
        Self(plan.hosts().map(start).collect())
    }

    /// The program of a host.
    pub(crate) fn of(&mut self, node: NodeId) -> &mut Host {
        &mut self.0.iter_mut().find(|(id, _)| *id == node).unwrap().1
    }

    /// Packets of a contract that its sender's host dropped, because they were more than its bucket allows. Senders wait for their bucket, but
    /// where a processor is busy (floods on the same host, a machine that stands still), the kernel hands packets to the host's program
    /// later than it took them, and closer together.
    pub(crate) fn shaped(&mut self, lab: &Lab, from: &str, serial: u64) -> u64 {
        let host = lab.plan().endpoint(from).unwrap().host;
        self.of(host).counters().unwrap().contracts[&serial].shaped
    }

    /// Lets what one endpoint sends to another one's port for contracts use the highest queue of the shortest way.
    pub(crate) fn promise(&mut self, lab: &Lab, ends: [&str; 2], serial: u64, rate: Rate, burst: Bytes, bound: Time) {
        let [from, to] = ends.map(|id| lab.plan().endpoint(id).unwrap());
        let destination = Some(Mac::new(to.mac));
        let selector =
            Selector { destination, protocol: Some(17), destination_port: Some(CONTRACT_PORT), ..Selector::default() };
        let rule = HostRule {
            senders: vec![Sender { ifindex: from.outside.ifindex, selector }],
            demand: Demand { rate, burst, max_frame: None },
            paths: vec![path(lab, from.host, to.host, Some(0))],
            bound,
        };
        self.of(from.host).install(serial, 1, &rule).unwrap();
    }
}

/// A shortest way, in a queue for contracts or, without one, in those for best effort.
fn path(lab: &Lab, from: NodeId, to: NodeId, queue: Option<u8>) -> HostPath {
    let network = lab.network();
    let mut came: HashMap<NodeId, LinkId> = HashMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        if node != from && network.node(node).kind == NodeKind::Host {
            continue;
        }
        for &link in network.links_from(node) {
            let far = network.link(link).to;
            if far != from && !came.contains_key(&far) {
                came.insert(far, link);
                next.push_back(far);
            }
        }
    }
    let mut links = Vec::new();
    let mut at = to;
    while at != from {
        links.push(came[&at]);
        at = network.link(came[&at]).from;
    }
    links.reverse();
    let lowest = |link: LinkId| network.queues(link).len() as u8 - 1;
    let tags = links[1..].iter().map(|&link| Tag::new(port_of(network, link), queue.unwrap_or(lowest(link))).unwrap());
    let uplink = lab.plan().port(network, links[0]).unwrap().ifindex;
    // A host has one queue more than its contracts have.
    HostPath { uplink, queue: queue.unwrap_or(lowest(links[0]) + 1), tags: tags.collect(), mtu: Bytes::new(1500) }
}
