//! Progress of runs, on the standard error, with an estimate of the remaining time.

use std::time::{Duration, Instant};

use indicatif::HumanDuration;
use wayleave::ProgressStep;

use super::show::{Show, TIMEOUT};

/// Progress display.
pub(crate) struct Progress {
    started: Instant,
    next: Instant,
    show: Show,
}

impl Progress {
    /// Of something that starts now; `is_forced` shows it where no terminal is.
    pub(crate) fn new(is_forced: bool) -> Self {
        let started = Instant::now();
        Self { started, next: started + TIMEOUT, show: Show::choose(is_forced) }
    }

    fn tick(&mut self, (done, all): (u128, u128), runs: (usize, usize)) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let text = describe(now - self.started, (done, all), runs);
        self.next = self.show.draw(done as f64 / all.max(1) as f64, text, now);
    }
}

impl wayleave::Progress for Progress {
    fn step(&mut self, step: ProgressStep<'_>) {
        match step {
            ProgressStep::Runs { simulated_ns, total_ns, finished, runs } => {
                self.tick((simulated_ns, total_ns), (finished, runs));
            }
            ProgressStep::Resumed { there, runs } => {
                crate::output::tell!("{there} of {runs} runs are already complete")
            }
            ProgressStep::Unreadable { file, again } => {
                crate::output::tell!("{}: not a result of a run, so {again} is repeated", file.display());
            }
            ProgressStep::FewerThreads(text) => crate::output::tell!("{text}"),
            _ => {}
        }
    }
}

/// `3 of 40 runs, 21.4 % of the time simulated, about 2 minutes left`.
fn describe(elapsed: Duration, (done, all): (u128, u128), (finished, runs): (usize, usize)) -> String {
    let share = done as f64 / all.max(1) as f64;
    let simulated = format!("{:.1} % of the time simulated", share * 100.0);
    let runs = if runs > 1 { format!("{finished} of {runs} runs, ") } else { String::new() };
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    // A time beyond the range of `Duration` is not estimated.
    match Duration::try_from_secs_f64(left) {
        Ok(left) => format!("{runs}{simulated}, about {} left", HumanDuration(left)),
        Err(_) => format!("{runs}{simulated}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_extrapolates_the_time_so_far() {
        let text = describe(Duration::from_secs(60), (250, 1_000), (3, 40));
        assert_eq!(text, "3 of 40 runs, 25.0 % of the time simulated, about 3 minutes left");
        assert_eq!(describe(Duration::from_secs(2), (0, 1_000), (0, 1)), "0.0 % of the time simulated");
    }
}
