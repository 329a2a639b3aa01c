//! An empty ledger, so that a crash at any point leaves nothing, or something that creation goes on from.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::check::{Examined, examine};
use super::database::Database;
use super::{files, seal_path, with_suffix};
use crate::StoreError;
use crate::seal::Seal;

/// Creates a ledger where there is no database, and no seal or a blank one.
///
/// First the seal, blank: it carries the lock. Then the database under another name, complete, and renamed. The seal is
/// written when the database is opened. A blank seal therefore stands for "nothing was ever acknowledged here".
pub(super) fn create(path: &Path) -> Result<Examined, StoreError> {
    let seal = seal_path(path);
    let lock = Seal::create(&seal)?;
    files::sync_directory(&seal)?;
    let new = with_suffix(path, "-new");
    for suffix in ["", "-journal", "-wal"] {
        files::remove(&with_suffix(&new, suffix))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    drop(file.map_err(|error| StoreError::io(&new, "creating", &error))?);
    Database::create(&new)?;
    fs::rename(&new, path).map_err(|error| StoreError::io(path, "creating", &error))?;
    files::sync_directory(path)?;
    drop(lock);
    examine(path)?.ok_or_else(|| StoreError::Missing { path: path.to_owned() })
}
