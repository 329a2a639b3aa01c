//! The rack broker: one on every machine of a rack (5.2).

use core::convert::Infallible;

use wayleave_packet_format::broker::{MAX_DATAGRAM, RateList, RateSubject, ServiceRates, rounded_up};
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_sharing::{Shares, Tree};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::contention_point::Pool;
use super::fabric_limit::FabricLimits;
use super::local_demand::LocalDemand;
use super::message::Message;
use super::params::Params;
use crate::brokers::IgnoredParam;
use crate::usage_report::UsageReport;

type Act<'a> = dyn FnMut(BrokerAction<Message, Infallible>) + 'a;

/// Location and identity of a rack broker.
#[derive(Clone, Debug)]
pub struct RackPlace {
    /// Its machine.
    pub machine: NodeId,
    /// The rack, by its switch.
    pub rack: NodeId,
    /// The brokers of the rack, in the order of the pool's members; its own is among them.
    pub brokers: Vec<BrokerId>,
    /// The fabric broker, if there is one.
    pub fabric: Option<BrokerId>,
    /// Epoch of the policies in force: service numbers of another epoch have other meanings.
    pub epoch: u32,
    /// First number of its messages. A restarted broker begins above its last number; otherwise the others accept it
    /// again only after they have forgotten it.
    pub serial: u64,
}

/// Divides the uplinks of a rack for one machine, from the reported demands of all machines of the rack.
///
/// It works when its machine reports, every [`Params::rack_interval`], and needs no timer.
#[derive(Clone, Debug)]
pub struct RackBroker {
    params: Params,
    pub(super) place: RackPlace,
    /// Its machine's place in the pool.
    me: usize,
    pub(super) pool: Pool,
    /// The terms without the fabric's limits.
    fixed: [Tree; 2],
    shares: [Shares; 2],
    /// Memory to compute.
    demands: Vec<Rate>,
    own: LocalDemand,
    members: Vec<MachineReport>,
    /// Demands of each member's classes, as [`Pool::at`] numbers them. In each direction: transmit, receive.
    wants: Vec<[Rate; 2]>,
    /// Sums of `wants` since the leader could last have reported to the fabric broker, and the number of rounds in
    /// them.
    sums: Vec<[u64; 2]>,
    rounds: u64,
    since: Option<Time>,
    above: FabricLimits,
    ignored: IgnoredParam,
}

/// Known state of a machine.
#[derive(Clone, Copy, Debug, Default)]
struct MachineReport {
    at: Option<Time>,
    serial: u64,
    light: [Rate; 2],
}

impl RackBroker {
    /// Creates the broker of a machine of the pool. Returns `None` if the machine is not in the pool, or if the
    /// numbers of brokers and machines differ.
    pub fn new(params: Params, place: RackPlace, mut pool: Pool) -> Option<Self> {
        pool.share_out(params.uplink_percent);
        let me = pool.members.iter().position(|&member| member == place.machine)?;
        if place.brokers.len() != pool.members.len() {
            return None;
        }
        let (members, classes) = (pool.members.len(), pool.classes);
        Some(Self {
            params,
            me,
            fixed: pool.sides.each_ref().map(|side| side.tree.clone()),
            shares: [Shares::default(), Shares::default()],
            demands: Vec::new(),
            own: LocalDemand::new(classes, params.demand),
            members: vec![MachineReport::default(); members],
            wants: vec![[Rate::ZERO; 2]; members * classes],
            sums: vec![[0; 2]; members * classes],
            rounds: 0,
            since: None,
            above: FabricLimits::new(classes),
            ignored: IgnoredParam::default(),
            place,
            pool,
        })
    }

    /// Returns its location and identity.
    pub fn place(&self) -> &RackPlace {
        &self.place
    }

    /// Other terms for the same services and machines (3.1: "can be changed any time"). Nothing happens if they are for others.
    pub fn set_pool(&mut self, mut pool: Pool) {
        if pool.members == self.pool.members && pool.classes == self.pool.classes {
            pool.set_links(self.pool.links());
            pool.share_out(self.params.uplink_percent);
            self.fixed = pool.sides.each_ref().map(|side| side.tree.clone());
            self.pool = pool;
        }
    }

    /// The machines that it counts, itself included.
    pub fn alive(&self, now: Time) -> impl Iterator<Item = NodeId> {
        let members = self.pool.members.iter().zip(&self.members);
        members.filter(move |(_, last_message)| self.is_alive(last_message, now)).map(|(&member, _)| member)
    }

