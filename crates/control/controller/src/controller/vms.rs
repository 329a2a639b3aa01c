//! Creating, placing and deleting VMs.
//!
//! Chameleon puts every VM on a random server (section 4.1.1) and regards placement as outside its scope. Here the
//! host can also be given, or chosen by fit: the host whose links have the most rate left.

use std::cmp::Reverse;

use wayleave_contracts::{ContractRequest, Named};
use wayleave_packet_format::Mac;
use wayleave_protocol::Id;
use wayleave_topology::{NodeId, NodeKind};

use super::Controller;
use crate::command::{CommandError, Effect, ItemResult, Outcome, Precondition, Reply, UnmovableVm, VmRequest, id_of};
use crate::event::EventKind;
use crate::grant::AdmittedContract;
use crate::journal::DirtyRecord;
use crate::vms::VmState;

impl Controller {
    pub(crate) fn put_vm(
        &mut self,
        id: Id,
        placement: &VmRequest,
        mac: Option<Mac>,
        check: Precondition,
    ) -> Result<Reply, CommandError> {
        Named::Vm.check(&id.name).map_err(|error| CommandError::wrong_name(&error))?;
        self.tenant(&id.tenant)?;
        let known = self.vms.get(&id);
        check.hold(known.map(|vm| vm.revision))?;
        if let Some(vm) = known {
            // The VM was placed before: a request that lets the controller choose is satisfied by its present host.
            let stays = match placement {
                VmRequest::On(host) => self.network.node(vm.host).name == *host,
                VmRequest::Random(_) | VmRequest::Fit => true,
            };
            if stays && mac.is_none_or(|mac| mac == vm.mac) {
                return Ok(Reply::Done { outcome: Outcome::Unchanged, revision: vm.revision });
            }
            // Rules name the address: it is not changed under them.
            if mac.is_some_and(|mac| mac != vm.mac) {
                self.check_unused(&id)?;
            }
        }
        if self.network.find_node(&id.name).is_some() {
            let message =
                format!("{} is the name of a node: choose another name, so that contracts are unambiguous", id.name);
            return Err(CommandError::Invalid { field: "name", message });
        }
        let mac = mac
            .or(known.map(|vm| vm.mac))
            .unwrap_or_else(|| self.vms.free_mac(&id, self.journal().counters().vm_secret));
        self.vms.check_free(mac, &id)?;
        let host = match (placement, known) {
            (VmRequest::Random(_) | VmRequest::Fit, Some(vm)) => vm.host,
            _ => self.choose(placement)?,
        };
        if known.is_some_and(|vm| vm.host != host) {
            self.move_contracts(&id, host)?;
        }
        let revision = self.journal_mut().next_revision_of(&id.tenant);
        let outcome = if self.vms.insert(id.clone(), VmState { host, mac, revision }).is_some() {
            Outcome::Changed
        } else {
            Outcome::Created
        };
        let detail = format!("on {} with MAC {mac}", self.network.node(host).name);
        self.journal_mut().event(EventKind::Put, &format!("vm {id}"), Some(id.tenant.clone()), revision, detail);
        self.journal_mut().mark(DirtyRecord::Vm(id));
        Ok(Reply::Done { outcome, revision })
    }

    pub(crate) fn delete_vm(&mut self, id: &Id, check: Precondition) -> Result<Reply, CommandError> {
        let known = self.vms.get(id);
        check.hold(known.map(|vm| vm.revision))?;
        if known.is_none() {
            return Ok(Reply::Done { outcome: Outcome::Absent, revision: self.journal().revision() });
        }
        self.check_unused(id)?;
        self.vms.remove(id);
        let revision = self.journal_mut().next_revision_of(&id.tenant);
        self.journal_mut().event(
            EventKind::Deleted,
            &format!("vm {id}"),
            Some(id.tenant.clone()),
            revision,
            String::new(),
        );
        self.journal_mut().mark(DirtyRecord::Vm(id.clone()));
        Ok(Reply::Done { outcome: Outcome::Deleted, revision })
    }

