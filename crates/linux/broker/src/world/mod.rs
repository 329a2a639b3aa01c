//! Racks in virtual time: the brokers, the bytes between them, machines that send as a fluid, and all faults.
//!
//! A seed determines the whole run. Machines are on clocks of their own, which drift. A message may be lost,
//! repeated, late or damaged. A broker may crash and begin again; a machine may vanish with its counters; a rack may
//! be cut off from the fabric broker.
//!
//! The data plane is a fluid: every service of a machine sends its demand, up to its limit. The machine's line is
//! shared by the machine's policy, and uplinks that are too small by max-min among all (machine, service), as
//! congestion control would.
//!
//! A broker sends to other brokers, and to its own machine: messages to other machines are dropped.

mod brokers;
mod dataplane;
mod machine;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_contracts::ContentionPoint;
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, ClassId, Leadership, Member};
use wayleave_schemes::brokers::BrokerError;
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer, AnyMessage};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::BrokerConfig;
use brokers::Brokers;
use dataplane::SimulatedDataplane;
use machine::{Clock, Machine};

/// Faults of messages between brokers, until they are changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Lost messages, per thousand.
    pub lost: u32,
    /// Repeated messages, per thousand.
    pub repeated: u32,
    /// Messages with a flipped bit, per thousand.
    pub damaged: u32,
    /// Maximum additional delay of a message, by which messages are reordered.
    pub delay: Time,
    /// Nothing passes between these racks and the fabric broker.
    pub cut: Vec<NodeId>,
}

/// Counters of the brokers' messages, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerOutput {
    /// Messages between brokers.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// Arrived with a checksum or a field that was wrong.
    pub damaged: u64,
}

/// Racks with everything in them.
pub struct SimulatedRacks {
    setup: Arc<BrokerConfig>,
    now: Time,
    rng: ChaCha8Rng,
    queue: BinaryHeap<Reverse<(Time, u64, Event)>>,
    /// Number of events so far; it orders events at one time.
    events: u64,
    machines: Vec<Machine>,
    brokers: Brokers,
    /// Of brokers that are at no machine.
    clock_apart: Clock,
    plane: SimulatedDataplane,
    faults: Faults,
    written: BrokerOutput,
    /// Every broker that ever began: serials begin above those of the one before.
    lives: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Report { machine: usize, life: u64 },
    Arrival { to: BrokerId, from: BrokerId, bytes: Vec<u8> },
    Timer { place: usize },
}

impl SimulatedRacks {
    /// All machines and brokers begin within the first interval.
    ///
    /// # Errors
    /// If a broker has nothing to divide.
    pub fn new(setup: Arc<BrokerConfig>, seed: u64) -> Result<Self, BrokerError> {
        Self::with_clocks(setup, seed, Clock::drawn)
    }

    /// Creates a world whose clocks all show the right time.
    ///
    /// # Errors
    /// If a broker has nothing to divide.
    pub fn on_time(setup: Arc<BrokerConfig>, seed: u64) -> Result<Self, BrokerError> {
        Self::with_clocks(setup, seed, |_| Clock::RIGHT)
    }

