//! A link with the first-come-first-served port that it leaves.
//!
//! What happens to a packet at such a port is known when it comes: it leaves when those before it have left. So the
//! departure is computed then, and the packet is put on the link at once, behind the others; the only event of the hop
//! is its arrival at the other end. Ports with another order of service hold their packets themselves ([`crate::port`])
//! and put them on the link when they send them.

use wayleave_units::Bytes;

use crate::clock::{Instant, LineSpeed};
use crate::frame::{Frame, Ring, Rings};
use crate::packet::PacketId;

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A host: packets end there.
    Host,
    /// A switch: packets go on.
    Switch,
    /// A switch that processes all packets in one place: the link with this number stands for its service.
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

/// What is at the beginning of a link.
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
    /// When its port has sent what it has.
    pub(crate) free_at: Instant,
    /// From the last bit sent to the packet being dealt with at the other end.
    pub(crate) latency: Instant,
    /// Sent, in bytes on the wire; first come, first served, with what has come and not left.
    sent_bytes: u64,
    /// What has not arrived.
    on_the_way: Ring,
    /// First come, first served: the number of the first frame whose last bit has not left, if any is held.
    leaving: u32,
    /// First come, first served: bytes that have not left, whole packets.
    held: u32,
    /// What can be held; 0 while the link is down.
    pub(crate) limit: u32,
    /// First come, first served: packets that find more than this get a mark. Of another port: its number.
    mark_above_or_port: u32,
    /// ps per byte, or 0 if that is not whole.
    ps_per_byte: u32,
    /// Packets that found the port idle.
    pub(crate) immediate: u32,
    /// What it leads to, and whether its port is a queued one.
    target: u32,
}

/// The kind of a target; below it, and below [`PORT_QUEUED`], its number: there are at most 2^21 links and nodes.
const TARGET_KIND: u32 = 3 << 30;
const TARGET_HOST: u32 = 0;
const TARGET_SWITCH: u32 = 1 << 30;
const TARGET_SERVICE: u32 = 2 << 30;
const TARGET_JITTER: u32 = 3 << 30;
const PORT_QUEUED: u32 = 1 << 29;

/// How a packet found a first-come-first-served port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing was being sent.
    Idle,
    /// It waits this long; whether behind more than the threshold of marks.
    Busy { wait: Instant, is_above: bool },
    /// There is no room for it.
    Full,
}

impl Link {
    pub(crate) fn new(speed: LineSpeed, latency: Instant, target: Target, port: Port, limit: u32) -> Self {
        Self {
            free_at: 0,
            latency,
            sent_bytes: 0,
            on_the_way: Ring::default(),
            leaving: 0,
            held: 0,
            limit,
            mark_above_or_port: if let Port::Queued(port) = port { port } else { NO_LIMIT },
            ps_per_byte: if let LineSpeed::PerByte(ps) = speed { ps } else { 0 },
            immediate: 0,
            target: target.bits() | if let Port::Queued(_) = port { PORT_QUEUED } else { 0 },
        }
    }

    /// First come, first served: packets that find more than this get a mark.
    pub(crate) fn marking_above(self, bytes: u32) -> Self {
        debug_assert_eq!(self.port(), Port::Fifo, "other ports have roles that mark");
        Self { mark_above_or_port: bytes, ..self }
    }

    /// The same, leading elsewhere.
    pub(crate) fn leading_to(self, target: Target) -> Self {
        Self { target: target.bits() | self.target & PORT_QUEUED, ..self }
    }

    #[inline]
    pub(crate) fn target(&self) -> Target {
        let number = self.target & (PORT_QUEUED - 1);
        match self.target & TARGET_KIND {
            TARGET_HOST => Target::Host,
            TARGET_SWITCH => Target::Switch,
            TARGET_JITTER => Target::Jitter(number),
            _ => Target::Service(number),
        }
    }

    #[inline]
    pub(crate) fn port(&self) -> Port {
        if self.target & PORT_QUEUED == 0 { Port::Fifo } else { Port::Queued(self.mark_above_or_port) }
    }

