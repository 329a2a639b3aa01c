//! The data plane of a Linux host, as its driver needs it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, Measured};
use wayleave_dataplane::net::{Batch, Namespace, VLAN_ROOM, attach_ingress, mtu, output, plain_packets};
use wayleave_dataplane::switch::SwitchPlan;
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_wire::Mac;

use crate::plane::Plane;

/// A host's maps and programs, and the interfaces that they are attached to. It belongs to a thread that is in the host's network namespace.
pub struct LinuxHost {
    host: Host,
    network: Arc<Network>,
    node: NodeId,
    /// Holds, for every uplink, the queues that it was given.
    folder: PathBuf,
}

impl LinuxHost {
    /// Over what is pinned.
    pub fn new(host: Host, network: Arc<Network>, node: NodeId, folder: PathBuf) -> Self {
        Self { host, network, node, folder }
    }

    /// The maps.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The maps, for who takes them away.
    pub fn into_host(self) -> Host {
        self.host
    }

    fn attach(&self, interface: &str, program: HostProgram) -> Result<(), String> {
        let mut batch = Batch::tc();
        batch.extend(attach_ingress(interface, &self.host.pinned(program)));
        batch.run(&Namespace::here()).map_err(|error| error.to_string())
    }

    /// Gives an uplink its queues, unless it has them: to give them again would drop the packets that are in them.
    fn queues(&self, link: LinkId, interface: &str, index: u32) -> Result<(), String> {
        let here = |at: LinkId| if at == link { (interface.to_owned(), index) } else { (String::new(), 0) };
        let plan = SwitchPlan::of(&self.network, self.node, here).map_err(|error| error.to_string())?;
        let port = plan.ports.into_iter().find(|port| port.link == Some(link));
        let Some(queues) = port.and_then(|port| port.egress) else { return Ok(()) };
        let lines = queues.rebuild(interface).map_err(|error| error.to_string())?;
        let text = lines.join("\n");
        let file = self.folder.join(format!("{interface}.{index}"));
        if fs::read_to_string(&file).is_ok_and(|before| before == text) && has_queues(interface) {
            return Ok(());
        }
        let mut batch = Batch::tc();
        batch.extend(lines);
        batch.run(&Namespace::here()).map_err(|error| error.to_string())?;
        let written = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&file, text));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// Whether an interface has the shaper of a port.
fn has_queues(interface: &str) -> bool {
    let shown = output(&Namespace::here(), "tc", &["qdisc", "show", "dev", interface, "root"]);
    shown.is_ok_and(|text| text.contains("qdisc tbf 1:"))
}

/// The index of an interface in the namespace of this thread.
pub fn index(interface: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(interface).ok()
}

impl Plane for LinuxHost {
    fn index(&mut self, interface: &str) -> Option<u32> {
        index(interface)
    }

    fn add_uplink(&mut self, link: LinkId, interface: &str, at: u32) -> Result<(), String> {
        let (needed, has) = (self.network.link(link).mtu.get(), mtu(&Namespace::here(), interface));
        let has = has.map_err(|error| error.to_string())?.get();
        if has < needed {
            return Err(format!(
                "its MTU is {has} B, and the topology says that the link takes packets of {needed} B: `ip link set dev {interface} mtu \
                 {}` leaves room for tags",
                needed + u64::from(VLAN_ROOM)
            ));
        }
        // What the network brings is handed on as it came: merged frames would have the tags of one of them.
        if let Err(error) = plain_packets(&Namespace::here(), interface) {
            tracing::warn!(interface, "offloads cannot be turned off: {error}");
        }
        self.queues(link, interface, at)?;
        self.attach(interface, HostProgram::Uplink)
    }

    fn endpoints(&mut self) -> Result<Vec<(u32, Mac)>, String> {
        self.host.endpoints().map_err(|error| error.to_string())
    }

    fn add_endpoint(&mut self, interface: &str, at: u32, mac: Mac) -> Result<(), String> {
        // The maps first: a program that is attached drops what comes from an interface that it does not know.
        self.host.add_endpoint(at, mac).map_err(|error| error.to_string())?;
        self.attach(interface, HostProgram::Endpoint)
    }

    fn remove_endpoint(&mut self, at: u32) -> Result<(), String> {
        self.host.remove_endpoint(at).map_err(|error| error.to_string())
    }

    fn installed(&mut self) -> Result<Vec<(u64, u64)>, String> {
        Ok(self.host.installed())
    }

    fn install(&mut self, serial: u64, version: u64, rule: &HostRule) -> Result<(), String> {
        self.host.install(serial, version, rule).map_err(|error| error.to_string())
    }

    fn remove(&mut self, serial: u64) -> Result<(), String> {
        self.host.remove(serial).map_err(|error| error.to_string())
    }

    fn set_best_effort(&mut self, mac: Mac, paths: &[HostPath]) -> Result<(), String> {
        self.host.set_best_effort(mac, paths).map_err(|error| error.to_string())
    }

    fn measured(&mut self) -> Result<Vec<Measured>, String> {
        self.host.measured().map_err(|error| error.to_string())
    }
}
