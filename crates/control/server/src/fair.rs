//! Lines of work, one for each account: an account that asks for much waits for its own requests.
//!
//! The account that has used the least time, by its weight, is served next (start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996, with
//! measured times in place of lengths). An account that was idle begins where the others are: it saves nothing up. The structure has no clock
//! and no threads: `queue` puts changes and questions for the engine into it, `reads` what is read without the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::account::Account;

/// Maximum number of jobs of one account that wait, by its weight.
pub(crate) const OF_ACCOUNT: usize = 1024;
/// Maximum number of jobs of all accounts that wait.
const OF_ALL: usize = 4096;
/// Minimum charge of a job: also a job that takes no time occupies a place in a batch.
const MIN: Duration = Duration::from_micros(10);

/// Reason for which a job cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRefusal {
    /// As many of its account wait as may.
    Account,
    /// As many of all accounts wait as may.
    All,
    /// Nothing is served any more.
    Ended,
}

/// Jobs of all accounts that wait.
pub(crate) struct Lines<J> {
    lines: BTreeMap<Account, Line<J>>,
    /// Accounts with jobs that wait, by the time that they have used.
    order: BTreeSet<(u64, Account)>,
    /// The time that the account which was served last had used, in ns by its weight.
    clock: u64,
    count: usize,
}

struct Line<J> {
    used: u64,
    jobs: VecDeque<J>,
}

impl<J> Default for Line<J> {
    fn default() -> Self {
        Self { used: 0, jobs: VecDeque::new() }
    }
}

impl<J> Default for Lines<J> {
    fn default() -> Self {
        Self { lines: BTreeMap::new(), order: BTreeSet::new(), clock: 0, count: 0 }
    }
}

impl<J> Lines<J> {
    /// Number of jobs that wait.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds a job behind those of its account.
    pub(crate) fn push(&mut self, account: &Account, job: J) -> Result<(), QueueRefusal> {
        if self.count >= OF_ALL {
            return Err(QueueRefusal::All);
        }
        let clock = self.clock;
        let line = self.lines.entry(account.clone()).or_default();
        if line.jobs.len() >= OF_ACCOUNT * usize::try_from(account.weight()).unwrap_or(1) {
            return Err(QueueRefusal::Account);
        }
        if line.jobs.is_empty() {
            line.used = line.used.max(clock);
            self.order.insert((line.used, account.clone()));
        }
        line.jobs.push_back(job);
        self.count += 1;
        Ok(())
    }

    /// Removes the next job of the account that has used the least.
    pub(crate) fn pop(&mut self) -> Option<(Account, J)> {
        let (used, account) = self.order.first()?.clone();
        self.clock = self.clock.max(used);
        let job = self.take(&account)?;
        Some((account, job))
    }

    /// Removes the next job of this account. Others neither gain nor lose by that: it is not the turn of this account.
    pub(crate) fn pop_of(&mut self, account: &Account) -> Option<J> {
        self.take(account)
    }

    fn take(&mut self, account: &Account) -> Option<J> {
        let line = self.lines.get_mut(account)?;
        let job = line.jobs.pop_front()?;
        self.count -= 1;
        if line.jobs.is_empty() {
            self.order.remove(&(line.used, account.clone()));
        }
        Some(job)
    }

    /// Adds a partly executed job before the others of its account.
    pub(crate) fn push_back(&mut self, account: Account, job: J) {
        let line = self.lines.entry(account.clone()).or_default();
        line.jobs.push_front(job);
        self.count += 1;
        self.order.insert((line.used, account));
    }

    /// Charges an account for a job that took this long.
    pub(crate) fn charge(&mut self, account: &Account, time: Duration) {
        let Some(line) = self.lines.get_mut(account) else { return };
        let before = line.used;
        let time = u64::try_from(time.max(MIN).as_nanos()).unwrap_or(u64::MAX);
        line.used = before.saturating_add(time / account.weight());
        if self.order.remove(&(before, account.clone())) {
            self.order.insert((line.used, account.clone()));
        }
    }

