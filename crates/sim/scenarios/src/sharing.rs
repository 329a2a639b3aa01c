//! Sharing of hosts' sending and receiving rates among services: limiters at the edge, and the schemes that set them.
//!
//! [`Sharing`] is a scheme, and the policies of up to three levels; services of two levels with one name are one
//! service. A [`Traffic`](crate::Traffic) names the service that sends it, and the one that receives it if that is
//! another. Traffic that names none, or at a host without the service, is best effort: a class of its own without a
//! minimum, without a maximum and with weight 1.
//!
//! ```
//! use std::sync::Arc;
//! use std::num::NonZeroU16;
//! use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
//! use wayleave_scenarios::{HostSchemeConfig, FlowEndpoints, PacketKind, Scenario, Sharing, StaticLimits, Traffic};
//! use wayleave_topology::builders::{Cabling, build};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! let network = Arc::new(build::star(3, Cabling::default())?);
//! let hosts: Vec<_> = network.hosts().collect();
//! // Two services at every machine, told apart by their ports; b sends at most 1 Gbit/s.
//! let service = |name: &str, port, max| ServiceSpec {
//!     name: name.to_owned(),
//!     filter: Some(Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(port), ..Match::default() }),
//!     bandwidth: PerDirection { transmit: Bandwidth { max, ..Bandwidth::default() }, ..PerDirection::default() },
//!     ..ServiceSpec::default()
//! };
//! let services = vec![service("a", 80, None), service("b", 81, Some(Rate::from_gbit(1)))];
//! let machine = Policy::new(&network, "machines", PolicyLevel::Machine, Vec::new(), None, services).unwrap();
//! let mut scenario = Scenario::new("capped", network, Time::from_millis(10));
//! scenario.sharing = Some(Sharing::new(HostSchemeConfig::StaticLimits(StaticLimits::default()), machine));
//! let ends = FlowEndpoints::Pairs(vec![(hosts[0], hosts[1])]);
//! let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(2) };
//! let mut traffic = Traffic::packets("from b", ends, kind, Bytes::new(1_538));
//! traffic.service = Some("b".to_owned());
//! scenario.traffic.push(traffic);
//! scenario.validate()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;

use wayleave_contracts::{Policy, PolicyLevel};
use wayleave_scheme_api::Value;
pub use wayleave_schemes::host::elasticswitch::Settings as ElasticSwitch;
pub use wayleave_schemes::host::eyeq::Settings as Eyeq;
pub use wayleave_schemes::host::parley::{FabricBrokerAt, Settings as Parley};
pub use wayleave_schemes::host::static_limits::Params as StaticLimits;
pub use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_schemes::registry::broker_schemes;
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Bytes, Time};

/// The most services of all policies together: a message has 16 bits for their numbers.
const MAX_SERVICES: usize = u16::MAX as usize;

/// Sharing among services by hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Scheme that sets the limiters, with its parameters.
    pub scheme: HostSchemeConfig,
    /// Other schemes for some services: several live in one host, each with the classes that are named here. All other
    /// services, and best effort, are `scheme`'s.
    pub other_schemes: Vec<SchemeOf>,
    /// The services of machines.
    pub machine: Policy,
    /// Policy of the racks' uplinks for the services of the same names (Parley).
    pub rack: Option<Policy>,
    /// Policy of the fabric for the services of the same names (Parley).
    pub fabric: Option<Policy>,
    /// Idle time after which a pair is forgotten, with its limiter.
    pub idle_timeout: Time,
    /// Maximum amount of unacknowledged packets of one pair that may wait for tokens; more is dropped. Reliable flows
    /// are held back instead.
    pub packet_queue: Bytes,
    /// The queue of every port for messages of machines and brokers (0 is the highest). The lowest of all ports
    /// ([`Scenario::lowest_queue`](crate::Scenario::lowest_queue)) if absent.
    pub queue: Option<u8>,
    /// Faults of messages between machines that a broker writes or reads.
    pub faults: MessageFaults,
    /// Changes during the run, in order of time.
    pub events: Vec<SharingEvent>,
}

