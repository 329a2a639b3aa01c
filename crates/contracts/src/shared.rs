//! What contracts about shared classes have in common: their errors.

use std::collections::HashSet;
use std::fmt;

use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Rate, Time};

use crate::policy::Objective;

/// What is wrong with a contract about bandwidth, an objective or best effort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedError {
    /// No name, or one with control characters.
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
        /// How many there are.
        members: usize,
    },
    /// A host is a member twice.
    TwiceMember {
        /// `hose` or `members`.
        field: &'static str,
        /// The host.
        host: String,
    },
    /// A minimum of zero.
    ZeroMin,
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
    /// A time beyond [`MAX_DEADLINE`](crate::MAX_DEADLINE).
    LongTime {
        /// `within` or `deadline`.
        field: &'static str,
        /// The time.
        time: Time,
    },
    /// Deadlines are the objective, and none is given.
    NoDeadline,
    /// A deadline where something else is the objective.
    NeedlessDeadline(Objective),
}

impl SharedError {
    /// The field of a contract file that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::BadName => "name",
            Self::NotAHost { field, .. }
            | Self::FewMembers { field, .. }
            | Self::TwiceMember { field, .. }
            | Self::ZeroTime(field)
            | Self::LongTime { field, .. } => field,
            Self::SameHost(_) => "to",
            Self::ZeroMin => "min",
            Self::MaxBelowMin { .. } | Self::MaxNearMin { .. } => "max",
            Self::NoDeadline | Self::NeedlessDeadline(_) => "deadline",
        }
    }
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName => write!(f, "a contract needs a name without control characters"),
            Self::NotAHost { field, node } => write!(f, "{field} has {node}, a switch: contracts join hosts"),
            Self::SameHost(host) => {
                write!(f, "from and to are both {host}: traffic inside one host needs no contract with the network")
            }
            Self::FewMembers { field, members } => {
                write!(
                    f,
                    "{field} has {members} host{}: at least two are expected",
                    if *members == 1 { "" } else { "s" }
                )
            }
            Self::TwiceMember { field, host } => write!(f, "{field} has {host} twice"),
            Self::ZeroMin => write!(f, "the minimum is zero: a rate such as 500Mbit is expected"),
            Self::MaxBelowMin { max, min } => write!(f, "the maximum {max} is below the minimum {min}"),
            Self::MaxNearMin { max, least } => write!(
                f,
                "the maximum {max} is too near the minimum for a time: what is lost while senders change is made up for above the \
                 minimum, so with within a max of at least {least} is expected, or none"
            ),
            Self::ZeroTime(field) => write!(f, "{field} is zero: a time such as 20ms is expected"),
            Self::LongTime { field, time } => {
                write!(f, "{field} is {time}, which is too long: up to {} is accepted", crate::MAX_DEADLINE)
            }
            Self::NoDeadline => {
                write!(f, "the objective is to meet deadlines, and no deadline says how long a flow may take")
            }
            Self::NeedlessDeadline(objective) => {
                write!(f, "a deadline means nothing where the objective is {}", objective.name())
            }
        }
    }
}

impl std::error::Error for SharedError {}

pub(crate) fn check_name(name: &str) -> Result<(), SharedError> {
    if name.is_empty() || name.chars().any(char::is_control) { Err(SharedError::BadName) } else { Ok(()) }
}

/// Different hosts, at least so many.
pub(crate) fn check_members(
    field: &'static str,
    members: &[NodeId],
    least: usize,
    network: &Network,
) -> Result<(), SharedError> {
    let mut seen = HashSet::with_capacity(members.len());
    for &member in members {
        let node = network.node(member);
        if node.kind != NodeKind::Host {
            return Err(SharedError::NotAHost { field, node: node.name.clone() });
        }
        if !seen.insert(member) {
            return Err(SharedError::TwiceMember { field, host: node.name.clone() });
        }
    }
    if members.len() < least {
        return Err(SharedError::FewMembers { field, members: members.len() });
    }
    Ok(())
}
