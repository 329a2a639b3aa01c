//! Long work without the interpreter's lock: a thread does it, while the caller's thread handles signals and
//! progress.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use wayleave::{Cancel, Error, Progress, ProgressStep};

use crate::error::{Failure, internal};

/// Poll interval for signals: Ctrl-C takes effect at once, and the cost is negligible.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time in which cancelled work may return, so that Ctrl-C takes effect within a second. After that the work ends by
/// itself, and its result is dropped.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Number of Python values that are made before the interpreter's lock is released for other threads, and signals are
/// polled: less than a millisecond of work.
const VALUES: u32 = 4_096;

/// Time for which the lock is then free.
const GIVEN: Duration = Duration::from_micros(50);

/// Progress: the amount done of a total, in a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Come {
    done: f64,
    total: f64,
    what: &'static str,
}

/// Keeps the last step for the thread that shows it.
#[derive(Clone, Default)]
pub(crate) struct Last(Arc<Mutex<Option<Come>>>);

impl Progress for Last {
    fn step(&mut self, step: ProgressStep<'_>) {
        let come = match step {
            ProgressStep::Items { done, total } => Come { done: done as f64, total: total as f64, what: "items" },
            ProgressStep::Runs { simulated_ns, total_ns, .. } => {
                Come { done: simulated_ns as f64 / 1e9, total: total_ns as f64 / 1e9, what: "simulated seconds" }
            }
            ProgressStep::Figure { done, total, .. } => Come { done: done as f64, total: total as f64, what: "runs" },
            _ => return,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(come);
    }
}

/// Runs work that reports no progress and takes time in proportion to its input.
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    run(py, None, move |_, _| work())
}

/// Makes many values of Python without keeping other threads and signals waiting.
#[derive(Debug, Default)]
pub(crate) struct Pulse(u32);

impl Pulse {
    /// Counts a value.
    ///
    /// # Errors
    /// What a signal raises.
    pub(crate) fn beat(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0 += 1;
        if self.0 < VALUES {
            return Ok(());
        }
        self.0 = 0;
        give_way(py)
    }
}

/// Releases the interpreter's lock for a waiting thread, and polls signals.
///
/// # Errors
/// The exception that a signal raises.
pub(crate) fn give_way(py: Python<'_>) -> PyResult<()> {
    // Without the pause, this thread would take the lock again before the waiting thread wakes up.
    py.detach(|| std::thread::sleep(GIVEN));
    py.check_signals()
}

/// Runs work on another thread. `progress`, a callable, gets `(done, total, unit)` on the caller's thread. A signal
/// (Ctrl-C) or an exception of `progress` stops the work and is raised.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut Last, &Cancel) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (cancel, last) = (Cancel::default(), Last::default());
    let (sender, receiver) = mpsc::channel();
    let (stop, mut tell) = (cancel.clone(), last.clone());
    let thread = std::thread::Builder::new().name("wayleave".to_owned());
    let spawned = thread.spawn(move || {
        // There is no receiver any more if the caller has given up waiting.
        let _ = sender.send(work(&mut tell, &stop));
    });
    spawned.map_err(|error| internal(format!("a thread cannot be started: {error}")))?;
    // A receiver is for one thread at a time, and the lock is given back on this one.
    let receiver = Mutex::new(receiver);
    let wait =
        |py: Python<'_>, time| py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time));
    let mut told = None;
    loop {
        match wait(py, POLL_INTERVAL) {
            Ok(result) => {
                py.check_signals()?;
                return result.map_err(|error| Failure::from(error).into());
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(internal("a calculation ended in a panic: please report it, with what stands above"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let come = *last.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = match (progress, come) {
            (Some(progress), Some(Come { done, total, what })) if come != told => {
                progress.call1((done, total, what)).map(drop)
            }
            _ => Ok(()),
        };
        told = come;
        if let Err(raised) = py.check_signals().and(shown) {
            cancel.cancel();
            let _ = wait(py, TIMEOUT);
            return Err(raised);
        }
    }
}
