//! Lists over a stream: each as long as its first bytes say.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use wayleave_wire::broker::{PREFIX_BYTES, RateList};

use super::Stop;

/// Why there is no list.
pub(super) enum ReadError {
    /// The other end has closed.
    Closed,
    /// The broker ends.
    Stopped,
    /// Nothing whole came until the time.
    Late,
    /// What came is no list: the stream cannot be read any further.
    Wrong(String),
}

/// The next list, if it comes until then. The stream gives up waiting now and then, so that this can see whether it has to end.
pub(super) fn read(stream: &mut impl Read, stop: &Stop, until: Instant) -> Result<RateList, ReadError> {
    let mut prefix = [0; PREFIX_BYTES];
    fill(stream, &mut prefix, stop, until)?;
    let length = RateList::length(&prefix).map_err(|error| ReadError::Wrong(error.to_string()))?;
    // At most half a megabyte: `length` refuses more.
    let mut bytes = vec![0; length as usize];
    bytes[..PREFIX_BYTES].copy_from_slice(&prefix);
    fill(stream, &mut bytes[PREFIX_BYTES..], stop, until)?;
    RateList::decode(&bytes).map_err(|error| ReadError::Wrong(error.to_string()))
}

pub(super) fn write(stream: &mut impl Write, list: &RateList) -> io::Result<()> {
    stream.write_all(&list.encode())?;
    stream.flush()
}

fn fill(stream: &mut impl Read, mut bytes: &mut [u8], stop: &Stop, until: Instant) -> Result<(), ReadError> {
    while !bytes.is_empty() {
        if stop.is_stopped() {
            return Err(ReadError::Stopped);
        }
        if Instant::now() >= until {
            return Err(ReadError::Late);
        }
        match stream.read(bytes) {
            Ok(0) => return Err(ReadError::Closed),
            Ok(read) => bytes = &mut bytes[read..],
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(ReadError::Wrong(error.to_string())),
        }
    }
    Ok(())
}
