//! Runs on all cores. Each is the work of one thread and shares nothing with the others, so results do not depend on how
//! many threads there are.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use wayleave_sim::{Recording, run};

use super::batch::Batch;
use super::progress::{Clocks, Progress};
use super::result::RunResult;
use super::{convert, interrupt};
use crate::failure::Failure;

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A run that has ended.
pub(crate) struct Ended {
    /// Its index in the batch.
    pub(crate) index: usize,
    /// What it found out.
    pub(crate) result: RunResult,
    /// Its last packet events, if they were recorded.
    pub(crate) recording: Option<Recording>,
}

/// Runs those runs of a batch whose indices are given, and hands each to `ended` as soon as it has ended, in any order.
/// When somebody stops them, runs under way end early, and others do not begin. An error of `ended` stops them too.
pub(crate) fn run_all(
    batch: &Batch,
    indices: &[usize],
    threads: usize,
    mut progress: Progress,
    mut ended: impl FnMut(Ended) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let clocks = Clocks::new(indices.iter().map(|&index| batch.runs[index].scenario.duration.as_nanos()));
    let pool = ThreadPoolBuilder::new().num_threads(threads.min(indices.len()).max(1)).build();
    let pool = pool.map_err(|error| Failure::Internal(format!("threads cannot be started: {error}")))?;
    let (sender, receiver) = mpsc::channel();
    // This thread looks at progress meanwhile.
    pool.in_place_scope_fifo(|scope| {
        for (at, &index) in indices.iter().enumerate() {
            let (sender, clocks) = (sender.clone(), &clocks);
            scope.spawn_fifo(move |_| {
                if !interrupt::is_stopped() {
                    // Nobody listens any more after a panic in the thread that does, which ends all of this.
                    let _ = sender.send(run_one(batch, index, |now_ns| clocks.set(at, now_ns)));
                }
            });
        }
        drop(sender);
        let (mut finished, mut failure) = (0, None);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(result) => {
                    finished += 1;
                    if let Err(error) = result.and_then(&mut ended) {
                        interrupt::stop();
                        failure.get_or_insert(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress.tick(&clocks, finished);
        }
        failure.map_or(Ok(()), Err)
    })
}

fn run_one(batch: &Batch, index: usize, clock: impl Fn(u64)) -> Result<Ended, Failure> {
    let planned = &batch.runs[index];
    let go_on = |now: wayleave_units::Time| {
        clock(now.as_nanos());
        !interrupt::is_stopped()
    };
    let mut outcome = run(&planned.scenario, planned.seed, go_on)
        .map_err(|error| Failure::Internal(format!("{} cannot be run: {error}", batch.file)))?;
    clock(planned.scenario.duration.as_nanos());
    let recording = outcome.recording.take();
    Ok(Ended { index, result: convert::run_result(batch, planned, &outcome), recording })
}
