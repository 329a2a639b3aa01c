//! Private congestion control of SCC (III-C and IV): a tunnel's reference weight in its division, the order in which
//! its packets leave, and the signals to its transports.
//!
//! A *session* is a flow. Its remaining size (M) is the amount that has yet to leave the tunnel, in wire bytes: data
//! that its transport still holds, and packets queued here. Packets in flight need no bandwidth any more, and lost
//! packets count again when they are retransmitted. A session with nothing left is not counted.
//!
//! # Units
//!
//! W' of deadline and latency divisions is a rate in bit/s, since Algorithms 1 and 3 compare it with the given rate;
//! W' of completion divisions counts parts of 2^-50 per byte. W_t arrives in kbit/s. All values are whole numbers.
//!
//! # Readings of the text
//!
//! | text | here |
//! |---|---|
//! | which sessions are satisfied first when more is wanted than given | the cheapest (Algorithm 1, line 9), those with the largest V (Algorithm 3): the longest queues |
//! | if less is wanted, each sends at x* | the same rule: then the first N are all. A session's part of a slot is x* times the slot; further packets wait for the rate that is left over |
//! | the rate left over, and unsatisfied sessions | all is used, as tunnels are work conserving (III-B). Deadlines: `spareRate`, the cheapest first or the earliest deadline; latency: in order of arrival; completion: no parts, only shortest first |
//! | a session that begins within a slot | it gets its part of the rest of the slot, if it still fits (deadlines) |
//! | a deadline that has passed, or that is nearer than a slot | `missedDeadline`; no deadline is nearer than a slot, as nothing is decided for less |
//! | a deadline that needs more than the host's line | it cannot be kept any more, and counts as passed: by W' it would weigh most of all |
//! | maximum queue of latency-sensitive flows before transports see marks ("PCC maintains small queues in the tunnel") | Q*, which is their target |
//! | a flow without a deadline, beside flows with one | a packet in each slot, as for one whose deadline has passed; it is served after all that can be in time, shortest first |
//! | 1/M where M approaches 0 | M counts at least as the amount that the host's line carries in a slot: weights are made for a slot, in which such a flow could be complete |
//! | an unknown size | the amount sent so far replaces the remaining size: for sizes with heavy tails the expected rest grows like that; so the order is that of least attained service |
//! | N_f, the latency-sensitive flows of a tunnel | those with something left |
//! | "average bandwidth of a tunnel to be at least 10 x N_f" | a part of W', and a rate whatever the weight for flows in their first window of ten packets: a floor for long flows would replace shares by weight (`latencyMinRate`) |
//! | "UCC should pass this information to PCC layer" (III-B) | transports see marks of the network while their tunnel is at its floor, as then marks do not change its rate |
//! | marks by "queue length and properties of flows" | the queue is the tunnel's; where the tunnel schedules it is the flow's own, since a flow that is served first would otherwise shrink its window for packets behind it. The same holds for drops |
//! | tau, the decision slot | `decisionSlot` |

mod completion;
mod deadline;
mod latency;
mod session;
mod turns;

#[cfg(test)]
mod tests;

use wayleave_contracts::FlowObjective;
use wayleave_scheme_api::{
    CongestionSignal, FlowStart, LocalFlow, NextQueue, Slot, Tunnel, TunnelAck, TunnelEntry, TunnelPacket, TunnelQueue,
};
use wayleave_units::{Rate, Time};

use super::{Params, TunnelScheduling};
use session::{Session, Sessions};
use turns::SessionOrder;

/// W_t is sent in kbit/s.
const WEIGHT_UNIT: u64 = 1_000;

