//! How hosts share what they send and receive among services: limiters at the edge, and who sets them.
//!
//! [`Sharing`] is a scheme, and the policies of up to three levels. Every service of the machine policy is a class; a
//! [`Traffic`](crate::Traffic) names the service that sends it, and the one that receives it if that is another. What
//! names none is best effort, a class of its own without a minimum, without a maximum and with weight 1.
//!
//! ```
//! use std::sync::Arc;
//! use std::num::NonZeroU16;
//! use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, Service};
//! use wayleave_scenarios::{EdgeScheme, Ends, PacketKind, Scenario, Sharing, StaticLimits, Traffic};
//! use wayleave_topology::builders::{Cabling, build};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! let network = Arc::new(build::star(3, Cabling::default())?);
//! let hosts: Vec<_> = network.hosts().collect();
//! // Two services at every machine, told apart by their ports; b sends at most 1 Gbit/s.
//! let service = |name: &str, port, max| Service {
//!     name: name.to_owned(),
//!     filter: Some(Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(port), ..Match::default() }),
//!     bandwidth: PerDirection { transmit: Bandwidth { max, ..Bandwidth::default() }, ..PerDirection::default() },
//!     ..Service::default()
//! };
//! let services = vec![service("a", 80, None), service("b", 81, Some(Rate::from_gbit(1)))];
//! let machine = Policy::new(&network, "machines", PolicyLevel::Machine, Vec::new(), None, services).unwrap();
//!
//! let mut scenario = Scenario::new("capped", network, Time::from_millis(10));
//! scenario.sharing = Some(Sharing::new(EdgeScheme::StaticLimits(StaticLimits::default()), machine));
//! let ends = Ends::Pairs(vec![(hosts[0], hosts[1])]);
//! let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(2) };
//! let mut traffic = Traffic::packets("from b", ends, kind, Bytes::new(1_538));
//! traffic.service = Some("b".to_owned());
//! scenario.traffic.push(traffic);
//! scenario.validate()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use wayleave_contracts::{Policy, PolicyLevel};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

/// How hosts share.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Who sets the limiters, and how.
    pub scheme: EdgeScheme,
    /// The services of machines; those without parts are the classes, in this order.
    pub machine: Policy,
    /// What the racks' uplinks carry of the services of the same names (Parley).
    pub rack: Option<Policy>,
    /// What the fabric carries of the services of the same names (Parley).
    pub fabric: Option<Policy>,
    /// A pair of which nothing was sent for so long is forgotten, with its limiter.
    pub idle: Time,
    /// What may wait for tokens of the packets of one pair that nobody acknowledges; more is dropped. Reliable flows
    /// are held back instead.
    pub packet_queue: Bytes,
    /// The queue of every port for messages of machines and brokers (0 is the highest).
    pub queue: u8,
}

impl Sharing {
    /// With a machine policy only. Pairs are forgotten after 1 s; 128 kB of packets wait for tokens; messages share
    /// queue 0 with the rest.
    pub fn new(scheme: EdgeScheme, machine: Policy) -> Self {
        Self {
            scheme,
            machine,
            rack: None,
            fabric: None,
            idle: Time::from_millis(1_000),
            packet_queue: Bytes::new(128_000),
            queue: 0,
        }
    }

    /// The class of a service by its name: its place in the machine policy.
    pub fn class(&self, service: &str) -> Option<u32> {
        self.machine.services().iter().position(|known| known.name == service).map(|place| place as u32)
    }

    /// The class of what belongs to no service.
    pub fn best_effort(&self) -> u32 {
        self.machine.services().len() as u32
    }

    /// Whether a service of the machine policy is at a host.
    pub fn is_at(&self, class: u32, host: NodeId) -> bool {
        let service = self.machine.services().get(class as usize);
        service.is_some_and(|service| service.endpoints.is_empty() || service.endpoints.contains(&host))
    }

