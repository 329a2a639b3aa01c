//! Contracts of every kind.

use wayleave_topology::{Class, Network, NodeId};

use crate::bandwidth::{BandwidthContract, Endpoints};
use crate::objective::{BestEffortContract, ObjectiveContract};
use crate::{ContractError, LatencyContract};

/// Kind of a contract's promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractKind {
    /// A bound of the delay of every packet.
    Latency,
    /// A minimum rate.
    Bandwidth,
    /// A share of every link for flows with one objective.
    Objective,
    /// Nothing.
    BestEffort,
}

impl ContractKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Bandwidth, Self::Objective, Self::BestEffort];

    /// In words: `best effort`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Objective => "objective",
            Self::BestEffort => "best effort",
        }
    }

    /// The class whose queues its packets use.
    pub const fn class(self) -> Class {
        match self {
            Self::Latency => Class::Latency,
            Self::Bandwidth => Class::Guaranteed,
            Self::Objective => Class::Objective,
            Self::BestEffort => Class::BestEffort,
        }
    }
}

/// A contract of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contract {
    /// About delays.
    Latency(LatencyContract),
    /// About a minimum rate.
    Bandwidth(BandwidthContract),
    /// About what flows want.
    Objective(ObjectiveContract),
    /// About nothing: traffic with a name.
    BestEffort(BestEffortContract),
}

impl Contract {
    /// Returns the kind of its promise.
    pub const fn kind(&self) -> ContractKind {
        match self {
            Self::Latency(_) => ContractKind::Latency,
            Self::Bandwidth(_) => ContractKind::Bandwidth,
            Self::Objective(_) => ContractKind::Objective,
            Self::BestEffort(_) => ContractKind::BestEffort,
        }
    }

    /// Unique in its list.
    pub fn name(&self) -> &str {
        match self {
            Self::Latency(contract) => &contract.name,
            Self::Bandwidth(contract) => &contract.name,
            Self::Objective(contract) => &contract.name,
            Self::BestEffort(contract) => &contract.name,
        }
    }

    /// Returns its tenant.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Self::Latency(contract) => contract.tenant.as_deref(),
            Self::Bandwidth(contract) => contract.tenant.as_deref(),
            Self::Objective(contract) => contract.tenant.as_deref(),
            Self::BestEffort(contract) => contract.tenant.as_deref(),
        }
    }

    /// Returns its tenant for changes.
    pub(crate) const fn tenant_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::Latency(contract) => &mut contract.tenant,
            Self::Bandwidth(contract) => &mut contract.tenant,
            Self::Objective(contract) => &mut contract.tenant,
            Self::BestEffort(contract) => &mut contract.tenant,
        }
    }

    /// Its hosts: the sender and the receiver, or the members in their order.
    pub fn hosts(&self) -> Vec<NodeId> {
        match self {
            Self::Latency(contract) => vec![contract.from, contract.to],
            Self::Bandwidth(contract) => contract.between.hosts(),
            Self::Objective(contract) => contract.members.clone(),
            Self::BestEffort(contract) => contract.members.clone(),
        }
    }

    /// Returns the pairs of a sender and a receiver of its packets.
    pub fn directed_pairs(&self) -> Vec<(NodeId, NodeId)> {
        let hosts = self.hosts();
        let is_directed =
            matches!(self, Self::Latency(_) | Self::Bandwidth(BandwidthContract { between: Endpoints::Pair(..), .. }));
        if is_directed {
            return vec![(hosts[0], hosts[1])];
        }
        let others = |from: NodeId| hosts.iter().filter(move |&&to| to != from).map(move |&to| (from, to));
        hosts.iter().flat_map(|&from| others(from)).collect()
    }

    /// The same contract among other hosts, if they are as many as it has.
    #[must_use]
    pub fn among(mut self, hosts: &[NodeId]) -> Self {
        match &mut self {
            Self::Latency(LatencyContract { from, to, .. })
            | Self::Bandwidth(BandwidthContract { between: Endpoints::Pair(from, to), .. }) => {
                if let [first, second] = *hosts {
                    (*from, *to) = (first, second);
                }
            }
            Self::Bandwidth(BandwidthContract { between: Endpoints::Hose(members), .. })
            | Self::Objective(ObjectiveContract { members, .. })
            | Self::BestEffort(BestEffortContract { members, .. }) => {
                if members.len() == hosts.len() {
                    members.copy_from_slice(hosts);
                }
            }
        }
        self
    }

    /// Returns the field of a file for each of its hosts.
    pub(crate) const fn member_fields(&self) -> fn(usize) -> &'static str {
        match self {
            Self::Latency(_) | Self::Bandwidth(BandwidthContract { between: Endpoints::Pair(..), .. }) => {
                |at| if at == 0 { "from" } else { "to" }
            }
            Self::Bandwidth(_) => |_| "hose",
            Self::Objective(_) | Self::BestEffort(_) => |_| "members",
        }
    }

    /// The latency contract, if it is one.
    pub const fn as_latency(&self) -> Option<&LatencyContract> {
        match self {
            Self::Latency(contract) => Some(contract),
            _ => None,
        }
    }

    /// Checks everything that does not depend on other contracts.
    ///
    /// # Errors
    /// The first error; [`ContractError::field`] is its place.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        match self {
            Self::Latency(contract) => contract.validate(network),
            Self::Bandwidth(contract) => contract.validate(network),
            Self::Objective(contract) => contract.validate(network),
            Self::BestEffort(contract) => contract.validate(network),
        }
    }
}

impl From<LatencyContract> for Contract {
    fn from(contract: LatencyContract) -> Self {
        Self::Latency(contract)
    }
}

impl From<BandwidthContract> for Contract {
    fn from(contract: BandwidthContract) -> Self {
        Self::Bandwidth(contract)
    }
}

impl From<ObjectiveContract> for Contract {
    fn from(contract: ObjectiveContract) -> Self {
        Self::Objective(contract)
    }
}

impl From<BestEffortContract> for Contract {
    fn from(contract: BestEffortContract) -> Self {
        Self::BestEffort(contract)
    }
}