    /// How long a packet is being sent; `slow` is asked where a byte does not take whole ps.
    #[inline]
    pub(crate) fn transmission(&self, bytes: u32, slow: impl FnOnce() -> LineSpeed) -> Instant {
        match self.ps_per_byte {
            0 => slow().transmission(bytes),
            ps => u64::from(bytes) * u64::from(ps),
        }
    }

    /// How a packet of this size finds the port. `largest` is the size of the largest packet that there is: what is
    /// held exactly matters only where one packet more or less decides, and only there it is looked up.
    #[inline]
    pub(crate) fn look(&mut self, bytes: u32, largest: u32, now: Instant, rings: &Rings) -> Found {
        let mark_above = self.mark_above_or_port;
        let Some(wait) = self.free_at.checked_sub(now).filter(|&wait| wait > 0) else {
            self.held = 0;
            return if bytes <= self.limit { Found::Idle } else { Found::Full };
        };
        let in_time = |bytes: u32| u64::from(bytes) * u64::from(self.ps_per_byte);
        // The bytes that have not left take `wait`; the packet that is being sent is held as a whole.
        let most = wait + in_time(largest);
        if self.ps_per_byte > 0 && most + in_time(bytes) <= in_time(self.limit) {
            if most <= in_time(mark_above) {
                return Found::Busy { wait, is_above: false };
            }
            if wait > in_time(mark_above) {
                return Found::Busy { wait, is_above: true };
            }
        }
        self.count_held(now, rings);
        match self.limit.checked_sub(self.held) {
            Some(room) if bytes <= room => Found::Busy { wait, is_above: self.held > mark_above },
            _ => Found::Full,
        }
    }

    /// Lets go of the packets that have left.
    fn count_held(&mut self, now: Instant, rings: &Rings) {
        if self.free_at <= now {
            self.held = 0;
        }
        while self.held > 0 {
            let frame = rings.get(&self.on_the_way, self.leaving);
            if frame.due() - self.latency > now {
                break;
            }
            self.held -= frame.size();
            self.leaving = self.leaving.wrapping_add(1);
        }
    }

    /// Puts a packet behind the others, which takes the port so long. When it arrives, if it is the only one on the link.
    #[inline]
    pub(crate) fn append(
        &mut self,
        frame: Frame,
        transmission: Instant,
        now: Instant,
        rings: &mut Rings,
    ) -> Option<Instant> {
        self.free_at = self.free_at.max(now) + transmission;
        let due = self.free_at + self.latency;
        self.sent_bytes += u64::from(frame.size());
        let was_empty = self.on_the_way.is_empty();
        rings.push(&mut self.on_the_way, frame.at(due));
        was_empty.then_some(due)
    }

