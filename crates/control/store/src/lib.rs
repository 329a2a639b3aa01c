//! Records on disk. A commit that `commit` acknowledged survives a crash; untrusted data is refused, never served.
//!
//! A record is a kind, a key and a text. This crate is independent of networks: the controller determines the meaning
//! of a record.
//!
//! - [`SqliteStore`] keeps them in one SQLite database and a small second file, the seal (`docs/operate/ledger.md`
//!   explains the two files).
//! - [`MemoryStore`] keeps them in memory and fails on request: for seeded simulations of the controller.
//! - [`verify`] checks everything without changing anything; [`reseal`] accepts a database without its seal.
//!
//! ```
//! use wayleave_store::{CommitStep, MemoryStore, StoredRecord, Store};
//!
//! let mut store = MemoryStore::new();
//! let sequence = store.commit(&[CommitStep::Put(StoredRecord::new("contract", "default:backup", r#"{"rate":1}"#))])?;
//! assert_eq!(sequence, 1);
//! assert_eq!(store.load()[0].key, "default:backup");
//! # Ok::<(), wayleave_store::StoreError>(())
//! ```

mod digest;
mod error;
mod index;
mod measurements;
mod memory;
mod seal;
mod sqlite;

use std::borrow::Cow;
use std::sync::Arc;

pub use error::{Holder, StoreError};
pub use measurements::{Chunk, Measurements, MinuteChange, Observed, OpenedMeasurements, RecordedContract};
pub use memory::{Failure, MemoryStore};
pub use sqlite::{Backup, IfAbsent, Inspection, Options, SqliteStore, inspect, reseal, seal_path, verify};

/// Kind of a record, for example `contract`.
pub type Kind = Cow<'static, str>;

/// One thing that must survive: found again by its kind and key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRecord {
    /// Kind of the record.
    pub kind: Kind,
    /// Its name, unique among its kind.
    pub key: String,
    /// Content, as JSON. The store does not parse it. Shared, since readers keep it too.
    pub body: Arc<str>,
}

impl StoredRecord {
    /// A record of these parts.
    pub fn new(kind: impl Into<Kind>, key: impl Into<String>, body: impl Into<Arc<str>>) -> Self {
        Self { kind: kind.into(), key: key.into(), body: body.into() }
    }
}

/// One step of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitStep {
    /// The record is there from now on, in place of an older one with its kind and key.
    Put(StoredRecord),
    /// There is no such record from now on. None before is no error.
    Delete {
        /// The kind of the record.
        kind: Kind,
        /// The key of the record.
        key: String,
    },
}

impl CommitStep {
    /// The deletion of a record.
    pub fn delete(kind: impl Into<Kind>, key: impl Into<String>) -> Self {
        Self::Delete { kind: kind.into(), key: key.into() }
    }
}

/// Storage of records.
pub trait Store: Send {
    /// Makes these changes, in this order, all or none. They are on disk when this returns the number of the commit,
    /// which is one more than that of the commit before. Without changes nothing is written and the number stays.
    ///
    /// # Errors
    ///
    /// After an error the store is [`StoreError::Broken`] until it is opened again. Everything acknowledged before is
    /// there then; the changes of the failed commit may be there, all of them, or not at all.
    fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, StoreError>;

    /// Begins a copy of the present state, which is written elsewhere while commits continue; `None` where there are
    /// no files.
    ///
    /// # Errors
    ///
    /// If the store is broken, or such a copy is being written.
    fn begin_backup(&mut self) -> Result<Option<Backup>, StoreError> {
        Ok(None)
    }

    /// Housekeeping while no request waits. A store that is never idle does it occasionally in a commit.
    ///
    /// # Errors
    ///
    /// As for [`Store::commit`]; no acknowledged commit is lost.
    fn idle(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
