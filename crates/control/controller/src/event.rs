//! Events for watchers.

use wayleave_units::WallTime;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the event; events are published in this order.
    pub number: u64,
    /// Time of the event.
    pub at: WallTime,
    /// Kind of the event.
    pub kind: EventKind,
    /// Object: `tenant:name` of a contract or VM, the name of a tenant, node or link.
    pub object: String,
    /// Tenant that owns the object.
    pub tenant: Option<String>,
    /// The revision of the object.
    pub revision: u64,
    /// Human-readable reason.
    pub detail: String,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A contract was admitted, and waits until its packets may be sent.
    Pending,
    /// A contract was admitted, and its sender is being notified.
    Admitted,
    /// The sender of a contract keeps to it.
    Enforced,
    /// A contract is not kept.
    Degraded,
    /// A packet came too late.
    Violated,
    /// A contract is ended; what it had is held until its last packets have left.
    Released,
    /// The reservation of a contract is free.
    Gone,
    /// A contract was refused.
    Refused,
    /// A contract takes another route.
    Rerouted,
    /// A failure has cut some of the disjoint routes of a protected contract, and not all.
    ProtectionLost,
    /// All disjoint routes of a protected contract are open again.
    ProtectionRestored,
    /// A link or node is down.
    Down,
    /// A link or node is up again.
    Up,
    /// A tenant, VM, token or policy was created or changed.
    Put,
    /// A tenant, VM, token or policy is no more.
    Deleted,
    /// An agent has begun a session, or sends heartbeats again.
    AgentUp,
    /// The heartbeats of an agent have stopped.
    AgentSilent,
    /// An agent has reverted a foreign change of its configuration.
    Repaired,
}

impl EventKind {
    /// As it appears in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Admitted => "admitted",
            Self::Enforced => "enforced",
            Self::Degraded => "degraded",
            Self::Violated => "violated",
            Self::Released => "released",
            Self::Gone => "gone",
            Self::Refused => "refused",
            Self::Rerouted => "rerouted",
            Self::ProtectionLost => "protection-lost",
            Self::ProtectionRestored => "protection-restored",
            Self::Down => "down",
            Self::Up => "up",
            Self::Put => "put",
            Self::Deleted => "deleted",
            Self::AgentUp => "agent-up",
            Self::AgentSilent => "agent-silent",
            Self::Repaired => "repaired",
        }
    }
}
