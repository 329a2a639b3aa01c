//! A link with the first-come-first-served port that it leaves.
//!
//! The departure of a packet at such a port is known at its arrival: it leaves when those before it have left. So the
//! departure is computed then, and the packet is put on the link at once, behind the others; the only event of the
//! hop is its arrival at the other end. Ports with another order of service hold their packets themselves
//! ([`crate::port`]) and put them on the link when they send them.

use wayleave_units::Bytes;

use crate::clock::{Instant, LineSpeed};
use crate::packet::{Arena, NO_PACKET, Packet, PacketId};

/// Destination of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A host: packets end there.
    Host,
    /// A switch: packets are forwarded.
    Switch,
    /// A switch that processes all packets in one place: the link with this number represents its service.
    Service(u32),
    /// A switch that holds each packet up for a time of its own, by the number of its stage.
    Jitter(u32),
}

impl Target {
    fn bits(self) -> u32 {
        match self {
            Self::Host => TARGET_HOST,
            Self::Switch => TARGET_SWITCH,
            Self::Service(link) => TARGET_SERVICE | link,
            Self::Jitter(stage) => TARGET_JITTER | stage,
        }
    }
}

/// Port at the beginning of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// First come, first served, with a buffer of its own.
    Fifo,
    /// The queued port with this number.
    Queued(u32),
}

/// No limit of a buffer, no threshold of marks.
pub(crate) const NO_LIMIT: u32 = u32::MAX;

/// A buffer's size as links keep it.
pub(crate) fn limit(bytes: Option<Bytes>) -> u32 {
    bytes.map_or(NO_LIMIT, |bytes| u32::try_from(bytes.get()).unwrap_or(NO_LIMIT))
}

/// The state of a link that every packet touches; one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Link {
    /// Time at which its port has sent all its packets.
    pub(crate) free_at: Instant,
    /// Time from the last bit sent until the packet is handled at the other end.
    pub(crate) latency: Instant,
    /// Sent, in bytes on the wire; first come, first served, also packets that have come and not left.
    sent_bytes: u64,
    /// The first packet that has not arrived.
    head: PacketId,
    tail: PacketId,
    /// First come, first served: the first packet whose last bit has not left.
    leaving: PacketId,
    /// First come, first served: bytes that have not left, whole packets.
    held: u32,
    /// Maximum amount that can be held; 0 while the link is down.
    pub(crate) limit: u32,
    /// Packets that find more than this get a mark.
    pub(crate) mark_above: u32,
    /// ps per byte, or 0 if that is not whole.
    ps_per_byte: u32,
    /// Packets that found the port idle.
    pub(crate) immediate: u32,
    target: u32,
    port: u32,
}

const _: () = assert!(size_of::<Link>() == 64);

/// The kind of a target; below it, and below [`AWAY`], its number: there are at most 2^21 links and nodes.
const TARGET_KIND: u32 = 3 << 30;
const TARGET_HOST: u32 = 0;
const TARGET_SWITCH: u32 = 1 << 30;
const TARGET_SERVICE: u32 = 2 << 30;
const TARGET_JITTER: u32 = 3 << 30;
/// Its end is simulated elsewhere ([`crate::fabric::Part`]).
const AWAY: u32 = 1 << 29;
const PORT_FIFO: u32 = u32::MAX;

/// Next arrival after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextArrival {
    /// Nothing yet.
    None,
    /// One packet, later by this number of ps.
    After(u32),
    /// One packet, whose own field has its time.
    Far,
}

/// State of a first-come-first-served port as a packet found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortState {
    /// Nothing was being sent.
    Idle,
    /// It waits.
    Busy,
    /// It waits behind more than the threshold of marks.
    BusyAbove,
    /// There is no room for it.
    Full,
}

impl Link {
    pub(crate) fn new(speed: LineSpeed, latency: Instant, target: Target, port: Port, limit: u32) -> Self {
        Self {
            free_at: 0,
            latency,
            sent_bytes: 0,
            head: NO_PACKET,
            tail: NO_PACKET,
            leaving: NO_PACKET,
            held: 0,
            limit,
            mark_above: NO_LIMIT,
            ps_per_byte: if let LineSpeed::PerByte(ps) = speed { ps } else { 0 },
            immediate: 0,
            target: target.bits(),
            port: if let Port::Queued(port) = port { port } else { PORT_FIFO },
        }
    }

