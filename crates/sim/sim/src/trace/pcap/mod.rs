//! A trace as a capture file that Wireshark and tcpdump read.
//!
//! The file has the classic format with nanoseconds (draft-ietf-opsawg-pcap, sections 4 and 5). Simulated packets
//! have no bytes, so headers are made up from a record's fields: Ethernet, one 802.1Q tag for each tag that the
//! packet carries, IPv4, and TCP for reliable flows or UDP for others. A frame is cut behind its headers; its
//! original length is that of the simulated frame.
//!
//! Rules for the made-up fields:
//! - Addresses are 10.0.0.1 plus the index of the host, and the same bytes behind 02:00 as a local Ethernet address.
//! - Ports are those of the flow: two ports from 32,768 on hold 30 bits of its index.
//! - A tag's priority is 7 less the queue, as queue 0 is the highest; its VLAN is its height in the stack, 1 the
//!   last.
//! - TCP numbers count bytes: the number of the segment times the payload of a segment. Retransmissions, gaps and
//!   duplicate acknowledgements appear in Wireshark as they should. Handshake and end of a connection are missing.
//! - ECN is that of RFC 3168: ECT(0), CE in a marked packet, ECE in the acknowledgement of a marked one. RFC 8257
//!   does the same for DCTCP.
//! - Checksums of TCP and UDP are zero, because there is no payload to sum; that of IPv4 is right.
//! - Times are cut to nanoseconds.

mod frame;
mod tags;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use self::frame::MAX_HEADER_BYTES;
use super::file::{WholeFile, WriteError};
use super::header::Header;
use super::read::ReadError;
use super::record::{PacketEvent, TraceRecord};

pub use tags::Tags;

/// Wire bytes of a frame that no capture shows: 8 of preamble and delimiter, 4 of FCS, and 12 of gap (IEEE 802.3, 3.1.1
/// and 4.4.2). Network cards take them away, and Wireshark expects frames without.
pub const HIDDEN_BYTES: u32 = 24;

/// The format with nanoseconds, in the byte order of the file.
const MAGIC: u32 = 0xa1b2_3c4d;

/// Ethernet, in the registry of link types.
const ETHERNET: u32 = 1;

const PS_PER_SECOND: u64 = 1_000_000_000_000;
const PS_PER_NS: u64 = 1_000;

/// Selection of the records that become frames, and their form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcapOptions {
    /// Events that are captured. With more than one, a packet may appear several times along its path.
    pub events: Vec<PacketEvent>,
    /// The link where, by its index; `None` for all links.
    pub link: Option<u32>,
    /// Visibility of tags.
    pub tags: Tags,
    /// Wire bytes of a frame that are not captured: [`HIDDEN_BYTES`], or 0 where records count frames.
    pub hidden_bytes: u32,
}

impl Default for PcapOptions {
    /// Departures on all links and deliveries, with tags.
    fn default() -> Self {
        Self {
            events: vec![PacketEvent::Departed, PacketEvent::Delivered],
            link: None,
            tags: Tags::Shown,
            hidden_bytes: HIDDEN_BYTES,
        }
    }
}

impl PcapOptions {
    fn takes(&self, record: &TraceRecord) -> bool {
        self.link.is_none_or(|link| link == record.link) && self.events.contains(&record.event)
    }
}

/// A capture could not be made.
#[derive(Debug)]
pub enum PcapError {
    /// The trace could not be read to its end.
    Read(ReadError),
    /// The capture could not be written.
    Write(WriteError),
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PcapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Write(error) => Some(error),
        }
    }
}

impl From<ReadError> for PcapError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for PcapError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

/// Writes a capture of some records to a file, and returns its number of frames. The records of a
/// [`Reader`](super::Reader) can be passed directly.
///
/// # Errors
///
/// If a record cannot be read or the file cannot be written. Then no part of the file remains, and a previous file of
/// that name is unchanged.
pub fn write(
    path: &Path,
    header: &Header,
    records: impl IntoIterator<Item = Result<TraceRecord, ReadError>>,
    capture: &PcapOptions,
) -> Result<u64, PcapError> {
    let mut file = WholeFile::create(path)?;
    let mut frames = 0;
    begin(&mut file).map_err(|error| file.error(error))?;
    for record in records {
        let record = record?;
        if capture.takes(&record) {
            put(&mut file, header, &record, capture).map_err(|error| file.error(error))?;
            frames += 1;
        }
    }
    file.finish()?;
    Ok(frames)
}

/// Writes a capture of some records to any target, in small pieces, and returns its number of frames.
///
/// ```
/// use wayleave_sim::trace::pcap::{PcapOptions, write_to};
/// use wayleave_sim::trace::{PacketEvent, Flags, TraceFlow, Header, TraceRecord};
///
/// let flows = vec![TraceFlow { name: "web".into(), from: 0, to: 1, segment_bytes: 1_460 }];
/// let header = Header { flows, ..Header::default() };
/// let sent = TraceRecord { size: 1_538, flags: Flags::SEGMENT, ..TraceRecord::default() };
///
/// let mut file = Vec::new();
/// let records = [sent, TraceRecord { event: PacketEvent::Delivered, ..sent }];
/// let frames = write_to(&mut file, &header, &records, &PcapOptions::default())?;
/// assert_eq!(frames, 1);
/// // The file, the frame, Ethernet, IPv4, TCP.
/// assert_eq!(file.len(), 24 + 16 + 14 + 20 + 20);
/// // The frame was 1,514 bytes long.
/// assert_eq!(file[24 + 12..24 + 16], 1_514_u32.to_le_bytes());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of the target.
pub fn write_to<'a>(
    target: &mut impl Write,
    header: &Header,
    records: impl IntoIterator<Item = &'a TraceRecord>,
    capture: &PcapOptions,
) -> io::Result<u64> {
    begin(target)?;
    let mut frames = 0;
    for record in records.into_iter().filter(|record| capture.takes(record)) {
        put(target, header, record, capture)?;
        frames += 1;
    }
    target.flush()?;
    Ok(frames)
}

/// The header of the file.
fn begin(target: &mut impl Write) -> io::Result<()> {
    target.write_all(&MAGIC.to_le_bytes())?;
    // Version 2.4.
    target.write_all(&[2, 0, 4, 0])?;
    // Two unused fields, the maximum number of bytes kept of a frame, and the frame type.
    for word in [0, 0, MAX_HEADER_BYTES as u32, ETHERNET] {
        target.write_all(&word.to_le_bytes())?;
    }
    Ok(())
}

/// A frame with its header.
fn put(target: &mut impl Write, header: &Header, record: &TraceRecord, capture: &PcapOptions) -> io::Result<()> {
    let original = record.size.saturating_sub(capture.hidden_bytes);
    let mut frame = frame::headers(header, record, original, capture.tags);
    // A simulated packet may be smaller than real headers are.
    frame.truncate(original as usize);
    let seconds = u32::try_from(record.time_ps / PS_PER_SECOND).unwrap_or(u32::MAX);
    let nanoseconds = record.time_ps % PS_PER_SECOND / PS_PER_NS;
    for word in [seconds, nanoseconds as u32, frame.len() as u32, original] {
        target.write_all(&word.to_le_bytes())?;
    }
    target.write_all(&frame)
}
