//! Remarks about an import.

use std::fmt;

use crate::messages::printable;

/// Treatment of a file beyond reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The file lacks the value, and this one was assumed.
    Assumed(String),
    /// The file contains the value, and it is no part of the network.
    LeftOut(String),
    /// The file has keys that are not used: an error with [`ImportOptions::with_strict`](crate::ImportOptions::with_strict).
    NotUsed(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assumed(text) => write!(f, "note: {}", printable(text)),
            Self::LeftOut(text) | Self::NotUsed(text) => write!(f, "warning: {}", printable(text)),
        }
    }
}
