//! Graphs of dependent operations: what each rank of a job sends, receives and computes, and what waits for what.
//!
//! The words are those of GOAL (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009).

use wayleave_units::{Bytes, Time};

use super::progress::{Progress, Step};

/// The most operations of a graph: about a gigabyte of them.
pub const MAX_OPERATIONS: usize = 1 << 24;

/// The most ranks of a graph.
pub const MAX_RANKS: u32 = 1 << 20;

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whose, counted from 0.
    pub rank: u32,
    /// What it does.
    pub action: Action,
    /// The processor that computes it: one thing at a time. Messages take no time of it.
    pub cpu: u8,
    /// The network interface, as a trace says it. It changes nothing: hosts have one.
    pub nic: u8,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A message leaves; over when the receiver has acknowledged all of it.
    Send {
        /// To which rank.
        to: u32,
        /// Payload.
        size: Bytes,
        /// What receivers tell messages apart by.
        tag: u32,
    },
    /// Over when a message is there that matches: the first that came and that nobody has received.
    Receive {
        /// From which rank; from any if absent.
        from: Option<u32>,
        /// Payload, as a trace says it; the message has the size that was sent.
        size: Bytes,
        /// Which tag; any if absent.
        tag: Option<u32>,
    },
    /// The rank is busy for so long.
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
    pub until: Moment,
}

/// Until when an operation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The other one has begun (`irequires`).
    Begun,
    /// The other one is over (`requires`).
    Over,
}

/// Operations of all ranks with their dependencies. None of them waits for itself, and every message has a receiver.
///
/// ```
/// use wayleave_scenarios::{Action, Graph, GraphError, Operation};
/// use wayleave_units::Bytes;
/// let send = Action::Send { to: 1, size: Bytes::new(1000), tag: 0 };
/// let operations = vec![Operation { rank: 0, action: send, cpu: 0, nic: 0 }];
/// assert_eq!(Graph::new(2, operations, &[]), Err(GraphError::NotReceived { operation: 0 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    ranks: u32,
    operations: Vec<Operation>,
    /// Of each operation: where those that wait for it begin in `waiting`; one more for the end.
    first: Vec<u32>,
    waiting: Vec<(u32, Moment)>,
    /// How many others each one waits for.
    waits_for: Vec<u32>,
}

/// Why operations are no graph that ends. Operations are places in their list.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// Nothing to do.
    #[error("there is nothing to do: at least one operation is expected")]
    Empty,
    /// Too many.
    #[error("{operations} operations: up to {MAX_OPERATIONS} are simulated")]
    TooLarge {
        /// How many.
        operations: usize,
    },
    /// Too many ranks.
    #[error("{ranks} ranks: up to {MAX_RANKS} are simulated")]
    TooManyRanks {
        /// How many.
        ranks: u32,
    },
    /// A rank that is not there.
    #[error("there is no rank {rank}: the ranks are 0 to {}", ranks - 1)]
    UnknownRank {
        /// Which operation names it.
        operation: u32,
        /// The rank.
        rank: u32,
        /// How many there are; at least 1.
        ranks: u32,
    },
    /// Something waits for what another rank does.
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
    #[error("this operation never ends: ranks wait for one another, or nobody sends what it receives")]
    Stuck {
        /// The first one.
        operation: u32,
    },
    /// Nobody receives a message.
    #[error("nobody receives this message: its rank has no receive of its sender and tag left")]
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

