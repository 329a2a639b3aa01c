//! Display of progress: a bar, lines, or nothing.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Delay before progress is shown: shorter operations show nothing.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

/// Form of the display.
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
    /// Shows a share (0 to 1) with a text; returns the time of the next output.
    pub(crate) fn draw(&mut self, share: f64, text: String, now: Instant) -> Instant {
        match self {
            Self::Never => now,
            Self::Bar(bar) => {
                let bar = bar.get_or_insert_with(bar_of_parts);
                bar.set_position((share * PARTS as f64) as u64);
                bar.set_message(text);
                now + TIMEOUT / 10
            }
            Self::Lines => {
                crate::output::tell!("{text}");
                now + TIMEOUT
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
