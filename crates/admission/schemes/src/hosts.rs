//! The host schemes. [`HostScheme`] is the trait that a scheme implements, and `HOST_SCHEMES` a table with an entry
//! for each. [`HostSchemeConfig`] is a scheme with its parameters, as a scenario gives it. A driver holds hosts and
//! brokers of several schemes side by side ([`AnyHost`], [`AnyBroker`]), and forwards their messages and timers
//! without reading them.

mod any;

use std::fmt;

use wayleave_contracts::{Policy, ServiceSpec};
use wayleave_scheme_api::{CustomTunnel, Described, Host, PairSpec};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::brokers::{BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerSpecs, BrokerTimes, SchemeBroker};
use crate::host::eyeq::LineParams;
use crate::services::Services;
use crate::switches::Ecn;

pub(crate) use any::HOST_SCHEMES;
pub use any::{AnyBroker, AnyBrokerTimer, AnyHost, AnyMessage, AnyTimer, HOSTS, HostSchemeConfig};

/// Ethernet header and FCS (18 B), preamble and gap (20 B), IPv4 header (20 B).
pub const NETWORK_HEADERS: usize = 58;

/// A UDP header.
pub const UDP: usize = 8;

/// Input from which a host's machine is constructed.
pub struct HostSetup<'a> {
    /// Its links, at most the policy's peak.
    pub line: LineParams,
    /// The policy of machines.
    pub policy: &'a Policy,
    /// The numbers of services.
    pub services: &'a Services,
    /// The host.
    pub node: NodeId,
    /// The scheme's brokers.
    pub brokers: BrokerSpecs<'a>,
    /// The hosts of its rack, itself included.
    pub rack: &'a [NodeId],
    /// Epoch of the policies in force.
    pub epoch: u32,
    /// Draws a time below an interval, so that machines do not march in step.
    pub phase: &'a mut dyn FnMut(Time) -> Time,
}

/// Input from which the tunnel of a pair is constructed.
#[derive(Clone, Copy, Debug)]
pub struct TunnelSetup<'a> {
    /// The policy of machines.
    pub policy: &'a Policy,
    /// The numbers of services.
    pub services: &'a Services,
    /// The host that sends.
    pub from: NodeId,
    /// The rate of its line.
    pub line: Rate,
    /// The pair.
    pub pair: &'a PairSpec,
}

/// Error of a scheme that cannot construct the machine of a host.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("{0}")]
pub struct HostBuildError(pub String);

impl HostBuildError {
    /// Because of this.
    pub fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A host scheme of the list.
pub trait HostScheme: Described + Host + Sized {
    /// `true` if services of machines may have parts.
    const HAS_PARTS: bool = false;
    /// `true` if it measures in an interval that can change.
    const HAS_INTERVAL: bool = false;
    /// `true` if it has brokers.
    const HAS_BROKERS: bool = false;
    /// `true` if its brokers enforce the policies of racks and of the fabric, and have a program of their own.
    const ENFORCES_LEVELS: bool = false;
    /// `true` if it divides configured capacities; other schemes measure the available capacity.
    const DIVIDES_CAPACITY: bool = false;

    /// Its brokers; [`NoBroker`](crate::brokers::NoBroker) where there are none.
    type Broker: SchemeBroker<Message = Self::Message>;

    /// The machine of a host.
    ///
    /// # Errors
    /// What does not fit.
    fn build(setup: &mut HostSetup<'_>, params: &Self::Params) -> Result<Self, HostBuildError>;

    /// The brokers that a network needs, in the order of their numbers.
    fn brokers(_around: &BrokerNetwork<'_>, _params: &Self::Params) -> Vec<BrokerSpec> {
        Vec::new()
    }

    /// The broker of a seat, each time that it is started.
    ///
    /// # Errors
    /// If it has nothing to divide.
    fn broker(_setup: &BrokerSetup<'_>, _params: &Self::Params) -> Result<Self::Broker, BrokerError> {
        Err(no_brokers())
    }

    /// The tunnel of a pair that leaves a host; `None`: it has none, and its limiter holds its flows back.
    fn tunnel(_setup: &TunnelSetup<'_>, _params: &Self::Params) -> Option<CustomTunnel> {
        None
    }

    /// Checks that the scheme supports the terms of a service.
    ///
    /// # Errors
    /// The term that is missing or unknown.
    fn check_service(service: &ServiceSpec) -> Result<(), String> {
        match service.division {
            Some(_) => Err(format!(
                "scheme {} does not support shares: give min, max and weight, or use scheme scc",
                Self::DESCRIPTOR.name
            )),
            None => Ok(()),
        }
    }

    /// Terms of a service of machines for which it has no use, as `transmit.min`.
    fn not_carried_out(_params: &Self::Params) -> &'static [&'static str] {
        &[]
    }

    /// Returns the message intervals and timeouts of machines and brokers.
    fn broker_times(_params: &Self::Params) -> BrokerTimes {
        BrokerTimes::default()
    }

    /// Checks that parameters fit together; each by itself is in range.
    ///
    /// # Errors
    /// The conflict.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// Another interval of measurement, where the scheme has one (Parley, Fig. 12: T).
    fn set_interval(&mut self, _interval: Time) {}

    /// Returns the default queue support at switches, if its scenario configures no other.
    fn core(_params: &Self::Params) -> Option<Ecn> {
        None
    }

    /// Bytes of a message's packet with all headers, preamble and gap; a smallest frame is more.
    fn wire_bytes(message: &Self::Message) -> usize;
}

fn no_brokers() -> BrokerError {
    BrokerError("the scheme has no brokers".to_owned())
}
