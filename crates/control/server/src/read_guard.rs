//! Guard of a lock that a thread reads once at a time.
//!
//! A thread that reads a [`RwLock`] twice waits for itself if another thread wants to write in between: writers go before later readers.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

#[cfg(debug_assertions)]
thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// A guard. Debug builds refuse a second one in the same thread.
pub(crate) struct ReadGuard<'a, T>(RwLockReadGuard<'a, T>);

impl<'a, T> ReadGuard<'a, T> {
    /// Waits until no thread writes.
    pub(crate) fn new(lock: &'a RwLock<T>) -> Self {
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
}
