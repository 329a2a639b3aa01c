//! VMs and their hosts.
//!
//! Chameleon puts every VM on a random server (section 4.1.1) and says that placement is outside its scope. Here it can also be
//! given, or chosen by fit: the host whose lines have most rate left.

use wayleave_contracts::Named;
use wayleave_topology::{NodeId, NodeKind};
use wayleave_wire::Mac;

use crate::command::{Check, Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty, wrong_name};
use crate::event::EventKind;
use crate::macs;
use wayleave_protocol::Id;

/// A VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmState {
    /// Where it is.
    pub host: NodeId,
    /// The address of its interface; no other VM or host has it.
    pub mac: Mac,
    /// Its revision.
    pub revision: u64,
}

/// Where a VM should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmWish {
    /// There.
    On(String),
    /// On any host; the number chooses.
    Random(u64),
    /// Where most rate is left.
    Fit,
}

impl Controller {
    pub(crate) fn put_vm(&mut self, id: Id, wish: &VmWish, mac: Option<Mac>, check: Check) -> Result<Reply, Fault> {
        Named::Vm.check(&id.name).map_err(|error| wrong_name("name", &error))?;
        self.tenant(&id.tenant)?;
        let known = self.vms.get(&id);
        check.hold(known.map(|vm| vm.revision))?;
        if let Some(vm) = known {
            // Placed once: a wish that lets the controller choose is fulfilled where it is.
            let stays = match wish {
                VmWish::On(host) => self.network.node(vm.host).name == *host,
                VmWish::Random(_) | VmWish::Fit => true,
            };
            if stays && mac.is_none_or(|mac| mac == vm.mac) {
                return Ok(Reply::Done { outcome: Outcome::Unchanged, revision: vm.revision });
            }
            self.check_unused(&id)?;
        }
        if self.network.find_node(&id.name).is_some() {
            let message =
                format!("{} is the name of a node: choose another, so that contracts say which they mean", id.name);
            return Err(Fault::Invalid { field: "name", message });
        }
        let mac = mac.or(known.map(|vm| vm.mac)).unwrap_or_else(|| macs::of(&id));
        self.check_free(mac, &id)?;
        let host = match (wish, known) {
            (VmWish::Random(_) | VmWish::Fit, Some(vm)) => vm.host,
            _ => self.choose(wish)?,
        };
        let revision = self.next_revision();
        let outcome = if self.insert_vm(id.clone(), VmState { host, mac, revision }).is_some() {
            Outcome::Changed
        } else {
            Outcome::Created
        };
        let detail = format!("on {} with MAC {mac}", self.network.node(host).name);
        self.event(EventKind::Put, &format!("vm {id}"), Some(id.tenant.clone()), revision, detail);
        self.mark(Dirty::Vm(id));
        Ok(Reply::Done { outcome, revision })
    }

    pub(crate) fn delete_vm(&mut self, id: &Id, check: Check) -> Result<Reply, Fault> {
        let known = self.vms.get(id);
        check.hold(known.map(|vm| vm.revision))?;
        if known.is_none() {
            return Ok(Reply::Done { outcome: Outcome::Absent, revision: self.counters.revision });
        }
        self.check_unused(id)?;
        if let Some(vm) = self.vms.remove(id) {
            self.macs.remove(&vm.mac);
        }
        let revision = self.next_revision();
        self.event(EventKind::Deleted, &format!("vm {id}"), Some(id.tenant.clone()), revision, String::new());
        self.mark(Dirty::Vm(id.clone()));
        Ok(Reply::Done { outcome: Outcome::Deleted, revision })
    }

    /// No contract, not even one that is being released, may have a VM as its end that goes elsewhere.
    fn check_unused(&self, id: &Id) -> Result<(), Fault> {
        let uses = |grant: &&crate::grant::Grant| {
            let order = &grant.order;
            grant.id.tenant == id.tenant && (order.from == id.name || order.to == id.name)
        };
        match self.grants.values().find(uses) {
            Some(grant) => Err(Fault::InUse { what: format!("VM {id}"), by: format!("contract {}", grant.id) }),
            None => Ok(()),
        }
    }

    /// Puts it in the table, and its address in the other one.
    pub(crate) fn insert_vm(&mut self, id: Id, vm: VmState) -> Option<VmState> {
        let mac = vm.mac;
        let old = self.vms.insert(id.clone(), vm);
        if let Some(old) = &old {
            self.macs.remove(&old.mac);
        }
        self.macs.insert(mac, id);
        old
    }

    /// Nobody else may have the address: agents know VMs by it.
    fn check_free(&self, mac: Mac, id: &Id) -> Result<(), Fault> {
        let vm = self.macs.get(&mac).filter(|other| *other != id).map(|other| format!("VM {other}"));
        let host = || self.host_macs.get(&mac).map(|&host| format!("host {}", self.network.node(host).name));
        match vm.or_else(host) {
            Some(of) => Err(Fault::Taken { what: format!("MAC {mac}"), of, field: "mac" }),
            None => Ok(()),
        }
    }

    fn choose(&self, wish: &VmWish) -> Result<NodeId, Fault> {
        let is_up = |&host: &NodeId| {
            let links = self.network.links_from(host);
            links.is_empty() || links.iter().any(|&link| !self.book.ledger().is_closed(link))
        };
        match wish {
            VmWish::On(name) => {
                let node = self.network.find_node(name).filter(|&node| self.network.node(node).kind == NodeKind::Host);
                node.ok_or_else(|| Fault::NotFound { what: "host", name: name.clone() })
            }
            VmWish::Random(number) => {
                let hosts: Vec<NodeId> = self.network.hosts().filter(is_up).collect();
                let at = number.checked_rem(hosts.len() as u64).unwrap_or(0) as usize;
                hosts.get(at).copied().ok_or_else(|| no_host(self))
            }
            VmWish::Fit => {
                let mut count = std::collections::BTreeMap::new();
                for vm in self.vms.values() {
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
        let ledger = self.book.ledger();
        let left = |links: &[wayleave_topology::LinkId]| {
            let open = links.iter().filter(|&&link| !ledger.is_closed(link));
            open.map(|&link| self.network.link(link).rate.saturating_sub(ledger.reserved(link)).bits_per_second()).max()
        };
        let (out, into) = (left(self.network.links_from(host)), left(self.network.links_into(host)));
        out.unwrap_or(0).min(into.unwrap_or(0))
    }

    /// All VMs, by their names.
    pub fn vms(&self) -> impl Iterator<Item = (&Id, &VmState)> {
        self.vms.iter()
    }

    /// A VM.
    pub fn vm(&self, id: &Id) -> Option<&VmState> {
        self.vms.get(id)
    }
}

fn no_host(controller: &Controller) -> Fault {
    let message = match controller.network.hosts().next() {
        Some(_) => "every host is down",
        None => "the network has no hosts",
    };
    Fault::Invalid { field: "placement", message: message.to_owned() }
}
