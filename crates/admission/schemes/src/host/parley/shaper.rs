//! The machine's side (3.2.1, 5.1, 5.2): EyeQ's shaper under the capacities that the rack broker sets.

use wayleave_contracts::Direction;
use wayleave_packet_format::broker::{RateList, RateSubject};
use wayleave_scheme_api::{BrokerId, ClassId, Host, HostAction, HostInput, Incoming, MessageOrigin, Outgoing, Peer};
use wayleave_sharing::TreeError;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::message::Message;
use super::params::Params;
use crate::sparse;
use crate::host::eyeq::{self, Eyeq, LineParams};
use crate::usage_report::{Limited, ServiceUsageReport, UsageReport};

/// Purpose of a machine's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// One of the shaper's.
    Shaper(eyeq::Timer),
    /// T_rack: the usage is reported, and a silent broker is detected.
    Report,
}

/// Location and identity of a machine.
#[derive(Clone, Debug)]
pub struct ShaperPlace {
    /// The rack broker of this machine.
    pub broker: BrokerId,
    /// The machines of the rack: traffic among them does not cross the uplinks.
    pub rack: Vec<NodeId>,
    /// Epoch of the policies in force.
    pub epoch: u32,
    /// Offset of the first report after T_rack, so that machines do not all work at once.
    pub phase: Time,
}

/// One machine: EyeQ's state machine, and its exchange with its rack broker.
#[derive(Clone, Debug)]
pub struct Shaper {
    params: Params,
    place: ShaperPlace,
    eyeq: Eyeq,
    outgoing: Vec<Option<Pair>>,
    incoming: Vec<Option<Pair>>,
    usage: Vec<ServiceUsageReport>,
    /// The broker's limits that are in force.
    limits: Vec<Limited>,
    /// Time and number of the broker's last message; `None`: it is silent, and the machine's own policy applies.
    last_message: Option<(Time, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    class: ClassId,
    crossing: Crossing,
}

/// Destination of a pair's traffic: inside the rack or over the uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    Inside,
    Uplinks,
}

type Action = HostAction<Message, Timer>;

impl Shaper {
    /// A machine without classes.
    ///
    /// # Errors
    /// Never; the type is that of trees of shares.
    pub fn new(line: LineParams, eyeq: eyeq::Params, params: Params, place: ShaperPlace) -> Result<Self, TreeError> {
        Ok(Self {
            params,
            place,
            eyeq: Eyeq::new(line, eyeq)?,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            usage: Vec::new(),
            limits: Vec::new(),
            last_message: None,
        })
    }

    /// The shaper below.
    pub fn eyeq(&self) -> &Eyeq {
        &self.eyeq
    }

    /// The shaper's T, from the end of the present interval on.
    pub fn set_interval(&mut self, interval: Time) {
        self.eyeq.set_interval(interval);
    }

    /// The broker's limits that are in force.
    pub fn limits(&self) -> &[Limited] {
        &self.limits
    }

    /// Returns the sent and received traffic of this machine, by service.
    pub fn usage(&self) -> &[ServiceUsageReport] {
        &self.usage
    }

    fn pair(&self, class: ClassId, peer: NodeId) -> Pair {
        let crossing = if self.place.rack.contains(&peer) { Crossing::Inside } else { Crossing::Uplinks };
        Pair { class, crossing }
    }

    /// Records an input that the inner shaper also receives.
    #[inline]
    fn note(&mut self, input: &HostInput<'_, Message, Timer>) {
        match *input {
            HostInput::Opened { pair, spec } => {
                let known = self.pair(spec.class, spec.peer);
                sparse::set(&mut self.outgoing, pair.index(), known);
            }
            HostInput::IncomingOpened { pair, spec } => {
                let known = self.pair(spec.class, spec.peer);
                sparse::set(&mut self.incoming, pair.index(), known);
            }
            HostInput::Sent { pair: Outgoing(pair), bytes, .. } => {
                let pair = self.outgoing.get(pair as usize).copied().flatten();
                self.count(pair, Direction::Transmit, bytes);
            }
            HostInput::Received { pair: Incoming(pair), arrivals } => {
                let pair = self.incoming.get(pair as usize).copied().flatten();
                self.count(pair, Direction::Receive, arrivals.bytes);
            }
            _ => {}
        }
    }

