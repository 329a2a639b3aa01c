//! Barrier of the threads of a run: after every window, each publishes its next event time and hands over data for
//! others.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Instant;
use crate::fabric::{Change, CrossingPacket, NetworkState, Total};

/// Number of polls for the other threads before a thread yields its core: about a millisecond, many windows. On a
/// busy machine a thread that yields waits for a whole time slice of another process.
const INSPECTION_BATCH: u32 = 100_000;

/// All threads of a run.
#[derive(Debug)]
pub(crate) struct Barrier {
    members: usize,
    /// [`INSPECTION_BATCH`], or zero if there are fewer cores than threads: a waiting thread would occupy the core of
    /// a working one.
    looks: u32,
    /// Number of threads that have reached the present round.
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has panicked; no thread waits any more.
    is_broken: AtomicBool,
    /// For even and odd rounds: a thread that is ahead writes data that is read in the next round.
    mailboxes: [Mailbox; 2],
    total: Mutex<Total>,
}

/// Data exchanged in one round.
#[derive(Debug)]
struct Mailbox {
    next: Vec<AtomicU64>,
    is_stopped: AtomicBool,
    /// From each part (rows) to each.
    mail: Vec<Mutex<Vec<CrossingPacket>>>,
    changes: Vec<Mutex<Vec<Change>>>,
}

/// Common result of all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Nothing happens before that.
    pub(crate) next: Instant,
    pub(crate) is_stopped: bool,
}

/// The state left by a thread that panicked is discarded with the run.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Barrier {
    pub(crate) fn new(members: usize) -> Self {
        let mailbox = || Mailbox {
            next: (0..members).map(|_| AtomicU64::new(0)).collect(),
            is_stopped: AtomicBool::new(false),
            mail: (0..members * members).map(|_| Mutex::default()).collect(),
            changes: (0..members).map(|_| Mutex::default()).collect(),
        };
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            members,
            looks: if members <= cores { INSPECTION_BATCH } else { 0 },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
            mailboxes: [mailbox(), mailbox()],
            total: Mutex::default(),
        }
    }

    /// A part hands over what it has for others.
    pub(crate) fn hand_over(&self, number: usize, round: usize, fabric: &mut NetworkState) {
        let mailbox = &self.mailboxes[round % 2];
        for to in 0..self.members {
            if let Some(outbox) = fabric.outbox(to).filter(|outbox| !outbox.is_empty()) {
                std::mem::swap(outbox, &mut lock(&mailbox.mail[number * self.members + to]));
            }
        }
        if let Some(part) = fabric.part() {
            part.peak_packets.swap(&mut lock(&mailbox.changes[number]));
        }
    }

    /// Waits for all threads; each publishes its next event time and a possible request to stop. Returns `None` if
    /// the run cannot continue.
    pub(crate) fn agree(&self, number: usize, round: usize, next: Instant, is_stopped: bool) -> Option<Agreed> {
        let mailbox = &self.mailboxes[round % 2];
        mailbox.next[number].store(next, Ordering::Relaxed);
        if is_stopped {
            mailbox.is_stopped.store(true, Ordering::Relaxed);
        }
        if !self.wait(round) {
            return None;
        }
        let next = mailbox.next.iter().map(|next| next.load(Ordering::Relaxed)).min()?;
        Some(Agreed { next, is_stopped: mailbox.is_stopped.load(Ordering::Relaxed) })
    }

    /// A part takes over what others have for it. The first one adds up.
    pub(crate) fn take_over(&self, number: usize, round: usize, fabric: &mut NetworkState) {
        let mailbox = &self.mailboxes[round % 2];
        for from in 0..self.members {
            let mut mail = lock(&mailbox.mail[from * self.members + number]);
            if !mail.is_empty() {
                fabric.take_over(&mut mail);
            }
        }
        if number == 0 {
            let mut total = lock(&self.total);
            mailbox.changes.iter().for_each(|changes| total.add(&mut lock(changes)));
            total.conclude();
        }
    }

    /// Waits until all threads have reached a round. Returns `false` if one has panicked.
    fn wait(&self, round: usize) -> bool {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return !self.is_broken.load(Ordering::Relaxed);
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.is_broken.load(Ordering::Relaxed) {
                return false;
            }
            if looks < self.looks {
                looks += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }

    /// The most packets that there were at once.
    pub(crate) fn peak(&self) -> u64 {
        lock(&self.total).peak()
    }
}

/// Releases the other threads if its thread panics.
#[derive(Debug)]
pub(crate) struct Member<'a>(pub(crate) &'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
