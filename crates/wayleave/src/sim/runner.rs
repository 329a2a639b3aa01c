//! Runs on all cores. Each run uses one thread, or several if requested, and shares nothing with the others. Results
//! do not depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use wayleave_scenarios::Scenario;
use wayleave_sim::{Recording, run_on};
use wayleave_units::Time;

use super::batch::{Batch, PlannedRun};
use super::convert;
use crate::error::Error;
use crate::progress::{Cancel, Progress, ProgressStep, Watch};
use wayleave_report::sim::result::RunResult;

/// Interval between two polls of the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Simulated time of each run: written by the threads that run them, read by the thread that shows it.
#[derive(Debug)]
struct Clocks {
    /// Simulated ns and duration of each run.
    runs: Vec<(AtomicU64, u64)>,
}

impl Clocks {
    /// Of runs with these durations in ns.
    fn new(durations: impl IntoIterator<Item = u64>) -> Self {
        Self { runs: durations.into_iter().map(|duration| (AtomicU64::new(0), duration)).collect() }
    }

    /// A run has come so far.
    fn set(&self, run: usize, simulated_ns: u64) {
        self.runs[run].0.store(simulated_ns, Ordering::Relaxed);
    }

    /// Returns the simulated ns of all runs, and their final total.
    fn sum(&self) -> (u128, u128) {
        self.runs.iter().fold((0, 0), |(done, all), (clock, duration)| {
            (done + u128::from(clock.load(Ordering::Relaxed).min(*duration)), all + u128::from(*duration))
        })
    }
}

/// A run that has ended.
pub(crate) struct EndedRun {
    /// Its index in the batch.
    pub(crate) index: usize,
    /// Result of the run.
    pub(crate) result: RunResult,
    /// Its last packet events, if they were recorded.
    pub(crate) recording: Option<Recording>,
}

/// Runs the runs with the given indices, and passes each result, or the reason why it could not be simulated, to
/// `ended` immediately, in any order. After a cancellation, current runs end early, and others do not begin. An error
/// of `ended` stops them too.
pub(super) fn run_all(
    batch: &Batch,
    indices: &[usize],
    (threads, per_run): (usize, NonZeroUsize),
    progress: &mut dyn Progress,
    cancel: &Cancel,
    mut ended: impl FnMut(Result<EndedRun, (usize, Error)>) -> Result<(), Error>,
) -> Result<(), Error> {
    let clocks = Clocks::new(indices.iter().map(|&index| batch.runs[index].scenario.duration.as_nanos()));
    let has_failed = AtomicBool::new(false);
    // An error ends these runs, and nothing else that the caller may cancel.
    let is_stopped = || cancel.is_cancelled() || has_failed.load(Ordering::Relaxed);
    let pool = ThreadPoolBuilder::new().num_threads(threads.min(indices.len()).max(1)).build();
    let pool = pool.map_err(|error| Error::Internal(format!("threads cannot be started: {error}")))?;
    let (sender, receiver) = mpsc::channel();
    // This thread polls the progress during the runs.
    pool.in_place_scope_fifo(|scope| {
        for (at, &index) in indices.iter().enumerate() {
            let (sender, clocks, is_stopped) = (sender.clone(), &clocks, &is_stopped);
            scope.spawn_fifo(move |_| {
                if !is_stopped() {
                    // Sending fails only after a panic in the receiving thread, which ends the whole operation.
                    let run = run_one(batch, index, per_run, |now| {
                        clocks.set(at, now.as_nanos());
                        !is_stopped()
                    });
                    if run.is_ok() {
                        clocks.set(at, batch.runs[index].scenario.duration.as_nanos());
                    }
                    let _ = sender.send(run.map_err(|error| (index, error)));
                }
            });
        }
        drop(sender);
        let (mut finished, mut failure) = (0, None);
        loop {
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(result) => {
                    finished += 1;
                    if let Err(error) = ended(result) {
                        has_failed.store(true, Ordering::Relaxed);
                        failure.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let (simulated_ns, total_ns) = clocks.sum();
            progress.step(ProgressStep::Runs { simulated_ns, total_ns, finished, runs: indices.len() });
        }
        failure.map_or(Ok(()), Err)
    })
}

impl Batch {
    /// Returns the reason why a run of the batch would use only one thread, for the first such run, as long as no
    /// trace is written.
    pub fn obstacle(&self) -> Option<String> {
        let of = |planned: &PlannedRun| {
            let mut scenario = Scenario::clone(&planned.scenario);
            scenario.record.trace = None;
            wayleave_sim::obstacle(&scenario)
        };
        self.runs.iter().find_map(of).map(|why| why.to_string())
    }

    /// Simulates one run on this thread. The results of all runs make a [`Sweep`](super::Sweep), on whichever machine each was simulated.
    ///
    /// # Errors
    /// If there is no run of that index, or it cannot be simulated.
    pub fn run(&self, index: usize, watch: &mut Watch<'_>) -> Result<RunResult, Error> {
        let runs = self.runs.len();
        let none = || Error::Usage(format!("no run {index}: there are {runs}, counted from 0"));
        let total_ns = u128::from(self.runs.get(index).ok_or_else(none)?.scenario.duration.as_nanos());
        let ended = run_one(self, index, NonZeroUsize::MIN, |now| {
            let simulated_ns = u128::from(now.as_nanos()).min(total_ns);
            watch.step(ProgressStep::Runs { simulated_ns, total_ns, finished: 0, runs: 1 });
            !watch.is_cancelled()
        })?;
        Ok(ended.result)
    }
}

/// Simulates one run on this number of threads, until its end or until `go_on`, which gets the simulated time, returns `false`.
fn run_one(
    batch: &Batch,
    index: usize,
    threads: NonZeroUsize,
    go_on: impl FnMut(Time) -> bool,
) -> Result<EndedRun, Error> {
    let planned = &batch.runs[index];
    let mut outcome = run_on(threads, &planned.scenario, planned.seed, go_on)
        .map_err(|error| Error::Internal(format!("{} cannot be run: {error}", batch.file)))?;
    let recording = outcome.recording.take();
    Ok(EndedRun { index, result: convert::run_result(batch, planned, &outcome), recording })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_never_run_beyond_the_end() {
        let clocks = Clocks::new([100, 300]);
        clocks.set(0, 170);
        clocks.set(1, 60);
        assert_eq!(clocks.sum(), (160, 400));
    }
}
