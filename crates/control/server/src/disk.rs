//! Storage of the records: opened at the start, and again after a failed commit.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use wayleave_controller as controller;
use wayleave_replica::Lease;
use wayleave_store::{CommitStep, MemoryStore, Options, SqliteStore, Store, StoreError, StoredRecord};

use crate::cluster_metrics::ClusterMetrics;
use crate::copy_of::{CopyOf, is_copy};
use crate::pulse::EngineHeartbeat;

/// A store with its content.
pub struct Opened {
    /// Store for changes.
    pub store: Box<dyn Store>,
    /// Present records.
    pub records: Vec<StoredRecord>,
    /// The number of the last commit.
    pub sequence: u64,
}

/// Right to write to a store that several controllers share.
pub enum WriterTurn {
    /// This one: the place can be opened.
    Own,
    /// Another one, if there is one.
    Others {
        /// Address at which the leader answers.
        leader: Option<String>,
        /// Changes that it has written.
        news: ForeignChanges,
    },
    /// Unknown: the shared store does not answer now.
    Unknown {
        /// Reason.
        why: String,
    },
    /// Excluded: this controller's configuration differs from that of the cluster. It can neither write nor judge the
    /// records of the others.
    Barred {
        /// Difference, and remedy.
        why: String,
        /// `true` if it takes part by itself as soon as the present leader has ended.
        waits: bool,
    },
}

/// Check that a controller can continue from these records; the error is the reason that it cannot.
pub type CheckRecords<'a> = dyn FnMut(&[StoredRecord]) -> Result<(), String> + 'a;

/// Changes that another controller has written since the last look.
#[derive(Debug, Default)]
pub struct ForeignChanges {
    /// Changes, in order; `None` if only [`Disk::records`] has the present state.
    pub changes: Option<Vec<CommitStep>>,
    /// The number of the last commit.
    pub sequence: u64,
}

/// A place that can be opened.
pub trait Disk: Send {
    /// Opens it; what was open before has been dropped.
    ///
    /// # Errors
    /// If it cannot be read or written, or cannot be trusted.
    fn open(&mut self) -> Result<Opened, StoreError>;

    /// Returns the controller whose turn it is to write; a private store is always this controller's. `fits` is asked
    /// before the configuration of the other controllers is replaced.
    ///
    /// # Errors
    /// If that cannot be known now.
    fn turn(&mut self, _fits: &mut CheckRecords<'_>) -> Result<WriterTurn, StoreError> {
        Ok(WriterTurn::Own)
    }

    /// Returns all records as of the last turn, which was another controller's.
    ///
    /// # Errors
    /// If they cannot be read.
    fn records(&mut self) -> Result<Vec<StoredRecord>, StoreError> {
        Ok(Vec::new())
    }

    /// Renews the lease only while the engine makes progress; called before any other method.
    fn watch(&mut self, _pulse: Arc<EngineHeartbeat>) {}

    /// Flag that cancels requests to the shared store, also running ones: set when the process is to exit.
    fn ending(&self) -> Option<Arc<AtomicBool>> {
        None
    }

    /// Lets others write at once: this controller cannot now, and asks for its turn again later.
    fn pass(&mut self) {}

    /// Returns a lease that shows at any time if reads are up to date with all writers; `None` for a private store.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// Returns the metrics of the store; `None` for a private store.
    fn metrics(&self) -> Option<Arc<ClusterMetrics>> {
        None
    }

    /// Lets others write at once: this process ends.
    fn resign(&mut self) {}

    /// Returns the human-readable location.
    fn name(&self) -> String;
}

/// A ledger file.
#[derive(Clone, Debug)]
pub struct File(pub PathBuf);

impl Disk for File {
    fn open(&mut self) -> Result<Opened, StoreError> {
        let (store, mut records) = SqliteStore::open(&self.0, &Options::default())?;
        let elsewhere = |message: String| StoreError::Elsewhere { place: self.name(), message };
        if let Some(of) = CopyOf::take(&mut records).map_err(elsewhere)? {
            return Err(elsewhere(is_copy(&of, &self.0)));
        }
        let sequence = store.sequence();
        Ok(Opened { store: Box::new(store), records, sequence })
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

/// A store in memory, shared with a test that lets it fail.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub Arc<Mutex<MemoryStore>>);

impl Disk for Memory {
    fn open(&mut self) -> Result<Opened, StoreError> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records = memory.reopen();
        Ok(Opened { store: Box::new(self.clone()), records, sequence: memory.sequence() })
    }

    fn name(&self) -> String {
        "memory".to_owned()
    }
}

impl Store for Memory {
    fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).commit(changes)
    }
}

/// A change as a store takes it.
pub(crate) fn stored(change: &controller::RecordChange) -> CommitStep {
    let controller::RecordChange { kind, key, body } = change;
    match body {
        Some(body) => CommitStep::Put(StoredRecord::new(kind.name(), key.as_str(), body.clone())),
        None => CommitStep::delete(kind.name(), key.as_str()),
    }
}
