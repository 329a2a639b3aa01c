//! Events that ask for contracts.

/// Event that asked for a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was new.
    Add,
    /// It was to get other terms.
    Change,
}

impl EventKind {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
        }
    }
}
