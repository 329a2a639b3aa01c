//! Progress on the standard error, from the second second on: position, rate, estimate.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Nothing is shown of what takes no longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How far a long list has come.
pub(crate) struct Progress {
    total: u64,
    done: u64,
    started: Instant,
    /// When to look again.
    next: Instant,
    show: Show,
}

/// How it is shown.
pub(crate) enum Show {
    /// It is not.
    Never,
    /// A bar that is drawn over and over, once there is one.
    Bar(Option<ProgressBar>),
    /// A line a second, for logs.
    Lines,
}

impl Show {
    /// As the standard error takes it; `is_forced` shows it where no terminal is.
    pub(crate) fn choose(is_forced: bool) -> Self {
        match (stderr().is_terminal(), is_forced) {
            (true, _) => Self::Bar(None),
            (false, true) => Self::Lines,
            (false, false) => Self::Never,
        }
    }
}

impl Show {
    /// Shows a share (0 to 1) with what is said about it; when to show the next.
    pub(crate) fn draw(&mut self, share: f64, text: String, now: Instant) -> Instant {
        match self {
            Self::Never => now,
            Self::Bar(bar) => {
                let bar = bar.get_or_insert_with(bar_of_parts);
                bar.set_position((share * PARTS as f64) as u64);
                bar.set_message(text);
                now + PATIENCE / 10
            }
            Self::Lines => {
                eprintln!("{text}");
                now + PATIENCE
            }
        }
    }
}

/// Steps of a bar that shows a share.
const PARTS: u64 = 1_000;

fn bar_of_parts() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}") {
        bar.set_style(style);
    }
    bar
}

impl Drop for Show {
    fn drop(&mut self) {
        if let Self::Bar(Some(bar)) = self {
            bar.finish_and_clear();
        }
    }
}

impl Progress {
    /// Of a list of `total` items; `is_forced` shows it where no terminal is.
    pub(crate) fn new(total: usize, is_forced: bool) -> Self {
        let started = Instant::now();
        Self { total: total as u64, done: 0, started, next: started + PATIENCE, show: Show::choose(is_forced) }
    }

    /// One more is done.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        // A look at the clock for every few items is enough.
        if matches!(self.show, Show::Never) || !self.done.is_multiple_of(16) {
            return;
        }
        let now = Instant::now();
        if now >= self.next {
            self.draw(now);
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
                eprintln!("{} of {}, {rate:.0}/s, about {left} left", self.done, self.total);
                self.next = now + PATIENCE;
            }
        }
    }
}

fn bar(total: u64, elapsed: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_elapsed(elapsed);
    let template = "{bar:30} {human_pos} of {human_len}, {speed}, about {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        let speed = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A bar has nobody to tell that it could not be drawn.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        };
        bar.set_style(style.with_key("speed", speed));
    }
    bar
}
