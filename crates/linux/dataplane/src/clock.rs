//! The clock by which programs time packets, and its comparison with that of another machine.

use std::io;

use nix::time::{ClockId, clock_gettime};
use wayleave_units::Time;

use crate::sys;

/// Changes at every start of the kernel.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The kernel's clock that counts from its start (CLOCK_MONOTONIC).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Identifier of this boot of the kernel: equal identifiers mean one clock.
    pub boot: String,
    /// Offset of the time of day from this clock.
    pub ahead: Time,
    /// Maximum error of the time of day, as set in the kernel by the program that synchronizes it; `None` where none
    /// does.
    pub error: Option<Time>,
}

impl Clock {
    /// Reads the clock.
    ///
    /// # Errors
    /// If the kernel does not return it.
    pub fn now() -> io::Result<Self> {
        let boot = std::fs::read_to_string(BOOT)?.trim().to_owned();
        let of = |clock: ClockId| {
            let time = clock_gettime(clock)?;
            let nanos = i128::from(time.tv_sec()) * 1_000_000_000 + i128::from(time.tv_nsec());
            io::Result::Ok(nanos)
        };
        // Between these two lines the thread may have to wait, which makes the difference too small. Of three the largest is nearly right.
        let mut ahead = 0;
        for _ in 0..3 {
            let day = of(ClockId::CLOCK_REALTIME)?;
            ahead = ahead.max(day - of(ClockId::CLOCK_MONOTONIC)?);
        }
        let error = sys::clock_error_us()?.map(Time::from_micros);
        Ok(Self { boot, ahead: Time::from_nanos(u64::try_from(ahead).unwrap_or(0)), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_kernel_have_one_clock() {
        let (one, other) = (Clock::now().unwrap(), Clock::now().unwrap());
        assert_eq!(one.boot, other.boot);
        assert!(one.boot.len() >= 32, "{one:?}");
        assert!(one.ahead > Time::ZERO, "the time of day is that since 1970");
    }
}
