//! The fabric broker (5.3).

use core::convert::Infallible;

use wayleave_packet_format::broker::{MAX_DATAGRAM, RateList, RateSubject, ServiceRates};
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_sharing::LiveShares;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::contention_point::Pool;
use super::message::Message;
use super::params::Params;
use crate::brokers::IgnoredParam;

type Act<'a> = dyn FnMut(BrokerAction<Message, Infallible>) + 'a;

/// Divides the links of all racks among (rack, service).
///
/// It answers each rack's demand report from the demands of all racks that it knows at that moment. It therefore
/// needs no timer, and a rack's answer reflects the reports of the others until then.
#[derive(Clone, Debug)]
pub struct FabricBroker {
    params: Params,
    epoch: u32,
    serial: u64,
    pool: Pool,
    live: [LiveShares; 2],
    racks: Vec<Rack>,
    /// Demands of each rack's classes, as [`Pool::at`] numbers them.
    wants: Vec<[Rate; 2]>,
    ignored: IgnoredParam,
}

/// Known state of a rack.
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    at: Option<Time>,
    /// Machine that last reported for the rack, and the number of its report.
    from: u32,
    last_serial: u64,
    /// The number of the answer: that of all parts of one.
    answer: u64,
    light: [Rate; 2],
}

impl FabricBroker {
    /// Of a pool of racks. `epoch` and `serial` are those of [`RackPlace`](super::RackPlace).
    pub fn new(params: Params, epoch: u32, serial: u64, mut pool: Pool) -> Self {
        pool.share_out(params.uplink_percent);
        let (racks, places) = (pool.members.len(), pool.members.len() * pool.classes);
        let wants = vec![[Rate::ZERO; 2]; places];
        let live = live(&pool, &wants);
        let ignored = IgnoredParam::default();
        Self { params, epoch, serial, live, racks: vec![Rack::default(); racks], wants, ignored, pool }
    }

    /// Other terms for the same services and racks. Nothing happens if they are for others.
    pub fn set_pool(&mut self, mut pool: Pool) {
        if pool.members == self.pool.members && pool.classes == self.pool.classes {
            pool.set_links(self.pool.links());
            pool.share_out(self.params.uplink_percent);
            self.live = live(&pool, &self.wants);
            self.pool = pool;
            self.set_capacity();
        }
    }

    /// The racks that it counts.
    pub fn alive(&self, now: Time) -> impl Iterator<Item = NodeId> {
        let racks = self.pool.members.iter().zip(&self.racks);
        racks.filter(move |(_, rack)| self.is_alive(rack, now)).map(|(&member, _)| member)
    }

    /// Returns the number of ignored messages.
    pub fn ignored(&self) -> IgnoredParam {
        self.ignored
    }

    fn is_alive(&self, rack: &Rack, now: Time) -> bool {
        rack.at.is_some_and(|at| now.saturating_sub(at) < self.params.fabric_timeout)
    }

    fn on_rates(&mut self, now: Time, from: Member, list: &RateList, act: &mut Act<'_>) {
        if list.epoch != self.epoch {
            self.ignored.epoch += 1;
            return;
        }
        let Some(rack) = self.pool.member(list.rack).filter(|_| list.subject == RateSubject::RackDemands) else {
            self.ignored.unknown_sender += 1;
            return;
        };
        self.forget_silent(now);
        let known = self.racks[rack];
        let is_same_speaker = known.at.is_some() && known.from == list.from;
        if is_same_speaker && list.serial < known.last_serial {
            self.ignored.serial += 1;
            return;
        }
        let is_another_part = is_same_speaker && list.serial == known.last_serial;
        if !is_another_part {
            self.serial += 1;
        }
        self.racks[rack] = Rack {
            at: Some(now),
            from: list.from,
            last_serial: list.serial,
            answer: if is_another_part { known.answer } else { self.serial },
            light: [list.light.0, list.light.1],
        };
        self.accept_report(rack, list);
        self.set_capacity();
        let Member::Broker(speaker) = from else { return };
        self.answer(rack, list, speaker, act);
    }

