//! Contracts: what a tenant asks of the network.
//!
//! A [`Contract`] is a token bucket (rate, burst) between two hosts with a deadline that every packet has to meet. It
//! knows nothing of what is admitted already: [`Contract::validate`] refuses only what no network of this shape could
//! mean (a rate of zero, a burst below one frame, a route that does not join its ends).
//!
//! [`AnyContract`] is a contract of any kind: that, a minimum rate ([`BandwidthContract`]), an objective of flows
//! ([`ObjectiveContract`]), or best effort.
//!
//! Rates and bursts count wire bytes, exactly as the shaper charges them, unless the contract says
//! [`Accounting::Frame`]; [`Contract::demand`] turns either into what has to be reserved.
//!
//! A [`Policy`] is a bandwidth contract: a tree of services with minima, maxima and weights at machines, racks or the fabric.
//!
//! An [`Order`] is a latency contract as a controller gets it: with ends that may be VMs, a priority, times and a [`Match`]; a
//! [`SharedOrder`] is one of another kind, and [`AnyOrder`] either.

mod any_order;
mod bandwidth;
mod demand;
mod event;
mod kind;
mod mac;
mod matching;
mod mix;
mod names;
mod objective;
mod order;
mod policy;
mod shared;
mod tenant;

pub use any_order::{AnyOrder, SharedOrder};
pub use bandwidth::{BandwidthContract, Between};
pub use demand::WireOverhead;
pub use event::{Action, Event};
pub use kind::{AnyContract, AnyContractError, ContractKind};
pub use mac::{MacError, vm_mac};
pub use matching::{Match, MatchError, Protocol, UnknownProtocol};
pub use mix::{Category, Mix};
pub use names::{MAX_NAME, MAX_TENANT, NameError, Named};
pub use objective::{BestEffortContract, ObjectiveContract};
pub use order::{Order, OrderError, Priority, check_times};
pub use policy::{
    Bandwidth, Change, ContentionPoint, Direction, Division, LinkMinima, LinkNeed, Objective, Overcommitted, Packet,
    PerDirection, PointLeaf, PointTree, Policy, PolicyError, PolicyFault, PolicyLevel, PolicyNeed, PolicyShort,
    Service, guarantee_between,
};
pub use shared::SharedError;
pub use tenant::{Quota, Tenant, Vm, VmPlacement};
pub use wayleave_wire::{Demand, LONGEST_WAIT, Waiting, wire_bytes};

use std::fmt;

use wayleave_topology::{Network, NodeId, NodeKind, Route, RouteError};
use wayleave_units::{Bytes, Rate, Time};

/// The longest deadline that is accepted.
pub const MAX_DEADLINE: Time = Time::from_millis(100_000);

/// The most disjoint routes that a contract may ask for.
pub const MAX_PROTECTION: u8 = 4;

/// A latency contract between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Unique in its list.
    pub name: String,
    /// Whose it is.
    pub tenant: Option<String>,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Long-term rate of the token bucket.
    pub rate: Rate,
    /// Depth of the token bucket.
    pub burst: Bytes,
    /// No packet takes longer, from the shaper's release to the last bit at the receiver.
    pub deadline: Time,
    /// What rate, burst and frame sizes count.
    pub accounting: Accounting,
    /// The largest frame that the flow sends, counted as its burst is; the link's MTU or the burst where none is given.
    pub max_frame: Option<Bytes>,
    /// The only route that will do, if the tenant has pinned one.
    pub route: Option<Route>,
    /// Over how many physically disjoint routes every packet is sent at once, up to [`MAX_PROTECTION`]; 1 is a single
    /// route. The promise then holds through any `protection - 1` failures of what the routes do not share.
    pub protection: u8,
    /// What becomes of packets beyond the token bucket.
    pub excess: Excess,
}

/// What becomes of packets that a contract's token bucket has no tokens for. None of it is part of the promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excess {
    /// They wait in a bounded queue for tokens; what does not fit there is dropped.
    #[default]
    Wait,
    /// They are dropped.
    Drop,
    /// Their flow goes into the class below (guaranteed, if its tenant has bandwidth there; else best effort), until it has been idle
    /// for as long as packets of that class may be on their way: so no packet passes an earlier one.
    Demote,
}

impl Excess {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wait, Self::Drop, Self::Demote];

    /// As it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Drop => "drop",
            Self::Demote => "demote",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|excess| excess.name() == name)
    }
}

/// What a contract's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Everything on the wire: frame, preamble, gap, FCS and tags, as the shaper charges it.
    Wire,
    /// Frames without FCS, preamble, gap and tags; the smallest frame decides how much those can add.
    Frame {
        /// The smallest frame that the flow sends.
        min_frame: Bytes,
    },
}

