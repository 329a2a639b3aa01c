//! Validation of values without a meaning for a run, before anything is simulated.

mod after;
mod error;
mod limits;
mod ports;
mod reach;
mod traffic;

use std::collections::HashSet;

use wayleave_topology::{LinkId, NodeKind};
use wayleave_units::{Bytes, Time};

use crate::{Element, Jitter, Scenario, VmError};

pub use error::{PortError, ScenarioError, TrafficError};
use limits::MAX_TAGS;
pub use limits::{MAX_ACTORS, MAX_HOP, WIRE_OVERHEAD};
use reach::Reachability;

impl Scenario {
    /// Checks everything that can be checked before a run.
    ///
    /// ```
    /// use wayleave_scenarios::{Scenario, ScenarioError};
    /// # use std::sync::Arc;
    /// # use wayleave_topology::builders::{Cabling, build};
    /// # use wayleave_units::Time;
    /// # let network = Arc::new(build::star(2, Cabling::default()).unwrap());
    /// # let millisecond = Time::from_millis(1);
    /// let scenario = Scenario::new("nobody sends", network, millisecond);
    /// assert_eq!(scenario.validate().unwrap_err().to_string(), "no traffic is defined");
    /// ```
    ///
    /// # Errors
    ///
    /// The first error; [`ScenarioError::path`] returns the part of a scenario file that it concerns.
    ///
    /// # Panics
    ///
    /// If a node or a link is not of the scenario's network.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.check_times()?;
        self.check_routing()?;
        ports::check(&self.switches, NodeKind::Switch, &self.network)
            .and_then(|()| ports::check_core(self))
            .map_err(|error| ScenarioError::Port { of: NodeKind::Switch, error })?;
        ports::check(&self.hosts, NodeKind::Host, &self.network)
            .map_err(|error| ScenarioError::Port { of: NodeKind::Host, error })?;
        self.check_links()?;
        self.check_services()?;
        traffic::check_transport(&self.transport).map_err(ScenarioError::Transport)?;
        self.check_sharing()?;
        self.check_vms()?;
        self.check_traffic()?;
        self.check_outages()
    }

    fn check_times(&self) -> Result<(), ScenarioError> {
        let (warmup, duration) = (self.warmup, self.duration);
        if duration == Time::ZERO {
            return Err(ScenarioError::NoDuration);
        }
        if warmup >= duration {
            return Err(ScenarioError::Warmup { warmup, duration });
        }
        if self.record.series == Some(Time::ZERO) {
            return Err(ScenarioError::EmptyRecord { key: "series" });
        }
        if self.record.trace == Some(0) {
            return Err(ScenarioError::EmptyRecord { key: "trace" });
        }
        Ok(())
    }

    fn check_routing(&self) -> Result<(), ScenarioError> {
        self.routing.check().map_err(|(parameter, value)| match parameter.kind.is_zero(&value) {
            true => ScenarioError::EmptyRouting { what: parameter.noun() },
            false => ScenarioError::Routing {
                parameter: parameter.key,
                value: value.to_string(),
                range: parameter.kind.range(),
            },
        })
    }

    /// Every hop of a packet is one event, which must not lie too far ahead.
    fn check_links(&self) -> Result<(), ScenarioError> {
        for (_, link) in self.network.links() {
            let (from, to) = (self.network.node(link.from), self.network.node(link.to));
            let frame = link.mtu + WIRE_OVERHEAD + MAX_TAGS;
            let constant = link.propagation + from.processing + from.jitter + to.processing;
            let takes = constant.checked_add(sending_time(frame, link.rate.bits_per_second()));
            if takes.is_none_or(|takes| takes > MAX_HOP) {
                let takes = takes.unwrap_or(Time::MAX);
                return Err(ScenarioError::SlowLink { link: link.name.clone(), takes });
            }
        }
        Ok(())
    }

    fn check_services(&self) -> Result<(), ScenarioError> {
        let mut seen = HashSet::new();
        for (index, service) in self.shared_services.iter().enumerate() {
            let node = self.network.node(service.switch);
            let error = |what| ScenarioError::SharedService { index, node: node.name.clone(), what };
            if node.kind != NodeKind::Switch {
                return Err(error("is not a switch: only a switch shares a service"));
            }
            if !seen.insert(service.switch) {
                return Err(error("has two shared services: expected one"));
            }
            if service.rate.bits_per_second() == 0 {
                return Err(error("serves packets at a rate of zero"));
            }
            if service.buffer == Bytes::ZERO {
                return Err(error("has no buffer before its service"));
            }
            let mtu = self.network.links_into(service.switch).iter().map(|&link| self.network.link(link).mtu).max();
            let frame = mtu.unwrap_or_default() + WIRE_OVERHEAD + MAX_TAGS;
            let takes = service.processing.checked_add(sending_time(frame, service.rate.bits_per_second()));
            if takes.is_none_or(|takes| takes > MAX_HOP) {
                return Err(error("needs more than 2s for one packet"));
            }
        }
        Ok(())
    }

    fn check_sharing(&self) -> Result<(), ScenarioError> {
        let most = self.network.links().map(|(id, _)| self.network.queues(id).len()).max().unwrap_or(0);
        let checked = self.sharing.as_ref().map(|sharing| sharing.validate(&self.network, most));
        checked.unwrap_or(Ok(())).map_err(ScenarioError::Sharing)
    }

    fn check_vms(&self) -> Result<(), ScenarioError> {
        let mut names = HashSet::new();
        for (index, vm) in self.vms.iter().enumerate() {
            let wrong = |error| Err(ScenarioError::Vm { index, error });
            if vm.name.is_empty() {
                return wrong(VmError::NoName);
            }
            if self.network.find_node(&vm.name).is_some() || !names.insert(&vm.name) {
                return wrong(VmError::TakenName);
            }
            let host = self.network.node(vm.host);
            if host.kind != NodeKind::Host {
                return wrong(VmError::NotAtAHost { node: host.name.clone() });
            }
            let is_known = |service: &str| self.sharing.as_ref().is_some_and(|sharing| sharing.knows(service));
            if let Some(service) = vm.service.as_ref().filter(|service| !is_known(service)) {
                return wrong(VmError::Service { service: service.clone() });
            }
        }
        Ok(())
    }

    fn check_traffic(&self) -> Result<(), ScenarioError> {
        if self.traffic.is_empty() {
            return Err(ScenarioError::NoTraffic);
        }
        let mut names = HashSet::new();
        let mut reach = Reachability::new(&self.network);
        for (index, traffic) in self.traffic.iter().enumerate() {
            let named = |error| ScenarioError::Traffic { index, name: traffic.name.clone(), error: Box::new(error) };
            if traffic.name.is_empty() {
                return Err(named(TrafficError::NoName));
            }
            if !names.insert(&traffic.name) {
                return Err(named(TrafficError::TakenName));
            }
            traffic::check(traffic, self, &mut reach).map_err(named)?;
        }
        // A node that holds each packet up for a time of its own counts as a link.
        let holding = match self.jitter {
            Jitter::Whole => 0,
            Jitter::Each { .. } => self.network.nodes().filter(|(_, node)| node.jitter > Time::ZERO).count(),
        };
        let (links, flows) = ((self.network.links().len() + holding) as u64, self.fixed_flows());
        if (links.saturating_mul(2)).saturating_add(flows) > MAX_ACTORS {
            return Err(ScenarioError::TooLarge { links, flows });
        }
        Ok(())
    }

    fn check_outages(&self) -> Result<(), ScenarioError> {
        let mut last = Time::ZERO;
        for (index, outage) in self.outages.iter().enumerate() {
            if outage.at < last {
                return Err(ScenarioError::OutageOrder { index, at: outage.at, before: last });
            }
            last = outage.at;
            match outage.what {
                Element::Switch(node) if self.network.node(node).kind != NodeKind::Switch => {
                    return Err(ScenarioError::OutageOfHost { index, host: self.network.node(node).name.clone() });
                }
                Element::Link(LinkId(link)) => {
                    assert!((link as usize) < self.network.links().len(), "the network has no such link");
                }
                Element::Switch(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns the transmission time of a frame on a link of this rate, rounded up; the rate is above zero.
fn sending_time(frame: Bytes, bits_per_second: u64) -> Time {
    let nanos = (u128::from(frame.bits()) * 1_000_000_000).div_ceil(u128::from(bits_per_second));
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).min(Time::MAX.as_nanos()))
}
