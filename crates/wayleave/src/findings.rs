//! What can be said against requests whatever else is admitted, at their places in files.

use wayleave_formats::Problem;

/// As many findings as a person reads.
pub(crate) const MAX_FINDINGS: usize = 20;

/// The first findings; the others are counted.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    kept: Vec<Problem>,
    more: usize,
}

impl Findings {
    /// Keeps a finding if there are not enough yet; it is composed only then.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// The first twenty.
    pub fn problems(&self) -> &[Problem] {
        &self.kept
    }

    /// How many there are beyond these.
    pub fn more(&self) -> usize {
        self.more
    }
}
