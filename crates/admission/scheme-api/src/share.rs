//! The admission role for contracts about bandwidth and objectives: requests and decisions.
//!
//! A latency contract is a [`Request`](crate::Request) and becomes a flow. What classes below the latency queues are promised is a
//! [`ShareRequest`] and becomes a share.

use alloc::vec::Vec;

use wayleave_topology::{Class, NodeId, Route, ShareId};
use wayleave_units::{Rate, Time};

/// What is asked of an admission scheme for a contract about bandwidth or an objective.
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

/// How much is known of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// What is promised fits on every link, by proof.
    Proven,
    /// It fits on every cut; that hosts find paths on which it fits on every link was seen in measurements, and is no guarantee.
    Measured,
}

impl Certainty {
    /// As it stands in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Measured => "measured",
        }
    }

    /// Of the time in which a minimum is there, whatever is known of the minimum itself: it counts on a bound of what is in flight that is exceeded now and then
    /// (docs/theory/admission.md, section 14).
    pub const OF_TIMES: Self = Self::Measured;
}

/// An admitted share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareDecision {
    /// Its reservation.
    pub share: ShareId,
    /// Where a pair goes.
    pub route: Option<Route>,
    /// How much is known of the capacity behind it.
    pub certainty: Certainty,
    /// The minimum is there so soon after there is something to send, if that was asked for.
    pub within: Option<Time>,
}
