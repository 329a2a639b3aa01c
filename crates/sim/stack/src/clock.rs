//! The stack's clock: whole picoseconds, so that a token bucket of any rate is exact. Roles count nanoseconds.

use wayleave_units::Time;

/// Picoseconds in a second.
pub const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in time, in ps since the driver began.
pub type Instant = u64;

/// A time that does not come.
pub const NEVER: Instant = Instant::MAX;

/// A time of the roles as the stack counts it.
pub const fn from_time(time: Time) -> Instant {
    time.as_nanos().saturating_mul(1_000)
}

/// A time of the stack as roles count it, rounded down.
pub const fn to_time(instant: Instant) -> Time {
    Time::from_nanos(instant / 1_000)
}