    fn with_clocks(
        setup: Arc<BrokerConfig>,
        seed: u64,
        clock: impl Fn(&mut ChaCha8Rng) -> Clock,
    ) -> Result<Self, BrokerError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut machines = Vec::new();
        for node in setup.network().hosts() {
            let name = || &setup.network().node(node).name;
            let rack = setup.rack_of(node).ok_or_else(|| BrokerError(format!("{} is in no rack", name())))?;
            machines.push(Machine::new(node, rack, setup.services().len(), clock(&mut rng)));
        }
        let plane = SimulatedDataplane::new(&setup)?;
        let place = |host| machines.iter().position(|machine| machine.node == host);
        let slots = setup.broker_specs().specs.iter();
        let brokers = slots.map(|slot| slot.at.host().filter(|&host| slot.is_of(host)).and_then(place));
        let brokers = Brokers::new(brokers);
        let mut world = Self {
            brokers,
            clock_apart: clock(&mut rng),
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: 0,
            machines,
            plane,
            faults: Faults::default(),
            written: BrokerOutput::default(),
            lives: 0,
            rng,
            setup,
        };
        world.start_fabric()?;
        for machine in 0..world.machines.len() {
            world.start_machine(machine);
            world.start_broker(machine)?;
        }
        Ok(world)
    }

    /// Returns the number of machines, in the order of the network's hosts.
    pub fn machines(&self) -> usize {
        self.machines.len()
    }

    /// The rack of a machine.
    pub fn rack(&self, machine: usize) -> NodeId {
        self.machines[machine].rack
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sets the demand of a machine's service for sending and receiving.
    pub fn want(&mut self, machine: usize, class: ClassId, wants: [Rate; 2]) {
        self.machines[machine].wants[class.index()] = wants;
        self.flow();
    }

    /// Returns the demands of the existing machines, by machine and class.
    pub fn wants(&self) -> Vec<Vec<[Rate; 2]>> {
        let wants = self.machines.iter().map(|machine| match machine.is_there() {
            true => machine.wants.clone(),
            false => vec![[Rate::ZERO; 2]; machine.wants.len()],
        });
        wants.collect()
    }

    /// Returns the current transmit and receive rates of a machine's service.
    pub fn used(&self, machine: usize, class: ClassId) -> [Rate; 2] {
        self.machines[machine].rates[class.index()]
    }

    /// Returns the current limits of a machine's service.
    pub fn limit(&self, machine: usize, class: ClassId) -> [Option<Rate>; 2] {
        self.machines[machine].limits[class.index()]
    }

    /// The broker of a machine, if it runs.
    pub fn broker(&self, machine: usize) -> Option<&AnyBroker> {
        self.brokers.get(self.broker_of(machine)?)
    }

    fn broker_of(&self, machine: usize) -> Option<BrokerId> {
        self.setup.broker_of(self.machines[machine].node)
    }

    /// Returns the time that a machine's clock shows.
    pub fn clock(&self, machine: usize) -> Time {
        self.machines[machine].clock.shows(self.now)
    }

    /// Returns the counters of the brokers' messages so far.
    pub fn written(&self) -> BrokerOutput {
        self.written
    }

    /// Sets the faults of messages from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Ends the broker of a machine without notice; its machine continues.
    pub fn crash_broker(&mut self, machine: usize) {
        if let Some(broker) = self.broker_of(machine) {
            self.brokers.set(broker, None);
        }
    }

    /// The broker of a machine begins, with the policies of the setup.
    ///
    /// # Errors
    /// If it has nothing to divide.
    pub fn start_broker(&mut self, machine: usize) -> Result<(), BrokerError> {
        self.start_broker_of(machine, self.setup.epoch)
    }

    /// The broker of a machine begins that has the policies of another epoch.
    ///
    /// # Errors
    /// If it has nothing to divide.
    pub fn start_broker_of(&mut self, machine: usize, epoch: u32) -> Result<(), BrokerError> {
        let broker = self.broker_of(machine).ok_or_else(|| BrokerError("the machine has no broker".to_owned()))?;
        self.start(broker, epoch)
    }

    /// A machine ends, with its broker, its traffic and its counters.
    pub fn lose_machine(&mut self, machine: usize) {
        self.crash_broker(machine);
        self.machines[machine].leave();
        self.flow();
    }

    /// A machine begins again, with counters at zero. Its broker begins as well.
    ///
    /// # Errors
    /// If its broker has nothing to divide.
    pub fn return_machine(&mut self, machine: usize) -> Result<(), BrokerError> {
        self.start_machine(machine);
        self.start_broker(machine)?;
        self.flow();
        Ok(())
    }

    /// Every broker that is at no machine ends without notice: that of the fabric.
    pub fn crash_fabric(&mut self) {
        for broker in self.brokers.apart() {
            self.brokers.set(broker, None);
        }
    }

    /// They begin again, if the policies need them.
    ///
    /// # Errors
    /// If one has nothing to divide.
    pub fn start_fabric(&mut self) -> Result<(), BrokerError> {
        self.brokers.apart().into_iter().try_for_each(|broker| self.start(broker, self.setup.epoch))
    }

    /// Starts a broker, and sends it its first inputs: that it begins, whether it leads, and the capacity that it
    /// divides.
    fn start(&mut self, broker: BrokerId, epoch: u32) -> Result<(), BrokerError> {
        let life = self.next_life();
        let living = self.setup.broker(broker, epoch, life, None)?;
        self.brokers.set(broker, Some((life, living)));
        let slot = self.setup.broker_specs().specs[broker.index()];
        self.handle_input(broker, BrokerInput::Started);
        if slot.leadership == Leadership::Leader {
            self.handle_input(broker, BrokerInput::Elected(slot.leadership));
        }
        if let Some(point) = slot.point {
            let [transmit, receive] = self.plane.capacity(&self.setup, point);
            self.handle_input(broker, BrokerInput::Capacity { transmit, receive });
        }
        Ok(())
    }

    /// Sets the capacity of a rack's uplinks, and notifies its brokers.
    pub fn set_uplinks(&mut self, rack: NodeId, capacity: [Rate; 2]) {
        self.plane.set_uplinks(rack, capacity);
        let [transmit, receive] = capacity;
        for number in 0..self.setup.broker_specs().specs.len() {
            if self.setup.broker_specs().specs[number].point == Some(ContentionPoint::Rack(rack)) {
                self.handle_input(BrokerId(number as u32), BrokerInput::Capacity { transmit, receive });
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
                Event::Timer { place } => {
                    if let Some((broker, timer)) = self.brokers.pop_expired(place) {
                        self.handle_input(broker, BrokerInput::Timer(timer));
                    }
                }
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
        let phase = self.below(self.setup.times().interval.as_nanos());
        self.machines[machine].begin(life);
        self.later(Time::from_nanos(phase), Event::Report { machine, life });
    }

    fn report(&mut self, at: usize, life: u64) {
        let times = self.setup.times();
        let machine = &mut self.machines[at];
        if !machine.is_living(life) {
            return;
        }
        let shown = machine.clock.shows(self.now);
        machine.fall_back(shown, times.timeout);
        let message = self.setup.scheme().from_report(machine.report(shown));
        let (from, next) = (Member::Host(machine.node), machine.clock.takes(times.interval));
        self.later(next, Event::Report { machine: at, life });
        if let Some((broker, message)) = self.broker_of(at).zip(message) {
            self.handle_input(broker, BrokerInput::Message { from, message });
        }
        self.flow();
    }

    fn arrive(&mut self, to: BrokerId, from: BrokerId, bytes: &[u8]) {
        match self.setup.scheme().decode(bytes) {
            Ok(message) => self.handle_input(to, BrokerInput::Message { from: Member::Broker(from), message }),
            Err(_) => self.written.damaged += 1,
        }
    }

    fn clock_of(&self, broker: BrokerId) -> Clock {
        self.brokers.machine(broker).map_or(self.clock_apart, |machine| self.machines[machine].clock)
    }

    fn handle_input(&mut self, to: BrokerId, input: BrokerInput<AnyMessage, AnyBrokerTimer>) {
        let shown = self.clock_of(to).shows(self.now);
        let mut actions = Vec::new();
        if let Some(broker) = self.brokers.get_mut(to) {
            broker.on(shown, input, &mut |action| actions.push(action));
        }
        actions.into_iter().for_each(|action| self.carry(to, action));
    }

    fn carry(&mut self, from: BrokerId, action: BrokerAction<AnyMessage, AnyBrokerTimer>) {
        match action {
            BrokerAction::Send { to: Member::Host(host), message } => {
                let own = self.brokers.machine(from).filter(|&machine| self.machines[machine].node == host);
                if let Some((machine, limits)) = own.zip(message.limits()) {
                    let machine = &mut self.machines[machine];
                    machine.on_limits(machine.clock.shows(self.now), &limits);
                }
            }
            BrokerAction::Send { to: Member::Broker(to), message } => {
                if let Some(bytes) = message.encode() {
                    self.send(from, to, bytes);
                }
            }
            BrokerAction::Arm { at, timer } => {
                let wait = self.clock_of(from).until(self.now, at);
                if let Some(place) = self.brokers.arm(from, timer) {
                    self.later(wait, Event::Timer { place });
                }
            }
        }
    }

    fn send(&mut self, from: BrokerId, to: BrokerId, mut bytes: Vec<u8>) {
        self.written.messages += 1;
        self.written.bytes += bytes.len() as u64;
        let rack = |broker| self.brokers.machine(broker).map(|machine| self.machines[machine].rack);
        let racks = [rack(from), rack(to)];
        let is_above = racks.contains(&None);
        let is_cut = is_above && racks.into_iter().flatten().any(|rack| self.faults.cut.contains(&rack));
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
