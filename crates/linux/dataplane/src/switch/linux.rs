//! A switch that is a namespace of Linux, or a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wayleave_units::count;

use super::{Forward, PortCounters, PortPlan, SwitchCounters, SwitchDriver, SwitchPlan};
use crate::error::Error;
use crate::net::{
    Attached, Hook, Namespace, NetError, PortQdisc, ToolBatch, VLAN_ROOM, attach_egress, attach_ingress, plain_packets,
    queue_counters,
};
use crate::programs::{self, SwitchProgram, TaggedPort};
use crate::samples::PacketSample;

/// A switch that is a namespace of Linux, or a machine. Its program and table are pinned, so it forwards whether its driver runs or not.
pub struct LinuxSwitch {
    namespace: Namespace,
    program: SwitchProgram,
    /// Hook at which ports see packets: at the ingress to forward them, or at the egress behind another forwarder.
    hook: Hook,
    /// The indices of the ports, as they were configured.
    ports: Vec<u32>,
    /// Sampling of the packets that are noted; `None` before the first are.
    level: Option<u32>,
    /// Other programs that see packets of the ports.
    beside: Vec<String>,
    /// State as it was found or made, to notice changes by other programs; `None` before the first inspection.
    found: Option<Found>,
}

/// Repair of a change by another program.
enum Undo {
    Mtu(String, u64),
    Merging(String),
}

/// Properties of the ports that the plan does not define.
#[derive(Debug)]
struct Found {
    mtus: BTreeMap<String, u64>,
    /// Ports that neither merge packets nor send packets larger than a frame. Not every interface can be configured
    /// so.
    plain: BTreeSet<String>,
}

/// Reason for which a Linux switch could not be driven.
#[derive(thiserror::Error, Debug)]
pub enum LinuxSwitchError {
    /// Queues, or attaching the program.
    #[error("{0}")]
    Net(NetError),
    /// The program and its table.
    #[error("{0}")]
    Program(Error),
    /// The MTU of an interface is smaller than the topology requires.
    #[error(
        "the MTU of {interface} is {has} B, but the link's MTU in the topology is {needed} B: run `ip link set dev {interface} mtu {with_tags}`, which leaves room for tags"
    )]
    Mtu {
        /// The interface.
        interface: String,
        /// MTU of the interface.
        has: u64,
        /// Required minimum.
        needed: u64,
        /// The same with tags.
        with_tags: u64,
    },
}

impl From<NetError> for LinuxSwitchError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}

impl From<Error> for LinuxSwitchError {
    fn from(error: Error) -> Self {
        Self::Program(error)
    }
}

impl LinuxSwitch {
    /// A switch in a namespace, whose program and table are pinned in a folder of a bpf file system. Switches of one machine can share
    /// the folder, if the indices of their interfaces differ.
    ///
    /// # Errors
    /// If the kernel refuses the program.
    pub fn open(namespace: Namespace, pins: &Path) -> Result<Self, LinuxSwitchError> {
        Self::at(Hook::Ingress, namespace, pins)
    }

    /// Creates the driver of ports with another forwarder: each chooses the queue of leaving packets, removes the
    /// tag, and drops packets whose tag names another port.
    ///
    /// # Errors
    /// If the kernel refuses the program.
    pub(super) fn of_ports(namespace: Namespace, pins: &Path) -> Result<Self, LinuxSwitchError> {
        Self::at(Hook::Egress, namespace, pins)
    }

    fn at(hook: Hook, namespace: Namespace, pins: &Path) -> Result<Self, LinuxSwitchError> {
        Ok(Self {
            namespace,
            program: SwitchProgram::open(pins)?,
            hook,
            ports: Vec::new(),
            level: None,
            beside: Vec::new(),
            found: None,
        })
    }

    fn table(&self, plan: &SwitchPlan) -> Vec<Forward> {
        match self.hook {
            Hook::Ingress => plan.table(),
            Hook::Egress => plan.leaving(),
        }
    }

    /// Forgets a port: what leaves or comes by it is dropped.
    pub(super) fn forget(&mut self, ifindex: u32) -> Result<(), LinuxSwitchError> {
        Ok(self.program.forget(ifindex)?)
    }

    fn inspect(&self, plan: &SwitchPlan) -> Result<Attached, LinuxSwitchError> {
        let names: Vec<&str> = plan.ports.iter().map(|port| port.interface.as_str()).collect();
        let places: Vec<(&str, Hook)> = names.iter().map(|&name| (name, self.hook)).collect();
        Ok(Attached::of(&self.namespace, &places, &names)?)
    }

