//! The clocks of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use wayleave_controller::Uptime;
use wayleave_units::WallTime;

/// The time of the calendar.
pub(crate) fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Nanoseconds since this machine was started. The time advances while the process is paused and while the machine
/// sleeps.
pub(crate) fn boottime() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Uptime of this machine, if the kernel names its boot.
pub(crate) fn uptime() -> Option<Uptime> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |at: usize| u64::from_str_radix(digits.get(at..at + 16)?, 16).ok();
    Some(Uptime { boot: (half(0)?, half(16)?), nanos: boottime() })
}
