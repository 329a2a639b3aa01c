//! Creation of an empty ledger, so that a crash at any point leaves nothing, or a state from which creation
//! continues.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::check::{Examined, examine};
use super::database::Database;
use super::files::{self, seal_path, with_suffix};
use crate::StoreError;
use crate::digest::Mark;
use crate::seal::Seal;

/// Creates a ledger where there is no database, and no seal or a blank one.
///
/// First the seal, blank: it carries the lock. Then the database under another name, complete, and renamed. The seal is
/// written when the database is opened. A blank seal therefore means "nothing was ever acknowledged here".
pub(super) fn create(path: &Path) -> Result<Examined, StoreError> {
    let seal = place(path, Database::create)?;
    drop(seal);
    examine(path)?.ok_or_else(|| StoreError::Missing { path: path.to_owned() })
}

/// Copies a database that is open, and gives the copy a seal.
pub(super) fn copy(database: &Database, mark: Mark, path: &Path) -> Result<(), StoreError> {
    place_copy(path, mark, |new| database.copy(new))
}

/// Places a copy of a ledger, for any method of making the copy.
pub(super) fn place_copy(
    path: &Path,
    mark: Mark,
    make: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    files::check_directory(path)?;
    for file in [path, &with_suffix(path, "-wal"), &seal_path(path)] {
        if files::metadata(file)?.is_some() {
            let error = std::io::Error::from(ErrorKind::AlreadyExists);
            return Err(StoreError::io(file, "creating", &error));
        }
    }
    let mut seal = place(path, make)?;
    seal.begin(mark)
}

/// Makes a database under another name, and gives it this one when it is complete. The seal beside it is blank.
fn place(path: &Path, make: impl FnOnce(&Path) -> Result<(), StoreError>) -> Result<Seal, StoreError> {
    let seal = seal_path(path);
    let (lock, _) = Seal::create(&seal)?;
    files::sync_directory(&seal)?;
    let new = with_suffix(path, "-new");
    for suffix in ["", "-journal", "-wal"] {
        files::remove(&with_suffix(&new, suffix))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let file = file.map_err(|error| StoreError::io(&new, "creating", &error))?;
    make(&new)?;
    file.sync_all().map_err(|error| StoreError::io(&new, "syncing", &error))?;
    fs::rename(&new, path).map_err(|error| StoreError::io(path, "creating", &error))?;
    files::sync_directory(path)?;
    Ok(lock)
}
