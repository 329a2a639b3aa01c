//! Statements of an admission control about a network: requests, reservations, promises, and the assumed delay of
//! every queue. None of them is trusted: [`derive()`](crate::derive()) compares them with the consequences of the
//! network and the contracts.

use std::sync::Arc;

use wayleave_recheck::PromisedShare;
use wayleave_scenarios::PacketOrder;
use wayleave_topology::{LinkId, Network, NodeId, Route, ShortBuffer};
use wayleave_units::{Bytes, Rate, Time};

use crate::bucket::AttackBucket;
use crate::discrepancy::Discrepancy;

/// All statements.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The network, as the user describes it.
    pub network: Arc<Network>,
    /// Delays and overheads that the model counts, from the user.
    pub counting: ModelAccounting,
    /// Statements about every queue that contracts may use: queues of a link in order, the highest priority first.
    pub queues: Vec<StatedQueue>,
    /// Events, in their order.
    pub history: Vec<PlanEvent>,
    /// Final promises to classes below the latency queues.
    pub shares: Vec<PromisedShare>,
    /// Switch ports whose buffers are stated as too small for the queued traffic of minima, in the end.
    pub short_buffers: Vec<ShortBuffer>,
    /// Terms of times of minima.
    pub minima: MinimaTerms,
    /// `Patience` of later decisions for the packets of moved flows.
    pub transition_rule: TransitionRule,
    /// Faults found while the statement was read.
    pub findings: Vec<Discrepancy>,
}

/// Values on which times of minima depend, besides the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimaTerms {
    /// Packets of minima with a time wait no longer at a link, where the network does not fix the budget of their queue.
    pub budget: Time,
    /// Period in which hosts renew tokens.
    pub token_period: Time,
}

/// Delays and overheads that the network model counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelAccounting {
    /// The longest tag stack; `None` where frames are counted without preamble, gap and tags.
    pub tags: Option<u32>,
    /// The largest frame of every link on the wire; `None` where it follows from the MTU of each.
    pub max_frame: Option<Bytes>,
    /// Owner of a switch's lowest queue.
    pub lowest_queue: LowestQueue,
    /// `Lines`: cap of arrivals by the line rate.
    pub lines: Lines,
    /// `Order` of a queue's packets under the jitter of nodes.
    pub order: PacketOrder,
    /// Relation of the stated figures of queues to the derived ones.
    pub figures: Exactness,
}

/// Owner of the lowest queue of every port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowestQueue {
    /// That of traffic without a contract, of which there is as much as lines carry.
    BestEffort,
    /// Contracts may use it: there is no other traffic.
    Contracts,
}

/// Cap of arrivals by the line rate of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// It does.
    Shape,
    /// Only token buckets count.
    Ignored,
}

/// Relation of the stated figures of queues to the derived ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Equal to the derived ones, rounded up.
    Exact,
    /// At least the derived ones: the model is simpler than the derivation.
    AtLeast,
}

/// Waiting of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionRule {
    /// As stated.
    Waits,
    /// Decisions wait for nothing: a fault.
    None,
}

/// Statement about one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedQueue {
    /// The link.
    pub link: LinkId,
    /// The queue: 0 is the highest priority.
    pub queue: u8,
    /// No packet stays longer.
    pub budget: Time,
    /// Its capacity.
    pub buffer: Bytes,
    /// Number of flows with reservations there.
    pub flows: usize,
    /// The longest delay for the present set; `None` is without bound.
    pub delay: Option<Time>,
    /// The largest backlog for the present set; `None` is without bound.
    pub backlog: Option<Bytes>,
}

/// An event.
#[derive(Clone, Debug)]
pub enum PlanEvent {
    /// A contract is admitted, or gets other terms.
    Admitted(Box<Admitted>),
    /// A contract ends.
    Released {
        /// Name of the contract.
        name: String,
        /// Time of the event.
        at: Time,
        /// Until then its reservation stays.
        held_until: Time,
    },
    /// A contract of another kind is admitted, or gets other terms; or it ends, and holds nothing any more.
    Shared {
        /// Name of the contract.
        name: String,
        /// Time of the event, at which it gives up its earlier terms.
        at: Time,
        /// Start of the reservation from now on, relative to the event.
        after: Time,
        /// Reservation from now on.
        share: Option<PromisedShare>,
    },
}

/// An admitted contract.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Its name: no two contracts have the same one at one time.
    pub name: String,
    /// Time of the event; zero for all contracts of a list.
    pub at: Time,
    /// Kind of the admission: a new contract or a change.
    pub kind: DecisionKind,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Its request.
    pub asked: RequestedTerms,
    /// Reservation on every route: the traffic that its shaper permits.
    pub reserved: AttackBucket,
    /// The largest frame on the wire, where one is known.
    pub max_frame: Option<Bytes>,
    /// Its routes: one, or several disjoint ones that carry the same packets.
    pub routes: Vec<StatedRoute>,
    /// Flows that were moved for it, in that order.
    pub moved: Vec<Relocation>,
    /// Start time, relative to the decision.
    pub activate_after: Time,
    /// Time when its sender gives up earlier terms, if it has any, relative to the decision; if absent, the start of
    /// the new ones.
    pub old_terms_end_after: Option<Time>,
}

/// Kind of an admission: a new name or a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionKind {
    /// The name is not in use.
    New,
    /// It replaces the admitted contract of this name, if there is one.
    Change,
}

/// Terms of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedTerms {
    /// Its token bucket, in its own accounting.
    pub bucket: AttackBucket,
    /// Bytes that it counts.
    pub accounting: ByteAccounting,
    /// No packet may take longer.
    pub deadline: Time,
}