/// The tunnel of a division between two hosts.
///
/// ```
/// use wayleave_scheme_api::{CongestionSignal, FlowStart, LocalFlow, Tunnel, TunnelPacket};
/// use wayleave_schemes::host::scc::{FlowObjective, Params, PrivateControl};
/// use wayleave_units::{Rate, Time};
///
/// let mut tunnel = PrivateControl::new(Some(FlowObjective::Deadline), Rate::from_mbit(300), Rate::from_gbit(1), &Params::default());
/// let start = FlowStart {
///     segment: 1_460,
///     initial_window: 14_600,
///     max_window: 1_460_000,
///     size: Some(1_460),
///     deadline: Some(Time::from_millis(10)),
///     weight: 1,
/// };
/// let (now, flow) = (Time::ZERO, LocalFlow(0));
/// tunnel.on_open(now, flow, &start, CongestionSignal::Marks);
/// let packet = TunnelPacket { flow, bytes: 1_538, payload: 1_460, remaining: Some(1_460), unsent: Some(0) };
/// tunnel.on_queued(now, packet);
/// // 1538 bytes in 10 ms.
/// assert_eq!(tunnel.on_slot(now).unwrap().weight, 1_230_400);
/// ```
#[derive(Debug)]
pub struct PrivateControl {
    objective: Option<FlowObjective>,
    params: Params,
    /// W_d.
    share: Rate,
    /// The rate of the host's line, in bit/s.
    line: u64,
    /// W_t in bit/s, once it has been received.
    weight: Option<u64>,
    /// Rate that it needs whatever its weight, in bit/s.
    floor: u64,
    /// Rate of its limiter, if there is one.
    rate: Option<Rate>,
    sessions: Sessions,
    turns: SessionOrder,
    /// Start of the next slot.
    slot_ends: Time,
}

impl PrivateControl {
    /// Creates a tunnel of a division with this weight W_d, at a host with this line. Without an objective its
    /// packets leave in order, and all of the division's tunnels with data have equal weights.
    pub fn new(objective: Option<FlowObjective>, share: Rate, line: Rate, params: &Params) -> Self {
        Self {
            objective,
            params: params.clone(),
            share,
            line: line.bits_per_second(),
            weight: None,
            floor: 0,
            rate: None,
            sessions: Sessions::new(line.bits_per_second(), params.decision_slot),
            turns: SessionOrder::default(),
            slot_ends: Time::ZERO,
        }
    }

    /// Returns `true` if packets leave by Algorithms 1 to 3, and not in order.
    fn schedules(&self) -> bool {
        self.objective.is_some() && self.params.scheduling == TunnelScheduling::Tunnel
    }

    /// Returns BW_res in bit/s: W_t. Before W_t is received, the tunnel counts as the division's only one.
    fn given(&self) -> u64 {
        self.weight.unwrap_or(self.share.bits_per_second())
    }

    /// Returns the rate that the tunnel needs whatever its weight, in bit/s.
    fn floor_rate(&self) -> u64 {
        match self.objective {
            Some(FlowObjective::Latency) => latency::floor_rate(&self.sessions, &self.params),
            _ => 0,
        }
    }

    /// Returns `true` if the tunnel's rate is its floor, so that marks of the network do not change it.
    fn is_at_floor(&self) -> bool {
        self.floor > 0 && self.rate.is_some_and(|rate| rate.bits_per_second() <= self.floor)
    }

    /// Returns the queue that a flow's transport reacts to.
    fn private_queue(&self, flow: LocalFlow, queue: TunnelQueue) -> TunnelQueue {
        match self.sessions.get(flow) {
            Some(session) if self.schedules() => session.queue(),
            _ => queue,
        }
    }

    /// Something of a session has changed.
    fn refresh(&mut self, flow: LocalFlow) {
        let schedules = self.schedules();
        let Some(left) = self.sessions.refresh(flow) else { return };
        if schedules && self.objective == Some(FlowObjective::Completion) {
            self.turns.reorder(flow, completion::order(left));
        }
    }

    /// Returns W', and sets each session's part of a slot that begins now.
    fn decide(&mut self, now: Time) -> u64 {
        let (schedules, given, slot) = (self.schedules(), self.given(), self.params.decision_slot);
        match self.objective {
            None => 1,
            Some(FlowObjective::Completion) => self.sessions.inverses(),
            Some(FlowObjective::Deadline) => {
                if schedules {
                    self.turns.begin_slot(deadline::claims(&self.sessions, now, self.line, &self.params), given, slot);
                }
                deadline::weight(&self.sessions, now, self.line, &self.params)
            }
            Some(FlowObjective::Latency) => {
                if schedules {
                    self.turns.begin_slot(latency::claims(&self.sessions, &self.params), given, slot);
                }
                latency::weight(&self.sessions, &self.params)
            }
        }
    }
}

