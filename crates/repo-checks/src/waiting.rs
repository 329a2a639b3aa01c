//! Waiting for other processes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time after which a test fails. A busy machine needs seconds.
const LIMIT: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value, and returns it.
///
/// # Panics
/// After two minutes, with the description.
#[allow(clippy::panic, reason = "it is an assertion of tests")]
pub fn wait_for<T>(description: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "{description}: not within {LIMIT:?}");
        sleep(INTERVAL);
    }
}

/// Polls until a condition holds.
///
/// # Panics
/// After two minutes, with the description.
pub fn wait_until(description: &str, mut holds: impl FnMut() -> bool) {
    wait_for(description, || holds().then_some(()));
}
