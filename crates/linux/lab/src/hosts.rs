//! The programs of a lab's hosts, fed by hand: in place of a controller and agents.

use std::collections::{BTreeMap, HashMap, VecDeque};

use wayleave_dataplane::host::{Counters, Host, HostPath, HostProgram, HostRule, Settings};
use wayleave_dataplane::net::{Namespace, ToolBatch, attach_ingress};
use wayleave_dataplane::switch::port_of;
use wayleave_packet_format::{Mac, Tag};
use wayleave_topology::{Hop, LinkId, NodeId, NodeKind};

use crate::error::LabError;
use crate::plan::NodePlan;
use crate::up::Lab;

/// Contracts of a host at most.
const CONTRACTS: u32 = 1024;

/// The program of every host of a lab. Packets of no contract go best effort, by a shortest route.
pub struct Hosts(Vec<(NodeId, Host)>);

impl Hosts {
    /// Starts all of them, without any contract.
    ///
    /// # Errors
    /// If the kernel refuses a program, or another process has one in use.
    pub fn start(lab: &Lab) -> Result<Self, LabError> {
        let plan = lab.plan();
        let settings = Settings { contracts: CONTRACTS, ..Settings::default() };
        let start = |node: &NodePlan| {
            let mut host = Host::open(&lab.pins().join(node.file_name()), &settings)?;
            let mut lines = Vec::new();
            for endpoint in plan.on_host(node.node) {
                host.add_endpoint(endpoint.outside.ifindex, Mac::new(endpoint.mac))?;
                lines.extend(attach_ingress(&endpoint.outside.interface, &host.pinned(HostProgram::Endpoint)));
            }
            for port in &node.ports.ports {
                lines.extend(attach_ingress(&port.interface, &host.pinned(HostProgram::Uplink)));
            }
            ToolBatch::tc().extend(lines).run(&Namespace::open(&node.namespace)?)?;
            for other in plan.endpoints.iter().filter(|other| other.host != node.node) {
                if let Some(path) = best_effort(lab, node.node, other.host) {
                    host.set_best_effort(Mac::new(other.mac), &[path])?;
                }
            }
            for (serial, _) in host.installed() {
                host.remove(serial)?;
            }
            Ok((node.node, host))
        };
        Ok(Self(plan.hosts().map(start).collect::<Result<_, LabError>>()?))
    }

    /// Lets a host treat packets of a contract so.
    ///
    /// # Errors
    /// If there is no such host, or it refuses.
    pub fn install(&mut self, host: NodeId, serial: u64, rule: &HostRule) -> Result<(), LabError> {
        let found = self.0.iter_mut().find(|(node, _)| *node == host);
        let (_, host) =
            found.ok_or_else(|| LabError::Controller("a rule names a node that is not a host".to_owned()))?;
        Ok(host.install(serial, 1, rule)?)
    }

    /// Returns the counters of a host's programs.
    ///
    /// # Errors
    /// If there is no such host, or its counters cannot be read.
    pub fn counters(&self, host: NodeId) -> Result<Counters, LabError> {
        let found = self.0.iter().find(|(node, _)| *node == host);
        let (_, host) = found
            .ok_or_else(|| LabError::Controller("counters were requested from a node that is not a host".to_owned()))?;
        Ok(host.counters()?)
    }

    /// Packets of each contract that its sender's host dropped, because they were more than its bucket allows.
    ///
    /// # Errors
    /// If counters cannot be read.
    pub fn shaped(&self) -> Result<BTreeMap<u64, u64>, LabError> {
        let mut shaped = BTreeMap::new();
        for (_, host) in &self.0 {
            shaped.extend(host.counters()?.contracts.iter().map(|(&serial, contract)| (serial, contract.shaped)));
        }
        Ok(shaped)
    }
}

/// A route as a host's program has it; `None` if it does not leave the host, or a port has too many numbers for a tag.
pub fn host_path(lab: &Lab, route: &[Hop]) -> Option<HostPath> {
    let network = lab.network();
    let (first, rest) = route.split_first()?;
    let tags = rest.iter().map(|hop| Tag::new(port_of(network, hop.link), hop.queue).ok()).collect::<Option<_>>()?;
    let uplink = lab.plan().port(network, first.link)?.ifindex;
    let mtu = route.iter().map(|hop| network.link(hop.link).mtu).min()?;
    Some(HostPath { uplink, queue: first.queue, tags, mtu })
}

/// Returns a shortest route in the queues for best effort.
pub(crate) fn best_effort(lab: &Lab, from: NodeId, to: NodeId) -> Option<HostPath> {
    let network = lab.network();
    let mut route = shortest(lab, from, to)?;
    for hop in &mut route {
        hop.queue = u8::try_from(network.queues(hop.link).len()).ok()? - 1;
    }
    // A host has one queue more than its contracts have.
    route.first_mut()?.queue += 1;
    host_path(lab, &route)
}

/// Returns a shortest route in the highest queues, by switches alone.
pub fn shortest(lab: &Lab, from: NodeId, to: NodeId) -> Option<Vec<Hop>> {
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
    let (mut links, mut at) = (Vec::new(), to);
    while at != from {
        let &link = came.get(&at)?;
        links.push(Hop { link, queue: 0 });
        at = network.link(link).from;
    }
    links.reverse();
    Some(links)
}
