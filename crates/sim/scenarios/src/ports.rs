//! Operation of ports: order of service, buffers, marking, telemetry; and switches that serve all ports by one
//! processor.

pub use wayleave_schemes::switch::red::Params as Red;
pub use wayleave_schemes::switches::Ecn;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

/// Operation of the ports of one kind of node. The topology defines the number of queues of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortBehaviour {
    /// Order of service.
    pub discipline: Discipline,
    /// Buffers.
    pub buffering: Buffering,
    /// Congestion marks, by queue.
    pub ecn: PortEcn,
    /// Write the state of ports into packets that request it (in-band network telemetry).
    pub telemetry: bool,
}

impl Default for PortBehaviour {
    fn default() -> Self {
        Self { discipline: Discipline::Fifo, buffering: Buffering::AsBuilt, ecn: PortEcn::default(), telemetry: false }
    }
}

/// Order in which a port sends packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One queue for all, first come first served.
    Fifo,
    /// The highest queue that is not empty (0 first); a packet that is being sent is finished.
    StrictPriority,
    /// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): shares in proportion to one weight a queue.
    DeficitRoundRobin {
        /// One per queue, each at least 1.
        weights: Vec<u32>,
    },
    /// Some queues by strict priority, and below them deficit round robin of the others over the remaining rate.
    StrictOverWeighted {
        /// Number of strict queues, from queue 0 on.
        strict: u8,
        /// One per queue below them, each at least 1.
        weights: Vec<u32>,
    },
    /// pFabric (SIGCOMM 2013): the earliest packet of the flow with the least left to send; a full port drops the
    /// packet whose flow has the most.
    SmallestRemainingFirst,
}

impl Discipline {
    /// Returns `true` if all packets of a port are in one queue, independent of the queue they ask for.
    pub fn has_one_queue(&self) -> bool {
        matches!(self, Self::Fifo | Self::SmallestRemainingFirst)
    }
}

/// Buffers of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffering {
    /// Each queue has the buffer of the topology.
    AsBuilt,
    /// Each queue this much.
    EachQueue(Bytes),
    /// No limit.
    Unlimited,
    /// All ports of a switch share one buffer: a queue may hold up to `alpha` times the free part (dynamic threshold;
    /// Choudhury and Hahne, 1998).
    Shared {
        /// Of the switch.
        total: Bytes,
        /// Above zero.
        alpha: f64,
    },
}

/// Congestion marks of a port: what a packet finds in its own queue decides.
#[derive(Clone, Debug, PartialEq)]
pub enum PortEcn {
    /// Every queue alike, each for itself.
    Same(Option<Ecn>),
    /// One entry per queue, queue 0 first.
    PerQueue(Vec<Option<Ecn>>),
}

impl PortEcn {
    /// Returns the marking of this queue; `None` beyond the end of a list.
    pub fn of(&self, queue: usize) -> Option<&Ecn> {
        match self {
            Self::Same(ecn) => ecn.as_ref(),
            Self::PerQueue(queues) => queues.get(queue)?.as_ref(),
        }
    }
}

impl Default for PortEcn {
    fn default() -> Self {
        Self::Same(None)
    }
}

impl From<Option<Ecn>> for PortEcn {
    fn from(ecn: Option<Ecn>) -> Self {
        Self::Same(ecn)
    }
}

impl From<Ecn> for PortEcn {
    fn from(ecn: Ecn) -> Self {
        Self::Same(Some(ecn))
    }
}

/// A switch whose ports share one service behind one first-come-first-served buffer (Loko, CoNEXT 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedService {
    /// The switch.
    pub switch: NodeId,
    /// R: how fast packets are processed.
    pub rate: Rate,
    /// T: what every packet waits in addition.
    pub processing: Time,
    /// Size of the buffer before the service.
    pub buffer: Bytes,
}
