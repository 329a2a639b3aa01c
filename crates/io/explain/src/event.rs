//! Events that ask for contracts.

/// Event that asked for a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEvent {
    /// It was new.
    Add,
    /// It was to get other terms.
    Change,
}

impl RequestEvent {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
        }
    }
}
