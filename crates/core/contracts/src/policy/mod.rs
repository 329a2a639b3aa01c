//! Policies: services that share the bandwidth of a contention point, and their terms (Parley, 2014, section 3.1).
//!
//! A [`Policy`] is a tree of services at one sort of contention point: the machines, the racks or the fabric. A
//! service is a bundle of traffic: the packets of a filter, at some hosts or at any, within its parent's. It has a
//! minimum, a maximum and a weight in each direction, which may change at given times.
//!
//! | module | content |
//! |---|---|
//! | `tree` | services of a policy as a tree |
//! | `validate`, `fault` | a list of services becomes a tree, or an error that names the service and the reason |
//! | `membership` | the service of a packet, and the check that it cannot be two |
//! | `minima` | the needs of all policies together on each link |
//! | `point` | one contention point of a network: its capacity, the check of its minima, and its tree of shares |

mod fault;
mod membership;
mod minima;
mod point;
mod tree;
mod validate;

use std::num::NonZeroU32;

use wayleave_topology::NodeId;
use wayleave_units::{Rate, WallTime};

use crate::Match;

pub use fault::{PolicyError, PolicyFault};
pub use membership::PacketFields;
pub use minima::{LinkMinima, LinkNeed, PolicyShort};
pub use point::{ContentionPoint, Overcommitted, PointLeaf, PointTree, PolicyNeed};
pub use tree::Policy;

/// The sort of contention point that a policy is for (Parley, sections 2 and 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyLevel {
    /// A host's own link; its shares are kept by the machine shaper.
    Machine,
    /// The links of a rack's switch to other switches, together; by the rack broker.
    Rack,
    /// The whole network; by the fabric broker.
    Fabric,
}

impl PolicyLevel {
    /// Names in files.
    pub const NAMED: [(&'static str, Self); 3] =
        [("machine", Self::Machine), ("rack", Self::Rack), ("fabric", Self::Fabric)];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}

/// Seen from the machine, the rack or the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Sent traffic.
    Transmit,
    /// Received traffic.
    Receive,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Transmit, Self::Receive];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
        }
    }
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For sent traffic.
    pub transmit: T,
    /// For received traffic.
    pub receive: T,
}

impl<T> PerDirection<T> {
    /// The value of a direction.
    pub fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Transmit => &self.transmit,
            Direction::Receive => &self.receive,
        }
    }
}

/// Terms of a service's bandwidth in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bandwidth {
    /// Guaranteed whenever it is wanted. Of a service without children the default is 0; of others it is the sum of their
    /// children's minima, the least that section 3.1 allows.
    pub min: Option<Rate>,
    /// Never exceeded; the default is no limit.
    pub max: Option<Rate>,
    /// The part of the excess, relative to siblings; the default is 1.
    pub weight: Option<NonZeroU32>,
}

/// Other values from some time on: what is absent stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedTerms {
    /// Time of the change.
    pub at: WallTime,
    /// Terms from that time on.
    pub bandwidth: PerDirection<Bandwidth>,
}

/// A service as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Unique in its policy.
    pub name: String,
    /// The service of which it is a part.
    pub parent: Option<String>,
    /// Tenant whose traffic counts as this service's where brokers divide a rack.
    pub tenant: Option<String>,
    /// Packets of the service; all of its parent's if absent. Sent and received packets are compared unchanged: the
    /// service that receives has the destination.
    pub filter: Option<Match>,
    /// At which hosts; at all of its parent's if empty.
    pub endpoints: Vec<NodeId>,
    /// Its terms until the first change.
    pub bandwidth: PerDirection<Bandwidth>,
    /// Scheduled changes, in order of time.
    pub changes: Vec<TimedTerms>,
    /// Its part of the whole network, for schemes that share among tenants and objectives (SCC, section I).
    pub division: Option<Division>,
}

/// Share of a tenant for one of its objectives: for all its flows with that objective (SCC, section I).
///
/// ```
/// use wayleave_contracts::{Division, FlowObjective};
/// use wayleave_units::Rate;
/// let division = Division { share: Rate::from_mbit(300), objective: Some(FlowObjective::Deadline) };
/// assert_eq!(division.objective.map(FlowObjective::name), Some("deadline"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Its weight beside other divisions, of all its hosts together, as a rate (W_d of SCC, III-B).
    pub share: Rate,
    /// Objective of its flows; `None`: no particular one.
    pub objective: Option<FlowObjective>,
}

/// Common objective of all flows of a division (SCC, section I).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowObjective {
    /// Short queues.
    Latency,
    /// To be complete before their deadlines.
    Deadline,
    /// Short completion times on average.
    Completion,
}

impl FlowObjective {
    /// Names in files.
    pub const NAMED: [(&'static str, Self); 3] =
        [("latency", Self::Latency), ("deadline", Self::Deadline), ("completion", Self::Completion)];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }
}
