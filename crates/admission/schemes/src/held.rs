//! Reservations of an admitted flow, and the terms of its bound.

use wayleave_contracts::Demand;
use wayleave_topology::{Hop, LinkId, NodeId, Route};
use wayleave_units::Time;

/// An admitted flow: what it holds, and what it was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmittedFlow<'a> {
    /// Where it goes.
    pub route: &'a Route,
    /// What its shaper lets through.
    pub demand: Demand,
    /// What was asked for.
    pub deadline: Time,
    /// What was promised, from the moment at which a burst is handed to the shaper.
    pub bound: Time,
    /// The part of it from the shaper's release on: the same, unless the shaper itself may keep a burst waiting.
    pub released: Time,
}

/// One part of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The constant part of what a packet waits in a node.
    Processing(NodeId, Time),
    /// The budget of a queue.
    Queue(Hop, Time),
    /// Of a link.
    Propagation(LinkId, Time),
    /// What only this scheme adds up, by its name in reports.
    Own(&'static str, Time),
    /// The same, of a node.
    OwnOfNode(&'static str, NodeId, Time),
    /// The same, of a link.
    OwnOfLink(&'static str, LinkId, Time),
}

impl Term {
    /// How much it adds to the bound.
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
