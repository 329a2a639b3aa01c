//! Connection to the rack broker of this machine: a socket for reports of the tenants' traffic and for their limits
//! (Parley, 2014, 5.2).
//!
//! The lines are those between a broker and any data plane ([`wayleave_broker::process`]), with the names of tenants
//! in the place of services. A broker that does not read, or does not end a line, is disconnected; a new one replaces
//! the previous one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wayleave_broker::process::{LimitsLine, ReportLine};
use wayleave_units::{Rate, Time};

use super::division::TenantAllowance;

/// The longest line that is read.
const LONGEST: u64 = 1 << 20;
/// Maximum number of lines that are not yet processed.
const MAX_UNREAD: usize = 16;

/// Validity of limits after they are received: Parley's time-out of rack brokers (Table 1).
pub const TIMEOUT: Time = Time::from_millis(5_000);

/// The broker that is connected, if one is.
#[derive(Debug, Default)]
pub struct Connection(Mutex<Option<UnixStream>>);

impl Connection {
    fn stream(&self) -> std::sync::MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a report of the tenants' traffic, without ever waiting for the broker.
    pub fn send_report(&self, line: &ReportLine) {
        let mut stream = self.stream();
        let Some(open) = stream.as_mut() else { return };
        let Ok(mut text) = serde_json::to_vec(line) else { return };
        text.push(b'\n');
        // A line that is cut would spoil the next one.
        if let Err(error) = open.write_all(&text) {
            // The end of a connection has already been logged.
            if error.kind() != io::ErrorKind::BrokenPipe {
                tracing::warn!("the rack broker does not read its limits: closing the connection");
            }
            let _ = open.shutdown(Shutdown::Both);
            *stream = None;
        }
    }

    /// Returns `true` if a broker is connected.
    pub fn is_open(&self) -> bool {
        self.stream().is_some()
    }
}

/// Counts a line of limits as unprocessed until it is dropped.
#[derive(Debug)]
pub struct UnreadLimits(Arc<AtomicUsize>);

impl Drop for UnreadLimits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket that only the owner of the agent reaches.
///
/// # Errors
/// If it cannot be made.
pub fn open(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Forwards lines of brokers until the receiver ends.
pub fn listen(
    listener: &UnixListener,
    connection: &Arc<Connection>,
    hand_on: impl FnMut(LimitsLine, UnreadLimits) -> bool + Send + Clone + 'static,
) {
    let count = Arc::<AtomicUsize>::default();
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let Ok(message) = stream.try_clone() else { continue };
        // One line a second is far below what a socket holds.
        if stream.set_write_timeout(Some(std::time::Duration::from_millis(1))).is_err() {
            continue;
        }
        if let Some(before) = connection.stream().replace(stream) {
            let _ = before.shutdown(Shutdown::Both);
        }
        tracing::info!("rack broker connected");
        let (count, mut hand_on) = (count.clone(), hand_on.clone());
        std::thread::spawn(move || read(message, &count, &mut hand_on));
    }
}

fn read(stream: UnixStream, count: &Arc<AtomicUsize>, hand_on: &mut impl FnMut(LimitsLine, UnreadLimits) -> bool) {
    let mut lines = BufReader::new(stream);
    let mut thrown = 0_u64;
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(1..) if line.ends_with(b"\n") => {}
            _ => break,
        }
        match serde_json::from_slice::<LimitsLine>(&line) {
            Ok(limits) => {
                let before = count.fetch_add(1, Ordering::Relaxed);
                let unread = UnreadLimits(count.clone());
                if before < MAX_UNREAD && !hand_on(limits, unread) {
                    break;
                }
            }
            Err(error) => {
                if thrown.is_multiple_of(1000) {
                    tracing::warn!("malformed limits from the rack broker: {error}");
                }
                thrown += 1;
            }
        }
    }
    let _ = lines.get_ref().shutdown(Shutdown::Both);
    tracing::info!("rack broker disconnected");
}

/// Returns the limits in a line.
pub fn allowed(line: &LimitsLine) -> BTreeMap<String, TenantAllowance> {
    let rate = |bps: Option<u64>| bps.map(|bps| Rate::from_bits_per_second(bps).min(Rate::MAX));
    let of = |limit: &wayleave_broker::process::ServiceLimit| {
        [rate(limit.transmit_bits_per_second), rate(limit.receive_bits_per_second)]
    };
    line.limits.iter().map(|(tenant, limit)| (tenant.clone(), of(limit))).collect()
}
