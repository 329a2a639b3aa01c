//! Traffic: pairs of hosts, and packets or reliable flows between them.

use wayleave_topology::{NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::{Deadline, DependentFlows, Endpoint, FlowSizes, Job, Rpc, Schedule, TransportConfig};

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Unique in its scenario.
    pub name: String,
    /// Between whom.
    pub ends: FlowEndpoints<Endpoint>,
    /// Packets, flows or a job.
    pub workload: Workload,
    /// Service that it is charged to at its sender, and at its receiver as well unless `to_service` names another;
    /// best effort if absent. Answers are charged the other way round.
    pub service: Option<String>,
    /// The service that it is charged to where it is received.
    pub to_service: Option<String>,
    /// Queue of every port on the path (0 is the highest); ports with fewer use their last. The lowest of all ports
    /// ([`Scenario::lowest_queue`](crate::Scenario::lowest_queue)) if absent.
    pub queue: Option<u8>,
    /// From when.
    pub start: Time,
    /// Until when; the end of the run if absent. Flows that have begun are finished.
    pub stop: Option<Time>,
    /// Activity; always active if absent. Its clock stops while it is inactive: sources of packets resume where they
    /// stopped, no flow begins, and flows without end pause. Flows that have begun are finished.
    pub active: Option<Schedule>,
    /// The only route, with its queues, if it is fixed; one pair of hosts then.
    pub route: Option<Route>,
    /// Further routes for copies of every packet, beside the fixed route; only for packets that are not acknowledged.
    pub copies: Option<Copies>,
}

/// Further routes for the same packets; the receiver removes duplicates (IEEE 802.1CB).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Each with its queues.
    pub routes: Vec<Route>,
    /// Number of packet numbers that the receiver remembers.
    pub window: u16,
    /// Time without a packet after which it forgets them.
    pub reset: Time,
}

impl Traffic {
    /// Any workload, in the lowest queue, from the start to the end.
    pub fn new(name: &str, ends: impl Into<FlowEndpoints<Endpoint>>, workload: Workload) -> Self {
        Self {
            name: name.to_owned(),
            ends: ends.into(),
            workload,
            service: None,
            to_service: None,
            queue: None,
            start: Time::ZERO,
            stop: None,
            active: None,
            route: None,
            copies: None,
        }
    }

    /// A job, from the start on.
    pub fn job(name: &str, job: Job) -> Self {
        Self::new(name, FlowEndpoints::Pairs(job.pairs()), Workload::Job(job))
    }

    /// Creates traffic of packets that are not acknowledged, in the lowest queue, from the start to the end.
    pub fn packets(name: &str, ends: impl Into<FlowEndpoints<Endpoint>>, kind: PacketKind, frame: Bytes) -> Self {
        Self::new(name, ends, Workload::Packets { kind, frame })
    }

    /// Creates traffic of reliable flows without deadline, with the scenario's transport, in the lowest queue, from
    /// the start to the end.
    pub fn flows(
        name: &str,
        ends: impl Into<FlowEndpoints<Endpoint>>,
        arrivals: FlowArrivals,
        sizes: FlowSizes,
    ) -> Self {
        Self::new(name, ends, Workload::Flows(Reliable::new(arrivals, Some(sizes))))
    }
}

/// Between whom: hosts, or endpoints (virtual machines, and hosts among them). Nothing is sent within a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEndpoints<E = NodeId> {
    /// These ordered pairs.
    Pairs(Vec<(E, E)>),
    /// A random permutation without fixed points: every endpoint sends to one and receives from one.
    Permutation(Vec<E>),
    /// Every endpoint of the first list to every endpoint of the second at another host.
    AllToAll(Vec<E>, Vec<E>),
    /// For each flow, or once for each packet source, a random pair of one of the first and one of the second at another
    /// host.
    Random(Vec<E>, Vec<E>),
}