    #[inline]
    fn count(&mut self, pair: Option<Pair>, direction: Direction, bytes: Bytes) {
        let Some(Pair { class, crossing }) = pair else { return };
        // Few classes are on one machine.
        let place = self.usage.iter().position(|usage| usage.class == class).unwrap_or_else(|| {
            self.usage.push(ServiceUsageReport::none(class));
            self.usage.len() - 1
        });
        let usage = &mut self.usage[place];
        usage.total[direction as usize] += bytes;
        if crossing == Crossing::Uplinks {
            usage.uplink[direction as usize] += bytes;
        }
    }

    fn report(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        if self.last_message.is_some_and(|(at, _)| now.saturating_sub(at) >= self.params.rack_timeout) {
            self.last_message = None;
            self.set_limits(Vec::new(), act);
        }
        for usage in &mut self.usage {
            usage.metered = self.eyeq.metered(usage.class).unwrap_or_default();
        }
        let limits = Some(self.limits.clone().into_boxed_slice());
        let report = UsageReport { at: now, services: self.usage.clone().into_boxed_slice(), limits };
        act(HostAction::Send { to: Peer::Broker(self.place.broker), message: Message::Report(report) });
        act(HostAction::Arm { at: now + self.params.rack_interval, timer: Timer::Report });
    }

    /// Handles the broker's limits for services.
    fn on_limits(&mut self, now: Time, from: BrokerId, list: &RateList, act: &mut impl FnMut(Action)) {
        let is_for_me = from == self.place.broker && list.subject == RateSubject::MachineLimits;
        let is_old = self.last_message.is_some_and(|(_, serial)| list.serial < serial);
        if !is_for_me || is_old || list.epoch != self.place.epoch {
            return;
        }
        self.last_message = Some((now, list.serial));
        let limits = list
            .rates
            .iter()
            .map(|rates| Limited { class: ClassId(rates.service.into()), limit: [rates.transmit, rates.receive] });
        self.set_limits(limits.collect(), act);
    }

    fn set_limits(&mut self, limits: Vec<Limited>, act: &mut impl FnMut(Action)) {
        let old = std::mem::replace(&mut self.limits, limits);
        for before in &old {
            if !self.limits.iter().any(|limited| limited.class == before.class) {
                self.set(before.class, [None; 2], act);
            }
        }
        for place in 0..self.limits.len() {
            let Limited { class, limit } = self.limits[place];
            self.set(class, limit, act);
        }
    }

    fn set(&mut self, class: ClassId, limit: [Option<Rate>; 2], act: &mut impl FnMut(Action)) {
        for (direction, limit) in Direction::ALL.into_iter().zip(limit) {
            self.eyeq.set_capacity(class, direction, limit, &mut |action| act(outer(action)));
        }
    }
}

impl Host for Shaper {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: HostInput<'_, Message, Timer>, act: &mut impl FnMut(Action)) {
        self.note(&input);
        let at = now + self.params.rack_interval;
        match input {
            HostInput::Timer(Timer::Report) => self.report(now, act),
            HostInput::Message { from: MessageOrigin::Broker(from), message: Message::Rates(list) } => {
                self.on_limits(now, from, &list, act);
            }
            input => {
                if matches!(input, HostInput::Started) {
                    act(HostAction::Arm { at: at + self.place.phase, timer: Timer::Report });
                }
                if let Some(input) = inner(input) {
                    self.eyeq.on(now, input, &mut |action| act(outer(action)));
                }
            }
        }
    }
}

/// Returns an input as the inner shaper receives it; `None` if it is not for that shaper.
#[inline]
fn inner(input: HostInput<'_, Message, Timer>) -> Option<HostInput<'_, eyeq::Feedback, eyeq::Timer>> {
    input.narrow(
        |message| if let Message::Feedback(feedback) = message { Some(feedback) } else { None },
        |timer| if let Timer::Shaper(timer) = timer { Some(timer) } else { None },
    )
}

/// Converts an action of the inner shaper.
#[inline]
fn outer(action: HostAction<eyeq::Feedback, eyeq::Timer>) -> Action {
    action.widen(Message::Feedback, Timer::Shaper)
}
