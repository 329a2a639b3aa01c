//! A stream of bytes, cut into messages.

use crate::{DecodeError, HEADER, VERSION};

/// Bytes of a stream that are not yet a whole message. A message has at most 65,535 bytes, so it never holds more
/// than that and the latest chunk.
#[derive(Clone, Debug, Default)]
pub struct MessageReader {
    bytes: Vec<u8>,
    start: usize,
}

impl MessageReader {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, with its header; `None` until more has come.
    ///
    /// # Errors
    /// If a header is of another version, or its length is below that of a header: where the next message begins is not known then, so the
    /// connection has to be closed. A greeting may have a higher version (section 6.3.1).
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let rest = &self.bytes[self.start..];
        let [version, kind, high, low, ..] = *rest else { return Ok(None) };
        let is_greeting = kind == 0 && version > VERSION;
        if version != VERSION && !is_greeting {
            return Err(DecodeError::Version(version));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < HEADER {
            return Err(DecodeError::Length { what: "message", length, expected: "at least 8" });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let begin = self.start;
        self.start += length;
        Ok(Some(&self.bytes[begin..begin + length]))
    }
}