    /// Removes all jobs.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = J> + use<J> {
        self.order.clear();
        self.count = 0;
        std::mem::take(&mut self.lines).into_values().flat_map(|line| line.jobs)
    }

    /// Removes the jobs at the head of each line of which this is true.
    pub(crate) fn take_heads(&mut self, is_taken: impl Fn(&J) -> bool) -> Vec<J> {
        let mut taken = Vec::new();
        for (account, line) in &mut self.lines {
            while line.jobs.front().is_some_and(&is_taken) {
                taken.extend(line.jobs.pop_front());
            }
            if line.jobs.is_empty() {
                self.order.remove(&(line.used, account.clone()));
            }
        }
        self.count -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Account {
        Account::Tenant(name.to_owned())
    }

    /// Names of accounts in the order in which `count` jobs are served, if each takes `took` milliseconds of the clock of this test.
    fn served(lines: &mut Lines<u32>, count: usize, took: impl Fn(&Account) -> u64) -> Vec<Account> {
        let serve = |lines: &mut Lines<u32>| {
            let (account, _) = lines.pop()?;
            lines.charge(&account, Duration::from_millis(took(&account)));
            Some(account)
        };
        (0..count).map_while(|_| serve(lines)).collect()
    }

    fn fill(lines: &mut Lines<u32>, account: &Account, count: u32) {
        (0..count).for_each(|job| lines.push(account, job).unwrap());
    }

    fn count(served: &[Account], account: &Account) -> usize {
        served.iter().filter(|one| *one == account).count()
    }

    #[test]
    fn an_account_that_joins_a_flood_is_served_within_one_job() {
        for flood in [1, 64, 1000] {
            let mut lines = Lines::default();
            fill(&mut lines, &tenant("noisy"), flood + 20);
            // However much or little the flood has used before.
            served(&mut lines, 10, |_| 10);
            fill(&mut lines, &tenant("quiet"), 1);
            let next = served(&mut lines, 2, |_| 10);
            assert_eq!(count(&next, &tenant("quiet")), 1, "{flood}: {next:?}");
        }
    }

    #[test]
    fn busy_accounts_share_the_time_by_weight_for_any_cost_of_jobs() {
        for (cost_a, cost_b) in [(1, 1), (1, 10), (10, 1), (7, 3)] {
            let (a, b) = (tenant("a"), Account::Operators);
            let mut lines = Lines::default();
            fill(&mut lines, &a, 1000);
            fill(&mut lines, &b, 1000);
            let cost = |account: &Account| if *account == a { cost_a } else { cost_b };
            let next = served(&mut lines, 500, cost);
            let (used_a, used_b) = (count(&next, &a) as u64 * cost_a, count(&next, &b) as u64 * cost_b);
            // As long as both wait, what they have used by their weights differs by one job of each at most.
            let most = cost_a + cost_b.div_ceil(b.weight());
            assert!(used_a.abs_diff(used_b / b.weight()) <= most, "{used_a} and {used_b} for {cost_a} and {cost_b}");
        }
    }

    #[test]
    fn with_many_floods_an_account_waits_for_one_job_of_each() {
        let mut lines = Lines::default();
        for name in 0..20 {
            fill(&mut lines, &tenant(&format!("noisy{name}")), 60);
        }
        served(&mut lines, 200, |_| 10);
        fill(&mut lines, &tenant("quiet"), 1);
        let next = served(&mut lines, 21, |_| 10);
        assert_eq!(count(&next, &tenant("quiet")), 1, "{next:?}");
    }

    #[test]
    fn jobs_served_out_of_turn_are_charged_and_move_no_other_account() {
        let mut lines = Lines::default();
        fill(&mut lines, &tenant("a"), 100);
        fill(&mut lines, &Account::Operators, 100);
        for _ in 0..40 {
            lines.pop_of(&Account::Operators).unwrap();
            lines.charge(&Account::Operators, Duration::from_millis(4));
        }
        // 40 ms by weight: the tenant has as much before it is the turn of operators, and one that comes has no more than that.
        fill(&mut lines, &tenant("b"), 100);
        let next = served(&mut lines, 80, |_| 1);
        assert_eq!(count(&next, &tenant("a")), 40, "{next:?}");
        assert_eq!(count(&next, &tenant("b")), 40, "{next:?}");
        assert_eq!(lines.count(), 100 + 60 + 100 - 80);
    }

    #[test]
    fn an_empty_queue_is_not_served() {
        let mut lines = Lines::default();
        fill(&mut lines, &tenant("a"), 1);
        assert_eq!(lines.pop_of(&tenant("b")), None);
        assert!(lines.pop_of(&tenant("a")).is_some() && lines.pop().is_none() && lines.count() == 0);
    }
}
