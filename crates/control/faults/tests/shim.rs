//! The library causes the requested faults in a shell.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use wayleave_faults::{Errno, Shim, TraceStep, TracedCall, WriteFault, read};
use wayleave_repo_checks::TempFolder;

const KILLED: Option<i32> = Some(9);

/// A shell that writes two lines to `watched` and one to `other`.
fn run(shim: &Shim, directory: &Path, fault: &WriteFault) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "echo other > other; exec > watched; echo one; echo two"]).current_dir(directory);
    shim.preload(&mut command, "watched", fault).output().unwrap()
}

#[test]
fn calls_on_watched_files_are_counted_killed_and_refused() {
    let directory = TempFolder::new("shell");
    let shim = Shim::build(&directory).unwrap();
    let trace = directory.join("trace");
    assert!(run(&shim, &directory, &WriteFault::Trace(trace.clone())).status.success());
    let calls: Vec<TracedCall> = read(&trace).unwrap().into_iter().map(|TraceStep { call, .. }| call).collect();
    assert_eq!(
        calls,
        [TracedCall::Create, TracedCall::Write(0, b"one\n".to_vec()), TracedCall::Write(4, b"two\n".to_vec())]
    );
    for (fault, signal, left) in [
        (WriteFault::None, None, Some("one\ntwo\n")),
        (WriteFault::KillBefore(1), KILLED, None),
        (WriteFault::KillAfter(1), KILLED, Some("")),
        (WriteFault::KillBefore(3), KILLED, Some("one\n")),
        (WriteFault::KillHalf(3), KILLED, Some("one\ntw")),
        (WriteFault::KillAfter(3), KILLED, Some("one\ntwo\n")),
        (WriteFault::KillBefore(4), None, Some("one\ntwo\n")),
        (WriteFault::Fail(2, Errno::NoSpace), None, Some("")),
        (WriteFault::Fail(3, Errno::Io), None, Some("one\n")),
    ] {
        drop(fs::remove_file(directory.join("watched")));
        let output = run(&shim, &directory, &fault);
        assert_eq!(output.status.signal(), signal, "{fault:?}");
        assert_eq!(fs::read_to_string(directory.join("watched")).ok().as_deref(), left, "{fault:?}");
        assert_eq!(fs::read_to_string(directory.join("other")).unwrap(), "other\n", "{fault:?}");
        if matches!(fault, WriteFault::Fail(..)) {
            assert!(!output.status.success() && !output.stderr.is_empty(), "{fault:?}");
        }
    }
}

#[test]
fn calls_fail_only_while_the_gate_file_exists() {
    let directory = TempFolder::new("gate");
    let shim = Shim::build(&directory).unwrap();
    fs::write(directory.join("gate"), "").unwrap();
    fs::write(directory.join("watched"), "").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "exec >> watched; echo one; rm gate; echo two"]).current_dir(&directory);
    shim.only_while(&mut command, &directory.join("gate"));
    let output = shim.preload(&mut command, "watched", &WriteFault::Fail(1, Errno::NoSpace)).output().unwrap();
    assert!(!output.stderr.is_empty());
    assert!(fs::read_to_string(directory.join("watched")).unwrap().ends_with("two\n"));
}

#[test]
fn a_malformed_trace_is_refused() {
    let directory = TempFolder::new("trace");
    let file = directory.join("file");
    fs::write(&file, [b'x'; 100]).unwrap();
    // Lengths as large as these are the end of a trace that was cut off.
    assert_eq!(read(&file).unwrap(), []);
    fs::write(&file, [&b"x"[..], &[0; 24]].concat()).unwrap();
    assert!(read(&file).unwrap_err().contains("is not a trace"));
    assert!(read(&directory.join("nothing")).unwrap_err().contains("reading"));
}
