//! What a node knows of the others: the network, what is down, where VMs are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use wayleave_api::agent::Neighbours;
use wayleave_controller::Id;
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};
use wayleave_wire::{Mac, mac_of};

/// A VM, or a host's own interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host that it is on.
    pub host: NodeId,
    /// The address of its interface.
    pub mac: Mac,
}

/// The network as an agent sees it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    network: Arc<Network>,
    /// VMs by their names, and hosts' own interfaces as `host:NAME`.
    places: BTreeMap<String, Place>,
    on: HashMap<NodeId, Vec<String>>,
    down: HashSet<LinkId>,
}

/// The name of a host's own interface.
pub fn own(host: &str) -> String {
    format!("host:{host}")
}

impl Surroundings {
    /// With nobody but the hosts, and everything up.
    pub fn new(network: Arc<Network>) -> Self {
        let empty = Neighbours::default();
        Self::of(network, &empty)
    }

    /// As the controller has told. What the network does not know is left out: it will be told again with the network that has it.
    pub fn of(network: Arc<Network>, told: &Neighbours) -> Self {
        let own_place = |host: NodeId| {
            let name = own(&network.node(host).name);
            let mac = mac_of(&name);
            (name, Place { host, mac })
        };
        let mut places: BTreeMap<String, Place> = network.hosts().map(own_place).collect();
        for vm in &told.vms {
            if let (Some(host), Ok(mac)) = (network.find_node(&vm.host), vm.mac.parse()) {
                places.insert(vm.id.clone(), Place { host, mac });
            }
        }
        let mut on: HashMap<NodeId, Vec<String>> = HashMap::new();
        for (name, place) in &places {
            on.entry(place.host).or_default().push(name.clone());
        }
        let mut down: HashSet<LinkId> = told.down_links.iter().filter_map(|name| network.find_link(name)).collect();
        for node in told.down_nodes.iter().filter_map(|name| network.find_node(name)) {
            down.extend(network.links_from(node).iter().chain(network.links_into(node)));
        }
        Self { network, places, on, down }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The same, to be kept.
    pub fn shared_network(&self) -> Arc<Network> {
        self.network.clone()
    }

    /// Whether a link can be used.
    pub fn is_up(&self, link: LinkId) -> bool {
        !self.down.contains(&link)
    }

    /// A VM (`tenant:name`) or a host's own interface (`host:name`).
    pub fn place(&self, name: &str) -> Option<Place> {
        self.places.get(name).copied()
    }

    /// Everybody, by name.
    pub fn places(&self) -> impl Iterator<Item = (&str, Place)> {
        self.places.iter().map(|(name, place)| (name.as_str(), *place))
    }

    /// The end of a contract: a VM of the tenant; or a host, which stands for the tenant's VMs on it and for the host's own
    /// interface. Empty if there is nobody of that name.
    ///
    /// A VM comes before a host of the same name, as the controller reads it.
    pub fn end(&self, tenant: &str, name: &str) -> Vec<(String, Place)> {
        let vm = Id::new(tenant, name).to_string();
        if let Some(place) = self.place(&vm) {
            return vec![(vm, place)];
        }
        let host = self.network.find_node(name).filter(|&node| self.network.node(node).kind == NodeKind::Host);
        let Some(host) = host else { return Vec::new() };
        let own = own(name);
        let is_tenants = |id: &&String| **id == own || id.split_once(':').is_some_and(|(owner, _)| owner == tenant);
        let here = self.on.get(&host).into_iter().flatten().filter(is_tenants);
        here.filter_map(|id| Some((id.clone(), self.place(id)?))).collect()
    }
}
