//! Brokers of host schemes. The scheme defines the brokers that a network needs and their locations; drivers start
//! and stop them and carry their messages.
//!
//! A scheme lists its brokers as [`BrokerSpec`]s. Their numbers are indices into that list, counted from the first
//! broker of the scheme. Each start of a broker constructs it again from a [`BrokerSetup`], so a broker loses its
//! state when it is stopped.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use wayleave_contracts::ContentionPoint;
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Time, WallTime};

use crate::services::{Policies, Services};
use crate::usage_report::{Limited, UsageReport};

/// Location of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerLocation {
    /// At a host: messages are packets, and take no time between the host and its own broker.
    Host(NodeId),
    /// Outside the network: every message to it and from it takes this time, and none is lost in queues.
    Outside(Time),
}

impl BrokerLocation {
    /// Its host, if it is at one.
    pub const fn host(self) -> Option<NodeId> {
        match self {
            Self::Host(host) => Some(host),
            Self::Outside(_) => None,
        }
    }

    /// Returns the delay of a message outside the network.
    pub const fn delay(self) -> Time {
        match self {
            Self::Host(_) => Time::ZERO,
            Self::Outside(delay) => delay,
        }
    }
}

/// One broker that a scheme needs in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerSpec {
    /// Contention point that it divides; it receives the loads of the links there. `None`: it receives no link loads.
    pub point: Option<ContentionPoint>,
    /// Location of the broker.
    pub at: BrokerLocation,
    /// Role in its group that it is notified of when it starts.
    pub leadership: Leadership,
}

impl BrokerSpec {
    /// The broker of a host, a follower, which divides a contention point.
    pub const fn at_host(host: NodeId, point: ContentionPoint) -> Self {
        Self { point: Some(point), at: BrokerLocation::Host(host), leadership: Leadership::Follower }
    }

    /// The broker of a host, a follower, which does not divide what links carry.
    pub const fn alone_at(host: NodeId) -> Self {
        Self { point: None, at: BrokerLocation::Host(host), leadership: Leadership::Follower }
    }

    /// Returns `true` if it is the broker of this host, and not a fabric broker that runs there.
    pub fn is_of(&self, host: NodeId) -> bool {
        self.at == BrokerLocation::Host(host) && self.point != Some(ContentionPoint::Fabric)
    }
}

/// All brokers of a scheme, with their numbers.
#[derive(Clone, Copy, Debug)]
pub struct BrokerSpecs<'a> {
    /// The number of the first one.
    pub first: BrokerId,
    /// All, in the order of their numbers.
    pub specs: &'a [BrokerSpec],
}

impl BrokerSpecs<'_> {
    /// The number of the first broker that is meant.
    pub fn find(&self, is_meant: impl Fn(&BrokerSpec) -> bool) -> Option<BrokerId> {
        self.specs.iter().position(is_meant).map(|place| BrokerId(self.first.0 + place as u32))
    }

    /// The number of the broker of a host.
    pub fn of(&self, host: NodeId) -> Option<BrokerId> {
        self.find(|spec| spec.is_of(host))
    }

    /// The numbers of the brokers of all hosts.
    pub fn by_host(&self) -> HashMap<NodeId, BrokerId> {
        let mut numbers = HashMap::new();
        for (place, spec) in self.specs.iter().enumerate() {
            if let Some(host) = spec.at.host().filter(|&host| spec.is_of(host)) {
                numbers.entry(host).or_insert(BrokerId(self.first.0 + place as u32));
            }
        }
        numbers
    }
}

/// The network in which brokers work.
#[derive(Clone, Copy, Debug)]
pub struct BrokerNetwork<'a> {
    /// Itself.
    pub network: &'a Network,
    /// The policies that count now.
    pub policies: Policies<'a>,
    /// The numbers of services.
    pub services: &'a Services,
    /// The hosts that take part.
    pub hosts: &'a [NodeId],
    /// The time of the calendar, up to which scheduled changes of the policies count; `None`: none of them does.
    pub today: Option<WallTime>,
}

/// Input from which a broker is constructed.
#[derive(Clone, Copy, Debug)]
pub struct BrokerSetup<'a> {
    /// The network in which it works.
    pub around: BrokerNetwork<'a>,
    /// All brokers of the scheme.
    pub all: BrokerSpecs<'a>,
    /// Seat of this broker.
    pub spec: BrokerSpec,
    /// Epoch of the policies in force.
    pub epoch: u32,
    /// Numbers of messages begin here: above all that a broker in this seat can have used before.
    pub serial: u64,
}

/// Reason why a broker cannot work, or cannot accept new policy terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerError(pub String);

