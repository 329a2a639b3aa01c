//! The plan of a lab: names, indices and addresses, from the topology. Pure, and the same at every start.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;

use wayleave_dataplane::net::{SharedPortService, VLAN_ROOM, VethEnd};
use wayleave_dataplane::switch::{PortPlan, SwitchPlan};
use wayleave_topology::{Link, LinkId, Network, NodeId, NodeKind};
use wayleave_units::Bytes;

use crate::error::LabError;
use crate::interfaces::Interfaces;
use crate::names::{LabName, Namespaces, file_name};

/// Prefix in the name of a bare host's endpoint.
pub const HOST_TENANT: &str = "host";
/// Indices of interfaces begin here: every namespace has its own loopback interface at 1.
const FIRST_INDEX: u32 = 16;
/// Every endpoint knows the address of every other one, so their number counts twice.
const MAX_ENDPOINTS: usize = 1000;
/// The smallest and the largest MTU of a virtual link: `ETH_MIN_MTU` and `ETH_MAX_MTU` of include/uapi/linux/if_ether.h, less the room for tags.
const MTUS: [u32; 2] = [68, 65_535 - VLAN_ROOM];
/// Namespaces and links cost memory of the kernel, about 1 MiB each with all that belongs to it.
const MAX_NODES: usize = 2000;

/// An endpoint to be: a VM, and the host that it is on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndpointSpec {
    /// `tenant:name`.
    pub id: String,
    /// The name of its host.
    pub host: String,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// In the topology.
    pub node: NodeId,
    /// Host or switch.
    pub kind: NodeKind,
    /// The name of its namespace.
    pub namespace: String,
    /// Its ports, with the topology's names: without such a name `p1` ... at a switch, `up1` ... at a host.
    pub ports: SwitchPlan,
    /// `true` if Open vSwitch forwards for it, and not the kernel.
    pub is_ovs: bool,
}

/// Something that sends and receives: a VM, or a host by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPlan {
    /// `tenant:name`, or `host:name` for a host by itself.
    pub id: String,
    /// Its host.
    pub host: NodeId,
    /// Its address.
    pub address: Ipv4Addr,
    /// Interface of the endpoint: `eth0`.
    pub inside: VethEnd,
    /// Interface of the host towards the endpoint: `e1` ...
    pub outside: VethEnd,
    /// The address of its interface.
    pub mac: [u8; 6],
}

/// A service that all ports of a switch share, in front of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePlan {
    /// The name of its namespace.
    pub namespace: String,
    /// Rate and buffer of the service.
    pub service: SharedPortService,
    /// Ports of the switch: the end of each cable, and the interface towards the switch.
    pub ports: Vec<ServedPort>,
}

/// A port behind a shared service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPort {
    /// The interface of the switch.
    pub port: u32,
    /// Interface at which its cable ends.
    pub front: VethEnd,
    /// Interface towards the switch.
    pub back: VethEnd,
}

/// Everything that a lab consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPlan {
    /// Name of the lab.
    pub name: LabName,
    /// By index of the topology.
    pub nodes: Vec<NodePlan>,
    /// Both ends of every cable.
    pub cables: Vec<[VethEnd; 2]>,
    /// The link with the largest MTU, by its name.
    pub largest: Option<(String, Bytes)>,
    /// First those of the hosts by themselves, then the VMs.
    pub endpoints: Vec<EndpointPlan>,
    /// Of switches whose ports share one.
    pub services: Vec<ServicePlan>,
}

impl NodePlan {
    /// Its name as that of a file: the folder of its pins, where its agent finds them.
    pub fn file_name(&self) -> String {
        file_name(&self.ports.name)
    }

    /// Returns the name of the program that drives the node: each host has an agent, and all switches share one.
    pub fn agent(&self) -> String {
        match self.kind {
            NodeKind::Host => format!("agent-{}", self.file_name()),
            NodeKind::Switch => "agent-switches".to_owned(),
        }
    }
}

