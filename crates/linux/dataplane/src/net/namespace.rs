//! Network namespaces by name, as iproute2 keeps them.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns};

use super::error::NetError;

/// Folder in which iproute2 keeps the names of namespaces.
const FOLDER: &str = "/run/netns";
/// The longest name: that of a file.
const MAX_NAME: usize = 255;

/// A network namespace: one with a name, or the one that this process runs in.
#[derive(Clone, Debug)]
pub struct Namespace {
    named: Option<(String, Arc<File>)>,
}

impl Namespace {
    /// The namespace of this process.
    pub const fn current() -> Self {
        Self { named: None }
    }

    /// Opens the namespace of this name. It stays usable while this value lives, even after its name is removed.
    ///
    /// # Errors
    /// If there is none, or the name is invalid.
    pub fn open(name: &str) -> Result<Self, NetError> {
        check_name(name)?;
        let file = File::open(Self::path(name))
            .map_err(|error| NetError::io(format!("cannot open network namespace {name}"), error))?;
        Ok(Self { named: Some((name.to_owned(), Arc::new(file))) })
    }

    /// Returns `true` if a namespace of this name, or the rest of one, exists.
    pub fn exists(name: &str) -> bool {
        Self::path(name).exists()
    }

    /// The names of all.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn list() -> Result<Vec<String>, NetError> {
        let entries = match std::fs::read_dir(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(NetError::io(format!("{FOLDER} cannot be read"), error)),
            Ok(entries) => entries,
        };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// The file that represents a namespace.
    pub fn path(name: &str) -> PathBuf {
        Path::new(FOLDER).join(name)
    }

    /// Its name; `None` for that of this process.
    pub fn name(&self) -> Option<&str> {
        self.named.as_ref().map(|(name, _)| name.as_str())
    }

    /// As messages call it.
    pub fn place(&self) -> String {
        self.name()
            .map_or_else(|| "the network namespace of this process".to_owned(), |name| format!("namespace {name}"))
    }

    /// Moves the calling thread into it, for good. Sockets that the thread opens from now on belong there.
    ///
    /// # Errors
    /// If root is missing.
    pub fn enter(&self) -> Result<(), NetError> {
        let Some((name, file)) = &self.named else { return Ok(()) };
        setns(file.as_ref(), CloneFlags::CLONE_NEWNET)
            .map_err(|error| NetError::io(format!("cannot enter network namespace {name}"), error))
    }

    /// Runs `work` inside the namespace, in a thread of its own; the caller's thread stays where it is.
    ///
    /// # Errors
    /// If it cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        if self.named.is_none() {
            return Ok(work());
        }
        let inside = || {
            self.enter()?;
            Ok(work())
        };
        thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Starts a program inside the namespace.
    ///
    /// # Errors
    /// If it cannot be entered, or the program cannot be started.
    pub fn spawn(&self, command: &mut Command) -> Result<io::Result<Child>, NetError> {
        self.run(|| command.spawn())
    }
}

pub(super) fn check_name(name: &str) -> Result<(), NetError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fine) || name.starts_with(['.', '-']) {
        let expected = "1 to 255 letters, digits, and - _ . (not . or - at its start)";
        return Err(NetError::Name { what: "a network namespace", name: name.to_owned(), expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_leave_the_folder_or_split_a_line_are_refused() {
        for name in ["", ".", "../x", "a b", "a\nb", "-all", "ä", &"x".repeat(256)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["wl-lab1-pod1-edge1", "a.b_c", &"x".repeat(255)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_missing_namespace_is_named() {
        let error = Namespace::open("wl-nobody-made-this").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("cannot open network namespace wl-nobody-made-this"), "{error}");
    }
}
