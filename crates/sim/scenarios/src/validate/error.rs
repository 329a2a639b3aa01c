//! Errors of a scenario, with the values that explain them.

use std::fmt;

use wayleave_topology::{NodeKind, RouteError};
use wayleave_units::{Bytes, Time, count};

use super::limits::{MAX_ACTORS, MAX_HOP};
use crate::{DeadlineError, ScheduleError, SharingError, SizesError, VmError};

/// Error of a scenario.
#[derive(thiserror::Error, Clone, Debug, PartialEq)]
pub enum ScenarioError {
    /// It lasts no time.
    #[error("the duration is 0ns: expected a duration above zero")]
    NoDuration,
    /// The statistics would begin when the run is over.
    #[error("the warm-up of {warmup} does not end before the run of {duration}")]
    Warmup {
        /// Start of the counts.
        warmup: Time,
        /// End of the run.
        duration: Time,
    },
    /// A record of nothing.
    #[error("a {key} of zero records nothing: leave it out, or above zero")]
    EmptyRecord {
        /// `series` or `trace`.
        key: &'static str,
    },
    /// A parameter of a path scheme that is zero, such as the gap of flowlets.
    #[error("{what} above zero")]
    EmptyRouting {
        /// Name of the value.
        what: &'static str,
    },
    /// A parameter of a path scheme that is out of range.
    #[error("{parameter} is {value}: expected {range}")]
    Routing {
        /// Its key.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// Accepted values.
        range: String,
    },
    /// A packet takes longer over a link than [`MAX_HOP`].
    #[error("a packet takes {takes} over {link}: up to {MAX_HOP} is simulated")]
    SlowLink {
        /// The link.
        link: String,
        /// Sending its largest frame, propagation, and processing at both ends.
        takes: Time,
    },
    /// The ports of switches or hosts cannot work so.
    #[error("{error}")]
    Port {
        /// Kind of the nodes.
        of: NodeKind,
        /// The error.
        error: PortError,
    },
    /// A service that switches share cannot work so.
    #[error("{node} {what}")]
    SharedService {
        /// Index in the list.
        index: usize,
        /// Its switch.
        node: String,
        /// The error.
        what: &'static str,
    },
    /// The transport cannot work so.
    #[error("{0}")]
    Transport(TrafficError),
    /// Hosts cannot share so.
    #[error("{0}")]
    Sharing(SharingError),
    /// A virtual machine that cannot be.
    #[error("{error}")]
    Vm {
        /// Index in the list.
        index: usize,
        /// The error.
        error: VmError,
    },
    /// There is no traffic.
    #[error("no traffic is defined")]
    NoTraffic,
    /// Error of one traffic.
    #[error("{error}")]
    Traffic {
        /// Index in the list.
        index: usize,
        /// Its name.
        name: String,
        /// The error.
        error: Box<TrafficError>,
    },
    /// More links and flows than [`MAX_ACTORS`].
    #[error("{links} links, which count twice, and {flows} flows: together up to {MAX_ACTORS} are simulated")]
    TooLarge {
        /// Directed links, which count twice.
        links: u64,
        /// Number of packet sources and flows from the start.
        flows: u64,
    },
    /// An outage before the previous one in the list.
    #[error("{at} is before {before}, the time of the outage above: outages must be in order of time")]
    OutageOrder {
        /// Index in the list.
        index: usize,
        /// Time of this outage.
        at: Time,
        /// Time of the previous one.
        before: Time,
    },
    /// A host that fails.
    #[error("{host} is a host: links and switches fail here")]
    OutageOfHost {
        /// Index in the list.
        index: usize,
        /// Name of the host.
        host: String,
    },
}

