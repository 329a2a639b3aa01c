//! Check of a machine's support for the data plane: features are tried in a throwaway namespace, instead of reading
//! versions.

mod probes;
mod throwaway;
mod vswitchd;

use std::fmt;

pub use probes::{examine, try_disciplines};
pub use vswitchd::ProcessScheduling;

/// Importance of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Without it there is no data plane.
    Required,
    /// Without it something is less good.
    Useful,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckFinding {
    /// The feature exists, with details.
    Present(String),
    /// The feature is missing, with the output of the machine.
    Missing(String),
    /// It could not be tried, for lack of something else.
    Untried(&'static str),
}

/// Check of one feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Importance of the feature.
    pub need: Need,
    /// Purpose of the feature.
    pub purpose: &'static str,
    /// Remedy if it is missing.
    pub remedy: &'static str,
    /// Result of the check.
    pub finding: CheckFinding,
}

impl Check {
    /// Returns `true` if the feature exists.
    pub const fn is_present(&self) -> bool {
        matches!(self.finding, CheckFinding::Present(_))
    }
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(detail) | Self::Missing(detail) => f.write_str(detail),
            Self::Untried(needs) => write!(f, "not tried: needs {needs}"),
        }
    }
}

/// Returns `true` if the data plane can run: all required features exist.
pub fn can_run(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.need == Need::Useful || check.is_present())
}
