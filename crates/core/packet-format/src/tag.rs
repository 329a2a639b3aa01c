//! Tags: where a packet goes at each switch, and in which queue.
//!
//! Chameleon (CoNEXT 2020), section 3.4: "Each possible tag value corresponds to a port-queue combination". One 802.1Q tag for each
//! switch of the route, the first switch outermost; a packet with copies on other routes has its number in an innermost 802.1ad tag.

use alloc::vec::Vec;

use wayleave_units::Bytes;

/// EtherType of a tag for a switch (IEEE 802.1Q).
pub const TAG_TYPE: u16 = 0x8100;
/// EtherType of the tag with a packet's number (IEEE 802.1ad).
pub const SEQUENCE_TYPE: u16 = 0x88A8;
/// Switches of a route, at most. Chameleon measures up to 10 tags (Table 3).
pub const MAX_TAGS: usize = 12;

/// The most ports of a switch: VLAN identifiers 0 and 4095 are reserved.
const MAX_PORTS: u16 = 4094;
/// Preamble, delimiter, frame check sequence and gap (IEEE 802.3).
const FIXED: u64 = 24;
/// The shortest frame without its check sequence; shorter ones are padded on the wire.
const SHORTEST: u64 = 60;

/// Returns `true` if a frame of this EtherType has a VLAN tag, for any switch.
pub const fn is_tag_type(ether_type: u16) -> bool {
    matches!(ether_type, TAG_TYPE | SEQUENCE_TYPE | 0x9100 | 0x9200 | 0x9300)
}

/// Returns the wire bytes of a frame: `frame` bytes without check sequence, and `tags` tags in its stack as it leaves
/// the host.
///
/// ```
/// use wayleave_units::Bytes;
/// use wayleave_packet_format::wire_bytes;
/// assert_eq!(wire_bytes(1514, 6), Bytes::new(1562));
/// assert_eq!(wire_bytes(42, 0), Bytes::new(84));
/// ```
pub fn wire_bytes(frame: usize, tags: usize) -> Bytes {
    Bytes::new((frame as u64 + 4 * tags as u64).max(SHORTEST) + FIXED)
}

/// An output link of a switch, and one of its queues.
///
/// ```
/// use wayleave_packet_format::Tag;
/// let tag = Tag::new(2, 7)?;
/// assert_eq!(tag.tci(), 3);
/// assert_eq!(Tag::from_tci(3)?, tag);
/// assert_eq!(Tag::new(0, 0)?.tci(), 7 << 13 | 1);
/// # Ok::<(), wayleave_packet_format::TagError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    port: u16,
    queue: u8,
}

/// Numbers that no tag can have.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagError {
    /// Ports count from 0 to 4093.
    #[error("a tag names the outgoing links 0 to {} of a switch, not {}", MAX_PORTS - 1, .0)]
    Port(u16),
    /// Queues count from 0, the highest priority, to 7.
    #[error("a tag names the queues 0 to 7 of a link, not {0}")]
    Queue(u8),
    /// Its VLAN identifier is 0 or 4095, or it may be dropped (DEI).
    #[error("{0:#06x} is not a route tag")]
    Tci(u16),
}

impl Tag {
    /// The tag of a switch's outgoing link, by its place among them in the order of the topology, and of a queue, 0 the highest.
    ///
    /// # Errors
    /// If a tag has no room for one of them.
    pub const fn new(port: u16, queue: u8) -> Result<Self, TagError> {
        if port >= MAX_PORTS {
            Err(TagError::Port(port))
        } else if queue > 7 {
            Err(TagError::Queue(queue))
        } else {
            Ok(Self { port, queue })
        }
    }

    /// The tag that is written so.
    ///
    /// # Errors
    /// If none is.
    pub const fn from_tci(tci: u16) -> Result<Self, TagError> {
        let (vid, dei) = (tci & 0x0FFF, tci & 0x1000);
        if vid == 0 || vid == 0x0FFF || dei != 0 {
            return Err(TagError::Tci(tci));
        }
        Ok(Self { port: vid - 1, queue: 7 - (tci >> 13) as u8 })
    }

    /// The place of the link among the switch's outgoing links.
    pub const fn port(self) -> u16 {
        self.port
    }

    /// The queue, 0 the highest.
    pub const fn queue(self) -> u8 {
        self.queue
    }

    /// As it is written: priority 7 - queue, VLAN identifier 1 + port.
    pub const fn tci(self) -> u16 {
        ((7 - self.queue) as u16) << 13 | (1 + self.port)
    }
}

/// Tags to push into a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    /// For each switch, in the order of the route.
    pub tags: Vec<Tag>,
    /// The packet's number, if copies of the packet take other routes.
    pub number: Option<u16>,
}

impl Stack {
    /// Returns the number of tags, including that of the packet's number.
    pub fn depth(&self) -> usize {
        self.tags.len() + usize::from(self.number.is_some())
    }

    /// The frame with the stack behind its addresses. A frame without addresses stays as it is.
    ///
    /// ```
    /// use wayleave_packet_format::{Stack, Tag};
    /// let stack = Stack { tags: [Tag::new(0, 7)?, Tag::new(1, 0)?].into(), number: Some(258) };
    /// let frame = [b"ddddddssssss".as_slice(), &[8, 0], b"data"].concat();
    /// let pushed = stack.push(&frame);
    /// assert_eq!(pushed[12..26], [0x81, 0, 0, 1, 0x81, 0, 0xE0, 2, 0x88, 0xA8, 1, 2, 8, 0]);
    /// assert_eq!((&pushed[..12], &pushed[26..]), (&frame[..12], &frame[14..]));
    /// # Ok::<(), wayleave_packet_format::TagError>(())
    /// ```
    pub fn push(&self, frame: &[u8]) -> Vec<u8> {
        let (addresses, rest) = frame.split_at(frame.len().min(12));
        let mut pushed = Vec::with_capacity(frame.len() + 4 * self.depth());
        pushed.extend_from_slice(addresses);
        let tags = self.tags.iter().map(|tag| (TAG_TYPE, tag.tci()));
        for (ether_type, tci) in tags.chain(self.number.map(|number| (SEQUENCE_TYPE, number))) {
            pushed.extend_from_slice(&ether_type.to_be_bytes());
            pushed.extend_from_slice(&tci.to_be_bytes());
        }
        pushed.extend_from_slice(rest);
        pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_read_back_and_nothing_else_is_a_tag() {
        let mut tags = 0;
        for tci in 0..=u16::MAX {
            if let Ok(tag) = Tag::from_tci(tci) {
                assert_eq!((tag.tci(), Tag::new(tag.port(), tag.queue())), (tci, Ok(tag)));
                tags += 1;
            }
        }
        assert_eq!(tags, 8 * 4094);
        assert_eq!(Tag::new(4094, 0), Err(TagError::Port(4094)));
        assert_eq!(Tag::new(0, 8), Err(TagError::Queue(8)));
    }

    #[test]
    fn short_frames_cost_their_padded_length() {
        let costs = [(14, 0, 84), (60, 0, 84), (61, 0, 85), (40, 5, 84), (41, 5, 85), (1514, 0, 1538)];
        for (frame, tags, bytes) in costs {
            assert_eq!(wire_bytes(frame, tags), Bytes::new(bytes), "{frame} B, {tags} tags");
        }
    }
}
