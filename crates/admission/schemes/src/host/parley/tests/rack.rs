//! Racks whose machines send as much as they want and may, a round at a time. Messages arrive at once or never.

use wayleave_contracts::{Bandwidth, PerDirection, Policy, PolicyLevel, ServiceSpec};
use wayleave_packet_format::broker::RateList;
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, ClassId, Member};
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Bytes, Rate, Time};

use super::super::*;
use crate::services::{Policies, Services};
use crate::usage_report::{Limited, ServiceUsageReport, UsageReport};

pub(super) const SECOND: Time = Time::from_millis(1_000);

pub(super) fn gbit(rate: u64) -> Rate {
    Rate::from_gbit(rate)
}

pub(super) fn mbit(rate: u64) -> Rate {
    Rate::from_mbit(rate)
}

/// Racks of hosts with lines of 10 Gbit/s; each rack has uplinks of 10 Gbit/s to each spine.
pub(super) fn network(racks: u64, hosts: u64, uplinks: u64) -> Network {
    let cabling = Cabling { rate: gbit(10), ..Cabling::default() };
    let spec =
        LeafSpine { leaves: racks, spines: 1, hosts_per_leaf: hosts, parallel: uplinks, uplink_rate: None, cabling };
    build::leaf_spine(&spec).unwrap()
}

/// A service with a minimum and a maximum in Mbit/s, in both directions.
pub(super) fn service(name: &str, min: u64, max: Option<u64>) -> ServiceSpec {
    let bandwidth = Bandwidth { min: Some(mbit(min)), max: max.map(mbit), weight: None };
    let port = std::num::NonZeroU16::new(1000 + u16::from(name.as_bytes()[0]));
    let filter = wayleave_contracts::Match {
        protocol: Some(wayleave_contracts::Protocol::TCP),
        destination_port: port,
        ..Default::default()
    };
    let bandwidth = PerDirection { transmit: bandwidth, receive: bandwidth };
    ServiceSpec { name: name.to_owned(), filter: Some(filter), bandwidth, ..ServiceSpec::default() }
}

pub(super) fn policy(network: &Network, level: PolicyLevel, peak: Option<Rate>, services: Vec<ServiceSpec>) -> Policy {
    Policy::new(network, level.name(), level, Vec::new(), peak, services).unwrap()
}

pub(super) struct Racks {
    pub(super) now: Time,
    pub(super) services: Services,
    pub(super) machines: Vec<Machine>,
    pub(super) fabric: Option<FabricBroker>,
    /// Messages that are lost: from one broker to another.
    pub(super) is_lost: Box<dyn Fn(Time, u32, u32) -> bool>,
    /// Messages between brokers in the last round.
    pub(super) written: Vec<RateList>,
    hosts: usize,
}

pub(super) struct Machine {
    /// `None`: it has crashed.
    pub(super) broker: Option<RackBroker>,
    /// Demands to send and to receive across the uplinks, and inside the rack, by class.
    pub(super) wants: Vec<[Rate; 2]>,
    pub(super) inside: Vec<[Rate; 2]>,
    /// Rates that a full network lets it receive, and a flag: its meters report that they limit senders for it.
    pub(super) network: Vec<Option<Rate>>,
    pub(super) is_metered: bool,
    pub(super) limits: Vec<[Option<Rate>; 2]>,
    /// Usage across the uplinks in the last round.
    pub(super) used: Vec<[Rate; 2]>,
    counted: Vec<ServiceUsageReport>,
}

const FABRIC: BrokerId = BrokerId(u32::MAX);

impl Racks {
    pub(super) fn new(network: &Network, policies: Policies<'_>, params: Params) -> Self {
        let services = Services::new(policies).unwrap();
        let mut machines = Vec::new();
        let racks: Vec<_> = Pool::fabric(network, &services, policies, None).unwrap().members().to_vec();
        let mut hosts = 0;
        for &rack in &racks {
            let pool = Pool::rack(network, &services, policies, rack, None).unwrap();
            hosts = pool.members().len();
            let brokers: Vec<_> = (0..hosts as u32).map(|at| BrokerId(machines.len() as u32 + at)).collect();
            for &machine in pool.members() {
                let fabric = policies.fabric.map(|_| FABRIC);
                let place = RackPlace { machine, rack, brokers: brokers.clone(), fabric, epoch: 1, serial: 0 };
                machines.push(Machine {
                    broker: RackBroker::new(params, place, pool.clone()),
                    wants: vec![[Rate::ZERO; 2]; services.len()],
                    inside: vec![[Rate::ZERO; 2]; services.len()],
                    network: vec![None; services.len()],
                    is_metered: true,
                    limits: vec![[None; 2]; services.len()],
                    used: vec![[Rate::ZERO; 2]; services.len()],
                    counted: services.classes().map(ServiceUsageReport::none).collect(),
                });
            }
        }
        let fabric = policies
            .fabric
            .map(|_| FabricBroker::new(params, 1, 0, Pool::fabric(network, &services, policies, None).unwrap()));
        let is_lost = Box::new(|_, _, _| false);
        Self { now: Time::ZERO, services, machines, fabric, is_lost, written: Vec::new(), hosts }
    }

