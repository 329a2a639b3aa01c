//! Events of contracts over time.

use wayleave_units::Time;

use crate::Contract;

/// Something that happens to a contract at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractEvent {
    /// Time from the start of the replay; events are in order of time.
    pub at: Time,
    /// Action of the event.
    pub action: EventAction,
}

/// Action on contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventAction {
    /// A contract is asked for.
    Add(Box<Contract>),
    /// An admitted contract of the same name gets these terms, or keeps its own if they do not fit.
    Change(Box<Contract>),
    /// A contract ends.
    Release(String),
}
