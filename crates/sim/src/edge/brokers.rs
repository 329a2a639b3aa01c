//! Brokers of all schemes, as the schemes ask for them, and what changes on the way.

use wayleave_contracts::{ContentionPoint, Direction, PolicyLevel};
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Leadership, Member};
use wayleave_scenarios::{BrokerAt, SharingChange};
use wayleave_schemes::brokers::{BrokerLocation, BrokerNetwork, BrokerSeat, BrokerSeats, BrokerSetup, SchemeBroker};
use wayleave_schemes::edges::{AnyBroker, AnyBrokerTimer, AnyMessage};
use wayleave_topology::Network;
use wayleave_units::Time;

use super::machine::Action;
use super::roles::{self, EPOCH, Scheme};
use super::{EdgeId, Edges, NO_EDGE, Wake, time};
use crate::clock::{self, Instant};
use crate::engine::Engine;

/// All brokers, scheme by scheme, in the order in which each scheme lists its own.
#[derive(Debug, Default)]
pub(super) struct Brokers {
    seats: Vec<BrokerSeat>,
    /// What is in each seat.
    states: Vec<State>,
    /// The number of each scheme's first broker.
    first: Vec<u32>,
    /// Timers that are armed, each with the start of its broker that armed it.
    timers: Vec<(u64, AnyBrokerTimer)>,
    free_timers: Vec<u32>,
}

/// The broker of a seat while it lives.
#[derive(Debug)]
struct State {
    scheme: u8,
    broker: Option<AnyBroker>,
    /// How often it was started.
    starts: u64,
}

impl Brokers {
    /// Those of all schemes; none of them works yet.
    pub(super) fn new(schemes: &[Scheme], around: &BrokerNetwork<'_>) -> Self {
        let mut brokers = Self::default();
        for (number, scheme) in schemes.iter().enumerate() {
            brokers.first.push(brokers.seats.len() as u32);
            brokers.seats.extend(scheme.brokers(around));
            let state = || State { scheme: number as u8, broker: None, starts: 0 };
            brokers.states.resize_with(brokers.seats.len(), state);
        }
        brokers
    }

    /// Those of a scheme.
    pub(super) fn of(&self, scheme: usize) -> BrokerSeats<'_> {
        let first = self.first.get(scheme).copied().unwrap_or(0);
        let end = self.first.get(scheme + 1).map_or(self.seats.len(), |&end| end as usize);
        BrokerSeats { first: BrokerId(first), seats: self.seats.get(first as usize..end).unwrap_or_default() }
    }

    /// The scheme of a broker.
    pub(super) fn scheme(&self, broker: BrokerId) -> Option<u8> {
        self.states.get(broker.index()).map(|state| state.scheme)
    }

    /// Where a broker is; `None`: there is no such broker.
    pub(super) fn location(&self, broker: BrokerId) -> Option<BrokerLocation> {
        self.seats.get(broker.index()).map(|seat| seat.at)
    }

    fn starts(&self, broker: BrokerId) -> u64 {
        self.states.get(broker.index()).map_or(0, |state| state.starts)
    }

    fn keep_timer(&mut self, broker: BrokerId, timer: AnyBrokerTimer) -> u32 {
        let timer = (self.starts(broker), timer);
        if let Some(place) = self.free_timers.pop() {
            self.timers[place as usize] = timer;
            return place;
        }
        self.timers.push(timer);
        self.timers.len() as u32 - 1
    }
}

impl Edges {
    /// The network in which brokers work, as the policies are now.
    fn around<'a>(&'a self, network: &'a Network) -> BrokerNetwork<'a> {
        let policies = roles::policies(&self.sharing);
        BrokerNetwork { network, policies, services: &self.services, hosts: &self.nodes }
    }

    /// The broker of a seat, as it starts.
    fn broker(&self, network: &Network, number: usize) -> Option<AnyBroker> {
        let state = self.brokers.states.get(number)?;
        let setup = BrokerSetup {
            around: self.around(network),
            all: self.brokers.of(state.scheme.into()),
            seat: *self.brokers.seats.get(number)?,
            epoch: EPOCH,
            serial: state.starts << 40,
        };
        self.schemes.get(usize::from(state.scheme))?.broker(&setup)
    }
}

