//! Tenants with contracts of every kind on one network, as a scenario: the configuration of ports and hosts that
//! keeps the promises, and tenants that send at their limits.
//!
//! | file | content |
//! |---|---|
//! | this one | admitted contracts, and the residual capacity of each link below latency contracts |
//! | `admission` | admission, if it was not decided before |
//! | `setup` | queues, marks, shapers: latency contracts above, uFAB for minima, SCC for objectives |
//! | `senders` | traffic of all tenants |
//! | `promises` | times by which minima are reached, and maximum amounts in flight |

mod admission;
mod promises;
mod senders;
mod setup;

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_contracts::{Contract, Endpoints, LatencyContract};
use wayleave_topology::{
    Classes, Network, NetworkError, NodeId, NodeKind, PortSpec, Route, SharedLink, StrictResidual,
};
use wayleave_units::{Bytes, Rate, Time};

pub use promises::{Competitor, Guaranteed, LimitedTraffic, Maximum, Minimum, Weight};
pub use senders::{Bursts, OfContract, PairDemand};
pub use wayleave_schemes::admission::fabric::Settings as FabricSettings;

/// A latency contract with its decision.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyTenant {
    /// Its terms.
    pub contract: LatencyContract,
    /// Its only route.
    pub route: Route,
    /// On the wire.
    pub rate: Rate,
    /// On the wire.
    pub burst: Bytes,
}

/// A contract of another kind.
#[derive(Clone, Debug, PartialEq)]
pub struct SharingTenant {
    /// Its terms.
    pub contract: Contract,
    /// Its minimum is there so soon after there is something to send, where that was asked for.
    pub within: Option<Time>,
    /// The only route, of a pair with a minimum.
    pub route: Option<Route>,
}

/// All tenants admitted to a network whose queues are divided among classes.
#[derive(Clone, Debug)]
pub struct Tenants {
    network: Arc<Network>,
    classes: Classes,
    latency: Vec<LatencyTenant>,
    sharing: Vec<SharingTenant>,
    /// Per link.
    links: Vec<(SharedLink, StrictResidual)>,
    /// Longest round trip without queues between two hosts of the network.
    round_trip: Time,
}

/// Reason why tenants cannot be set up.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum TenantsError {
    /// The network has no classes.
    #[error("the topology has no `classes`, which divide the queues among the kinds of contracts")]
    NoClasses,
    /// The scheme cannot allocate budgets to its queues.
    #[error("{0}")]
    Queues(String),
    /// Host ports cannot be given the queues.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The policy for hosts contradicts itself.
    #[error("{0}")]
    Policy(String),
}

impl Tenants {
    /// Creates a set without tenants. Each link has its classes, and the capacity that latency contracts will leave.
    ///
    /// # Errors
    /// If the queues of the network are not divided among classes.
    pub fn new(network: &Network, links: Vec<(SharedLink, StrictResidual)>) -> Result<Self, TenantsError> {
        let classes = *network.classes().ok_or(TenantsError::NoClasses)?;
        // A host queues its classes in memory, below the queues of its port. Queues below those of the classes carry
        // nothing.
        let network = network.with_ports(|kind, _, port: &mut PortSpec| {
            port.queues.truncate(classes.queues());
            if kind == NodeKind::Host
                && let Some(mut last) = port.queues.last().cloned()
            {
                last.buffer = Bytes::MAX;
                port.queues.resize(classes.queues(), last);
            }
        })?;
        let network = Arc::new(network);
        let frames: std::collections::HashMap<&str, Bytes> =
            network.links().zip(&links).map(|((_, link), (shared, _))| (link.name.as_str(), shared.frame)).collect();
        let frame = |link: &wayleave_topology::Link| frames.get(link.name.as_str()).copied().unwrap_or(link.mtu);
        let round_trip = network.longest_round_trip(frame).max(classes.round_trip.unwrap_or_default());
        Ok(Self { network, classes, latency: Vec::new(), sharing: Vec::new(), links, round_trip })
    }

    /// With a latency contract.
    pub fn add_latency(&mut self, tenant: LatencyTenant) {
        self.latency.push(tenant);
    }

    /// With a contract of another kind. One about latency is left out.
    pub fn add(&mut self, tenant: SharingTenant) {
        if tenant.contract.as_latency().is_none() {
            self.sharing.push(tenant);
        }
    }

    /// The network, with queues for all classes at hosts.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Latency contracts, in the order in which they were added.
    pub fn latency(&self) -> &[LatencyTenant] {
        &self.latency
    }

    /// All others.
    pub fn sharing(&self) -> &[SharingTenant] {
        &self.sharing
    }

    /// Longest round trip without queues between two hosts of the network.
    pub fn round_trip(&self) -> Time {
        self.round_trip
    }

    /// The name of the service that all latency contracts are one of: no contract has it.
    pub fn latency_service(&self) -> String {
        let names: BTreeSet<&str> = self.sharing.iter().map(|tenant| tenant.contract.name()).collect();
        let mut name = "latency".to_owned();
        while names.contains(name.as_str()) {
            name.push('-');
        }
        name
    }
}

/// The hosts of a contract that is not about latency: a pair's sender first.
pub(crate) fn members(contract: &Contract) -> Vec<NodeId> {
    match contract {
        Contract::Latency(contract) => vec![contract.from, contract.to],
        Contract::Bandwidth(contract) => contract.between.hosts(),
        Contract::Objective(contract) => contract.members.clone(),
        Contract::BestEffort(contract) => contract.members.clone(),
    }
}

/// Returns `true` if any member may send to any other.
pub(crate) fn is_pair(contract: &Contract) -> bool {
    matches!(contract, Contract::Bandwidth(contract) if matches!(contract.between, Endpoints::Pair(..)))
}
