//! Driver of a switch: it is configured once, and never changed afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::machine::{Driver, DriverError};
use wayleave_dataplane::clock::Clock;
use wayleave_dataplane::switch::{SwitchDriver, SwitchPlan};
use wayleave_protocol::agent::Measured;
use wayleave_protocol::agent::{Rule, Samples};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::Time;

use crate::environment::Environment;
use crate::interfaces::{NodeInterface, places};
use crate::node::NodeDriver;
use crate::samples::{self, FOLLOW, SamplingRule};

/// The serial number under which a switch is set up.
const SET_UP: u64 = 0;

/// The indices of interfaces, by name.
pub type Indices = Box<dyn FnMut(&str) -> Option<u32> + Send>;

/// The driver of a switch.
pub struct SwitchNode<S> {
    driver: S,
    network: Arc<Network>,
    switch: NodeId,
    /// Interfaces by the index of the link that leaves or, where none does, enters them.
    interfaces: BTreeMap<LinkId, String>,
    indices: Indices,
    /// Holds the version that it was set up with, and the interfaces that it had then.
    file: PathBuf,
    set_ups: usize,
    /// Sampling of the packets that it notes; `None` before the first are.
    choice: Option<SamplingRule>,
    /// Maximum number of packets reported per second.
    follow: u32,
    /// Number of reports of noted packets so far.
    tellings: u64,
}

impl<S: SwitchDriver> SwitchNode<S> {
    /// Creates the driver over a switch. The file records whether the switch is set up already.
    pub fn open(
        driver: S,
        environment: &Environment,
        switch: NodeId,
        interfaces: BTreeMap<LinkId, String>,
        indices: Indices,
        file: PathBuf,
    ) -> Self {
        Self {
            driver,
            network: environment.shared_network(),
            switch,
            interfaces,
            indices,
            file,
            set_ups: 0,
            choice: None,
            follow: FOLLOW,
            tellings: 0,
        }
    }

    /// Sets the maximum number of packets reported per second; with 0 none are noted.
    #[must_use]
    pub fn following(self, follow: u32) -> Self {
        Self { follow, ..self }
    }

    /// Returns the driver of the switch.
    pub fn driver(&self) -> &S {
        &self.driver
    }

    /// Returns a mutable reference to the driver of the switch.
    pub fn driver_mut(&mut self) -> &mut S {
        &mut self.driver
    }

    /// Returns the number of times that this agent has really configured the switch.
    pub fn set_ups(&self) -> usize {
        self.set_ups
    }

    /// Returns the plan of the switch, with the interfaces that exist now.
    fn plan(&mut self) -> Result<SwitchPlan, DriverError> {
        let mut named = BTreeMap::new();
        let mut missing = Vec::new();
        for (link, interface) in &self.interfaces {
            match (self.indices)(interface) {
                Some(index) => drop(named.insert(*link, (interface.clone(), index))),
                None => missing.push(interface.clone()),
            }
        }
        if !missing.is_empty() {
            return Err(DriverError::Later(format!("interface {} does not exist", missing.join(", "))));
        }
        let of = |link| named.get(&link).cloned().unwrap_or_default();
        let plan = SwitchPlan::of(&self.network, self.switch, of);
        let plan = plan.map_err(|error| DriverError::Never(error.to_string()))?;
        match plan.ports.iter().find(|port| port.ifindex == 0) {
            Some(port) => {
                let link = port.link.map(|link| self.network.link(link).name.clone()).unwrap_or_default();
                Err(DriverError::Never(format!("no interface configured for link {link}")))
            }
            None => Ok(plan),
        }
    }

    /// Returns the identity of the setup: with other interfaces it is another switch.
    fn fingerprint(plan: &SwitchPlan) -> String {
        plan.ports.iter().map(|port| format!(" {}:{}", port.interface, port.ifindex)).collect()
    }

    /// The version that it was set up with, if it is as it was then.
    fn version(&mut self) -> Option<u64> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (version, fingerprint) =
            text.trim_end().split_at_checked(text.find(' ').unwrap_or(text.trim_end().len()))?;
        let plan = self.plan().ok()?;
        let is_there = self.driver.counters().is_ok();
        (Self::fingerprint(&plan) == fingerprint && is_there).then(|| version.parse().ok())?
    }
}

impl<S: SwitchDriver> Driver for SwitchNode<S> {
    fn installed(&mut self, _now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        Ok(self.version().map(|version| (SET_UP, version)).into_iter().collect())
    }

    fn install(&mut self, _now: Time, _serial: u64, _version: u64, _rule: &Rule) -> Result<(), DriverError> {
        Err(DriverError::Never("this node is a switch".to_owned()))
    }

    fn remove(&mut self, _now: Time, _serial: u64, _version: u64) -> Result<(), DriverError> {
        // Nothing of a contract is ever in a switch.
        Ok(())
    }

    fn set_up(&mut self, _now: Time, version: u64) -> Result<(), DriverError> {
        let plan = self.plan()?;
        if self.version().is_none() {
            self.driver.configure(&plan).map_err(|error| DriverError::Later(error.to_string()))?;
            self.set_ups += 1;
            tracing::info!(switch = plan.name, ports = plan.ports.len(), "set up");
        }
        let text = format!("{version}{}\n", Self::fingerprint(&plan));
        let written = self.file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&self.file, text));
        written.map_err(|error| DriverError::Later(format!("{}: {error}", self.file.display())))
    }
}

impl<S: SwitchDriver> NodeDriver for SwitchNode<S> {
    fn refresh(&mut self) {}

    fn repair(&mut self) -> Vec<String> {
        if self.version().is_none() {
            return Vec::new();
        }
        let Ok(plan) = self.plan() else { return Vec::new() };
        self.driver.repair(&plan).unwrap_or_else(|error| {
            tracing::warn!("checking for foreign changes: {error}");
            Vec::new()
        })
    }

    fn is_watched(&self) -> bool {
        self.driver.is_watched()
    }

    fn problems(&mut self, _now: Time) -> Vec<String> {
        self.driver.problems()
    }

    fn places(&mut self) -> BTreeMap<u32, NodeInterface> {
        places(&self.network, self.switch, &self.interfaces, &BTreeMap::new(), &mut self.indices)
    }

    fn set_environment(&mut self, _around: Arc<Environment>) {}

    fn samples(&mut self) -> Option<Samples> {
        let (samples, missed) = self.driver.samples().ok()?;
        if self.follow == 0 {
            return None;
        }
        let Some(choice) = &mut self.choice else {
            self.choice = self.driver.sample(0).ok()?.then(|| SamplingRule::since(missed, self.follow));
            return None;
        };
        let (noted, level) = choice.next(samples, missed);
        if let Some(level) = level {
            self.driver.sample(level).ok()?;
        }
        let clock = Clock::now().ok()?;
        self.tellings += 1;
        // A switch sends nothing itself.
        Some(samples::sample_report(self.tellings, noted, &clock, |_| None))
    }

    fn reports(&mut self) -> Vec<Measured> {
        Vec::new()
    }
}