    /// Returns the machine whose broker reports for the rack: the first of those that it counts (5.3: "one of the
    /// rack brokers is designated as the leader"). For a short time two may consider themselves the leader.
    pub fn leader(&self, now: Time) -> Option<NodeId> {
        self.alive(now).min()
    }

    /// Returns the number of ignored messages.
    pub fn ignored(&self) -> IgnoredParam {
        self.ignored
    }

    fn is_alive(&self, last_message: &MachineReport, now: Time) -> bool {
        last_message.at.is_some_and(|at| now.saturating_sub(at) < self.params.rack_timeout)
    }

    /// Processes its machine's usage report, which triggers all computations and messages.
    fn on_report(&mut self, now: Time, report: &UsageReport, act: &mut Act<'_>) {
        let is_known = self.own.observe(now, report);
        self.forget_silent(now);
        if !is_known {
            return;
        }
        self.place.serial += 1;
        self.update_rack(now, act);
        self.above.forget(now, self.params.fabric_timeout);
        self.apply_above();
        for direction in 0..2 {
            self.compute(direction, |this, at| this.wants[at][direction]);
        }
        self.send_to_machine(act);
        self.add_up(now);
        if self.leader(now) == Some(self.place.machine) {
            self.relay(now, act);
            self.report_to_fabric(now, act);
        } else if self.is_due(now) {
            self.begin_sums(now);
        }
    }

    /// Sends its machine's demands to the other brokers, and records them.
    fn update_rack(&mut self, now: Time, act: &mut Act<'_>) {
        let threshold = self.params.rack_report_threshold.bits_per_second() / self.members.len() as u64;
        let mut light = [Rate::ZERO; 2];
        let mut rates = Vec::new();
        for class in self.own.classes() {
            let wants = self.own.demand(class.index());
            // A service that uses the threshold in the rack uses at least this part at some machine.
            let is_heavy = wants.iter().any(|wants| wants.bits_per_second() >= threshold)
                || self.pool.is_capped[class.index()]
                || self.own.is_limited(class.index());
            if wants == [Rate::ZERO; 2] {
                continue;
            }
            if is_heavy {
                let [transmit, receive] = wants.map(|wants| Some(rounded_up(wants)));
                // Numbers of services fit 16 bits.
                rates.push(ServiceRates { service: class.0 as u16, transmit, receive });
            } else {
                light = plus(light, wants);
            }
        }
        let list = RateList {
            light: (rounded_up(light[0]), rounded_up(light[1])),
            ..self.list(RateSubject::MachineDemands, rates)
        };
        self.accept_report(now, self.me, &list);
        for part in list.parts(MAX_DATAGRAM) {
            for (member, &broker) in self.place.brokers.iter().enumerate() {
                if member != self.me {
                    act(BrokerAction::Send { to: Member::Broker(broker), message: Message::Rates(part.clone()) });
                }
            }
        }
    }

    /// Sends limits for services whose demand exceeds their share (3.2.2), and the maxima of all others: a service
    /// that was idle would exceed its maximum until the next round.
    fn send_to_machine(&mut self, act: &mut Act<'_>) {
        let mut rates = Vec::new();
        for class in self.own.classes() {
            let at = self.pool.at(self.me, class.index());
            let shares = [0, 1].map(|direction| {
                let leaf = self.pool.sides[direction].leaf(at);
                self.shares[direction].limit(leaf)
            });
            let limits = self.own.limit(class.index(), shares);
            let ceilings = [0, 1].map(|direction| self.pool.sides[direction].ceiling(at));
            let [transmit, receive] = self.own.held(class.index(), limits, ceilings);
            if transmit.is_some() || receive.is_some() {
                rates.push(ServiceRates { service: class.0 as u16, transmit, receive });
            }
        }
        let message = Message::Rates(self.list(RateSubject::MachineLimits, rates));
        act(BrokerAction::Send { to: Member::Host(self.place.machine), message });
    }

