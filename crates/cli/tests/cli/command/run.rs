//! Runs of the program to their end, and files for them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Files and output of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// That it ended with a code, and did not panic.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// Runs `wayleave` with arguments separated by spaces.
pub(crate) fn wayleave(arguments: &str) -> Run {
    fed(arguments, "")
}

/// The same with a text on its standard input.
pub(crate) fn fed(arguments: &str, input: &str) -> Run {
    run_in(&[], arguments, input)
}

/// The same with variables in its environment.
pub(crate) fn run_in(environment: &[(&str, &str)], arguments: &str, input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(arguments.split_whitespace())
        .env_remove("COLUMNS")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that stops early does not read what it is fed.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Writes a file for a test and returns its path: one folder for each content, and never seen half written, since
/// tests that run side by side use the same names.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let content = content.as_ref();
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{:016x}", hasher.finish()));
    std::fs::create_dir_all(&folder).unwrap();
    let half = folder.join(format!("{name}.{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&half, content).unwrap();
    let path = folder.join(name);
    std::fs::rename(&half, &path).unwrap();
    path.to_str().unwrap().to_owned()
}
