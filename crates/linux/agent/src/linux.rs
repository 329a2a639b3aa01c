//! The data plane of a Linux host, as its driver needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use wayleave_dataplane::host::{
    ContractPackets, Host, HostPath, HostProgram, HostRule, Measured, PacketOutcome, SpoofReport,
};
use wayleave_dataplane::net::{
    Attached, Hook, Namespace, PortQdisc, ToolBatch, VLAN_ROOM, attach_egress, attach_ingress, mtu, plain_packets,
};
use wayleave_dataplane::switch::SwitchPlan;
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::Traffic;
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::count;

use crate::endpoints::Attachment;
use crate::host_dataplane::{HostDataplane, NotedPackets, Repairs};
use crate::samples::{FOLLOW, SamplingRule};

/// An uplink as it was when the program was attached.
#[derive(Clone, Copy, Debug)]
struct Uplink {
    link: LinkId,
    mtu: u64,
    /// `true` if the interface hands packets on unmerged. Not every interface can be configured to do so.
    is_plain: bool,
}

/// A host's maps and programs, and the interfaces that they are attached to. It belongs to a thread that is in the host's network namespace.
pub struct LinuxHost {
    host: Host,
    network: Arc<Network>,
    node: NodeId,
    /// Holds, for every uplink, the queues that it was given.
    folder: PathBuf,
    uplinks: BTreeMap<String, Uplink>,
    endpoints: BTreeMap<u32, String>,
    /// Sampling of the packets that are noted; `None` before the first are.
    choice: Option<SamplingRule>,
    /// Maximum number of packets reported per second.
    follow: u32,
    /// Other programs that see packets of the host's interfaces.
    beside: Vec<String>,
}

impl LinuxHost {
    /// Over what is pinned.
    pub fn new(host: Host, network: Arc<Network>, node: NodeId, folder: PathBuf) -> Self {
        let (uplinks, endpoints, beside) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { host, network, node, folder, uplinks, endpoints, choice: None, follow: FOLLOW, beside }
    }

    /// Sets the maximum number of packets reported per second; with 0 none are noted.
    #[must_use]
    pub fn following(self, follow: u32) -> Self {
        Self { follow, ..self }
    }

    /// The maps.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns a mutable reference to the maps and programs.
    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Returns the maps, so that the caller can remove them.
    pub fn into_host(self) -> Host {
        self.host
    }

    fn attach(&self, interface: &str, program: HostProgram) -> Result<(), String> {
        let mut batch = ToolBatch::tc();
        batch.extend(attach_ingress(interface, &self.host.pinned(program)));
        batch.run(&Namespace::current()).map_err(|error| error.to_string())
    }

    /// The queues of an uplink, as the topology has them.
    fn planned(&self, link: LinkId, interface: &str) -> Result<Option<PortQdisc>, String> {
        let here = |at: LinkId| if at == link { (interface.to_owned(), 0) } else { (String::new(), 0) };
        let plan = SwitchPlan::of(&self.network, self.node, here).map_err(|error| error.to_string())?;
        Ok(plan.ports.into_iter().find(|port| port.link == Some(link)).and_then(|port| port.egress))
    }

