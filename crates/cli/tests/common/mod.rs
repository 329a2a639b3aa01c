//! Helpers of tests with labs: the program without the variables of its settings, and labs that are deleted in the end.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Returns the program with these arguments, separated by spaces.
pub(crate) fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WAYLEAVE_")) {
        command.env_remove(name);
    }
    command.args(arguments.split_whitespace());
    command
}

/// Runs the program to its end.
pub(crate) fn wayleave(arguments: &str) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A lab that is deleted in the end, also by a panic.
pub(crate) struct Lab(pub(crate) String);

impl Lab {
    /// Returns the name of a lab that does not exist yet.
    pub(crate) fn new() -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        Self(format!("c{}n{}", std::process::id(), LABS.fetch_add(1, Relaxed)))
    }

    /// Makes a lab.
    pub(crate) fn up(topology: &str) -> Self {
        let lab = Self::new();
        let up = wayleave(&format!("lab up -f {topology} --name {}", lab.0));
        assert!(up.status.success(), "{}", text(&up.stderr));
        lab
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = wayleave(&format!("lab down --name {}", self.0));
    }
}