impl LabPlan {
    /// Plans a lab: an endpoint for every host by itself, and those that are asked for. `mac` gives an endpoint its address.
    ///
    /// # Errors
    /// If an endpoint is on no host, there are too many, or a link has an MTU that a virtual one cannot have.
    pub fn new(
        name: LabName,
        network: &Network,
        endpoints: &[EndpointSpec],
        mac: impl Fn(&str) -> [u8; 6],
    ) -> Result<Self, LabError> {
        limit("nodes", network.nodes().len(), MAX_NODES)?;
        limit("endpoints", network.hosts().count() + endpoints.len(), MAX_ENDPOINTS)?;
        let mut namespaces = Namespaces::new(&name);
        let mut indices = FIRST_INDEX..;
        let spaces: Vec<String> = network.nodes().map(|(_, node)| namespaces.name(&node.name)).collect();
        let mut names = Interfaces::new(network);
        let mut interfaces = HashMap::new();
        let mut cables = Vec::new();
        for (id, link) in network.links().filter(|&(id, _)| network.cable(id) == id) {
            let mtu = mtu(network, id)? + VLAN_ROOM;
            let end = |node: NodeId, interface, ifindex| VethEnd {
                namespace: spaces[node.index()].clone(),
                interface,
                ifindex,
                mac: None,
                mtu,
            };
            let near = end(link.from, names.leaving(id), next(&mut indices));
            interfaces.insert((link.from, id), (near.interface.clone(), near.ifindex));
            let reverse = network.reverse(id);
            let name = match reverse {
                Some(reverse) => names.leaving(reverse),
                None => names.entering(id),
            };
            let far = end(link.to, name, next(&mut indices));
            interfaces.insert((link.to, reverse.unwrap_or(id)), (far.interface.clone(), far.ifindex));
            cables.push([near, far]);
        }
        let node = |(id, node): (NodeId, &wayleave_topology::Node)| {
            let named = |link: LinkId| interfaces.get(&(id, link)).cloned().unwrap_or_default();
            let ports = SwitchPlan::of(network, id, named)?;
            Ok(NodePlan { node: id, kind: node.kind, namespace: spaces[id.index()].clone(), ports, is_ovs: false })
        };
        let nodes = network.nodes().map(node).collect::<Result<_, LabError>>()?;
        let largest = network.links().max_by_key(|(_, link)| link.mtu).map(|(_, link)| (link.name.clone(), link.mtu));
        let mut plan = Self { name, nodes, cables, largest, endpoints: Vec::new(), services: Vec::new() };
        let hosts = network.hosts().map(|host| {
            let host = network.node(host).name.clone();
            EndpointSpec { id: format!("{HOST_TENANT}:{host}"), host }
        });
        // An endpoint gets no notification of a smaller MTU on its route.
        let mtu = plan.cables.iter().flatten().map(|end| end.mtu - VLAN_ROOM).min().unwrap_or(1500);
        for spec in hosts.chain(endpoints.iter().cloned()) {
            let id = spec.id.clone();
            let space = namespaces.name(&format!("e-{}", id.replace(':', ".")));
            let indices = [next(&mut indices), next(&mut indices)];
            plan.add(network, spec, &mut names, Inside { space, indices, mac: mac(&id), mtu })?;
        }
        plan.check()?;
        Ok(plan)
    }

