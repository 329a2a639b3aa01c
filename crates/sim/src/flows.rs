//! Reliable flows between hosts, and the hosts' interfaces that send for them.
//!
//! Hosts pull: a segment is made when the interface can send it, so that a window that is larger than the network does
//! not pile up in the host (as Linux limits what a socket may have below it). Flows of one class take turns; of all
//! flows of a class one segment at a time is in the port.
//! Acknowledgements and packets of sources are queued at the interface as they come.

use std::collections::VecDeque;

use wayleave_roles::{Departure, Path};
use wayleave_scenarios::Endpoint;
use wayleave_schemes::presto::Reorder;
use wayleave_schemes::transports::AnyPath;
use wayleave_topology::NodeId;

use crate::clock::{self, Instant};
use crate::edge::PairSlot;
use crate::fabric::Step;
use crate::packet::{Block, Extra, Flags, Kind, Packet, PacketId};
use crate::router::PathSetId;
use crate::supply::Supply;
use crate::transport::{NEVER, Receiver, Sender};

/// A flow's place; used again when the flow is over and none of its packets is left.
pub(crate) type FlowSlot = u32;

/// On the wire: IPv4 and TCP headers without options.
pub(crate) const HEADERS: u32 = 40;

/// On the wire: Ethernet header and FCS (18 B), preamble and gap (20 B).
pub(crate) const FRAMING: u32 = 38;

/// An acknowledgement: a frame of the smallest size (64 B) with preamble and gap.
pub(crate) const ACKNOWLEDGEMENT: u32 = 84;

/// One flow, both ends of it.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) path: AnyPath,
    /// The receiver's reordering buffer, where packets of one flow take several paths in turn.
    pub(crate) reorder: Option<Box<Reorder<PacketId>>>,
    pub(crate) forth: Direction,
    pub(crate) back: Direction,
    /// Which interface sends for it, and in which class.
    pub(crate) interface: u32,
    pub(crate) class: u8,
    pub(crate) standing: Standing,
    /// The path of its acknowledgements, counted beyond their number.
    pub(crate) back_path: u32,
    /// When its alarms ring.
    pub(crate) slow_at: Instant,
    pub(crate) quick_at: Instant,
    /// Packets of it on the way.
    pub(crate) on_the_way: u32,
    /// Index of its statistics.
    pub(crate) stat: u32,
    pub(crate) is_ecn_capable: bool,
    pub(crate) wants_telemetry: bool,
    pub(crate) purpose: Purpose,
    /// What its application writes, if not everything at once.
    pub(crate) supply: Option<Box<Supply>>,
    /// What limits it, or [`crate::edge::NO_PAIR`].
    pub(crate) pair: PairSlot,
    /// Bytes on the wire for which it has tokens: one segment, or none.
    pub(crate) granted: u32,
}

/// One direction of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) first: Step,
    pub(crate) paths: PathSetId,
    pub(crate) last_hop: Step,
}

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not in the interface's list.
    Waiting,
    /// In the list of those that can send.
    Ready,
    /// In the line of those that wait for tokens.
    Held,
    /// Everything was acknowledged.
    Done,
    /// Its place is free.
    Gone,
}

/// Why a flow is there, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Index of its traffic.
    pub(crate) traffic: u32,
    pub(crate) step: RpcStep,
    /// When what it belongs to began: itself, or its request.
    pub(crate) began: Instant,
    /// Payload; `u64::MAX` without end.
    pub(crate) bytes: u64,
    /// From then on; [`NEVER`] without one.
    pub(crate) deadline: Instant,
    /// Index of its pair, or of its closed loop.
    pub(crate) pair: u32,
    /// Who answers, if it is part of a closed loop.
    pub(crate) server: Endpoint,
    /// What went before it, an answer's request, would have taken this long alone.
    pub(crate) ideal_before: Instant,
}

impl Purpose {
    /// Of a flow that belongs to nothing.
    pub(crate) const NONE: Self = Self {
        traffic: 0,
        step: RpcStep::None,
        began: 0,
        bytes: 0,
        deadline: NEVER,
        pair: 0,
        server: Endpoint { host: NodeId(0), number: 0 },
        ideal_before: 0,
    };

