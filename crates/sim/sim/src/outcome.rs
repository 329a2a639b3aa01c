//! What a run says in the end.

use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Time};

use crate::fast_forward::ForwardOutcome;
use crate::hosts::SharingOutcome;
use crate::recorder::Recording;
use crate::stats::{Completions, Histogram, Histograms, Levels, Series};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Its time was over.
    Complete,
    /// Somebody stopped it before.
    Stopped,
    /// More flows were open at once than the event queue can number.
    TooManyFlows,
}

/// What a run found out. Nothing that was sent during the warm-up is in it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of the scenario.
    pub name: String,
    /// Of its random numbers.
    pub seed: u64,
    /// How far it came.
    pub simulated: Time,
    /// Of that, what is counted.
    pub counted: Time,
    /// Whether it came to its end.
    pub ending: RunEnd,
    /// Packets put on links.
    pub hops: u64,
    /// Events that were dealt with.
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
    /// How hosts shared, if they did.
    pub sharing: Option<SharingOutcome>,
    /// What was fast-forwarded, if that was asked for.
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
    /// Those that began after it and were completed.
    pub completions: Completions,
    /// Of traffic that follows another one, in ps: from the beginning of the first flow of a chain to the end of the task.
    pub chains: Histogram,
    /// Bytes on the wire that arrived, over time.
    pub throughput: Option<Series>,
    /// Of segments and their acknowledgements, in ps, as senders see them, over time, if that is recorded: by when the
    /// acknowledgement came.
    pub round_trips: Option<Box<Histograms>>,
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
    /// Packets that were lost on the way, acknowledgements among them.
    pub drops: u64,
    /// Segments that were sent again.
    pub again: u64,
    /// Segments that arrived twice, or copies that were removed.
    pub duplicates: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Where packets go over several routes: the copies that went over this one of them, from 0. The flow itself, for which the
    /// first copy of each packet counts, is `None` as any other; what was sent of it and never delivered was lost on
    /// every route.
    pub copy: Option<u32>,
}

/// One queue.
#[derive(Clone, Debug)]
pub struct QueueOutcome {
    /// The link that its port sends on.
    pub link: LinkId,
    /// 0 is the highest.
    pub queue: u8,
    /// What was counted there.
    pub counts: QueueCounts,
}

/// The buffer before the one service of a switch whose ports share it.
#[derive(Clone, Debug)]
pub struct ServiceOutcome {
    /// Which.
    pub switch: NodeId,
    /// What was counted there.
    pub counts: QueueCounts,
}

/// What is counted where packets wait.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// From coming to being sent, in ps.
    pub wait: Histogram,
    /// Bytes that packets found there.
    pub found: Histogram,
    /// The most that it held when a packet had to wait, with that packet; zero if none had to. Of a packet that is being
    /// sent, first-come-first-served ports count what has not left, other ports all of it.
    pub peak: Bytes,
    /// Packets that found no room.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// Which.
    pub link: LinkId,
    /// Put on it.
    pub sent: Bytes,
    /// Share of its rate.
    pub utilisation: f64,
    /// Packets that were lost on the way into it or on it while it was down and nobody was told. They are drops of their
    /// flows, and no counter of the port has them.
    pub lost_silently: u64,
    /// What its port holds over time, if that was recorded: exact where a packet comes, and no more than that until
    /// the next one comes. It is not reset by the warm-up.
    pub backlog: Option<Levels>,
}
