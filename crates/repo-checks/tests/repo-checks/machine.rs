//! The agent's state machine has no clock, no socket, no thread and no file: it receives all input as arguments.
//!
//! Crates are separated by their manifests (`arrows.rs`). This one is a module among others, so its sources are read:
//! every name that they use from the standard library, from this workspace or from their own crate has to be in the
//! lists below.

use crate::repository::{File, files};

const FOLDER: &str = "crates/linux/agent/src/machine/";
/// Modules and macros of the standard library.
const STANDARD: &[&str] = &["collections", "error", "fmt", "iter", "matches", "mem"];
/// Crates of this workspace.
const CRATES: &[&str] = &["wayleave_protocol", "wayleave_units"];

/// Everything that these sources name and should not.
fn faults(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.path.starts_with(FOLDER)) {
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for name in foreign(code) {
                faults
                    .push(format!("{path}:{number} uses {name}: the state machine gets what it needs as an argument"));
            }
        }
    }
    faults
}

fn foreign(code: &str) -> Vec<String> {
    let names = code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'));
    let mut found = Vec::new();
    for path in names {
        let parts: Vec<&str> = path.split("::").collect();
        let is_foreign = match parts[..] {
            // `use std::{...}` hides what comes: one `use` for each module.
            ["std" | "core" | "alloc", next, ..] => !STANDARD.contains(&next),
            ["crate", ..] | ["super", "super", ..] => true,
            [first, _, ..] => (first.starts_with("wayleave_") || is_crate(first)) && !CRATES.contains(&first),
            _ => false,
        };
        if is_foreign {
            found.push(path.to_owned());
        }
    }
    found
}

/// Crates of others that have clocks, sockets or logs.
fn is_crate(name: &str) -> bool {
    ["libc", "nix", "tokio", "tracing", "ureq"].contains(&name)
}

#[test]
fn the_state_machine_of_agents_is_pure() {
    let files = files().unwrap();
    let count = files.iter().filter(|file| file.path.starts_with(FOLDER)).count();
    assert!(count >= 4, "{FOLDER} has {count} files: where has the state machine gone?");
    let faults = faults(&files);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn found(line: &str) -> usize {
    faults(&[File { path: format!("{FOLDER}agent.rs"), text: line.to_owned() }]).len()
}

#[test]
fn a_clock_a_socket_or_another_module_is_refused() {
    for line in [
        "use std::time::Instant;",
        "use std::net::TcpStream;",
        "let now = std::time::SystemTime::now();",
        "std::thread::sleep(pause);",
        "use std::{fs, io};",
        "use crate::worker::Worker;",
        "use super::super::linux;",
        "use wayleave_controller::Controller;",
        "tracing::info!(\"done\");",
    ] {
        assert_eq!(found(line), 1, "{line}");
    }
}

#[test]
fn collections_messages_and_comments_pass() {
    for line in [
        "use std::collections::BTreeMap;",
        "use wayleave_protocol::agent::Rule;",
        "use super::driver::{Driver, NotDone};",
        "std::mem::take(&mut self.requests)",
        "// std::time::Instant is for the driver",
        "impl std::error::Error for NotDone {}",
    ] {
        assert_eq!(found(line), 0, "{line}");
    }
    let elsewhere =
        File { path: "crates/linux/agent/src/worker.rs".to_owned(), text: "use std::time::Instant;".to_owned() };
    assert_eq!(faults(&[elsewhere]), [""; 0]);
}
