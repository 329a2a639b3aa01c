//! Threads for long reads without the engine: pages of lists, documents, bodies that are parsed.
//!
//! The threads that serve connections do nothing that takes longer than a fraction of a millisecond. All other reads
//! wait here, in a queue for each account ([`Lines`]), and are charged the time that they take. One thread fewer than
//! there are processors serves all accounts, so that the engine finds a processor. Another one serves operators
//! alone, so that they never wait for another account's reader.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::account::Account;
use crate::fair::{Lines, QueueRefusal};

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    lines: Lines<Task>,
    has_ended: bool,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    come: Condvar,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task of all accounts, or of one; `None` at the end.
    fn next(&self, only: Option<&Account>) -> Option<(Account, Task)> {
        let mut state = self.lock();
        loop {
            if state.has_ended {
                return None;
            }
            let next = match only {
                None => state.lines.pop(),
                Some(only) => state.lines.pop_of(only).map(|task| (only.clone(), task)),
            };
            if next.is_some() {
                return next;
            }
            state = self.come.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self, only: Option<&Account>) {
        while let Some((account, task)) = self.next(only) {
            let began = Instant::now();
            // A task that panics drops its channel, which the waiting request sees as an error; the thread continues.
            let _ = catch_unwind(AssertUnwindSafe(task));
            self.lock().lines.charge(&account, began.elapsed());
        }
    }
}

/// Reason for which there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFailure {
    /// It cannot wait.
    NoPlace(QueueRefusal),
    /// The task has panicked.
    Panicked,
}

/// Threads that read; they end when this is dropped.
pub(crate) struct Reads(Arc<Inner>);

impl Reads {
    /// Starts `shared` threads for all accounts, and one for operators.
    pub(crate) fn start(name: &str, shared: usize) -> std::io::Result<Self> {
        let reads = Self(Arc::default());
        for only in std::iter::repeat_n(None, shared).chain([Some(Account::Operators)]) {
            let inner = reads.0.clone();
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || inner.work(only.as_ref()))?;
        }
        Ok(reads)
    }

    /// Executes this in the turn of the account. It is skipped if the client no longer waits.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        account: &Account,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadFailure> {
        let (reply, answer) = oneshot::channel();
        let task = move || {
            if !reply.is_closed() {
                let _ = reply.send(task());
            }
        };
        {
            let mut state = self.0.lock();
            if state.has_ended {
                return Err(ReadFailure::NoPlace(QueueRefusal::Ended));
            }
            state.lines.push(account, Box::new(task)).map_err(ReadFailure::NoPlace)?;
        }
        // All, since one of the threads serves operators only.
        self.0.come.notify_all();
        answer.await.map_err(|_| ReadFailure::Panicked)
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_ended = true;
        let left: Vec<Task> = state.lines.clear().collect();
        drop(state);
        self.0.come.notify_all();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn tenant(name: &str) -> Account {
        Account::Tenant(name.to_owned())
    }

    /// Threads of which those for all accounts are busy until something is sent.
    fn busy(shared: usize) -> (Arc<Reads>, Vec<mpsc::Sender<()>>, Vec<tokio::task::JoinHandle<()>>) {
        let reads = Arc::new(Reads::start("reads", shared).unwrap());
        let (began, begins) = mpsc::channel();
        let held = (0..shared).map(|_| {
            let (release, released) = mpsc::channel::<()>();
            let (reads, began) = (reads.clone(), began.clone());
            let task = async move {
                let hold = move || {
                    began.send(()).unwrap();
                    let _ = released.recv();
                };
                reads.run(&tenant("noisy"), hold).await.unwrap();
            };
            (release, tokio::spawn(task))
        });
        let (releases, tasks): (Vec<_>, Vec<_>) = held.unzip();
        (0..shared).for_each(|_| begins.recv().unwrap());
        (reads, releases, tasks)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_read_of_another_account_is_served_before_the_rest_of_a_flood() {
        let (reads, releases, _held) = busy(1);
        let (done, order) = mpsc::channel();
        let mut waiting = Vec::new();
        for name in std::iter::repeat_n("noisy", 63).chain(["quiet"]) {
            let (own, done) = (reads.clone(), done.clone());
            let before = reads.0.lock().lines.count();
            waiting.push(tokio::spawn(async move {
                own.run(&tenant(name), move || done.send(name).unwrap()).await.unwrap();
            }));
            while reads.0.lock().lines.count() == before {
                tokio::task::yield_now().await;
            }
        }
        drop(releases);
        for one in waiting {
            one.await.unwrap();
        }
        let order: Vec<&str> = order.try_iter().collect();
        assert_eq!(order.len(), 64);
        assert!(order.iter().position(|name| *name == "quiet") <= Some(1), "{order:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn operators_never_wait_for_readers_of_others() {
        let (reads, releases, held) = busy(2);
        assert_eq!(reads.run(&Account::Operators, || 7).await, Ok(7));
        drop(releases);
        for one in held {
            one.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn abandoned_reads_are_skipped_and_a_panic_ends_no_thread() {
        let (reads, releases, _held) = busy(1);
        let (own, done) = (reads.clone(), Arc::new(Mutex::new(0)));
        let count = done.clone();
        let gone = tokio::spawn(async move { own.run(&tenant("gone"), move || *count.lock().unwrap() += 1).await });
        while reads.0.lock().lines.count() == 0 {
            tokio::task::yield_now().await;
        }
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        drop(releases);
        let panics = reads.run(&tenant("a"), || -> u32 { std::panic::resume_unwind(Box::new(())) }).await;
        assert_eq!(panics, Err(ReadFailure::Panicked));
        assert_eq!(reads.run(&tenant("a"), || 1).await, Ok(1));
        assert_eq!(*done.lock().unwrap(), 0);
    }
}
