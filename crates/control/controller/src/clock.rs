//! The clocks of a controller, passed in by its driver.

use serde::{Deserialize, Serialize};
use wayleave_units::{Time, WallTime};

/// Readings of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// Since this controller was loaded, by a clock that is never set: how long things are held and waited for.
    pub steady: Time,
    /// Calendar time, by which contracts start and end. It may jump, and is then distrusted.
    pub wall: WallTime,
}

/// Uptime of a machine. Times of one boot can be compared, independently of changes of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uptime {
    /// The boot: both halves of its id.
    pub boot: (u64, u64),
    /// Nanoseconds since then, sleep of the machine included.
    pub nanos: u64,
}

impl Uptime {
    /// Time that has passed since an earlier moment; `None` if that was in another boot.
    pub fn since(&self, earlier: &Self) -> Option<Time> {
        (self.boot == earlier.boot).then(|| self.nanos.checked_sub(earlier.nanos).map(Time::from_nanos)).flatten()
    }

    /// Returns the uptime increased by `by`.
    #[must_use]
    pub fn later(self, by: Time) -> Self {
        Self { nanos: self.nanos.saturating_add(by.as_nanos()), ..self }
    }
}
