//! Outcome of a run.

use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Time};

use crate::fast_forward::ForwardOutcome;
use crate::hosts::SharingOutcome;
use crate::recorder::Recording;
use crate::stats::{Completions, Histogram, Histograms, Levels, Series};

/// Ending of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Its time was over.
    Complete,
    /// It was stopped early by the caller.
    Stopped,
    /// More flows were open at once than the event queue can number.
    TooManyFlows,
}

/// Results of a run. Nothing that was sent during the warm-up is included.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of the scenario.
    pub name: String,
    /// Of its random numbers.
    pub seed: u64,
    /// Simulated time.
    pub simulated: Time,
    /// Of that, what is counted.
    pub counted: Time,
    /// Ending of the run.
    pub ending: RunEnd,
    /// Packets put on links.
    pub hops: u64,
    /// Number of handled events.
    pub events: u64,
    /// The most packets that there were at once.
    pub peak_packets: u64,
    /// Bytes that packets and events took at most.
    pub packet_memory: u64,
    /// By kind of traffic.
    pub traffic: Vec<TrafficOutcome>,
    /// By flow, or by traffic where flows come and go.
    pub flows: Vec<FlowOutcome>,
    /// Every queue that something passed.
    pub queues: Vec<QueueOutcome>,
    /// Every shared service that something passed.
    pub services: Vec<ServiceOutcome>,
    /// By link.
    pub links: Vec<LinkOutcome>,
    /// Result of sharing by hosts, if they shared.
    pub sharing: Option<SharingOutcome>,
    /// Report on fast-forward, if the scenario asked for it.
    pub forward: Option<ForwardOutcome>,
    /// For the trace, if one was asked for.
    pub recording: Option<Recording>,
}

/// One kind of traffic.
#[derive(Clone, Debug)]
pub struct TrafficOutcome {
    /// Its name.
    pub name: String,
    /// Flows or requests that began, also during the warm-up.
    pub begun: u64,
    /// Completions of flows and requests that began after the warm-up.
    pub completions: Completions,
    /// Of traffic that follows another one, in ps: from the beginning of the first flow of a chain to the end of the task.
    pub chains: Histogram,
    /// Bytes on the wire that arrived, over time.
    pub throughput: Option<Series>,
    /// Of segments and their acknowledgements, in ps, as senders see them, over time, if that is recorded: by when the
    /// acknowledgement came.
    pub round_trips: Option<Box<Histograms>>,
    /// Time of segments in the tunnels of their sending host, in ps, if round trips are recorded: a part of
    /// [`Self::round_trips`]. Empty without tunnels.
    pub host_waits: Histogram,
}

/// One flow, or all flows of a traffic that come and go.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Index of its traffic.
    pub traffic: usize,
    /// Its sender, if it is one flow.
    pub from: Option<NodeId>,
    /// Its receiver, if it is one flow.
    pub to: Option<NodeId>,
    /// The endpoints at both, as [`wayleave_scenarios::Endpoint::number`] counts them: 0 is the host itself.
    pub endpoints: (u32, u32),
    /// Of its packets, in ps, from release by the sender to the last bit at the receiver.
    pub delay: Histogram,
    /// The number of the packet that took longest, from 0.
    pub slowest: u32,
    /// Packets.
    pub sent: u64,
    /// On the wire of the first link.
    pub sent_bytes: Bytes,
    /// Packets.
    pub delivered: u64,
    /// On the wire of the last link.
    pub delivered_bytes: Bytes,
    /// Payload that arrived for the first time (reliable flows).
    pub payload: Bytes,
    /// Lost packets, including acknowledgements.
    pub drops: u64,
    /// Retransmitted segments.
    pub again: u64,
    /// Segments that arrived twice, or copies that were removed.
    pub duplicates: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// For packets over several routes: index of the route of these copies, from 0. The flow itself, for which the
    /// first copy of each packet counts, has `None` like any other; its packets that were sent and never delivered
    /// were lost on every route.
    pub copy: Option<u32>,
}

/// One queue.
#[derive(Clone, Debug)]
pub struct QueueOutcome {
    /// The link that its port sends on.
    pub link: LinkId,
    /// 0 is the highest.
    pub queue: u8,
    /// Counters of the queue.
    pub counts: QueueCounts,
}

/// The buffer before the one service of a switch whose ports share it.
#[derive(Clone, Debug)]
pub struct ServiceOutcome {
    /// The switch.
    pub switch: NodeId,
    /// Counters of the buffer.
    pub counts: QueueCounts,
}

/// Counters of a place where packets wait.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// From coming to being sent, in ps.
    pub wait: Histogram,
    /// Bytes that packets found there.
    pub found: Histogram,
    /// Maximum amount that it held when a packet had to wait, with that packet; zero if none had to. Of a packet in
    /// transmission, first-come-first-served ports count the part that has not left, other ports the whole packet.
    pub peak: Bytes,
    /// Packets that found no room.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// The link.
    pub link: LinkId,
    /// Put on it.
    pub sent: Bytes,
    /// Share of its rate.
    pub utilisation: f64,
    /// Packets that were lost before or on the link during a silent failure. They are drops of their flows, and no
    /// counter of the port includes them.
    pub lost_silently: u64,
    /// Level of its port over time, if recorded: exact when a packet comes, and an upper bound until the next one
    /// comes. It is not reset by the warm-up.
    pub backlog: Option<Levels>,
}
