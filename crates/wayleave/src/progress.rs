//! How far an operation has come, and how to end it early: values, not a terminal and not a signal.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an operation says while it is under way.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// So many contracts, links, attacks or cases of so many are done; with another total, something new has begun.
    Items {
        /// Those that are done.
        done: u64,
        /// All of them.
        total: u64,
    },
    /// How far the runs of a sweep have come; said several times a second, also while no run ends.
    Runs {
        /// Simulated time of all runs together, in ns.
        simulated_ns: u128,
        /// What it will be in the end.
        total_ns: u128,
        /// Runs that have ended.
        finished: usize,
        /// All runs that are to be done.
        runs: usize,
    },
    /// So many runs of a sweep were complete in its folder, and are not done again.
    Resumed {
        /// Those that were there.
        there: usize,
        /// All runs.
        runs: usize,
    },
    /// How far the figure that is under way has come.
    Figure {
        /// Its position among the figures that were asked for, from 0.
        index: usize,
        /// Jobs that are done, of those that are under way together.
        done: usize,
        /// All of these.
        total: usize,
    },
    /// A figure was left out, and why.
    LeftOut {
        /// Its name.
        figure: &'a str,
        /// What this machine lacks.
        why: &'a str,
    },
    /// A candidate of a tuning was tried.
    Candidate {
        /// Its number, from 1.
        number: usize,
        /// What it reached, in the unit of the objective.
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
        /// What is done again for it.
        again: &'a str,
    },
    /// Fewer runs than processors go on at once, for want of memory; the text says how much each takes.
    FewerThreads(&'a str),
}

/// Who is told how far an operation has come. Every function that takes `FnMut(Step)` is one.
pub trait Progress: Send {
    /// Takes a step. It is called by whichever thread has come so far, never by two at once.
    fn step(&mut self, step: Step<'_>);
}

impl<F: FnMut(Step<'_>) + Send> Progress for F {
    fn step(&mut self, step: Step<'_>) {
        self(step);
    }
}

/// Progress that nobody sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn step(&mut self, _: Step<'_>) {}
}

/// Progress and cancellation of an operation: the last parameter of everything that can take long.
///
/// ```
/// use wayleave::{Cancel, Step, Watch};
/// let mut steps = 0;
/// let mut count = |_: Step<'_>| steps += 1;
/// let cancel = Cancel::default();
/// let mut watch = Watch::new(&mut count, &cancel);
/// watch.step(Step::Items { done: 1, total: 2 });
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
    pub fn step(&mut self, step: Step<'_>) {
        self.progress.step(step);
    }

    pub(crate) fn items(&mut self, done: usize, total: usize) {
        self.step(Step::Items { done: done as u64, total: total as u64 });
    }

    /// Returns `true` if the operation has to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
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

    /// The same; whether somebody had asked before.
    pub fn cancel_again(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }

    /// The flag itself, for those who know no more than a flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Whether somebody has asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}
