//! Ctrl-C: while a command has results, the first one asks it to end early and keep them, and the second one ends the
//! program at once. Without results the first one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use wayleave::Cancel;

use crate::exit::Exit;
use crate::failure::Failure;

/// Results exist that a cancellation keeps.
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// Ends operations on Ctrl-C, or when the system asks the program to end. Partial results are kept.
pub(crate) fn listen() -> Result<Cancel, Failure> {
    results_begin();
    handle()
}

/// Ends the program on Ctrl-C with a message and the exit code of a stopped command, until [`results_begin`] is called.
/// From then on it ends operations, as [`listen`] does.
pub(crate) fn end_without_results() -> Result<Cancel, Failure> {
    handle()
}

/// Keeps results from now on: they exist, or are being written.
pub(crate) fn results_begin() {
    HAS_RESULTS.store(true, Ordering::Relaxed);
}

fn handle() -> Result<Cancel, Failure> {
    let cancel = Cancel::default();
    let asked = cancel.clone();
    let handler = move || {
        if !HAS_RESULTS.load(Ordering::Relaxed) {
            crate::output::tell!("{}", Failure::Stopped);
            exit();
        }
        if asked.cancel_again() {
            exit();
        }
        crate::output::tell!("stopping; press Ctrl-C again to stop at once, without results");
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Internal(format!("cannot handle Ctrl-C: {error}")))?;
    Ok(cancel)
}

fn exit() {
    std::process::exit(i32::from(Exit::Stopped as u8));
}
