//! Output of a controller for its driver.

use std::sync::Arc;

use crate::event::Event;

/// Records and events of the commands since the last output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandOutput {
    /// To be put on disk, all or none, before any answer is given.
    pub changes: Vec<RecordChange>,
    /// Events to publish after the records are on disk.
    pub events: Vec<Event>,
}

/// A record that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordChange {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Key among the records of its kind.
    pub key: String,
    /// JSON; `None` if it is no more.
    pub body: Option<Arc<str>>,
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// The controller: counters that never go back.
    Controller,
    /// A tenant.
    Tenant,
    /// A token.
    Token,
    /// A VM.
    Vm,
    /// A contract, of any kind.
    Contract,
    /// A latency contract, in formats before 5: only read.
    OldLatency,
    /// A contract of another kind, in formats before 5: only read.
    OldShare,
    /// A policy of services.
    Policy,
    /// A pending release: a route that may still carry packets of a contract.
    Release,
    /// A link or node that is down.
    Down,
    /// The session of a node.
    Node,
    /// The answer to a request that may be repeated.
    Answer,
    /// Past events, which the driver keeps; no state depends on them.
    History,
}

impl RecordKind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Controller,
        Self::Tenant,
        Self::Token,
        Self::Vm,
        Self::Contract,
        Self::OldLatency,
        Self::OldShare,
        Self::Policy,
        Self::Release,
        Self::Down,
        Self::Node,
        Self::Answer,
        Self::History,
    ];

    /// As it is written on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Tenant => "tenant",
            Self::Token => "token",
            Self::Vm => "vm",
            Self::Contract => "admitted",
            Self::OldLatency => "contract",
            Self::OldShare => "shared",
            Self::Policy => "policy",
            Self::Release => "leaving",
            Self::Down => "down",
            Self::Node => "node",
            Self::Answer => "answer",
            Self::History => "history",
        }
    }

    /// The kind of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
