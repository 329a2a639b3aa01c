//! Purposes of flows.

use wayleave_scenarios::Endpoint;
use wayleave_topology::NodeId;

use crate::clock::Instant;
use crate::transport::NEVER;

/// Endpoint that denotes none.
const NOBODY: Endpoint = Endpoint { host: NodeId(0), number: 0 };

/// Purpose of a flow, and its followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Index of its traffic.
    pub(crate) traffic: u32,
    pub(crate) step: RpcStep,
    /// Start of the flow, or of the request that it belongs to.
    pub(crate) began: Instant,
    /// Payload; `u64::MAX` without end.
    pub(crate) bytes: u64,
    /// From then on; [`NEVER`] without one.
    pub(crate) deadline: Instant,
    /// Index of its pair, of its closed loop, of its task, or of its operation.
    pub(crate) pair: u32,
    /// Endpoint that answers, if it is part of a closed loop.
    pub(crate) server: Endpoint,
    /// Sender and receiver, if other flows follow it.
    pub(crate) ends: (Endpoint, Endpoint),
    /// Time that its predecessor, an answer's request, would have taken alone.
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

    /// Returns the deadline of the flow or its request, counted from its start, if it has one.
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
