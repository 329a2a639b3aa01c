//! A contract as a controller gets it: with the names that were written, and how long and for which packets it is.

use std::fmt;

use wayleave_units::WallTime;

use crate::any_order::check_names;
use crate::{Contract, Match, MatchError, NameError, Named};

/// A contract with everything that only a controller needs.
///
/// [`Contract`] is what admission decides about: it joins hosts. What a tenant writes may join VMs, and may say when it
/// is wanted, for which packets, and how much it matters when something fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What admission decides about, between the hosts on which the ends are now.
    pub contract: Contract,
    /// The sender as it was written: a VM or a host.
    pub from: String,
    /// The receiver as it was written: a VM or a host.
    pub to: String,
    /// How long it is kept when not all can be.
    pub priority: Priority,
    /// When it starts; at once if not given.
    pub starts: Option<WallTime>,
    /// When it ends; never if not given.
    pub ends: Option<WallTime>,
    /// Its packets; everything between its ends if not given.
    pub matching: Option<Match>,
}

/// How long a contract is kept when not all can be: 0 goes first, 100 last.
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

/// What is wrong with an order beyond what [`Contract::validate`] finds.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum OrderError {
    /// The name of the contract or of its tenant cannot stand in an address.
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
            Self::Match(_) => "match",
        }
    }
}

impl Order {
    /// A contract between hosts, at once and for good, for all packets between its ends.
    pub fn plain(contract: Contract, from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        Self { contract, from, to, priority: Priority::default(), starts: None, ends: None, matching: None }
    }

    /// Checks what an order has beyond its contract, which has a `validate` of its own.
    ///
    /// # Errors
    /// The first thing that is wrong; [`OrderError::field`] says where.
    pub fn validate(&self) -> Result<(), OrderError> {
        check_names(&self.contract.name, self.contract.tenant.as_deref()).map_err(OrderError::Name)?;
        // One and the same name on both sides is `ContractError::SameHost`.
        if self.contract.from == self.contract.to && self.from != self.to {
            return Err(OrderError::SameHost { from: self.from.clone(), to: self.to.clone() });
        }
        check_times(self.starts, self.ends)?;
        self.matching.map_or(Ok(()), |matching| matching.validate().map_err(OrderError::Match))
    }
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