    /// After [`Self::append`] at a first-come-first-served port: the packet is held until it has left.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: u32) {
        if self.held == 0 {
            self.leaving = self.on_the_way.end.wrapping_sub(1);
        }
        self.held += bytes;
    }

    /// Takes the packet that arrives now, with the time of the next one; `None` if the event is out of date.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, rings: &Rings) -> Option<(Frame, Option<Instant>)> {
        let frame = *rings.first(&self.on_the_way)?;
        if frame.due() != now {
            return None;
        }
        let number = self.on_the_way.first;
        if self.held > 0 && self.leaving == number {
            self.held -= frame.size();
            self.leaving = number.wrapping_add(1);
        }
        self.on_the_way.first = number.wrapping_add(1);
        Some((frame, rings.first(&self.on_the_way).map(Frame::due)))
    }

    /// What has come to the port, in bytes on the wire: at a first-come-first-served one also what has not left.
    #[inline]
    pub(crate) fn taken(&self) -> u64 {
        self.sent_bytes
    }

    /// What has left, in bytes on the wire.
    pub(crate) fn sent(&mut self, now: Instant, rings: &Rings) -> u64 {
        self.count_held(now, rings);
        self.sent_bytes - u64::from(self.held)
    }

    /// Counts from here on. Returns what was counted so far.
    pub(crate) fn forget_sent(&mut self, now: Instant, rings: &Rings) -> u64 {
        let sent = self.sent(now, rings);
        self.sent_bytes -= sent;
        sent
    }

    /// It stood still for so long; `each` hears of the packets on it.
    pub(crate) fn delay(&mut self, by: Instant, rings: &mut Rings, each: impl FnMut(PacketId)) {
        self.free_at += by;
        rings.delay(&self.on_the_way, by, each);
    }

    /// So many bytes count as sent.
    pub(crate) fn credit(&mut self, bytes: u64) {
        self.sent_bytes += bytes;
    }

    /// Everything on the link and in its first-come-first-served port is lost.
    pub(crate) fn clear(&mut self, now: Instant, rings: &Rings, mut lost: impl FnMut(Frame)) {
        self.sent_bytes = self.sent(now, rings);
        while let Some(frame) = rings.pop(&mut self.on_the_way) {
            lost(frame);
        }
        self.held = 0;
        self.free_at = self.free_at.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use wayleave_units::Rate;

    #[test]
    fn the_state_of_a_link_fills_one_cache_line() {
        assert_eq!(size_of::<Link>(), 64);
    }

    /// 1,000 bytes take 800 ns at 10 Gbit/s.
    #[test]
    fn a_buffer_holds_whole_packets_until_their_last_bit_has_left() {
        let mut rings = Rings::default();
        let mut link = Link::new(LineSpeed::new(Rate::from_gbit(10)), 0, Target::Host, Port::Fifo, 2_000);
        let mut offer = |link: &mut Link, now: Instant| {
            let found = link.look(1_000, 1_000, now, &rings);
            if found != Found::Full {
                let frame = Frame::of(0, &Packet { size: 1_000, ..Packet::default() });
                link.append(frame, 800_000, now, &mut rings);
                link.hold(1_000);
            }
            found
        };
        assert_eq!(offer(&mut link, 0), Found::Idle);
        assert_eq!(offer(&mut link, 0), Found::Busy { wait: 800_000, is_above: false });
        assert_eq!(offer(&mut link, 799_999), Found::Full);
        assert_eq!(offer(&mut link, 800_000), Found::Busy { wait: 800_000, is_above: false });
        assert_eq!(offer(&mut link, 2_400_000), Found::Idle);
    }

    /// The short cuts of `look` against the rule of the scheme on a list of what is held.
    #[test]
    fn marks_and_drops_are_those_of_the_scheme_and_of_whole_packets() {
        use wayleave_roles::{Mark, QueueState, Switch};
        use wayleave_schemes::threshold::Threshold;
        use wayleave_units::Time;
        let mut rng = crate::random::generator(1, 0);
        let (limit, threshold, largest) = (12_000, 6_000, 1_538);
        let mut rings = Rings::default();
        let link = Link::new(LineSpeed::new(Rate::from_gbit(10)), 5_000, Target::Host, Port::Fifo, limit);
        let mut link = link.marking_above(threshold);
        let mut scheme = Threshold(Bytes::new(u64::from(threshold)));
        // When each packet leaves, and its size.
        let mut held: Vec<(Instant, u32)> = Vec::new();
        let (mut now, mut counts) = (0, [0; 3]);
        for step in 0..20_000 {
            now += u64::from(crate::random::below(&mut rng, 1_200_000));
            let size = 64 + crate::random::below(&mut rng, largest - 63);
            held.retain(|&(leaves, _)| leaves > now);
            let bytes: u32 = held.iter().map(|packet| packet.1).sum();
            let found = link.look(size, largest, now, &rings);
            assert_eq!(found == Found::Full, bytes + size > limit, "step {step}: {bytes} B held");
            if found == Found::Full {
                counts[2] += 1;
                continue;
            }
            let state = QueueState { queued: Bytes::new(u64::from(bytes)), idle_since: None };
            let is_marked = scheme.on_arrival(Time::ZERO, state, size) == Mark::Congestion;
            let is_above = matches!(found, Found::Busy { is_above: true, .. });
            assert_eq!(is_above, is_marked, "step {step}: {bytes} B held");
            counts[usize::from(is_above)] += 1;
            let frame = Frame::of(0, &Packet { size, ..Packet::default() });
            link.append(frame, u64::from(size) * 800, now, &mut rings);
            link.hold(size);
            held.push((link.free_at, size));
        }
        assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
    }
}
