//! Messages over a stream: each as long as its first bytes say, by the codec of the scheme.

use std::io::{ErrorKind, Read};
use std::time::Instant;

use wayleave_schemes::edges::{AnyMessage, EdgeScheme};

use super::Stop;

/// Why there is no message.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The other end has closed.
    Closed,
    /// The broker ends.
    Stopped,
    /// Nothing whole came until the time.
    Late,
    /// What came is no message: the stream cannot be read any further.
    Wrong(String),
}

/// Reads messages from a stream that gives up waiting now and then, so that this can see whether it has to end.
pub(super) struct Messages<'a, R> {
    stream: R,
    scheme: &'a EdgeScheme,
    stop: &'a Stop,
    /// What came and was no whole message yet.
    bytes: Vec<u8>,
}

impl<'a, R: Read> Messages<'a, R> {
    pub(super) fn new(stream: R, scheme: &'a EdgeScheme, stop: &'a Stop) -> Self {
        Self { stream, scheme, stop, bytes: Vec::new() }
    }

    /// The next message, if it comes until then; whenever it comes, if no time is given.
    pub(super) fn next(&mut self, until: Option<Instant>) -> Result<AnyMessage, ReadError> {
        let mut chunk = [0; 4_096];
        loop {
            // A scheme refuses lengths that none of its messages has, so memory is bounded.
            let length = self.scheme.length(&self.bytes).map_err(|error| ReadError::Wrong(error.to_string()))?;
            if let Some(length) = length.filter(|&length| length <= self.bytes.len()) {
                let rest = self.bytes.split_off(length);
                let message = std::mem::replace(&mut self.bytes, rest);
                return self.scheme.decode(&message).map_err(|error| ReadError::Wrong(error.to_string()));
            }
            if self.stop.is_stopped() {
                return Err(ReadError::Stopped);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(ReadError::Late);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ReadError::Closed),
                Ok(read) => self.bytes.extend_from_slice(&chunk[..read]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                }
                Err(error) => return Err(ReadError::Wrong(error.to_string())),
            }
        }
    }
}
