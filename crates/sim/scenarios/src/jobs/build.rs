//! Construction of a graph of operations, with its checks.

use super::graph::{
    Dependency, GraphError, JobGraph, JobOperation, MAX_OPERATIONS, MAX_RANKS, OperationAction, WaitUntil,
};
use super::progress::{JobProgress, OperationStep};

impl JobGraph {
    /// Checks operations and their dependencies by carrying them out once without time.
    ///
    /// # Errors
    /// Ranks that are not there, dependencies across ranks, cycles, and messages or receives that find no other side.
    ///
    /// # Panics
    /// If a dependency names a place that the list of operations does not have.
    pub fn new(ranks: u32, operations: Vec<JobOperation>, dependencies: &[Dependency]) -> Result<Self, GraphError> {
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
        let mut waiting = vec![(0, WaitUntil::Over); dependencies.len()];
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

    /// Kahn's algorithm: the operations that remain when none can be removed are on a cycle, or behind one.
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
        // Backwards along the remaining ones, one step for each operation: the end is on a cycle.
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
        let mut progress = JobProgress::new(self);
        while let Some(step) = progress.next(self) {
            if let OperationStep::Send(operation) = step {
                progress.delivered(self, operation, 0);
            }
            let (OperationStep::Send(operation) | OperationStep::Compute(operation)) = step;
            progress.ended(self, operation, 0);
        }
        if let Some(operation) = progress.first_open() {
            return Err(GraphError::Stuck { operation });
        }
        progress.first_left().map_or(Ok(()), |operation| Err(GraphError::NotReceived { operation }))
    }
}

fn check_ranks(ranks: u32, operations: &[JobOperation]) -> Result<(), GraphError> {
    for (place, operation) in (0..).zip(operations) {
        let other = match operation.action {
            OperationAction::Send { to, .. } => Some(to),
            OperationAction::Receive { from, .. } => from,
            OperationAction::Compute(_) => None,
        };
        for rank in [Some(operation.rank), other].into_iter().flatten() {
            if rank >= ranks {
                return Err(GraphError::UnknownRank { operation: place, rank, ranks: ranks.max(1) });
            }
        }
    }
    Ok(())
}