/// Bytes that a contract counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteAccounting {
    /// All that is on the wire.
    Wire,
    /// Frames without FCS, preamble, gap and tags.
    Frames {
        /// None is smaller.
        smallest: Bytes,
    },
}

/// One route with its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedRoute {
    /// Its queues.
    pub route: Route,
    /// No packet takes longer.
    pub bound: Time,
    /// Terms whose sum is the bound.
    pub terms: Vec<StatedTerm>,
}

/// A part of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatedTerm {
    /// Part of the path.
    pub part: DelayPart,
    /// Its delay.
    pub delay: Time,
}

/// Part of the path that delays a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayPart {
    /// A queue.
    Queue(LinkId, u8),
    /// The length of a link.
    Propagation(LinkId),
    /// The constant work of a node.
    Processing(NodeId),
}

/// A flow that takes another route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Name of the contract.
    pub name: String,
    /// The route that it leaves.
    pub from: Route,
    /// The route that it takes.
    pub to: Route,
    /// Time of the move, relative to the decision. If `None`, moves of one decision follow each other at once, and
    /// decisions wait for the one before.
    pub after: Option<Time>,
}

impl PlanEvent {
    /// Returns an event without a contract at the end of a history, if the history ends earlier. Refused requests are
    /// not part of a history, and reservations of ended contracts may have become free until their decision.
    pub fn time_passes(until: Time, history: &[Self]) -> Option<Self> {
        let last = history.last().map_or(Time::ZERO, Self::at);
        (until > last).then_some(Self::Shared { name: String::new(), at: until, after: Time::ZERO, share: None })
    }

    /// Returns the contract that is admitted, if one is.
    pub(crate) fn admitted(&self) -> Option<&Admitted> {
        if let Self::Admitted(admitted) = self { Some(admitted) } else { None }
    }

    /// Returns `true` if it is about a contract of another kind than latency.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared { .. })
    }
}

impl ModelAccounting {
    /// Preamble and delimiter (8 B) and the gap between frames (12 B); IEEE 802.3.
    const BETWEEN_FRAMES: u64 = 20;
    /// IEEE 802.3.
    const CHECKSUM: u64 = 4;
    /// Two addresses and a type; IEEE 802.3.
    const HEADER: u64 = 14;
    /// One tag a switch (Chameleon, section 3.3).
    const TAG: u64 = 4;
    /// The smallest frame with its checksum (IEEE 802.3) and the gap between frames.
    const SMALLEST: u64 = 64 + Self::BETWEEN_FRAMES;

    /// The largest frame that a link with this MTU carries, as it is counted.
    pub fn largest_frame(&self, mtu: Bytes) -> Bytes {
        let plain = mtu.get() + Self::HEADER + Self::CHECKSUM;
        let derived = self.tags.map_or(plain, |tags| plain + Self::BETWEEN_FRAMES + Self::TAG * u64::from(tags));
        self.max_frame.unwrap_or(Bytes::new(derived))
    }

    /// The least that has to be reserved for terms.
    ///
    /// A bucket in frame bytes allows `(b + r t) / m` frames of the smallest size m, and no other size brings more on the
    /// wire: what the wire adds is the same for every frame, and frames below Ethernet's smallest are padded.
    pub fn on_the_wire(&self, terms: &RequestedTerms) -> AttackBucket {
        let AttackBucket { rate, burst } = terms.bucket;
        let (ByteAccounting::Frames { smallest }, Some(tags)) = (terms.accounting, self.tags) else {
            return terms.bucket;
        };
        let frame = smallest.get().max(1);
        let added = Self::CHECKSUM + Self::BETWEEN_FRAMES + Self::TAG * u64::from(tags);
        let sent = (frame + added).max(Self::SMALLEST);
        let scaled = |amount: u64, most: u64| {
            let wire = (u128::from(amount) * u128::from(sent)).div_ceil(u128::from(frame));
            u64::try_from(wire).map_or(most, |wire| wire.min(most))
        };
        AttackBucket {
            rate: Rate::from_bits_per_second(scaled(rate.bits_per_second(), Rate::MAX.bits_per_second())),
            burst: Bytes::new(scaled(burst.get(), Bytes::MAX.get())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTING: ModelAccounting = ModelAccounting {
        tags: Some(6),
        max_frame: None,
        lowest_queue: LowestQueue::BestEffort,
        lines: Lines::Shape,
        order: PacketOrder::Free,
        figures: Exactness::Exact,
    };

    fn in_frames(burst: u64, smallest: u64) -> RequestedTerms {
        RequestedTerms {
            bucket: AttackBucket { rate: Rate::from_mbit(1), burst: Bytes::new(burst) },
            accounting: ByteAccounting::Frames { smallest: Bytes::new(smallest) },
            deadline: Time::from_millis(1),
        }
    }

    #[test]
    fn a_full_frame_with_six_tags_is_1562_bytes_on_the_wire() {
        assert_eq!(COUNTING.largest_frame(Bytes::new(1500)), Bytes::new(1562));
        assert_eq!(ModelAccounting { tags: None, ..COUNTING }.largest_frame(Bytes::new(1500)), Bytes::new(1518));
    }

    #[test]
    fn small_frames_are_padded() {
        // 50 frames of 20 B: each is 84 B on the wire.
        assert_eq!(COUNTING.on_the_wire(&in_frames(1000, 20)).burst, Bytes::new(50 * 84));
        // One of 100 B has 48 B on top.
        assert_eq!(COUNTING.on_the_wire(&in_frames(1000, 100)).burst, Bytes::new(1480));
    }
}
