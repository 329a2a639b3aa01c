//! A copy of a ledger while commits continue.
//!
//! After the log was copied into the database, the database alone is the ledger, and it does not change until the log
//! is copied again. So it can be read as a file while commits continue, as long as their owner lets the log grow.
//! Commits wait only for the copying of the log, which also happens at other times.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::check::{Inspection, verify};
use super::create::place_copy;
use super::files::directory;
use crate::StoreError;
use crate::digest::Mark;

/// The state of a ledger at one commit. While it lives, the log of the ledger grows.
#[derive(Debug)]
pub struct Backup {
    pub(super) path: PathBuf,
    pub(super) mark: Mark,
    /// Token by which the owner detects a running backup.
    pub(super) _held: Arc<()>,
}

impl Backup {
    /// A file of this name beside the ledger.
    pub fn beside(&self, name: &str) -> PathBuf {
        directory(&self.path).join(name)
    }

    /// Writes the copy, with a seal of its own, reads it again and checks everything. Returns the result of the
    /// check.
    ///
    /// # Errors
    ///
    /// If a file exists already, if it cannot be read or written, or if the copy is not sound.
    pub fn write(self, to: &Path) -> Result<Inspection, StoreError> {
        place_copy(to, self.mark, |new| copy(&self.path, new))?;
        let report = verify(to)?;
        match report.faults.first() {
            None => Ok(report),
            Some(fault) => Err(fault.clone()),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut source = File::open(from).map_err(|error| StoreError::io(from, "opening", &error))?;
    let copied = OpenOptions::new().write(true).open(to).and_then(|mut file| io::copy(&mut source, &mut file));
    copied.map(|_| ()).map_err(|error| StoreError::io(to, "writing", &error))
}
