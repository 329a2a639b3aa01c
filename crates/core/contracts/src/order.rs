//! A contract as a controller receives it: with the written names, its times, and its selection of packets.

use std::fmt;

use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use crate::{
    Contract, ContractKind, LabelError, Labels, LatencyContract, Match, MatchError, NameError, Named, check_labels,
};

/// A contract of any kind with everything that only a controller needs.
///
/// Admission decides about a [`Contract`], which joins hosts. A tenant's request may join VMs, and may give times, a
/// selection of packets, and a priority for failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractRequest {
    /// Contract between the hosts on which its members are now.
    pub contract: Contract,
    /// Its members as they were written, VMs or hosts, in the order of [`Contract::hosts`]: the sender first, then the receiver.
    pub members: Vec<String>,
    /// Priority if not all contracts can be kept.
    pub priority: Priority,
    /// Start time; at once if absent.
    pub starts: Option<WallTime>,
    /// End time; never if absent.
    pub ends: Option<WallTime>,
    /// Words to find it by.
    pub labels: Labels,
    /// Packets of a latency contract; everything between its ends if not given. Contracts of other kinds have none.
    pub matching: Option<Match>,
}

/// Priority of a contract if not all can be kept: contracts of priority 0 are given up first, those of 100 last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The largest: such contracts go last.
    pub const MAX: Self = Self(100);

    /// From 0 to 100; `None` above.
    pub const fn new(priority: u8) -> Option<Self> {
        if priority <= Self::MAX.0 { Some(Self(priority)) } else { None }
    }

    /// From 0 to 100.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(50)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Error of an order beyond those that [`Contract::validate`] finds.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum OrderError {
    /// The name of the contract or of its tenant cannot be used in an address.
    #[error("{0}")]
    Name(NameError),
    /// It ends before it starts.
    #[error("the contract ends at {ends}, and that is not after its start at {starts}")]
    EndsFirst {
        /// The start.
        starts: WallTime,
        /// The end.
        ends: WallTime,
    },
    /// Two VMs, or a VM and its host, on one host.
    #[error("{from} and {to} are on the same host: traffic inside one host needs no contract")]
    SameHost {
        /// The sender as it was written.
        from: String,
        /// The receiver as it was written.
        to: String,
    },
    /// A label is none.
    #[error("{0}")]
    Label(LabelError),
    /// The match is none.
    #[error("{0}")]
    Match(MatchError),
}

impl OrderError {
    /// The field of a contract file that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Name(NameError { of: Named::Tenant, .. }) => "tenant",
            Self::Name(_) => "name",
            Self::EndsFirst { .. } => "ends",
            Self::SameHost { .. } => "to",
            Self::Label(_) => "labels",
            Self::Match(_) => "match",
        }
    }
}

impl ContractRequest {
    /// A contract between hosts, at once and for good, for all packets between its ends.
    pub fn plain(contract: impl Into<Contract>, members: &[&str]) -> Self {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        let (contract, priority) = (contract.into(), Priority::default());
        Self { contract, members, priority, starts: None, ends: None, labels: Labels::new(), matching: None }
    }

    /// Returns `true` if it has a value of this key beyond the usual one; of keys that the contract itself does not have.
    pub fn gives(&self, key: &str) -> bool {
        match key {
            "priority" => self.priority != Priority::default(),
            "starts" => self.starts.is_some(),
            "ends" => self.ends.is_some(),
            "match" => self.matching.is_some(),
            "labels" => !self.labels.is_empty(),
            _ => false,
        }
    }

    /// Name of the contract, unique among the contracts of its tenant.
    pub fn name(&self) -> &str {
        self.contract.name()
    }

    /// Returns its tenant, if it names one.
    pub fn tenant(&self) -> Option<&str> {
        self.contract.tenant()
    }

    /// Assigns it to this tenant, unless it names one.
    pub fn or_tenant(&mut self, tenant: &str) {
        self.contract.tenant_mut().get_or_insert_with(|| tenant.to_owned());
    }

    /// Kind of its promise.
    pub const fn kind(&self) -> ContractKind {
        self.contract.kind()
    }

    /// The latency contract, if it is one.
    pub const fn as_latency(&self) -> Option<&LatencyContract> {
        self.contract.as_latency()
    }

    /// The latency contract, to be changed.
    pub const fn as_latency_mut(&mut self) -> Option<&mut LatencyContract> {
        match &mut self.contract {
            Contract::Latency(contract) => Some(contract),
            _ => None,
        }
    }

    /// Sender of a contract between two ends, as it was written.
    pub fn from(&self) -> &str {
        self.members.first().map_or("", String::as_str)
    }

    /// Receiver of a contract between two ends, as it was written.
    pub fn to(&self) -> &str {
        self.members.get(1).map_or("", String::as_str)
    }

    /// Returns its members with their hosts, each with its field in a file.
    pub fn placed_members(&self) -> Vec<(&'static str, &str, NodeId)> {
        let fields = self.contract.member_fields();
        let members = self.members.iter().zip(self.contract.hosts()).enumerate();
        members.map(|(at, (name, host))| (fields(at), name.as_str(), host)).collect()
    }

    /// The same order with its members on other hosts, as many as it has.
    #[must_use]
    pub fn on(mut self, hosts: &[NodeId]) -> Self {
        self.contract = self.contract.among(hosts);
        self
    }

    /// Checks the parts of an order beyond its contract, which has a `validate` of its own.
    ///
    /// # Errors
    /// The first error; [`OrderError::field`] is its place.
    pub fn validate(&self) -> Result<(), OrderError> {
        check_names(self.contract.name(), self.contract.tenant()).map_err(OrderError::Name)?;
        if let Some((one, other)) = self.on_one_host() {
            return Err(OrderError::SameHost { from: one.to_owned(), to: other.to_owned() });
        }
        check_times(self.starts, self.ends)?;
        check_labels(&self.labels).map_err(OrderError::Label)?;
        self.matching.map_or(Ok(()), |matching| matching.validate().map_err(OrderError::Match))
    }

    /// Two members of different names on one host: what is promised counts hosts. One name twice is [`ContractError`](crate::ContractError).
    fn on_one_host(&self) -> Option<(&str, &str)> {
        let mut members: Vec<(NodeId, usize)> = self.contract.hosts().into_iter().zip(0..).collect();
        members.sort_unstable();
        let name = |at: usize| self.members.get(at).map_or("", String::as_str);
        let twice = members.windows(2).find(|two| two[0].0 == two[1].0 && name(two[0].1) != name(two[1].1))?;
        Some((name(twice[0].1), name(twice[1].1)))
    }
}

/// Checks that the names of a contract and of its tenant can be used in an address.
fn check_names(name: &str, tenant: Option<&str>) -> Result<(), NameError> {
    Named::Contract.check(name)?;
    tenant.map_or(Ok(()), |tenant| Named::Tenant.check(tenant))
}

/// An end is after its start.
///
/// # Errors
/// [`OrderError::EndsFirst`] if it is not.
pub fn check_times(starts: Option<WallTime>, ends: Option<WallTime>) -> Result<(), OrderError> {
    match (starts, ends) {
        (Some(starts), Some(ends)) if ends <= starts => Err(OrderError::EndsFirst { starts, ends }),
        _ => Ok(()),
    }
}
