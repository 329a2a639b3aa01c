//! Claims of the admission control: its view of the network, and its promises.

use wayleave_topology::{LinkId, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

/// Everything that is to be checked. Buffers are those of the network's queues.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// The network.
    pub network: &'a Network,
    /// Per link, the delay budget of each queue that contracts may use, highest priority first.
    pub budgets: Vec<Vec<Time>>,
    /// Largest wire frame of each link, regardless of the admitted flows.
    pub max_frame: Vec<Bytes>,
    /// Additional loss of one largest frame in the service of a queue.
    pub packetiser: PacketiserTerm,
    /// Effect of the jitter of nodes on the order of packets.
    pub jitter: JitterTerm,
    /// `true` if the line rate of an input link caps its arrivals.
    pub shaping: bool,
    /// The promises.
    pub flows: Vec<PromisedFlow>,
    /// Flows, by their place, that carry the same packets over routes that were promised to be disjoint.
    pub disjoint: Vec<Vec<usize>>,
    /// Claims about queues; queues without a claim are derived too.
    pub claimed_queues: Vec<ClaimedQueue>,
    /// `true` if a figure above the derived one, rounded up, is a violation too.
    pub exact_claims: bool,
}

/// Does the service curve subtract a second largest frame, for packets that count only once they are complete?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketiserTerm {
    /// Yes: one frame for blocking, one for packetisation.
    Subtracted,
    /// No: one frame, for blocking.
    Omitted,
}

/// Do packets of one queue enter it in the order in which they came to the node?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterTerm {
    /// They do, whichever inputs they came from.
    Ordered,
    /// Each is delayed by a time of its own, up to the node's jitter.
    Any,
}

/// One flow and its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromisedFlow {
    /// For the reader of a violation.
    pub name: String,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Its queues.
    pub route: Route,
    /// On this many hops at the beginning of its route another flow of the claim covers its packets, too: they come from one token
    /// bucket, while a sender changes from one route to another. 0 otherwise.
    pub covered: usize,
    /// Wire rate.
    pub rate: Rate,
    /// Wire burst, where it enters the network.
    pub burst: Bytes,
    /// Requested deadline.
    pub deadline: Time,
    /// Promised end-to-end bound.
    pub promised_bound: Time,
}

/// Claim about one queue, each figure rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedQueue {
    /// The link.
    pub link: LinkId,
    /// Its queue: 0 is the highest priority.
    pub queue: u8,
    /// The longest delay, in whole ns.
    pub delay: Time,
    /// The largest backlog, in whole bytes.
    pub backlog: Bytes,
}
