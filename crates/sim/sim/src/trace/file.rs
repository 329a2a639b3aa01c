//! Files that are whole or not there: written beside their place and renamed when they are complete.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Maximum number of names that are tried for the temporary file. Others may be left over from programs that were
/// killed.
const NAMES: u32 = 100;

/// A file could not be written. No part remains, and the previous file of its name is unchanged.
#[derive(Debug)]
pub struct WriteError {
    /// The file that was asked for.
    pub path: PathBuf,
    /// Cause.
    pub source: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A file that is being written. Dropped before [`finish`](Self::finish) it is removed.
#[derive(Debug)]
pub(super) struct WholeFile {
    /// The name that was asked for.
    path: PathBuf,
    /// Target of the name, behind symbolic links.
    target: PathBuf,
    /// Name during writing; `None` once it has its own name.
    temporary: Option<PathBuf>,
    out: BufWriter<File>,
}

impl WholeFile {
    /// Begins a file that is to replace `path`.
    pub(super) fn create(path: &Path) -> Result<Self, WriteError> {
        Self::begin(path).map_err(|source| WriteError { path: path.to_owned(), source })
    }

    fn begin(path: &Path) -> io::Result<Self> {
        // Renaming would replace a symbolic link instead of its target.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // It would also replace a device or a pipe by a file, for all users.
        if fs::metadata(&target).is_ok_and(|known| !known.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file"));
        }
        let name = target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))?;
        for number in 0..NAMES {
            let mut temporary = name.to_owned();
            temporary.push(format!(".{}-{number}.partial", std::process::id()));
            let temporary = target.with_file_name(temporary);
            match File::create_new(&temporary) {
                Ok(file) => {
                    let out = BufWriter::new(file);
                    return Ok(Self { path: path.to_owned(), target, temporary: Some(temporary), out });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many temporary files are beside it"))
    }

    /// An error of writing to it, with its name.
    pub(super) fn error(&self, source: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), source }
    }

    /// Gives the file its name. It is on the disk before: some file systems find out only then that they are full.
    pub(super) fn finish(mut self) -> Result<(), WriteError> {
        self.settle().map_err(|source| self.error(source))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The earlier error matters; a second one cannot be returned.
            let _ = fs::remove_file(temporary);
        }
    }
}
