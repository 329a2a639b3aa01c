//! Where the records are: opened at the start, and again after a commit has failed.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use wayleave_controller as controller;
use wayleave_replica::Lease;
use wayleave_store::{Change, MemoryStore, Options, Record, SqliteStore, Store, StoreError};

use crate::cluster_metrics::ClusterMetrics;
use crate::copy_of::{CopyOf, is_copy};
use crate::pulse::EngineHeartbeat;

/// A store with what is in it.
pub struct Opened {
    /// Where changes go.
    pub store: Box<dyn Store>,
    /// What is there.
    pub records: Vec<Record>,
    /// The number of the last commit.
    pub sequence: u64,
}

/// Who may write to a place that several controllers share.
pub enum WriterTurn {
    /// This one: the place can be opened.
    Own,
    /// Another one, if there is one.
    Others {
        /// Where that one answers.
        leader: Option<String>,
        /// Changes that it has written.
        news: ForeignChanges,
    },
    /// Unknown: the shared store does not answer now.
    Unknown {
        /// Why.
        why: String,
    },
    /// Nobody's here: this controller decides with something else than the others, and can neither write nor judge what they write.
    Barred {
        /// What differs, and what to do.
        why: String,
        /// Whether it takes part by itself as soon as the one that leads has ended.
        waits: bool,
    },
}

/// Says whether these records can be gone on from, and if not, why.
pub type AcceptRecords<'a> = dyn FnMut(&[Record]) -> Result<(), String> + 'a;

/// Changes that another controller has written since the last look.
#[derive(Debug, Default)]
pub struct ForeignChanges {
    /// Its changes, in order; `None` if only [`Disk::records`] says what is there.
    pub changes: Option<Vec<Change>>,
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

    /// Whose turn it is to write; a place of one's own is always one's own. `fits` is asked before what the others decide with is replaced.
    ///
    /// # Errors
    /// If that cannot be known now.
    fn turn(&mut self, _fits: &mut AcceptRecords<'_>) -> Result<WriterTurn, StoreError> {
        Ok(WriterTurn::Own)
    }

    /// Everything that is there by the last turn, which was of others.
    ///
    /// # Errors
    /// If it cannot be read.
    fn records(&mut self) -> Result<Vec<Record>, StoreError> {
        Ok(Vec::new())
    }

    /// Has the lease prolonged only while the engine goes on; called before anything else.
    fn watch(&mut self, _pulse: Arc<EngineHeartbeat>) {}

    /// Flag that cancels requests to the shared store, also running ones: set when the process is to exit.
    fn ending(&self) -> Option<Arc<AtomicBool>> {
        None
    }

    /// Lets others write at once: this one cannot now, and looks again whose turn it is.
    fn pass(&mut self) {}

    /// What says at any time whether what is read is what everybody has written; `None` for a place of one's own.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// What is counted of it; `None` for a place of one's own.
    fn metrics(&self) -> Option<Arc<ClusterMetrics>> {
        None
    }

    /// Lets others write at once: this process ends.
    fn resign(&mut self) {}

    /// Where it is, for people.
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
    fn commit(&mut self, changes: &[Change]) -> Result<u64, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).commit(changes)
    }
}

/// A change as a store takes it.
pub(crate) fn stored(change: &controller::Change) -> Change {
    let controller::Change { kind, key, body } = change;
    match body {
        Some(body) => Change::Put(Record::new(kind.name(), key.as_str(), body.clone())),
        None => Change::delete(kind.name(), key.as_str()),
    }
}
