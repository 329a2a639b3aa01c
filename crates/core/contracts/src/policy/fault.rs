//! Errors of a policy, each with the service that it is about.

use std::fmt;

use wayleave_units::{Rate, WallTime};

use super::{Direction, PolicyLevel};
use crate::NameError;

/// Error of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The service, by its place in the list; without one it is the policy.
    pub service: Option<usize>,
    /// Kind of the error.
    pub fault: PolicyFault,
}

/// Kind of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFault {
    /// A name that cannot be used in a file or on a command line.
    Name(NameError),
    /// Another service has this name.
    SameName,
    /// No service has the parent's name.
    UnknownParent(String),
    /// The services are parents of one another: names, in order.
    Loop(Vec<String>),
    /// The policy's node is of the wrong kind for its level.
    WrongNode {
        /// The node.
        node: String,
        /// Expected level.
        level: PolicyLevel,
    },
    /// An endpoint is a switch.
    NotAHost(String),
    /// An endpoint is none of the parent's.
    OutsideParent {
        /// The endpoint.
        endpoint: String,
        /// The parent.
        parent: String,
    },
    /// The filter has no field, or is contradictory.
    Filter(crate::MatchError),
    /// No packet of an ancestor can pass the filter.
    NoPacket {
        /// The ancestor.
        ancestor: String,
    },
    /// A packet could belong to both siblings.
    DoubleMembership {
        /// The other.
        other: String,
        /// A host at which it could, if the services name hosts.
        at: Option<String>,
    },
    /// The maximum is below the minimum.
    MaxBelowMin {
        /// The direction.
        direction: Direction,
        /// The minimum, as it is given or as the children need it.
        min: Rate,
        /// The maximum.
        max: Rate,
        /// From when on, if not from the beginning.
        at: Option<WallTime>,
    },
    /// The children's minima are together above the parent's.
    Minima {
        /// The direction.
        direction: Direction,
        /// The children's minima together.
        children: Rate,
        /// The parent's.
        min: Rate,
        /// From when on, if not from the beginning.
        at: Option<WallTime>,
    },
    /// Two changes at one time, or one before the one above it.
    ChangeOrder(WallTime),
}

impl PolicyFault {
    /// The field of a service (or of the policy) that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::SameName => "name",
            Self::UnknownParent(_) | Self::Loop(_) => "parent",
            Self::WrongNode { .. } => "nodes",
            Self::NotAHost(_) | Self::OutsideParent { .. } => "endpoints",
            Self::Filter(_) | Self::NoPacket { .. } | Self::DoubleMembership { .. } => "match",
            Self::MaxBelowMin { at: None, .. } => "max",
            Self::Minima { at: None, .. } => "min",
            Self::MaxBelowMin { .. } | Self::Minima { .. } | Self::ChangeOrder(_) => "changes",
        }
    }
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = |at: &Option<WallTime>| at.map_or(String::new(), |at| format!(" from {at} on"));
        match self {
            Self::Name(error) => error.fmt(f),
            Self::SameName => f.write_str("this name is taken: every service of a policy needs a name of its own"),
            Self::UnknownParent(parent) => write!(f, "no service \"{parent}\" in this policy"),
            Self::Loop(names) => {
                write!(f, "services are parts of one another: {}; one of them needs another parent", names.join(" < "))
            }
            Self::WrongNode { node, level: PolicyLevel::Machine } => {
                write!(f, "{node} is a switch: a policy of machines names hosts")
            }
            Self::WrongNode { node, level: PolicyLevel::Rack } => {
                write!(
                    f,
                    "{node} has no hosts below it: a policy of racks names the switches that hosts are attached to"
                )
            }
            Self::WrongNode { node, level: PolicyLevel::Fabric } => {
                write!(f, "{node} is one node: a policy of the fabric is for all of them, leave out nodes")
            }
            Self::NotAHost(node) => write!(f, "{node} is a switch: the endpoints of a service are hosts"),
            Self::OutsideParent { endpoint, parent } => {
                write!(f, "{endpoint} is not an endpoint of \"{parent}\": add it there, or remove it here")
            }
            Self::Filter(error) => error.fmt(f),
            Self::NoPacket { ancestor } => {
                write!(f, "no packet of \"{ancestor}\" can be meant: its match and this one contradict one another")
            }
            Self::DoubleMembership { other, at } => {
                let at = at.as_ref().map_or(String::new(), |host| format!(" at {host}"));
                write!(
                    f,
                    "a packet{at} could belong to \"{other}\" as well: give both a match or endpoints that no packet shares, \
                     or make one the parent of the other"
                )
            }
            Self::MaxBelowMin { direction, min, max, at } => {
                let (direction, from) = (direction.name(), from(at));
                write!(f, "the maximum {max} to {direction} is below the minimum {min}{from}: raise max or lower min")
            }
            Self::Minima { direction, children, min, at } => {
                let (direction, from) = (direction.name(), from(at));
                write!(
                    f,
                    "the services below it are guaranteed {children} to {direction} together{from}, and it is guaranteed {min}: \
                     raise min to {children}, leave it out, or lower theirs"
                )
            }
            Self::ChangeOrder(at) => {
                write!(f, "{at} is not after the change before it: order them by time, one for each time")
            }
        }
    }
}

impl std::error::Error for PolicyFault {}
