//! Inputs of brokers, their timers, and scheduled changes.

use wayleave_contracts::{ContentionPoint, Direction, PolicyLevel};
use wayleave_scenarios::{BrokerAt, SharingChange};
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership};
use wayleave_schemes::brokers::{BrokerNetwork, BrokerSetup};
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer, AnyMessage};
use wayleave_topology::Network;
use wayleave_units::Time;

use super::action::Action;
use super::roles::{self, EPOCH};
use super::slot::HostId;
use super::state::{Hosts, time};
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::NetworkState;

impl Hosts {
    /// The network in which brokers work, as the policies are now.
    fn around<'a>(&'a self, network: &'a Network) -> BrokerNetwork<'a> {
        let policies = roles::policies(&self.sharing);
        BrokerNetwork { network, policies, services: &self.services, hosts: &self.nodes, today: None }
    }

    /// The broker of a seat, as it starts.
    fn broker(&self, network: &Network, number: usize) -> Option<AnyBroker> {
        let state = self.brokers.states.get(number)?;
        let setup = BrokerSetup {
            around: self.around(network),
            all: self.brokers.of(state.scheme.into()),
            spec: *self.brokers.specs.get(number)?,
            epoch: EPOCH,
            serial: state.starts << 40,
        };
        self.schemes.get(usize::from(state.scheme))?.broker(&setup)
    }
}

impl Hosts {
    /// All brokers begin to work.
    pub(super) fn start_brokers(&mut self, fabric: &NetworkState) {
        for number in 0..self.brokers.specs.len() {
            self.start_broker(number, fabric, 0);
        }
    }

    fn start_broker(&mut self, number: usize, fabric: &NetworkState, now: Instant) {
        let Some(state) = self.brokers.states.get_mut(number) else { return };
        state.starts += 1;
        let broker = self.broker(fabric.network(), number);
        self.brokers.states[number].broker = broker;
        let leadership = self.brokers.specs[number].leadership;
        self.notify_broker(BrokerId(number as u32), BrokerInput::Started, now);
        // A broker begins as a follower.
        if leadership == Leadership::Leader {
            self.notify_broker(BrokerId(number as u32), BrokerInput::Elected(leadership), now);
        }
        if now > 0 {
            self.notify_capacity(number, fabric, now);
        }
    }

    /// Something happens at a broker, if it lives.
    pub(super) fn notify_broker(&mut self, to: BrokerId, input: BrokerInput<AnyMessage, AnyBrokerTimer>, now: Instant) {
        let Self { brokers, actions, .. } = self;
        let Some(broker) = brokers.states.get_mut(to.index()).and_then(|state| state.broker.as_mut()) else { return };
        broker.on(time(now), input, &mut |action| match action {
            BrokerAction::Send { to: member, message } => actions.push_back(Action::Broker(to, member, message)),
            BrokerAction::Arm { at, timer } => actions.push_back(Action::ArmBroker(to, at, timer)),
        });
    }

    /// A broker arms a timer.
    pub(crate) fn arm_broker(
        &mut self,
        broker: BrokerId,
        (at, timer): (Time, AnyBrokerTimer),
        fabric: &mut NetworkState,
        now: Instant,
    ) {
        let place = self.brokers.keep_timer(broker, timer);
        self.timer_queue.arm(clock::from_time(at).max(now), HostTimer::BrokerTimer(broker.0, place), fabric, now);
    }

    /// A broker's timer rings, in vain if the broker was started again since it was armed.
    pub(crate) fn on_broker_timer(&mut self, broker: u32, place: u32, now: Instant) {
        let broker = BrokerId(broker);
        if let Some(timer) = self.brokers.take_timer(broker, place) {
            self.notify_broker(broker, BrokerInput::Timer(timer), now);
        }
    }

    /// Notifies brokers of changed link capacities at contention points: brokers ask the network for them (Parley,
    /// 3.2.2).
    pub(crate) fn capacities_changed(&mut self, fabric: &NetworkState, now: Instant) {
        for number in 0..self.brokers.specs.len() {
            self.notify_capacity(number, fabric, now);
        }
    }

    fn notify_capacity(&mut self, number: usize, fabric: &NetworkState, now: Instant) {
        let Some(point) = self.brokers.specs.get(number).and_then(|spec| spec.point) else { return };
        let capacity =
            |direction| roles::capacity(fabric.network(), point, direction, &self.left, |link| fabric.is_up(link));
        let (transmit, receive) = (capacity(Direction::Transmit), capacity(Direction::Receive));
        self.notify_broker(BrokerId(number as u32), BrokerInput::Capacity { transmit, receive }, now);
    }

    /// Executes a scheduled change during the run.
    pub(crate) fn on_event(&mut self, event: usize, fabric: &NetworkState, now: Instant) {
        let Some(event) = self.sharing.events.get(event).cloned() else { return };
        match event.what {
            SharingChange::Stops(at) => {
                if let Some(number) = self.broker_index(at) {
                    self.brokers.states[number].broker = None;
                }
            }
            SharingChange::Starts(at) => {
                if let Some(number) = self.broker_index(at) {
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
                    for host in 0..self.hosts.len() as HostId {
                        self.notify_terms(host, now);
                    }
                }
                self.renew_terms(fabric, now);
            }
        }
    }

    /// Notifies brokers of the current terms.
    fn renew_terms(&mut self, fabric: &NetworkState, now: Instant) {
        let mut states = std::mem::take(&mut self.brokers.states);
        for broker in states.iter_mut().filter_map(|state| state.broker.as_mut()) {
            // A scenario whose terms cannot be kept was refused when it was read; a broker keeps the old ones.
            broker.set_policies(&self.around(fabric.network())).ok();
        }
        self.brokers.states = states;
        // New terms have the capacity of the network as it was built.
        self.capacities_changed(fabric, now);
    }
}

impl Hosts {
    /// The number of a broker of the scheme of all services that no other one has.
    fn broker_index(&self, at: BrokerAt) -> Option<usize> {
        let brokers = self.brokers.of(0);
        let number = match at {
            BrokerAt::Machine(host) => brokers.of(host),
            BrokerAt::Fabric => brokers.find(|spec| spec.point == Some(ContentionPoint::Fabric)),
        };
        number.map(BrokerId::index)
    }
}