    /// How long what it belongs to has from its beginning, if it has a deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.deadline).filter(|&deadline| deadline != NEVER)
    }
}

/// Its part in a remote procedure call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RpcStep {
    /// None.
    None,
    /// The request.
    Request,
    /// The answer.
    Answer,
}

/// A host's interface: who wants to send through it.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) link: u32,
    /// Per class, those that can send, in turn.
    ready: Vec<VecDeque<FlowSlot>>,
    /// How many those are.
    count: usize,
    /// First come, first served: the next segment may come to the port then, when the one before has left it.
    pub(crate) turn_at: Instant,
    /// First come, first served: whether an event stands at the next turn.
    pub(crate) is_scheduled: bool,
}

impl Interface {
    pub(crate) fn new(link: u32, classes: usize) -> Self {
        Self { link, ready: vec![VecDeque::new(); classes.max(1)], count: 0, turn_at: 0, is_scheduled: false }
    }

    /// Nobody can send.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn classes(&self) -> usize {
        self.ready.len()
    }

    /// A flow waits for its turn.
    pub(crate) fn push(&mut self, class: usize, slot: FlowSlot) {
        self.ready[class].push_back(slot);
        self.count += 1;
    }

    /// The flow whose turn it is; with a rank, the one whose rank is least.
    pub(crate) fn pop(&mut self, class: usize, rank: Option<impl Fn(FlowSlot) -> u64>) -> Option<FlowSlot> {
        let ready = &mut self.ready[class];
        let at = match rank {
            Some(rank) if ready.len() > 1 => (0..ready.len()).min_by_key(|&at| rank(ready[at]))?,
            _ => 0,
        };
        let slot = ready.remove(at)?;
        self.count -= 1;
        Some(slot)
    }
}

/// A segment that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    pub(crate) bytes: u32,
    pub(crate) is_again: bool,
}

impl Flow {
    /// When it has to be looked at for its pace, its application or its reordering buffer.
    #[inline]
    pub(crate) fn quick_alarm(&self, now: Instant) -> Instant {
        let mut at = NEVER;
        if self.standing == Standing::Waiting && self.sender.wants_to_send() {
            let next = self.sender.paced_until();
            if next > now {
                at = next;
            }
        }
        if let Some(supply) = &self.supply {
            at = at.min(supply.next_look(&self.sender, now));
        }
        match self.reorder.as_ref().and_then(|buffer| buffer.deadline()) {
            Some(deadline) => at.min(clock::from_time(deadline)),
            None => at,
        }
    }

    /// The packet that carries a segment; `count` is how many paths there are, `route` gives the start of one.
    #[inline]
    pub(crate) fn packet(
        &mut self,
        slot: FlowSlot,
        segment: Segment,
        now: Instant,
        count: u32,
        route: impl FnOnce(u32) -> u32,
    ) -> Packet {
        let path = match count {
            0 | 1 => 0,
            paths => self.path.choose(clock::to_time(now), Departure { bytes: segment.bytes, paths }),
        };
        let mut flags = Flags::default();
        if self.is_ecn_capable {
            flags = flags.with(Flags::ECN_CAPABLE);
        }
        if segment.is_again {
            flags = flags.with(Flags::AGAIN);
        }
        Packet {
            sent: now,
            due: now,
            flow: slot,
            size: segment.bytes + HEADERS + FRAMING,
            sequence: segment.sequence,
            route: route(path),
            // The first switch makes it zero.
            last_hop: self.forth.last_hop.bits(),
            hop: u8::MAX,
            kind: Kind::Data,
            flags,
            path: path as u8,
            extra: Extra::data(self.sender.urgency(), self.path.cell()),
            ..Packet::default()
        }
    }
}

/// Makes the acknowledgement of a segment out of its packet.
#[inline]
pub(crate) fn answer(packet: &mut Packet, expected: u32, block: Block, back: Direction, route: u32) {
    packet.kind = Kind::Ack;
    packet.size = ACKNOWLEDGEMENT;
    packet.route = route;
    packet.hop = u8::MAX;
    packet.last_hop = back.last_hop.bits();
    packet.flags = packet.flags.only(Flags::MARKED.with(Flags::AGAIN));
    packet.extra = Extra::ack(expected, block, packet.extra.telemetry());
}