    /// Returns this link with another destination.
    pub(crate) fn leading_to(self, target: Target) -> Self {
        Self { target: target.bits(), ..self }
    }

    #[inline]
    pub(crate) fn target(&self) -> Target {
        let number = self.target & (AWAY - 1);
        match self.target & TARGET_KIND {
            TARGET_HOST => Target::Host,
            TARGET_SWITCH => Target::Switch,
            TARGET_JITTER => Target::Jitter(number),
            _ => Target::Service(number),
        }
    }

    #[inline]
    pub(crate) fn port(&self) -> Port {
        if self.port == PORT_FIFO { Port::Fifo } else { Port::Queued(self.port) }
    }

    /// Returns this link with its end in another part.
    pub(crate) fn without_receiver(self) -> Self {
        Self { target: self.target | AWAY, ..self }
    }

    /// Returns `true` if its end is in another part: nothing arrives here.
    #[inline]
    pub(crate) fn leaves_part(&self) -> bool {
        self.target & AWAY != 0
    }

    /// Returns the transmission time of a packet; `slow` is called if a byte does not take whole ps.
    #[inline]
    pub(crate) fn transmission(&self, bytes: u32, slow: impl FnOnce() -> LineSpeed) -> Instant {
        match self.ps_per_byte {
            0 => slow().transmission(bytes),
            ps => u64::from(bytes) * u64::from(ps),
        }
    }

    /// Returns the state that a packet of this size finds, whose transmission takes `transmission`. `largest` is the
    /// size of the largest packet. The exact amount held matters only if one packet more or less decides, and is
    /// counted only then.
    #[inline(always)]
    pub(crate) fn inspect(
        &mut self,
        (bytes, transmission): (u32, Instant),
        largest: u32,
        now: Instant,
        arena: &Arena,
    ) -> PortState {
        if self.free_at <= now {
            (self.leaving, self.held) = (NO_PACKET, 0);
            return if bytes <= self.limit { PortState::Idle } else { PortState::Full };
        }
        let wait = self.free_at - now;
        let in_time = |bytes: u32| u64::from(bytes) * u64::from(self.ps_per_byte);
        // The bytes that have not left take `wait`; the packet that is being sent is held as a whole.
        let most = wait + in_time(largest);
        if self.ps_per_byte > 0 && most + transmission <= in_time(self.limit) {
            if most <= in_time(self.mark_above) {
                return PortState::Busy;
            }
            if wait > in_time(self.mark_above) {
                return PortState::BusyAbove;
            }
        }
        self.inspect_fifo(bytes, now, arena)
    }

    /// By the packets that are held.
    #[inline(never)]
    fn inspect_fifo(&mut self, bytes: u32, now: Instant, arena: &Arena) -> PortState {
        self.count_held(now, arena);
        match self.limit.checked_sub(self.held) {
            Some(room) if bytes <= room && self.held > self.mark_above => PortState::BusyAbove,
            Some(room) if bytes <= room => PortState::Busy,
            _ => PortState::Full,
        }
    }

    /// Lets go of the packets that have left.
    fn count_held(&mut self, now: Instant, arena: &Arena) {
        if self.free_at <= now {
            (self.leaving, self.held) = (NO_PACKET, 0);
        }
        while self.leaving != NO_PACKET {
            let packet = arena.get(self.leaving);
            if packet.due - self.latency > now {
                break;
            }
            self.held -= packet.size;
            self.leaving = packet.next;
        }
    }

