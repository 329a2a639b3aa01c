//! A run without a controller: the caller has decided which contracts are admitted, on which routes, and hosts
//! enforce this until the next run.

use std::collections::BTreeMap;

use wayleave_contracts::{BucketDemand, ContractKind};
use wayleave_dataplane::host::{HostRule, Sender};
use wayleave_packet_format::{Mac, PacketSelector};
use wayleave_topology::Route;
use wayleave_units::Time;

use super::flows::OfferedContract;
use super::operator::{Operator, ReportedContract};
use crate::error::LabError;
use crate::hosts::{Hosts, host_path};
use crate::up::Lab;

/// `IPPROTO_UDP`
const UDP: u8 = 17;

/// A contract that was admitted.
#[derive(Clone, Debug)]
pub struct PlannedContract<'a> {
    /// The contract.
    pub promised: &'a OfferedContract,
    /// Arrival curve that its host enforces, in wire bytes.
    pub demand: BucketDemand,
    /// Route of every packet.
    pub route: &'a Route,
    /// No packet takes longer.
    pub bound: Time,
}

/// Contracts that were decided beforehand. They are never moved, and carriers are not monitored.
pub struct PlannedContracts {
    hosts: Hosts,
    contracts: Vec<ReportedContract>,
}

impl PlannedContracts {
    /// Configures the hosts of a lab that has no controller.
    ///
    /// # Errors
    /// If the lab has a controller, an endpoint does not exist, or the kernel refuses.
    pub fn begin(lab: &Lab, contracts: &[PlannedContract<'_>]) -> Result<Self, LabError> {
        if lab.server().is_some() {
            let why = "in this lab the controller decides: `lab up --no-controller` creates a lab without one";
            return Err(LabError::Controller(why.to_owned()));
        }
        let mut hosts = Hosts::start(lab)?;
        let mut shown = Vec::new();
        for (serial, contract) in (1..).zip(contracts) {
            let PlannedContract { promised, demand, route, bound } = contract;
            let refused = |why: &str| LabError::Controller(format!("contract {} {why}", promised.id));
            let [from, to] = [&promised.from, &promised.to].map(|id| lab.plan().endpoint(id));
            let (Some(from), Some(to)) = (from, to) else {
                return Err(refused("has endpoints that the lab does not have"));
            };
            let path = host_path(lab, &route.hops).ok_or_else(|| refused("has a route that tags cannot encode"))?;
            let selector = PacketSelector {
                destination: Some(Mac::new(to.mac)),
                protocol: Some(UDP),
                destination_port: Some(promised.port),
                source_port: promised.source_port,
                ..PacketSelector::default()
            };
            let senders = vec![Sender { ifindex: from.outside.ifindex, selector }];
            let rule = HostRule { senders, demand: *demand, paths: vec![path], bound: *bound };
            hosts.install(from.host, serial, &rule)?;
            let name = |link| lab.network().link(link).name.clone();
            shown.push(ReportedContract {
                id: promised.id.clone(),
                serial,
                kind: ContractKind::Latency,
                state: "enforced".to_owned(),
                reason: None,
                message: None,
                bound: *bound,
                routes: vec![route.hops.iter().map(|hop| (name(hop.link), hop.queue)).collect()],
            });
        }
        Ok(Self { hosts, contracts: shown })
    }
}

impl Operator for PlannedContracts {
    fn contracts(&mut self) -> Result<Vec<ReportedContract>, String> {
        Ok(self.contracts.clone())
    }

    fn end(&mut self, _: &str) -> Result<(), String> {
        // Every run begins without the contracts of the one before.
        Ok(())
    }

    fn pin(&mut self, _: &str, _: Option<&[(String, u8)]>) -> Result<(), String> {
        Err("without a controller, contracts are not rerouted".to_owned())
    }

    fn is_down(&mut self, _: &str) -> Result<bool, String> {
        Err("without a controller, link failures are not detected".to_owned())
    }

    fn shaped(&mut self) -> Result<BTreeMap<u64, u64>, String> {
        self.hosts.shaped().map_err(|error| error.to_string())
    }
}
