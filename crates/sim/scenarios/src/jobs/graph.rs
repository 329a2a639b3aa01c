//! Graphs of dependent operations: messages and computations of each rank of a job, and their dependencies.
//!
//! The terms are those of GOAL (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009).

use wayleave_units::{Bytes, Time};

/// The most operations of a graph: about a gigabyte of them.
pub const MAX_OPERATIONS: usize = 1 << 24;

/// The most ranks of a graph.
pub const MAX_RANKS: u32 = 1 << 20;

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOperation {
    /// Its rank, counted from 0.
    pub rank: u32,
    /// The action.
    pub action: OperationAction,
    /// Processor that computes it: one operation at a time. Messages take no time there.
    pub cpu: u8,
    /// Network interface from a trace. It has no effect: hosts have one.
    pub nic: u8,
}

/// Action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationAction {
    /// A message leaves; over when the receiver has acknowledged the whole message.
    Send {
        /// To which rank.
        to: u32,
        /// Payload.
        size: Bytes,
        /// Tag by which receivers distinguish messages.
        tag: u32,
    },
    /// Over when a matching message has arrived: the first one that is not received yet.
    Receive {
        /// From which rank; from any if absent.
        from: Option<u32>,
        /// Payload from a trace; the message has the size that was sent.
        size: Bytes,
        /// Tag to match; any if absent.
        tag: Option<u32>,
    },
    /// The rank is busy for this time.
    Compute(Time),
}

/// An operation waits for another one of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The one that waits: its place in the list of operations.
    pub operation: u32,
    /// The one that it waits for.
    pub on: u32,
    /// Until when.
    pub until: WaitUntil,
}

/// Until when an operation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitUntil {
    /// The other one has begun (`irequires`).
    Begun,
    /// The other one is over (`requires`).
    Over,
}

/// Operations of all ranks with their dependencies. None of them waits for itself, and every message has a receiver.
///
/// ```
/// use wayleave_scenarios::{OperationAction, JobGraph, GraphError, JobOperation};
/// use wayleave_units::Bytes;
/// let send = OperationAction::Send { to: 1, size: Bytes::new(1000), tag: 0 };
/// let operations = vec![JobOperation { rank: 0, action: send, cpu: 0, nic: 0 }];
/// assert_eq!(JobGraph::new(2, operations, &[]), Err(GraphError::NotReceived { operation: 0 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobGraph {
    pub(super) ranks: u32,
    pub(super) operations: Vec<JobOperation>,
    /// Of each operation: where those that wait for it begin in `waiting`; one more for the end.
    pub(super) first: Vec<u32>,
    pub(super) waiting: Vec<(u32, WaitUntil)>,
    /// Number of others that each one waits for.
    pub(super) waits_for: Vec<u32>,
}

/// Reason why operations do not form a graph that ends. Operations are indices into their list.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// Nothing to do.
    #[error("the job is empty: expected at least one operation")]
    Empty,
    /// Too many.
    #[error("{operations} operations: up to {MAX_OPERATIONS} are simulated")]
    TooLarge {
        /// Number of operations.
        operations: usize,
    },
    /// Too many ranks.
    #[error("{ranks} ranks: up to {MAX_RANKS} are simulated")]
    TooManyRanks {
        /// Number of ranks.
        ranks: u32,
    },
    /// A rank that is not there.
    #[error("no rank {rank}: ranks are 0 to {}", ranks - 1)]
    UnknownRank {
        /// Operation that names it.
        operation: u32,
        /// The rank.
        rank: u32,
        /// Number of ranks; at least 1.
        ranks: u32,
    },
    /// An operation waits for one of another rank.
    #[error("operations of two ranks depend on one another: only a message can go from rank {rank} to rank {other}")]
    AcrossRanks {
        /// The one that waits.
        operation: u32,
        /// Its rank.
        rank: u32,
        /// The rank of the one that it waits for.
        other: u32,
    },
    /// A cycle within a rank.
    #[error("this operation waits for itself: its dependencies lead back to it")]
    Cycle {
        /// One of the cycle.
        operation: u32,
    },
    /// It never begins, or is never over.
    #[error("this operation never ends: ranks wait for each other, or it receives a message that no rank sends")]
    Stuck {
        /// The first one.
        operation: u32,
    },
    /// A message without a receiver.
    #[error("this message is never received: its rank has no matching receive for its sender and tag")]
    NotReceived {
        /// The first one that is sent so.
        operation: u32,
    },
}

impl GraphError {
    /// The place of the operation that it is about.
    pub fn operation(self) -> Option<u32> {
        match self {
            Self::Empty | Self::TooLarge { .. } | Self::TooManyRanks { .. } => None,
            Self::UnknownRank { operation, .. }
            | Self::AcrossRanks { operation, .. }
            | Self::Cycle { operation }
            | Self::Stuck { operation }
            | Self::NotReceived { operation } => Some(operation),
        }
    }
}

impl JobGraph {
    /// Returns the number of ranks, at least 1.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// All operations, in the order in which they were given.
    pub fn operations(&self) -> &[JobOperation] {
        &self.operations
    }

    /// Returns the operations that wait for an operation, each with the moment until which it waits.
    pub fn waiting_for(&self, operation: u32) -> &[(u32, WaitUntil)] {
        let [from, to] = [operation, operation + 1].map(|place| self.first[place as usize] as usize);
        &self.waiting[from..to]
    }

    /// Returns the number of operations that each one waits for.
    pub(super) fn waits_for(&self) -> &[u32] {
        &self.waits_for
    }

    /// The payload of all messages.
    pub fn payload(&self) -> u64 {
        let sizes = self.operations.iter().map(|operation| match operation.action {
            OperationAction::Send { size, .. } => size.get(),
            OperationAction::Receive { .. } | OperationAction::Compute(_) => 0,
        });
        sizes.fold(0, u64::saturating_add)
    }
}