    /// Checks it for a network.
    pub(crate) fn validate(&self, network: &Network, most_queues: usize) -> Result<(), SharingError> {
        let levels = [
            ("machine", Some(&self.machine), PolicyLevel::Machine),
            ("rack", self.rack.as_ref(), PolicyLevel::Rack),
            ("fabric", self.fabric.as_ref(), PolicyLevel::Fabric),
        ];
        for (key, policy, level) in levels {
            let Some(policy) = policy else { continue };
            if policy.level() != level {
                return Err(SharingError::Level { key, found: policy.level() });
            }
            policy.check_capacity(network).map_err(|error| SharingError::Capacity { key, why: error.to_string() })?;
        }
        if let Some(service) = self.machine.services().iter().find(|service| service.parent.is_some()) {
            return Err(SharingError::Nested { service: service.name.clone() });
        }
        if !self.scheme.has_brokers() {
            let unused = [("rack", &self.rack), ("fabric", &self.fabric)].into_iter().find(|(_, p)| p.is_some());
            if let Some((key, _)) = unused {
                return Err(SharingError::NoBrokers { key, scheme: self.scheme.name() });
            }
        }
        if usize::from(self.queue) >= most_queues {
            return Err(SharingError::NoQueue { queue: self.queue, most: most_queues });
        }
        if self.idle == Time::ZERO {
            return Err(SharingError::Zero { key: "idle" });
        }
        self.scheme.validate()
    }
}

/// Who sets the limiters, by the name of its room. What is `None` is as the room has it by default.
#[derive(Clone, Debug, PartialEq)]
pub enum EdgeScheme {
    /// Nobody: they are fixed.
    StaticLimits(StaticLimits),
}

/// Fixed limits (Parley, sections 4 and 6.3): the maxima of services for what they send, and one for every pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticLimits {
    /// Of every pair of hosts and services; none if absent.
    pub pair: Option<Rate>,
    /// Of every bucket.
    pub burst: Option<Bytes>,
}

impl EdgeScheme {
    /// As it stands in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::StaticLimits(_) => "static-limits",
        }
    }

    /// Whether it has brokers for racks and for the fabric.
    pub fn has_brokers(&self) -> bool {
        match self {
            Self::StaticLimits(_) => false,
        }
    }

    fn validate(&self) -> Result<(), SharingError> {
        match self {
            Self::StaticLimits(StaticLimits { pair: Some(Rate::ZERO), .. }) => Err(SharingError::Zero { key: "pair" }),
            Self::StaticLimits(StaticLimits { burst: Some(Bytes::ZERO), .. }) => {
                Err(SharingError::Zero { key: "burst" })
            }
            Self::StaticLimits(_) => Ok(()),
        }
    }
}

/// What is wrong with how hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharingError {
    /// A policy of another level.
    Level {
        /// Where it stands.
        key: &'static str,
        /// What it is for.
        found: PolicyLevel,
    },
    /// Minima that the network cannot keep.
    Capacity {
        /// Of which level.
        key: &'static str,
        /// Where, and how much is there.
        why: String,
    },
    /// A service of a machine that is part of another one.
    Nested {
        /// Which.
        service: String,
    },
    /// A policy that nobody would enforce.
    NoBrokers {
        /// Of which level.
        key: &'static str,
        /// The scheme.
        scheme: &'static str,
    },
    /// No port of the network has this queue.
    NoQueue {
        /// The queue.
        queue: u8,
        /// The most queues of a port.
        most: usize,
    },
    /// Something that must be above zero.
    Zero {
        /// Its key.
        key: &'static str,
    },
}

impl SharingError {
    /// The part of `sharing` that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Level { key, .. } | Self::Capacity { key, .. } | Self::NoBrokers { key, .. } | Self::Zero { key } => {
                key
            }
            Self::Nested { .. } => "machine",
            Self::NoQueue { .. } => "queue",
        }
    }
}

impl fmt::Display for SharingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level { key, found } => {
                write!(f, "a policy of level {} stands where one of level {key} is expected", found.name())
            }
            Self::Capacity { why, .. } => f.write_str(why),
            Self::Nested { service } => write!(
                f,
                "service {service} is part of another one: in a simulation the services of machines have no parts; name \
                 each part as a service of its own"
            ),
            Self::NoBrokers { key, scheme } => write!(
                f,
                "scheme {scheme} has no brokers, so nobody would enforce a policy of level {key}: leave it out, or take \
                 scheme parley"
            ),
            Self::NoQueue { queue, most } => {
                write!(f, "no port has a queue {queue}: the most queues of a port are {most}, counted from 0")
            }
            Self::Zero { key } => write!(f, "{key} is zero: it must be above zero"),
        }
    }
}

impl std::error::Error for SharingError {}
