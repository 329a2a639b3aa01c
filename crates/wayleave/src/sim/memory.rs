//! Checks that the machine has enough memory for the runs.

use std::fs;
use std::num::NonZeroUsize;

use wayleave_explain::human::Human;
use wayleave_units::Bytes;

use super::batch::Batch;
use crate::error::Error;
use crate::progress::{Progress, ProgressStep};

/// Number of concurrent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This number, or an error if the memory does not suffice.
    Given(NonZeroUsize),
    /// At most this number, and fewer if the memory does not suffice.
    AtMost(NonZeroUsize),
}

impl Default for Threads {
    /// As many as there are processors.
    fn default() -> Self {
        Self::AtMost(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}

/// Returns the number of the batch's runs that fit into the memory concurrently; reports to `progress` if they are
/// fewer than wanted.
pub(super) fn threads(batch: &Batch, wanted: Threads, progress: &mut dyn Progress) -> Result<usize, Error> {
    let mut estimates: Vec<u64> = batch.runs.iter().map(|run| run.scenario.memory_estimate()).collect();
    estimates.sort_unstable_by(|one, other| other.cmp(one));
    let (Threads::Given(threads) | Threads::AtMost(threads)) = wanted;
    let threads = threads.get().clamp(1, estimates.len());
    let Some(available) = available() else { return Ok(threads) };
    let fitting = fitting(&estimates[..threads], available);
    if fitting == threads {
        return Ok(threads);
    }
    let has = format!("and {} are available", Bytes::new(available).down());
    let largest = Bytes::new(estimates[0]).up();
    if fitting == 0 {
        return Err(Error::Usage(format!(
            "not enough memory: a run of {} takes about {largest}, {has}\n  hint: {LESS}",
            batch.file
        )));
    }
    match wanted {
        Threads::Given(_) => Err(Error::Usage(format!(
            "not enough memory: a run of {} takes about {largest}, too much for {threads} at once, {has}\n  hint: use \
             --threads {fitting}",
            batch.file
        ))),
        Threads::AtMost(_) => {
            let text = format!("{fitting} instead of {threads} runs at once: each takes about {largest}, {has}");
            progress.step(ProgressStep::FewerThreads(&text));
            Ok(fitting)
        }
    }
}

const LESS: &str = "record fewer events (record.trace), no series (record.series), or simulate fewer hosts, pairs or concurrent requests";

/// Returns the number of runs that fit together, for a prefix of the list.
fn fitting(estimates: &[u64], available: u64) -> usize {
    let mut sum: u64 = 0;
    estimates
        .iter()
        .take_while(|&&estimate| {
            sum = sum.saturating_add(estimate);
            sum <= available
        })
        .count()
}

/// Returns the available memory in bytes, limited by a container if there is one; `None` if it is unknown.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    });
    let number = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let container = number("memory.max").zip(number("memory.current")).map(|(most, now)| most.saturating_sub(now));
    machine.into_iter().chain(container).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_runs_fit_while_their_sum_does() {
        assert_eq!(fitting(&[5, 5, 5], 14), 2);
        assert_eq!(fitting(&[5, 5, 5], 15), 3);
        assert_eq!(fitting(&[u64::MAX, u64::MAX], 4), 0);
    }
}