impl From<FlowEndpoints<NodeId>> for FlowEndpoints<Endpoint> {
    fn from(ends: FlowEndpoints<NodeId>) -> Self {
        let all = |hosts: Vec<NodeId>| hosts.into_iter().map(Endpoint::from).collect();
        match ends {
            FlowEndpoints::Pairs(pairs) => {
                Self::Pairs(pairs.into_iter().map(|(from, to)| (from.into(), to.into())).collect())
            }
            FlowEndpoints::Permutation(hosts) => Self::Permutation(all(hosts)),
            FlowEndpoints::AllToAll(from, to) => Self::AllToAll(all(from), all(to)),
            FlowEndpoints::Random(from, to) => Self::Random(all(from), all(to)),
        }
    }
}

/// Workload between the ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Single packets that are not acknowledged; every pair is one flow.
    Packets {
        /// Timing of the packets.
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
        /// Transport, if not the scenario's.
        transport: Option<TransportConfig>,
    },
    /// Messages that depend on one another; the ends are [`Job::pairs`].
    Job(Job),
}

/// Timing of packets that are not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// The whole burst at once, then at the rate: the most that a token bucket lets through.
    TokenBucket {
        /// On the wire.
        rate: Rate,
        /// On the wire.
        burst: Bytes,
        /// Start of each pair.
        phase: StartPhase,
    },
    /// One packet every `frame / rate`, pairs starting at random within the first interval.
    ConstantRate {
        /// On the wire.
        rate: Rate,
    },
    /// Packets of a constant rate, each delayed by a time that is uniform between zero and the jitter, but never
    /// before the previous one.
    Jittered {
        /// On the wire.
        rate: Rate,
        /// The longest delay; above zero.
        jitter: Time,
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

/// Starts of the pairs of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPhase {
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
    /// Starts of the flows.
    pub arrivals: FlowArrivals,
    /// Sizes of the flows. `None` never ends with [`FlowArrivals::Once`], is the size of the flow before with
    /// [`FlowArrivals::After`], and is invalid otherwise.
    pub sizes: Option<FlowSizes>,
    /// Each has to be complete this long after it arrived: late ones are counted. A request has one deadline with its
    /// answer.
    pub deadline: Option<Deadline>,
    /// Supply of their data; all at once if absent. Not with [`FlowArrivals::Rpc`].
    pub send_schedule: Option<SendSchedule>,
    /// Transport, if not the scenario's.
    pub transport: Option<TransportConfig>,
}

/// Data that the application of a flow writes, in payload. A segment is sent when all its bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendSchedule {
    /// Byte by byte, from the beginning of the flow on.
    Rate(Rate),
    /// This amount at the beginning of the flow, and then periodically.
    Writes {
        /// Each time.
        bytes: Bytes,
        /// Between two writes.
        every: Time,
    },
}

impl Reliable {
    /// Creates flows without deadline, with all data available at once and the scenario's transport.
    pub fn new(arrivals: FlowArrivals, sizes: Option<FlowSizes>) -> Self {
        Self { arrivals, sizes, deadline: None, send_schedule: None, transport: None }
    }
}

/// Starts of reliable flows.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowArrivals {
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
    /// "between 0 and 2 t_mu"). Not for pairs that are drawn again.
    Uniform {
        /// Mean of the gaps of one pair.
        mean: Time,
        /// Number of concurrent flows of a pair: its connections (Parley, 6.3: 24). Others wait behind them, and
        /// their time counts from their arrival. Each flow begins with an initial window; so does a connection that
        /// was idle for longer than a time-out (RFC 5681, 4.1). `None`: no limit.
        connections: Option<u32>,
    },
    /// Every pair for itself, again and again after this long, from a random time within it on. Where pairs are drawn, every sender for itself, each time to
    /// one of the receivers at another host.
    Periodic(Time),
    /// After flows of another traffic are complete.
    After(DependentFlows),
    /// Closed loops of requests, whose sizes are those of the flows, and their answers.
    Rpc(Rpc),
}

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Start of the flow.
    pub start: Time,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Payload.
    pub size: Bytes,
    /// Queue of every port on the path, if not the traffic's.
    pub queue: Option<u8>,
}
