//! Time as the kernel stamps packets, and threads that get the processor when they need it.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::gettid;

/// Nanoseconds of the clock with which the kernel stamps what it receives (`SO_TIMESTAMPNS`): that of the calendar.
pub(crate) fn stamp() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// How far that clock is ahead of the steady one. It changes when somebody sets the clock, and then delays mean nothing.
pub(crate) fn offset() -> i128 {
    i128::from(stamp()) - i128::from(read(ClockId::CLOCK_MONOTONIC))
}

fn read(clock: ClockId) -> u64 {
    // These clocks are on every Linux, and never before 1970.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Sleeps until a time of [`stamp`].
pub(crate) fn sleep_until(time: u64) {
    let now = stamp();
    if time > now {
        sleep(Duration::from_nanos(time - now));
    }
}

/// Lets this thread go before all ordinary ones (`SCHED_FIFO`, by `chrt` of util-linux). Answers whether it worked: without it, a thread that
/// measures also measures how busy the machine is.
pub(crate) fn hurry(priority: u8) -> bool {
    let mut command = Command::new("chrt");
    command.args(["--fifo", "--pid", &priority.to_string(), &gettid().to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