    fn add(
        &mut self,
        network: &Network,
        spec: EndpointSpec,
        names: &mut Interfaces<'_>,
        Inside { space, indices: [inside, outside], mac, mtu }: Inside,
    ) -> Result<(), LabError> {
        let EndpointSpec { id, host } = spec;
        let node = network.find_node(&host).filter(|&node| network.node(node).kind == NodeKind::Host);
        let Some(node) = node else { return Err(LabError::NoHost { endpoint: id, host }) };
        let number = self.endpoints.len() as u32 + 1;
        let on_host = self.endpoints.iter().filter(|endpoint| endpoint.host == node).count() + 1;
        let end = |namespace: &str, interface, ifindex, mac| VethEnd {
            namespace: namespace.to_owned(),
            interface,
            ifindex,
            mac,
            mtu,
        };
        self.endpoints.push(EndpointPlan {
            id,
            host: node,
            address: Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + number),
            inside: end(&space, "eth0".to_owned(), inside, Some(mac)),
            outside: end(&self.nodes[node.index()].namespace, names.endpoint(node, on_host), outside, None),
            mac,
        });
        Ok(())
    }

    fn check(&self) -> Result<(), LabError> {
        let (mut ids, mut macs) = (HashSet::new(), HashSet::new());
        for EndpointPlan { id, mac, .. } in &self.endpoints {
            let fault = match id.split_once(':') {
                None | Some(("", _) | (_, "")) => Some("expected `tenant:name`, such as acme:web"),
                Some(_) if id.contains(|c: char| c.is_control() || c.is_whitespace()) => {
                    Some("its name must not contain spaces")
                }
                Some(_) if !ids.insert(id) => Some("duplicate name"),
                Some(_) if !macs.insert(mac) => {
                    Some("its address would collide with another endpoint's: choose another name")
                }
                Some(_) => None,
            };
            if let Some(why) = fault {
                return Err(LabError::Endpoint { endpoint: id.clone(), why });
            }
        }
        Ok(())
    }

    /// Replaces the kernel by Open vSwitch for these switches.
    ///
    /// # Errors
    /// If one is no switch of the topology.
    pub fn forwarded_by_ovs(mut self, switches: &BTreeSet<String>) -> Result<Self, LabError> {
        for name in switches {
            let is_it = |node: &&mut NodePlan| node.kind == NodeKind::Switch && node.ports.name == *name;
            let switch = self.nodes.iter_mut().find(is_it).ok_or_else(|| LabError::NoSwitch(name.clone()))?;
            switch.is_ovs = true;
        }
        Ok(self)
    }

    /// Adds a service that all ports share in front of these switches.
    ///
    /// # Errors
    /// If one is no switch of the topology.
    pub fn with_services(mut self, services: &BTreeMap<String, SharedPortService>) -> Result<Self, LabError> {
        let ends =
            self.cables.iter().flatten().chain(self.endpoints.iter().flat_map(|one| [&one.inside, &one.outside]));
        let mut indices = ends.map(|end| end.ifindex).max().map_or(FIRST_INDEX, |last| last + 1)..;
        for (name, &service) in services {
            let is_it = |node: &&NodePlan| node.kind == NodeKind::Switch && node.ports.name == *name;
            let switch = self.nodes.iter().find(is_it).ok_or_else(|| LabError::NoSwitch(name.clone()))?;
            // After a dot come numbers of namesakes, so no node is called so.
            let namespace = format!("{}.service", switch.namespace);
            let mut ports = Vec::new();
            for end in self.cables.iter().flatten().filter(|end| end.namespace == switch.namespace) {
                let at = |side: &str, ifindex| VethEnd {
                    namespace: namespace.clone(),
                    interface: format!("{side}{}", ports.len() + 1),
                    ifindex,
                    mac: None,
                    mtu: end.mtu,
                };
                let (front, back) = (at("front", next(&mut indices)), at("back", next(&mut indices)));
                ports.push(ServedPort { port: end.ifindex, front, back });
            }
            self.services.push(ServicePlan { namespace, service, ports });
        }
        Ok(self)
    }

    /// Both ends of every virtual link between nodes and services.
    pub fn links(&self) -> Vec<[VethEnd; 2]> {
        let served = self.services.iter().flat_map(|service| &service.ports);
        let served: HashMap<u32, &ServedPort> = served.map(|port| (port.port, port)).collect();
        let mut links = Vec::new();
        for cable in &self.cables {
            let ends = cable.each_ref().map(|end| match served.get(&end.ifindex) {
                Some(ServedPort { front, back, .. }) => {
                    links.push([back.clone(), end.clone()]);
                    front.clone()
                }
                None => end.clone(),
            });
            links.push(ends);
        }
        links
    }

    /// The endpoint of this name.
    pub fn endpoint(&self, id: &str) -> Option<&EndpointPlan> {
        self.endpoints.iter().find(|endpoint| endpoint.id == id)
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.ports.name == name)
    }

    /// The endpoints on a host.
    pub fn on_host(&self, host: NodeId) -> impl Iterator<Item = &EndpointPlan> {
        self.endpoints.iter().filter(move |endpoint| endpoint.host == host)
    }

    /// The switches' ports.
    pub fn switches(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Switch)
    }

    /// The hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Host)
    }

    /// The names of all namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let nodes = self.nodes.iter().map(|node| node.namespace.as_str());
        let services = self.services.iter().map(|service| service.namespace.as_str());
        nodes.chain(services).chain(self.endpoints.iter().map(|endpoint| endpoint.inside.namespace.as_str()))
    }

    /// The interface of a link: the port plan where it leaves.
    pub fn port(&self, network: &Network, link: LinkId) -> Option<&PortPlan> {
        let node = &self.nodes[network.link(link).from.index()];
        node.ports.ports.iter().find(|port| port.link == Some(link))
    }
}

