//! Runs on all cores. Each is the work of one thread and shares nothing with the others, so results do not depend on how
//! many threads there are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

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
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.min(indices.len()) {
            let (sender, next, clocks) = (sender.clone(), &next, &clocks);
            scope.spawn(move || {
                while let Some((at, &index)) = take(next, indices) {
                    let result = run_one(batch, index, |now_ns| clocks.set(at, now_ns));
                    if sender.send(result).is_err() {
                        return;
                    }
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

/// The next run that nobody has begun.
fn take<'a>(next: &AtomicUsize, indices: &'a [usize]) -> Option<(usize, &'a usize)> {
    if interrupt::is_stopped() {
        return None;
    }
    let at = next.fetch_add(1, Ordering::Relaxed);
    indices.get(at).map(|index| (at, index))
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
