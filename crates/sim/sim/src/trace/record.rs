//! One packet event: what happened, when, where, to which packet.

/// In place of an index: no link, or no flow.
pub const NONE: u32 = u32::MAX;

/// Event of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PacketEvent {
    /// Its host released it for the first time.
    #[default]
    Sent,
    /// Its host released it again.
    Retransmitted,
    /// It came to a port and found room.
    Enqueued,
    /// A port gave it a congestion mark.
    Marked,
    /// Its last bit left a port.
    Departed,
    /// It reached its host.
    Delivered,
    /// It went no further.
    Dropped(DropReason),
    /// It was on a link that failed, or waited for one.
    Lost,
}

/// Reason why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Its queue was full.
    QueueFull,
    /// The buffer that the ports of a switch share gave its queue no more.
    BufferFull,
    /// A more urgent packet took its place.
    PushedOut,
    /// A limiter at its host let no more through.
    Policed,
    /// There was no path to its host.
    NoRoute,
    /// A link spoiled it.
    Corrupted,
}

/// First code of drops; the reason is added.
const DROPPED: u8 = 16;

impl PacketEvent {
    /// Its number in a file. Numbers are never used again for something else.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Sent => 1,
            Self::Retransmitted => 2,
            Self::Enqueued => 3,
            Self::Marked => 4,
            Self::Departed => 5,
            Self::Delivered => 6,
            Self::Lost => 7,
            Self::Dropped(reason) => {
                DROPPED
                    + match reason {
                        DropReason::QueueFull => 0,
                        DropReason::BufferFull => 1,
                        DropReason::PushedOut => 2,
                        DropReason::Policed => 3,
                        DropReason::NoRoute => 4,
                        DropReason::Corrupted => 5,
                    }
            }
        }
    }

    /// Returns the event of a code in a file; `None` if the code is unknown.
    pub(super) const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Sent,
            2 => Self::Retransmitted,
            3 => Self::Enqueued,
            4 => Self::Marked,
            5 => Self::Departed,
            6 => Self::Delivered,
            7 => Self::Lost,
            16 => Self::Dropped(DropReason::QueueFull),
            17 => Self::Dropped(DropReason::BufferFull),
            18 => Self::Dropped(DropReason::PushedOut),
            19 => Self::Dropped(DropReason::Policed),
            20 => Self::Dropped(DropReason::NoRoute),
            21 => Self::Dropped(DropReason::Corrupted),
            _ => return None,
        })
    }

    /// In words, as [`Header::line`](super::Header::line) shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Retransmitted => "retransmitted",
            Self::Enqueued => "enqueued",
            Self::Marked => "marked",
            Self::Departed => "departed",
            Self::Delivered => "delivered",
            Self::Lost => "lost on failed link",
            Self::Dropped(DropReason::QueueFull) => "dropped (queue full)",
            Self::Dropped(DropReason::BufferFull) => "dropped (buffer full)",
            Self::Dropped(DropReason::PushedOut) => "dropped (pushed out)",
            Self::Dropped(DropReason::Policed) => "dropped (policed)",
            Self::Dropped(DropReason::NoRoute) => "dropped (no route)",
            Self::Dropped(DropReason::Corrupted) => "dropped (corrupted)",
        }
    }
}

/// Properties and history of a packet: a set.
///
/// Without [`SEGMENT`](Self::SEGMENT) and [`ACK`](Self::ACK) it is a datagram, which is not acknowledged.
///
/// ```
/// use wayleave_sim::trace::Flags;
///
/// let flags = Flags::SEGMENT | Flags::MARKED;
/// assert!(flags.has(Flags::MARKED) && !flags.has(Flags::AGAIN));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// A segment of a reliable flow.
    pub const SEGMENT: Self = Self(1);
    /// An acknowledgement, sent from the receiver of its flow to the sender.
    pub const ACK: Self = Self(2);
    /// Its transport understands congestion marks.
    pub const ECN_CAPABLE: Self = Self(4);
    /// It met congestion; on an acknowledgement: the packet that it answers did.
    pub const MARKED: Self = Self(8);
    /// It was sent before.
    pub const AGAIN: Self = Self(16);
    /// It collects telemetry.
    pub const TELEMETRY: Self = Self(32);

    /// Returns `true` if all flags of `other` are in this set too.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// As a file has it.
    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    /// From a file. Bits without a meaning are kept.
    pub(super) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One event, 32 bytes. The default is a datagram of no size, sent on the first link at time zero by the first flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
// Half a cache line, never two halves of different ones.
#[repr(C, align(32))]
pub struct TraceRecord {
    /// Time, in ps since the start of the run.
    pub time_ps: u64,
    /// On which link, or at the port of which link; [`NONE`] where there is none.
    pub link: u32,
    /// To a packet of which flow, or [`NONE`].
    pub flow: u32,
    /// The number of the packet in its flow; on an acknowledgement: of the packet that it answers.
    pub sequence: u32,
    /// On an acknowledgement: the segment that its receiver expects next. Zero otherwise.
    pub expected: u32,
    /// Bytes on the wire, with preamble, gap, FCS and tags.
    pub size: u32,
    /// The event.
    pub event: PacketEvent,
    /// In which queue of the port, 0 the highest.
    pub queue: u8,
    /// Properties of the packet.
    pub flags: Flags,
    /// Number of tags of 4 bytes that it carries here; `size` includes them.
    pub tags: u8,
}

// Half a cache line.
const _: () =
    assert!(size_of::<TraceRecord>() == 32 && align_of::<TraceRecord>() == 32 && size_of::<PacketEvent>() == 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_events_are_one_to_one() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&code| PacketEvent::from_code(code).is_some()).collect();
        assert_eq!(known, [1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21]);
        for code in known {
            assert_eq!(PacketEvent::from_code(code).map(PacketEvent::code), Some(code));
        }
    }

    #[test]
    fn a_set_contains_exactly_its_members() {
        let all = [Flags::SEGMENT, Flags::ACK, Flags::ECN_CAPABLE, Flags::MARKED, Flags::AGAIN, Flags::TELEMETRY];
        for one in all {
            assert!(all.iter().all(|&other| one.has(other) == (one == other)));
        }
        assert!((Flags::ACK | Flags::MARKED).has(Flags::ACK));
        assert!(!Flags::ACK.has(Flags::ACK | Flags::MARKED));
    }
}
