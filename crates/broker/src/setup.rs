//! What all brokers of a network have to agree on.

use std::fmt;

use wayleave_contracts::{ContentionPoint, Policy, PolicyLevel};
use wayleave_schemes::parley::{Params, Pool, PoolError};
use wayleave_schemes::services::{Policies, Services, TooManyServices};
use wayleave_topology::{Network, NodeId};
use wayleave_units::WallTime;

/// A network, its policies, and the intervals of its brokers.
#[derive(Clone, Debug)]
pub struct Setup {
    network: Network,
    machine: Option<Policy>,
    rack: Option<Policy>,
    fabric: Option<Policy>,
    services: Services,
    /// Intervals, time-outs and thresholds.
    pub params: Params,
    /// Which policies these are: brokers of different epochs do not heed one another.
    pub epoch: u32,
}

/// Why there is no such setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// Two policies are for the same level: which one holds?
    TwoOfALevel {
        /// The level.
        level: PolicyLevel,
        /// Their names.
        names: [String; 2],
    },
    /// They name too many services.
    Services(TooManyServices),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoOfALevel { level, names: [one, other] } => {
                let level = level.name();
                write!(f, "\"{one}\" and \"{other}\" are both policies of the level {level}: brokers take one of each")
            }
            Self::Services(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SetupError {}

impl Setup {
    /// Of a network and at most one policy of each level.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(network: Network, policies: Vec<Policy>, params: Params, epoch: u32) -> Result<Self, SetupError> {
        let [mut machine, mut rack, mut fabric] = [const { None::<Policy> }; 3];
        for policy in policies {
            let slot = match policy.level() {
                PolicyLevel::Machine => &mut machine,
                PolicyLevel::Rack => &mut rack,
                PolicyLevel::Fabric => &mut fabric,
            };
            if let Some(other) = slot {
                let names = [other.name().to_owned(), policy.name().to_owned()];
                return Err(SetupError::TwoOfALevel { level: policy.level(), names });
            }
            *slot = Some(policy);
        }
        let policies = Policies { machine: machine.as_ref(), rack: rack.as_ref(), fabric: fabric.as_ref() };
        let services = Services::new(policies).map_err(SetupError::Services)?;
        Ok(Self { network, machine, rack, fabric, services, params, epoch })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The policies.
    pub fn policies(&self) -> Policies<'_> {
        Policies { machine: self.machine.as_ref(), rack: self.rack.as_ref(), fabric: self.fabric.as_ref() }
    }

    /// The numbers of services.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The services that share a rack's uplinks.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn rack_pool(&self, rack: NodeId, now: Option<WallTime>) -> Result<Pool, PoolError> {
        Pool::rack(&self.network, &self.services, self.policies(), rack, now)
    }

    /// The services that share the fabric.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn fabric_pool(&self, now: Option<WallTime>) -> Result<Pool, PoolError> {
        Pool::fabric(&self.network, &self.services, self.policies(), now)
    }

    /// How many of the policies' scheduled changes are past at a time: when it grows, there are other pools.
    pub fn changes(&self, now: WallTime) -> usize {
        let times = self.policies().iter().flat_map(Policy::change_times);
        times.filter(|&at| at <= now).count()
    }

    /// The rack of a host: the first switch that it is attached to.
    pub fn rack_of(&self, host: NodeId) -> Option<NodeId> {
        self.network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(&self.network, host))
    }

    /// The hosts of a rack, in the order of its pool.
    pub fn machines(&self, rack: NodeId) -> Vec<NodeId> {
        self.network.hosts().filter(|&host| ContentionPoint::Rack(rack).holds(&self.network, host)).collect()
    }
}
