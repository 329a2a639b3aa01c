//! What is checked of an order before the scheme is asked.

use wayleave_contracts::Order;
use wayleave_protocol::Id;
use wayleave_topology::{Network, NodeId, NodeKind};

use super::Controller;
use crate::admission::{Admission, Checked};
use crate::command::{Applied, Check, Effect, Fault, Mode, id_of};
use crate::vms::Vms;

impl Controller {
    pub(super) fn apply(&mut self, orders: Vec<(Order, Check)>, mode: Mode, effect: Effect) -> Vec<Applied> {
        let (network, vms) = (&*self.network, &self.vms);
        self.admission.apply(orders, mode, effect, |admission, order, check| {
            let id = id_of(&order);
            let existing = Checks { network, vms, admission }.check(&id, &order, check);
            (id.clone(), existing.map(|existing| Checked { id, order, existing }))
        })
    }

    /// The host that a name means to a tenant: of its VM, or the host of that name.
    pub fn end_of(&self, id: &Id, name: &str) -> Option<NodeId> {
        host_of(&self.network, &self.vms, id, name)
    }
}

/// What an order is checked against.
struct Checks<'a> {
    network: &'a Network,
    vms: &'a Vms,
    admission: &'a Admission,
}

impl Checks<'_> {
    /// The contract that has the name, if there is one.
    fn check(&self, id: &Id, order: &Order, check: Check) -> Result<Option<u64>, Fault> {
        let invalid = |field, message| Err(Fault::Invalid { field, message });
        self.admission.tenants().find(&id.tenant)?;
        let existing = self.admission.enforcement().contracts().named(id).filter(|grant| !grant.is_ended);
        check.hold(existing.map(|grant| grant.revision))?;
        if let Err(error) = order.validate() {
            return invalid(error.field(), error.to_string());
        }
        for (field, name, node) in [("from", &order.from, order.contract.from), ("to", &order.to, order.contract.to)] {
            if host_of(self.network, self.vms, id, name) != Some(node) {
                let message =
                    format!("{name} is no host, and no VM of tenant {}, or has just been put elsewhere", id.tenant);
                return invalid(field, message);
            }
        }
        if let Err(error) = order.contract.validate(self.network) {
            return invalid(error.field(), error.to_string());
        }
        let wall = self.admission.enforcement().now().wall;
        if let Some(ends) = order.ends.filter(|&ends| ends <= wall) {
            return invalid("ends", format!("the contract would have ended at {ends}, and it is {wall} already"));
        }
        let Some(grant) = existing else { return Ok(None) };
        for (field, old, new) in [("from", &grant.order.from, &order.from), ("to", &grant.order.to, &order.to)] {
            if old != new {
                let message =
                    format!("contract {id} is between other ends ({field} is {old}): delete it and create another");
                return invalid(field, message);
            }
        }
        Ok(Some(grant.serial))
    }
}

fn host_of(network: &Network, vms: &Vms, id: &Id, name: &str) -> Option<NodeId> {
    let vm = vms.get(&Id::new(id.tenant.as_str(), name)).map(|vm| vm.host);
    vm.or_else(|| network.find_node(name).filter(|&node| network.node(node).kind == NodeKind::Host))
}
