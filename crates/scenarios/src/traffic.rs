//! Who sends what to whom: pairs of hosts, and packets or reliable flows between them.

use wayleave_schemes::transports::Congestion;
use wayleave_topology::{NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::FlowSizes;

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Unique in its scenario.
    pub name: String,
    /// Between whom.
    pub ends: Ends,
    /// What.
    pub workload: Workload,
    /// The service that it is charged to where it is sent, and where it is received as well if `to_service` says nothing
    /// else; best effort if absent. Answers go the other way round.
    pub service: Option<String>,
    /// The service that it is charged to where it is received.
    pub to_service: Option<String>,
    /// The queue of every port on the way (0 is the highest); ports with fewer use their last.
    pub queue: u8,
    /// From when.
    pub start: Time,
    /// Until when; the end of the run if absent. Flows that have begun are finished.
    pub stop: Option<Time>,
    /// The only route, with its queues, if it is fixed; one pair of hosts then.
    pub route: Option<Route>,
    /// Where copies of every packet go beside the fixed route; packets that nobody acknowledges only.
    pub copies: Option<Copies>,
}

/// Further routes for the same packets; the receiver removes duplicates (IEEE 802.1CB).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Each with its queues.
    pub routes: Vec<Route>,
    /// How many numbers of packets the receiver remembers.
    pub window: u16,
    /// After so long without a packet it forgets them.
    pub reset: Time,
}

impl Traffic {
    /// Packets that nobody acknowledges, in queue 0, from the start to the end.
    pub fn packets(name: &str, ends: Ends, kind: PacketKind, frame: Bytes) -> Self {
        Self::new(name, ends, Workload::Packets { kind, frame })
    }

    /// Reliable flows without deadline, carried as the scenario says, in queue 0, from the start to the end.
    pub fn flows(name: &str, ends: Ends, arrivals: Arrivals, sizes: FlowSizes) -> Self {
        let reliable = Reliable { arrivals, sizes: Some(sizes), deadline: None, transport: None };
        Self::new(name, ends, Workload::Flows(reliable))
    }

    /// Any workload, in queue 0, from the start to the end.
    pub fn new(name: &str, ends: Ends, workload: Workload) -> Self {
        Self {
            name: name.to_owned(),
            ends,
            workload,
            service: None,
            to_service: None,
            queue: 0,
            start: Time::ZERO,
            stop: None,
            route: None,
            copies: None,
        }
    }
}

/// Between whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// These ordered pairs.
    Pairs(Vec<(NodeId, NodeId)>),
    /// A random permutation without fixed points: everybody sends to one and receives from one.
    Permutation(Vec<NodeId>),
    /// Everybody of the first to everybody else of the second.
    AllToAll(Vec<NodeId>, Vec<NodeId>),
    /// For each flow, or once for each packet source, a random pair of one of the first and another of the second.
    Random(Vec<NodeId>, Vec<NodeId>),
}

/// What is sent between the ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Single packets that nobody acknowledges; every pair is one flow.
    Packets {
        /// When.
        kind: PacketKind,
        /// On the wire of the first link.
        frame: Bytes,
    },
    /// Reliable flows.
    Flows(Reliable),
    /// These flows (a file of them), each with its own ends.
    Listed {
        /// In order of their start.
        flows: Vec<FlowSpec>,
        /// How they are carried, if not as the scenario says.
        transport: Option<Transport>,
    },
}

/// When packets are sent that nobody acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// The whole burst at once, then at the rate: the most that a token bucket lets through.
    TokenBucket {
        /// On the wire.
        rate: Rate,
        /// On the wire.
        burst: Bytes,
        /// When each pair begins.
        phase: Phase,
    },
    /// One packet every `frame / rate`, pairs starting at random within the first interval.
    ConstantRate {
        /// On the wire.
        rate: Rate,
    },
    /// Constant rate while on, nothing while off.
    OnOff(OnOff),
    /// Exponential gaps.
    Poisson {
        /// Mean, on the wire.
        rate: Rate,
    },
}

/// Constant rate in periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// While on.
    pub rate: Rate,
    /// Mean duration of being on; exponential.
    pub on: Time,
    /// Mean duration of being off; exponential.
    pub off: Time,
}

/// When the pairs of a token bucket begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All at the start: bursts leave together.
    Together,
    /// So that bursts to the same destination arrive there together, if nothing delays them.
    Colliding,
    /// At random within the time that the burst takes to be earned again.
    Random,
}

/// Reliable flows between the ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Reliable {
    /// When they begin.
    pub arrivals: Arrivals,
    /// How long they are; `None` never ends (only with [`Arrivals::Once`]).
    pub sizes: Option<FlowSizes>,
    /// Each has to be complete this long after it began: late ones are counted.
    pub deadline: Option<Time>,
    /// How they are carried, if not as the scenario says.
    pub transport: Option<Transport>,
}

/// When reliable flows begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// One per pair at the start.
    Once,
    /// A Poisson process for all ends together, so that the payload is this share of the rate of the links that
    /// leave the sending hosts.
    Load(f64),
    /// A Poisson process for all ends together, with this many flows a second.
    PerSecond(f64),
    /// Every pair at once, again and again after this long (incast).
    Every(Time),
    /// Every pair for itself, after gaps that are uniform between nothing and twice the mean (Parley, 6.3: inter-arrivals
    /// "between 0 and 2 t_mu"). Not for pairs that are drawn anew.
    Uniform {
        /// Mean of the gaps of one pair.
        mean: Time,
        /// How many flows of a pair go on at once: as many as it has connections (Parley, 6.3: 24). Others wait behind them,
        /// and their time counts from when they arrived. Each flow begins with an initial window: a connection that was
        /// idle for longer than a time-out does so as well (RFC 5681, 4.1). `None`: as many as come.
        connections: Option<u32>,
    },
    /// Closed loop: every pair keeps this many requests outstanding; the answer (its sizes below) comes back, and the
    /// next request leaves after a pause of exponential length.
    Rpc {
        /// Per pair.
        outstanding: u32,
        /// From the receiver back to the sender.
        answer: FlowSizes,
        /// Mean of the pause.
        think: Time,
    },
}

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// When it begins.
    pub start: Time,
    /// Who sends.
    pub from: NodeId,
    /// Who receives.
    pub to: NodeId,
    /// Payload.
    pub size: Bytes,
    /// The queue of every port on the way, if not the traffic's.
    pub queue: Option<u8>,
}

/// How reliable flows are carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Congestion control.
    pub congestion: Congestion,
    /// Layer-3 size of a full packet: payload and 40 B of headers (IPv4 and TCP).
    pub mtu: Bytes,
    /// Initial window in full packets (RFC 6928: 10).
    pub initial_window: u32,
    /// The shortest retransmission time-out.
    pub min_timeout: Time,
    /// The longest window in full packets (what the receiver can buffer).
    pub max_window: u32,
    /// Whether segments are spread over the round trip.
    pub pacing: Pacing,
}

/// Whether segments leave as fast as the window lets them. Congestion control that has a rate of its own keeps to it in
/// any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// They do.
    #[default]
    Off,
    /// They are spread: 1.25 windows in a smoothed round trip (RFC 9002, section 7.7). The first window, before there is
    /// a sample of the round trip, is not.
    Window,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            congestion: Congestion::newreno(),
            mtu: Bytes::new(1500),
            initial_window: 10,
            // 1 s in RFC 6298; datacenter practice is milliseconds (DCTCP, section 4: 10 ms).
            min_timeout: Time::from_millis(10),
            max_window: 10_000,
            pacing: Pacing::Off,
        }
    }
}
