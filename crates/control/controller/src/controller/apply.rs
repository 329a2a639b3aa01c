//! Checks of an order before the scheme is asked.

use wayleave_contracts::{ContractKind, ContractRequest};
use wayleave_protocol::Id;
use wayleave_topology::{Network, NodeId, NodeKind};

use super::Controller;
use crate::admission::{Admission, Checked};
use crate::command::{CommandError, Effect, ItemResult, Mode, Precondition, id_of};
use crate::vms::Vms;

impl Controller {
    pub(super) fn apply(
        &mut self,
        orders: Vec<(ContractRequest, Precondition)>,
        mode: Mode,
        effect: Effect,
    ) -> Vec<ItemResult> {
        let (network, vms) = (&*self.network, &self.vms);
        self.admission.apply(orders, mode, effect, |admission, order, check| {
            let id = id_of(&order);
            let existing = Checks { network, vms, admission }.check(&id, &order, check);
            (id.clone(), existing.map(|existing| Checked { id, order, existing, replaces: None }))
        })
    }

    /// Decides orders again whose ends are on other hosts now, each with the serial number of its contract; all of them or none. A latency
    /// contract gets a new serial number: its sender may be another one, and the old one stops by its own rule.
    pub(super) fn apply_elsewhere(&mut self, orders: Vec<(ContractRequest, u64)>, effect: Effect) -> Vec<ItemResult> {
        let (network, vms) = (&*self.network, &self.vms);
        self.admission.apply(orders, Mode::AllOrNothing, effect, |admission, order, serial| {
            let id = id_of(&order);
            let checked = Checks { network, vms, admission }.check(&id, &order, Precondition::None);
            let (existing, replaces) = match order.kind() {
                ContractKind::Latency => (None, Some(serial)),
                _ => (Some(serial), None),
            };
            (id.clone(), checked.map(|_| Checked { id, order, existing, replaces }))
        })
    }

    /// The host that a name means to a tenant: of its VM, or the host of that name.
    pub fn end_of(&self, id: &Id, name: &str) -> Option<NodeId> {
        host_of(&self.network, &self.vms, id, name)
    }
}

/// State against which an order is checked.
struct Checks<'a> {
    network: &'a Network,
    vms: &'a Vms,
    admission: &'a Admission,
}

impl Checks<'_> {
    /// The contract that has the name, if there is one.
    fn check(&self, id: &Id, order: &ContractRequest, check: Precondition) -> Result<Option<u64>, CommandError> {
        let invalid = |field, message| Err(CommandError::Invalid { field, message });
        self.admission.tenants().find(&id.tenant)?;
        let existing = self.admission.version_of(id);
        check.hold(existing.map(|(_, revision)| revision))?;
        if let Err(error) = order.validate() {
            return invalid(error.field(), error.to_string());
        }
        for (field, name, node) in order.placed_members() {
            if host_of(self.network, self.vms, id, name) != Some(node) {
                let message =
                    format!("{name} is neither a host nor a VM of tenant {}, or it has just been moved", id.tenant);
                return invalid(field, message);
            }
        }
        if let Err(error) = order.contract.validate(self.network) {
            return invalid(error.field(), error.to_string());
        }
        let (wall, ends) = (self.admission.enforcement().calendar(), order.ends);
        if let Some(ends) = ends.filter(|&ends| ends <= wall) {
            return invalid("ends", format!("the contract ends at {ends}, which is in the past: it is {wall} now"));
        }
        let Some((serial, _)) = existing else { return Ok(None) };
        self.check_change(id, serial, order)?;
        Ok(Some(serial))
    }

    /// A contract stays of its kind, and a latency contract between its ends.
    fn check_change(&self, id: &Id, serial: u64, order: &ContractRequest) -> Result<(), CommandError> {
        let invalid = |field, message| Err(CommandError::Invalid { field, message });
        let Some(old) = self.admission.enforcement().contracts().get(serial).map(|grant| &grant.order) else {
            return Ok(());
        };
        let kind = old.kind();
        if kind != order.kind() {
            let message = format!("contract {id} is of kind {}: delete it and create a new one", kind.name());
            return invalid("name", message);
        }
        if kind != ContractKind::Latency {
            return Ok(());
        }
        for (field, old, new) in [("from", old.from(), order.from()), ("to", old.to(), order.to())] {
            if old != new {
                let message =
                    format!("contract {id} has other endpoints ({field} is {old}): delete it and create a new one");
                return invalid(field, message);
            }
        }
        Ok(())
    }
}

fn host_of(network: &Network, vms: &Vms, id: &Id, name: &str) -> Option<NodeId> {
    let vm = vms.get(&Id::new(id.tenant.as_str(), name)).map(|vm| vm.host);
    vm.or_else(|| network.find_node(name).filter(|&node| network.node(node).kind == NodeKind::Host))
}
