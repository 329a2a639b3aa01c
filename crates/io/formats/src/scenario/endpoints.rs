//! Endpoints of a scenario by their names.

use std::collections::HashMap;

use wayleave_scenarios::{Endpoint, ScenarioVm};
use wayleave_topology::{Network, NodeId};

/// The endpoints of a scenario by their names.
pub(super) struct Names<'n> {
    pub(super) network: &'n Network,
    vms: HashMap<&'n str, Endpoint>,
}

impl<'n> Names<'n> {
    pub(super) fn new(network: &'n Network, vms: &'n [ScenarioVm]) -> Self {
        let named = |(index, vm): (usize, &'n ScenarioVm)| Some((vm.name.as_str(), Endpoint::of_vm(vms, index)?));
        Self { network, vms: vms.iter().enumerate().filter_map(named).collect() }
    }

    /// A virtual machine.
    pub(super) fn vm(&self, name: &str) -> Option<Endpoint> {
        self.vms.get(name).copied()
    }

    /// Returns `true` if a node or a virtual machine has this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.vms.contains_key(name) || self.network.find_node(name).is_some()
    }

    /// The name of an endpoint's host, or of the virtual machine.
    pub(super) fn name(&self, endpoint: Endpoint) -> String {
        let vm = self.vms.iter().find(|(_, known)| **known == endpoint);
        vm.map_or_else(|| self.host_name(endpoint.host), |(name, _)| (*name).to_owned())
    }

    fn host_name(&self, host: NodeId) -> String {
        self.network.node(host).name.clone()
    }
}