/// A scheme for some services only.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeOf {
    /// Scheme that sets their limiters, with its parameters.
    pub scheme: HostSchemeConfig,
    /// Names of the services; each at most once in all.
    pub services: Vec<String>,
}

/// Faults of messages, at random by the seed of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageFaults {
    /// Share of them that is lost.
    pub loss: f64,
    /// Share of them that is sent twice.
    pub duplicate: f64,
    /// They are held back for a time up to this, all times alike; so they overtake one another.
    pub delay: Time,
    /// Share of probes that is lost, in addition to drops of full queues.
    pub probe_loss: f64,
}

/// Something changes.
#[derive(Clone, Debug, PartialEq)]
pub struct SharingEvent {
    /// Time of the change.
    pub at: Time,
    /// The change.
    pub what: SharingChange,
}

/// Kind of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum SharingChange {
    /// A broker dies; it forgets everything.
    Stops(BrokerAt),
    /// A broker is started again.
    Starts(BrokerAt),
    /// The policy of its level is another one, for the same services.
    Policy(Box<Policy>),
    /// The interval in which machines measure (Parley, Fig. 12: T).
    Interval(Time),
}

/// One broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerAt {
    /// The rack broker of this host.
    Machine(NodeId),
    /// The fabric broker.
    Fabric,
}

impl Sharing {
    /// With a machine policy only. Pairs are forgotten after 1 s; 128 kB of packets wait for tokens; messages share
    /// the lowest queue with the rest, and nothing happens to them but what the network does.
    pub fn new(scheme: HostSchemeConfig, machine: Policy) -> Self {
        Self {
            scheme,
            other_schemes: Vec::new(),
            machine,
            rack: None,
            fabric: None,
            idle_timeout: Time::from_millis(1_000),
            packet_queue: Bytes::new(128_000),
            queue: None,
            faults: MessageFaults::default(),
            events: Vec::new(),
        }
    }

    /// All schemes, the one of best effort first.
    pub fn schemes(&self) -> impl Iterator<Item = &HostSchemeConfig> {
        std::iter::once(&self.scheme).chain(self.other_schemes.iter().map(|also| &also.scheme))
    }

    /// Returns the index in [`Self::schemes`] of a service's scheme.
    pub fn scheme_of(&self, service: &str) -> usize {
        let named = |also: &SchemeOf| also.services.iter().any(|name| name == service);
        self.other_schemes.iter().position(named).map_or(0, |at| at + 1)
    }

    /// Returns `true` if a scheme has brokers for racks and for the fabric.
    pub fn has_brokers(&self) -> bool {
        self.schemes().any(HostSchemeConfig::has_brokers)
    }

