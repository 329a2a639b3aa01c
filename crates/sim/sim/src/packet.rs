//! Packets: one cache line each, in one arena, linked into lists by their indices.

use crate::clock::Instant;

/// On the wire: IPv4 and TCP headers without options.
pub(crate) const HEADERS: u32 = 40;

/// On the wire: Ethernet header and FCS (18 B), preamble and gap (20 B).
pub(crate) const FRAMING: u32 = 38;

/// An acknowledgement: a frame of the smallest size (64 B) with preamble and gap.
pub(crate) const ACKNOWLEDGEMENT: u32 = 84;

/// A packet, or [`NO_PACKET`].
pub(crate) type PacketId = u32;

/// The end of a list.
pub(crate) const NO_PACKET: PacketId = u32::MAX;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet that is not acknowledged.
    #[default]
    Datagram,
    /// A segment of a reliable flow.
    Data,
    /// The acknowledgement of one.
    Ack,
    /// A message of a machine or a broker.
    Message,
    /// A probe on the path to the other end of its pair.
    Probe,
    /// A probe that returns.
    ProbeAnswer,
    /// The answer of a datagram whose pair has a window.
    PairAnswer,
}

/// Yes or no, for several things, in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// Its transport understands congestion marks.
    pub(crate) const ECN_CAPABLE: Self = Self(1);
    /// It met congestion; on an acknowledgement: the packet that it answers did.
    pub(crate) const MARKED: Self = Self(2);
    /// It was sent before.
    pub(crate) const AGAIN: Self = Self(4);
    /// It carries a stack of tags, one of which every switch takes off.
    pub(crate) const TAGGED: Self = Self(8);
    /// It collects telemetry.
    pub(crate) const TELEMETRY: Self = Self(16);
    /// It asks for an answer and carries no whole segment (pFabric's probe).
    pub(crate) const PARTIAL: Self = Self(32);
    /// It goes over several paths of its pair at once.
    pub(crate) const COPIED: Self = Self(64);
    /// On an acknowledgement: what it answers had come before (D-SACK, RFC 2883).
    pub(crate) const DUPLICATE: Self = Self(128);

    #[inline]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// All of them.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// Time at which the sender released it; on an acknowledgement: time at which the acknowledged packet was sent.
    pub(crate) sent: Instant,
    /// On a link: when its last bit arrives. In a port: since when it waits.
    pub(crate) due: Instant,
    /// The next of the list that it is in.
    pub(crate) next: PacketId,
    /// Its flow.
    pub(crate) flow: u32,
    /// Bytes on the wire.
    pub(crate) size: u32,
    /// Number within its flow; on an acknowledgement: of the packet that it answers.
    pub(crate) sequence: u32,
    /// Start of its route in the table of routes.
    pub(crate) route: u32,
    /// The last hop, taken where the route ends.
    pub(crate) last_hop: u32,
    /// On a link: how long after it the next one arrives, in ps; `u32::MAX` if that is longer, or not known.
    pub(crate) next_gap: u32,
    /// Hops behind it.
    pub(crate) hop: u8,
    /// Kind of the packet.
    pub(crate) kind: Kind,
    /// Flags of the packet.
    pub(crate) flags: Flags,
    /// Index of its path among its flow's paths.
    pub(crate) path: u8,
    /// Fields of this kind of packet.
    pub(crate) extra: KindFields,
}

// One cache line.
const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// For ports that serve by remaining size: returns the remaining size of its flow when it was sent. Packets that
    /// are not segments, such as acknowledgements, come first.
    #[inline]
    pub(crate) fn urgency(&self) -> u32 {
        if self.kind == Kind::Data { self.extra.words[0] } else { 0 }
    }
}

/// Fields of one kind of packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KindFields {
    words: [u32; 4],
}

impl KindFields {
    /// Of a segment: how much its flow had left (pFabric's priority, less first), and its flowcell.
    #[inline]
    pub(crate) fn data(remaining: u64, flowcell: u32) -> Self {
        Self { words: [remaining.min(u64::from(u32::MAX)) as u32, flowcell, 0, 0] }
    }

    /// Of an acknowledgement: what is expected next, and one block that arrived beyond it; the telemetry of the segment
    /// goes back with it.
    #[inline]
    pub(crate) fn ack(expected: u32, block: Block, telemetry: u32) -> Self {
        Self { words: [expected, block.start, block.end, telemetry] }
    }

    /// Returns the index of the packet's additional data ([`crate::telemetry`]), or zero.
    #[inline]
    pub(crate) fn telemetry(&self) -> u32 {
        self.words[3]
    }

    /// The packet has this stack.
    pub(crate) fn set_telemetry(&mut self, stack: u32) {
        self.words[3] = stack;
    }

    /// The flowcell of a segment.
    #[inline]
    pub(crate) fn flowcell(&self) -> u32 {
        self.words[1]
    }

    /// The segment that a receiver expects next.
    #[inline]
    pub(crate) fn expected(&self) -> u32 {
        self.words[0]
    }

    /// Returns the block around the acknowledged packet that arrived beyond the expected segment.
    #[inline]
    pub(crate) fn block(&self) -> Block {
        Block { start: self.words[1], end: self.words[2] }
    }
}

/// Segments from `start` up to and without `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first.
    pub(crate) start: u32,
    /// Behind the last.
    pub(crate) end: u32,
}

/// All packets there are.
#[derive(Debug)]
pub(crate) struct Arena {
    packets: Vec<Packet>,
    free: PacketId,
    alive: u32,
    peak: u32,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::new(), free: NO_PACKET, alive: 0, peak: 0 }
    }

    /// Keeps a packet.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        self.alive += 1;
        self.peak = self.peak.max(self.alive);
        if self.free == NO_PACKET {
            if self.packets.len() == self.packets.capacity() {
                // By a quarter: doubling would leave up to half of the memory unused.
                self.packets.reserve_exact(self.packets.len() / 4 + 64);
            }
            self.packets.push(packet);
            return (self.packets.len() - 1) as PacketId;
        }
        let id = self.free;
        let slot = &mut self.packets[id as usize];
        self.free = slot.next;
        *slot = packet;
        id
    }

    /// Forgets a packet.
    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        self.alive -= 1;
        self.packets[id as usize].next = self.free;
        self.free = id;
    }

    #[inline]
    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }

    /// A packet, if it is one.
    #[inline]
    pub(crate) fn find(&self, id: PacketId) -> Option<&Packet> {
        self.packets.get(id as usize)
    }

    /// A packet, if it is one.
    #[inline]
    pub(crate) fn find_mut(&mut self, id: PacketId) -> Option<&mut Packet> {
        self.packets.get_mut(id as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Adds suspended time to the packets of a list from `first` on, which may be none.
    pub(crate) fn delay(&mut self, first: PacketId, by: Instant) {
        let mut id = first;
        while id != NO_PACKET {
            let packet = self.get_mut(id);
            packet.due += by;
            packet.sent += by;
            id = packet.next;
        }
    }

    /// The most packets that there were at once.
    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_slot_is_reused() {
        let mut arena = Arena::new();
        let ids = [1, 2, 3].map(|size| arena.insert(Packet { size, ..Packet::default() }));
        arena.remove(ids[1]);
        assert_eq!(arena.insert(Packet { size: 9, ..Packet::default() }), ids[1]);
        assert_eq!((arena.alive, arena.peak()), (3, 3));
        assert_eq!(arena.get(ids[0]).size, 1);
    }
}
