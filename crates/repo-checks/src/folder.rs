//! Folders of tests.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An empty folder of one test. It is removed when it is dropped, unless the test fails.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates a folder in the system's folder for temporary files.
    pub fn new(name: &str) -> Self {
        Self::within(std::env::temp_dir(), &format!("wayleave-{name}"))
    }

    /// Creates a folder in another one: `CARGO_TARGET_TMPDIR` is on a disk, and temporary files may be in memory.
    ///
    /// # Panics
    /// If it cannot be created.
    #[allow(clippy::panic, reason = "it is an assertion of tests")]
    pub fn within(parent: impl AsRef<Path>, name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = parent.as_ref().join(format!("{name}-{process}-{number}"));
        // Of an earlier process with the number of this one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }
}

impl Deref for TempFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TempFolder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
