//! Reliable flows between hosts, and the hosts' interfaces that send for them.
//!
//! Hosts pull: a segment is made when the interface can send it, so that a window that is larger than the network does
//! not pile up in the host (as Linux limits what a socket may have below it). Flows of one class take turns; of all
//! flows of a class one segment at a time is in the port.
//! Acknowledgements and packets of sources are queued at the interface as they come.

use std::collections::VecDeque;

use wayleave_roles::{Departure, IntHop, Path};
use wayleave_scenarios::Endpoint;
use wayleave_schemes::presto::Reorder;
use wayleave_schemes::transports::AnyPath;
use wayleave_stack::FairQueues;
use wayleave_topology::NodeId;

use crate::clock::{self, Instant};
use crate::edge::PairSlot;
use crate::edge::paths::report;
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
    pub(crate) state: FlowState,
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
    /// Its segments go through the tunnel of its pair.
    pub(crate) is_tunnelled: bool,
    pub(crate) purpose: Purpose,
    /// What its application writes, if not everything at once.
    pub(crate) supply: Option<Box<Supply>>,
    /// What limits it, or [`crate::edge::NO_PAIR`].
    pub(crate) pair: PairSlot,
    /// Its number among the flows of its pair.
    pub(crate) local: u32,
    /// Bytes on the wire for which it has tokens: one segment, or none.
    pub(crate) granted: u32,
    /// The path of the segment for which it has tokens, or [`OWN_PATH`].
    pub(crate) granted_path: u16,
}

/// A flow chooses the path of its segment itself.
pub(crate) const OWN_PATH: u16 = u16::MAX;

/// One direction of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) first: Step,
    pub(crate) paths: PathSetId,
    pub(crate) last_hop: Step,
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowState {
    /// Not in the interface's list.
    Waiting,
    /// In the list of those that can send.
    Ready,
    /// In a line of its host's stack, or held back by its tunnel.
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
    /// Per queue of its port, those that can send.
    ready: Vec<Ready>,
    /// How many those are.
    count: usize,
    /// First come, first served: the next segment may come to the port then, when the one before has left it.
    pub(crate) turn_at: Instant,
    /// First come, first served: whether an event stands at the next turn.
    pub(crate) is_scheduled: bool,
}

/// Who wants to send in one queue.
#[derive(Debug)]
enum Ready {
    /// Flows, in turn.
    Turns(VecDeque<FlowSlot>),
    /// Flows and packets of classes with weights.
    Fair(Box<FairQueues<Item>>),
}

/// What waits for an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A flow, for one segment.
    Flow(FlowSlot),
    /// A packet, with its first step and its bytes on the wire.
    Packet(PacketId, Step, u32),
}

impl Interface {
    pub(crate) fn new(link: u32, classes: usize) -> Self {
        let turns = || Ready::Turns(VecDeque::new());
        let ready = std::iter::repeat_with(turns).take(classes.max(1)).collect();
        Self { link, ready, count: 0, turn_at: 0, is_scheduled: false }
    }