/// What is wrong with a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractError {
    /// No name, or one with control characters.
    BadName,
    /// An end of the contract is a switch.
    NotAHost {
        /// `from` or `to`.
        field: &'static str,
        /// The node.
        node: String,
    },
    /// Both ends are one host.
    SameHost(String),
    /// A rate of zero.
    ZeroRate,
    /// A burst of zero.
    ZeroBurst,
    /// A deadline of zero.
    ZeroDeadline,
    /// A deadline beyond [`MAX_DEADLINE`].
    LongDeadline(Time),
    /// A burst that is smaller than a frame of the contract's own.
    BurstBelowFrame {
        /// The burst.
        burst: Bytes,
        /// The frame.
        frame: Bytes,
        /// `maxFrame` or `minFrame`.
        field: &'static str,
    },
    /// The smallest frame is zero or larger than the largest.
    BadMinFrame {
        /// The smallest frame.
        min_frame: Bytes,
        /// The largest, if given.
        max_frame: Option<Bytes>,
    },
    /// The pinned route is none.
    Route(RouteError),
    /// No disjoint routes at all, or more than [`MAX_PROTECTION`].
    Protection(u8),
    /// Several disjoint routes, and one route that is pinned.
    ProtectedRoute,
}

impl ContractError {
    /// The field of a contract file that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::BadName => "name",
            Self::NotAHost { field, .. } => field,
            Self::SameHost(_) => "to",
            Self::ZeroRate => "rate",
            Self::ZeroBurst | Self::BurstBelowFrame { .. } => "burst",
            Self::ZeroDeadline | Self::LongDeadline(_) => "deadline",
            Self::BadMinFrame { .. } => "minFrame",
            Self::Route(_) => "route",
            Self::Protection(_) | Self::ProtectedRoute => "protection",
        }
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName => write!(f, "a contract needs a name without control characters"),
            Self::NotAHost { field, node } => write!(f, "{field} is {node}, a switch: contracts join hosts"),
            Self::SameHost(host) => {
                write!(f, "from and to are both {host}: traffic inside one host needs no contract with the network")
            }
            Self::ZeroRate => write!(f, "the rate is zero: a rate such as 500kbit is expected"),
            Self::ZeroBurst => {
                write!(f, "the burst is zero: no packet could be sent; a size such as 1500B is expected")
            }
            Self::ZeroDeadline => write!(f, "the deadline is zero: a time such as 2ms is expected"),
            Self::LongDeadline(deadline) => {
                write!(f, "the deadline {deadline} is too long: up to {MAX_DEADLINE} is accepted")
            }
            Self::BurstBelowFrame { burst, frame, field } => {
                write!(f, "the burst {burst} is smaller than {field} {frame}: such a frame could never be sent")
            }
            Self::BadMinFrame { min_frame, max_frame: Some(max) } => {
                write!(f, "minFrame {min_frame} is not between 1B and maxFrame {max}")
            }
            Self::BadMinFrame { min_frame, max_frame: None } => write!(f, "minFrame {min_frame} is not above zero"),
            Self::Route(error) => write!(f, "the pinned route is none: {error}"),
            Self::Protection(routes) => {
                write!(f, "protection is {routes}: the number of disjoint routes is from 1 (none) to {MAX_PROTECTION}")
            }
            Self::ProtectedRoute => write!(
                f,
                "a pinned route is one route, and protection asks for several: leave out route, or leave out protection"
            ),
        }
    }
}

impl std::error::Error for ContractError {}

impl Contract {
    /// Checks everything that can be said without knowing what else is admitted.
    ///
    /// # Errors
    /// The first thing that is wrong; [`ContractError::field`] says where.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Err(ContractError::BadName);
        }
        for (field, end) in [("from", self.from), ("to", self.to)] {
            let node = network.node(end);
            if node.kind != NodeKind::Host {
                return Err(ContractError::NotAHost { field, node: node.name.clone() });
            }
        }
        if self.from == self.to {
            return Err(ContractError::SameHost(network.node(self.to).name.clone()));
        }
        self.validate_traffic()?;
        if !(1..=MAX_PROTECTION).contains(&self.protection) {
            return Err(ContractError::Protection(self.protection));
        }
        if self.protection > 1 && self.route.is_some() {
            return Err(ContractError::ProtectedRoute);
        }
        match &self.route {
            Some(route) => route.validate(network, self.from, self.to).map_err(ContractError::Route),
            None => Ok(()),
        }
    }

    fn validate_traffic(&self) -> Result<(), ContractError> {
        if self.rate == Rate::ZERO {
            return Err(ContractError::ZeroRate);
        }
        if self.burst == Bytes::ZERO {
            return Err(ContractError::ZeroBurst);
        }
        if self.deadline == Time::ZERO {
            return Err(ContractError::ZeroDeadline);
        }
        if self.deadline > MAX_DEADLINE {
            return Err(ContractError::LongDeadline(self.deadline));
        }
        let min_frame = match self.accounting {
            Accounting::Frame { min_frame } => Some(min_frame),
            Accounting::Wire => None,
        };
        if let Some(min_frame) =
            min_frame.filter(|&min| min == Bytes::ZERO || self.max_frame.is_some_and(|max| min > max))
        {
            return Err(ContractError::BadMinFrame { min_frame, max_frame: self.max_frame });
        }
        for (field, frame) in [("maxFrame", self.max_frame), ("minFrame", min_frame)] {
            if let Some(frame) = frame.filter(|&frame| self.burst < frame) {
                return Err(ContractError::BurstBelowFrame { burst: self.burst, frame, field });
            }
        }
        Ok(())
    }
}
