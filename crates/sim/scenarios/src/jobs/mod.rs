//! Jobs: ranks that compute, and messages that depend on one another, again and again.

mod build;
mod collectives;
mod graph;
mod progress;

pub use collectives::{Collective, CollectiveError, CollectiveExchange};
pub use graph::{
    Dependency, GraphError, JobGraph, JobOperation, MAX_OPERATIONS, MAX_RANKS, OperationAction, WaitUntil,
};
pub use progress::{JobProgress, OperationStep};

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Endpoint, TransportConfig};

/// A job, such as the training of a model: iterations of one graph of operations, each after the previous one is
/// over.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_scenarios::{Collective, Endpoint, CollectiveExchange, Job, JobError};
/// use wayleave_topology::NodeId;
/// use wayleave_units::{Bytes, Time};
///
/// let data = Bytes::new(4_000_000);
/// let ring = CollectiveExchange { collective: Collective::RingAllReduce, data, chunks: 1, compute: Time::ZERO };
/// let graph = Arc::new(ring.graph(4)?);
/// let three: Vec<Endpoint> = (0..3).map(|host| NodeId(host).into()).collect();
/// assert_eq!(Job::new(three, graph, 1), Err(JobError::Ranks { endpoints: 3, ranks: 4 }));
/// # Ok::<(), wayleave_scenarios::CollectiveError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    ranks: Vec<Endpoint>,
    graph: Arc<JobGraph>,
    iterations: u32,
    /// Transport of its messages, if not the scenario's. Each message is a flow of its own.
    pub transport: Option<TransportConfig>,
}

/// Error of a job.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobError {
    /// Not one endpoint for each rank.
    #[error("{endpoints} endpoints for {ranks} ranks: expected one for each")]
    Ranks {
        /// Number of endpoints.
        endpoints: usize,
        /// Number of ranks.
        ranks: u32,
    },
    /// It does nothing.
    #[error("0 iterations: expected at least 1")]
    NoIterations,
}

impl Job {
    /// A job of the endpoints of all ranks, in order. Several ranks may be at one host: what they send to one another is there at once.
    ///
    /// # Errors
    /// If there is not one endpoint for each rank, or nothing to do.
    pub fn new(ranks: Vec<Endpoint>, graph: Arc<JobGraph>, iterations: u32) -> Result<Self, JobError> {
        if ranks.len() != graph.ranks() as usize {
            return Err(JobError::Ranks { endpoints: ranks.len(), ranks: graph.ranks() });
        }
        if iterations == 0 {
            return Err(JobError::NoIterations);
        }
        Ok(Self { ranks, graph, iterations, transport: None })
    }

    /// Returns the endpoint of each rank.
    pub fn ranks(&self) -> &[Endpoint] {
        &self.ranks
    }

    /// Returns the graph of operations.
    pub fn graph(&self) -> &Arc<JobGraph> {
        &self.graph
    }

    /// Returns the number of iterations, one after the other; at least 1.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Between whom messages go over the network: every pair once, in the order of their first message.
    pub fn pairs(&self) -> Vec<(Endpoint, Endpoint)> {
        let mut seen = HashSet::new();
        let pairs = self.graph.operations().iter().filter_map(|operation| match operation.action {
            OperationAction::Send { to, .. } => Some((self.ranks[operation.rank as usize], self.ranks[to as usize])),
            OperationAction::Receive { .. } | OperationAction::Compute(_) => None,
        });
        pairs.filter(|pair| pair.0.host != pair.1.host && seen.insert(*pair)).collect()
    }
}