    /// Puts a packet behind the others; its transmission takes `transmission`. Returns its arrival time, and `true`
    /// if it is the only one on the link.
    #[inline(always)]
    pub(crate) fn append(
        &mut self,
        id: PacketId,
        transmission: Instant,
        now: Instant,
        arena: &mut Arena,
    ) -> (Instant, bool) {
        let before = self.free_at;
        self.free_at = before.max(now) + transmission;
        let due = self.free_at + self.latency;
        let packet = arena.get_mut(id);
        packet.due = due;
        packet.next = NO_PACKET;
        self.sent_bytes += u64::from(packet.size);
        let was_empty = self.head == NO_PACKET;
        if was_empty {
            self.head = id;
        } else {
            let last = arena.get_mut(self.tail);
            debug_assert_eq!(last.due, before + self.latency, "a link has its packets in order");
            // It arrives as long after it left as this one does. To ask the packet itself would mean to wait for it.
            last.next = id;
            last.next_gap = u32::try_from(self.free_at - before).unwrap_or(u32::MAX);
        }
        self.tail = id;
        (due, was_empty)
    }

    /// After [`Self::append`] at a first-come-first-served port: the packet is held until it has left.
    #[inline]
    pub(crate) fn hold(&mut self, id: PacketId, bytes: u32) {
        if self.leaving == NO_PACKET {
            self.leaving = id;
        }
        self.held += bytes;
    }

    /// The first and the last packet that have not arrived, or [`NO_PACKET`] and any.
    #[inline]
    pub(crate) fn ends(&self) -> (PacketId, PacketId) {
        (self.head, self.tail)
    }

