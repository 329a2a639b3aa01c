//! A separate directory for each test, and short helpers for writing.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wayleave_repo_checks::TempFolder;
use wayleave_store::{CommitStep, Options, SqliteStore, Store, StoredRecord};

/// A folder with a ledger.
pub(crate) struct Scratch(TempFolder);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(TempFolder::within(env!("CARGO_TARGET_TMPDIR"), "store"))
    }

    /// Creates a closed ledger of this number of commits of one record each.
    pub(crate) fn filled(commits: usize) -> Self {
        let scratch = Self::new();
        let (mut store, _) = open(&scratch.ledger());
        for n in 1..=commits {
            store.commit(&[put(&format!("key-{n}"), &n.to_string())]).unwrap();
        }
        store.close().unwrap();
        scratch
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("ledger.db")
    }

    /// Writes a file that only its owner can read.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Every file that holds something: its name, its length and a hash. (SQLite leaves an empty log behind.)
    pub(crate) fn files(&self) -> Vec<(String, usize, u64)> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).map(|path| summary(&path)).collect();
        files.retain(|(_, length, _)| *length > 0);
        files.sort();
        files
    }
}

fn summary(path: &Path) -> (String, usize, u64) {
    let bytes = fs::read(path).unwrap();
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    (path.file_name().unwrap().to_string_lossy().into_owned(), bytes.len(), hasher.finish())
}

pub(crate) fn open(path: &Path) -> (SqliteStore, Vec<StoredRecord>) {
    SqliteStore::open(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn put(key: &str, body: &str) -> CommitStep {
    CommitStep::Put(StoredRecord::new("thing", key, body))
}
