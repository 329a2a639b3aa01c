//! Metadata of files and directories, with the system's errors as errors of a store.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Bits that a file must not have: group may not write, others may do nothing.
const EXPOSED: u32 = 0o027;

/// The name of the seal of a database: with `-seal` at its end.
pub fn seal_path(path: &Path) -> PathBuf {
    with_suffix(path, "-seal")
}

/// A path with something behind its last component.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(suffix);
    name.into()
}

/// The directory of a file.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the metadata of a file; `None` if it does not exist.
pub(super) fn metadata(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, "looking at", &error)),
    }
}

/// Checks that the directory of a file exists.
pub(super) fn check_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    match metadata(directory)? {
        Some(metadata) if metadata.is_dir() => Ok(()),
        _ => Err(StoreError::DirectoryMissing { directory: directory.to_owned() }),
    }
}

/// Checks that only its owner can change a file, and at most its group can read it.
pub(super) fn check_mode(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & EXPOSED == 0 { Ok(()) } else { Err(StoreError::Exposed { path: path.to_owned(), mode }) }
}

/// Puts the names in a directory on disk.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    let synced = File::open(directory).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::io(directory, "syncing", &error))
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(path, "removing", &error)),
        _ => Ok(()),
    }
}
