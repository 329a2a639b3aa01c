//! Brokers of racks and of the fabric, and what changes on the way.

use wayleave_contracts::{ContentionPoint, Direction, PolicyLevel};
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_scenarios::{BrokerAt, EdgeScheme, FabricBrokerAt, Scenario, Sharing, SharingChange};
use wayleave_schemes::edges::{AnyBroker, AnyMessage};
use wayleave_schemes::parley::{FabricBroker, Pool, RackBroker, RackPlace, Services};
use wayleave_topology::{Network, NodeId};

use super::machine::Todo;
use super::roles::{self, EPOCH};
use super::{EdgeId, Edges, NO_EDGE, time};
use crate::clock::Instant;
use crate::engine::Engine;

/// All brokers: those of racks have the numbers of their machines' edges, the fabric broker has the next one.
#[derive(Debug, Default)]
pub(super) struct Brokers {
    all: Vec<Seat>,
}

/// Where a broker is, and the broker while it lives.
#[derive(Debug)]
struct Seat {
    point: ContentionPoint,
    /// Its machine.
    host: Option<NodeId>,
    broker: Option<AnyBroker>,
    /// How often it was started.
    starts: u64,
}

impl Brokers {
    /// One at every machine that belongs to a rack, and one for the fabric if it has a policy.
    pub(super) fn new(scenario: &Scenario, sharing: &Sharing, _: &Services, nodes: &[NodeId]) -> Self {
        let EdgeScheme::Parley(settings) = &sharing.scheme else { return Self::default() };
        let network = &scenario.network;
        let rack = |node: NodeId| network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(network, node));
        let seat = |point, host| Seat { point, host, broker: None, starts: 0 };
        let at =
            |&node: &NodeId| seat(rack(node).map_or(ContentionPoint::Machine(node), ContentionPoint::Rack), Some(node));
        let mut all: Vec<Seat> = nodes.iter().map(at).collect();
        if sharing.fabric.is_some() {
            let host = match settings.fabric_broker {
                FabricBrokerAt::Host(host) => Some(host),
                FabricBrokerAt::Outside(_) => None,
            };
            all.push(seat(ContentionPoint::Fabric, host));
        }
        Self { all }
    }

    /// Where a broker is; `None`: it is outside of the network, or there is no such broker.
    pub(super) fn host(&self, broker: BrokerId) -> Option<NodeId> {
        self.all.get(broker.index())?.host
    }

    pub(super) fn exists(&self, broker: BrokerId) -> bool {
        broker.index() < self.all.len()
    }
}

impl Edges {
    /// What a broker divides, as the policies are now.
    fn pool(&self, network: &Network, point: ContentionPoint) -> Option<Pool> {
        let policies = roles::policies(&self.sharing);
        match point {
            ContentionPoint::Rack(switch) => Pool::rack(network, &self.services, policies, switch, None).ok(),
            ContentionPoint::Fabric => Pool::fabric(network, &self.services, policies, None).ok(),
            ContentionPoint::Machine(_) => None,
        }
    }

    /// A new broker.
    fn broker(&self, network: &Network, number: usize) -> Option<AnyBroker> {
        let EdgeScheme::Parley(settings) = &self.sharing.scheme else { return None };
        let params = roles::parley_params(settings);
        let seat = &self.brokers.all[number];
        // Above all numbers that it can have used before.
        let serial = seat.starts << 40;
        let pool = self.pool(network, seat.point)?;
        let ContentionPoint::Rack(rack) = seat.point else {
            return Some(AnyBroker::Fabric(Box::new(FabricBroker::new(params, EPOCH, serial, pool))));
        };
        let edge_of = |&member: &NodeId| BrokerId(self.of_node[member.index()]);
        let fabric = BrokerId(self.hosts.len() as u32);
        let place = RackPlace {
            machine: seat.host?,
            rack,
            brokers: pool.members().iter().map(edge_of).collect(),
            fabric: self.brokers.exists(fabric).then_some(fabric),
            epoch: EPOCH,
            serial,
        };
        RackBroker::new(params, place, pool).map(|broker| AnyBroker::Rack(Box::new(broker)))
    }
}

impl Engine {
    /// All brokers begin to work.
    pub(super) fn start_brokers(&mut self) {
        let count = self.edges.as_deref().map_or(0, |edges| edges.brokers.all.len());
        for number in 0..count {
            self.start_broker(number, 0);
        }
    }