/// Error of a port configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum PortError {
    /// Not one weight for each queue that is served by weight.
    Weights {
        /// A link whose port has another number of queues.
        link: String,
        /// Number of queues.
        queues: usize,
        /// Number of queues above all weights.
        strict: usize,
        /// Number of weights.
        weights: usize,
    },
    /// A list of marks with not one entry for each queue.
    Marks {
        /// A link whose port has another number of queues.
        link: String,
        /// Number of queues.
        queues: usize,
        /// Number of entries.
        marks: usize,
    },
    /// A queue of weight zero would never be served.
    ZeroWeight {
        /// Index of the queue.
        queue: usize,
    },
    /// A buffer that holds nothing.
    NoBuffer,
    /// Dynamic threshold: alpha is not above zero, or no number.
    Alpha(f64),
    /// Parameters of a marking scheme that do not fit together.
    EcnConflict(String),
    /// A parameter of a marking scheme out of its range.
    Ecn {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
        /// Accepted values.
        range: String,
    },
}

/// Error of one traffic, or of a transport.
#[derive(Clone, Debug, PartialEq)]
pub enum TrafficError {
    /// It has no name.
    NoName,
    /// Another traffic has its name.
    TakenName,
    /// A node that sends or receives and is no host.
    NotAHost {
        /// The node.
        node: String,
        /// `from`, `to` or `pairs`.
        key: &'static str,
    },
    /// Error of one flow of a list.
    Flow {
        /// Index of the flow.
        flow: usize,
        /// The error.
        error: Box<TrafficError>,
    },
    /// A host that sends to itself.
    ToItself {
        /// The host.
        host: String,
        /// `pairs`, or `to` of a flow.
        key: &'static str,
    },
    /// Two endpoints of one host.
    WithinAHost {
        /// One.
        from: String,
        /// The other.
        to: String,
        /// `pairs` or `from`.
        key: &'static str,
    },
    /// A host that occurs twice in a list that needs each once.
    Twice(String),
    /// There is no sender, or no receiver.
    NoPair,
    /// All ranks of a job that exchange messages are at one host.
    NoMessage,
    /// No path leads from one host to another.
    Unreachable {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// No path leads back: a sender would never receive acknowledgements.
    NoReturnPath {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A service that no policy has.
    Service {
        /// `service` or `toService`.
        key: &'static str,
        /// Its name.
        service: String,
        /// Existing services; `None` if hosts do not share.
        known: Option<Vec<String>>,
    },
    /// No port of the network has this queue.
    NoQueue {
        /// The queue.
        queue: u8,
        /// The most queues of a port.
        most: usize,
    },
    /// It begins when the run is over.
    StartsLate {
        /// `start`, or `at` of a flow.
        key: &'static str,
        /// Start of the traffic.
        start: Time,
        /// End of the run.
        duration: Time,
    },
    /// It ends before it begins.
    StopsEarly {
        /// Start of the traffic.
        start: Time,
        /// End of the traffic.
        stop: Time,
    },
    /// A route is for one pair of hosts.
    RouteForMany(usize),
    /// The route does not lead from the one to the other.
    Route(RouteError),
    /// Copies of traffic that is not packets on a fixed route.
    Copies,
    /// Something that must be above zero.
    Zero {
        /// Its key.
        key: &'static str,
        /// Name of the value.
        what: &'static str,
    },
    /// A parameter of congestion control that is out of range.
    Congestion {
        /// Its key.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// Accepted values.
        range: String,
    },
    /// A burst that lets no frame through.
    Burst {
        /// The burst.
        burst: Bytes,
        /// The frame.
        frame: Bytes,
    },
    /// A frame that the link of a host does not carry.
    Frame {
        /// Layer 3 with its overhead on the wire.
        frame: Bytes,
        /// The link.
        link: String,
        /// The largest that it carries, on the wire.
        most: Bytes,
        /// Key of the value: `frame`, or `transport` for its MTU.
        key: &'static str,
    },
    /// Flow sizes that cannot be drawn.
    Sizes {
        /// `sizes`, or `rpc` for answers.
        key: &'static str,
        /// The error.
        error: SizesError,
    },
    /// Deadlines that cannot be drawn.
    Deadline(DeadlineError),
    /// A traffic that cannot be switched on and off so.
    Active(ScheduleError),
    /// Several requests of a kind to the one server that is kept.
    KeptServer,
    /// Servers that would be drawn from pairs.
    ServersOfPairs,
    /// Fewer servers than a step has requests.
    TooFewServers {
        /// Client of the requests.
        client: String,
        /// Number of servers beside it.
        servers: usize,
        /// Requests in a step.
        wanted: u32,
    },
    /// No traffic of this name comes earlier in the list.
    FollowsNothing {
        /// The name.
        traffic: String,
        /// Names of those that do.
        known: Vec<String>,
    },
    /// Flows that follow what is never complete, or counts as a whole.
    FollowsNoEnd {
        /// The traffic.
        traffic: String,
    },
    /// Flows that follow others between ends that are fixed.
    FollowsPairs,
    /// An endpoint would have to send or receive that is not among the ends.
    FollowsUnrelated {
        /// `from` or `to`.
        key: &'static str,
        /// The endpoint.
        endpoint: String,
        /// The traffic before.
        traffic: String,
    },
    /// Fewer receivers than flows that follow one.
    TooFewReceivers {
        /// Sender.
        sender: String,
        /// Number of receivers at other hosts.
        receivers: usize,
        /// Flows that follow one.
        wanted: u32,
    },
    /// Requests whose data comes bit by bit.
    SendScheduleOfRequests,
    /// Flows without end that begin again and again.
    Endless,
    /// Pairs that are drawn again, where every pair has its own arrivals.
    RandomPairs,
    /// A load or a rate of arrivals out of range.
    Arrivals {
        /// `load` or `perSecond`.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The largest accepted.
        most: f64,
    },
    /// A list without flows.
    NoFlows,
    /// A flow of a list that begins before the one above it.
    FlowOrder {
        /// Start of this entry.
        at: Time,
        /// Start of the previous one.
        before: Time,
    },
    /// A segment size that is no MTU.
    Mtu(Bytes),
    /// A first window that is larger than the largest.
    Windows {
        /// The first.
        initial: u32,
        /// The largest.
        most: u32,
    },
}

impl ScenarioError {
    /// Returns the part of a scenario file's `spec` that the error concerns, as a path with dots: `warmup`,
    /// `switches.ecn`, `traffic.2.sizes`. Items of lists are counted from 0.
    pub fn path(&self) -> String {
        match self {
            Self::NoDuration => "duration".to_owned(),
            Self::Warmup { .. } => "warmup".to_owned(),
            Self::EmptyRecord { key } => format!("record.{key}"),
            Self::EmptyRouting { .. } | Self::Routing { .. } => "routing".to_owned(),
            Self::SlowLink { .. } | Self::TooLarge { .. } => "topology".to_owned(),
            Self::Port { of, error } => {
                format!("{}.{}", if *of == NodeKind::Switch { "switches" } else { "hosts" }, error.key())
            }
            Self::SharedService { index, .. } => format!("sharedServices.{index}"),
            Self::Transport(error) => format!("transport.{}", error.key()),
            Self::Sharing(error) => format!("sharing.{}", error.key()),
            Self::Vm { index, error } => format!("vms.{index}.{}", error.key()),
            Self::NoTraffic => "traffic".to_owned(),
            Self::Traffic { index, error, .. } => match &**error {
                TrafficError::Flow { flow, error } => format!("traffic.{index}.flows.{flow}.{}", error.key()),
                TrafficError::Active(error) if error.index().is_some() => {
                    format!("traffic.{index}.active.{}", error.index().unwrap_or(0))
                }
                error => format!("traffic.{index}.{}", error.key()),
            },
            Self::OutageOrder { index, .. } | Self::OutageOfHost { index, .. } => format!("outages.{index}"),
        }
    }
}

impl PortError {
    fn key(&self) -> &'static str {
        match self {
            Self::Weights { .. } | Self::ZeroWeight { .. } => "discipline",
            Self::NoBuffer | Self::Alpha(_) => "buffer",
            Self::Marks { .. } | Self::EcnConflict(_) | Self::Ecn { .. } => "ecn",
        }
    }
}

impl TrafficError {
    fn key(&self) -> &'static str {
        match self {
            Self::NoName | Self::TakenName => "name",
            Self::Flow { error, .. } => error.key(),
            Self::Congestion { .. } => "congestion",
            Self::NotAHost { key, .. } | Self::Zero { key, .. } | Self::ToItself { key, .. } => key,
            Self::WithinAHost { key, .. } => key,
            Self::Frame { key, .. } | Self::Sizes { key, .. } | Self::Arrivals { key, .. } => key,
            Self::Service { key, .. } => key,
            Self::Twice(_) | Self::NoPair => "from",
            Self::NoMessage => "job",
            Self::Unreachable { .. } | Self::NoReturnPath { .. } => "to",
            Self::NoQueue { .. } => "queue",
            Self::StartsLate { key, .. } => key,
            Self::StopsEarly { .. } => "stop",
            Self::RouteForMany(_) | Self::Route(_) | Self::Copies => "route",
            Self::Burst { .. } => "tokenBucket",
            Self::Deadline(_) => "deadline",
            Self::Active(_) => "active",
            Self::KeptServer | Self::ServersOfPairs | Self::TooFewServers { .. } => "rpc",
            Self::FollowsNothing { .. } | Self::FollowsNoEnd { .. } | Self::TooFewReceivers { .. } => "after",
            Self::FollowsPairs => "pairs",
            Self::FollowsUnrelated { key, .. } => key,
            Self::SendScheduleOfRequests => "sendSchedule",
            Self::Endless => "sizes",
            Self::RandomPairs => "pairs",
            Self::NoFlows => "flows",
            Self::FlowOrder { .. } => "at",
            Self::Mtu(_) => "mtu",
            Self::Windows { .. } => "initialWindow",
        }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weights { link, queues, strict, weights } => {
                match strict {
                    0 => f.write_str(&count(*weights, "weight"))?,
                    _ => write!(f, "{}, {weights} weighted", count(*strict, "strict queue"))?,
                }
                let each = if *strict == 0 { "expected one for each" } else { "expected as many in total" };
                write!(f, ", and the port of {link} has {}: {each}", count(*queues, "queue"))
            }
            Self::Marks { link, queues, marks } => {
                let (marks, queues) = (count(*marks, "entry"), count(*queues, "queue"));
                write!(f, "{marks}, and the port of {link} has {queues}: expected one for each")
            }
            Self::ZeroWeight { queue } => write!(f, "queue {queue} has a weight of 0: expected at least 1"),
            Self::NoBuffer => write!(f, "a buffer of 0B holds no packet"),
            Self::Alpha(alpha) => write!(f, "an alpha of {alpha}: expected a number above 0, such as 1"),
            Self::EcnConflict(conflict) => f.write_str(conflict),
            Self::Ecn { key, value, range } => write!(f, "a {key} of {value}: expected {range}"),
        }
    }
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => write!(f, "a traffic needs a name"),
            Self::TakenName => write!(f, "the name is already used by another traffic"),
            Self::NotAHost { node, .. } => write!(f, "{node} is a switch: hosts send and receive"),
            Self::Flow { error, .. } => write!(f, "{error}"),
            Self::ToItself { host, .. } => write!(f, "{host} would send to itself"),
            Self::WithinAHost { from, to, .. } => {
                write!(f, "{from} and {to} are on the same host: traffic within a host is not simulated")
            }
            Self::Twice(host) => write!(f, "{host} is given twice"),
            Self::NoMessage => write!(f, "no message of this job crosses the network: expected ranks on several hosts"),
            Self::NoPair => write!(f, "no pair has two different hosts"),
            Self::Unreachable { from, to } => write!(f, "no path leads from {from} to {to}"),
            Self::NoReturnPath { from, to } => {
                write!(f, "no path leads from {to} back to {from}, and acknowledgements take one")
            }
            Self::Service { service, known: None, .. } => {
                write!(f, "it is of service {service}, and the hosts do not share: sharing is expected in the scenario")
            }
            Self::Service { service, known: Some(known), .. } => {
                write!(f, "no policy has a service {service}: they have {}", known.join(", "))
            }
            Self::NoQueue { queue, most, .. } => {
                write!(f, "no port has a queue {queue}: they have up to {most}, counted from 0")
            }
            Self::StartsLate { start, duration, .. } => {
                write!(f, "it begins at {start}, and the run is over at {duration}")
            }
            Self::StopsEarly { start, stop } => write!(f, "it ends at {stop}, and begins at {start}"),
            Self::RouteForMany(pairs) => write!(f, "a route is for one pair of hosts, and these are {pairs}"),
            Self::Route(error) => write!(f, "{error}"),
            Self::Copies => write!(
                f,
                "copies need a fixed route and packets without acknowledgements: give a route, or leave out the copies"
            ),
            Self::Zero { what, .. } => write!(f, "{what} has to be above zero"),
            Self::Congestion { parameter, value, range } => {
                write!(f, "{parameter} is {value}: expected {range}")
            }
            Self::Burst { burst, frame } => {
                write!(f, "a burst of {burst} lets no frame of {frame} through")
            }
            Self::Frame { frame, link, most, .. } => {
                write!(f, "{frame} on the wire, and {link} carries up to {most}")
            }
            Self::Sizes { error, .. } => write!(f, "{error}"),
            Self::Deadline(error) => write!(f, "{error}"),
            Self::Active(error) => write!(f, "{error}"),
            Self::KeptServer => {
                write!(f, "one server answers one request: with chain or fanOut above 1, `servers: drawn` is expected")
            }
            Self::ServersOfPairs => {
                write!(f, "a server is drawn from the hosts in to: expected all-to-all or random pairs")
            }
            Self::TooFewServers { client, servers, wanted } => {
                write!(f, "a fanOut of {wanted}, and {client} has {servers} other hosts to send to")
            }
            Self::FollowsNothing { traffic, known } if known.is_empty() => {
                write!(f, "no traffic source {traffic} above this one")
            }
            Self::FollowsNothing { traffic, known } => {
                write!(f, "no traffic source {traffic} above this one: expected {}", known.join(" or "))
            }
            Self::FollowsNoEnd { traffic } => {
                write!(
                    f,
                    "traffic {traffic} has no flows of known length to follow: packets, endless flows, lists and rpc have none"
                )
            }
            Self::FollowsPairs => {
                write!(f, "the senders follow from the traffic before: leave out pairs, and give from and to")
            }
            Self::FollowsUnrelated { key: "from", endpoint, traffic } => {
                write!(f, "{endpoint} receives flows of {traffic} and sends follow-up flows: expected it here")
            }
            Self::FollowsUnrelated { endpoint, traffic, .. } => {
                write!(f, "{endpoint} sends flows of {traffic} and receives follow-up flows: expected it here")
            }
            Self::TooFewReceivers { sender, receivers, wanted } => {
                write!(f, "{wanted} flows follow one, and {sender} has {receivers} others to send to")
            }
            Self::SendScheduleOfRequests => f.write_str("requests are sent at once: remove sendSchedule"),
            Self::RandomPairs => f.write_str("gaps need fixed pairs: expected all-to-all, a permutation or a list"),
            Self::Endless => write!(f, "flows without end can only begin once"),
            Self::Arrivals { key, value, most } => {
                let what = if *key == "load" { "a load" } else { "flows per second" };
                write!(f, "{what} of {value}: expected above 0 and up to {most}")
            }
            Self::NoFlows => write!(f, "the list has no flows"),
            Self::FlowOrder { at, before, .. } => {
                write!(f, "{at} is before {before}, the start of the flow above: flows must be in order of time")
            }
            Self::Mtu(mtu) => write!(f, "an MTU of {mtu}: expected 64B to 65535B (1500B is usual)"),
            Self::Windows { initial, most } => {
                write!(f, "the first window of {initial} packets is larger than the largest of {most}")
            }
        }
    }
}

impl std::error::Error for PortError {}
impl std::error::Error for TrafficError {}
