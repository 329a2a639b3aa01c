//! Makes the writes and syncs of any program fail, for tests: a small C library that is preloaded into the program.
//! [`linearizable`] checks that the results of clients during such faults are possible.
//!
//! [`Shim::build`] compiles the library with `cc`; [`Shim::preload`] arms a command. Paths are matched by a text that
//! they contain. Counted are `write`, `pwrite`, `fsync`, `fdatasync`, `ftruncate`, `unlink`, `rename` and the
//! creation of files. Syncs of watched files are counted and not executed: a program is killed, not the machine, so
//! nothing depends on them.
//!
//! ```no_run
//! use std::process::Command;
//! use wayleave_faults::{WriteFault, Shim};
//!
//! let shim = Shim::build(std::env::temp_dir())?;
//! let mut command = Command::new("wayleave");
//! shim.preload(command.arg("serve"), "ledger.db", &WriteFault::KillAfter(17));
//! # Ok::<(), String>(())
//! ```

pub mod linearizable;
mod trace;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

pub use trace::{TraceStep, TracedCall, read};

/// Error of a failing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// The disk is full.
    NoSpace,
    /// The disk cannot be read or written.
    Io,
    /// The file system has become read-only.
    ReadOnly,
}

impl Errno {
    const fn name(self) -> &'static str {
        match self {
            Self::NoSpace => "ENOSPC",
            Self::Io => "EIO",
            Self::ReadOnly => "EROFS",
        }
    }
}

/// Fault of a program. Calls on watched files are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// Nothing. (Syncs are not done, as with every fault.)
    None,
    /// Nothing, but every call is appended to this file; [`read`] reads it.
    Trace(PathBuf),
    /// It is killed before this call.
    KillBefore(u64),
    /// It is killed when half of this write is done (before it, if it is no write).
    KillHalf(u64),
    /// It is killed after this call.
    KillAfter(u64),
    /// This call and all later ones fail.
    Fail(u64, Errno),
}

/// The compiled library.
#[derive(Debug)]
pub struct Shim {
    library: PathBuf,
}

impl Shim {
    /// Compiles the library into a directory, which has to stay while it is used.
    ///
    /// # Errors
    ///
    /// A sentence, where there is no C compiler or it does not like the library.
    pub fn build(directory: impl AsRef<Path>) -> Result<Self, String> {
        let directory = directory.as_ref();
        // Each shim has its own file: tests of several crates run at once.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| directory.join(format!("wayleave-faults-{}-{number}{end}", std::process::id()));
        let (source, library) = (name(".c"), name(".so"));
        fs::write(&source, include_str!("shim.c")).map_err(|error| format!("writing {}: {error}", source.display()))?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| OsStr::new("cc").to_owned());
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&library).arg(&source).args(["-ldl", "-lpthread"]);
        let output = command.output().map_err(|error| {
            format!("{} does not run ({error}): tests with faults need a C compiler", compiler.display())
        })?;
        drop(fs::remove_file(&source));
        if output.status.success() {
            Ok(Self { library })
        } else {
            Err(format!("compiling the library for faults failed:\n{}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// Arms a command: this fault happens to calls on files whose path contains this text.
    ///
    /// A trace and another fault can be had together: arm the command with both.
    pub fn preload<'a>(&self, command: &'a mut Command, watch: &str, fault: &WriteFault) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("WAYLEAVE_FAULTS_WATCH", watch);
        let (at, what) = match fault {
            WriteFault::None => return command,
            WriteFault::Trace(path) => return command.env("WAYLEAVE_FAULTS_TRACE", path),
            WriteFault::KillBefore(at) => (at, "before"),
            WriteFault::KillHalf(at) => (at, "half"),
            WriteFault::KillAfter(at) => (at, "after"),
            WriteFault::Fail(at, errno) => (at, errno.name()),
        };
        command.env("WAYLEAVE_FAULTS_AT", at.to_string()).env("WAYLEAVE_FAULTS_DO", what)
    }

    /// Lets no call on files whose path contains this text count or fail.
    pub fn except<'a>(&self, command: &'a mut Command, text: &str) -> &'a mut Command {
        command.env("WAYLEAVE_FAULTS_EXCEPT", text)
    }

    /// Lets calls count, and fail, only while this file is there: a fault that comes later, or passes.
    pub fn only_while<'a>(&self, command: &'a mut Command, gate: &Path) -> &'a mut Command {
        command.env("WAYLEAVE_FAULTS_WHILE", gate)
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.library));
    }
}
