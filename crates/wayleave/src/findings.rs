//! Problems of requests that do not depend on other admitted contracts, at their positions in files.

use wayleave_formats::Problem;

/// As many findings as a person reads.
pub(crate) const MAX_FINDINGS: usize = 20;

/// The first findings; the others are counted.
#[derive(Clone, Debug, Default)]
pub struct FirstFindings {
    kept: Vec<Problem>,
    more: usize,
}

impl FirstFindings {
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

    /// Returns the number of further findings that are not listed.
    pub fn more(&self) -> usize {
        self.more
    }
}