impl Engine {
    /// All brokers begin to work.
    pub(super) fn start_brokers(&mut self) {
        let count = self.edges.as_deref().map_or(0, |edges| edges.brokers.seats.len());
        for number in 0..count {
            self.start_broker(number, 0);
        }
    }

    fn start_broker(&mut self, number: usize, now: Instant) {
        let network = self.spec.network.clone();
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(state) = edges.brokers.states.get_mut(number) else { return };
        state.starts += 1;
        let broker = edges.broker(&network, number);
        edges.brokers.states[number].broker = broker;
        let leadership = edges.brokers.seats[number].leadership;
        self.tell_broker(BrokerId(number as u32), BrokerInput::Started, now);
        // A broker begins as a follower.
        if leadership == Leadership::Leader {
            self.tell_broker(BrokerId(number as u32), BrokerInput::Elected(leadership), now);
        }
        if now > 0 {
            self.tell_capacity(number, now);
        }
    }

    /// Something happens at a broker, if it lives.
    pub(super) fn tell_broker(&mut self, to: BrokerId, input: BrokerInput<AnyMessage, AnyBrokerTimer>, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Edges { brokers, actions, .. } = edges;
        let Some(broker) = brokers.states.get_mut(to.index()).and_then(|state| state.broker.as_mut()) else { return };
        broker.on(time(now), input, &mut |action| match action {
            BrokerAction::Send { to: member, message } => actions.push_back(Action::Broker(to, member, message)),
            BrokerAction::Arm { at, timer } => actions.push_back(Action::ArmBroker(to, at, timer)),
        });
        self.has_actions |= !actions.is_empty();
    }

    /// A broker arms a timer.
    pub(super) fn arm_broker(&mut self, broker: BrokerId, at: Time, timer: AnyBrokerTimer, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let place = edges.brokers.keep_timer(broker, timer);
        self.arm(clock::from_time(at).max(now), Wake::BrokerTimer(broker.0, place));
    }

    pub(super) fn on_broker_timer(&mut self, broker: u32, place: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let (starts, timer) = edges.brokers.timers[place as usize];
        edges.brokers.free_timers.push(place);
        // What was armed before a broker was started again is forgotten with the rest.
        if edges.brokers.starts(BrokerId(broker)) == starts {
            self.tell_broker(BrokerId(broker), BrokerInput::Timer(timer), now);
            self.carry_out(now);
        }
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
        let count = self.edges.as_deref().map_or(0, |edges| edges.brokers.seats.len());
        for number in 0..count {
            self.tell_capacity(number, now);
        }
    }

    fn tell_capacity(&mut self, number: usize, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let Some(point) = edges.brokers.seats.get(number).and_then(|seat| seat.point) else { return };
        let capacity =
            |direction| roles::capacity(&self.spec.network, point, direction, |link| self.router.is_up(link));
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
                    edges.brokers.states[number].broker = None;
                }
            }
            SharingChange::Starts(at) => {
                if let Some(number) = edges.seat(at) {
                    self.start_broker(number, now);
                }
            }
            SharingChange::Interval(interval) => {
                for role in edges.hosts.iter_mut().flat_map(|host| &mut host.roles) {
                    role.set_interval(interval);
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
                self.renew_terms(now);
            }
        }
        self.carry_out(now);
    }

    /// Brokers hear the terms as they are now.
    fn renew_terms(&mut self, now: Instant) {
        let network = self.spec.network.clone();
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let mut states = std::mem::take(&mut edges.brokers.states);
        for broker in states.iter_mut().filter_map(|state| state.broker.as_mut()) {
            broker.set_policies(&edges.around(&network));
        }
        edges.brokers.states = states;
        // New terms have the capacity of the network as it was built.
        self.capacities_changed(now);
    }
}

impl Edges {
    /// The number of a broker of the scheme of all services that no other one has.
    fn seat(&self, at: BrokerAt) -> Option<usize> {
        let brokers = self.brokers.of(0);
        let number = match at {
            BrokerAt::Machine(host) => brokers.of(host),
            BrokerAt::Fabric => brokers.find(|seat| seat.point == Some(ContentionPoint::Fabric)),
        };
        number.map(BrokerId::index)
    }
}
