//! The brokers of host schemes: which ones a network needs and where they run, the scheme says; drivers start them, stop
//! them, and carry their messages.
//!
//! A scheme lists its brokers as [`BrokerSeat`]s. Their numbers are places in that list, counted from the first broker of
//! the scheme on. Each start of a broker constructs it again from a [`BrokerSetup`], so a broker that was stopped has
//! forgotten everything.

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

/// Where a broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerLocation {
    /// At a host: messages are packets, and take no time between the host and its own broker.
    Host(NodeId),
    /// Outside the network: every message to it and from it takes so long, and none is lost in queues.
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

    /// What a message takes beside the network.
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
    /// What it divides; it hears what the links there carry. `None`: it hears nothing of links.
    pub point: Option<ContentionPoint>,
    /// Where it runs.
    pub at: BrokerLocation,
    /// Whether it is told that it leads its group when it starts.
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

    /// Whether it is the broker of this host, and not one of the fabric that happens to run there.
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
    pub seats: &'a [BrokerSpec],
}

impl BrokerSpecs<'_> {
    /// The number of the first broker that is meant.
    pub fn find(&self, is_meant: impl Fn(&BrokerSpec) -> bool) -> Option<BrokerId> {
        self.seats.iter().position(is_meant).map(|place| BrokerId(self.first.0 + place as u32))
    }

    /// The number of the broker of a host.
    pub fn of(&self, host: NodeId) -> Option<BrokerId> {
        self.find(|seat| seat.is_of(host))
    }

    /// The numbers of the brokers of all hosts.
    pub fn by_host(&self) -> HashMap<NodeId, BrokerId> {
        let mut numbers = HashMap::new();
        for (place, seat) in self.seats.iter().enumerate() {
            if let Some(host) = seat.at.host().filter(|&host| seat.is_of(host)) {
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

/// What a broker is constructed from.
#[derive(Clone, Copy, Debug)]
pub struct BrokerSetup<'a> {
    /// The network in which it works.
    pub around: BrokerNetwork<'a>,
    /// All brokers of the scheme.
    pub all: BrokerSpecs<'a>,
    /// Which of them it is.
    pub seat: BrokerSpec,
    /// Which policies everybody has.
    pub epoch: u32,
    /// Numbers of messages begin here: above all that a broker in this seat can have used before.
    pub serial: u64,
}

/// Why a broker cannot work, or not under other terms.
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

/// What a broker did not heed, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoredParam {
    /// Messages of other policies.
    pub epoch: u64,
    /// Messages that are older than what is known.
    pub serial: u64,
    /// Messages from or for others, or about what no broker is told.
    pub stranger: u64,
}

/// How often machines and brokers speak to each other: what drivers have to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerTimes {
    /// How often a machine tells its broker its counters.
    pub interval: Time,
    /// A machine that hears nothing from its broker for so long lifts all limits.
    pub timeout: Time,
    /// A connection of two brokers over which nothing comes for so long may be closed.
    pub connection: Time,
}

impl Default for BrokerTimes {
    /// Table 1 of Parley (2014): a second, five, and fifty.
    fn default() -> Self {
        let seconds = |count: u64| Time::from_millis(1_000 * count);
        Self { interval: seconds(1), timeout: seconds(5), connection: seconds(50) }
    }
}

/// Why bytes are no message of a scheme.
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

/// How the messages of a scheme's brokers leave their program.
pub trait BrokerCodec: Broker {
    /// The bytes of a message to another broker, which are also a datagram; `None`: it never leaves its machine.
    fn encode(message: &Self::Message) -> Option<Vec<u8>>;

    /// The message that the bytes are.
    ///
    /// # Errors
    /// Whatever [`BrokerCodec::encode`] would not have written.
    fn decode(bytes: &[u8]) -> Result<Self::Message, BrokerDecodeError>;

    /// How long the message is that begins like this, in a stream; `None`: more of its bytes are needed to tell.
    ///
    /// # Errors
    /// If no message begins like this, or only one that is longer than any: the stream cannot be read any further.
    fn length(begin: &[u8]) -> Result<Option<usize>, BrokerDecodeError>;

    /// The machine whose broker wrote a message to another broker, as the message says; `None`: it does not say.
    fn sender(message: &Self::Message) -> Option<NodeId>;

    /// What a machine tells its broker; `None`: its broker does not ask for counters.
    fn from_report(report: UsageReport) -> Option<Self::Message>;

    /// All limits of a machine, if a message of its broker sets them: a service that is not listed has none.
    fn limits(message: &Self::Message) -> Option<Vec<Limited>>;
}

/// A broker of a scheme of the list.
pub trait SchemeBroker: BrokerCodec + fmt::Debug {
    /// The terms of the policies are others, for the same services. What the links carry is told again after that.
    ///
    /// # Errors
    /// If they cannot be kept; then the old ones stay.
    fn set_policies(&mut self, _around: &BrokerNetwork<'_>) -> Result<(), BrokerError> {
        Ok(())
    }

    /// The members of its group that it has heard and counts: machines of a rack, racks of the fabric.
    fn members(&self, _now: Time) -> Vec<NodeId> {
        Vec::new()
    }

    /// The machine that speaks for its group.
    fn leader(&self, _now: Time) -> Option<NodeId> {
        None
    }

    /// What it did not heed.
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