    /// The policies that there are, the machines' first.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        [Some(&self.machine), self.rack.as_ref(), self.fabric.as_ref()].into_iter().flatten()
    }

    /// Returns `true` if a policy has this service.
    pub fn knows(&self, service: &str) -> bool {
        self.policies().any(|policy| policy.services().iter().any(|known| known.name == service))
    }

    /// Returns `true` if the policy of machines applies to a host.
    pub fn applies_to(&self, host: NodeId) -> bool {
        self.machine.nodes().is_empty() || self.machine.nodes().contains(&host)
    }

    /// Returns `true` if a service is at a host, according to the lowest level that defines it.
    pub fn is_at(&self, service: &str, host: NodeId) -> bool {
        let mut found = self.policies().filter_map(|policy| {
            let place = policy.services().iter().position(|known| known.name == service)?;
            if policy.level() == PolicyLevel::Machine && !self.applies_to(host) {
                return Some(false);
            }
            // A service without endpoints is at those of the service that contains it.
            let line = std::iter::successors(Some(place), |&service| policy.parent(service));
            let mut lists = line.map(|service| &policy.services()[service].endpoints);
            Some(lists.find(|endpoints| !endpoints.is_empty()).is_none_or(|endpoints| endpoints.contains(&host)))
        });
        found.next().unwrap_or(false)
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
        let names: BTreeSet<&str> =
            self.policies().flat_map(Policy::services).map(|service| service.name.as_str()).collect();
        if names.len() > MAX_SERVICES {
            return Err(SharingError::TooMany { services: names.len() });
        }
        self.check_schemes()?;
        for service in self.machine.services() {
            let scheme = self.schemes().nth(self.scheme_of(&service.name));
            if let Some(Err(why)) = scheme.map(|scheme| scheme.check_service(service)) {
                return Err(SharingError::Terms { service: service.name.clone(), why });
            }
        }
        for (key, policy) in [("rack", &self.rack), ("fabric", &self.fabric)] {
            let mut services = policy.iter().flat_map(Policy::services);
            if let Some(service) = services.find(|service| service.division.is_some()) {
                let scheme = self.scheme.name();
                return Err(SharingError::Division { key, service: service.name.clone(), scheme });
            }
        }
        let nested = |service: &&wayleave_contracts::ServiceSpec| {
            service.parent.is_some()
                && self.schemes().nth(self.scheme_of(&service.name)).is_some_and(|scheme| !scheme.has_parts())
        };
        if let Some(service) = self.machine.services().iter().find(nested) {
            let scheme = self.schemes().nth(self.scheme_of(&service.name)).map_or("", HostSchemeConfig::name);
            return Err(SharingError::Nested { service: service.name.clone(), scheme });
        }
        if !self.schemes().any(HostSchemeConfig::enforces_levels) {
            let unused = [("rack", &self.rack), ("fabric", &self.fabric)].into_iter().find(|(_, p)| p.is_some());
            if let Some((key, _)) = unused {
                return Err(SharingError::NoBrokers { key, scheme: self.scheme.name() });
            }
        }
        if let Some(queue) = self.queue.filter(|&queue| usize::from(queue) >= most_queues) {
            return Err(SharingError::NoQueue { queue, most: most_queues });
        }
        if self.idle_timeout == Time::ZERO {
            return Err(SharingError::Zero { key: "idleTimeout" });
        }
        let faults = self.faults;
        for (key, value) in [("loss", faults.loss), ("duplicate", faults.duplicate), ("probeLoss", faults.probe_loss)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SharingError::Part { key, value: value.to_string() });
            }
        }
        self.check_events(network)?;
        self.schemes().try_for_each(|scheme| check_scheme(scheme, network))
    }

    /// Other schemes are for services that there are, each for one scheme.
    fn check_schemes(&self) -> Result<(), SharingError> {
        let mut seen = BTreeSet::new();
        for (index, also) in self.other_schemes.iter().enumerate() {
            if also.services.is_empty() {
                return Err(SharingError::NoService { index });
            }
            if also.scheme.has_brokers() {
                return Err(SharingError::FurtherBrokers { index, scheme: also.scheme.name() });
            }
            for name in &also.services {
                if !self.machine.services().iter().any(|known| &known.name == name) {
                    return Err(SharingError::UnknownService { index, name: name.clone() });
                }
                if !seen.insert(name) {
                    return Err(SharingError::TwoSchemes { index, name: name.clone() });
                }
            }
        }
        for (place, service) in self.machine.services().iter().enumerate() {
            let Some(parent) = self.machine.parent(place) else { continue };
            let parent = &self.machine.services()[parent].name;
            if self.scheme_of(&service.name) != self.scheme_of(parent) {
                let (name, parent) = (service.name.clone(), parent.clone());
                return Err(SharingError::SplitParent { name, parent });
            }
        }
        Ok(())
    }

    fn check_events(&self, network: &Network) -> Result<(), SharingError> {
        let mut before = Time::ZERO;
        for (index, event) in self.events.iter().enumerate() {
            let wrong = |what: String| Err(SharingError::Event { index, what });
            if event.at < before {
                return wrong(format!("it is at {}, before the one above it at {before}", event.at));
            }
            before = event.at;
            match &event.what {
                // The driver knows the brokers of a custom scheme.
                SharingChange::Stops(_) | SharingChange::Starts(_)
                    if !self.has_brokers() && !matches!(self.scheme, HostSchemeConfig::Custom(_)) =>
                {
                    return wrong(format!("scheme {} has no brokers", self.scheme.name()));
                }
                SharingChange::Stops(BrokerAt::Machine(host)) | SharingChange::Starts(BrokerAt::Machine(host))
                    if network.node(*host).kind != NodeKind::Host =>
                {
                    return wrong(format!("{} is a switch: rack brokers are at hosts", network.node(*host).name));
                }
                SharingChange::Interval(Time::ZERO) => return wrong("an interval of 0ns measures nothing".to_owned()),
                SharingChange::Interval(_) if !self.schemes().any(HostSchemeConfig::has_interval) => {
                    return wrong(format!("scheme {} has no interval", self.scheme.name()));
                }
                SharingChange::Policy(policy) => {
                    let level = policy.level();
                    let old = self.policies().find(|old| old.level() == level);
                    let names = |policy: &Policy| {
                        let parent =
                            |service| policy.parent(service).map(|parent| policy.services()[parent].name.clone());
                        let named = |(place, service): (usize, &wayleave_contracts::ServiceSpec)| {
                            (service.name.clone(), parent(place))
                        };
                        policy.services().iter().enumerate().map(named).collect::<BTreeSet<_>>()
                    };
                    if old.is_none_or(|old| names(old) != names(policy)) {
                        return wrong(format!(
                            "its policy has not the services of the one of level {} that it replaces",
                            level.name()
                        ));
                    }
                    policy.check_capacity(network).or_else(|error| wrong(error.to_string()))?;
                }
                SharingChange::Stops(_) | SharingChange::Starts(_) | SharingChange::Interval(_) => {}
            }
        }
        Ok(())
    }
}

