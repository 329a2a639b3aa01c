//! Time as the kernel stamps packets, and threads that get the processor when they need it.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::gettid;

/// Nanoseconds of the clock with which the kernel stamps what it receives (`SO_TIMESTAMPNS`): that of the calendar.
pub(crate) fn stamp() -> u64 {
    // This clock is on every Linux, and never before 1970.
    clock_gettime(ClockId::CLOCK_REALTIME)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
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
