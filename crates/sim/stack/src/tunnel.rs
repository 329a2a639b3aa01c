//! The packets of a tunnel: sent by its transports, and not yet released by its pair's limiter.
//!
//! The [`Tunnel`] role decides. This module keeps the packets, and counts that none is lost silently: the packets in
//! equal those out, those held, and those dropped.

use std::collections::{BTreeMap, VecDeque};

use wayleave_scheme_api::{
    CongestionSignal, FlowStart, LocalFlow, NextQueue, Slot, Tunnel, TunnelAck, TunnelEntry, TunnelPacket, TunnelQueue,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::clock::{self, Instant};

/// Traffic of a tunnel, in wire bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelCounts {
    /// Offered by transports, without what was held back.
    pub arrived: Bytes,
    /// Of these, dropped by the tunnel.
    pub dropped: Bytes,
    /// Left for the limiter.
    pub departed: Bytes,
    /// Held now.
    pub queued: Bytes,
    /// The most packets that were held at once.
    pub longest: u32,
}

/// One tunnel with its packets `K`.
#[derive(Debug)]
pub struct TunnelState<K, T: ?Sized = dyn Tunnel + Send> {
    role: Box<T>,
    /// In the order of arrival.
    packets: BTreeMap<u64, Held<K>>,
    /// The numbers of each flow's packets, by [`LocalFlow`].
    of_flow: Vec<VecDeque<u64>>,
    arrivals: u64,
    queue: TunnelQueue,
    counts: TunnelCounts,
    /// `true` if the next decision slot begins with the next packet.
    rests: bool,
}

#[derive(Debug)]
struct Held<K> {
    what: K,
    packet: TunnelPacket,
}

/// Next packet of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPacket {
    /// The tunnel is empty.
    None,
    /// The one with this number.
    At(u64),
    /// None before this time.
    NotBefore(Instant),
}

impl<K: Copy, T: Tunnel + ?Sized> TunnelState<K, T> {
    /// An empty one.
    pub fn new(role: Box<T>) -> Self {
        Self {
            role,
            packets: BTreeMap::new(),
            of_flow: Vec::new(),
            arrivals: 0,
            queue: TunnelQueue::default(),
            counts: TunnelCounts::default(),
            rests: false,
        }
    }

    /// Returns its traffic.
    pub fn counts(&self) -> TunnelCounts {
        TunnelCounts { queued: self.queue.bytes, ..self.counts }
    }

    /// Returns `true` if it holds no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns `true` if it holds a packet of a flow.
    pub fn holds(&self, flow: LocalFlow) -> bool {
        self.of_flow.get(flow.index()).is_some_and(|numbers| !numbers.is_empty())
    }

    /// The role, to be asked what a test wants to know.
    pub fn role(&self) -> &T {
        &self.role
    }

    /// A flow joins.
    pub fn open(&mut self, now: Instant, flow: LocalFlow, start: &FlowStart, signal: CongestionSignal) {
        self.role.on_open(clock::to_time(now), flow, start, signal);
    }

    /// A flow has ended.
    pub fn close(&mut self, now: Instant, flow: LocalFlow) {
        self.role.on_close(clock::to_time(now), flow);
    }

    /// Returns the decision on a packet that its transport offers. [`Self::put`] or [`Self::drop`] follow for the
    /// packet that left the transport, which may be smaller; nothing follows if it is held back.
    pub fn ask(&mut self, now: Instant, packet: TunnelPacket) -> TunnelEntry {
        self.role.on_arrival(clock::to_time(now), packet, self.queue)
    }

    /// A packet is dropped.
    pub fn drop(&mut self, packet: TunnelPacket) {
        let bytes = Bytes::new(u64::from(packet.bytes));
        self.counts.arrived += bytes;
        self.counts.dropped += bytes;
    }

    /// Queues a packet. Returns `true` if a decision slot begins with it ([`Slot::next`]).
    pub fn put(&mut self, now: Instant, packet: TunnelPacket, what: K) -> bool {
        let bytes = Bytes::new(u64::from(packet.bytes));
        let number = self.arrivals;
        self.arrivals += 1;
        self.packets.insert(number, Held { what, packet });
        if self.of_flow.len() <= packet.flow.index() {
            self.of_flow.resize_with(packet.flow.index() + 1, VecDeque::new);
        }
        self.of_flow[packet.flow.index()].push_back(number);
        self.counts.arrived += bytes;
        self.queue.bytes += bytes;
        self.queue.packets += 1;
        self.counts.longest = self.counts.longest.max(self.queue.packets);
        self.role.on_queued(clock::to_time(now), packet);
        std::mem::take(&mut self.rests)
    }

    /// Returns the next packet. A role that names a flow without a packet here gets the first packet in order of
    /// arrival.
    pub fn next(&mut self, now: Instant) -> NextPacket {
        let Some((&first, _)) = self.packets.first_key_value() else { return NextPacket::None };
        match self.role.next(clock::to_time(now)) {
            NextQueue::InOrder => NextPacket::At(first),
            NextQueue::Of(flow) => {
                let own = self.of_flow.get(flow.index()).and_then(|numbers| numbers.front());
                NextPacket::At(own.copied().unwrap_or(first))
            }
            NextQueue::NotBefore(at) => match clock::from_time(at) {
                at if at > now => NextPacket::NotBefore(at),
                _ => NextPacket::At(first),
            },
        }
    }

    /// A packet's size on the wire.
    pub fn bytes(&self, number: u64) -> Option<u32> {
        self.packets.get(&number).map(|held| held.packet.bytes)
    }

    /// A packet.
    pub fn peek(&self, number: u64) -> Option<(K, LocalFlow)> {
        self.packets.get(&number).map(|held| (held.what, held.packet.flow))
    }