    /// The leader passes the fabric broker's limits on.
    fn relay(&mut self, now: Time, act: &mut Act<'_>) {
        let Some((age, serial, rates)) = self.above.all(now) else { return };
        let list = RateList { age, serial, ..self.list(RateSubject::RackLimits, rates) };
        for part in list.parts(MAX_DATAGRAM) {
            for (member, &broker) in self.place.brokers.iter().enumerate() {
                if member != self.me {
                    act(BrokerAction::Send { to: Member::Broker(broker), message: Message::Rates(part.clone()) });
                }
            }
        }
    }

    /// Sends the rack's demands if it is the leader: the mean of the rounds since the last time, up to the amount
    /// that the rack could give without limits of the fabric broker.
    fn report_to_fabric(&mut self, now: Time, act: &mut Act<'_>) {
        let Some(fabric) = self.place.fabric else { return };
        if !self.is_due(now) {
            return;
        }
        let [transmit, receive] = [0, 1].map(|direction| self.without_the_fabric(direction));
        let wants: Vec<[Rate; 2]> = transmit.into_iter().zip(receive).map(|(one, other)| [one, other]).collect();
        let light = self.light(now);
        let (rates, lesser) = self.heavy(&wants);
        let [transmit, receive] = plus(light, lesser).map(rounded_up);
        let list = RateList { light: (transmit, receive), ..self.list(RateSubject::RackDemands, rates) };
        for part in list.parts(MAX_DATAGRAM) {
            act(BrokerAction::Send { to: Member::Broker(fabric), message: Message::Rates(part) });
        }
        self.begin_sums(now);
    }

    /// Returns the rates that the rack would give the fabric's services in one direction, from their mean demands
    /// over the rounds.
    fn without_the_fabric(&mut self, direction: usize) -> Vec<Rate> {
        let tree = self.fixed[direction].clone();
        let limited = std::mem::replace(&mut self.pool.sides[direction].tree, tree);
        let rounds = self.rounds.max(1);
        self.compute(direction, |this, at| Rate::from_bits_per_second(this.sums[at][direction] / rounds));
        let mut given = vec![Rate::ZERO; self.pool.classes];
        for at in 0..self.wants.len() {
            let share = self.shares[direction].share(self.pool.sides[direction].leaf(at));
            let given = &mut given[self.pool.in_fabric[at % self.pool.classes].index()];
            *given = added(*given, share);
        }
        self.pool.sides[direction].tree = limited;
        given
    }

    /// Returns the services of the rack that are reported individually to the fabric broker, and the sum of the
    /// others.
    fn heavy(&self, wants: &[[Rate; 2]]) -> (Vec<ServiceRates>, [Rate; 2]) {
        let threshold = self.params.fabric_report_threshold;
        let (mut rates, mut light) = (Vec::new(), [Rate::ZERO; 2]);
        for (class, &wants) in wants.iter().enumerate().filter(|(_, wants)| **wants != [Rate::ZERO; 2]) {
            if self.pool.is_capped[class] || wants.iter().any(|&wants| wants >= threshold) {
                let [transmit, receive] = wants.map(|wants| Some(rounded_up(wants)));
                rates.push(ServiceRates { service: class as u16, transmit, receive });
            } else {
                light = plus(light, wants);
            }
        }
        (rates, light)
    }

    /// Computes the shares of a direction, of the capacity beside light services.
    fn compute(&mut self, direction: usize, wanted: impl Fn(&Self, usize) -> Rate) {
        let light = self.members.iter().fold(Rate::ZERO, |sum, last_message| added(sum, last_message.light[direction]));
        let mut demands = std::mem::take(&mut self.demands);
        let side = &self.pool.sides[direction];
        side.demands(|at| wanted(self, at), &mut demands);
        self.shares[direction].compute(&side.tree, side.capacity.saturating_sub(light), &demands);
        self.demands = demands;
    }

    fn light(&self, now: Time) -> [Rate; 2] {
        let alive = self.members.iter().filter(|last_message| self.is_alive(last_message, now));
        alive.fold([Rate::ZERO; 2], |sum, last_message| plus(sum, last_message.light))
    }

    fn apply_above(&mut self) {
        for direction in 0..2 {
            for class in 0..self.pool.classes {
                let limit = self.above.limit(class, direction);
                self.pool.sides[direction].limit(&self.fixed[direction], class, limit);
            }
        }
    }

    /// Removes machines that have been silent for the timeout, with their demands.
    fn forget_silent(&mut self, now: Time) {
        for member in (0..self.members.len()).filter(|&member| member != self.me) {
            if self.members[member].at.is_some() && !self.is_alive(&self.members[member], now) {
                self.members[member] = MachineReport::default();
                let first = self.pool.at(member, 0);
                self.wants[first..first + self.pool.classes].fill([Rate::ZERO; 2]);
            }
        }
    }

