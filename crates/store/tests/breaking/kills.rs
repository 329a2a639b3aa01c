//! The writer is killed before, in the middle of, and after each of its calls; or calls fail.

use std::process::Output;

use wayleave_faults::{Call, Errno, Fault, Shim, Step, read};
use wayleave_store::Store;

use super::common::{Scratch, open};
use super::factor;
use super::writer::{acknowledged, batch, batch_of, command};

const BATCHES: u64 = 5;

fn shim() -> Shim {
    Shim::build(env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"))
}

/// The calls of a run in which nothing fails.
fn calls(shim: &Shim) -> Vec<Step> {
    let scratch = Scratch::new();
    let trace = scratch.path("trace");
    let output = run(shim, &scratch, &Fault::Trace(trace.clone()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(acknowledged(&scratch.path("")), BATCHES);
    let calls = read(&trace).unwrap();
    assert!(calls.iter().filter(|step| step.call == Call::Sync).count() > 2 * BATCHES as usize, "{}", calls.len());
    calls
}

fn run(shim: &Shim, scratch: &Scratch, fault: &Fault) -> Output {
    shim.preload(&mut command(&scratch.path(""), BATCHES), "ledger.db", fault).output().unwrap()
}

/// Opens what a fault has left: everything acknowledged is there, perhaps one batch more, and (`on`) it goes on.
fn check(scratch: &Scratch, fault: &Fault, on: bool) {
    let acknowledged = acknowledged(&scratch.path(""));
    let (mut store, records) = open(&scratch.ledger());
    let found = batch_of(&records);
    assert!(found == acknowledged || found == acknowledged + 1, "{fault:?}: {found} is there, not {acknowledged}");
    assert_eq!(store.sequence(), found, "{fault:?}");
    // Syncs take most of the time of this test: a few commits have to do.
    if !on && factor() == 1 {
        return;
    }
    for n in found + 1..=found + 2 {
        assert_eq!(store.commit(&batch(n)), Ok(n), "{fault:?}");
    }
    drop(store);
    assert_eq!(batch_of(&open(&scratch.ledger()).1), found + 2, "{fault:?}");
}

#[test]
fn a_kill_at_any_write_or_sync_loses_nothing_that_was_acknowledged() {
    let shim = shim();
    let calls = calls(&shim);
    let mut faults = Vec::new();
    for (at, step) in (1..).zip(&calls) {
        faults.push(Fault::KillBefore(at));
        match step.call {
            Call::Write(..) => faults.push(Fault::KillHalf(at)),
            // After a call is before the next, as far as files go; with a factor it is tried all the same.
            _ if factor() > 1 => faults.push(Fault::KillAfter(at)),
            _ => {}
        }
    }
    faults.push(Fault::KillAfter(calls.len() as u64));
    for (number, fault) in faults.iter().enumerate() {
        let scratch = Scratch::new();
        let output = run(&shim, &scratch, fault);
        assert!(output.status.code().is_none(), "{fault:?}: the writer was not killed: {output:?}");
        check(&scratch, fault, number % 8 == 0);
    }
    println!("{} kills at {} calls of {BATCHES} batches", faults.len(), calls.len());
}

#[test]
fn calls_that_fail_from_some_point_on_lose_nothing_and_say_why() {
    let shim = shim();
    let calls = calls(&shim);
    let stride = (9 / factor()).max(1);
    let mut failures = 0;
    for (start, errno) in [(1, Errno::NoSpace), (4, Errno::Io), (7, Errno::ReadOnly)] {
        for at in (start..=calls.len()).step_by(stride) {
            let fault = Fault::Fail(at as u64, errno);
            let scratch = Scratch::new();
            let output = run(&shim, &scratch, &fault);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{fault:?} at {:?}: {message}", calls[at - 1].path);
            let expected: &[&str] = match errno {
                // SQLite does not say why a sync failed.
                Errno::NoSpace => &["no space is left for", "syncing", "removing", "cutting", "unable to open"],
                Errno::Io => &[" failed: "],
                Errno::ReadOnly => &["cannot be written", " failed: "],
            };
            assert!(expected.iter().any(|text| message.contains(text)), "{fault:?}: {message}");
            println!("{at} {}", message.trim());
            check(&scratch, &fault, at % 8 == 0);
            failures += 1;
        }
    }
    println!("{failures} failures at {} calls", calls.len());
}
