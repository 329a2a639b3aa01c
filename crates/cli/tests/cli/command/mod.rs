//! The real binary, run as a person would.

mod agent_init;
mod aliases;
mod alike;
mod analyze;
mod assumptions;
mod bad_input;
mod bench;
mod client;
mod documents;
mod explain;
mod export_config;
mod graphs;
mod hostile;
mod kinds;
mod log_text;
mod plan;
mod planned;
mod policy;
mod proof;
mod protection;
mod prune;
mod recheck;
mod regressions;
mod replay;
mod rollback;
mod schemes;
mod serve;
mod shares;
mod sim;
mod size;
mod topology;
mod toys;
mod tune;
mod usage;
mod verify;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run left behind.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The standard output as JSON.
    fn json(&self) -> serde_json::Value {
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
fn fed(arguments: &str, input: &str) -> Run {
    run_in(&[], arguments, input)
}

/// The same with variables in its environment.
fn run_in(environment: &[(&str, &str)], arguments: &str, input: &str) -> Run {
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

/// A contracts document with these items.
fn contracts(items: &[&str]) -> String {
    let items: String = items.iter().map(|item| format!("    - {{ {item} }}\n")).collect();
    format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{items}")
}

/// A list of random requests, as `wayleave generate contracts` writes it.
fn requests(name: &str, topology: &str, scenario: u32, count: u32) -> String {
    let run = wayleave(&format!("generate contracts -t {topology} --scenario {scenario} --count {count}")).ends_with(0);
    file(name, run.stdout)
}
