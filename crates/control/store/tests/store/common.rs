//! A separate directory for each test, and short helpers for writing.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wayleave_store::{CommitStep, Options, SqliteStore, Store, StoredRecord};

/// A directory that is removed with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{}-{number}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
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

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(fs::remove_dir_all(&self.0));
        }
    }
}

pub(crate) fn open(path: &Path) -> (SqliteStore, Vec<StoredRecord>) {
    SqliteStore::open(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn put(key: &str, body: &str) -> CommitStep {
    CommitStep::Put(StoredRecord::new("thing", key, body))
}

/// SplitMix64: random numbers that a seed repeats for ever.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}
