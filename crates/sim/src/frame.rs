//! Frames: what links and ports need of a packet, in rings.
//!
//! A hop looks at 20 bytes: when the packet is due, which one it is, where it goes next, its size and its flags. They move from the
//! ring of one link or queue to that of the next. The packet itself ([`crate::packet`]) stays where it is, and is looked at where it is
//! sent, received or lost. In large networks that saves most of what a hop waits for: frames of one link stand side by side in one
//! cache line, packets do not.

use crate::clock::Instant;
use crate::packet::{Flags, Packet, PacketId};

/// A packet as links and ports see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Two halves, so that a frame needs no padding.
    due: [u32; 2],
    /// Which packet it is.
    pub(crate) id: PacketId,
    /// Where its next step stands in the table of routes.
    pub(crate) next: u32,
    /// Bytes on the wire; the flags are above.
    size_and_flags: u32,
}

/// Bits of a size: 16 MB.
const SIZE_BITS: u32 = 24;
const LARGEST: u32 = (1 << SIZE_BITS) - 1;

impl Frame {
    /// Of a packet that goes on from where it is.
    #[inline]
    pub(crate) fn of(id: PacketId, packet: &Packet) -> Self {
        debug_assert!(packet.size <= LARGEST, "MTUs are far below");
        let next = packet.route.wrapping_add(u32::from(packet.hop.wrapping_add(1)));
        Self { due: [0; 2], id, next, size_and_flags: packet.size | packet.flags.bits() << SIZE_BITS }
    }

    /// The packet learns what became of it on its way.
    #[inline]
    pub(crate) fn land(&self, packet: &mut Packet) {
        packet.size = self.size();
        packet.flags = self.flags();
        packet.hop = (self.next.wrapping_sub(packet.route) as u8).wrapping_sub(1);
    }

    /// On a link: when the last bit arrives. In a port: since when it waits.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        u64::from(self.due[0]) | u64::from(self.due[1]) << 32
    }

    /// The same at another time.
    #[inline]
    pub(crate) fn at(self, due: Instant) -> Self {
        Self { due: [due as u32, (due >> 32) as u32], ..self }
    }

    /// Bytes on the wire.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size_and_flags & LARGEST
    }

    /// A switch takes something off.
    #[inline]
    pub(crate) fn set_size(&mut self, size: u32) {
        self.size_and_flags = self.size_and_flags & !LARGEST | size;
    }

    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        Flags::from_bits(self.size_and_flags >> SIZE_BITS)
    }

    /// It met congestion.
    #[inline]
    pub(crate) fn mark(&mut self) {
        self.size_and_flags |= Flags::MARKED.bits() << SIZE_BITS;
    }
}

/// A queue of frames, which are in [`Rings`]. Its numbers go on for ever: the first frame has the number `first`, the one behind the
/// last would have `end`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ring {
    /// Where its memory is, in units of the smallest one, and above [`Self::CLASS_SHIFT`] how large: 0 is none.
    place: u32,
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// Places of the smallest ring.
const SMALLEST: usize = 4;

impl Ring {
    const CLASS_SHIFT: u32 = 27;

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    #[inline]
    fn class(&self) -> u32 {
        self.place >> Self::CLASS_SHIFT
    }

    /// How many frames it has memory for.
    #[inline]
    fn capacity(&self) -> u32 {
        match self.class() {
            0 => 0,
            class => (SMALLEST as u32) << (class - 1),
        }
    }

    /// Where the frame with a number stands, if the ring has memory.
    #[inline]
    fn index(&self, number: u32) -> usize {
        let mask = (SMALLEST << self.class()) / 2 - 1;
        (self.place & ((1 << Self::CLASS_SHIFT) - 1)) as usize * SMALLEST + (number as usize & mask)
    }
}

/// The memory of all rings.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    frames: Vec<Frame>,
    /// By class, memory that rings have left for a larger one.
    free: [Vec<u32>; 32],
}

impl Rings {
    /// A frame by its number, which is in the ring.
    #[inline]
    pub(crate) fn get(&self, ring: &Ring, number: u32) -> &Frame {
        &self.frames[ring.index(number)]
    }

    /// The first frame of a ring.
    #[inline]
    pub(crate) fn first(&self, ring: &Ring) -> Option<&Frame> {
        (!ring.is_empty()).then(|| self.get(ring, ring.first))
    }

