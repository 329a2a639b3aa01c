//! The connection of a machine's broker to that of the fabric: opened for the first message, and reopened after a
//! failure.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use wayleave_schemes::hosts::AnyMessage;

use super::seal::Seal;
use super::stream::{Messages, ReadError};
use super::{StopSignal, TURN};
use crate::BrokerConfig;

/// The longest time to wait for a connection, or for a word over one: after that the next message is more useful on a new one.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Writes outgoing messages and reads incoming ones, until `on_message` returns `false`. Nothing is repeated: the next
/// message replaces a lost one.
pub(super) fn speak(
    setup: &Arc<BrokerConfig>,
    seal: Option<&Arc<Seal>>,
    address: SocketAddr,
    outbox: &Receiver<Vec<u8>>,
    on_message: impl Fn(AnyMessage) -> bool + Clone + Send + 'static,
    stop: &StopSignal,
) {
    let mut link: Option<Link> = None;
    let is_reported = Arc::new(AtomicBool::new(false));
    while !stop.is_stopped() {
        let bytes = match outbox.recv_timeout(TURN) {
            Ok(bytes) => bytes,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let old = link.take().filter(Link::is_good);
        let is_old = old.is_some();
        let open = || {
            Link::open(
                Arc::clone(setup),
                seal.cloned(),
                address,
                on_message.clone(),
                stop.clone(),
                Arc::clone(&is_reported),
            )
        };
        let mut wrote = old.map_or_else(open, Ok).and_then(|link| link.write(&bytes));
        if wrote.is_err() && is_old {
            // The broker may have begun again since the last message.
            wrote = open().and_then(|link| link.write(&bytes));
        }
        match wrote {
            Ok(open) => link = Some(open),
            Err(error) => warn(address, &is_reported, &error.to_string()),
        }
    }
}

/// Logs an error once, until the next message arrives.
fn warn(address: SocketAddr, is_reported: &AtomicBool, error: &str) {
    if !is_reported.swap(true, Ordering::Relaxed) {
        tracing::warn!(%address, "cannot query the fabric broker: {error}; the next query retries");
    }
}

struct Link {
    stream: TcpStream,
    /// Time of the first write since the last message that arrived.
    asked: Option<Instant>,
    link_state: Arc<LinkState>,
}

#[derive(Default)]
struct LinkState {
    /// Something came since the last time that this was asked.
    received: AtomicBool,
    /// The connection has ended.
    end: AtomicBool,
}

impl Link {
    fn open(
        setup: Arc<BrokerConfig>,
        seal: Option<Arc<Seal>>,
        address: SocketAddr,
        on_message: impl Fn(AnyMessage) -> bool + Send + 'static,
        stop: StopSignal,
        is_reported: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_read_timeout(Some(TURN))?;
        let link_state = Arc::new(LinkState::default());
        let (reads, notes) = (stream.try_clone()?, Arc::clone(&link_state));
        // It ends with the connection, or within a turn of the broker.
        std::thread::spawn(move || {
            let mut messages = Messages::new(reads, setup.scheme(), seal.as_deref(), &stop);
            let error = loop {
                match messages.next(None) {
                    Ok((sealer, _)) if sealer.is_some_and(|sealer| Some(sealer) != setup.fabric_broker()) => {
                        break Some("the response is not from the fabric broker".to_owned());
                    }
                    Ok((_, message)) => {
                        notes.received.store(true, Ordering::Relaxed);
                        is_reported.store(false, Ordering::Relaxed);
                        if !on_message(message) {
                            break None;
                        }
                    }
                    Err(ReadError::Wrong(error)) => break Some(error),
                    Err(ReadError::Closed | ReadError::Stopped | ReadError::Late) => break None,
                }
            };
            notes.end.store(true, Ordering::Relaxed);
            if let Some(error) = error {
                warn(address, &is_reported, &error);
            }
        });
        Ok(Self { stream, asked: None, link_state })
    }

    /// Returns `true` if the connection may be written to: it has not ended, and the broker has answered within the
    /// time-out.
    fn is_good(&self) -> bool {
        let has_word = self.link_state.received.load(Ordering::Relaxed);
        let is_silent = !has_word && self.asked.is_some_and(|asked| asked.elapsed() >= TIMEOUT);
        !is_silent && !self.link_state.end.load(Ordering::Relaxed)
    }

    fn write(mut self, bytes: &[u8]) -> io::Result<Self> {
        if self.link_state.received.swap(false, Ordering::Relaxed) {
            self.asked = None;
        }
        self.asked.get_or_insert_with(Instant::now);
        self.stream.write_all(bytes)?;
        self.stream.flush()?;
        Ok(self)
    }
}

impl Drop for Link {
    /// Ends the thread that reads.
    fn drop(&mut self) {
        self.stream.shutdown(Shutdown::Both).ok();
    }
}