/// Checks that the parameters of a scheme are in range, and that nodes that it names as hosts are hosts.
fn check_scheme(scheme: &HostSchemeConfig, network: &Network) -> Result<(), SharingError> {
    scheme.check().map_err(|(parameter, value)| match (parameter.kind.is_zero(&value), &value) {
        (true, _) => SharingError::Zero { key: parameter.key },
        (false, Value::Percent(percent)) => SharingError::Part { key: parameter.key, value: format!("{percent} %") },
        (false, _) => SharingError::Part { key: parameter.key, value: value.to_string() },
    })?;
    scheme.check_together().map_err(|why| SharingError::Together { scheme: scheme.name(), why })?;
    for (parameter, value) in scheme.settings() {
        if let Value::Node(node) = value
            && network.node(node).kind != NodeKind::Host
        {
            return Err(SharingError::NotAHost { key: parameter.key, node: network.node(node).name.clone() });
        }
    }
    Ok(())
}

/// Error of the sharing by hosts.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum SharingError {
    /// A policy of another level.
    #[error("a policy of level {} is given, but level {key} is expected", .found.name())]
    Level {
        /// Key of the policy.
        key: &'static str,
        /// Level of the policy.
        found: PolicyLevel,
    },
    /// Minima that the network cannot keep.
    #[error("{why}")]
    Capacity {
        /// Of which level.
        key: &'static str,
        /// Reason: the location, and its capacity.
        why: String,
    },
    /// More services than messages have numbers for.
    #[error("the policies name {services} services, and at most {MAX_SERVICES} are supported")]
    TooMany {
        /// Number of services.
        services: usize,
    },
    /// A service of a machine that is part of another one.
    #[error(
        "service {service} is part of another service, but scheme {scheme} does not support parts: make each part a separate service"
    )]
    Nested {
        /// Name of the service.
        service: String,
        /// The scheme, which knows no parts.
        scheme: &'static str,
    },
    /// Terms of a service that its scheme does not know, or needs.
    #[error("service {service}: {why}")]
    Terms {
        /// Name of the service.
        service: String,
        /// Message of the scheme.
        why: String,
    },
    /// A share or an objective in a policy of racks or of the fabric.
    #[error(
        "service {service}: share and objective are terms of machines, and scheme {scheme} has no use for them in a policy of level {key}: give min, max and weight"
    )]
    Division {
        /// Level of the policy.
        key: &'static str,
        /// The service.
        service: String,
        /// The scheme.
        scheme: &'static str,
    },
    /// A policy without a broker that enforces it.
    #[error(
        "scheme {scheme} has no brokers to enforce a policy of level {key}: leave it out, or use scheme {}",
        broker_schemes()
    )]
    NoBrokers {
        /// Of which level.
        key: &'static str,
        /// The scheme.
        scheme: &'static str,
    },
    /// No port of the network has this queue.
    #[error("no port has a queue {queue}: the most queues of a port are {most}, counted from 0")]
    NoQueue {
        /// The queue.
        queue: u8,
        /// The most queues of a port.
        most: usize,
    },
    /// Something that must be above zero.
    #[error("{key} is zero: it must be above zero")]
    Zero {
        /// Its key.
        key: &'static str,
    },
    /// Parameters of a scheme that do not fit together.
    #[error("{scheme}: {why}")]
    Together {
        /// The scheme.
        scheme: &'static str,
        /// Reason.
        why: String,
    },
    /// A further scheme without services.
    #[error("a further scheme needs the services that are its own")]
    NoService {
        /// Index in the list.
        index: usize,
    },
    /// A further scheme with brokers, whose machines would have to belong to it alone.
    #[error(
        "scheme {scheme} has brokers, which count all that a machine sends: it has to be the scheme of all other services"
    )]
    FurtherBrokers {
        /// Index in the list.
        index: usize,
        /// The scheme.
        scheme: &'static str,
    },
    /// A further scheme for a service that machines do not have.
    #[error("machines have no service {name}")]
    UnknownService {
        /// Index in the list.
        index: usize,
        /// The service.
        name: String,
    },
    /// A service with two schemes.
    #[error("service {name} has a scheme already: name each service once")]
    TwoSchemes {
        /// Index of the entry that repeats it.
        index: usize,
        /// The service.
        name: String,
    },
    /// A service that has another scheme than the one that it is part of.
    #[error("service {name} is part of {parent}, which has another scheme: a service and its parts need one scheme")]
    SplitParent {
        /// The service.
        name: String,
        /// Service that contains it.
        parent: String,
    },
    /// A scheme from outside that the driver was not given.
    #[error("scheme {name} is not in this repository, and the run was given {}", given(known))]
    UnknownScheme {
        /// Its name.
        name: String,
        /// Names of the given ones.
        known: Vec<String>,
    },
    /// A part that is not between nothing and the whole.
    #[error("{key} is {value}: expected a fraction between 0 and 1")]
    Part {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A switch where a host is expected.
    #[error("{node} is a switch: the fabric broker is at a host")]
    NotAHost {
        /// Its key.
        key: &'static str,
        /// The switch.
        node: String,
    },
    /// An event that cannot be.
    #[error("{what}")]
    Event {
        /// Index in the list.
        index: usize,
        /// Reason.
        what: String,
    },
}

