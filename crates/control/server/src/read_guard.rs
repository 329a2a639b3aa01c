//! Guards of locks, which refuse an order that may end in a deadlock.
//!
//! - A thread that reads a [`RwLock`] twice waits for itself if another thread wants to write in between: writers go
//!   before later readers. So a thread reads the tables once at a time.
//! - Threads take leaf locks while they read the tables, so no thread waits for the tables while it has a leaf lock.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

#[cfg(debug_assertions)]
thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
    /// Number of leaf locks that the thread has.
    static LEAVES: Cell<u32> = const { Cell::new(0) };
}

/// Refuses, in debug builds, to wait for the tables while the thread has a leaf lock.
pub(crate) fn check_order() {
    #[cfg(debug_assertions)]
    assert!(
        LEAVES.get() == 0,
        "a thread that waits for the tables with a leaf lock may wait for itself: drop the guard before"
    );
}

/// Guard of a leaf lock: a thread that has it waits for no other lock than leaf locks.
pub(crate) struct LeafGuard<'a, T>(MutexGuard<'a, T>);

impl<'a, T> LeafGuard<'a, T> {
    /// Waits until no other thread has the lock.
    pub(crate) fn new(lock: &'a Mutex<T>) -> Self {
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(debug_assertions)]
        LEAVES.set(LEAVES.get() + 1);
        Self(guard)
    }
}

impl<T> Deref for LeafGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for LeafGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(debug_assertions)]
impl<T> Drop for LeafGuard<'_, T> {
    fn drop(&mut self) {
        LEAVES.set(LEAVES.get() - 1);
    }
}

/// A guard. Debug builds refuse a second one in the same thread.
pub(crate) struct ReadGuard<'a, T>(RwLockReadGuard<'a, T>);

impl<'a, T> ReadGuard<'a, T> {
    /// Waits until no thread writes.
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
        check_order();
        #[cfg(debug_assertions)]
        assert!(
            !IS_READING.get(),
            "a thread that reads twice may wait for itself: pass the first guard on, or drop it"
        );
        let guard = lock.read().unwrap_or_else(PoisonError::into_inner);
        #[cfg(debug_assertions)]
        IS_READING.set(true);
        Self(guard)
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(debug_assertions)]
impl<T> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        IS_READING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_reads_again_after_it_has_dropped_its_guard() {
        let lock = RwLock::new(1);
        assert_eq!(*ReadGuard::new(&lock), 1);
        assert_eq!(*ReadGuard::new(&lock), 1);
    }

    #[test]
    #[should_panic(expected = "may wait for itself")]
    fn a_thread_that_reads_twice_is_refused() {
        let lock = RwLock::new(1);
        let _first = ReadGuard::new(&lock);
        let _second = ReadGuard::new(&lock);
    }

    #[test]
    fn a_thread_takes_leaf_locks_while_it_reads() {
        let (lock, leaves) = (RwLock::new(1), [Mutex::new(2), Mutex::new(3)]);
        {
            let _read = ReadGuard::new(&lock);
            let _leaves = leaves.each_ref().map(LeafGuard::new);
        }
        assert_eq!(*ReadGuard::new(&lock), 1);
    }

    #[test]
    #[should_panic(expected = "with a leaf lock")]
    fn a_thread_that_reads_with_a_leaf_lock_is_refused() {
        let (lock, leaf) = (RwLock::new(1), Mutex::new(2));
        let _leaf = LeafGuard::new(&leaf);
        let _read = ReadGuard::new(&lock);
    }
}