    pub(super) fn class(&self, name: &str) -> ClassId {
        self.services.class(name).unwrap()
    }

    /// Sets a machine's sending demand for a service.
    pub(super) fn want(&mut self, machine: usize, name: &str, rate: Rate) {
        let class = self.class(name);
        self.machines[machine].wants[class.index()][0] = rate;
    }

    pub(super) fn limit(&self, machine: usize, name: &str) -> Option<Rate> {
        self.machines[machine].limits[self.class(name).index()][0]
    }

    pub(super) fn used(&self, machine: usize, name: &str) -> Rate {
        self.machines[machine].used[self.class(name).index()][0]
    }

    pub(super) fn rounds(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.round();
        }
    }

    /// Simulates a second: all machines send, and then report, in order.
    fn round(&mut self) {
        self.now += SECOND;
        self.written.clear();
        for machine in 0..self.machines.len() {
            let report = self.machines[machine].run(self.now);
            let host = machine;
            self.handle(machine, BrokerInput::Message { from: self.member(host), message: Message::Report(report) });
        }
    }

    fn member(&self, machine: usize) -> Member {
        // A crashed broker receives nothing, so its name does not matter.
        let place = self.machines[machine].broker.as_ref().map(|broker| broker.place.machine);
        place.map_or(Member::Broker(FABRIC), Member::Host)
    }

    pub(super) fn handle(&mut self, machine: usize, input: BrokerInput<Message, core::convert::Infallible>) {
        let mut actions = Vec::new();
        if let Some(broker) = &mut self.machines[machine].broker {
            broker.on(self.now, input, &mut |action| actions.push(action));
        }
        for action in actions {
            let BrokerAction::Send { to, message } = action;
            self.carry(machine, to, message);
        }
    }

    fn carry(&mut self, from: usize, to: Member, message: Message) {
        let sender = Member::Broker(BrokerId(from as u32));
        match (to, message) {
            (Member::Host(_), Message::Rates(list)) => self.machines[from].receive(&list),
            (Member::Broker(FABRIC), Message::Rates(list)) => {
                self.written.push(list.clone());
                if (self.is_lost)(self.now, from as u32, u32::MAX) {
                    return;
                }
                let mut answers = Vec::new();
                let input = BrokerInput::Message { from: sender, message: Message::Rates(list) };
                if let Some(fabric) = &mut self.fabric {
                    fabric.on(self.now, input, &mut |action| answers.push(action));
                }
                for answer in answers {
                    let BrokerAction::Send { to: Member::Broker(to), message } = answer else { panic!() };
                    self.handle(to.index(), BrokerInput::Message { from: Member::Broker(FABRIC), message });
                }
            }
            (Member::Broker(to), Message::Rates(list)) => {
                self.written.push(list.clone());
                if !(self.is_lost)(self.now, from as u32, to.0) {
                    let message = Message::Rates(RateList::decode(&list.encode()).unwrap());
                    self.handle(to.index(), BrokerInput::Message { from: sender, message });
                }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Everything that a rack's machines sent for a service in the last round.
    pub(super) fn total(&self, rack: usize, name: &str) -> Rate {
        (rack * self.hosts..(rack + 1) * self.hosts).fold(Rate::ZERO, |sum, machine| sum + self.used(machine, name))
    }
}

impl Machine {
    fn run(&mut self, now: Time) -> UsageReport {
        for class in 0..self.wants.len() {
            for direction in 0..2 {
                let (wants, inside) = (self.wants[class][direction], self.inside[class][direction]);
                let both = (wants + inside).bits_per_second();
                let mut limit = self.limits[class][direction].map_or(both, |limit| limit.bits_per_second().min(both));
                if let Some(most) = self.network[class].filter(|_| direction == 1) {
                    // As 5,000 intervals a second see it.
                    let metered = &mut self.counted[class].metered;
                    metered.intervals += if self.is_metered { 5_000 } else { 0 };
                    metered.held += if self.is_metered && limit > most.bits_per_second() { 4_900 } else { 0 };
                    limit = limit.min(most.bits_per_second());
                }
                // The limiter does not know where packets go.
                let part =
                    |wants: Rate| u128::from(limit) * u128::from(wants.bits_per_second()) / u128::from(both.max(1));
                let (used, total) = (part(wants) as u64, limit);
                self.used[class][direction] = Rate::from_bits_per_second(used);
                self.counted[class].uplink[direction] += Bytes::new(used / 8);
                self.counted[class].total[direction] += Bytes::new(total / 8);
            }
        }
        UsageReport { at: now, services: self.counted.clone().into_boxed_slice(), limits: Some(self.in_force()) }
    }

    fn in_force(&self) -> Box<[Limited]> {
        let limits = self.limits.iter().enumerate().filter(|(_, limit)| **limit != [None; 2]);
        limits.map(|(class, &limit)| Limited { class: ClassId(class as u32), limit }).collect()
    }

    fn receive(&mut self, list: &RateList) {
        for class in 0..self.limits.len() {
            let (transmit, receive) = list.of(class as u16).unwrap();
            self.limits[class] = [transmit, receive];
        }
    }
}
