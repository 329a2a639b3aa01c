//! The tunnel role: the queue between the transports of a division and the limiter of its pair.
//!
//! SCC (sections III-B, III-C and IV): the rate of a tunnel answers the network, by the [`Host`](crate::Host) role;
//! the transports inside answer the tunnel's queue and nothing else. So this is a role of its own. It is on the
//! packet path, one for each pair of a division, where the host role is one for each machine and never sees a packet.
//!
//! The driver keeps the packets; the role decides. It takes marks of the network off acknowledgements and puts its
//! own on (III-C), bounds the queue for transports that understand drops (III-C: 100 packets), and holds transports
//! back. It chooses the flow of the next packet (Algorithms 1 to 3), and computes in every decision slot the weight
//! that it would like (steps 1 to 3).
//!
//! Every method has a body that does nothing: a tunnel that overrides none is a queue without limits, and
//! [`Absent`](crate::Absent) is just that. EyeQ, Parley and uFAB have no tunnels.

use wayleave_units::{Bytes, Rate, Time};

use crate::flow::FlowStart;
use crate::ids::LocalFlow;

/// A packet at a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelPacket {
    /// Its flow.
    pub flow: LocalFlow,
    /// On the wire.
    pub bytes: u32,
    /// Of these, payload; of a source that has no transport, all bytes.
    pub payload: u32,
    /// Payload that its flow has left to send or to be acknowledged, with this packet, if it is known.
    pub remaining: Option<u64>,
    /// Payload that its transport still holds for the first time, without this packet, if it is known. Together with
    /// the packets in the tunnel this is the payload that has yet to leave it (M of SCC, Table I).
    pub unsent: Option<u64>,
}

/// Events that the transport of a flow takes for congestion (SCC, III-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// Marks.
    Marks,
    /// Losses; so does a source, which has no transport.
    Losses,
    /// Round trips, or nothing.
    RoundTrips,
}

/// Contents of a tunnel, without the packet that it is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelQueue {
    /// On the wire.
    pub bytes: Bytes,
    /// Number of packets.
    pub packets: u32,
}

/// An acknowledgement that returns to a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelAck {
    /// Newly acknowledged payload.
    pub newly: u64,
    /// Of these, marked by the network.
    pub marked: u64,
    /// Payload that the flow has left to send or to be acknowledged, if it is known.
    pub remaining: Option<u64>,
}

/// Treatment of a packet that comes from a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEntry {
    /// It waits for its turn.
    Queued,
    /// It is dropped; its transport finds out as of any loss.
    Dropped,
    /// It stays with its transport, which offers it again when a packet has left the tunnel.
    HeldBack,
}

/// Choice of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextQueue {
    /// The packet that came first.
    InOrder,
    /// The first packet of this flow, which has one here.
    Of(LocalFlow),
    /// None before this time, which is later than now (SCC, Algorithm 1, line 7: sessions send at their own rates).
    NotBefore(Time),
}

/// Result that a tunnel computed at the beginning of a decision slot (SCC, Algorithms 1 to 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The reference weight W'. Only ratios within a division count, so its tunnels have to use one unit.
    pub weight: u64,
    /// Rate that the tunnel needs whatever its weight (SCC, IV-C); zero if it needs none.
    pub floor: Rate,
    /// Begin of the next slot; later than now. `None`: as soon as a packet comes, so that a tunnel without flows
    /// costs nothing.
    pub next: Option<Time>,
}

/// The queue of one division to one destination.
pub trait Tunnel {
    /// A flow joins.
    fn on_open(&mut self, _now: Time, _flow: LocalFlow, _start: &FlowStart, _signal: CongestionSignal) {}

    /// A flow has ended. None of its packets is here.
    fn on_close(&mut self, _now: Time, _flow: LocalFlow) {}

    /// A packet comes from its transport, and finds `queue`. It is a question: the packet that leaves the transport
    /// may be smaller, and is reported by [`Self::on_queued`].
    fn on_arrival(&mut self, _now: Time, _packet: TunnelPacket, _queue: TunnelQueue) -> TunnelEntry {
        TunnelEntry::Queued
    }

    /// A packet waits for its turn from now on.
    fn on_queued(&mut self, _now: Time, _packet: TunnelPacket) {}

    /// The limiter could send, and the tunnel holds at least one packet.
    fn next(&mut self, _now: Time) -> NextQueue {
        NextQueue::InOrder
    }

    /// A packet leaves for the limiter.
    fn on_departure(&mut self, _now: Time, _packet: TunnelPacket) {}

    /// An acknowledgement comes back; `queue` is the present contents of the tunnel. Returns the part of `ack.newly`
    /// that is passed on to its transport as marked: with a tunnel, the marks of the tunnel's own queue, and none of
    /// the network's.
    fn on_ack(&mut self, _now: Time, _flow: LocalFlow, ack: TunnelAck, _queue: TunnelQueue) -> u64 {
        ack.marked
    }

    /// A decision slot begins: asked when the tunnel opens, and then at each [`Slot::next`]. `None`: it has no slots, and is
    /// not asked again.
    /// The weight goes to the host role as [`HostInput::ReferenceWeight`](crate::HostInput::ReferenceWeight).
    fn on_slot(&mut self, _now: Time) -> Option<Slot> {
        None
    }

    /// The limiter of its pair has another rate (R of SCC, III-B); `None` has no limit.
    fn on_rate(&mut self, _now: Time, _rate: Option<Rate>) {}

    /// Its pair has another weight (W of SCC, III-B, in the unit that its host role uses).
    fn on_weight(&mut self, _now: Time, _weight: u32) {}
}