    /// Makes ports hand on packets as they came, where they can, and notes what they are like.
    fn settle(&mut self, plan: &SwitchPlan, there: &Attached) -> Result<(), LinuxSwitchError> {
        let names = || plan.ports.iter().map(|port| port.interface.clone());
        let merging: Vec<String> = names().filter(|name| there.merges(name)).collect();
        for name in &merging {
            // The second inspection shows if this fails.
            let _ = plain_packets(&self.namespace, name);
        }
        let after = if merging.is_empty() { None } else { Some(self.inspect(plan)?) };
        let after = after.as_ref().unwrap_or(there);
        let mtus = names().filter_map(|name| after.mtu(&name).map(|mtu| (name, mtu))).collect();
        self.found = Some(Found { mtus, plain: names().filter(|name| !after.merges(name)).collect() });
        Ok(())
    }

    /// Returns the properties of ports besides queues and programs that have changed: sentences, and their repair.
    fn changed(&self, plan: &SwitchPlan, there: &Attached) -> Vec<(String, Undo)> {
        let Some(found) = &self.found else { return Vec::new() };
        let mut changed = Vec::new();
        for name in plan.ports.iter().map(|port| &port.interface) {
            if let (Some(&before), Some(now)) = (found.mtus.get(name), there.mtu(name))
                && now != before
            {
                changed.push((format!("the MTU of {name} was {now} B"), Undo::Mtu(name.clone(), before)));
            }
            if found.plain.contains(name) && there.merges(name) {
                changed.push((format!("offloads that merge packets were on at {name}"), Undo::Merging(name.clone())));
            }
        }
        changed
    }

    fn undo(&self, undo: &Undo) -> Result<(), NetError> {
        match undo {
            Undo::Mtu(name, mtu) => {
                ToolBatch::ip().extend([format!("link set dev {name} mtu {mtu}")]).run(&self.namespace)
            }
            Undo::Merging(name) => plain_packets(&self.namespace, name),
        }
    }

    /// Returns the deviations of programs, queues and table from the plan, one sentence each.
    fn problems_of(&self, plan: &SwitchPlan, there: &Attached) -> Result<Vec<String>, LinuxSwitchError> {
        let id = programs::id(&self.program.program(self.hook)?)?;
        let mut active_problems = Vec::new();
        for (port, program) in plan.ports.iter().zip(&there.programs) {
            if *program != Some(id) {
                active_problems.push(format!("the program of {} was missing", port.interface));
            }
            let is_other = |egress: &&PortQdisc| !there.has_queues(&port.interface, egress);
            if port.egress.as_ref().is_some_and(|egress| is_other(&egress)) {
                active_problems.push(format!("the queues of {} had been changed", port.interface));
            }
        }
        let set: BTreeSet<_> =
            self.program.table()?.into_iter().map(|(at, tci, port)| (at, tci, port.ifindex, port.priority)).collect();
        let wanted =
            self.table(plan).into_iter().map(|line| (line.ingress, line.tag.tci(), line.egress, line.priority));
        let wanted: BTreeSet<_> = wanted.collect();
        let missing = wanted.difference(&set).count();
        if missing > 0 {
            active_problems.push(format!("{} had been removed from the table", count(missing, "entry")));
        }
        let ports: BTreeSet<u32> = plan.ports.iter().map(|port| port.ifindex).collect();
        let keys: BTreeSet<_> = wanted.iter().map(|&(at, tci, ..)| (at, tci)).collect();
        let foreign = set.iter().filter(|&&(at, tci, ..)| ports.contains(&at) && !keys.contains(&(at, tci))).count();
        if foreign > 0 {
            active_problems.push(format!("{} had been added to the table", count(foreign, "entry")));
        }
        Ok(active_problems)
    }