impl Graph {
    /// Checks operations and their dependencies by carrying them out once without time.
    ///
    /// # Errors
    /// Ranks that are not there, dependencies across ranks, cycles, and messages or receives that find no other side.
    ///
    /// # Panics
    /// If a dependency names a place that the list of operations does not have.
    pub fn new(ranks: u32, operations: Vec<Operation>, dependencies: &[Dependency]) -> Result<Self, GraphError> {
        if operations.is_empty() {
            return Err(GraphError::Empty);
        }
        if operations.len().max(dependencies.len() / 4) > MAX_OPERATIONS {
            return Err(GraphError::TooLarge { operations: operations.len() });
        }
        if ranks > MAX_RANKS {
            return Err(GraphError::TooManyRanks { ranks });
        }
        check_ranks(ranks, &operations)?;
        for &Dependency { operation, on, .. } in dependencies {
            let [rank, other] = [operation, on].map(|place| operations[place as usize].rank);
            if rank != other {
                return Err(GraphError::AcrossRanks { operation, rank, other });
            }
        }
        let mut first = vec![0; operations.len() + 1];
        let mut waits_for = vec![0; operations.len()];
        for dependency in dependencies {
            first[dependency.on as usize + 1] += 1;
            waits_for[dependency.operation as usize] += 1;
        }
        for place in 1..first.len() {
            first[place] += first[place - 1];
        }
        let mut free = first.clone();
        let mut waiting = vec![(0, Moment::Over); dependencies.len()];
        for dependency in dependencies {
            let place = &mut free[dependency.on as usize];
            waiting[*place as usize] = (dependency.operation, dependency.until);
            *place += 1;
        }
        let graph = Self { ranks, operations, first, waiting, waits_for };
        graph.check_cycles()?;
        graph.check_ends()?;
        Ok(graph)
    }

    /// How many ranks there are, at least 1.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// All operations, in the order in which they were given.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What waits for an operation, and until when.
    pub fn waiting_for(&self, operation: u32) -> &[(u32, Moment)] {
        let [from, to] = [operation, operation + 1].map(|place| self.first[place as usize] as usize);
        &self.waiting[from..to]
    }

    /// How many operations each one waits for.
    pub(super) fn waits_for(&self) -> &[u32] {
        &self.waits_for
    }

    /// The payload of all messages.
    pub fn payload(&self) -> u64 {
        let sizes = self.operations.iter().map(|operation| match operation.action {
            Action::Send { size, .. } => size.get(),
            Action::Receive { .. } | Action::Compute(_) => 0,
        });
        sizes.fold(0, u64::saturating_add)
    }

    /// Kahn's algorithm: what is left when nothing can be removed is on a cycle, or behind one.
    fn check_cycles(&self) -> Result<(), GraphError> {
        let mut missing = self.waits_for.clone();
        let mut ready: Vec<u32> = (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(at, _)| at).collect();
        while let Some(operation) = ready.pop() {
            for &(other, _) in self.waiting_for(operation) {
                missing[other as usize] -= 1;
                if missing[other as usize] == 0 {
                    ready.push(other);
                }
            }
        }
        let Some(mut operation) = (0..).zip(&missing).find(|(_, missing)| **missing > 0).map(|(at, _)| at) else {
            return Ok(());
        };
        // Backwards along what is left for as many steps as there are operations: the end is on a cycle.
        let mut before = vec![u32::MAX; self.operations.len()];
        for on in (0..self.operations.len() as u32).filter(|&on| missing[on as usize] > 0) {
            for &(other, _) in self.waiting_for(on) {
                before[other as usize] = on;
            }
        }
        for _ in 0..self.operations.len() {
            operation = before[operation as usize];
        }
        Err(GraphError::Cycle { operation })
    }

    fn check_ends(&self) -> Result<(), GraphError> {
        let mut progress = Progress::new(self);
        while let Some(step) = progress.next(self) {
            if let Step::Send(operation) = step {
                progress.delivered(self, operation, 0);
            }
            let (Step::Send(operation) | Step::Compute(operation)) = step;
            progress.ended(self, operation, 0);
        }
        if let Some(operation) = progress.first_open() {
            return Err(GraphError::Stuck { operation });
        }
        progress.first_left().map_or(Ok(()), |operation| Err(GraphError::NotReceived { operation }))
    }
}

fn check_ranks(ranks: u32, operations: &[Operation]) -> Result<(), GraphError> {
    for (place, operation) in (0..).zip(operations) {
        let other = match operation.action {
            Action::Send { to, .. } => Some(to),
            Action::Receive { from, .. } => from,
            Action::Compute(_) => None,
        };
        for rank in [Some(operation.rank), other].into_iter().flatten() {
            if rank >= ranks {
                return Err(GraphError::UnknownRank { operation: place, rank, ranks: ranks.max(1) });
            }
        }
    }
    Ok(())
}
