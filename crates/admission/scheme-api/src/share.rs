//! The admission role for contracts about bandwidth and objectives: requests and decisions.
//!
//! A latency contract is a [`Request`](crate::Request) and becomes a flow. A promise to the classes below the latency
//! queues is a [`ShareRequest`] and becomes a share.

use alloc::vec::Vec;

use wayleave_topology::{Class, NodeId, Route, ShareId};
use wayleave_units::{Rate, Time};

/// Request to an admission scheme for a contract about bandwidth or an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareRequest {
    /// Between whom.
    pub among: ShareMembers,
    /// On the wire: of a pair, of every member of a hose, or the weight of an objective on every link.
    pub min: Rate,
    /// The minimum is there so soon after there is something to send.
    pub within: Option<Time>,
}

/// Between whom a share is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareMembers {
    /// From one host to another, with a minimum.
    Pair(NodeId, NodeId),
    /// Among hosts, with a minimum for each.
    Hose(Vec<NodeId>),
    /// Among hosts that share an objective.
    Objective(Vec<NodeId>),
}

impl ShareRequest {
    /// The class whose links it shares.
    pub const fn class(&self) -> Class {
        match self.among {
            ShareMembers::Pair(..) | ShareMembers::Hose(_) => Class::Guaranteed,
            ShareMembers::Objective(_) => Class::Objective,
        }
    }
}

/// Degree of certainty about a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The promise fits on every link, by proof.
    Proven,
    /// It fits on every cut; that hosts find paths on which it fits on every link was seen in measurements, and is no guarantee.
    Measured,
}

impl Certainty {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Measured => "measured",
        }
    }

    /// Certainty of the time in which a minimum is available, at any certainty of the minimum itself. It counts on a
    /// bound of the data in flight that is exceeded now and then (docs/theory/admission.md, section 14).
    pub const OF_TIMES: Self = Self::Measured;
}

/// An admitted share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareDecision {
    /// Its reservation.
    pub share: ShareId,
    /// Route of a pair.
    pub route: Option<Route>,
    /// Degree of certainty about the capacity behind it.
    pub certainty: Certainty,
    /// The minimum is there so soon after there is something to send, if that was asked for.
    pub within: Option<Time>,
}
