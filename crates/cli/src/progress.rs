//! Progress on the standard error, from the second second on: position, rate, estimate.
//!
//! [`Progress`] shows lists; [`figures`], [`runs`] and [`tuning`] show what these have in other units, and [`waiting`] what has none.

pub(crate) mod figures;
pub(crate) mod runs;
mod show;
pub(crate) mod tuning;
mod waiting;

use std::fmt;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use wayleave::ProgressStep;

use show::{Show, TIMEOUT};
pub(crate) use waiting::waiting;

/// Progress of a long list.
pub(crate) struct Progress {
    total: u64,
    done: u64,
    started: Instant,
    /// Time of the next output.
    next: Instant,
    show: Show,
}

impl Progress {
    /// Of a list that begins now; `is_forced` shows it where no terminal is.
    pub(crate) fn new(is_forced: bool) -> Self {
        let started = Instant::now();
        Self { total: 0, done: 0, started, next: started + TIMEOUT, show: Show::choose(is_forced) }
    }

    /// Reports that `done` of `total` items are done.
    fn items(&mut self, done: u64, total: u64) {
        if total != self.total || done < self.done {
            self.begin(total);
        }
        self.done = done;
        // Reading the clock once in 16 items is enough.
        if matches!(self.show, Show::Never) || !self.done.is_multiple_of(16) {
            return;
        }
        let now = Instant::now();
        if now >= self.next {
            self.draw(now);
        }
    }

    /// The next list of those that a command goes through.
    fn begin(&mut self, total: u64) {
        self.total = total;
        self.started = Instant::now();
        if let Show::Bar(Some(bar)) = &self.show {
            bar.set_length(total);
            bar.set_position(0);
            bar.reset_eta();
        }
    }

    fn draw(&mut self, now: Instant) {
        match &mut self.show {
            Show::Never => {}
            Show::Bar(bar) => {
                let bar = bar.get_or_insert_with(|| self::bar(self.total, self.started.elapsed()));
                bar.set_position(self.done);
                self.next = now + Duration::from_millis(100);
            }
            Show::Lines => {
                let elapsed = (now - self.started).as_secs_f64();
                let rate = self.done as f64 / elapsed;
                let left = HumanDuration(Duration::from_secs_f64((self.total - self.done) as f64 / rate));
                crate::output::tell!("{} of {}, {rate:.0}/s, about {left} left", self.done, self.total);
                self.next = now + TIMEOUT;
            }
        }
    }
}

impl wayleave::Progress for Progress {
    fn step(&mut self, step: ProgressStep<'_>) {
        match step {
            ProgressStep::Items { done, total } => self.items(done, total),
            ProgressStep::ResultsBegin => crate::interrupt::results_begin(),
            _ => {}
        }
    }
}

fn bar(total: u64, elapsed: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_elapsed(elapsed);
    let template = "{bar:30} {human_pos} of {human_len}, {speed}, about {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        let speed = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // An error of drawing the bar cannot be reported.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        };
        bar.set_style(style.with_key("speed", speed));
    }
    bar
}
