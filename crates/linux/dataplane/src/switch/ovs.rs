//! A bridge of Open vSwitch as a switch: it forwards, by rules of OpenFlow 1.3, and Linux orders the packets that
//! leave.
//!
//! There is a rule for each link that leaves. The outer tag names the link in its VLAN identifier, and Open vSwitch
//! inspects no other (it parses two tags and forwards packets with any number of them; docs/decisions/113). The tag
//! stays on until the packet leaves, since Open vSwitch's userspace datapath ignores `set_queue`. A program at the
//! egress of each port removes it, puts the packet into the queue that it names, and drops packets whose tag names
//! another port, even if other rules are added. A measurement shows whether packets reach the port's queues at all,
//! before a bridge is used ([`super::Disorder`]).
//!
//! The bridge is Wayleave's alone: rules of others are removed and reported. Its management socket is used, where
//! Open vSwitch always listens, so no controller has to be set.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use wayleave_openflow::{Changes, Client, ClientError, FlowAction, FlowMatch, FlowMod, Instruction};
use wayleave_packet_format::Tag;

use super::bridge::{COOKIE, OvsBridge, OvsError};
use super::linux::LinuxSwitch;
use super::order::check;
use super::{SwitchCounters, SwitchDriver, SwitchPlan};
use crate::net::Namespace;
use crate::samples::PacketSample;

/// Priority that Open vSwitch gives rules without an explicit one.
const PRIORITY: u16 = 0x8000;
/// The bits of a tag that are the VLAN identifier.
const IDENTIFIER: u16 = 0x0fff;

/// A bridge of Open vSwitch that forwards by tags. Its rules, queues and programs stay, so it forwards whether its driver runs or not.
pub struct OvsSwitch {
    bridge: OvsBridge,
    namespace: Namespace,
    pins: PathBuf,
    ports: LinuxSwitch,
    client: Option<Client<UnixStream>>,
    /// `true` once the measurement has shown that packets are ordered.
    is_ordered: bool,
}

impl OvsSwitch {
    /// A bridge whose ports are in this namespace; programs and their table are pinned in a folder of a bpf file system.
    ///
    /// # Errors
    /// If the kernel refuses the program.
    pub fn open(bridge: OvsBridge, namespace: Namespace, pins: &Path) -> Result<Self, OvsError> {
        let ports = LinuxSwitch::of_ports(namespace.clone(), pins)?;
        Ok(Self { bridge, namespace, pins: pins.to_owned(), ports, client: None, is_ordered: false })
    }

    /// Returns the rules of a plan: one for each link that leaves, independent of its contracts.
    ///
    /// # Errors
    /// If an interface is no port of the bridge.
    fn rules(&self, plan: &SwitchPlan, numbers: &BTreeMap<String, u32>) -> Result<Vec<FlowMod>, OvsError> {
        let mut rules = Vec::new();
        for (at, port) in (0..).zip(&plan.ports) {
            let number = numbers.get(&port.interface).ok_or_else(|| OvsError::NotAPort {
                bridge: self.bridge.name.clone(),
                interface: port.interface.clone(),
            })?;
            // `SwitchPlan::of` has made sure that each has a tag.
            if let (Some(_), Ok(tag)) = (port.link, Tag::new(at, 0)) {
                rules.push(FlowMod {
                    cookie: COOKIE,
                    priority: PRIORITY,
                    fields: FlowMatch { vlan: Some(tag.tci() & IDENTIFIER), ..FlowMatch::default() },
                    instructions: vec![Instruction::Apply(vec![FlowAction::Output(*number)])],
                    ..FlowMod::default()
                });
            }
        }
        Ok(rules)
    }

    fn client(&mut self) -> Result<Client<UnixStream>, OvsError> {
        self.client.take().map_or_else(|| self.bridge.connect(), Ok)
    }

    /// Asks the bridge something; the next time by another connection if this one has failed.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut Client<UnixStream>) -> Result<T, ClientError>) -> Result<T, OvsError> {
        let mut client = self.client()?;
        let answer = ask(&mut client);
        if matches!(answer, Ok(_) | Err(ClientError::Refused { .. } | ClientError::TableFull { .. })) {
            self.client = Some(client);
        }
        answer.map_err(|error| self.bridge.failed(error))
    }

    fn numbers(&mut self) -> Result<BTreeMap<String, u32>, OvsError> {
        let ports = self.ask(Client::ports)?;
        Ok(ports.into_iter().map(|port| (port.name, port.number)).collect())
    }

    /// Returns the deviations of the rules from the plan.
    fn changes(&mut self, plan: &SwitchPlan) -> Result<Changes, OvsError> {
        let numbers = self.numbers()?;
        let wanted = self.rules(plan, &numbers)?;
        let there = self.ask(Client::rules)?;
        Ok(Changes::between(&wanted, &there))
    }
}

impl SwitchDriver for OvsSwitch {
    type Error = OvsError;

    fn configure(&mut self, plan: &SwitchPlan) -> Result<(), OvsError> {
        let numbers = self.numbers()?;
        self.rules(plan, &numbers)?;
        if !self.is_ordered {
            let mut client = self.client()?;
            check(&self.bridge, &self.namespace, &self.pins, &mut client)?;
            (self.client, self.is_ordered) = (Some(client), true);
        }
        // The ports first: what leaves one before its program is there would be in no queue.
        self.ports.configure(plan)?;
        let changes = self.changes(plan)?;
        self.ask(|client| client.make(&changes))
    }

    fn repair(&mut self, plan: &SwitchPlan) -> Result<Vec<String>, OvsError> {
        let mut output = self.ports.repair(plan)?;
        let changes = self.changes(plan)?;
        if !changes.is_empty() {
            self.ask(|client| client.make(&changes))?;
        }
        let (missing, foreign) = (changes.additions.len(), changes.removals.len());
        let name = &self.bridge.name;
        if missing > 0 {
            output.push(format!("rules of bridge {name} were missing or changed: {missing}"));
        }
        if foreign > 0 {
            output.push(format!("foreign rules in bridge {name}: {foreign}"));
        }
        Ok(output)
    }

    fn is_watched(&self) -> bool {
        // Only Open vSwitch knows the rules, and it sends no notifications.
        false
    }

    fn problems(&self) -> Vec<String> {
        let name = &self.bridge.name;
        let silent = (!self.bridge.answers())
            .then(|| format!("Open vSwitch does not answer for bridge {name}: links of this switch count as down"));
        silent.into_iter().chain(SwitchDriver::problems(&self.ports)).collect()
    }

    fn sample(&mut self, level: u32) -> Result<bool, OvsError> {
        Ok(self.ports.sample(level)?)
    }

    fn samples(&mut self) -> Result<(Vec<PacketSample>, u64), OvsError> {
        Ok(self.ports.samples()?)
    }

    fn counters(&mut self) -> Result<SwitchCounters, OvsError> {
        // A bridge that does not answer does not forward either.
        self.numbers()?;
        Ok(self.ports.counters()?)
    }
}