    /// Nobody can send.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0
    }

    /// How many queues it has.
    pub(crate) fn classes(&self) -> usize {
        self.ready.len()
    }

    /// Whether packets wait for their turn like flows: classes have weights.
    #[inline]
    pub(crate) fn is_fair(&self) -> bool {
        matches!(self.ready[0], Ready::Fair(_))
    }

    /// A flow waits for its turn. `class`: the one that its weight belongs to.
    pub(crate) fn push(&mut self, queue: usize, slot: FlowSlot, class: impl FnOnce() -> u32) {
        match &mut self.ready[queue] {
            Ready::Turns(turns) => turns.push_back(slot),
            Ready::Fair(fair) => fair.push(class(), Item::Flow(slot)),
        }
        self.count += 1;
    }

    /// A packet waits for the turn of its class, unless that holds more than `most` bytes then. Whether it does.
    pub(crate) fn push_packet(&mut self, class: u32, item: Item, most: u64) -> bool {
        let Item::Packet(_, first, bytes) = item else { return false };
        let queue = usize::from(first.queue()).min(self.ready.len() - 1);
        let Ready::Fair(fair) = &mut self.ready[queue] else { return false };
        let held: u64 = fair
            .items(class)
            .map(|item| if let Item::Packet(_, _, bytes) = item { u64::from(*bytes) } else { 0 })
            .sum();
        if held + u64::from(bytes) > most {
            return false;
        }
        fair.push(class, item);
        self.count += 1;
        true
    }

    /// What is next in a queue; of flows without weights, with a rank, the one whose rank is least. `bytes` says what a
    /// flow would send.
    pub(crate) fn pop(
        &mut self,
        queue: usize,
        rank: Option<impl Fn(FlowSlot) -> u64>,
        bytes: impl Fn(FlowSlot) -> u32,
    ) -> Option<Item> {
        let item = match &mut self.ready[queue] {
            Ready::Turns(turns) => {
                let at = match rank {
                    Some(rank) if turns.len() > 1 => (0..turns.len()).min_by_key(|&at| rank(turns[at]))?,
                    _ => 0,
                };
                Item::Flow(turns.remove(at)?)
            }
            Ready::Fair(fair) => fair.pop(|item| match *item {
                Item::Flow(flow) => bytes(flow),
                Item::Packet(_, _, bytes) => bytes,
            })?,
        };
        self.count -= 1;
        Some(item)
    }

    /// A class gets a weight: from now on all classes take turns by their weights. `class_of` says whose a flow is that
    /// waits already.
    pub(crate) fn weigh(&mut self, class: u32, weight: u32, largest: u32, class_of: impl Fn(FlowSlot) -> u32) {
        for ready in &mut self.ready {
            if let Ready::Turns(turns) = ready {
                let mut fair = FairQueues::new(largest);
                for slot in turns.drain(..) {
                    fair.push(class_of(slot), Item::Flow(slot));
                }
                *ready = Ready::Fair(Box::new(fair));
            }
            if let Ready::Fair(fair) = ready {
                fair.set_weight(class, weight);
            }
        }
    }
}

/// A segment that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    pub(crate) bytes: u32,
    pub(crate) is_again: bool,
    /// It is a probe with this payload, and not the segment.
    pub(crate) is_partial: bool,
}

impl Flow {
    /// When it has to be looked at for its pace, its application, late segments or its reordering buffer.
    #[inline]
    pub(crate) fn quick_alarm(&self, now: Instant) -> Instant {
        let mut at = self.sender.judge_at();
        // Nearly always the pace is no matter: asked first.
        let next = self.sender.paced_until();
        if next > now && self.state == FlowState::Waiting && self.sender.wants_to_send() {
            at = at.min(next);
        }
        if let Some(supply) = &self.supply {
            at = at.min(supply.next_look(&self.sender, now));
        }
        match self.reorder.as_ref().and_then(|buffer| buffer.deadline()) {
            Some(deadline) => at.min(clock::from_time(deadline)),
            None => at,
        }
    }

    /// Whatever chooses the flow's paths hears what an acknowledgement told of one.
    #[inline]
    pub(crate) fn report(&mut self, packet: &Packet, newly: u64, hops: &[IntHop], now: Instant) {
        if self.path.hears_reports() {
            self.path.on_report(clock::to_time(now), report(packet, newly, now));
            if !hops.is_empty() {
                self.path.on_telemetry(clock::to_time(now), u32::from(packet.path), hops);
            }
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
            _ if self.granted_path != OWN_PATH => u32::from(std::mem::replace(&mut self.granted_path, OWN_PATH)),
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
        if segment.is_partial {
            flags = flags.with(Flags::PARTIAL);
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
    packet.flags = packet.flags.only(Flags::MARKED.with(Flags::AGAIN).with(Flags::PARTIAL));
    packet.extra = Extra::ack(expected, block, packet.extra.telemetry());
}