    /// Gives an uplink its queues, unless it has them: to give them again would drop the packets that are in them.
    fn queues(&self, link: LinkId, interface: &str, index: u32) -> Result<(), String> {
        let Some(queues) = self.planned(link, interface)? else { return Ok(()) };
        let lines = queues.rebuild(interface).map_err(|error| error.to_string())?;
        let text = lines.join("\n");
        let file = self.folder.join(format!("{interface}.{index}"));
        let there = Attached::of(&Namespace::current(), &[], &[]).map_err(|error| error.to_string())?;
        if fs::read_to_string(&file).is_ok_and(|before| before == text) && there.has_queues(interface, &queues) {
            return Ok(());
        }
        let mut batch = ToolBatch::tc();
        batch.extend(lines);
        batch.run(&Namespace::current()).map_err(|error| error.to_string())?;
        let written = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&file, text));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Every place where a program of the host should be.
    fn places(&self) -> Vec<(String, Hook, HostProgram)> {
        let uplinks = self.uplinks.keys().map(|name| (name.clone(), Hook::Ingress, HostProgram::Uplink));
        let endpoints = self.endpoints.values().map(|name| (name.clone(), Hook::Ingress, HostProgram::Endpoint));
        let held = self.host.holding_interface().map(|name| (name.to_owned(), Hook::Egress, HostProgram::Held));
        let all = uplinks.chain(endpoints).filter(|(name, ..)| index(name).is_some());
        all.chain(held).collect()
    }

    fn inspect(&self, places: &[(String, Hook, HostProgram)]) -> Result<Attached, String> {
        let places: Vec<(&str, Hook)> = places.iter().map(|(name, hook, _)| (name.as_str(), *hook)).collect();
        let plain: Vec<&str> = self.uplinks.keys().map(String::as_str).filter(|name| index(name).is_some()).collect();
        Attached::of(&Namespace::current(), &places, &plain).map_err(|error| error.to_string())
    }

    fn repair_programs(&self, there: &Attached, places: &[(String, Hook, HostProgram)]) -> Result<Vec<String>, String> {
        let mut done = Vec::new();
        for ((name, hook, program), found) in places.iter().zip(&there.programs) {
            if *found == Some(self.host.program_id(*program).map_err(|error| error.to_string())?) {
                continue;
            }
            match hook {
                Hook::Ingress => self.attach(name, *program)?,
                Hook::Egress => {
                    let lines = attach_egress(name, &self.host.pinned(*program));
                    ToolBatch::tc().extend(lines).run(&Namespace::current()).map_err(|error| error.to_string())?;
                }
            }
            done.push(format!("the program of {name} was missing"));
        }
        Ok(done)
    }

    /// Removes filters that run before the host's programs or choose among its queues, and notes which other programs
    /// see its packets.
    fn remove_filters(
        &mut self,
        there: &Attached,
        places: &[(String, Hook, HostProgram)],
    ) -> Result<Vec<String>, String> {
        let names: BTreeSet<&str> =
            places.iter().map(|(name, ..)| name.as_str()).chain(self.host.waiting_interface()).collect();
        let (done, lines): (Vec<_>, Vec<_>) = names.iter().flat_map(|name| there.conflicting_filters(name)).unzip();
        ToolBatch::tc().extend(lines).run(&Namespace::current()).map_err(|error| error.to_string())?;
        self.beside = names.iter().flat_map(|name| there.beside(name)).collect();
        Ok(done)
    }

    fn repair_uplinks(&self, there: &Attached) -> Result<Vec<String>, String> {
        let here = Namespace::current();
        let mut done = Vec::new();
        for (name, Uplink { link, mtu, is_plain }) in self.uplinks.iter().filter(|(name, _)| index(name).is_some()) {
            if let Some(found) = there.mtu(name).filter(|found| found != mtu) {
                let line = format!("link set dev {name} mtu {mtu}");
                ToolBatch::ip().extend([line]).run(&here).map_err(|error| error.to_string())?;
                done.push(format!("the MTU of {name} was {found} B"));
            }
            if *is_plain && there.merges(name) {
                plain_packets(&here, name).map_err(|error| error.to_string())?;
                done.push(format!("offloads that merge packets were on at {name}"));
            }
            let Some(queues) = self.planned(*link, name)? else { continue };
            if !there.has_queues(name, &queues) {
                let lines = queues.rebuild(name).map_err(|error| error.to_string())?;
                ToolBatch::tc().extend(lines).run(&here).map_err(|error| error.to_string())?;
                done.push(format!("the queues of {name} had been changed"));
            }
        }
        Ok(done)
    }
}

fn traffic(serial: u64, contract: &ContractPackets) -> Traffic {
    Traffic {
        serial,
        contract: None,
        packets: contract.packets,
        bytes: contract.bytes.get(),
        delayed: contract.delayed,
        waiting: contract.waiting,
        queue_full: contract.shaped,
        oversized: contract.oversized,
        waited_ns: contract.waits.sum.as_nanos(),
        waits: contract.waits.counts.to_vec(),
        followed: None,
    }
}

/// The index of an interface in the namespace of this thread.
pub fn index(interface: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(interface).ok()
}

impl HostDataplane for LinuxHost {
    fn shadowed(&self) -> BTreeMap<u64, u64> {
        self.host.shadowed()
    }

    fn index(&mut self, interface: &str) -> Option<u32> {
        index(interface)
    }

    fn add_uplink(&mut self, link: LinkId, interface: &str, at: u32) -> Result<(), String> {
        let (needed, has) = (self.network.link(link).mtu.get(), mtu(&Namespace::current(), interface));
        let has = has.map_err(|error| error.to_string())?.get();
        if has < needed {
            return Err(format!(
                "its MTU is {has} B, but the link's MTU in the topology is {needed} B: run `ip link set dev {interface} mtu {}`, which leaves room for tags",
                needed + u64::from(VLAN_ROOM)
            ));
        }
        // Packets from the network are handed on unmerged: a merged frame would have the tags of only one of its
        // packets.
        if let Err(error) = plain_packets(&Namespace::current(), interface) {
            tracing::warn!(interface, "cannot turn off offloads: {error}");
        }
        self.queues(link, interface, at)?;
        self.attach(interface, HostProgram::Uplink)?;
        let looked = Attached::of(&Namespace::current(), &[], &[interface]).map_err(|error| error.to_string())?;
        let is_plain = !looked.merges(interface);
        self.uplinks.insert(interface.to_owned(), Uplink { link, mtu: has, is_plain });
        Ok(())
    }

