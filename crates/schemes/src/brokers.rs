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
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership};
use wayleave_topology::{Network, NodeId};
use wayleave_units::Time;

use crate::services::{Policies, Services};

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
pub struct BrokerSeat {
    /// What it divides; it hears what the links there carry. `None`: it hears nothing of links.
    pub point: Option<ContentionPoint>,
    /// Where it runs.
    pub at: BrokerLocation,
    /// Whether it is told that it leads its group when it starts.
    pub leadership: Leadership,
}

impl BrokerSeat {
    /// The broker of a host, a follower, which divides a contention point.
    pub const fn at_host(host: NodeId, point: ContentionPoint) -> Self {
        Self { point: Some(point), at: BrokerLocation::Host(host), leadership: Leadership::Follower }
    }

    /// Whether it is the broker of this host, and not one of the fabric that happens to run there.
    pub fn is_of(&self, host: NodeId) -> bool {
        self.at == BrokerLocation::Host(host) && self.point != Some(ContentionPoint::Fabric)
    }
}

/// All brokers of a scheme, with their numbers.
#[derive(Clone, Copy, Debug)]
pub struct BrokerSeats<'a> {
    /// The number of the first one.
    pub first: BrokerId,
    /// All, in the order of their numbers.
    pub seats: &'a [BrokerSeat],
}

impl BrokerSeats<'_> {
    /// The number of the first broker that is meant.
    pub fn find(&self, is_meant: impl Fn(&BrokerSeat) -> bool) -> Option<BrokerId> {
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
}

/// What a broker is constructed from.
#[derive(Clone, Copy, Debug)]
pub struct BrokerSetup<'a> {
    /// The network in which it works.
    pub around: BrokerNetwork<'a>,
    /// All brokers of the scheme.
    pub all: BrokerSeats<'a>,
    /// Which of them it is.
    pub seat: BrokerSeat,
    /// Which policies everybody has.
    pub epoch: u32,
    /// Numbers of messages begin here: above all that a broker in this seat can have used before.
    pub serial: u64,
}

/// A broker of a scheme of the list.
pub trait SchemeBroker: Broker + fmt::Debug {
    /// The terms of the policies are others, for the same services. What the links carry is told again after that.
    fn set_policies(&mut self, _around: &BrokerNetwork<'_>) {}
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

impl<M> SchemeBroker for NoBroker<M> {}
