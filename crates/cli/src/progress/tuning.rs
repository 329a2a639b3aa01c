//! Progress of a tuning, with an estimate of the remaining time.

use std::time::Instant;

use wayleave::ProgressStep;

use super::show::{Show, TIMEOUT};

/// Progress on the standard error: one line that is written over, in a terminal only.
pub(crate) struct Progress {
    show: Show,
    started: Instant,
    candidates: u64,
    best: f64,
}

impl Progress {
    /// Returns the progress of a tuning with at most this number of candidates.
    pub(crate) fn new(candidates: u64) -> Self {
        Self { show: Show::choose(false), started: Instant::now(), candidates, best: f64::NEG_INFINITY }
    }

    /// A candidate was tried.
    fn candidate(&mut self, at: usize, value: f64) {
        self.best = self.best.max(value);
        let left = self.started.elapsed().as_secs_f64() / at as f64 * (self.candidates as f64 - at as f64);
        self.print(&format!(
            "candidate {at} of {}, best so far {:.0}, about {left:.0} s left",
            self.candidates, self.best
        ));
    }

    /// A method is being judged.
    fn judging(&mut self, name: &str) {
        self.print(&format!("evaluating: {name}"));
    }

    fn print(&self, text: &str) {
        if matches!(self.show, Show::Bar(_)) && self.started.elapsed() > TIMEOUT {
            eprint!("\r\x1b[K{text}");
        }
    }
}

impl wayleave::Progress for Progress {
    fn step(&mut self, step: ProgressStep<'_>) {
        match step {
            ProgressStep::Candidate { number, value } => self.candidate(number, value),
            ProgressStep::Judging { method } => self.judging(method),
            _ => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if matches!(self.show, Show::Bar(_)) && self.started.elapsed() > TIMEOUT {
            eprint!("\r\x1b[K");
        }
    }
}