impl LabPlan {
    /// The index of the interface that a link enters by.
    pub fn entry(&self, network: &Network, link: LinkId) -> Option<u32> {
        // The first end of a cable is that of its link with the smaller index.
        let place =
            network.links().filter(|&(id, _)| network.cable(id) == id).position(|(id, _)| id == network.cable(link))?;
        let [near, far] = self.cables.get(place)?;
        Some(if network.cable(link) == link { far.ifindex } else { near.ifindex })
    }
}

/// Parts of an endpoint besides its name and host.
struct Inside {
    space: String,
    indices: [u32; 2],
    mac: [u8; 6],
    mtu: u32,
}

/// The MTU of a cable: that of its direction with the larger one.
fn mtu(network: &Network, link: LinkId) -> Result<u32, LabError> {
    let directions = [Some(link), network.reverse(link)].into_iter().flatten();
    let [least, most] = MTUS;
    let mut largest = least;
    for one in directions {
        let Link { name, mtu, .. } = network.link(one);
        let fits = u32::try_from(mtu.get()).ok().filter(|mtu| (least..=most).contains(mtu));
        let why = || format!("a virtual link supports {least} to {most} B");
        largest = largest.max(fits.ok_or_else(|| LabError::Mtu { link: name.clone(), mtu: *mtu, why: why() })?);
    }
    Ok(largest)
}

fn next(indices: &mut std::ops::RangeFrom<u32>) -> u32 {
    indices.next().unwrap_or(u32::MAX)
}