impl Tunnel for PrivateControl {
    fn on_open(&mut self, now: Time, flow: LocalFlow, start: &FlowStart, signal: CongestionSignal) {
        self.sessions.open(flow, Session::new(now, start, signal));
        self.refresh(flow);
    }

    fn on_close(&mut self, _now: Time, flow: LocalFlow) {
        self.sessions.close(flow);
        self.turns.leave(flow);
    }

    fn on_arrival(&mut self, _now: Time, packet: TunnelPacket, queue: TunnelQueue) -> TunnelEntry {
        let is_loss_based =
            self.sessions.get(packet.flow).is_some_and(|session| session.signal() == CongestionSignal::Losses);
        let is_full = self.private_queue(packet.flow, queue).packets >= self.params.tunnel_packets;
        if is_loss_based && is_full { TunnelEntry::Dropped } else { TunnelEntry::Queued }
    }

    fn on_queued(&mut self, now: Time, packet: TunnelPacket) {
        let flow = packet.flow;
        self.sessions.queued(&packet);
        self.refresh(flow);
        if !self.schedules() || self.turns.knows(flow) {
            self.turns.queued(flow);
            return;
        }
        let Some(session) = self.sessions.get(flow) else { return };
        let claim = match self.objective {
            Some(FlowObjective::Deadline) => deadline::claim(session, now, self.line, &self.params),
            Some(FlowObjective::Completion) => completion::claim(session),
            Some(FlowObjective::Latency) | None => latency::late_claim(),
        };
        let rest = self.slot_ends.saturating_sub(now);
        self.turns.join(flow, claim, self.given(), rest);
        self.turns.queued(flow);
    }

    fn next(&mut self, _now: Time) -> NextQueue {
        if !self.schedules() {
            return NextQueue::InOrder;
        }
        let spare = match self.objective {
            Some(FlowObjective::Latency) => None,
            _ => self.turns.first_of_spare(),
        };
        self.turns.first_granted().or(spare).map_or(NextQueue::InOrder, NextQueue::Of)
    }

    fn on_departure(&mut self, _now: Time, packet: TunnelPacket) {
        self.sessions.departed(&packet);
        let has_more = self.sessions.get(packet.flow).is_some_and(|session| session.queue().packets > 0);
        self.turns.departed(packet.flow, packet.bytes, has_more);
        self.refresh(packet.flow);
    }

    fn on_ack(&mut self, _now: Time, flow: LocalFlow, ack: TunnelAck, queue: TunnelQueue) -> u64 {
        let is_ecn_capable = self.sessions.get(flow).is_some_and(|session| session.signal() == CongestionSignal::Marks);
        let threshold = match self.objective {
            Some(FlowObjective::Latency) => self.params.target_packets,
            _ => self.params.tunnel_mark_packets,
        };
        let is_long = self.private_queue(flow, queue).packets > threshold;
        match () {
            () if is_ecn_capable && is_long => ack.newly,
            () if is_ecn_capable && self.is_at_floor() => ack.marked,
            () => 0,
        }
    }

    fn on_slot(&mut self, now: Time) -> Option<Slot> {
        self.floor = self.floor_rate();
        let floor = Rate::from_bits_per_second(self.floor);
        if self.sessions.active() == 0 {
            return Some(Slot { weight: 0, floor, next: None });
        }
        let next = now + self.params.decision_slot;
        self.slot_ends = next;
        // A tunnel with data always has a weight.
        Some(Slot { weight: self.decide(now).max(1), floor, next: Some(next) })
    }

    fn on_rate(&mut self, _now: Time, rate: Option<Rate>) {
        self.rate = rate;
    }

    fn on_weight(&mut self, _now: Time, weight: u32) {
        self.weight = Some(u64::from(weight) * WEIGHT_UNIT);
    }
}
