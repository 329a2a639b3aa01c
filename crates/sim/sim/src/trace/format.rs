//! The layout of a trace file. All numbers are little-endian.
//!
//! | bytes | |
//! |---|---|
//! | 8 | magic |
//! | 4 | version of the format |
//! | text | version of the program |
//! | 8, 8 | seed, hash of the input |
//! | 4, then entries | nodes: their number, then for each one its name (text) |
//! | 4, then entries | links: name (text), from (4), to (4) |
//! | 4, then entries | flows: name (text), from (4), to (4), payload of a segment (4) |
//! | 8, 8 | events seen, records kept |
//! | 32 each | records: time (8), link, flow, sequence, expected, size (4 each), event, queue, flags, tags (1 each) |
//! | 8 | FNV-1a of everything before |
//! | 8 | end mark |
//!
//! A text is its length in bytes (4) and UTF-8.

use super::record::{Flags, PacketEvent, TraceRecord};

/// The first bytes. As in PNG (RFC 2083, section 12.12), a byte above 127 and both ends of line show a transfer that
/// changed the file for text.
pub(super) const MAGIC: [u8; 8] = *b"\x8aWLT\r\n\x1a\n";

/// The last bytes.
pub(super) const END: [u8; 8] = *b"WLT end\n";

/// The version of the format that is written and read here.
pub const VERSION: u32 = 1;

/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = 32;

pub(super) fn encode(record: &TraceRecord) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(&record.time_ps.to_le_bytes());
    let words = [record.link, record.flow, record.sequence, record.expected, record.size];
    for (place, word) in bytes[8..28].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes[28..].copy_from_slice(&[record.event.code(), record.queue, record.flags.bits(), record.tags]);
    bytes
}

/// A record, or the code of its event where that means nothing.
pub(super) fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<TraceRecord, u8> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok(TraceRecord {
        time_ps: u64::from(word(4)) << 32 | u64::from(word(0)),
        link: word(8),
        flow: word(12),
        sequence: word(16),
        expected: word(20),
        size: word(24),
        event: PacketEvent::from_code(bytes[28]).ok_or(bytes[28])?,
        queue: bytes[29],
        flags: Flags::from_bits(bytes[30]),
        tags: bytes[31],
    })
}
