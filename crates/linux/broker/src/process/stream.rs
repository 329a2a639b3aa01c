//! Messages over a stream: the codec of the scheme reads the length of each from its first bytes.

use std::io::{ErrorKind, Read};
use std::time::Instant;

use wayleave_scheme_api::BrokerId;
use wayleave_schemes::hosts::{AnyMessage, HostSchemeConfig};

use super::seal::{HEAD, Seal, TAG};
use super::{StopSignal, today};

/// Reason for which there is no message.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The other end has closed.
    Closed,
    /// The broker ends.
    Stopped,
    /// Nothing whole came until the time.
    Late,
    /// The bytes are no message: nothing further can be read from the stream.
    Wrong(String),
}

/// Reads messages from a stream that gives up waiting now and then, so that this can see whether it has to end.
pub(super) struct Messages<'a, R> {
    stream: R,
    scheme: &'a HostSchemeConfig,
    seal: Option<&'a Seal>,
    stop: &'a StopSignal,
    /// Received bytes that are not yet a whole message.
    bytes: Vec<u8>,
}

impl<'a, R: Read> Messages<'a, R> {
    pub(super) fn new(stream: R, scheme: &'a HostSchemeConfig, seal: Option<&'a Seal>, stop: &'a StopSignal) -> Self {
        Self { stream, scheme, seal, stop, bytes: Vec::new() }
    }

    /// Returns the length of the first message in the buffer, with its seal; `None` if that is not known yet.
    fn length(&self) -> Result<Option<usize>, ReadError> {
        let (head, tag) = if self.seal.is_some() { (HEAD, TAG) } else { (0, 0) };
        let Some(inside) = self.bytes.get(head..) else { return Ok(None) };
        // A scheme refuses lengths that none of its messages has, so memory is bounded.
        let length = self.scheme.length(inside).map_err(|error| ReadError::Wrong(error.to_string()))?;
        Ok(length.map(|length| head + length + tag))
    }

    /// Authenticates and decodes a whole message; returns it with its authenticated sender.
    fn open(&self, bytes: &[u8]) -> Result<(Option<BrokerId>, AnyMessage), ReadError> {
        let wrong = |error: &dyn std::fmt::Display| ReadError::Wrong(error.to_string());
        let opened = self.seal.map(|seal| seal.open(today(), bytes)).transpose().map_err(|error| wrong(&error))?;
        let (sealer, message) = opened.map_or((None, bytes), |(from, message)| (Some(from), message));
        let message = self.scheme.decode(message).map_err(|error| wrong(&error))?;
        Ok((sealer, message))
    }

    /// Returns the next message with its authenticated sender. Waits until `until`, or without limit if that is
    /// `None`.
    pub(super) fn next(&mut self, until: Option<Instant>) -> Result<(Option<BrokerId>, AnyMessage), ReadError> {
        let mut chunk = [0; 4_096];
        loop {
            if let Some(length) = self.length()?.filter(|&length| length <= self.bytes.len()) {
                let rest = self.bytes.split_off(length);
                let message = std::mem::replace(&mut self.bytes, rest);
                return self.open(&message);
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
