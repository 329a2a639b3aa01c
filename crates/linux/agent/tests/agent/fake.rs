//! A data plane that only takes notes, and drivers over it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use wayleave_agent::endpoints::{Attachment, Declared};
use wayleave_agent::environment::Environment;
use wayleave_agent::host::HostDriver;
use wayleave_agent::host_dataplane::{HostDataplane, Repairs};
use wayleave_agent::rule_store::RuleStore;
use wayleave_dataplane::host::{HostPath, HostRule, Measured, SpoofReport};
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::{Neighbour, Neighbours, Traffic};
use wayleave_topology::LinkId;

use crate::common::links;
use wayleave_repo_checks::TempFolder;

/// State of a fake data plane; it outlives the agent, as a kernel does.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) interfaces: BTreeMap<String, u32>,
    pub(crate) uplinks: BTreeMap<u32, LinkId>,
    pub(crate) endpoints: BTreeMap<u32, Mac>,
    pub(crate) rules: BTreeMap<u64, (u64, HostRule)>,
    pub(crate) host_paths: BTreeMap<Mac, Vec<HostPath>>,
    pub(crate) groups: BTreeMap<u32, Vec<Mac>>,
    pub(crate) spoofed: Vec<SpoofReport>,
    pub(crate) measured: Vec<Measured>,
    pub(crate) fails: BTreeSet<&'static str>,
    pub(crate) installs: usize,
    pub(crate) removed: Vec<u64>,
    pub(crate) shadowed: BTreeMap<u64, u64>,
}

/// A fake plane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(pub(crate) Arc<Mutex<Kernel>>);

impl Fake {
    pub(crate) fn with(interfaces: &[(&str, u32)]) -> Self {
        let interfaces = interfaces.iter().map(|(name, index)| ((*name).to_owned(), *index)).collect();
        Self(Arc::new(Mutex::new(Kernel { interfaces, ..Kernel::default() })))
    }

    pub(crate) fn kernel(&self) -> std::sync::MutexGuard<'_, Kernel> {
        self.0.lock().unwrap()
    }

    fn act(&self, what: &'static str) -> Result<std::sync::MutexGuard<'_, Kernel>, String> {
        let mut kernel = self.kernel();
        if kernel.fails.remove(what) { Err(format!("{what}: the kernel refuses")) } else { Ok(kernel) }
    }
}

impl HostDataplane for Fake {
    fn shadowed(&self) -> BTreeMap<u64, u64> {
        self.kernel().shadowed.clone()
    }

    fn index(&mut self, interface: &str) -> Option<u32> {
        self.kernel().interfaces.get(interface).copied()
    }

    fn add_uplink(&mut self, link: LinkId, _interface: &str, index: u32) -> Result<(), String> {
        self.act("uplink")?.uplinks.insert(index, link);
        Ok(())
    }

    fn endpoints(&mut self) -> Result<Vec<(u32, Mac)>, String> {
        Ok(self.kernel().endpoints.clone().into_iter().collect())
    }

    fn add_endpoint(&mut self, _attached: &Attachment, index: u32, mac: Mac) -> Result<(), String> {
        self.act("endpoint")?.endpoints.insert(index, mac);
        Ok(())
    }

    fn set_group(&mut self, index: u32, members: &[Mac]) -> Result<(), String> {
        self.act("group")?.groups.insert(index, members.to_vec());
        Ok(())
    }

    fn spoof_reports(&mut self) -> Result<Vec<SpoofReport>, String> {
        Ok(self.kernel().spoofed.clone())
    }

    fn remove_endpoint(&mut self, index: u32) -> Result<(), String> {
        self.kernel().endpoints.remove(&index);
        Ok(())
    }

    fn installed(&mut self) -> Result<Vec<(u64, u64)>, String> {
        Ok(self.kernel().rules.iter().map(|(&serial, (version, _))| (serial, *version)).collect())
    }

    fn install(&mut self, serial: u64, version: u64, rule: &HostRule) -> Result<(), String> {
        let mut kernel = self.act("install")?;
        kernel.installs += 1;
        kernel.rules.insert(serial, (version, rule.clone()));
        Ok(())
    }

    fn remove(&mut self, serial: u64) -> Result<(), String> {
        let mut kernel = self.act("remove")?;
        kernel.rules.remove(&serial);
        kernel.removed.push(serial);
        Ok(())
    }

    fn set_best_effort(&mut self, mac: Mac, paths: &[HostPath]) -> Result<(), String> {
        let mut kernel = self.act("best effort")?;
        if paths.is_empty() {
            kernel.host_paths.remove(&mac)
        } else {
            kernel.host_paths.insert(mac, paths.to_vec())
        };
        Ok(())
    }

    fn repair(&mut self) -> Result<Repairs, String> {
        Ok(Repairs { done: Vec::new(), lost: Some(Vec::new()) })
    }

    fn traffic(&mut self) -> Result<Vec<Traffic>, String> {
        Ok(self.kernel().rules.keys().map(|&serial| Traffic { serial, packets: 1, ..Traffic::default() }).collect())
    }

    fn packets(&mut self) -> Result<BTreeMap<String, u64>, String> {
        Ok(BTreeMap::new())
    }

    fn measured(&mut self) -> Result<Vec<Measured>, String> {
        Ok(self.kernel().measured.clone())
    }
}

/// VMs of tenants on hosts.
pub(crate) fn neighbours(vms: &[(&str, &str, &str)]) -> Neighbours {
    let neighbour = |(id, host, mac): &(&str, &str, &str)| Neighbour {
        id: (*id).to_owned(),
        host: (*host).to_owned(),
        mac: (*mac).to_owned(),
    };
    Neighbours { vms: vms.iter().map(neighbour).collect(), ..Neighbours::default() }
}

/// The driver of h1 over a plane; `endpoints` are interfaces by name.
pub(crate) fn driver(
    fake: &Fake,
    folder: &TempFolder,
    environment: Arc<Environment>,
    endpoints: &[(&str, &str)],
) -> HostDriver<Fake> {
    let (network, host) = (environment.shared_network(), environment.network().find_node("h1").unwrap());
    let fixed = endpoints.iter();
    let fixed = fixed.map(|(name, interface)| ((*name).to_owned(), Attachment::untagged(*interface))).collect();
    let declared = Declared::new(fixed, folder.join("endpoints"));
    let store = RuleStore::open(&folder.join("rules")).unwrap();
    HostDriver::open(fake.clone(), host, environment, store, links(&network), declared).unwrap()
}