    fn endpoints(&mut self) -> Result<Vec<(u32, Mac)>, String> {
        Ok(self.host.endpoints())
    }

    fn add_endpoint(&mut self, attached: &Attachment, at: u32, mac: Mac) -> Result<(), String> {
        // The maps first: a program that is attached drops what comes from an interface that it does not know.
        let vlan = attached.vlan.unwrap_or(0);
        self.host.add_tagged_endpoint(at, mac, vlan).map_err(|error| error.to_string())?;
        self.attach(&attached.interface, HostProgram::Endpoint)?;
        self.endpoints.insert(at, attached.interface.clone());
        Ok(())
    }

    fn set_group(&mut self, at: u32, members: &[Mac]) -> Result<(), String> {
        self.host.set_group(at, members).map_err(|error| error.to_string())
    }

    fn spoof_reports(&mut self) -> Result<Vec<SpoofReport>, String> {
        self.host.spoof_reports().map_err(|error| error.to_string())
    }

    fn remove_endpoint(&mut self, at: u32) -> Result<(), String> {
        self.endpoints.remove(&at);
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

    fn problems(&self) -> Vec<String> {
        self.beside.clone()
    }

    fn repair(&mut self) -> Result<Repairs, String> {
        let places = self.places();
        let there = self.inspect(&places)?;
        let mut lost: BTreeSet<u64> = self.host.lost_rules().map_err(|error| error.to_string())?.into_iter().collect();
        let mut repairs = Repairs { done: self.host.mend().map_err(|error| error.to_string())?, lost: None };
        if !lost.is_empty() {
            repairs.done.push(format!("{} had been changed", count(lost.len(), "rule")));
        }
        repairs.done.extend(self.repair_programs(&there, &places)?);
        repairs.done.extend(self.repair_uplinks(&there)?);
        repairs.done.extend(self.remove_filters(&there, &places)?);
        if let (Some(trouble), Some(longest)) = (self.host.hold_problem(&there), self.host.holding()) {
            self.host.hold(longest).map_err(|error| error.to_string())?;
            repairs.done.push(trouble);
            return Ok(repairs);
        }
        let classes = self.host.lost_classes(&there);
        if !classes.is_empty() {
            repairs.done.push(format!("the classes of {} had been changed", count(classes.len(), "rule")));
        }
        lost.extend(classes);
        repairs.lost = Some(lost.into_iter().collect());
        Ok(repairs)
    }

    fn traffic(&mut self) -> Result<Vec<Traffic>, String> {
        let counters = self.host.counters().map_err(|error| error.to_string())?;
        Ok(counters.contracts.iter().map(|(&serial, contract)| traffic(serial, contract)).collect())
    }

    fn packets(&mut self) -> Result<BTreeMap<String, u64>, String> {
        let counters = self.host.counters().map_err(|error| error.to_string())?;
        Ok(counters.reasons.iter().map(|(reason, &count)| (reason.name().to_owned(), count)).collect())
    }

    fn samples(&mut self) -> Result<Option<NotedPackets>, String> {
        let samples = self.host.samples();
        let counters = self.host.counters().map_err(|error| error.to_string())?;
        let missed = counters.of(PacketOutcome::Unsampled);
        let Some(choice) = &mut self.choice else {
            let first = (self.follow > 0).then_some(0);
            self.host.sample(first).map_err(|error| error.to_string())?;
            self.choice = Some(SamplingRule::since(missed, self.follow));
            return Ok(None);
        };
        if self.follow == 0 {
            return Ok(None);
        }
        let (mut noted, level) = choice.next(samples, missed);
        if let Some(level) = level {
            self.host.sample(Some(level)).map_err(|error| error.to_string())?;
        }
        // A merged packet differs from the packets that were sent.
        noted.is_incomplete |= !self.uplinks.values().all(|uplink| uplink.is_plain);
        Ok(Some(noted))
    }

    fn measured(&mut self) -> Result<Vec<Measured>, String> {
        self.host.measured().map_err(|error| error.to_string())
    }
}
