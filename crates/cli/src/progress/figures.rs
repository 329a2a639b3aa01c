//! Progress of figures, on the standard error, with an estimate of the remaining time.

use std::time::{Duration, Instant};

use indicatif::HumanDuration;
use wayleave::ProgressStep;
use wayleave_experiments::Entry;

use super::show::{Show, TIMEOUT};

/// Progress display.
pub(crate) struct Progress {
    started: Instant,
    next: Instant,
    show: Show,
    /// Figures and their expected durations, in seconds.
    figures: Vec<(&'static str, f64)>,
}

impl Progress {
    /// Returns the progress of these figures, computed sequentially; `is_forced` shows it without a terminal.
    pub(crate) fn new(entries: &[&'static Entry], seconds: fn(&Entry) -> u32, is_forced: bool) -> Self {
        let weight = |(at, entry): (usize, &&'static Entry)| {
            // Figures of the same runs cost nothing once one of them is there.
            let is_shared = entries[..at].iter().any(|other| other.runs == entry.runs);
            (entry.id, if is_shared { 0.1 } else { f64::from(seconds(entry)) })
        };
        let figures = entries.iter().enumerate().map(weight).collect();
        let started = Instant::now();
        Self { started, next: started + TIMEOUT, show: Show::choose(is_forced), figures }
    }

    /// Reports the completed share of the figure with this index.
    fn tick(&mut self, index: usize, share: f64) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let sum = |figures: &[(&str, f64)]| figures.iter().map(|figure| figure.1).sum::<f64>();
        let Some(&(name, weight)) = self.figures.get(index) else { return };
        let done = (sum(&self.figures[..index]) + share * weight) / sum(&self.figures);
        let text = describe(name, (index, self.figures.len()), now - self.started, done);
        self.next = self.show.draw(done, text, now);
    }
}

impl wayleave::Progress for Progress {
    fn step(&mut self, step: ProgressStep<'_>) {
        match step {
            ProgressStep::Figure { index, done, total } => self.tick(index, done as f64 / total.max(1) as f64),
            ProgressStep::LeftOut { figure, why } => crate::output::tell!("{figure} is left out: {why}"),
            _ => {}
        }
    }
}

/// `chameleon-fig8a, 2 of 9 figures, about 2 minutes left`.
fn describe(name: &str, (current, all): (usize, usize), elapsed: Duration, done: f64) -> String {
    let figures = if all > 1 { format!("{name}, {} of {all} figures", current + 1) } else { name.to_owned() };
    // A time beyond the range of `Duration` is not estimated.
    match Duration::try_from_secs_f64(elapsed.as_secs_f64() * (1.0 - done) / done) {
        Ok(left) => format!("{figures}, about {} left", HumanDuration(left)),
        Err(_) => figures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_extrapolates_the_time_so_far() {
        let text = describe("fig8a", (1, 9), Duration::from_secs(60), 0.25);
        assert_eq!(text, "fig8a, 2 of 9 figures, about 3 minutes left");
        assert_eq!(describe("fig8a", (0, 1), Duration::from_secs(60), 0.0), "fig8a");
    }
}
