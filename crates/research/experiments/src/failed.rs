//! The error of a measurement.

use std::fmt;

/// Reason why a figure could not be measured.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The measurement was stopped.
    #[error("stopped before the end")]
    Stopped,
    /// Something that should work did not.
    #[error("{0}")]
    Broken(String),
    /// This machine lacks what it needs.
    #[error("{0}")]
    LeftOut(String),
}

impl Failed {
    /// Returns any error, as text.
    pub fn broken(error: impl fmt::Display) -> Self {
        Self::Broken(error.to_string())
    }
}
