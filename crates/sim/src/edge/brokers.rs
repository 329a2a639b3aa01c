//! What brokers hear and want, and what changes on the way.

use wayleave_contracts::{ContentionPoint, Direction, PolicyLevel};
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership};
use wayleave_scenarios::{BrokerAt, EdgeScheme, SharingChange};
use wayleave_schemes::edges::{AnyBroker, AnyMessage, AnyTimer};
use wayleave_schemes::parley::{FabricBroker, Pool, RackBroker, RackPlace};
use wayleave_topology::{Network, NodeId};
use wayleave_units::Time;

use super::action::Action;
use super::edges::{Edges, time};
use super::roles::{self, EPOCH};
use super::slot::EdgeId;
use super::wakes::Wake;
use crate::clock::{self, Instant};
use crate::fabric::Fabric;

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
        let params = settings.params();
        let seat = &self.brokers.all[number];
        // Above all numbers that it can have used before.
        let serial = seat.starts << 40;
        let point = seat.point?;
        let pool = self.pool(network, point)?;
        let ContentionPoint::Rack(rack) = point else {
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

impl Edges {
    /// All brokers begin to work.
    pub(super) fn start_brokers(&mut self, fabric: &Fabric) {
        for number in 0..self.brokers.all.len() {
            self.start_broker(number, fabric, 0);
        }
    }

    fn start_broker(&mut self, number: usize, fabric: &Fabric, now: Instant) {
        let Some(seat) = self.brokers.all.get_mut(number) else { return };
        seat.starts += 1;
        let leads = seat.leads;
        // Whoever gave a scheme from outside gave its brokers once.
        if seat.point.is_some() {
            let broker = self.broker(fabric.network(), number);
            self.brokers.all[number].broker = broker;
        }
        self.tell_broker(BrokerId(number as u32), BrokerInput::Started, now);
        if leads {
            self.tell_broker(BrokerId(number as u32), BrokerInput::Elected(Leadership::Leader), now);
        }
        if now > 0 {
            self.tell_capacity(number, fabric, now);
        }
    }

    /// Something happens at a broker, if it lives.
    pub(super) fn tell_broker(&mut self, to: BrokerId, input: BrokerInput<AnyMessage, AnyTimer>, now: Instant) {
        let Self { brokers, actions, .. } = self;
        let Some(broker) = brokers.all.get_mut(to.index()).and_then(|seat| seat.broker.as_mut()) else { return };
        broker.on(time(now), input, &mut |action| match action {
            BrokerAction::Send { to: member, message } => actions.push_back(Action::Broker(to, member, message)),
            BrokerAction::Arm { at, timer } => actions.push_back(Action::ArmBroker(to, at, timer)),
        });
    }

    /// A broker arms a timer.
    pub(crate) fn arm_broker(
        &mut self,
        broker: BrokerId,
        (at, timer): (Time, AnyTimer),
        fabric: &mut Fabric,
        now: Instant,
    ) {
        let scheme = self.brokers.scheme(broker).unwrap_or(0);
        let place = self.timers.keep(scheme, timer);
        self.wakes.arm(clock::from_time(at).max(now), Wake::BrokerTimer(broker.0, place), fabric, now);
    }

    /// A broker's timer rings.
    pub(crate) fn on_broker_timer(&mut self, broker: u32, place: u32, now: Instant) {
        let (_, timer) = self.timers.take(place);
        self.tell_broker(BrokerId(broker), BrokerInput::Timer(timer), now);
    }

    /// What the links of contention points carry is another than before: brokers ask the network for it (Parley, 3.2.2).
    pub(crate) fn capacities_changed(&mut self, fabric: &Fabric, now: Instant) {
        for number in 0..self.brokers.all.len() {
            self.tell_capacity(number, fabric, now);
        }
    }

    fn tell_capacity(&mut self, number: usize, fabric: &Fabric, now: Instant) {
        let Some(point) = self.brokers.all.get(number).and_then(|seat| seat.point) else { return };
        let capacity = |direction| roles::capacity(fabric.network(), point, direction, |link| fabric.is_up(link));
        let (transmit, receive) = (capacity(Direction::Transmit), capacity(Direction::Receive));
        self.tell_broker(BrokerId(number as u32), BrokerInput::Capacity { transmit, receive }, now);
    }

    /// Something changes on the way.
    pub(crate) fn on_event(&mut self, event: usize, fabric: &Fabric, now: Instant) {
        let Some(event) = self.sharing.events.get(event).cloned() else { return };
        match event.what {
            SharingChange::Stops(at) => {
                if let Some(number) = self.seat(at) {
                    self.brokers.all[number].broker = None;
                }
            }
            SharingChange::Starts(at) => {
                if let Some(number) = self.seat(at) {
                    self.start_broker(number, fabric, now);
                }
            }
            SharingChange::Interval(interval) => {
                for role in self.hosts.iter_mut().flat_map(|host| &mut host.roles) {
                    role.set_interval(interval);
                }
            }
            SharingChange::Policy(policy) => {
                let level = policy.level();
                match level {
                    PolicyLevel::Machine => self.sharing.machine = *policy,
                    PolicyLevel::Rack => self.sharing.rack = Some(*policy),
                    PolicyLevel::Fabric => self.sharing.fabric = Some(*policy),
                }
                if level == PolicyLevel::Machine {
                    for edge in 0..self.hosts.len() as EdgeId {
                        self.tell_terms(edge, now);
                    }
                }
                self.renew_pools(fabric, now);
            }
        }
    }

    /// Brokers hear the terms as they are now.
    fn renew_pools(&mut self, fabric: &Fabric, now: Instant) {
        for number in 0..self.brokers.all.len() {
            let point = self.brokers.all[number].point;
            let pool = point.and_then(|point| self.pool(fabric.network(), point));
            if let (Some(broker), Some(pool)) = (&mut self.brokers.all[number].broker, pool) {
                broker.set_pool(pool);
            }
        }
        // A new pool has the capacity of the network as it was built.
        self.capacities_changed(fabric, now);
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
