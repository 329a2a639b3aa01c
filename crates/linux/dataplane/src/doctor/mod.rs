//! What a machine has and lacks for the data plane: found by doing it in a namespace that is thrown away, not by reading versions.

mod probes;
mod throwaway;
mod vswitchd;

use std::fmt;

pub use probes::examine;
pub use vswitchd::Scheduling;

/// How much depends on something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Without it there is no data plane.
    Required,
    /// Without it something is less good.
    Useful,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is there, with what is worth knowing of it.
    Present(String),
    /// It is not, and what the machine said.
    Missing(String),
    /// It could not be tried, for lack of something else.
    Untried(&'static str),
}

/// One thing that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// How much depends on it.
    pub need: Need,
    /// What it is for.
    pub purpose: &'static str,
    /// What to do if it is missing.
    pub remedy: &'static str,
    /// What was found.
    pub finding: Finding,
}

impl Check {
    /// Whether it is there.
    pub const fn is_present(&self) -> bool {
        matches!(self.finding, Finding::Present(_))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(detail) | Self::Missing(detail) => f.write_str(detail),
            Self::Untried(needs) => write!(f, "not tried: needs {needs}"),
        }
    }
}

/// Whether the data plane can run: everything that it cannot do without is there.
pub fn can_run(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.need == Need::Useful || check.is_present())
}
