//! Findings about requests, collected while they are decided and printed at the end.

use wayleave_formats::Problem;

use crate::inputs::MAX_FINDINGS;

/// The first findings; the others are counted.
#[derive(Default)]
pub(crate) struct Diagnostics {
    kept: Vec<Problem>,
    more: usize,
}

impl Diagnostics {
    /// Keeps a finding, if there is room; it is composed only then.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// Prints them on the standard error.
    pub(crate) fn print(&self) {
        for (index, problem) in self.kept.iter().enumerate() {
            eprintln!("{}{problem}", if index == 0 { "" } else { "\n" });
        }
        if self.more > 0 {
            eprintln!("\nand {} more requests that can never be met", self.more);
        }
    }
}
