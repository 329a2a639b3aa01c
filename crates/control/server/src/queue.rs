//! Jobs that wait for the engine, in a line for each account ([`Lines`]): changes before questions.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wayleave_store::{Backup, StoreError};

use crate::account::Account;
use crate::fair::{Lines, QueueRefusal};
use crate::work::Job;

/// Requests to the engine besides jobs.
pub(crate) enum Message {
    /// Compute all links whose figures are outdated, and notify when that is done.
    Look(oneshot::Sender<()>),
    /// Record progress of the loop.
    Progress,
    /// Return the state on disk, for a backup.
    Backup(oneshot::Sender<StartedBackup>),
}

/// A backup that has begun; none where there are no files.
pub(crate) type StartedBackup = Result<Option<Backup>, StoreError>;

/// Next work of the engine.
pub(crate) enum NextJob {
    Message(Message),
    Job(Account, Job),
    /// Everything that was taken before the end is done.
    End,
    /// Nothing came in time.
    Nothing,
}

#[derive(Default)]
struct State {
    writes: Lines<Job>,
    reads: Lines<Job>,
    messages: VecDeque<Message>,
    is_ending: bool,
    has_ended: bool,
}

/// Jobs that wait for the engine.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    come: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job waits.
    pub(crate) fn push(&self, account: &Account, job: Job) -> Result<(), QueueRefusal> {
        let mut state = self.lock();
        if state.has_ended {
            return Err(QueueRefusal::Ended);
        }
        let lines = if job.is_read { &mut state.reads } else { &mut state.writes };
        let pushed = lines.push(account, job);
        drop(state);
        self.come.notify_one();
        pushed
    }

    /// Queues a partly executed job, which continues when its account is served again.
    pub(crate) fn push_back(&self, account: Account, job: Job) {
        self.lock().writes.push_back(account, job);
    }

    /// Something besides jobs; lost if the engine has ended.
    pub(crate) fn send(&self, message: Message) {
        let mut state = self.lock();
        if !state.has_ended {
            state.messages.push_back(message);
        }
        drop(state);
        self.come.notify_one();
    }

    /// Nothing comes after this.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.come.notify_one();
    }

    /// Returns `true` if [`Queue::end`] was called.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().is_ending
    }

    /// A change that waits: messages and reads are for [`Queue::next`].
    pub(crate) fn next_write(&self) -> Option<(Account, Job)> {
        self.lock().writes.pop()
    }

    /// Returns the next work: messages first, then changes, then reads.
    pub(crate) fn next(&self, within: Duration) -> NextJob {
        let until = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                return NextJob::Message(message);
            }
            let job = state.writes.pop();
            if let Some((account, job)) = job.or_else(|| state.reads.pop()) {
                return NextJob::Job(account, job);
            }
            if state.is_ending {
                return NextJob::End;
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return NextJob::Nothing;
            }
            state = self.come.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A read that waits.
    pub(crate) fn next_read(&self) -> Option<(Account, Job)> {
        self.lock().reads.pop()
    }

    /// Charges an account for the time of a job.
    pub(crate) fn charge(&self, account: &Account, is_read: bool, time: Duration) {
        let mut state = self.lock();
        let lines = if is_read { &mut state.reads } else { &mut state.writes };
        lines.charge(account, time);
    }

    /// Returns the number of waiting jobs.
    pub(crate) fn waiting(&self) -> usize {
        let state = self.lock();
        state.writes.count() + state.reads.count()
    }

    /// The jobs of which a part was done: what they did is not certain any more.
    pub(crate) fn take_begun(&self) -> Vec<Job> {
        self.lock().writes.take_heads(|job| job.is_begun)
    }

    /// Closes the queue when the engine has ended: jobs are dropped, which notifies their waiting clients.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.messages.clear();
        let left: Vec<Job> = state.writes.clear().collect();
        let reads: Vec<Job> = state.reads.clear().collect();
        drop(state);
        drop((left, reads));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::HttpReply;
    use crate::fair::OF_ACCOUNT;
    use crate::work::Step;

    fn tenant(name: &str) -> Account {
        Account::Tenant(name.to_owned())
    }

    fn job() -> Job {
        let (reply, _) = oneshot::channel();
        Job {
            work: Box::new(|_| Step::Done(Ok(HttpReply::nothing()))),
            repeat: None,
            note: None,
            reply,
            is_read: false,
            is_begun: false,
        }
    }

    /// Returns the accounts whose jobs are served, for given times of the jobs.
    fn served(queue: &Queue, count: usize, took: impl Fn(&Account) -> Duration) -> Vec<String> {
        let mut served = Vec::new();
        for _ in 0..count {
            let Some((account, _)) = queue.next_write() else { break };
            queue.charge(&account, false, took(&account));
            served.push(account.to_string());
        }
        served
    }

    #[test]
    fn a_flood_delays_only_its_own_account() {
        let queue = Queue::default();
        for _ in 0..500 {
            queue.push(&tenant("noisy"), job()).unwrap();
        }
        // Another account's job arrives later, while the flood is served.
        served(&queue, 10, |_| Duration::from_millis(1));
        queue.push(&tenant("quiet"), job()).unwrap();
        let next = served(&queue, 2, |_| Duration::from_millis(1));
        assert!(next.contains(&"tenant quiet".to_owned()), "{next:?}");
    }

    #[test]
    fn time_is_charged_and_not_the_number_of_jobs() {
        let queue = Queue::default();
        for _ in 0..200 {
            queue.push(&tenant("large"), job()).unwrap();
            queue.push(&tenant("small"), job()).unwrap();
        }
        let took = |account: &Account| Duration::from_millis(if *account == tenant("large") { 10 } else { 1 });
        let next = served(&queue, 110, took);
        let large = next.iter().filter(|name| *name == "tenant large").count();
        assert!((8..=12).contains(&large), "{large} of 110");
    }

    #[test]
    fn an_idle_account_accumulates_no_credit() {
        let queue = Queue::default();
        for _ in 0..400 {
            queue.push(&tenant("busy"), job()).unwrap();
        }
        served(&queue, 100, |_| Duration::from_millis(5));
        for _ in 0..100 {
            queue.push(&tenant("late"), job()).unwrap();
        }
        let next = served(&queue, 40, |_| Duration::from_millis(5));
        let late = next.iter().filter(|name| *name == "tenant late").count();
        assert!((19..=21).contains(&late), "{late} of 40");
    }

    #[test]
    fn an_account_fills_only_its_own_queue() {
        let queue = Queue::default();
        let refused = (0..).find_map(|count| queue.push(&tenant("noisy"), job()).err().map(|why| (count, why)));
        assert_eq!(refused, Some((OF_ACCOUNT, QueueRefusal::Account)));
        queue.push(&tenant("quiet"), job()).unwrap();
        assert_eq!(queue.waiting(), OF_ACCOUNT + 1);
    }

    #[test]
    fn a_begun_job_resumes_before_the_others_of_its_account() {
        let queue = Queue::default();
        queue.push(&tenant("a"), job()).unwrap();
        queue.push(&tenant("a"), job()).unwrap();
        let (account, first) = queue.next_write().unwrap();
        queue.charge(&account, false, Duration::from_millis(1));
        queue.push_back(account, Job { is_begun: true, ..first });
        assert!(queue.next_write().unwrap().1.is_begun);
        queue.push(&tenant("b"), job()).unwrap();
        assert_eq!(queue.take_begun().len(), 0);
        assert_eq!(queue.waiting(), 2);
    }

    #[test]
    fn clients_waiting_for_a_stopped_engine_are_notified() {
        let queue = Queue::default();
        let (reply, mut answer) = oneshot::channel();
        let job = Job { reply, ..job() };
        queue.push(&tenant("a"), job).unwrap();
        queue.close();
        assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert_eq!(queue.push(&tenant("a"), self::job()), Err(QueueRefusal::Ended));
    }
}
