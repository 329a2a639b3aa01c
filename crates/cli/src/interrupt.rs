//! Ctrl-C: the first one asks operations to end early, the second one ends the program at once.

use wayleave::Cancel;

use crate::exit::Exit;
use crate::failure::Failure;

/// Ends operations on Ctrl-C, or when the system asks the program to end.
pub(crate) fn listen() -> Result<Cancel, Failure> {
    let cancel = Cancel::default();
    let asked = cancel.clone();
    let handler = move || {
        if asked.cancel_again() {
            std::process::exit(i32::from(Exit::Stopped as u8));
        }
        crate::output::tell!("stopping; press Ctrl-C again to stop at once, without results");
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Internal(format!("cannot handle Ctrl-C: {error}")))?;
    Ok(cancel)
}
