//! Virtual machines, and names that stand for them or for hosts.

use std::collections::HashMap;

use wayleave_scenarios::{Endpoint, Vm};
use wayleave_topology::{Network, NodeId};

use super::ends::read_host;
use crate::fields::{Fields, Shape};
use crate::problem::Problems;
use crate::tree::Node;

pub(crate) const VM: Shape = Shape { what: "a virtual machine", keys: &["name", "host", "service"] };

/// Reads virtual machines.
pub(super) fn read(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<Vm>> {
    let items = node.expect_list("virtual machines", problems)?;
    let vms: Vec<Option<Vm>> = items.iter().map(|item| read_one(item, network, problems)).collect();
    vms.into_iter().collect()
}

fn read_one(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vm> {
    let fields = Fields::read(node, &VM, problems)?;
    fields.require_all(["name", "host"], problems);
    let name = fields.text("name", problems).map(str::to_owned);
    let host = fields.get("host").and_then(|node| read_host(node, network, problems));
    let service = fields.text("service", problems).map(str::to_owned);
    Some(Vm { name: name?, host: host?, service })
}

/// The endpoints of a scenario by their names.
pub(super) struct Names<'n> {
    pub(super) network: &'n Network,
    vms: HashMap<&'n str, Endpoint>,
}

impl<'n> Names<'n> {
    pub(super) fn new(network: &'n Network, vms: &'n [Vm]) -> Self {
        let named = |(index, vm): (usize, &'n Vm)| Some((vm.name.as_str(), Endpoint::of_vm(vms, index)?));
        Self { network, vms: vms.iter().enumerate().filter_map(named).collect() }
    }

    /// A virtual machine.
    pub(super) fn vm(&self, name: &str) -> Option<Endpoint> {
        self.vms.get(name).copied()
    }

    /// Whether a node or a virtual machine has this name.
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
