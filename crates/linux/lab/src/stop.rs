//! Being asked to stop: Ctrl-C while a lab is made or used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::LabError;

/// Maximum time until a request to stop is noticed.
const NOTICED: Duration = Duration::from_millis(20);

/// Flag that is set once the user asks to stop. Copies share the flag.
#[derive(Clone, Debug, Default)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Asked by setting this flag.
    pub const fn of(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns `true` if the user has asked to stop.
    pub fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Checks the flag.
    ///
    /// # Errors
    /// If the user has asked to stop.
    pub fn check(&self) -> Result<(), LabError> {
        if self.is_asked() { Err(LabError::Stopped) } else { Ok(()) }
    }

    /// Sleeps until `then` or until the user asks to stop; returns `false` in the latter case.
    pub fn sleep_until(&self, then: Instant) -> bool {
        while !self.is_asked() {
            let left = then.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            sleep(left.min(NOTICED));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_request_interrupts_sleep() {
        let stop = StopRequest::default();
        assert!(stop.sleep_until(Instant::now()));
        stop.clone().ask();
        assert!(!stop.sleep_until(Instant::now() + Duration::from_secs(1_000_000)));
        assert!(matches!(stop.check(), Err(LabError::Stopped)));
    }
}
