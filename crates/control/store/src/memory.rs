//! A store in memory that fails on request, for simulations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{CommitStep, Kind, Store, StoreError, StoredRecord};

/// Fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It fails and leaves nothing behind.
    Before,
    /// The commit is on disk, but returns an error: the answer was lost.
    After,
}

/// Records in memory, with the guarantees of the store on disk, and without any further ones.
///
/// A crash of the process is a [`Failure`] followed by [`MemoryStore::reopen`].
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<(Kind, String), Arc<str>>,
    sequence: u64,
    failure: Option<Failure>,
    broken: bool,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next commit fail with this fault.
    pub fn fail_next(&mut self, failure: Failure) {
        self.failure = Some(failure);
    }

    /// Opens it again after a failure and gives what survived.
    pub fn reopen(&mut self) -> Vec<StoredRecord> {
        (self.broken, self.failure) = (false, None);
        self.load()
    }

    /// Everything that is committed, by kind and key.
    pub fn load(&self) -> Vec<StoredRecord> {
        let record =
            |((kind, key), body): (&(Kind, String), &Arc<str>)| StoredRecord::new(kind.clone(), key, body.clone());
        self.records.iter().map(record).collect()
    }

    /// The number of the last commit.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn apply(&mut self, changes: &[CommitStep]) {
        for change in changes {
            match change.clone() {
                CommitStep::Put(StoredRecord { kind, key, body }) => self.records.insert((kind, key), body),
                CommitStep::Delete { kind, key } => self.records.remove(&(kind, key)),
            };
        }
        self.sequence += 1;
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: PathBuf::from("memory") });
        }
        if changes.is_empty() {
            return Ok(self.sequence);
        }
        let failure = self.failure.take();
        self.broken = failure.is_some();
        if failure != Some(Failure::Before) {
            self.apply(changes);
        }
        match failure {
            None => Ok(self.sequence),
            Some(_) => Err(StoreError::NoSpace { path: PathBuf::from("memory") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str) -> [CommitStep; 1] {
        [CommitStep::Put(StoredRecord::new("kind", key, "{}"))]
    }

    fn keys(store: &MemoryStore) -> String {
        store.load().into_iter().map(|record| record.key).collect()
    }

    #[test]
    fn a_commit_that_fails_before_leaves_nothing_and_one_that_fails_after_leaves_all() {
        let mut store = MemoryStore::new();
        assert_eq!(store.commit(&put("a")).ok(), Some(1));
        store.fail_next(Failure::Before);
        assert!(store.commit(&put("b")).is_err());
        assert_eq!(keys(&store), "a");
        store.reopen();
        store.fail_next(Failure::After);
        assert!(store.commit(&put("c")).is_err());
        assert_eq!(keys(&store), "ac");
    }

    #[test]
    fn a_broken_store_stays_broken_until_it_is_opened_again() {
        let mut store = MemoryStore::new();
        store.fail_next(Failure::Before);
        assert!(store.commit(&put("a")).is_err());
        assert!(matches!(store.commit(&put("b")), Err(StoreError::Broken { .. })));
        assert!(store.reopen().is_empty());
        assert_eq!(store.commit(&put("b")).ok(), Some(1));
        assert_eq!(store.commit(&[CommitStep::delete("kind", "b"), CommitStep::delete("kind", "never")]).ok(), Some(2));
        assert_eq!(keys(&store), "");
    }
}