    /// Makes the table that of the plan. Existing entries are not touched, so packets are forwarded all the time.
    fn fill(&mut self, plan: &SwitchPlan) -> Result<(), Error> {
        let ports: BTreeSet<u32> = plan.ports.iter().map(|port| port.ifindex).collect();
        let wanted: BTreeMap<(u32, u16), TaggedPort> = self
            .table(plan)
            .into_iter()
            .map(|line| ((line.ingress, line.tag.tci()), TaggedPort { ifindex: line.egress, priority: line.priority }))
            .collect();
        let mut there: BTreeMap<(u32, u16), TaggedPort> =
            self.program.table()?.into_iter().map(|(ingress, tci, port)| ((ingress, tci), port)).collect();
        there.retain(|(ingress, _), _| ports.contains(ingress));
        let stale: BTreeSet<u32> =
            there.keys().filter(|key| !wanted.contains_key(key)).map(|&(ingress, _)| ingress).collect();
        for &ingress in &stale {
            self.program.forget(ingress)?;
        }
        for line in self.table(plan) {
            let (key, port) =
                ((line.ingress, line.tag.tci()), TaggedPort { ifindex: line.egress, priority: line.priority });
            if stale.contains(&line.ingress) || there.get(&key) != Some(&port) {
                self.program.set(line.ingress, line.tag, port)?;
            }
        }
        Ok(())
    }
}

impl SwitchDriver for LinuxSwitch {
    type Error = LinuxSwitchError;

    fn configure(&mut self, plan: &SwitchPlan) -> Result<(), LinuxSwitchError> {
        let (mut lines, pinned) = (Vec::new(), self.program.pinned(self.hook));
        let there = self.inspect(plan)?;
        for PortPlan { interface, mtu, .. } in &plan.ports {
            let (needed, interface) = (mtu.get(), interface.clone());
            if let Some(has) = there.mtu(&interface).filter(|&has| has < needed) {
                let with_tags = needed + u64::from(VLAN_ROOM);
                return Err(LinuxSwitchError::Mtu { interface, has, needed, with_tags });
            }
        }
        for port in &plan.ports {
            // To give a port the queues that it has would drop the packets in them.
            let is_new = |egress: &&PortQdisc| !there.has_queues(&port.interface, egress);
            if let Some(egress) = port.egress.as_ref().filter(is_new) {
                lines.extend(egress.rebuild(&port.interface)?);
            }
            lines.extend(match self.hook {
                Hook::Ingress => attach_ingress(&port.interface, &pinned),
                Hook::Egress => attach_egress(&port.interface, &pinned),
            });
        }
        // The table first: what comes before it is complete would be dropped.
        self.fill(plan)?;
        ToolBatch::tc().extend(lines).run(&self.namespace)?;
        self.ports = plan.ports.iter().map(|port| port.ifindex).collect();
        self.settle(plan, &there)
    }

    fn repair(&mut self, plan: &SwitchPlan) -> Result<Vec<String>, LinuxSwitchError> {
        let pins = self.program.mend()?;
        let there = self.inspect(plan)?;
        if self.found.is_none() {
            self.settle(plan, &there)?;
        }
        let changed = self.changed(plan, &there);
        changed.iter().try_for_each(|(_, undo)| self.undo(undo))?;
        let mut active_problems = self.problems_of(plan, &there)?;
        if !active_problems.is_empty() {
            self.configure(plan)?;
        }
        let names = || plan.ports.iter().map(|port| port.interface.as_str());
        let (configured, lines): (Vec<_>, Vec<_>) = names().flat_map(|name| there.conflicting_filters(name)).unzip();
        ToolBatch::tc().extend(lines).run(&self.namespace)?;
        active_problems.extend(configured);
        self.beside = self.namespace.run(|| names().flat_map(|name| there.beside(name)).collect())?;
        if let Some(level) = self.level
            && self.program.level()? != Some(level)
        {
            self.program.sample(Some(level))?;
            active_problems.push("the selection of traced packets had been changed".to_owned());
        }
        active_problems.extend(changed.into_iter().map(|(what, _)| what));
        if pins > 0 {
            active_problems.push(format!("{pins} pins were missing"));
        }
        Ok(active_problems)
    }

    fn problems(&self) -> Vec<String> {
        self.beside.clone()
    }

    fn sample(&mut self, level: u32) -> Result<bool, LinuxSwitchError> {
        self.program.sample(Some(level))?;
        self.level = Some(level);
        Ok(true)
    }

    fn samples(&mut self) -> Result<(Vec<PacketSample>, u64), LinuxSwitchError> {
        Ok(self.program.samples()?)
    }

    fn counters(&mut self) -> Result<SwitchCounters, LinuxSwitchError> {
        let counts = self.program.counters()?;
        let mine = self.ports.iter().filter_map(|port| counts.get(port));
        let unroutable = mine.map(|counts| counts.untagged + counts.unknown).sum();
        let ports = queue_counters(&self.namespace)?;
        let ports = ports.into_iter().map(|(interface, queues)| PortCounters { interface, queues }).collect();
        Ok(SwitchCounters { ports, unroutable })
    }
}
