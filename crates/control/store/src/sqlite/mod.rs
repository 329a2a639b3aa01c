//! The store on disk: one SQLite database in write-ahead mode, and its seal.
//!
//! A commit is a transaction of the database, synced, and then its number and digest in the seal, synced. So a database
//! may be one commit ahead of its seal (a crash between the two) and never behind. Everything is checked at `open`,
//! before anything is served: see `check`.

mod backup;
mod check;
mod create;
mod database;
mod files;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

pub use backup::Backup;
pub use check::{Inspection, inspect, reseal, verify};
pub use files::seal_path;

use crate::digest::Mark;
use crate::seal::Seal;
use crate::{CommitStep, Store, StoreError, StoredRecord};
use check::{Examined, examine};
use database::Database;

/// Records and commits since the log was last copied into the database, after which a commit does it itself.
///
/// New records change about one page of 4096 B in four, replaced ones a page each, so the log has 2 to 8 MB then. Four
/// times as many stall one commit for longer than 50 ms on the disk of docs/operate/ledger.md, a quarter makes more stalls.
const LOG_RECORDS: usize = 2000;

/// Action if there is no ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfAbsent {
    /// Create an empty one.
    #[default]
    Create,
    /// Fail with [`StoreError::Missing`].
    Refuse,
}

/// Options of opening a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Action if there is no ledger.
    pub absent: IfAbsent,
}

/// Records in an SQLite database with a seal.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    database: Database,
    seal: Seal,
    mark: Mark,
    /// Records written since the log was last copied into the database.
    logged: usize,
    broken: bool,
    /// Token of a running backup, during which the log is not copied.
    held: Weak<()>,
}

impl SqliteStore {
    /// Opens a ledger, or creates it, and gives all its records by kind and key.
    ///
    /// # Errors
    ///
    /// Whenever it is not certain that these are exactly the records that were acknowledged (beside, perhaps, a last
    /// commit that was interrupted before its answer), and whenever it could not be written to. Then nothing is changed.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<(Self, Vec<StoredRecord>), StoreError> {
        let path = path.as_ref();
        let examined = match (examine(path)?, options.absent) {
            (Some(examined), _) => examined,
            (None, IfAbsent::Create) => create::create(path)?,
            (None, IfAbsent::Refuse) => return Err(StoreError::Missing { path: path.to_owned() }),
        };
        let Examined { database, seal, mut found, faults, .. } = examined;
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let (Some(seal), Some(mark)) = (seal, found.mark) else {
            return Err(StoreError::State { path: path.to_owned() });
        };
        let mut store =
            Self { path: path.to_owned(), database, seal, mark, logged: 0, broken: false, held: Weak::new() };
        store.settle()?;
        found.records.sort_unstable();
        Ok((store, found.records))
    }

    /// Puts what was found on disk for good, before it is served: what a killed process has left, the name of the database
    /// or the end of its log, may be in the system's memory only, and the seal may be one commit behind.
    fn settle(&mut self) -> Result<(), StoreError> {
        files::sync_directory(&self.path)?;
        self.database.log_ahead()?;
        self.database.checkpoint(true)?;
        if self.mark.sequence == 0 { self.seal.begin(self.mark) } else { self.seal.heal(self.mark) }
    }

    /// The number of the last commit.
    pub fn sequence(&self) -> u64 {
        self.mark.sequence
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.mark.digest.records
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a copy with its own seal, which can be opened unchanged. No commit is possible during this call.
    ///
    /// # Errors
    ///
    /// If a file exists already, and as for [`SqliteStore::open`]. The ledger itself is not touched.
    pub fn backup(&mut self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: self.path.clone() });
        }
        create::copy(&self.database, self.mark, to.as_ref())
    }

    /// Closes it and leaves no log behind: the database and its seal are all there is.
    ///
    /// # Errors
    ///
    /// If the log could not be copied into the database. Nothing that was acknowledged is lost.
    pub fn close(self) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: self.path });
        }
        self.database.close()
    }

    fn try_commit(&mut self, changes: &[CommitStep]) -> Result<(), StoreError> {
        let mark = self.database.commit(self.mark, changes)?;
        self.seal.write(mark)?;
        self.mark = mark;
        self.logged += changes.len() + 1;
        if self.logged >= LOG_RECORDS { self.checkpoint() } else { Ok(()) }
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        if self.held.strong_count() > 0 {
            return Ok(());
        }
        self.database.checkpoint(false)?;
        self.logged = 0;
        Ok(())
    }

    /// Runs something after which, if it fails, the state on disk is unknown.
    fn guarded(&mut self, action: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<u64, StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: self.path.clone() });
        }
        let result = action(self);
        self.broken = result.is_err();
        result.map(|()| self.mark.sequence)
    }
}

impl Store for SqliteStore {
    fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, StoreError> {
        self.guarded(|store| if changes.is_empty() { Ok(()) } else { store.try_commit(changes) })
    }

    fn begin_backup(&mut self) -> Result<Option<Backup>, StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: self.path.clone() });
        }
        if self.held.strong_count() > 0 {
            // One at a time: the log of the first one has to stay where it is.
            return Err(database::locked(&self.path));
        }
        self.idle()?;
        let held = Arc::new(());
        self.held = Arc::downgrade(&held);
        Ok(Some(Backup { path: self.path.clone(), mark: self.mark, _held: held }))
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        self.guarded(|store| if store.logged > 0 { store.checkpoint() } else { Ok(()) }).map(|_| ())
    }
}