fn limit(what: &'static str, given: usize, most: usize) -> Result<(), LabError> {
    if given > most { Err(LabError::TooLarge { what, given, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::scaled;
    use wayleave_topology::builders::{Cabling, FatTree, build};
    use wayleave_topology::{LinkSpec, NetworkBuilder, PortQueue, PortSpec};
    use wayleave_units::{Rate, Time};

    fn mac(id: &str) -> [u8; 6] {
        let bytes = id.as_bytes();
        [2, bytes.len() as u8, bytes[0], bytes[1], bytes[bytes.len() - 2], bytes[bytes.len() - 1]]
    }

    fn spec(id: &str, host: &str) -> EndpointSpec {
        EndpointSpec { id: id.to_owned(), host: host.to_owned() }
    }

    fn plan(network: &Network, endpoints: &[EndpointSpec]) -> Result<LabPlan, LabError> {
        LabPlan::new(LabName::new("x").unwrap(), network, endpoints, mac)
    }

    #[test]
    fn a_fat_tree_has_a_namespace_per_node_and_endpoint_with_distinct_indices() {
        let network = build::fat_tree(&FatTree::default()).unwrap();
        let plan = plan(&network, &[spec("acme:web", "h3")]).unwrap();
        let namespaces: HashSet<&str> = plan.namespaces().collect();
        assert_eq!((namespaces.len(), plan.cables.len(), plan.endpoints.len()), (36 + 17, 48, 17));
        let cables = plan.cables.iter().flatten();
        let ends: Vec<&VethEnd> =
            cables.chain(plan.endpoints.iter().flat_map(|one| [&one.inside, &one.outside])).collect();
        let indices: HashSet<u32> = ends.iter().map(|end| end.ifindex).collect();
        let named: HashSet<(&str, &str)> = ends.iter().map(|end| (&*end.namespace, &*end.interface)).collect();
        assert_eq!((indices.len(), named.len()), (2 * 48 + 2 * 17, 2 * 48 + 2 * 17));
    }

    #[test]
    fn every_port_is_at_the_end_of_its_cable() {
        let network = build::fat_tree(&FatTree::default()).unwrap();
        let plan = plan(&network, &[]).unwrap();
        let ends: HashMap<(&str, &str), u32> =
            plan.cables.iter().flatten().map(|end| ((&*end.namespace, &*end.interface), end.ifindex)).collect();
        for node in &plan.nodes {
            for port in &node.ports.ports {
                assert_eq!(ends.get(&(&*node.namespace, &*port.interface)), Some(&port.ifindex), "{port:?}");
            }
        }
    }

    #[test]
    fn links_enter_where_their_reverse_link_leaves() {
        let network = build::fat_tree(&FatTree::default()).unwrap();
        let plan = plan(&network, &[]).unwrap();
        for (id, link) in network.links() {
            let back = plan.port(&network, network.reverse(id).unwrap()).unwrap();
            assert_eq!(plan.entry(&network, id), Some(back.ifindex), "{}", link.name);
        }
    }

    #[test]
    fn endpoints_have_addresses_and_places_on_their_host() {
        let network = build::star(2, Cabling::default()).unwrap();
        let plan = plan(&network, &[spec("acme:web", "h2"), spec("acme:db", "h2")]).unwrap();
        let db = plan.endpoint("acme:db").unwrap();
        assert_eq!(db.address, Ipv4Addr::new(10, 0, 0, 4));
        assert_eq!(
            (&*db.outside.interface, &*db.outside.namespace, &*db.inside.namespace),
            ("e3", "wl-x-h2", "wl-x-e-acme.db")
        );
        assert_eq!(db.inside.mac, Some(mac("acme:db")));
    }

    #[test]
    fn cables_have_the_mtu_of_their_link_and_endpoints_the_smallest() {
        let mtus = |one: u64| {
            let mut builder = NetworkBuilder::default();
            let kinds = [("h1", NodeKind::Host), ("h2", NodeKind::Host), ("s1", NodeKind::Switch)];
            let [h1, h2, s1] = kinds.map(|(name, kind)| builder.add_node(name, kind).unwrap());
            for (host, mtu) in [(h1, one), (h2, 9000)] {
                let port = PortSpec { queues: vec![PortQueue { buffer: Bytes::new(100_000), budget: None }] };
                let (rate, mtu, propagation) = (Rate::from_gbit(10), Bytes::new(mtu), Time::ZERO);
                let spec = LinkSpec { from: host, to: s1, rate, propagation, mtu, port };
                builder.add_cable(spec.clone(), spec.port).unwrap();
            }
            let network = builder.build();
            plan(&scaled(&network, Rate::from_mbit(10)).unwrap(), &[])
        };
        let plan = mtus(4000).unwrap();
        assert_eq!(
            plan.cables.iter().map(|ends| ends.each_ref().map(|end| end.mtu)).collect::<Vec<_>>(),
            [[4028; 2], [9028; 2]]
        );
        assert!(plan.endpoints.iter().all(|one| one.inside.mtu == 4000 && one.outside.mtu == 4000));
        for wrong in [65_508, 65_535] {
            let error = mtus(wrong).unwrap_err().to_string();
            assert!(error.contains("link h1->s1") && error.contains("68 to 65507 B"), "{error}");
        }
    }

    #[test]
    fn wrong_endpoints_are_named() {
        let network = build::star(2, Cabling::default()).unwrap();
        for (endpoints, expected) in [
            (vec![spec("a:b", "h9")], "endpoint a:b is on h9, which is not a host"),
            (vec![spec("a:b", "s1")], "not a host of the topology"),
            (vec![spec("web", "h1")], "expected `tenant:name`"),
            (vec![spec("a:b c", "h1")], "must not contain spaces"),
            (vec![spec("a:b", "h1"), spec("a:b", "h2")], "duplicate name"),
        ] {
            let error = plan(&network, &endpoints).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
