//! Notifications to systemd (sd_notify(3)): the server is ready, is alive, is stopping.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The socket of systemd; none if systemd has not started this process.
pub struct Notify(Option<(UnixDatagram, SocketAddr)>);

impl Notify {
    /// Uses the socket that the environment names.
    pub fn from_environment() -> Self {
        Self(env::var_os("NOTIFY_SOCKET").and_then(|path| {
            let bytes = path.as_bytes();
            let address = match bytes.strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&path),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        }))
    }

    /// Sends a state. That it cannot be sent is no reason to stop.
    pub fn send(&self, state: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }

    /// Returns the interval of watchdog notifications: half of systemd's timeout.
    pub fn watchdog() -> Option<Duration> {
        let micros: u64 = env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
        let is_mine = env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        is_mine.then(|| Duration::from_micros(micros / 2)).filter(|every| !every.is_zero())
    }
}
