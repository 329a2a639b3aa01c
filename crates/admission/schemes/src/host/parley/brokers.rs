//! The brokers of a network: one at every machine of a rack (5.2), and one for the fabric if it has a policy (5.3).

use core::convert::Infallible;

use wayleave_contracts::ContentionPoint;
use wayleave_packet_format::broker::{PREFIX_BYTES, RateList, RateSubject};
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, ClassId, Leadership};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::contention_point::Pool;
use super::fabric::FabricBroker;
use super::message::Message;
use super::params::Params;
use super::rack::{RackBroker, RackPlace};
use super::settings::{FabricBrokerAt, Settings};
use crate::brokers::{
    BrokerCodec, BrokerDecodeError, BrokerError, BrokerLocation, BrokerNetwork, BrokerSetup, BrokerSpec, IgnoredParam,
    SchemeBroker,
};
use crate::usage_report::{Limited, UsageReport};

/// Has no broker: what is written to it is lost.
const NOBODY: BrokerId = BrokerId(u32::MAX);

/// The seats of all brokers, those of the machines first, in the order of the machines.
pub(super) fn broker_specs(around: &BrokerNetwork<'_>, settings: &Settings) -> Vec<BrokerSpec> {
    let rack =
        |node: NodeId| around.network.switches().find(|&rack| ContentionPoint::Rack(rack).holds(around.network, node));
    let of = |&node: &NodeId| {
        BrokerSpec::at_host(node, rack(node).map_or(ContentionPoint::Machine(node), ContentionPoint::Rack))
    };
    let mut specs: Vec<BrokerSpec> = around.hosts.iter().map(of).collect();
    if around.policies.fabric.is_some() {
        let at = match settings.fabric_broker {
            FabricBrokerAt::Host(host) => BrokerLocation::Host(host),
            FabricBrokerAt::Outside(delay) => BrokerLocation::Outside(delay),
        };
        specs.push(BrokerSpec { point: Some(ContentionPoint::Fabric), at, leadership: Leadership::Follower });
    }
    specs
}

/// Returns the pool that a broker divides under the current policies.
fn pool(around: &BrokerNetwork<'_>, point: ContentionPoint) -> Result<Pool, BrokerError> {
    let BrokerNetwork { network, policies, services, today, .. } = *around;
    let pool = match point {
        ContentionPoint::Rack(switch) => Pool::rack(network, services, policies, switch, today),
        ContentionPoint::Fabric => Pool::fabric(network, services, policies, today),
        ContentionPoint::Machine(host) => {
            return Err(BrokerError(format!("{} is not in a rack", network.node(host).name)));
        }
    };
    pool.map_err(BrokerError::because)
}

/// A broker of either level.
#[derive(Clone, Debug)]
pub enum ParleyBroker {
    /// Of a machine, for its rack.
    Rack(Box<RackBroker>),
    /// Of the fabric.
    Fabric(Box<FabricBroker>),
}

impl ParleyBroker {
    /// The broker of a seat; an error where there is nothing to divide.
    pub(super) fn new(setup: &BrokerSetup<'_>, params: Params) -> Result<Self, BrokerError> {
        let nothing = || BrokerError("it has nothing to divide".to_owned());
        let point = setup.spec.point.ok_or_else(nothing)?;
        let pool = pool(&setup.around, point)?;
        let ContentionPoint::Rack(rack) = point else {
            return Ok(Self::Fabric(Box::new(FabricBroker::new(params, setup.epoch, setup.serial, pool))));
        };
        let machine = setup.spec.at.host().ok_or_else(nothing)?;
        let numbers = setup.all.by_host();
        let number = |member: &NodeId| numbers.get(member).copied().unwrap_or(NOBODY);
        let place = RackPlace {
            machine,
            rack,
            brokers: pool.members().iter().map(number).collect(),
            fabric: setup.all.find(|spec| spec.point == Some(ContentionPoint::Fabric)),
            epoch: setup.epoch,
            serial: setup.serial,
        };
        let broker = RackBroker::new(params, place, pool).map(|broker| Self::Rack(Box::new(broker)));
        let name = || &setup.around.network.node(machine).name;
        broker.ok_or_else(|| BrokerError(format!("{} does not share the uplinks of its rack", name())))
    }
}

impl SchemeBroker for ParleyBroker {
    fn set_policies(&mut self, around: &BrokerNetwork<'_>) -> Result<(), BrokerError> {
        match self {
            Self::Rack(broker) => broker.set_pool(pool(around, ContentionPoint::Rack(broker.place().rack))?),
            Self::Fabric(broker) => broker.set_pool(pool(around, ContentionPoint::Fabric)?),
        }
        Ok(())
    }

    fn members(&self, now: Time) -> Vec<NodeId> {
        match self {
            Self::Rack(broker) => broker.alive(now).collect(),
            Self::Fabric(broker) => broker.alive(now).collect(),
        }
    }

    fn leader(&self, now: Time) -> Option<NodeId> {
        match self {
            Self::Rack(broker) => broker.leader(now),
            Self::Fabric(_) => None,
        }
    }

    fn ignored(&self) -> IgnoredParam {
        match self {
            Self::Rack(broker) => broker.ignored(),
            Self::Fabric(broker) => broker.ignored(),
        }
    }
}

/// Lists of rates leave their machine ([`wayleave_packet_format::broker`]); reports and feedback do not come from brokers.
impl BrokerCodec for ParleyBroker {
    fn encode(message: &Message) -> Option<Vec<u8>> {
        match message {
            Message::Rates(list) => Some(list.encode()),
            Message::Report(_) | Message::Feedback(_) => None,
        }
    }

    fn decode(bytes: &[u8]) -> Result<Message, BrokerDecodeError> {
        RateList::decode(bytes).map(Message::Rates).map_err(BrokerDecodeError::because)
    }

    fn length(begin: &[u8]) -> Result<Option<usize>, BrokerDecodeError> {
        if begin.len() < PREFIX_BYTES {
            return Ok(None);
        }
        // At most half a megabyte: longer lists are refused.
        RateList::length(begin).map(|length| Some(length as usize)).map_err(BrokerDecodeError::because)
    }

    fn sender(message: &Message) -> Option<NodeId> {
        match message {
            Message::Rates(list) => Some(NodeId(list.from)),
            Message::Report(_) | Message::Feedback(_) => None,
        }
    }

    fn from_report(report: UsageReport) -> Option<Message> {
        Some(Message::Report(report))
    }

    fn limits(message: &Message) -> Option<Vec<Limited>> {
        match message {
            Message::Rates(list) if list.subject == RateSubject::MachineLimits => {
                let limited = list.rates.iter().map(|rates| Limited {
                    class: ClassId(rates.service.into()),
                    limit: [rates.transmit, rates.receive],
                });
                Some(limited.collect())
            }
            _ => None,
        }
    }
}

impl Broker for ParleyBroker {
    type Message = Message;
    type Timer = Infallible;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<Message, Infallible>,
        act: &mut dyn FnMut(BrokerAction<Message, Infallible>),
    ) {
        match self {
            Self::Rack(broker) => broker.on(now, input, act),
            Self::Fabric(broker) => broker.on(now, input, act),
        }
    }
}
