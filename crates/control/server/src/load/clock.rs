//! The clock by which reports arrive and measurements are recorded.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use wayleave_units::WallTime;

use crate::clock::wall;

/// The time of an event by the steady clock and by the calendar.
pub(crate) type Moment = (Instant, WallTime);

/// A clock of this machine, or of a caller.
#[derive(Debug)]
pub(crate) struct RecordClock {
    /// Time zero of [`RecordClock::steady`].
    base: Instant,
    /// The first and the present time of a caller.
    caller: Mutex<Option<(WallTime, WallTime)>>,
    started: OnceLock<WallTime>,
}

impl RecordClock {
    pub(crate) fn new() -> Self {
        Self { base: Instant::now(), caller: Mutex::default(), started: OnceLock::new() }
    }

    /// Sets the time. From now on, it advances only by this function.
    pub(crate) fn set(&self, now: WallTime) {
        let mut caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let first = caller.map_or(now, |(first, _)| first);
        *caller = Some((first, now));
    }

    /// Returns the present time. The first call is the start of the record of this process.
    pub(crate) fn now(&self) -> Moment {
        let moment = match *self.caller.lock().unwrap_or_else(PoisonError::into_inner) {
            None => (Instant::now(), wall()),
            Some((first, now)) => {
                let passed = now.as_nanos().saturating_sub(first.as_nanos());
                (self.base + Duration::from_nanos(passed), now)
            }
        };
        self.started.get_or_init(|| moment.1);
        moment
    }

    /// Returns the time since the creation of this clock.
    pub(crate) fn steady(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.base)
    }

    /// Returns the start of the record of this process, in seconds since 1970; 0 before it.
    pub(crate) fn started(&self) -> u64 {
        self.started.get().map_or(0, |started| started.as_nanos().div_ceil(1_000_000_000))
    }
}
