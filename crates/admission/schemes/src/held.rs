//! Reservations of an admitted flow, and the terms of its bound.

use wayleave_contracts::BucketDemand;
use wayleave_topology::{Hop, LinkId, NodeId, Route};
use wayleave_units::Time;

/// An admitted flow: its resources and its promised bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmittedFlow<'a> {
    /// Route of the flow.
    pub route: &'a Route,
    /// Traffic that its shaper lets through.
    pub demand: BucketDemand,
    /// Requested deadline.
    pub deadline: Time,
    /// Promised bound, from the moment at which a burst is handed to the shaper.
    pub bound: Time,
    /// Part of the bound from the shaper's release on: equal to `bound`, unless the shaper itself may delay a burst.
    pub released: Time,
}

/// One part of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// Constant part of the delay of a packet in a node.
    Processing(NodeId, Time),
    /// The budget of a queue.
    Queue(Hop, Time),
    /// Of a link.
    Propagation(LinkId, Time),
    /// A term that only this scheme has, by its name in reports.
    Own(&'static str, Time),
    /// A term that only this scheme has, for a node.
    OwnOfNode(&'static str, NodeId, Time),
    /// A term that only this scheme has, for a link.
    OwnOfLink(&'static str, LinkId, Time),
}

impl Term {
    /// Returns the time that the term adds to the bound.
    pub const fn time(&self) -> Time {
        match *self {
            Self::Processing(_, time)
            | Self::Queue(_, time)
            | Self::Propagation(_, time)
            | Self::Own(_, time)
            | Self::OwnOfNode(_, _, time)
            | Self::OwnOfLink(_, _, time) => time,
        }
    }
}