    fn accept_report(&mut self, rack: usize, list: &RateList) {
        let last = usize::from(list.range.1).min(self.pool.classes - 1);
        let mut rates = list.rates.iter().peekable();
        for class in usize::from(list.range.0)..=last {
            let listed = rates.next_if(|rates| usize::from(rates.service) == class);
            let wants =
                listed.map_or([Rate::ZERO; 2], |rates| [rates.transmit, rates.receive].map(Option::unwrap_or_default));
            self.set(rack, class, wants);
        }
    }

    fn set(&mut self, rack: usize, class: usize, wants: [Rate; 2]) {
        let at = self.pool.at(rack, class);
        let known = self.wants[at];
        for (direction, (wants, known)) in wants.into_iter().zip(known).enumerate() {
            if wants != known {
                self.live[direction].set_demand(self.pool.sides[direction].leaf(at), wants);
            }
        }
        self.wants[at] = wants;
    }

    /// Sends limits for the reported services whose demand exceeds their share.
    fn answer(&self, rack: usize, list: &RateList, speaker: BrokerId, act: &mut Act<'_>) {
        let mut rates = Vec::new();
        for granted in &list.rates {
            let class = usize::from(granted.service);
            if class >= self.pool.classes {
                continue;
            }
            let at = self.pool.at(rack, class);
            let [transmit, receive] =
                [0, 1].map(|direction| self.live[direction].limit(self.pool.sides[direction].leaf(at)));
            if transmit.is_some() || receive.is_some() {
                rates.push(ServiceRates { service: granted.service, transmit, receive });
            }
        }
        let list = RateList {
            epoch: self.epoch,
            serial: self.racks[rack].answer,
            rack: list.rack,
            from: 0,
            range: list.range,
            ..RateList::new(RateSubject::RackLimits, rates)
        };
        for part in list.parts(MAX_DATAGRAM) {
            act(BrokerAction::Send { to: Member::Broker(speaker), message: Message::Rates(part) });
        }
    }

    fn set_capacity(&mut self) {
        for direction in 0..2 {
            let light = self
                .racks
                .iter()
                .fold(Rate::ZERO, |sum: Rate, rack| sum.checked_add(rack.light[direction]).unwrap_or(Rate::MAX));
            let capacity = self.pool.sides[direction].capacity;
            self.live[direction].set_capacity(capacity.saturating_sub(light));
        }
    }

    fn forget_silent(&mut self, now: Time) {
        for rack in 0..self.racks.len() {
            if self.racks[rack].at.is_some() && !self.is_alive(&self.racks[rack], now) {
                self.racks[rack] = Rack::default();
                for class in 0..self.pool.classes {
                    self.set(rack, class, [Rate::ZERO; 2]);
                }
            }
        }
    }
}

fn live(pool: &Pool, wants: &[[Rate; 2]]) -> [LiveShares; 2] {
    [0, 1].map(|direction| {
        let side = &pool.sides[direction];
        let mut demands = Vec::new();
        side.demands(|at| wants[at][direction], &mut demands);
        LiveShares::new(side.tree.clone(), side.capacity, &demands)
    })
}

impl Broker for FabricBroker {
    type Message = Message;
    type Timer = Infallible;

    fn on(&mut self, now: Time, input: BrokerInput<Message, Infallible>, act: &mut Act<'_>) {
        match input {
            BrokerInput::Capacity { transmit, receive } => {
                self.pool.set_links([transmit, receive]);
                self.pool.share_out(self.params.uplink_percent);
                self.set_capacity();
            }
            BrokerInput::Message { from, message: Message::Rates(list) } => self.on_rates(now, from, &list, act),
            BrokerInput::Message { message: Message::Report(_) | Message::Feedback(_), .. } => {
                self.ignored.unknown_sender += 1
            }
            BrokerInput::Started | BrokerInput::Elected(_) => {}
            BrokerInput::Timer(never) => match never {},
        }
    }
}
