//! Racks in virtual time: the brokers, the bytes between them, machines that send as a fluid, and everything that goes wrong.
//!
//! A seed decides all of it. Machines are on clocks of their own, which drift. A message may be lost, come twice, late or
//! damaged. A broker may crash and begin again; a machine may vanish with its counters; a rack may be cut off from the fabric
//! broker.
//!
//! The data plane is a fluid: every service of a machine sends what it wants, at most its limit; the machine's line is shared
//! by the machine's policy, and uplinks that are too small, by max-min among all (machine, service), as congestion control would.

mod machine;
pub mod oracle;
mod plane;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, ClassId, Member};
use wayleave_schemes::parley::{FabricBroker, Message, PoolError, RackBroker, RackPlace};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};
use wayleave_wire::broker::RateList;

use crate::Setup;
use machine::{Clock, Machine};
use plane::Plane;

/// The fabric broker.
pub const FABRIC: BrokerId = BrokerId(u32::MAX);

/// What happens to messages between brokers, until further notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// So many of a thousand are lost.
    pub lost: u32,
    /// So many of a thousand come twice.
    pub repeated: u32,
    /// So many of a thousand have a bit that was changed.
    pub damaged: u32,
    /// They take up to so much longer, and so overtake one another.
    pub delay: Time,
    /// Nothing passes between these racks and the fabric broker.
    pub cut: Vec<NodeId>,
}

/// What brokers wrote and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Messages between brokers.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// Arrived with a checksum or a field that was wrong.
    pub damaged: u64,
}

/// Racks with everything in them.
pub struct World {
    setup: Arc<Setup>,
    now: Time,
    rng: ChaCha8Rng,
    queue: BinaryHeap<Reverse<(Time, u64, Event)>>,
    /// How many events there have been: ties are in order.
    events: u64,
    machines: Vec<Machine>,
    fabric: Option<FabricBroker>,
    fabric_clock: Clock,
    plane: Plane,
    faults: Faults,
    written: Written,
    /// Every broker that ever began: serials begin above those of the one before.
    lives: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Report { machine: usize, life: u64 },
    Arrival { to: BrokerId, from: BrokerId, bytes: Vec<u8> },
}

impl World {
    /// All machines and brokers begin within the first interval.
    ///
    /// # Errors
    /// If the policies are no pools of the network.
    pub fn new(setup: Arc<Setup>, seed: u64) -> Result<Self, PoolError> {
        Self::with_clocks(setup, seed, Clock::drawn)
    }

    /// The same, on clocks that all show the right time.
    ///
    /// # Errors
    /// If the policies are no pools of the network.
    pub fn on_time(setup: Arc<Setup>, seed: u64) -> Result<Self, PoolError> {
        Self::with_clocks(setup, seed, |_| Clock::RIGHT)
    }

