//! The sessions of a tunnel: what each has left, and sums over all that are kept as packets pass.

use wayleave_scheme_api::{CongestionSignal, FlowStart, LocalFlow, TunnelPacket, TunnelQueue};
use wayleave_units::{Bytes, Time};

/// 1/M counts parts of 2^-50 per byte: of 1 TB that leaves 1024 parts, and 2^13 flows of one packet each do not fill half of
/// 64 bits.
const INVERSE: u64 = 1 << 50;

/// A flow.
#[derive(Debug)]
pub(super) struct Session {
    /// Payload of a full packet.
    segment: u64,
    /// Wire bytes of a packet beyond its payload, once one was seen.
    overhead: u64,
    /// Payload that its transport still holds, if its size is known.
    unsent: Option<u64>,
    queue: TunnelQueue,
    /// Wire bytes that left.
    sent: u64,
    deadline: Option<Time>,
    signal: CongestionSignal,
    /// Part of the sum of inverses.
    inverse: u64,
    is_active: bool,
}

impl Session {
    pub(super) fn new(now: Time, start: &FlowStart, signal: CongestionSignal) -> Self {
        Self {
            segment: u64::from(start.segment.max(1)),
            overhead: 0,
            unsent: start.size,
            queue: TunnelQueue::default(),
            sent: 0,
            deadline: start.deadline.map(|left| Time::from_nanos(now.as_nanos().saturating_add(left.as_nanos()))),
            signal,
            inverse: 0,
            is_active: false,
        }
    }

    /// Wire bytes that have yet to leave the tunnel (M); of a flow of unknown size that has packets here, as many as it sent,
    /// and at least a full packet.
    pub(super) fn left(&self) -> u64 {
        let queued = self.queue.bytes.get();
        match self.unsent {
            Some(unsent) => unsent
                .saturating_add(unsent.div_ceil(self.segment).saturating_mul(self.overhead))
                .saturating_add(queued),
            None if self.queue.packets == 0 => 0,
            None => self.sent.max(self.packet()),
        }
    }

    /// As above, but at least a full packet.
    pub(super) fn left_or_packet(&self) -> u64 {
        self.left().max(self.packet())
    }

    /// Wire bytes of a full packet.
    pub(super) fn packet(&self) -> u64 {
        self.segment + self.overhead
    }

    /// Its packets in the tunnel (Q of Algorithm 3).
    pub(super) fn queue(&self) -> TunnelQueue {
        self.queue
    }

    /// Wire bytes that left the tunnel.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    pub(super) fn signal(&self) -> CongestionSignal {
        self.signal
    }
}

/// All of a tunnel, by their numbers.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Bytes that a line carries in a slot: the minimum of M in sums of inverses.
    least: u64,
    all: Vec<Option<Session>>,
    active: u32,
    inverses: u128,
}

impl Sessions {
    /// At a host with this line in bit/s, with slots of this length.
    pub(super) fn new(line: u64, slot: Time) -> Self {
        let carried = u128::from(line) * u128::from(slot.as_nanos()) / 8_000_000_000;
        Self { least: u64::try_from(carried).unwrap_or(u64::MAX), all: Vec::new(), active: 0, inverses: 0 }
    }

    pub(super) fn get(&self, flow: LocalFlow) -> Option<&Session> {
        self.all.get(flow.index())?.as_ref()
    }

    fn get_mut(&mut self, flow: LocalFlow) -> Option<&mut Session> {
        self.all.get_mut(flow.index())?.as_mut()
    }

    /// Returns the sessions with something left.
    pub(super) fn iter_active(&self) -> impl Iterator<Item = (LocalFlow, &Session)> {
        let numbered = self.all.iter().enumerate();
        let sessions = numbered.filter_map(|(number, session)| Some((LocalFlow(number as u32), session.as_ref()?)));
        sessions.filter(|(_, session)| session.is_active)
    }

    /// Returns the number of sessions with something left.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// The sum of 1/M.
    pub(super) fn inverses(&self) -> u64 {
        u64::try_from(self.inverses).unwrap_or(u64::MAX)
    }

    pub(super) fn open(&mut self, flow: LocalFlow, session: Session) {
        self.close(flow);
        if self.all.len() <= flow.index() {
            self.all.resize_with(flow.index() + 1, || None);
        }
        self.all[flow.index()] = Some(session);
    }

    pub(super) fn close(&mut self, flow: LocalFlow) {
        let session = self.all.get_mut(flow.index()).and_then(Option::take);
        if let Some(session) = session {
            self.active -= u32::from(session.is_active);
            self.inverses -= u128::from(session.inverse);
        }
    }

    pub(super) fn queued(&mut self, packet: &TunnelPacket) {
        let Some(session) = self.get_mut(packet.flow) else { return };
        session.overhead = u64::from(packet.bytes.saturating_sub(packet.payload));
        session.unsent = packet.unsent;
        session.queue.packets += 1;
        session.queue.bytes += Bytes::new(u64::from(packet.bytes));
    }

    pub(super) fn departed(&mut self, packet: &TunnelPacket) {
        let Some(session) = self.get_mut(packet.flow) else { return };
        let bytes = u64::from(packet.bytes);
        session.queue.packets = session.queue.packets.saturating_sub(1);
        session.queue.bytes = Bytes::new(session.queue.bytes.get().saturating_sub(bytes));
        session.sent = session.sent.saturating_add(bytes);
    }

    /// Updates the sums after a session has changed. Returns its remaining size, if it is here.
    pub(super) fn refresh(&mut self, flow: LocalFlow) -> Option<u64> {
        let Self { least, all, active, inverses } = self;
        let session = all.get_mut(flow.index())?.as_mut()?;
        let left = session.left();
        let is_active = left > 0;
        let inverse = if is_active { INVERSE / left.max(session.packet()).max(*least) } else { 0 };
        *active = *active + u32::from(is_active) - u32::from(session.is_active);
        *inverses = *inverses + u128::from(inverse) - u128::from(session.inverse);
        (session.is_active, session.inverse) = (is_active, inverse);
        Some(left)
    }
}

/// Returns the rate of `bytes` in this time, in bit/s.
pub(super) fn rate(bytes: u64, time: Time) -> u64 {
    let bits_per_second = u128::from(bytes) * 8_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(bits_per_second).unwrap_or(u64::MAX)
}
