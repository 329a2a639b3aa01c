//! How far runs have come, on the standard error, with an estimate of the time that is left.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::HumanDuration;

use crate::progress::{PATIENCE, Show};

/// How far each run has come: told by the threads that run them, read by the one that shows it.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// Simulated ns and duration of each run.
    runs: Vec<(AtomicU64, u64)>,
}

impl Clocks {
    /// Of runs with these durations in ns.
    pub(crate) fn new(durations: impl IntoIterator<Item = u64>) -> Self {
        Self { runs: durations.into_iter().map(|duration| (AtomicU64::new(0), duration)).collect() }
    }

    /// A run has come so far.
    pub(crate) fn set(&self, run: usize, simulated_ns: u64) {
        self.runs[run].0.store(simulated_ns, Ordering::Relaxed);
    }

    /// Simulated ns, and how many there will be, of all runs.
    fn sum(&self) -> (u128, u128) {
        self.runs.iter().fold((0, 0), |(done, all), (clock, duration)| {
            (done + u128::from(clock.load(Ordering::Relaxed).min(*duration)), all + u128::from(*duration))
        })
    }
}

/// What is shown.
pub(crate) struct Progress {
    started: Instant,
    next: Instant,
    show: Show,
}

impl Progress {
    /// Of something that starts now; `is_forced` shows it where no terminal is.
    pub(crate) fn new(is_forced: bool) -> Self {
        let started = Instant::now();
        Self { started, next: started + PATIENCE, show: Show::choose(is_forced) }
    }

    /// Shows how far `clocks` have come; `finished` of the runs have ended.
    pub(crate) fn tick(&mut self, clocks: &Clocks, finished: usize) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let (done, all) = clocks.sum();
        let text = describe(now - self.started, (done, all), (finished, clocks.runs.len()));
        self.next = self.show.draw(done as f64 / all.max(1) as f64, text, now);
    }
}

/// `3 of 40 runs, 21.4 % of the time simulated, about 2 minutes left`.
fn describe(elapsed: Duration, (done, all): (u128, u128), (finished, runs): (usize, usize)) -> String {
    let share = done as f64 / all.max(1) as f64;
    let simulated = format!("{:.1} % of the time simulated", share * 100.0);
    let runs = if runs > 1 { format!("{finished} of {runs} runs, ") } else { String::new() };
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    // What would take longer than a Duration can say is not estimated.
    match Duration::try_from_secs_f64(left) {
        Ok(left) => format!("{runs}{simulated}, about {} left", HumanDuration(left)),
        Err(_) => format!("{runs}{simulated}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_goes_on_as_it_went() {
        let text = describe(Duration::from_secs(60), (250, 1_000), (3, 40));
        assert_eq!(text, "3 of 40 runs, 25.0 % of the time simulated, about 3 minutes left");
        assert_eq!(describe(Duration::from_secs(2), (0, 1_000), (0, 1)), "0.0 % of the time simulated");
    }

    #[test]
    fn clocks_never_run_beyond_the_end() {
        let clocks = Clocks::new([100, 300]);
        clocks.set(0, 170);
        clocks.set(1, 60);
        assert_eq!(clocks.sum(), (160, 400));
    }
}