impl BrokerError {
    /// Because of this.
    pub fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BrokerError {}

/// Number of messages that a broker ignored, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoredParam {
    /// Messages of other policies.
    pub epoch: u64,
    /// Messages that are older than the known state.
    pub serial: u64,
    /// Messages from or for other machines, or with content that no broker expects.
    pub unknown_sender: u64,
}

/// Message intervals and timeouts of machines and brokers, for drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerTimes {
    /// Interval at which a machine reports its counters to its broker.
    pub interval: Time,
    /// A machine that receives nothing from its broker for this time lifts all limits.
    pub timeout: Time,
    /// A connection of two brokers that is idle for this time may be closed.
    pub connection: Time,
}

impl Default for BrokerTimes {
    /// Table 1 of Parley (2014): a second, five, and fifty.
    fn default() -> Self {
        let seconds = |count: u64| Time::from_millis(1_000 * count);
        Self { interval: seconds(1), timeout: seconds(5), connection: seconds(50) }
    }
}

/// Reason why bytes are not a message of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerDecodeError(pub String);

impl BrokerDecodeError {
    /// Because of this.
    pub fn because(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for BrokerDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BrokerDecodeError {}

/// Encoding of the messages of a scheme's brokers.
pub trait BrokerCodec: Broker {
    /// The bytes of a message to another broker, which are also a datagram; `None`: it never leaves its machine.
    fn encode(message: &Self::Message) -> Option<Vec<u8>>;

    /// Decodes a message.
    ///
    /// # Errors
    /// If [`BrokerCodec::encode`] could not have written the bytes.
    fn decode(bytes: &[u8]) -> Result<Self::Message, BrokerDecodeError>;

    /// Returns the length of the message that begins with these bytes of a stream; `None` if more bytes are needed.
    ///
    /// # Errors
    /// If no message begins with these bytes, or only one above the maximum length: the stream cannot be read any
    /// further.
    fn length(begin: &[u8]) -> Result<Option<usize>, BrokerDecodeError>;

    /// Returns the machine whose broker wrote a message to another broker, according to the message; `None` if it has
    /// no sender.
    fn sender(message: &Self::Message) -> Option<NodeId>;

    /// Returns the message in which a machine reports its counters to its broker; `None` if its broker does not ask
    /// for counters.
    fn from_report(report: UsageReport) -> Option<Self::Message>;

    /// All limits of a machine, if a message of its broker sets them: a service that is not listed has none.
    fn limits(message: &Self::Message) -> Option<Vec<Limited>>;
}

/// A broker of a scheme of the list.
pub trait SchemeBroker: BrokerCodec + fmt::Debug {
    /// Replaces the terms of the policies, for the same services. The link loads are reported again after that.
    ///
    /// # Errors
    /// If the new terms cannot be kept; then the old ones stay.
    fn set_policies(&mut self, _around: &BrokerNetwork<'_>) -> Result<(), BrokerError> {
        Ok(())
    }

    /// Returns the members of its group that have reported and count: machines of a rack, racks of the fabric.
    fn members(&self, _now: Time) -> Vec<NodeId> {
        Vec::new()
    }

    /// The machine that speaks for its group.
    fn leader(&self, _now: Time) -> Option<NodeId> {
        None
    }

    /// Returns the number of ignored messages.
    fn ignored(&self) -> IgnoredParam {
        IgnoredParam::default()
    }
}

/// For schemes without brokers: there is none.
pub enum NoBroker<M> {
    /// It cannot be made.
    Never(Infallible, PhantomData<fn(M)>),
}

impl<M> fmt::Debug for NoBroker<M> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Never(never, _) => match never {},
        }
    }
}

impl<M> Broker for NoBroker<M> {
    type Message = M;
    type Timer = Infallible;

    fn on(&mut self, _: Time, _: BrokerInput<M, Infallible>, _: &mut dyn FnMut(BrokerAction<M, Infallible>)) {}
}

impl<M> BrokerCodec for NoBroker<M> {
    fn encode(_: &M) -> Option<Vec<u8>> {
        None
    }

    fn decode(_: &[u8]) -> Result<M, BrokerDecodeError> {
        Err(BrokerDecodeError("the scheme has no brokers".to_owned()))
    }

    fn length(_: &[u8]) -> Result<Option<usize>, BrokerDecodeError> {
        Err(BrokerDecodeError("the scheme has no brokers".to_owned()))
    }

    fn sender(_: &M) -> Option<NodeId> {
        None
    }

    fn from_report(_: UsageReport) -> Option<M> {
        None
    }

    fn limits(_: &M) -> Option<Vec<Limited>> {
        None
    }
}

impl<M> SchemeBroker for NoBroker<M> {}
