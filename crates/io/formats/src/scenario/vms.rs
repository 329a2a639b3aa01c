//! Virtual machines, and names of VMs or hosts.

use wayleave_scenarios::ScenarioVm;
use wayleave_topology::Network;

use super::ends::read_host;
use crate::fields::{Fields, Shape};
use crate::problem::Problems;
use crate::tree::Node;

pub(crate) const VM: Shape = Shape { what: "a virtual machine", keys: &["name", "host", "service"] };

/// Reads virtual machines.
pub(super) fn read(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<ScenarioVm>> {
    let items = node.expect_list("virtual machines", problems)?;
    let vms: Vec<Option<ScenarioVm>> = items.iter().map(|item| read_one(item, network, problems)).collect();
    vms.into_iter().collect()
}

fn read_one(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<ScenarioVm> {
    let fields = Fields::read(node, &VM, problems)?;
    fields.require_all(["name", "host"], problems);
    let name = fields.text("name", problems).map(str::to_owned);
    let host = fields.get("host").and_then(|node| read_host(node, network, problems));
    let service = fields.text("service", problems).map(str::to_owned);
    Some(ScenarioVm { name: name?, host: host?, service })
}
