//! Counters of a controller that only its alerts read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Commits that take longer are slow (rule `WayleaveCommitsSlow`).
const SLOW_COMMIT: Duration = Duration::from_millis(500);

/// Counter whose increase is a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    /// Packets dropped because the queue of their contract was full.
    QueueFull,
    /// Traced packets of contracts that did not arrive.
    Lost,
    /// Foreign changes that an agent has reverted, by node.
    Repairs,
    /// Packets with a foreign address or tag, by node.
    WrongAddresses,
    Commits,
    /// Commits that took longer than half a second.
    SlowCommits,
}

/// Counters that only alerts read.
#[derive(Debug, Default)]
pub(crate) struct AlertCounters {
    commits: AtomicU64,
    slow_commits: AtomicU64,
    repairs: Mutex<BTreeMap<String, u64>>,
}

impl AlertCounters {
    pub(crate) fn committed(&self, time: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        if time > SLOW_COMMIT {
            self.slow_commits.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn repaired(&self, node: &str, count: u64) {
        let mut repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner);
        *repairs.entry(node.to_owned()).or_default() += count;
    }

    pub(crate) fn values(&self) -> Vec<((Counter, String), u64)> {
        let repairs = self.repairs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let repairs = repairs.into_iter().map(|(node, count)| ((Counter::Repairs, node), count));
        let commits = [(Counter::Commits, &self.commits), (Counter::SlowCommits, &self.slow_commits)];
        let commits = commits.map(|(of, count)| ((of, String::new()), count.load(Ordering::Relaxed)));
        repairs.chain(commits).collect()
    }
}