    fn start_broker(&mut self, number: usize, now: Instant) {
        let network = self.spec.network.clone();
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(seat) = edges.brokers.all.get_mut(number) else { return };
        seat.starts += 1;
        let broker = edges.broker(&network, number);
        edges.brokers.all[number].broker = broker;
        self.tell_broker(BrokerId(number as u32), BrokerInput::Started, now);
        if now > 0 {
            self.tell_capacity(number, now);
        }
    }

    /// Something happens at a broker, if it lives.
    pub(super) fn tell_broker(
        &mut self,
        to: BrokerId,
        input: BrokerInput<AnyMessage, std::convert::Infallible>,
        now: Instant,
    ) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Edges { brokers, todo, .. } = edges;
        let Some(broker) = brokers.all.get_mut(to.index()).and_then(|seat| seat.broker.as_mut()) else { return };
        broker.on(time(now), input, &mut |action| match action {
            BrokerAction::Send { to: member, message } => todo.push_back(Todo::Broker(to, member, message)),
            BrokerAction::Arm { timer, .. } => match timer {},
        });
        self.has_todo |= !todo.is_empty();
    }

    /// A broker writes to somebody.
    pub(super) fn send_from_broker(&mut self, from: BrokerId, to: Member, message: AnyMessage, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        match to {
            Member::Broker(broker) => self.send_to_broker(Member::Broker(from), broker, message, now),
            Member::Host(node) => {
                let edge = edges.of_node.get(node.index()).copied().unwrap_or(NO_EDGE);
                if edge != NO_EDGE {
                    self.send_to_machine(from, edge, message, now);
                }
            }
        }
    }

    /// What the links of contention points carry is another than before: brokers ask the network for it (Parley, 3.2.2).
    pub(crate) fn capacities_changed(&mut self, now: Instant) {
        let count = self.edges.as_deref().map_or(0, |edges| edges.brokers.all.len());
        for number in 0..count {
            self.tell_capacity(number, now);
        }
    }

    fn tell_capacity(&mut self, number: usize, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let Some(seat) = edges.brokers.all.get(number) else { return };
        let capacity =
            |direction| roles::capacity(&self.spec.network, seat.point, direction, |link| self.router.is_up(link));
        let (transmit, receive) = (capacity(Direction::Transmit), capacity(Direction::Receive));
        self.tell_broker(BrokerId(number as u32), BrokerInput::Capacity { transmit, receive }, now);
    }

    /// Something changes on the way.
    pub(super) fn on_event(&mut self, event: usize, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(event) = edges.sharing.events.get(event).cloned() else { return };
        match event.what {
            SharingChange::Stops(at) => {
                if let Some(number) = edges.seat(at) {
                    edges.brokers.all[number].broker = None;
                }
            }
            SharingChange::Starts(at) => {
                if let Some(number) = edges.seat(at) {
                    self.start_broker(number, now);
                }
            }
            SharingChange::Interval(interval) => {
                for host in &mut edges.hosts {
                    host.role.set_interval(interval);
                }
            }
            SharingChange::Policy(policy) => {
                let level = policy.level();
                match level {
                    PolicyLevel::Machine => edges.sharing.machine = *policy,
                    PolicyLevel::Rack => edges.sharing.rack = Some(*policy),
                    PolicyLevel::Fabric => edges.sharing.fabric = Some(*policy),
                }
                if level == PolicyLevel::Machine {
                    for edge in 0..edges.hosts.len() as EdgeId {
                        self.tell_terms(edge, now);
                    }
                }
                self.renew_pools(now);
            }
        }
        self.carry_out(now);
    }

    /// Brokers hear the terms as they are now.
    fn renew_pools(&mut self, now: Instant) {
        let network = self.spec.network.clone();
        let Some(edges) = self.edges.as_deref_mut() else { return };
        for number in 0..edges.brokers.all.len() {
            let pool = edges.pool(&network, edges.brokers.all[number].point);
            if let (Some(broker), Some(pool)) = (&mut edges.brokers.all[number].broker, pool) {
                broker.set_pool(pool);
            }
        }
        // A new pool has the capacity of the network as it was built.
        self.capacities_changed(now);
    }
}

impl Edges {
    /// The number of a broker.
    fn seat(&self, at: BrokerAt) -> Option<usize> {
        let number = match at {
            BrokerAt::Machine(host) => *self.of_node.get(host.index())? as usize,
            BrokerAt::Fabric => self.hosts.len(),
        };
        (number < self.brokers.all.len()).then_some(number)
    }
}
