//! Stalls: times in which a processor ran no thread that was ready.
//!
//! A virtual machine does not always run: measured here, a processor stalled for more than 300 us two to six times a
//! second, for up to 9.5 ms. All threads that wait for it are then late, and no network can help. So one thread on
//! each processor sleeps for a moment, over and over, with priority over all ordinary threads; where it wakes up
//! late, the processor stalled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::clock::{hurry, stamp};
use crate::error::LabError;

/// Sleep time of a sentinel.
const NAP: Duration = Duration::from_micros(200);
/// Minimum delay that counts as a stall: ordinary interrupts are shorter.
const THRESHOLD: Duration = Duration::from_micros(300);
/// Above senders and receivers.
const PRIORITY: u8 = 50;

/// A time in which a processor stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Number of the processor.
    pub core: usize,
    /// Earliest possible beginning, in nanoseconds of the calendar's clock.
    pub from: u64,
    /// End of the stall.
    pub to: u64,
}

/// Every stall of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// In order of their ends on each processor.
    pub all: Vec<Stall>,
    /// `true` if all sentinels had priority over ordinary threads. Otherwise a busy machine cannot be distinguished
    /// from a stalled one.
    pub is_strict: bool,
}

impl Stalls {
    /// Returns the time for which processors stalled in a span, in nanoseconds; two at once count twice.
    pub fn within(&self, from: u64, to: u64) -> u64 {
        self.all.iter().map(|stall| stall.to.min(to).saturating_sub(stall.from.max(from))).sum()
    }

    /// The longest, in nanoseconds.
    pub fn longest(&self) -> u64 {
        self.all.iter().map(|stall| stall.to - stall.from).max().unwrap_or(0)
    }
}

/// Threads that watch every processor.
#[derive(Debug)]
pub struct Sentinel {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(Vec<Stall>, bool)>>,
}

impl Sentinel {
    /// Begins to watch every processor that this process may use.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn start() -> Result<Self, LabError> {
        Self::start_with(true)
    }

    /// As [`Sentinel::start`], from threads that wait their turn: where these are late, other programs were busy. For tests, to prove that
    /// what came late had to.
    ///
    /// # Errors
    /// As [`Sentinel::start`].
    pub fn start_among_others() -> Result<Self, LabError> {
        Self::start_with(false)
    }

    fn start_with(is_first: bool) -> Result<Self, LabError> {
        let allowed = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| LabError::io("cannot read the CPU affinity of this process", error))?;
        let cores = (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false));
        let end = Arc::new(AtomicBool::new(false));
        let threads = cores
            .map(|core| {
                let end = Arc::clone(&end);
                thread::spawn(move || watch(core, is_first, &end))
            })
            .collect();
        Ok(Self { end, threads })
    }

    /// Ends the sentinels, and returns the stalls.
    pub fn stop(self) -> Stalls {
        self.end.store(true, Relaxed);
        let mut stalls = Stalls { all: Vec::new(), is_strict: true };
        for thread in self.threads {
            let (seen, is_strict) = thread.join().unwrap_or_default();
            stalls.all.extend(seen);
            stalls.is_strict &= is_strict;
        }
        stalls
    }
}

fn watch(core: usize, is_first: bool, end: &AtomicBool) -> (Vec<Stall>, bool) {
    let mut only = CpuSet::new();
    let is_pinned = only.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only)).is_ok();
    let is_strict = is_first && hurry(PRIORITY) && is_pinned;
    let mut stalls = Vec::new();
    let mut before = stamp();
    while !end.load(Relaxed) {
        sleep(NAP);
        let now = stamp();
        let due = before + NAP.as_nanos() as u64;
        if now > due + THRESHOLD.as_nanos() as u64 {
            stalls.push(Stall { core, from: due, to: now });
        }
        before = now;
    }
    (stalls, is_strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_overlap_with_the_interval_counts() {
        let stall = |core, from, to| Stall { core, from, to };
        let stalls = Stalls { all: vec![stall(0, 100, 200), stall(1, 150, 400), stall(0, 900, 950)], is_strict: true };
        assert_eq!(stalls.within(0, 1000), 100 + 250 + 50);
        assert_eq!(stalls.within(180, 300), 20 + 120);
        assert_eq!((stalls.within(400, 900), stalls.within(960, 2000), stalls.longest()), (0, 0, 250));
    }

    #[test]
    fn every_processor_is_watched_until_the_end() {
        let sentinel = Sentinel::start().unwrap();
        let cores = sentinel.threads.len();
        assert_eq!(cores, thread::available_parallelism().unwrap().get());
        let stalls = sentinel.stop();
        assert!(stalls.all.iter().all(|stall| stall.from < stall.to && stall.core < CpuSet::count()));
    }
}
