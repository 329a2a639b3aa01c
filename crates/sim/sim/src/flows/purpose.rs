//! Why flows are there.

use wayleave_scenarios::Endpoint;
use wayleave_topology::NodeId;

use crate::clock::Instant;
use crate::transport::NEVER;

/// Where nobody is meant.
const NOBODY: Endpoint = Endpoint { host: NodeId(0), number: 0 };

/// Why a flow is there, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Index of its traffic.
    pub(crate) traffic: u32,
    pub(crate) step: RpcStep,
    /// When what it belongs to began: itself, or its request.
    pub(crate) began: Instant,
    /// Payload; `u64::MAX` without end.
    pub(crate) bytes: u64,
    /// From then on; [`NEVER`] without one.
    pub(crate) deadline: Instant,
    /// Index of its pair, of its closed loop, of its task, or of its operation.
    pub(crate) pair: u32,
    /// Who answers, if it is part of a closed loop.
    pub(crate) server: Endpoint,
    /// Who sends and receives, if other flows follow it.
    pub(crate) ends: (Endpoint, Endpoint),
    /// What went before it, an answer's request, would have taken this long alone.
    pub(crate) ideal_before: Instant,
}

impl Purpose {
    /// Of a flow that belongs to nothing.
    pub(crate) const NONE: Self = Self {
        traffic: 0,
        step: RpcStep::None,
        began: 0,
        bytes: 0,
        deadline: NEVER,
        pair: 0,
        server: NOBODY,
        ends: (NOBODY, NOBODY),
        ideal_before: 0,
    };

    /// How long what it belongs to has from its beginning, if it has a deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.deadline).filter(|&deadline| deadline != NEVER)
    }
}

/// Its part in a remote procedure call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RpcStep {
    /// None.
    None,
    /// The request.
    Request,
    /// The answer.
    Answer,
    /// None; it is part of a task that follows a flow.
    Task,
    /// None; it is a message of a job.
    Message,
}