    fn with_clocks(setup: Arc<Setup>, seed: u64, clock: impl Fn(&mut ChaCha8Rng) -> Clock) -> Result<Self, PoolError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let hosts: Vec<NodeId> = setup.network().hosts().collect();
        let mut machines = Vec::new();
        for &node in &hosts {
            let rack = setup.rack_of(node).ok_or(PoolError::Nobody)?;
            let members = setup.machines(rack);
            let number = |member: &NodeId| hosts.iter().position(|host| host == member).map(|at| BrokerId(at as u32));
            let brokers = members.iter().filter_map(number).collect();
            let fabric = setup.policies().fabric.map(|_| FABRIC);
            let place = RackPlace { machine: node, rack, brokers, fabric, epoch: setup.epoch, serial: 0 };
            let pool = setup.rack_pool(rack, None)?;
            machines.push(Machine::new(place, pool, setup.services().len(), clock(&mut rng)));
        }
        let plane = Plane::new(&setup)?;
        let mut world = Self {
            fabric: None,
            fabric_clock: clock(&mut rng),
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: 0,
            machines,
            plane,
            faults: Faults::default(),
            written: Written::default(),
            lives: 0,
            rng,
            setup,
        };
        world.start_fabric()?;
        for machine in 0..world.machines.len() {
            world.start_machine(machine);
            world.start_broker(machine);
        }
        Ok(world)
    }

    /// How many machines there are, in the order of the network's hosts.
    pub fn machines(&self) -> usize {
        self.machines.len()
    }

    /// The rack of a machine.
    pub fn rack(&self, machine: usize) -> NodeId {
        self.machines[machine].place.rack
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What a service of a machine wants to send and to receive from now on.
    pub fn want(&mut self, machine: usize, class: ClassId, wants: [Rate; 2]) {
        self.machines[machine].wants[class.index()] = wants;
        self.flow();
    }

    /// What the machines that are there want, by machine and class.
    pub fn wants(&self) -> Vec<Vec<[Rate; 2]>> {
        let wants = self.machines.iter().map(|machine| match machine.is_there() {
            true => machine.wants.clone(),
            false => vec![[Rate::ZERO; 2]; machine.wants.len()],
        });
        wants.collect()
    }

    /// What a service of a machine sends and receives now.
    pub fn used(&self, machine: usize, class: ClassId) -> [Rate; 2] {
        self.machines[machine].rates[class.index()]
    }

    /// What limits it now.
    pub fn limit(&self, machine: usize, class: ClassId) -> [Option<Rate>; 2] {
        self.machines[machine].limits[class.index()]
    }

    /// A rack broker, if it runs.
    pub fn broker(&self, machine: usize) -> Option<&RackBroker> {
        self.machines[machine].broker.as_ref()
    }

    /// The fabric broker, if it runs.
    pub fn fabric(&self) -> Option<&FabricBroker> {
        self.fabric.as_ref()
    }

    /// What a machine's clock shows.
    pub fn clock(&self, machine: usize) -> Time {
        self.machines[machine].clock.shows(self.now)
    }

    /// What brokers wrote to one another until now.
    pub fn written(&self) -> Written {
        self.written
    }

    /// What happens to messages from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// A rack broker ends without notice; its machine goes on.
    pub fn crash_broker(&mut self, machine: usize) {
        self.machines[machine].broker = None;
    }

    /// A rack broker begins, with the policies of the setup.
    pub fn start_broker(&mut self, machine: usize) {
        let epoch = self.setup.epoch;
        self.start_broker_of(machine, epoch);
    }

    /// A rack broker begins that has the policies of another epoch.
    pub fn start_broker_of(&mut self, machine: usize, epoch: u32) {
        let serial = self.next_life();
        let params = self.setup.params;
        let machine = &mut self.machines[machine];
        let place = RackPlace { serial, epoch, ..machine.place.clone() };
        machine.broker = RackBroker::new(params, place, machine.pool.clone());
    }

    /// A machine ends, with its broker, its traffic and its counters.
    pub fn lose_machine(&mut self, machine: usize) {
        self.machines[machine].leave();
        self.flow();
    }

    /// A machine begins again, with counters at zero. Its broker begins as well.
    pub fn return_machine(&mut self, machine: usize) {
        self.start_machine(machine);
        self.start_broker(machine);
        self.flow();
    }

    /// The fabric broker ends without notice.
    pub fn crash_fabric(&mut self) {
        self.fabric = None;
    }

    /// The fabric broker begins, if there is a policy for it.
    ///
    /// # Errors
    /// If the policies are no pool of the network.
    pub fn start_fabric(&mut self) -> Result<(), PoolError> {
        let serial = self.next_life();
        if self.setup.policies().fabric.is_some() {
            let pool = self.setup.fabric_pool(None)?;
            self.fabric = Some(FabricBroker::new(self.setup.params, self.setup.epoch, serial, pool));
        }
        Ok(())
    }

    /// The uplinks of a rack can carry so much, and its brokers know.
    pub fn set_uplinks(&mut self, rack: NodeId, capacity: [Rate; 2]) {
        self.plane.set_uplinks(rack, capacity);
        for machine in 0..self.machines.len() {
            if self.machines[machine].place.rack == rack {
                let [transmit, receive] = capacity;
                self.tell_rack(machine, BrokerInput::Capacity { transmit, receive });
            }
        }
        self.flow();
    }

    /// Everything that happens until a time.
    pub fn run(&mut self, until: Time) {
        while let Some(Reverse((at, _, _))) = self.queue.peek() {
            if *at > until {
                break;
            }
            let Some(Reverse((at, _, event))) = self.queue.pop() else { break };
            self.pass(at);
            match event {
                Event::Report { machine, life } => self.report(machine, life),
                Event::Arrival { to, from, bytes } => self.arrive(to, from, &bytes),
            }
        }
        self.pass(until);
    }

    /// Time goes by, and bytes with it.
    fn pass(&mut self, until: Time) {
        let elapsed = until.saturating_sub(self.now);
        for machine in &mut self.machines {
            machine.count(elapsed);
        }
        self.now = self.now.max(until);
    }

    fn flow(&mut self) {
        self.plane.flow(&mut self.machines);
    }

    fn next_life(&mut self) -> u64 {
        self.lives += 1;
        self.lives << 32
    }

    fn start_machine(&mut self, machine: usize) {
        let life = self.next_life();
        let phase = self.below(self.setup.params.rack_interval.as_nanos());
        self.machines[machine].begin(life);
        self.later(Time::from_nanos(phase), Event::Report { machine, life });
    }

    fn report(&mut self, at: usize, life: u64) {
        let interval = self.setup.params.rack_interval;
        let timeout = self.setup.params.rack_timeout;
        let machine = &mut self.machines[at];
        if !machine.is_living(life) {
            return;
        }
        let shown = machine.clock.shows(self.now);
        machine.fall_back(shown, timeout);
        let message = Message::Report(machine.report(shown));
        let (from, next) = (Member::Host(machine.place.machine), machine.clock.takes(interval));
        self.later(next, Event::Report { machine: at, life });
        self.tell_rack(at, BrokerInput::Message { from, message });
        self.flow();
    }

    fn arrive(&mut self, to: BrokerId, from: BrokerId, bytes: &[u8]) {
        let Ok(list) = RateList::decode(bytes) else {
            self.written.damaged += 1;
            return;
        };
        let input = BrokerInput::Message { from: Member::Broker(from), message: Message::Rates(list) };
        if to != FABRIC {
            self.tell_rack(to.index(), input);
            return;
        }
        let mut actions = Vec::new();
        if let Some(fabric) = &mut self.fabric {
            fabric.on(self.fabric_clock.shows(self.now), input, &mut |action| actions.push(action));
        }
        actions.into_iter().for_each(|action| self.carry(FABRIC, action));
    }

    fn tell_rack(&mut self, at: usize, input: BrokerInput<Message, core::convert::Infallible>) {
        let machine = &mut self.machines[at];
        let mut actions = Vec::new();
        if let Some(broker) = &mut machine.broker {
            broker.on(machine.clock.shows(self.now), input, &mut |action| actions.push(action));
        }
        // Machines are numbered in 32 bits.
        actions.into_iter().for_each(|action| self.carry(BrokerId(at as u32), action));
    }

    fn carry(&mut self, from: BrokerId, action: BrokerAction<Message, core::convert::Infallible>) {
        // Brokers arm no timers.
        let BrokerAction::Send { to, message: Message::Rates(list) } = action else { return };
        match to {
            Member::Host(_) => {
                let machine = &mut self.machines[from.index()];
                machine.hear(machine.clock.shows(self.now), &list);
            }
            Member::Broker(to) => self.send(from, to, &list),
        }
    }

    fn send(&mut self, from: BrokerId, to: BrokerId, list: &RateList) {
        let mut bytes = list.encode();
        self.written.messages += 1;
        self.written.bytes += bytes.len() as u64;
        let rack = |broker: BrokerId| self.machines.get(broker.index()).map(|machine| machine.place.rack);
        let is_above = from == FABRIC || to == FABRIC;
        let is_cut = is_above && rack(from).or(rack(to)).is_some_and(|rack| self.faults.cut.contains(&rack));
        if is_cut || self.happens(self.faults.lost) {
            return;
        }
        if self.happens(self.faults.damaged) {
            let bit = self.below(bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        let copies = 1 + usize::from(self.happens(self.faults.repeated));
        for _ in 0..copies {
            // A datacenter's round trip is some tens of microseconds.
            let delay = Time::from_micros(20) + Time::from_nanos(self.below(self.faults.delay.as_nanos() + 100_000));
            self.later(delay, Event::Arrival { to, from, bytes: bytes.clone() });
        }
    }

    fn later(&mut self, after: Time, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((self.now + after, self.events, event)));
    }

    fn happens(&mut self, of_a_thousand: u32) -> bool {
        of_a_thousand > 0 && self.below(1000) < u64::from(of_a_thousand)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }
}
