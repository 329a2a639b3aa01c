//! Contracts about bandwidth: a minimum rate between two hosts, or for every host of a hose.

use std::num::NonZeroU32;

use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time};

use crate::ContractError;
use crate::error::{check_host, check_max, check_members, check_name};

/// A minimum rate for members that have traffic to send.
///
/// ```
/// use wayleave_contracts::{BandwidthContract, Endpoints};
/// use wayleave_topology::builders::{Cabling, build};
/// use wayleave_units::Rate;
/// let network = build::star(3, Cabling::default())?;
/// let hosts: Vec<_> = network.hosts().collect();
/// let hose = BandwidthContract::hose("db", &hosts, Rate::from_mbit(200));
/// assert!(hose.validate(&network).is_ok());
/// let alone = BandwidthContract { between: Endpoints::Hose(hosts[..1].to_vec()), ..hose };
/// assert!(alone.validate(&network).unwrap_err().to_string().contains("at least two"));
/// # Ok::<(), wayleave_topology::NetworkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthContract {
    /// Unique in its list.
    pub name: String,
    /// Tenant of the contract.
    pub tenant: Option<String>,
    /// Between whom.
    pub between: Endpoints,
    /// On the wire: of the pair, or of every member of the hose, to and from all others together.
    pub min: Rate,
    /// Maximum rate, even if capacity is unused: of a pair, or of every member of the hose, to and from all others
    /// together.
    pub max: Option<Rate>,
    /// Weight for the capacity above all minima, relative to others: of a pair, or of every member of a hose. If
    /// absent, as large as the minimum in Mbit/s ([`Self::weight_in_thousandths`]).
    pub weight: Option<NonZeroU32>,
    /// The minimum is there so soon after there is something to send.
    pub within: Option<Time>,
}

/// Between whom bandwidth is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// From one host to another.
    Pair(NodeId, NodeId),
    /// Among these hosts, in any pattern: each of them may send and receive at the minimum.
    Hose(Vec<NodeId>),
}

impl Endpoints {
    /// The hosts: the sender first, or the members in their order.
    pub fn hosts(&self) -> Vec<NodeId> {
        match self {
            Self::Pair(from, to) => vec![*from, *to],
            Self::Hose(members) => members.clone(),
        }
    }
}

impl BandwidthContract {
    /// From one host to another.
    pub fn pair(name: &str, from: NodeId, to: NodeId, min: Rate) -> Self {
        let between = Endpoints::Pair(from, to);
        Self { name: name.to_owned(), tenant: None, between, min, max: None, weight: None, within: None }
    }

    /// Among hosts.
    pub fn hose(name: &str, members: &[NodeId], min: Rate) -> Self {
        let between = Endpoints::Hose(members.to_vec());
        Self { name: name.to_owned(), tenant: None, between, min, max: None, weight: None, within: None }
    }

    /// A thousand times its weight, so that minima that are no whole number of Mbit/s are weights as well.
    ///
    /// ```
    /// use wayleave_contracts::BandwidthContract;
    /// use wayleave_topology::NodeId;
    /// use wayleave_units::Rate;
    /// let pair = BandwidthContract::pair("copy", NodeId(0), NodeId(1), Rate::from_bits_per_second(1_500_000));
    /// assert_eq!(pair.weight_in_thousandths(), 1_500);
    /// let heavy = BandwidthContract { weight: std::num::NonZeroU32::new(3), ..pair };
    /// assert_eq!(heavy.weight_in_thousandths(), 3_000);
    /// ```
    pub fn weight_in_thousandths(&self) -> u64 {
        let of_minimum = || (self.min.bits_per_second() / 1_000).max(1);
        self.weight.map_or_else(of_minimum, |weight| u64::from(weight.get()) * 1_000)
    }

    /// Returns the smallest permitted maximum of a minimum with a time. Rate that is lost while senders come and go
    /// is made up for above the minimum; where there is nothing above the minimum, lags add up
    /// (`minima_hold_within_maxima_while_senders_join_and_leave` in `wayleave-adversary` measures both).
    fn least_max_within(&self) -> Rate {
        Rate::from_bits_per_second(self.min.bits_per_second().saturating_mul(2))
    }

    /// Checks everything that does not depend on other contracts.
    ///
    /// # Errors
    /// The first error; [`ContractError::field`] is its place.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        check_name(&self.name)?;
        match &self.between {
            Endpoints::Pair(from, to) => {
                check_host("from", *from, network)?;
                check_host("to", *to, network)?;
                if from == to {
                    return Err(ContractError::SameHost(network.node(*to).name.clone()));
                }
            }
            Endpoints::Hose(members) => check_members("hose", members, network)?,
        }
        if self.min == Rate::ZERO {
            return Err(ContractError::ZeroMin);
        }
        if let Some(max) = self.max.filter(|&max| max < self.min) {
            return Err(ContractError::MaxBelowMin { max, min: self.min });
        }
        check_max(self.max)?;
        if let Some(max) = self.max.filter(|&max| self.within.is_some() && max < self.least_max_within()) {
            return Err(ContractError::MaxNearMin { max, least: self.least_max_within() });
        }
        match self.within {
            Some(Time::ZERO) => Err(ContractError::ZeroTime("within")),
            Some(within) if within > crate::MAX_DEADLINE => {
                Err(ContractError::LongTime { field: "within", time: within })
            }
            _ => Ok(()),
        }
    }
}