    /// Puts a frame at the end.
    #[inline]
    pub(crate) fn push(&mut self, ring: &mut Ring, frame: Frame) {
        if ring.len() == ring.capacity() {
            self.grow(ring);
        }
        self.frames[ring.index(ring.end)] = frame;
        ring.end = ring.end.wrapping_add(1);
    }

    /// Takes the first frame.
    #[inline]
    pub(crate) fn pop(&self, ring: &mut Ring) -> Option<Frame> {
        let frame = *self.first(ring)?;
        ring.first = ring.first.wrapping_add(1);
        Some(frame)
    }

    /// All frames of a ring are due so much later; `each` hears which packets they are.
    pub(crate) fn delay(&mut self, ring: &Ring, by: Instant, mut each: impl FnMut(PacketId)) {
        for step in 0..ring.len() {
            let frame = &mut self.frames[ring.index(ring.first.wrapping_add(step))];
            *frame = frame.at(frame.due() + by);
            each(frame.id);
        }
    }

    /// Twice the memory for a ring that is full.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, ring: &mut Ring) {
        let class = ring.class() + 1;
        let place = self.free[class as usize].pop().unwrap_or_else(|| {
            let place = (self.frames.len() / SMALLEST) as u32;
            assert!(place < 1 << Ring::CLASS_SHIFT, "500 million frames are 10 GB");
            let more = SMALLEST << (class - 1);
            let missing = (self.frames.len() + more).saturating_sub(self.frames.capacity());
            if missing > 0 {
                // By a quarter: doubling would leave up to half of the memory unused.
                self.frames.reserve_exact(missing.max(self.frames.len() / 4));
            }
            self.frames.resize(self.frames.len() + more, Frame { due: [0; 2], id: 0, next: 0, size_and_flags: 0 });
            place
        });
        let larger = Ring { place: place | class << Ring::CLASS_SHIFT, ..*ring };
        for step in 0..ring.len() {
            let number = ring.first.wrapping_add(step);
            self.frames[larger.index(number)] = self.frames[ring.index(number)];
        }
        if ring.class() > 0 {
            self.free[ring.class() as usize].push(ring.place & ((1 << Ring::CLASS_SHIFT) - 1));
        }
        *ring = larger;
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_frame_takes_twenty_bytes_and_its_packet_knows_what_became_of_it() {
        assert_eq!(size_of::<Frame>(), 20);
        let flags = Flags::ECN_CAPABLE.with(Flags::TAGGED);
        let mut packet = Packet { size: 1_562, route: 70, hop: u8::MAX, flags, ..Packet::default() };
        let mut frame = Frame::of(9, &packet).at(u64::MAX - 5);
        assert_eq!((frame.id, frame.next, frame.size(), frame.due()), (9, 70, 1_562, u64::MAX - 5));
        assert_eq!(frame.flags(), flags);
        frame.next += 2;
        frame.set_size(1_558);
        frame.mark();
        frame.land(&mut packet);
        assert_eq!((packet.size, packet.hop, packet.flags), (1_558, 1, flags.with(Flags::MARKED)));
        assert_eq!(Frame::of(9, &packet).next, 72);
    }

    /// Many rings in one memory, against as many lists; numbers pass the end of what they can count to.
    #[test]
    fn rings_are_queues_whatever_their_neighbours_do() {
        let mut rng = crate::random::generator(3, 0);
        let mut rings = Rings::default();
        let near_end = u32::MAX - 50;
        let mut all = [(); 7].map(|()| (Ring { first: near_end, end: near_end, ..Ring::default() }, VecDeque::new()));
        let packet = Packet::default();
        for step in 0..60_000 {
            let which = crate::random::below(&mut rng, 7) as usize;
            let (ring, list) = &mut all[which];
            // Rings of different lengths, which grow and shrink.
            if crate::random::below(&mut rng, 2) > 0 && list.len() < 10 << which {
                rings.push(ring, Frame::of(step, &packet));
                list.push_back(step);
            } else {
                assert_eq!(rings.pop(ring).map(|frame| frame.id), list.pop_front(), "step {step}");
            }
            let ids: Vec<u32> = (0..ring.len()).map(|at| rings.get(ring, ring.first.wrapping_add(at)).id).collect();
            assert!(ids.iter().eq(list.iter()), "step {step}");
        }
        assert!(all.iter().all(|(ring, _)| ring.end < near_end));
        // What smaller rings have left is used again.
        assert!(rings.frames.len() < 4_096, "{}", rings.frames.len());
    }
}
