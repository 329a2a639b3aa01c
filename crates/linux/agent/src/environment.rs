//! The environment of a node, as its controller describes it: the network, what is down, where VMs are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use wayleave_packet_format::{Mac, mac_of};
use wayleave_protocol::agent::Neighbours;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// A VM, or a host's own interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLocation {
    /// The host that it is on.
    pub host: NodeId,
    /// The address of its interface.
    pub mac: Mac,
}

/// The network as an agent sees it.
#[derive(Clone, Debug)]
pub struct Environment {
    network: Arc<Network>,
    /// VMs by their names, and hosts' own interfaces as `host:NAME`.
    locations: BTreeMap<String, EndpointLocation>,
    on: HashMap<NodeId, Vec<String>>,
    down: HashSet<LinkId>,
}

/// Prefix in the name of a host's own interface, in place of the tenant in the name of a VM.
pub const OWN: &str = "host";

/// The name of a host's own interface.
pub fn own(host: &str) -> String {
    format!("{OWN}:{host}")
}

impl Environment {
    /// Without VMs, and with everything up.
    pub fn new(network: Arc<Network>) -> Self {
        let empty = Neighbours::default();
        Self::of(network, &empty)
    }

    /// Creates the environment from the controller's answer. Names that the network does not know are left out: the
    /// controller sends them again with the network that has them.
    pub fn of(network: Arc<Network>, events: &Neighbours) -> Self {
        let own_location = |host: NodeId| {
            let name = own(&network.node(host).name);
            let mac = mac_of(&name);
            (name, EndpointLocation { host, mac })
        };
        let mut locations: BTreeMap<String, EndpointLocation> = network.hosts().map(own_location).collect();
        for vm in &events.vms {
            if let (Some(host), Ok(mac)) = (network.find_node(&vm.host), vm.mac.parse()) {
                locations.insert(vm.id.clone(), EndpointLocation { host, mac });
            }
        }
        let mut on: HashMap<NodeId, Vec<String>> = HashMap::new();
        for (name, location) in &locations {
            on.entry(location.host).or_default().push(name.clone());
        }
        let mut down: HashSet<LinkId> = events.down_links.iter().filter_map(|name| network.find_link(name)).collect();
        for node in events.down_nodes.iter().filter_map(|name| network.find_node(name)) {
            down.extend(network.links_from(node).iter().chain(network.links_into(node)));
        }
        Self { network, locations, on, down }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns a shared reference to the network.
    pub fn shared_network(&self) -> Arc<Network> {
        self.network.clone()
    }

    /// Returns `true` if a link can be used.
    pub fn is_up(&self, link: LinkId) -> bool {
        !self.down.contains(&link)
    }

    /// A VM (`tenant:name`) or a host's own interface (`host:name`).
    pub fn location(&self, name: &str) -> Option<EndpointLocation> {
        self.locations.get(name).copied()
    }

    /// All VMs and hosts' own interfaces, by name.
    pub fn locations(&self) -> impl Iterator<Item = (&str, EndpointLocation)> {
        self.locations.iter().map(|(name, location)| (name.as_str(), *location))
    }

    /// The end of a contract: a VM of the tenant; or a host, which means the tenant's VMs on it. The host's own interface
    /// belongs to the default tenant, and to a tenant without a VM there; otherwise a tenant would limit the host's own
    /// traffic. Empty if nothing has that name.
    ///
    /// A VM comes before a host of the same name, as the controller reads it.
    pub fn end(&self, tenant: &str, name: &str) -> Vec<(String, EndpointLocation)> {
        let vm = Id::new(tenant, name).to_string();
        if let Some(location) = self.location(&vm) {
            return vec![(vm, location)];
        }
        let host = self.network.find_node(name).filter(|&node| self.network.node(node).kind == NodeKind::Host);
        let Some(host) = host else { return Vec::new() };
        let own = own(name);
        let is_tenants = |id: &&String| **id != own && id.split_once(':').is_some_and(|(owner, _)| owner == tenant);
        let here: Vec<&String> = self.on.get(&host).into_iter().flatten().filter(is_tenants).collect();
        let with_own = (tenant == DEFAULT_TENANT || here.is_empty()).then_some(&own);
        here.into_iter().chain(with_own).filter_map(|id| Some((id.clone(), self.location(id)?))).collect()
    }
}
