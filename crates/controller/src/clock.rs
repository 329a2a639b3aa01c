//! The two clocks that a controller is told.

use wayleave_units::{Time, WallTime};

/// What time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since this controller was loaded, by a clock that is never set: how long things are held and waited for.
    pub steady: Time,
    /// By the calendar: when contracts start and end. It may jump; it is doubted then.
    pub wall: WallTime,
}