    /// Takes a packet out: it leaves for the limiter.
    pub fn take(&mut self, now: Instant, number: u64) -> Option<K> {
        let Held { what, packet } = self.packets.remove(&number)?;
        // Packets of one flow leave in the order in which they came: this is its first, mostly.
        if let Some(numbers) = self.of_flow.get_mut(packet.flow.index())
            && let Some(at) = numbers.iter().position(|&own| own == number)
        {
            numbers.remove(at);
        }
        let bytes = Bytes::new(u64::from(packet.bytes));
        self.queue.bytes = Bytes::new(self.queue.bytes.get().saturating_sub(bytes.get()));
        self.queue.packets -= 1;
        self.counts.departed += bytes;
        self.role.on_departure(clock::to_time(now), packet);
        Some(what)
    }

    /// Processes an acknowledgement for a transport. Returns the bytes that are reported as marked to the transport.
    pub fn acknowledge(&mut self, now: Instant, flow: LocalFlow, ack: TunnelAck) -> u64 {
        self.role.on_ack(clock::to_time(now), flow, ack, self.queue).min(ack.newly)
    }

    /// A decision slot begins.
    pub fn slot(&mut self, now: Instant) -> Option<Slot> {
        let slot = self.role.on_slot(clock::to_time(now));
        self.rests = slot.is_some_and(|slot| slot.next.is_none());
        slot
    }

    /// The limiter of the pair has another rate.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.role.on_rate(now, rate);
    }

    /// The pair has another weight.
    pub fn set_weight(&mut self, now: Time, weight: u32) {
        self.role.on_weight(now, weight);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A role with scripted decisions.
    #[derive(Default)]
    struct Scripted {
        entry: Option<TunnelEntry>,
        turn: Option<NextQueue>,
    }

    impl Tunnel for Scripted {
        fn on_arrival(&mut self, _: Time, _: TunnelPacket, _: TunnelQueue) -> TunnelEntry {
            self.entry.unwrap_or(TunnelEntry::Queued)
        }
        fn next(&mut self, _: Time) -> NextQueue {
            self.turn.unwrap_or(NextQueue::InOrder)
        }
        fn on_ack(&mut self, _: Time, _: LocalFlow, ack: TunnelAck, _: TunnelQueue) -> u64 {
            2 * ack.newly
        }
    }

    fn packet(flow: u32, bytes: u32) -> TunnelPacket {
        TunnelPacket { flow: LocalFlow(flow), bytes, payload: bytes, remaining: None, unsent: None }
    }

    fn offer(tunnel: &mut TunnelState<u32, Scripted>, packet: TunnelPacket, what: u32) -> TunnelEntry {
        let entry = tunnel.ask(0, packet);
        match entry {
            TunnelEntry::Queued => _ = tunnel.put(0, packet, what),
            TunnelEntry::Dropped => tunnel.drop(packet),
            TunnelEntry::HeldBack => {}
        }
        entry
    }

    fn take(tunnel: &mut TunnelState<u32, Scripted>) -> Option<u32> {
        match tunnel.next(0) {
            NextPacket::At(number) => tunnel.take(0, number),
            NextPacket::None | NextPacket::NotBefore(_) => None,
        }
    }

    #[test]
    fn packets_leave_in_order_or_in_the_order_of_scheduled_flows() {
        let mut tunnel = TunnelState::new(Box::<Scripted>::default());
        for (name, flow) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
            offer(&mut tunnel, packet(flow, 100), name);
        }
        assert_eq!(take(&mut tunnel), Some(1));
        tunnel.role.turn = Some(NextQueue::Of(LocalFlow(1)));
        assert_eq!([take(&mut tunnel), take(&mut tunnel)], [Some(2), Some(4)]);
        assert_eq!(take(&mut tunnel), Some(3), "a flow without packets has no turn");
        assert_eq!(take(&mut tunnel), None);
    }

    #[test]
    fn a_turn_due_in_the_past_is_now() {
        let mut tunnel = TunnelState::new(Box::<Scripted>::default());
        offer(&mut tunnel, packet(0, 100), 1);
        tunnel.role.turn = Some(NextQueue::NotBefore(Time::from_nanos(5)));
        assert_eq!(tunnel.next(4_999), NextPacket::NotBefore(5_000));
        assert_eq!(tunnel.next(5_000), NextPacket::At(0));
    }

    #[test]
    fn no_more_bytes_are_reported_as_marked_than_were_acknowledged() {
        let mut tunnel = TunnelState::<u32, _>::new(Box::<Scripted>::default());
        let ack = TunnelAck { newly: 1_460, marked: 0, remaining: None };
        assert_eq!(tunnel.acknowledge(0, LocalFlow(0), ack), 1_460);
    }

    proptest! {
        #[test]
        fn bytes_in_are_bytes_out_held_and_dropped(steps in prop::collection::vec((0_u8..4, 0_u32..3, 1_u32..2_000), 0..200)) {
            let mut tunnel = TunnelState::new(Box::<Scripted>::default());
            let mut packets = 0;
            for (what, flow, bytes) in steps {
                tunnel.role.entry = [Some(TunnelEntry::Dropped), Some(TunnelEntry::HeldBack), None, None][usize::from(what)];
                tunnel.role.turn = Some(NextQueue::Of(LocalFlow(flow)));
                match what {
                    3 => packets -= u32::from(take(&mut tunnel).is_some()),
                    _ => packets += u32::from(offer(&mut tunnel, packet(flow, bytes), 0) == TunnelEntry::Queued),
                }
                let TunnelCounts { arrived, dropped, departed, queued, .. } = tunnel.counts();
                prop_assert_eq!(arrived, dropped + departed + queued);
                prop_assert_eq!(tunnel.queue.packets, packets);
            }
        }
    }
}
