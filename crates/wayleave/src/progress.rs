//! Progress and cancellation of operations, as values: no terminal and no signal is involved.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Progress report of a running operation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ProgressStep<'a> {
    /// Number of contracts, links, attacks or cases that are done, and their total. A different total means that a
    /// new phase has begun.
    Items {
        /// Number of items that are done.
        done: u64,
        /// All of them.
        total: u64,
    },
    /// Progress of the runs of a sweep; reported several times a second, also while no run ends.
    Runs {
        /// Simulated time of all runs together, in ns.
        simulated_ns: u128,
        /// Final value.
        total_ns: u128,
        /// Runs that have ended.
        finished: usize,
        /// All runs that are to be done.
        runs: usize,
    },
    /// Number of runs of a sweep that were already complete in its folder, and are not repeated.
    Resumed {
        /// Number of runs already complete.
        there: usize,
        /// All runs.
        runs: usize,
    },
    /// Progress of the current figure.
    Figure {
        /// Its position among the figures that were asked for, from 0.
        index: usize,
        /// Number of completed jobs among those that run together.
        done: usize,
        /// All of these.
        total: usize,
    },
    /// A figure was left out, with the reason.
    LeftOut {
        /// Its name.
        figure: &'a str,
        /// Resource that this machine lacks.
        why: &'a str,
    },
    /// Results exist from here on, and a cancellation keeps them.
    ResultsBegin,
    /// A candidate of a tuning was tried.
    Candidate {
        /// Its number, from 1.
        number: usize,
        /// Value of the objective, in its unit.
        value: f64,
    },
    /// A method is being judged on seeds that have not fitted it.
    Judging {
        /// Its name.
        method: &'a str,
    },
    /// A file is of no use and is written again.
    Unreadable {
        /// The file.
        file: &'a Path,
        /// Work that is repeated for it.
        again: &'a str,
    },
    /// Fewer runs than processors run concurrently, for lack of memory; the text contains the memory of each run.
    FewerThreads(&'a str),
}

/// A receiver of progress reports. Every function that takes `FnMut(Step)` is one.
pub trait Progress: Send {
    /// Takes a step. It is called by whichever thread has come so far, never by two at once.
    fn step(&mut self, step: ProgressStep<'_>);
}

impl<F: FnMut(ProgressStep<'_>) + Send> Progress for F {
    fn step(&mut self, step: ProgressStep<'_>) {
        self(step);
    }
}

/// Discards all progress reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&mut self, _: ProgressStep<'_>) {}
}

/// Progress and cancellation of an operation: the last parameter of everything that can take long.
///
/// ```
/// use wayleave::{Cancel, ProgressStep, Watch};
/// let mut steps = 0;
/// let mut count = |_: ProgressStep<'_>| steps += 1;
/// let cancel = Cancel::default();
/// let mut watch = Watch::new(&mut count, &cancel);
/// watch.step(ProgressStep::Items { done: 1, total: 2 });
/// assert!(!watch.is_cancelled());
/// assert_eq!(steps, 1);
/// ```
pub struct Watch<'a> {
    progress: &'a mut dyn Progress,
    cancel: Cancel,
}

impl Watch<'static> {
    /// Returns a watch that shows nothing and never cancels.
    pub fn none() -> Self {
        // A box of a type without fields allocates nothing, so nothing leaks.
        Self { progress: Box::leak(Box::new(NoProgress)), cancel: Cancel::default() }
    }
}

impl<'a> Watch<'a> {
    /// Returns a watch that shows progress and ends the operation when `cancel` is set.
    pub fn new(progress: &'a mut dyn Progress, cancel: &Cancel) -> Self {
        Self { progress, cancel: cancel.clone() }
    }

    /// Returns a watch that shows progress and never cancels.
    pub fn progress(progress: &'a mut dyn Progress) -> Self {
        Self { progress, cancel: Cancel::default() }
    }

    /// Shows a step.
    pub fn step(&mut self, step: ProgressStep<'_>) {
        self.progress.step(step);
    }

    pub(crate) fn items(&mut self, done: usize, total: usize) {
        self.step(ProgressStep::Items { done: done as u64, total: total as u64 });
    }

    /// Returns `true` if the operation has to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the cancellation, for other threads.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Returns both parts.
    pub fn parts(&mut self) -> (&mut dyn Progress, &Cancel) {
        (self.progress, &self.cancel)
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

/// Ends operations early. Clones share one state; what was found until then is kept and marked as partial.
///
/// ```
/// let cancel = wayleave::Cancel::default();
/// let elsewhere = cancel.clone();
/// std::thread::spawn(move || elsewhere.cancel()).join().map_err(|_| "the thread")?;
/// assert!(cancel.is_cancelled());
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks operations that have this value to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Requests cancellation; returns `true` if it was requested before.
    pub fn cancel_again(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }

    /// Returns the flag itself, for callers that only accept a flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Returns `true` if cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}
