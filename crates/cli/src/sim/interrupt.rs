//! Ctrl-C: the first one asks runs to stop, the second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::failure::Failure;

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether somebody wants the runs to end.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Ends the runs, as Ctrl-C does.
pub(crate) fn stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// Listens to Ctrl-C and to the requests to end that a system sends.
pub(crate) fn listen() -> Result<(), Failure> {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Stopped as u8));
        }
        eprintln!("stopping; once more to stop at once, without results");
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Internal(format!("Ctrl-C cannot be listened to: {error}")))
}