    fn add_up(&mut self, now: Time) {
        self.since.get_or_insert(now);
        self.rounds += 1;
        for (sum, wants) in self.sums.iter_mut().zip(&self.wants) {
            for (sum, wants) in sum.iter_mut().zip(wants) {
                *sum = sum.saturating_add(wants.bits_per_second());
            }
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.since.is_some_and(|since| now.saturating_sub(since) >= self.params.fabric_interval)
    }

    fn begin_sums(&mut self, now: Time) {
        self.sums.fill([0; 2]);
        self.rounds = 0;
        self.since = Some(now);
    }

    fn list(&self, subject: RateSubject, rates: Vec<ServiceRates>) -> RateList {
        RateList {
            epoch: self.place.epoch,
            serial: self.place.serial,
            // Nodes are numbered in 32 bits.
            rack: self.place.rack.index() as u32,
            from: self.place.machine.index() as u32,
            ..RateList::new(subject, rates)
        }
    }

    fn on_rates(&mut self, now: Time, from: Member, list: &RateList) {
        if list.epoch != self.place.epoch {
            self.ignored.epoch += 1;
            return;
        }
        if list.rack != self.place.rack.index() as u32 {
            self.ignored.unknown_sender += 1;
            return;
        }
        match list.subject {
            RateSubject::MachineDemands => match self.pool.member(list.from).filter(|&member| member != self.me) {
                Some(member) if list.serial < self.members[member].serial => self.ignored.serial += 1,
                Some(member) => self.accept_report(now, member, list),
                None => self.ignored.unknown_sender += 1,
            },
            RateSubject::RackLimits => {
                let is_fabric = self.place.fabric.is_some_and(|fabric| from == Member::Broker(fabric));
                if !is_fabric && self.pool.member(list.from).is_none() {
                    self.ignored.unknown_sender += 1;
                } else if !self.above.accept_limits(now, list, self.params.fabric_timeout) {
                    self.ignored.serial += 1;
                }
            }
            RateSubject::MachineLimits | RateSubject::RackDemands => self.ignored.unknown_sender += 1,
        }
    }

    /// Stores a machine's demands from now on.
    fn accept_report(&mut self, now: Time, member: usize, list: &RateList) {
        self.members[member] =
            MachineReport { at: Some(now), serial: list.serial, light: [list.light.0, list.light.1] };
        let last = usize::from(list.range.1).min(self.pool.classes - 1);
        for class in usize::from(list.range.0)..=last {
            self.wants[member * self.pool.classes + class] = [Rate::ZERO; 2];
        }
        for rates in list.rates.iter().filter(|rates| usize::from(rates.service) <= last) {
            let wants = [rates.transmit, rates.receive].map(Option::unwrap_or_default);
            self.wants[member * self.pool.classes + usize::from(rates.service)] = wants;
        }
    }
}

fn added(one: Rate, other: Rate) -> Rate {
    one.checked_add(other).unwrap_or(Rate::MAX)
}

fn plus(one: [Rate; 2], other: [Rate; 2]) -> [Rate; 2] {
    [added(one[0], other[0]), added(one[1], other[1])]
}

impl Broker for RackBroker {
    type Message = Message;
    type Timer = Infallible;

    fn on(&mut self, now: Time, input: BrokerInput<Message, Infallible>, act: &mut Act<'_>) {
        match input {
            BrokerInput::Capacity { transmit, receive } => {
                self.pool.set_links([transmit, receive]);
                self.pool.share_out(self.params.uplink_percent);
            }
            BrokerInput::Message { from, message: Message::Report(report) } => {
                if from == Member::Host(self.place.machine) {
                    self.on_report(now, &report, act);
                } else {
                    self.ignored.unknown_sender += 1;
                }
            }
            BrokerInput::Message { from, message: Message::Rates(list) } => self.on_rates(now, from, &list),
            BrokerInput::Message { message: Message::Feedback(_), .. } => self.ignored.unknown_sender += 1,
            // The leader is determined here, from the machines that report.
            BrokerInput::Started | BrokerInput::Elected(_) => {}
            BrokerInput::Timer(never) => match never {},
        }
    }
}