impl SharingError {
    /// The part of `sharing` that it is about.
    pub fn key(&self) -> String {
        match self {
            Self::Level { key, .. }
            | Self::Capacity { key, .. }
            | Self::NoBrokers { key, .. }
            | Self::Division { key, .. } => (*key).to_owned(),
            Self::Part { key: key @ ("loss" | "duplicate" | "probeLoss"), .. } => format!("faults.{key}"),
            Self::Zero { key: key @ "idleTimeout" } => (*key).to_owned(),
            Self::UnknownScheme { .. }
            | Self::Zero { .. }
            | Self::Part { .. }
            | Self::NotAHost { .. }
            | Self::Together { .. } => "scheme".to_owned(),
            Self::Nested { .. } | Self::Terms { .. } | Self::TooMany { .. } => "machine".to_owned(),
            Self::NoService { index }
            | Self::FurtherBrokers { index, .. }
            | Self::UnknownService { index, .. }
            | Self::TwoSchemes { index, .. } => {
                format!("otherSchemes.{index}")
            }
            Self::SplitParent { .. } => "otherSchemes".to_owned(),
            Self::NoQueue { .. } => "queue".to_owned(),
            Self::Event { index, .. } => format!("events.{index}"),
        }
    }
}

/// The schemes from outside that a run was given.
fn given(known: &[String]) -> String {
    if known.is_empty() { "no schemes from outside".to_owned() } else { known.join(", ") }
}
