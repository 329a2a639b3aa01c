//! Records as text, one line each.

use std::fmt;

use super::header::Header;
use super::record::{Flags, NONE, TraceRecord};

/// Picoseconds in a second.
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A record with the names that explain it; [`Header::line`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct TraceLine<'a> {
    header: &'a Header,
    record: &'a TraceRecord,
}

impl Header {
    /// A record as one line of text, without an end of line.
    ///
    /// It holds the time in seconds, the event, the link and the queue, the flow, which packet, its bytes on the wire
    /// and its flags. An index that is in no table is shown as a number.
    ///
    /// ```
    /// use wayleave_sim::trace::{DropReason, PacketEvent, Flags, Header, TraceRecord};
    /// let record = TraceRecord {
    ///     time_ps: 12_000_000_000_345,
    ///     link: 4,
    ///     flow: 9,
    ///     sequence: 17,
    ///     size: 1_538,
    ///     event: PacketEvent::Dropped(DropReason::QueueFull),
    ///     queue: 3,
    ///     flags: Flags::SEGMENT | Flags::ECN_CAPABLE | Flags::AGAIN,
    ///     ..TraceRecord::default()
    /// };
    /// assert_eq!(
    ///     Header::default().line(&record).to_string(),
    ///     "    12.000000000345  dropped (queue full)   link 4 q3  flow 9  segment 17  1538 B  again ecn"
    /// );
    /// ```
    pub fn line<'a>(&'a self, record: &'a TraceRecord) -> TraceLine<'a> {
        TraceLine { header: self, record }
    }
}

impl fmt::Display for TraceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, record } = self;
        let (seconds, rest) = (record.time_ps / PS_PER_SECOND, record.time_ps % PS_PER_SECOND);
        write!(f, "{seconds:>6}.{rest:012}  {:<21}  ", record.event.name())?;
        let link = header.links.get(record.link as usize).map(|link| link.name.as_str());
        write_name(f, "link", link, record.link)?;
        if record.link != NONE {
            write!(f, " q{}", record.queue)?;
        }
        f.write_str("  ")?;
        let flow = header.flows.get(record.flow as usize).map(|flow| flow.name.as_str());
        write_name(f, "flow", flow, record.flow)?;
        write_packet(f, record)?;
        write!(f, "  {} B", record.size)?;
        write_flags(f, record)
    }
}

/// A name, or a number where there is none. A name cannot end the line, nor command a terminal.
fn write_name(f: &mut fmt::Formatter<'_>, what: &str, name: Option<&str>, index: u32) -> fmt::Result {
    match name {
        None if index == NONE => f.write_str("-"),
        None => write!(f, "{what} {index}"),
        Some(name) => name.chars().try_for_each(|character| match character.is_control() {
            true => write!(f, "{}", character.escape_default()),
            false => write!(f, "{character}"),
        }),
    }
}

fn write_packet(f: &mut fmt::Formatter<'_>, record: &TraceRecord) -> fmt::Result {
    let sequence = record.sequence;
    if record.flags.has(Flags::ACK) {
        write!(f, "  ack of {sequence}, expects {}", record.expected)
    } else if record.flags.has(Flags::SEGMENT) {
        write!(f, "  segment {sequence}")
    } else {
        write!(f, "  datagram {sequence}")
    }
}

fn write_flags(f: &mut fmt::Formatter<'_>, record: &TraceRecord) -> fmt::Result {
    let words = [
        (Flags::AGAIN, "again"),
        (Flags::ECN_CAPABLE, "ecn"),
        (Flags::MARKED, "marked"),
        (Flags::TELEMETRY, "telemetry"),
    ];
    let mut gap = "  ";
    for (_, word) in words.into_iter().filter(|&(flag, _)| record.flags.has(flag)) {
        write!(f, "{gap}{word}")?;
        gap = " ";
    }
    match record.tags {
        0 => Ok(()),
        1 => write!(f, "{gap}1 tag"),
        tags => write!(f, "{gap}{tags} tags"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LinkEntry, PacketEvent, TraceFlow};
    use super::*;

    #[test]
    fn an_acknowledgement_shows_its_segment_and_the_next_expected_one() {
        let record = TraceRecord {
            time_ps: 5,
            sequence: 8,
            expected: 3,
            size: 84,
            event: PacketEvent::Delivered,
            flags: Flags::ACK | Flags::MARKED,
            tags: 2,
            queue: 1,
            ..TraceRecord::default()
        };
        let header = Header {
            links: vec![LinkEntry { name: "s1->h1".into(), ..LinkEntry::default() }],
            flows: vec![TraceFlow { name: "web".into(), ..TraceFlow::default() }],
            ..Header::default()
        };
        assert_eq!(
            header.line(&record).to_string(),
            "     0.000000000005  delivered              s1->h1 q1  web  ack of 8, expects 3  84 B  marked 2 tags"
        );
    }

    #[test]
    fn a_record_without_a_link_has_no_queue_and_no_name() {
        let record = TraceRecord { link: NONE, flow: NONE, queue: 5, ..TraceRecord::default() };
        let line = Header::default().line(&record).to_string();
        assert_eq!(line, "     0.000000000000  sent                   -  -  datagram 0  0 B");
    }

    #[test]
    fn a_name_cannot_end_the_line() {
        let flows = vec![TraceFlow { name: "a\n\u{1b}[2Jé".into(), ..TraceFlow::default() }];
        let line = Header { flows, ..Header::default() }.line(&TraceRecord::default()).to_string();
        assert!(line.contains("  a\\n\\u{1b}[2Jé  "), "{line}");
    }
}
