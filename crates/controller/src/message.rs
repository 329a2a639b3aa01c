//! What nodes are told, and what they say: the southbound side.
//!
//! An operation names a contract by its serial number, which is never used again, and carries a version that only grows. A node
//! keeps the highest version that it has seen of each serial, so that operations may come twice, late, or in another
//! order. It obeys only the session that it has begun itself: after a restart of either side there is a new one, and the
//! node says what is installed.

use wayleave_contracts::{Demand, Match};
use wayleave_topology::Route;
use wayleave_units::Time;

use crate::id::Id;

/// What a node is to do, until it has confirmed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The contract; 0 for the set-up of a switch.
    pub serial: u64,
    /// The highest counts.
    pub version: u64,
    /// What.
    pub work: Work,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A switch: forward by tag and serve its queues by strict priority. Once, at its start.
    SetUp,
    /// A host: tag and shape as this rule says, in place of any rule of the contract, between one packet and the next. The bucket keeps
    /// its level.
    Install(Box<Rule>),
    /// A host: send nothing more of this contract.
    Remove,
}

/// How a host treats the packets of a contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Whose packets.
    pub id: Id,
    /// The end that sends: a VM, or the host for all VMs of the tenant on it.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// Which of the packets between them; all, if none is given.
    pub matching: Option<Match>,
    /// The token bucket in wire bytes.
    pub demand: Demand,
    /// The route of the packets; several, if each is sent over all of them.
    pub routes: Vec<Route>,
    /// No packet takes longer.
    pub bound: Time,
}

/// What arrived of a contract since the last report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The contract.
    pub serial: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that took longer than the bound.
    pub late: u64,
    /// The longest delay.
    pub worst: Time,
}
