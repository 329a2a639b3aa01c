//! Contracts about objectives: what all flows among some hosts want, with a share of every link that they meet on.

use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time};

use crate::ContractError;
use crate::error::{check_max, check_members, check_name};
use crate::policy::FlowObjective;

/// An objective for all flows among some hosts (a division of SCC), with a share as a rate.
///
/// ```
/// use wayleave_contracts::{FlowObjective, ObjectiveContract};
/// use wayleave_topology::builders::{Cabling, build};
/// use wayleave_units::{Rate, Time};
/// let network = build::star(2, Cabling::default())?;
/// let contract = ObjectiveContract {
///     name: "search".to_owned(),
///     tenant: None,
///     objective: FlowObjective::Deadline,
///     deadline: Some(Time::from_millis(20)),
///     members: network.hosts().collect(),
///     min: Rate::from_mbit(100),
/// };
/// assert!(contract.validate(&network).is_ok());
/// # Ok::<(), wayleave_topology::NetworkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectiveContract {
    /// Unique in its list.
    pub name: String,
    /// Tenant of the contract.
    pub tenant: Option<String>,
    /// Objective of its flows.
    pub objective: FlowObjective,
    /// Deadline of each flow, if that is the objective.
    pub deadline: Option<Time>,
    /// Its hosts.
    pub members: Vec<NodeId>,
    /// Its weight on every link, as a rate (W_d of SCC, III-B): while all weights fit, its share is at least this.
    pub min: Rate,
}

impl ObjectiveContract {
    /// Checks everything that does not depend on other contracts.
    ///
    /// # Errors
    /// The first error; [`ContractError::field`] is its place.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        check_name(&self.name)?;
        check_members("members", &self.members, network)?;
        if self.min == Rate::ZERO {
            return Err(ContractError::ZeroMin);
        }
        match (self.objective, self.deadline) {
            (FlowObjective::Deadline, None) => Err(ContractError::NoDeadline),
            (FlowObjective::Deadline, Some(Time::ZERO)) => Err(ContractError::ZeroTime("deadline")),
            (FlowObjective::Deadline, Some(time)) if time > crate::MAX_DEADLINE => {
                Err(ContractError::LongTime { field: "deadline", time })
            }
            (FlowObjective::Latency | FlowObjective::Completion, Some(_)) => {
                Err(ContractError::NeedlessDeadline(self.objective))
            }
            _ => Ok(()),
        }
    }
}

/// Hosts whose traffic has a name and no promise: it has unused capacity, and its part of the lowest class, up to
/// a maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestEffortContract {
    /// Unique in its list.
    pub name: String,
    /// Tenant of the contract.
    pub tenant: Option<String>,
    /// Its hosts.
    pub members: Vec<NodeId>,
    /// Maximum rate at which each host sends to all others together, on the wire.
    pub max: Option<Rate>,
}

impl BestEffortContract {
    /// Checks everything that does not depend on other contracts.
    ///
    /// # Errors
    /// The first error; [`ContractError::field`] is its place.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        check_name(&self.name)?;
        check_members("members", &self.members, network)?;
        check_max(self.max)
    }
}
