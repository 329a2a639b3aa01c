//! The writer is killed before, in the middle of, and after each of its calls; or calls fail.

use std::process::Output;

use super::factor;
use super::writer::{acknowledged, command};
use crate::common::Scratch;
use wayleave_faults::{Errno, Shim, TraceStep, TracedCall, WriteFault, read};

const BATCHES: u64 = 5;

fn shim() -> Shim {
    Shim::build(env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"))
}

/// The calls of a run in which nothing fails.
fn calls(shim: &Shim) -> Vec<TraceStep> {
    let scratch = Scratch::new();
    let trace = scratch.path("trace");
    let output = run(shim, &scratch, &WriteFault::Trace(trace.clone()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(acknowledged(&scratch.path("")), (0..=BATCHES).collect::<Vec<_>>());
    let calls = read(&trace).unwrap();
    assert!(
        calls.iter().filter(|step| step.call == TracedCall::Sync).count() > 2 * BATCHES as usize,
        "{}",
        calls.len()
    );
    calls
}

fn run(shim: &Shim, scratch: &Scratch, fault: &WriteFault) -> Output {
    shim.preload(&mut command(&scratch.path(""), BATCHES), "ledger.db", fault).output().unwrap()
}

/// Starts the writer with the files that a fault has left: every acknowledged batch is present, perhaps one batch
/// more, and the writer completes its run.
fn check(shim: &Shim, scratch: &Scratch, fault: &WriteFault) {
    let before = acknowledged(&scratch.path(""));
    let output = run(shim, scratch, &WriteFault::None);
    assert!(output.status.success(), "{fault:?}: {}", String::from_utf8_lossy(&output.stderr));
    let (last, all) = (before.last().copied().unwrap_or(0), acknowledged(&scratch.path("")));
    let found = all[before.len()];
    assert!(found == last || found == last + 1, "{fault:?}: {found} is there, not {last}");
    assert_eq!(all.last(), Some(&BATCHES), "{fault:?}");
}

#[test]
fn a_kill_at_any_write_or_sync_loses_no_acknowledged_commit() {
    let shim = shim();
    let calls = calls(&shim);
    let mut faults = Vec::new();
    for (at, step) in (1..).zip(&calls) {
        faults.push(WriteFault::KillBefore(at));
        match step.call {
            TracedCall::Write(..) => faults.push(WriteFault::KillHalf(at)),
            // For files, after a call equals before the next; with a factor it is tried nevertheless.
            _ if factor() > 1 => faults.push(WriteFault::KillAfter(at)),
            _ => {}
        }
    }
    faults.push(WriteFault::KillAfter(calls.len() as u64));
    for fault in &faults {
        let scratch = Scratch::new();
        let output = run(&shim, &scratch, fault);
        assert!(output.status.code().is_none(), "{fault:?}: the writer was not killed: {output:?}");
        check(&shim, &scratch, fault);
    }
    println!("{} kills at {} calls of {BATCHES} batches", faults.len(), calls.len());
}

#[test]
fn persistent_call_failures_lose_nothing_and_give_a_reason() {
    let shim = shim();
    let calls = calls(&shim);
    let stride = (5 / factor()).max(1);
    let mut failures = 0;
    for (start, errno) in [(1, Errno::NoSpace), (2, Errno::Io), (4, Errno::ReadOnly)] {
        // The last call removes the log, which is empty by then: its failure is harmless.
        for at in (start..calls.len()).step_by(stride) {
            let fault = WriteFault::Fail(at as u64, errno);
            let scratch = Scratch::new();
            let output = run(&shim, &scratch, &fault);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{fault:?} at {:?}: {message}", calls[at - 1].path);
            let expected: &[&str] = match errno {
                // SQLite does not report the reason of a failed sync.
                Errno::NoSpace => &["no space is left for", "syncing", "removing", "cutting", "unable to open"],
                Errno::Io => &[" failed: "],
                Errno::ReadOnly => &["cannot be written", " failed: "],
            };
            assert!(expected.iter().any(|text| message.contains(text)), "{fault:?}: {message}");
            println!("{at} {}", message.trim());
            check(&shim, &scratch, &fault);
            failures += 1;
        }
    }
    println!("{failures} failures at {} calls", calls.len());
}