    /// Admits the contracts of a VM again that is elsewhere from now on; if one is refused, all is as it was. Each contract keeps what it has until
    /// its last packets have left, and has to fit beside it.
    fn move_contracts(&mut self, id: &Id, host: NodeId) -> Result<(), CommandError> {
        if let Some(grant) = self.contracts().iter().find(|grant| grant.is_ended() && uses(grant, id)) {
            return Err(CommandError::in_use(format!("VM {id}"), grant));
        }
        let Some(before) = self.vms.get(id).cloned() else { return Ok(()) };
        self.vms.insert(id.clone(), VmState { host, ..before.clone() });
        let orders = self.orders_of(id);
        let tried = self.apply_elsewhere(orders.clone(), Effect::DryRun);
        let is_refused = |one: &ItemResult| !matches!(one.result, Ok(_) | Err(CommandError::WithOthers));
        let (refused, others): (Vec<ItemResult>, Vec<ItemResult>) = tried.into_iter().partition(is_refused);
        if refused.is_empty() {
            self.apply_elsewhere(orders, Effect::Commit);
            return Ok(());
        }
        self.vms.insert(id.clone(), before);
        let reason = |one: ItemResult| match one.result {
            Err(CommandError::Refused { reason, .. }) => (one.id, reason.to_owned()),
            Err(CommandError::Invalid { message, .. }) => (one.id, message),
            other => (one.id, format!("{other:?}")),
        };
        Err(CommandError::CannotMove(Box::new(UnmovableVm {
            vm: id.clone(),
            host: self.network.node(host).name.clone(),
            refused: refused.into_iter().map(reason).collect(),
            others: others.into_iter().map(|one| one.id).collect(),
        })))
    }

    /// The orders of the contracts that have a VM as an end, with hosts as they are now, and their serial numbers; those of higher priority first.
    fn orders_of(&self, id: &Id) -> Vec<(ContractRequest, u64)> {
        let grants = self.contracts().iter().filter(|grant| !grant.is_ended() && uses(grant, id));
        let mut orders: Vec<(ContractRequest, u64)> = grants.map(|grant| (grant.order.clone(), grant.serial)).collect();
        for (order, _) in &mut orders {
            let of = id_of(order);
            let hosts = order.placed_members().into_iter().map(|(_, name, now)| self.end_of(&of, name).unwrap_or(now));
            let hosts: Vec<NodeId> = hosts.collect();
            *order = order.clone().on(&hosts);
        }
        orders.sort_by_key(|(order, serial)| (Reverse(order.priority), *serial));
        orders
    }

    /// No contract, not even one that is being released, may have a VM as its end that is deleted or gets another address.
    fn check_unused(&self, id: &Id) -> Result<(), CommandError> {
        match self.contracts().iter().find(|grant| uses(grant, id)) {
            Some(grant) => Err(CommandError::in_use(format!("VM {id}"), grant)),
            None => Ok(()),
        }
    }

    fn choose(&self, placement: &VmRequest) -> Result<NodeId, CommandError> {
        let is_up = |&host: &NodeId| {
            let links = self.network.links_from(host);
            links.is_empty() || links.iter().any(|&link| !self.ledger().is_closed(link))
        };
        match placement {
            VmRequest::On(name) => {
                let node = self.network.find_node(name).filter(|&node| self.network.node(node).kind == NodeKind::Host);
                node.ok_or_else(|| CommandError::NotFound { what: "host", name: name.clone() })
            }
            VmRequest::Random(number) => {
                let hosts: Vec<NodeId> = self.network.hosts().filter(is_up).collect();
                let at = number.checked_rem(hosts.len() as u64).unwrap_or(0) as usize;
                hosts.get(at).copied().ok_or_else(|| no_host(self))
            }
            VmRequest::Fit => {
                let mut count = std::collections::BTreeMap::new();
                for (_, vm) in self.vms.iter() {
                    *count.entry(vm.host).or_insert(0u64) += 1;
                }
                let fewest = |host: &NodeId| count.get(host).copied().unwrap_or(0);
                let best = self
                    .network
                    .hosts()
                    .filter(is_up)
                    .max_by_key(|host| (self.spare(*host), std::cmp::Reverse((fewest(host), *host))));
                best.ok_or_else(|| no_host(self))
            }
        }
    }

    /// The least rate that is left, in and out, over the links of a host that is not full already.
    fn spare(&self, host: NodeId) -> u64 {
        let ledger = self.ledger();
        let left = |links: &[wayleave_topology::LinkId]| {
            let open = links.iter().filter(|&&link| !ledger.is_closed(link));
            open.map(|&link| self.network.link(link).rate.saturating_sub(ledger.reserved(link)).bits_per_second()).max()
        };
        let (out, into) = (left(self.network.links_from(host)), left(self.network.links_into(host)));
        out.unwrap_or(0).min(into.unwrap_or(0))
    }
}

fn uses(grant: &AdmittedContract, id: &Id) -> bool {
    grant.id.tenant == id.tenant && grant.order.members.contains(&id.name)
}

fn no_host(controller: &Controller) -> CommandError {
    let message = match controller.network.hosts().next() {
        Some(_) => "every host is down",
        None => "the network has no hosts",
    };
    CommandError::Invalid { field: "placement", message: message.to_owned() }
}
