//! The brokers of a network: one at every machine of a rack (5.2), and one for the fabric if it has a policy (5.3).

use core::convert::Infallible;

use wayleave_contracts::ContentionPoint;
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::fabric::FabricBroker;
use super::message::Message;
use super::params::Params;
use super::pool::Pool;
use super::rack::{RackBroker, RackPlace};
use super::settings::{FabricBrokerAt, Settings};
use crate::brokers::{BrokerLocation, BrokerNetwork, BrokerSeat, BrokerSetup, SchemeBroker};

/// Has no broker: what is written to it is lost.
const NOBODY: BrokerId = BrokerId(u32::MAX);

/// The seats of all brokers, those of the machines first, in the order of the machines.
pub(super) fn seats(around: &BrokerNetwork<'_>, settings: &Settings) -> Vec<BrokerSeat> {
    let rack =
        |node: NodeId| around.network.switches().find(|&rack| ContentionPoint::Rack(rack).holds(around.network, node));
    let of = |&node: &NodeId| {
        BrokerSeat::at_host(node, rack(node).map_or(ContentionPoint::Machine(node), ContentionPoint::Rack))
    };
    let mut seats: Vec<BrokerSeat> = around.hosts.iter().map(of).collect();
    if around.policies.fabric.is_some() {
        let at = match settings.fabric_broker {
            FabricBrokerAt::Host(host) => BrokerLocation::Host(host),
            FabricBrokerAt::Outside(delay) => BrokerLocation::Outside(delay),
        };
        seats.push(BrokerSeat { point: Some(ContentionPoint::Fabric), at, leadership: Leadership::Follower });
    }
    seats
}

/// What a broker divides, as the policies are now.
fn pool(around: &BrokerNetwork<'_>, point: ContentionPoint) -> Option<Pool> {
    let BrokerNetwork { network, policies, services, .. } = *around;
    match point {
        ContentionPoint::Rack(switch) => Pool::rack(network, services, policies, switch, None).ok(),
        ContentionPoint::Fabric => Pool::fabric(network, services, policies, None).ok(),
        ContentionPoint::Machine(_) => None,
    }
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
    /// The broker of a seat; `None` where there is nothing to divide.
    pub(super) fn new(setup: &BrokerSetup<'_>, params: Params) -> Option<Self> {
        let point = setup.seat.point?;
        let pool = pool(&setup.around, point)?;
        let ContentionPoint::Rack(rack) = point else {
            return Some(Self::Fabric(Box::new(FabricBroker::new(params, setup.epoch, setup.serial, pool))));
        };
        let numbers = setup.all.by_host();
        let number = |member: &NodeId| numbers.get(member).copied().unwrap_or(NOBODY);
        let place = RackPlace {
            machine: setup.seat.at.host()?,
            rack,
            brokers: pool.members().iter().map(number).collect(),
            fabric: setup.all.find(|seat| seat.point == Some(ContentionPoint::Fabric)),
            epoch: setup.epoch,
            serial: setup.serial,
        };
        RackBroker::new(params, place, pool).map(|broker| Self::Rack(Box::new(broker)))
    }
}

impl SchemeBroker for ParleyBroker {
    fn set_policies(&mut self, around: &BrokerNetwork<'_>) {
        match self {
            Self::Rack(broker) => {
                if let Some(pool) = pool(around, ContentionPoint::Rack(broker.place().rack)) {
                    broker.set_pool(pool);
                }
            }
            Self::Fabric(broker) => {
                if let Some(pool) = pool(around, ContentionPoint::Fabric) {
                    broker.set_pool(pool);
                }
            }
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
