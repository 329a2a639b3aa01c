//! Errors of a contract of any kind.

use std::collections::HashSet;
use std::fmt;

use wayleave_topology::{Network, NodeId, NodeKind, RouteError};
use wayleave_units::{Bytes, Rate, Time, count, is_plain};

use crate::policy::FlowObjective;
use crate::{MAX_DEADLINE, MAX_PROTECTION, MIN_FRAME, MIN_MAXIMUM};

/// Error of a contract of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractError {
    /// No name, or one with control, bidirectional or invisible characters.
    BadName,
    /// An end or a member is a switch.
    NotAHost {
        /// `from`, `to`, `hose` or `members`.
        field: &'static str,
        /// The node.
        node: String,
    },
    /// Both ends are one host.
    SameHost(String),
    /// Too few members.
    FewMembers {
        /// `hose` or `members`.
        field: &'static str,
        /// Number of members.
        members: usize,
    },
    /// A host is a member twice.
    TwiceMember {
        /// `hose` or `members`.
        field: &'static str,
        /// The host.
        host: String,
    },
    /// A rate of zero.
    ZeroRate,
    /// A burst of zero.
    ZeroBurst,
    /// A minimum of zero.
    ZeroMin,
    /// A maximum of zero.
    ZeroMax,
    /// A maximum below [`MIN_MAXIMUM`].
    SmallMax(Rate),
    /// A maximum below the minimum.
    MaxBelowMin {
        /// The maximum.
        max: Rate,
        /// The minimum.
        min: Rate,
    },
    /// A maximum that leaves too little above a minimum with a time.
    MaxNearMin {
        /// The maximum.
        max: Rate,
        /// The least that there may be.
        least: Rate,
    },
    /// A time of zero.
    ZeroTime(&'static str),
    /// A time beyond [`MAX_DEADLINE`].
    LongTime {
        /// `within` or `deadline`.
        field: &'static str,
        /// The time.
        time: Time,
    },
    /// Deadlines are the objective, and none is given.
    NoDeadline,
    /// A deadline where something else is the objective.
    NeedlessDeadline(FlowObjective),
    /// A burst that is smaller than a frame of the contract's own.
    BurstBelowFrame {
        /// The burst.
        burst: Bytes,
        /// The frame.
        frame: Bytes,
        /// `maxFrame` or `minFrame`.
        field: &'static str,
    },
    /// A burst or a frame that is smaller than any Ethernet frame.
    SmallSize {
        /// `burst`, `maxFrame` or `minFrame`.
        field: &'static str,
        /// The size.
        size: Bytes,
        /// The least size that is accepted.
        least: Bytes,
    },
    /// The smallest frame is larger than the largest.
    BadMinFrame {
        /// The smallest frame.
        min_frame: Bytes,
        /// The largest.
        max_frame: Bytes,
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
            Self::NotAHost { field, .. }
            | Self::FewMembers { field, .. }
            | Self::TwiceMember { field, .. }
            | Self::ZeroTime(field)
            | Self::LongTime { field, .. }
            | Self::SmallSize { field, .. } => field,
            Self::SameHost(_) => "to",
            Self::ZeroRate => "rate",
            Self::ZeroBurst | Self::BurstBelowFrame { .. } => "burst",
            Self::ZeroMin => "min",
            Self::ZeroMax | Self::SmallMax(_) | Self::MaxBelowMin { .. } | Self::MaxNearMin { .. } => "max",
            Self::NoDeadline | Self::NeedlessDeadline(_) => "deadline",
            Self::BadMinFrame { .. } => "minFrame",
            Self::Route(_) => "route",
            Self::Protection(_) | Self::ProtectedRoute => "protection",
        }
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName => {
                write!(f, "a contract needs a name without control, bidirectional or invisible characters")
            }
            Self::NotAHost { field, node } => {
                let is_or_has = if matches!(*field, "from" | "to") { "is" } else { "has" };
                write!(f, "{field} {is_or_has} {node}, a switch: contracts join hosts")
            }
            Self::SameHost(host) => {
                write!(f, "from and to are both {host}: traffic inside one host needs no contract with the network")
            }
            Self::FewMembers { field, members } => {
                write!(f, "{field} has {}: expected at least two", count(*members, "host"))
            }
            Self::TwiceMember { field, host } => write!(f, "{field} has {host} twice"),
            Self::ZeroRate => write!(f, "the rate is zero: expected a rate such as 500kbit"),
            Self::ZeroBurst => {
                write!(f, "the burst is zero, so no packet could be sent: expected a size such as 1500B")
            }
            Self::ZeroMin => write!(f, "the minimum is zero: expected a rate such as 500Mbit"),
            Self::ZeroMax => write!(f, "the maximum is zero: expected a rate such as 10Mbit"),
            Self::SmallMax(max) => write!(
                f,
                "the maximum {max} is smaller than any rate that hosts enforce: expected at least {MIN_MAXIMUM}"
            ),
            Self::MaxBelowMin { max, min } => write!(f, "the maximum {max} is below the minimum {min}"),
            Self::MaxNearMin { max, least } => write!(
                f,
                "the maximum {max} is too close to the minimum: with within, losses while senders change are made up for above the \
                 minimum, so expected a max of at least {least}, or none"
            ),
            Self::ZeroTime(field) => write!(f, "{field} is zero: expected a time such as 20ms"),
            Self::LongTime { field, time } => {
                write!(f, "{field} is {time}, which is too long: expected at most {MAX_DEADLINE}")
            }
            Self::NoDeadline => {
                write!(f, "an objective with deadlines needs the time limit of a flow (`deadline`)")
            }
            Self::NeedlessDeadline(objective) => {
                write!(f, "a deadline means nothing where the objective is {}", objective.name())
            }
            Self::BurstBelowFrame { burst, frame, field } => {
                write!(f, "the burst {burst} is smaller than {field} {frame}: such a frame could never be sent")
            }
            Self::SmallSize { field, size, least } => {
                let counted = if *least == MIN_FRAME { "without FCS and padding" } else { "on the wire" };
                write!(
                    f,
                    "{field} is {size}, smaller than any Ethernet frame {counted}: expected at least {least}, such as 1500B"
                )
            }
            Self::BadMinFrame { min_frame, max_frame } => {
                write!(f, "minFrame {min_frame} is larger than maxFrame {max_frame}: expected at most {max_frame}")
            }
            Self::Route(error) => write!(f, "the pinned route is invalid: {error}"),
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

/// Checks a maximum rate.
pub(crate) fn check_max(max: Option<Rate>) -> Result<(), ContractError> {
    match max {
        Some(Rate::ZERO) => Err(ContractError::ZeroMax),
        Some(max) if max < MIN_MAXIMUM => Err(ContractError::SmallMax(max)),
        _ => Ok(()),
    }
}

/// Checks a name.
pub(crate) fn check_name(name: &str) -> Result<(), ContractError> {
    if name.is_empty() || !is_plain(name) { Err(ContractError::BadName) } else { Ok(()) }
}

/// Checks that an end is a host.
pub(crate) fn check_host(field: &'static str, end: NodeId, network: &Network) -> Result<(), ContractError> {
    let node = network.node(end);
    if node.kind == NodeKind::Host { Ok(()) } else { Err(ContractError::NotAHost { field, node: node.name.clone() }) }
}

/// Checks that members are different hosts, and at least two.
pub(crate) fn check_members(field: &'static str, members: &[NodeId], network: &Network) -> Result<(), ContractError> {
    let mut seen = HashSet::with_capacity(members.len());
    for &member in members {
        let node = network.node(member);
        if node.kind != NodeKind::Host {
            return Err(ContractError::NotAHost { field, node: node.name.clone() });
        }
        if !seen.insert(member) {
            return Err(ContractError::TwiceMember { field, host: node.name.clone() });
        }
    }
    if members.len() < 2 {
        return Err(ContractError::FewMembers { field, members: members.len() });
    }
    Ok(())
}
