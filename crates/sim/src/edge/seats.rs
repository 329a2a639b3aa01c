//! Brokers of racks, of the fabric and of schemes from outside: where they are, and which of them live.

use wayleave_contracts::ContentionPoint;
use wayleave_roles::BrokerId;
use wayleave_scenarios::{EdgeScheme, FabricBrokerAt, Scenario, Sharing};
use wayleave_schemes::edges::AnyBroker;
use wayleave_topology::NodeId;

use crate::custom::Custom;

/// All brokers. Those of Parley's racks have the numbers of their machines' edges, its fabric broker has the next one;
/// those of further schemes follow, scheme by scheme.
#[derive(Debug, Default)]
pub(super) struct Brokers {
    pub(super) all: Vec<Seat>,
    /// The number of each scheme's first broker.
    first: Vec<u32>,
}

/// Where a broker is, and the broker while it lives.
#[derive(Debug)]
pub(super) struct Seat {
    /// Its scheme.
    pub(super) scheme: u8,
    /// What it divides, if it hears of capacities.
    pub(super) point: Option<ContentionPoint>,
    /// Its machine.
    pub(super) host: Option<NodeId>,
    pub(super) broker: Option<AnyBroker>,
    /// Whether it is told that it leads.
    pub(super) leads: bool,
    /// How often it was started.
    pub(super) starts: u64,
}

impl Brokers {
    /// Those of all schemes. Parley has one at every machine that belongs to a rack, and one for the fabric if it has a
    /// policy.
    pub(super) fn new(scenario: &Scenario, sharing: &Sharing, custom: &Custom<'_>, nodes: &[NodeId]) -> Self {
        let mut brokers = Self::default();
        for (scheme, kind) in sharing.schemes().enumerate() {
            brokers.first.push(brokers.all.len() as u32);
            match kind {
                EdgeScheme::Parley(settings) if scheme == 0 => {
                    brokers.add_parley(scenario, sharing, settings.fabric_broker, nodes);
                }
                EdgeScheme::Custom(name) => {
                    let setups = custom.schemes.get(name).map(|scheme| scheme.brokers(&scenario.network));
                    let seat = |setup: crate::custom::BrokerSetup| Seat {
                        scheme: scheme as u8,
                        point: None,
                        host: setup.host,
                        broker: Some(AnyBroker::Custom(setup.broker)),
                        leads: setup.leads,
                        starts: 0,
                    };
                    brokers.all.extend(setups.unwrap_or_default().into_iter().map(seat));
                }
                _ => {}
            }
        }
        brokers
    }

    fn add_parley(&mut self, scenario: &Scenario, sharing: &Sharing, fabric: FabricBrokerAt, nodes: &[NodeId]) {
        let network = &scenario.network;
        let rack = |node: NodeId| network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(network, node));
        let seat = |point, host| Seat { scheme: 0, point: Some(point), host, broker: None, leads: false, starts: 0 };
        let at =
            |&node: &NodeId| seat(rack(node).map_or(ContentionPoint::Machine(node), ContentionPoint::Rack), Some(node));
        self.all.extend(nodes.iter().map(at));
        if sharing.fabric.is_some() {
            let host = match fabric {
                FabricBrokerAt::Host(host) => Some(host),
                FabricBrokerAt::Outside(_) => None,
            };
            self.all.push(seat(ContentionPoint::Fabric, host));
        }
    }

    /// The number of a scheme's first broker.
    pub(super) fn first(&self, scheme: usize) -> BrokerId {
        BrokerId(self.first.get(scheme).copied().unwrap_or(0))
    }

    /// The scheme of a broker.
    pub(super) fn scheme(&self, broker: BrokerId) -> Option<u8> {
        self.all.get(broker.index()).map(|seat| seat.scheme)
    }

    /// Where a broker is; `None`: it is outside of the network, or there is no such broker.
    pub(super) fn host(&self, broker: BrokerId) -> Option<NodeId> {
        self.all.get(broker.index())?.host
    }

    pub(super) fn exists(&self, broker: BrokerId) -> bool {
        broker.index() < self.all.len()
    }
}
