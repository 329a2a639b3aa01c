//! Display of operations without measurable progress: reading a file, waiting for an answer.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::show::{Show, TIMEOUT};

/// Runs `work`, and displays a message once it lasts longer than a second.
pub(crate) fn waiting<T>(is_forced: bool, what: &str, work: impl FnOnce() -> T) -> T {
    let message = Printed::begin(Show::choose(is_forced), what);
    let done = work();
    drop(message);
    done
}

/// Displays a message until it is dropped.
struct Printed {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Printed {
    fn begin(show: Show, what: &str) -> Self {
        if matches!(show, Show::Never) {
            return Self { end: None, thread: None };
        }
        let ((end, ended), what) = (channel(), what.to_owned());
        let print = move || {
            let (began, mut line) = (Instant::now(), None);
            let mut pause = TIMEOUT;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                let text = words(&what, began.elapsed().as_secs());
                if matches!(show, Show::Lines) {
                    crate::output::tell!("{text}");
                    continue;
                }
                line.get_or_insert_with(spinner).set_message(text);
                pause = TIMEOUT / 10;
            }
            if let Some(line) = line {
                line.finish_and_clear();
            }
        };
        // Without a thread nothing is displayed, and the work is still done.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(print).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The drawn text is removed before anything else is printed.
            let _ = thread.join();
        }
    }
}

fn words(what: &str, seconds: u64) -> String {
    format!("{what}, {seconds} s so far")
}

fn spinner() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        line.set_style(style);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_once_and_its_result_returned_with_or_without_progress() {
        for is_forced in [false, true] {
            let mut done = 0;
            assert_eq!(
                waiting(is_forced, "reading", || {
                    done += 1;
                    "read"
                }),
                "read"
            );
            assert_eq!(done, 1);
        }
    }

    #[test]
    fn long_work_is_named_with_its_duration() {
        assert_eq!(words("reading plan.json", 3), "reading plan.json, 3 s so far");
    }

    #[test]
    fn the_thread_ends_with_the_work_even_if_the_work_fails() {
        let failed = std::panic::catch_unwind(|| waiting(true, "reading", || panic!("no file")));
        assert!(failed.is_err());
    }
}