    /// The first packet, if it arrives now; else the event is out of date.
    #[inline(always)]
    pub(crate) fn arrived<'a>(&self, now: Instant, arena: &'a mut Arena) -> Option<(PacketId, &'a mut Packet)> {
        let packet = arena.find_mut(self.head)?;
        if packet.due == now { Some((self.head, packet)) } else { None }
    }

    /// Removes the first packet. Returns the time from its arrival to the next one, if there is one and the time is
    /// known.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, id: PacketId, packet: &Packet) -> NextArrival {
        if self.leaving == id {
            self.held -= packet.size;
            self.leaving = packet.next;
        }
        self.head = packet.next;
        match (self.head, packet.next_gap) {
            (NO_PACKET, _) => NextArrival::None,
            (_, u32::MAX) => NextArrival::Far,
            // The next packet itself is not needed yet, and most likely in no cache.
            (_, gap) => NextArrival::After(gap),
        }
    }

    /// Returns the arrival time of the first packet.
    #[cold]
    pub(crate) fn first_due(&self, arena: &Arena) -> Instant {
        arena.get(self.head).due
    }

    /// Returns the last packet on a link whose end is in another part. Removes the packets that have arrived there.
    pub(crate) fn pass_over(&mut self, now: Instant, arena: &mut Arena) -> PacketId {
        while self.head != NO_PACKET && arena.get(self.head).due <= now {
            let id = self.head;
            self.remove_first(id, arena.get(id));
            arena.remove(id);
        }
        self.tail
    }

    /// The end of a link that begins elsewhere: a packet is on it. When it arrives, if it is the only one.
    pub(crate) fn take_over(&mut self, packet: Packet, arena: &mut Arena) -> Option<Instant> {
        let id = arena.insert(Packet { next: NO_PACKET, ..packet });
        let was_empty = self.head == NO_PACKET;
        if was_empty {
            self.head = id;
        } else {
            let last = arena.get_mut(self.tail);
            last.next = id;
            last.next_gap = u32::try_from(packet.due - last.due).unwrap_or(u32::MAX);
        }
        self.tail = id;
        was_empty.then_some(packet.due)
    }

    /// The same link at the end of a run, without its packets.
    pub(crate) fn settled(mut self, end: Instant, arena: &Arena) -> Self {
        let sent_bytes = self.sent(end, arena);
        Self { sent_bytes, held: 0, head: NO_PACKET, tail: NO_PACKET, leaving: NO_PACKET, ..self }
    }

    /// Returns the bytes on the wire that have come to the port: at a first-come-first-served one also those that
    /// have not left.
    #[inline]
    pub(crate) fn taken(&self) -> u64 {
        self.sent_bytes
    }

    /// Returns the bytes on the wire that have left.
    pub(crate) fn sent(&mut self, now: Instant, arena: &Arena) -> u64 {
        self.count_held(now, arena);
        self.sent_bytes - u64::from(self.held)
    }

    /// Counts from here on. Returns what was counted so far.
    pub(crate) fn forget_sent(&mut self, now: Instant, arena: &Arena) -> u64 {
        let sent = self.sent(now, arena);
        self.sent_bytes -= sent;
        sent
    }

    /// Adds suspended time to the link and the packets on it.
    pub(crate) fn delay(&mut self, by: Instant, arena: &mut Arena) {
        self.free_at += by;
        arena.delay(self.head, by);
    }

    /// Counts bytes as sent.
    pub(crate) fn credit(&mut self, bytes: u64) {
        self.sent_bytes += bytes;
    }

    /// Everything on the link and in its first-come-first-served port is lost.
    pub(crate) fn clear(&mut self, now: Instant, arena: &Arena, mut lost: impl FnMut(PacketId)) {
        self.sent_bytes = self.sent(now, arena);
        let mut id = std::mem::replace(&mut self.head, NO_PACKET);
        while id != NO_PACKET {
            let next = arena.get(id).next;
            lost(id);
            id = next;
        }
        (self.tail, self.leaving, self.held) = (NO_PACKET, NO_PACKET, 0);
        self.free_at = self.free_at.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_units::Rate;

    /// 1,000 bytes take 800 ns at 10 Gbit/s.
    #[test]
    fn a_buffer_holds_whole_packets_until_their_last_bit_has_left() {
        let mut arena = Arena::new();
        let mut link = Link::new(LineSpeed::new(Rate::from_gbit(10)), 0, Target::Host, Port::Fifo, 2_000);
        let mut offer = |link: &mut Link, now: Instant| {
            let found = link.inspect((1_000, 800_000), 1_000, now, &arena);
            if found != PortState::Full {
                let id = arena.insert(Packet { size: 1_000, ..Packet::default() });
                link.append(id, 800_000, now, &mut arena);
                link.hold(id, 1_000);
            }
            found
        };
        assert_eq!(offer(&mut link, 0), PortState::Idle);
        assert_eq!(offer(&mut link, 0), PortState::Busy);
        assert_eq!(offer(&mut link, 799_999), PortState::Full);
        assert_eq!(offer(&mut link, 800_000), PortState::Busy);
        assert_eq!(offer(&mut link, 2_400_000), PortState::Idle);
    }

    /// Compares the short cuts of `look` with the rule of the scheme on a list of held packets.
    #[test]
    fn marks_and_drops_are_those_of_the_scheme_and_of_whole_packets() {
        use wayleave_scheme_api::{Mark, QueueState, Switch};
        use wayleave_schemes::switch::threshold::Threshold;
        use wayleave_units::Time;
        let mut rng = crate::random::generator(1, 0);
        let (limit, threshold, largest) = (12_000, 6_000, 1_538);
        let mut arena = Arena::new();
        let mut link = Link::new(LineSpeed::new(Rate::from_gbit(10)), 5_000, Target::Host, Port::Fifo, limit);
        link.mark_above = threshold;
        let mut scheme = Threshold(Bytes::new(u64::from(threshold)));
        // Departure time and size of each packet.
        let mut held: Vec<(Instant, u32)> = Vec::new();
        let (mut now, mut counts) = (0, [0; 3]);
        for step in 0..20_000 {
            now += u64::from(crate::random::below(&mut rng, 1_200_000));
            let size = 64 + crate::random::below(&mut rng, largest - 63);
            held.retain(|&(leaves, _)| leaves > now);
            let bytes: u32 = held.iter().map(|packet| packet.1).sum();
            let found = link.inspect((size, u64::from(size) * 800), largest, now, &arena);
            assert_eq!(found == PortState::Full, bytes + size > limit, "step {step}: {bytes} B held");
            if found == PortState::Full {
                counts[2] += 1;
                continue;
            }
            let state = QueueState { queued: Bytes::new(u64::from(bytes)), idle_since: None };
            let is_marked = scheme.on_arrival(Time::ZERO, state, size) == Mark::Congestion;
            let is_above = found == PortState::BusyAbove;
            assert_eq!(is_above, is_marked, "step {step}: {bytes} B held");
            counts[usize::from(is_above)] += 1;
            let id = arena.insert(Packet { size, ..Packet::default() });
            link.append(id, u64::from(size) * 800, now, &mut arena);
            link.hold(id, size);
            held.push((link.free_at, size));
        }
        assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
    }
}
