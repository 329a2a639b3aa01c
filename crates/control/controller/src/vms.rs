//! VMs, their hosts and the addresses of their interfaces.

use std::collections::BTreeMap;

use wayleave_packet_format::Mac;
use wayleave_protocol::Id;
use wayleave_topology::{Network, NodeId};

use crate::command::CommandError;
use crate::macs::{self, VmSecret};

/// A VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmState {
    /// Host of the VM.
    pub host: NodeId,
    /// The address of its interface; no other VM or host has it.
    pub mac: Mac,
    /// Its revision.
    pub revision: u64,
}

/// All VMs, by their names and by their addresses.
#[derive(Clone)]
pub(crate) struct Vms {
    by_id: BTreeMap<Id, VmState>,
    by_mac: BTreeMap<Mac, Id>,
    /// Addresses of the hosts' own interfaces, with the names of the hosts.
    hosts: BTreeMap<Mac, String>,
}

impl Vms {
    /// None yet, in this network.
    pub(crate) fn new(network: &Network) -> Self {
        let names = network.hosts().map(|host| network.node(host).name.clone());
        let hosts = names.map(|name| (macs::of_host(&name), name)).collect();
        Self { by_id: BTreeMap::new(), by_mac: BTreeMap::new(), hosts }
    }

    pub(crate) fn get(&self, id: &Id) -> Option<&VmState> {
        self.by_id.get(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Id, &VmState)> {
        self.by_id.iter()
    }

    /// Inserts a VM into both tables. Returns its previous state.
    pub(crate) fn insert(&mut self, id: Id, vm: VmState) -> Option<VmState> {
        let mac = vm.mac;
        let old = self.by_id.insert(id.clone(), vm);
        if let Some(old) = &old {
            self.by_mac.remove(&old.mac);
        }
        self.by_mac.insert(mac, id);
        old
    }

    pub(crate) fn remove(&mut self, id: &Id) {
        if let Some(vm) = self.by_id.remove(id) {
            self.by_mac.remove(&vm.mac);
        }
    }

    /// Returns an address for a VM without a given one: the first free address derived from its name and the secret
    /// of the ledger. So a tenant cannot block another tenant's VM by taking its address first.
    pub(crate) fn free_mac(&self, id: &Id, secret: Option<VmSecret>) -> Mac {
        let free = macs::all_of(id, secret).find(|&mac| self.check_free(mac, id).is_ok());
        free.unwrap_or_else(|| macs::of_old(id))
    }

    /// No other VM and no host may have the address: agents know VMs by it.
    pub(crate) fn check_free(&self, mac: Mac, id: &Id) -> Result<(), CommandError> {
        // The error about another tenant's VM reveals only that it has the address.
        let name = |other: &Id| if other.tenant == id.tenant { format!("VM {other}") } else { "another VM".to_owned() };
        let vm = self.by_mac.get(&mac).filter(|other| *other != id).map(name);
        let host = || self.hosts.get(&mac).map(|host| format!("host {host}"));
        match vm.or_else(host) {
            Some(of) => Err(CommandError::Taken { what: format!("MAC {mac}"), of, field: "mac" }),
            None => Ok(()),
        }
    }
}
