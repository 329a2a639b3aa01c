//! The flow role: congestion control of one flow, at its sender.
//!
//! The transport keeps sequence numbers, finds losses and retransmits. A scheme of this role decides the amount that
//! may be in flight, its pacing, and its urgency. Amounts are payload bytes.

use wayleave_units::{Rate, Time};

use crate::telemetry::IntHop;

/// Facts that a scheme knows of its flow when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    /// Payload of a full packet.
    pub segment: u32,
    /// Amount that may be sent before the first acknowledgement.
    pub initial_window: u64,
    /// No window is larger.
    pub max_window: u64,
    /// Amount that will be sent, if that is known.
    pub size: Option<u64>,
    /// Time from its beginning until it has to be complete, if it has a deadline; an answer has the time that its
    /// request left.
    pub deadline: Option<Time>,
    /// Its share beside other flows, where a scheme has shares; 1 is usual.
    pub weight: u32,
}

/// Facts that a sender knows of the route of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts {
    /// Links from host to host.
    pub hops: u32,
    /// Round trip of a full packet without queues.
    pub round_trip: Time,
    /// Rate of the slowest link.
    pub slowest: Rate,
}

/// An acknowledgement with news for the sender.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Newly acknowledged, in order or selectively.
    pub newly: u64,
    /// Of these, arrived with a congestion mark.
    pub marked: u64,
    /// Acknowledged in order since the flow began.
    pub acknowledged: u64,
    /// The highest byte that was ever sent.
    pub sent: u64,
    /// In flight now: sent, neither acknowledged nor taken for lost.
    pub in_flight: u64,
    /// Left to send or to be acknowledged, if the size is known.
    pub remaining: Option<u64>,
    /// From sending to acknowledgement of the packet that caused it; `None` if that packet was sent twice.
    pub round_trip: Option<Time>,
    /// The part of the round trip that the receiving host caused (Swift, SIGCOMM 2020, 3.1).
    pub host_delay: Option<Time>,
    /// Limit that holds the sender back.
    pub limit: SendLimit,
    /// Phase of loss recovery.
    pub phase: RecoveryPhase,
    /// Telemetry that the ports of the route wrote into the packet.
    pub telemetry: &'a [IntHop],
}

/// Limit that holds a sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// Its window: growing it makes sense.
    Window,
    /// It has nothing to send.
    Application,
}

/// Phase of the repair of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No loss is outstanding.
    Open,
    /// Retransmissions of a loss are in progress; [`Flow::on_loss`] was called when the recovery began, and for
    /// further losses since.
    Recovery,
}

/// A loss was found. It is reported once for each window of data, not for each packet. It is reported again, also
/// during a recovery, if a packet is lost that was sent, for the first time or again, after the report before (RFC
/// 5681, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// By acknowledgements of packets that were sent later, or because a probe repaired it (RFC 8985).
    Fast {
        /// In flight when it was found, without what was lost.
        in_flight: u64,
    },
    /// By the retransmission time-out: the first packet that is missing counts as lost, and so do the packets that
    /// were sent long enough ago.
    Timeout {
        /// In flight when it was found.
        in_flight: u64,
    },
}

/// Congestion control of one flow.
///
/// | system | needs |
/// |---|---|
/// | DCTCP (SIGCOMM 2010) | `newly`, `marked` |
/// | D2TCP (SIGCOMM 2012) | as DCTCP, `deadline`, `remaining` |
/// | L2DCT (INFOCOM 2013) | as DCTCP, `sent`: the more a flow has sent, the gentler it grows |
/// | pFabric (SIGCOMM 2013) | [`Flow::on_route`], [`Flow::fixed_timeout`], [`Flow::urgency`], [`Flow::payload`] for its probes |
/// | Swift (SIGCOMM 2020) | `round_trip`, `host_delay`, [`Flow::on_route`], small windows, pacing |
/// | weighted Swift (uFAB, 2.2) | [`Flow::on_weight`] |
/// | HPCC | `telemetry` |
pub trait Flow {
    /// Packets take this route from now on. It is called before the first packet, and when a path role or a host
    /// moves the flow (Swift: the target delay grows with the hops).
    fn on_route(&mut self, _now: Time, _route: RouteFacts) {}

    /// `true` if [`Self::on_route`] does anything: to determine the facts of a route costs more than to open a flow.
    fn receives_routes(&self) -> bool {
        true
    }

    /// The flow's pair has another weight ([`Weighted::Pair`](crate::Weighted::Pair)), in the place of
    /// [`FlowStart::weight`].
    fn on_weight(&mut self, _now: Time, _weight: u32) {}

    /// A packet leaves.
    fn on_send(&mut self, _now: Time, _bytes: u32) {}

    /// An acknowledgement arrives.
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>);

    /// A loss was found.
    fn on_loss(&mut self, now: Time, loss: Loss);

    /// Amount that may be in flight. Less than one packet means one packet every `segment / window` round trips.
    fn window(&self) -> u64;

    /// Rate at which packets may leave; `None` as fast as the window lets them.
    fn pacing(&self) -> Option<Rate> {
        None
    }

    /// The time-out that alone finds losses (pFabric). Later acknowledgements then mean nothing, and everything that
    /// is outstanding counts as lost when nothing was acknowledged in order for this time. Asked after
    /// [`Self::on_route`]. `None`: the driver's own rules (RFC 6298, RFC 8985).
    fn fixed_timeout(&self) -> Option<Time> {
        None
    }

    /// Payload of the next packet, where `segment` is that of a full one: at least 1 and at most `segment`. Less is a
    /// probe (pFabric: after several time-outs in a row one byte goes, until an acknowledgement comes).
    fn payload(&self, segment: u32) -> u32 {
        segment
    }

    /// Urgency of the next packet, for ports that serve by remaining size (pFabric): less is sooner.
    fn urgency(&self, remaining: u64) -> u64 {
        remaining
    }
}
