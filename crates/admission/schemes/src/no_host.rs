//! The error of a scheme that has no machine for a host.

use std::fmt;

/// Error of a scheme that has no machine for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoHost(pub String);

impl NoHost {
    /// Because of this.
    pub fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for NoHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
