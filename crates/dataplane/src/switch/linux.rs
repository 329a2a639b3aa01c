//! A switch that is a namespace of Linux, or a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{PortCounters, SwitchCounters, SwitchDriver, SwitchPlan};
use crate::error::Error;
use crate::net::{Attached, Batch, Hook, Namespace, NetError, PortQdisc, attach_ingress, installed, queue_counters};
use crate::programs::{self, Port, SwitchProgram};

/// A switch that is a namespace of Linux, or a machine. Its program and table are pinned, so it forwards whether its driver runs or not.
pub struct LinuxSwitch {
    namespace: Namespace,
    program: SwitchProgram,
    /// The indices of the ports, as they were configured.
    ports: Vec<u32>,
}

/// Why a Linux switch could not be driven.
#[derive(thiserror::Error, Debug)]
pub enum LinuxSwitchError {
    /// Queues, or attaching the program.
    #[error("{0}")]
    Net(NetError),
    /// The program and its table.
    #[error("{0}")]
    Program(Error),
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
        Ok(Self { namespace, program: SwitchProgram::open(pins)?, ports: Vec::new() })
    }

    /// What is not as the plan says, one sentence each.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn troubles(&self, plan: &SwitchPlan) -> Result<Vec<String>, LinuxSwitchError> {
        let places: Vec<(&str, Hook)> =
            plan.ports.iter().map(|port| (port.interface.as_str(), Hook::Ingress)).collect();
        let there = Attached::of(&self.namespace, &places)?;
        let id = programs::id(&self.program.program()?)?;
        let mut troubles = Vec::new();
        for (port, program) in plan.ports.iter().zip(&there.programs) {
            if *program != Some(id) {
                troubles.push(format!("the program of {} was gone", port.interface));
            }
            let is_other = |egress: &&PortQdisc| !there.ports.get(&port.interface).is_some_and(|port| egress.is(port));
            if port.egress.as_ref().is_some_and(|egress| is_other(&egress)) {
                troubles.push(format!("the queues of {} were others", port.interface));
            }
        }
        let set: BTreeSet<_> =
            self.program.table()?.into_iter().map(|(at, tci, port)| (at, tci, port.ifindex, port.priority)).collect();
        let wanted = plan.table().into_iter().map(|line| (line.ingress, line.tag.tci(), line.egress, line.priority));
        let missing = wanted.filter(|line| !set.contains(line)).count();
        if missing > 0 {
            troubles.push(format!("{missing} lines of the table were gone"));
        }
        Ok(troubles)
    }

    /// Makes the table that of the plan. Entries that are there already are not touched, so packets find their way all the time.
    fn fill(&mut self, plan: &SwitchPlan) -> Result<(), Error> {
        let ports: BTreeSet<u32> = plan.ports.iter().map(|port| port.ifindex).collect();
        let wanted: BTreeMap<(u32, u16), Port> = plan
            .table()
            .into_iter()
            .map(|line| ((line.ingress, line.tag.tci()), Port { ifindex: line.egress, priority: line.priority }))
            .collect();
        let mut there: BTreeMap<(u32, u16), Port> =
            self.program.table()?.into_iter().map(|(ingress, tci, port)| ((ingress, tci), port)).collect();
        there.retain(|(ingress, _), _| ports.contains(ingress));
        let stale: BTreeSet<u32> =
            there.keys().filter(|key| !wanted.contains_key(key)).map(|&(ingress, _)| ingress).collect();
        for &ingress in &stale {
            self.program.forget(ingress)?;
        }
        for line in plan.table() {
            let (key, port) = ((line.ingress, line.tag.tci()), Port { ifindex: line.egress, priority: line.priority });
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
        let (mut lines, pinned) = (Vec::new(), self.program.pinned());
        let there = installed(&self.namespace)?;
        for port in &plan.ports {
            // To give a port the queues that it has would drop the packets in them.
            let is_new = |egress: &&PortQdisc| !there.get(&port.interface).is_some_and(|port| egress.is(port));
            if let Some(egress) = port.egress.as_ref().filter(is_new) {
                lines.extend(egress.rebuild(&port.interface)?);
            }
            lines.extend(attach_ingress(&port.interface, &pinned));
        }
        // The table first: what comes before it is complete would be dropped.
        self.fill(plan)?;
        Batch::tc().extend(lines).run(&self.namespace)?;
        self.ports = plan.ports.iter().map(|port| port.ifindex).collect();
        Ok(())
    }

    fn repair(&mut self, plan: &SwitchPlan) -> Result<Vec<String>, LinuxSwitchError> {
        let troubles = self.troubles(plan)?;
        if !troubles.is_empty() {
            self.configure(plan)?;
        }
        Ok(troubles)
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
