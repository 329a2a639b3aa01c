//! ElasticSwitch: every pair of virtual machines gets a part of both ends' guarantees, and takes more while nothing
//! is congested.
//!
//! L. Popa et al., "ElasticSwitch: Practical Work-Conserving Bandwidth Guarantees for Cloud Computing", SIGCOMM 2013.
//! The paper is not among the sources. This follows its known definitions and its descriptions in uFAB (SIGCOMM 2022:
//! 5.2, E) and Parley (2.2). [`Params`] names the source of each value.
//!
//! A class (a virtual machine, at one host) has a hose: a minimum to send and one to receive. Guarantee partitioning
//! divides each hose among the pairs of that end, max-min fair by the amount that each can use. A pair is guaranteed
//! the lower share of both ends. Rate allocation lets a pair send more than that: its rate grows along a cubic curve
//! in units of its guarantee. It falls when packets were marked or lost, but never below the guarantee. Three rules
//! make room for the guarantees of others: a headroom that is never guaranteed, a hold after congestion that is
//! shorter for larger guarantees, and growth that is slower the further a pair is above its guarantee.
//!
//! | what | here |
//! |---|---|
//! | guarantee partitioning at one end | `partition` |
//! | the lower share of both ends; the share that one end cannot use goes to its other pairs | `guarantee` |
//! | rate allocation: `rate = max(guarantee, weighted TCP-like rate)` | `rate` |
//! | headroom | [`Params::headroom_percent`], `guarantee` |
//! | hold after congestion ("Hold-Increase") | `rate` |
//! | slower above the guarantee ("Rate-Caution") | `rate` |
//!
//! Deviations and unknown points:
//! - Each end sends the other the share that a pair would get if this end alone bounded it, so that neither waits for
//!   the other to ask for more. Once both ends know each other, the guarantees of an end's pairs never exceed its
//!   hose in total.
//! - A pair's demand is its sending rate, and twice its rate when it uses 90 % of that
//!   ([`wayleave_sharing::DemandEstimator`]). A new pair has unlimited demand.
//! - A pair is congested if any of its packets were marked or lost in a period. The receiver reports this to the
//!   sender once per period, and the sender obeys at once. The number of marks does not matter.
//! - A congestion report within one and a half periods after a reduction of the rate concerns earlier packets, and is
//!   ignored.
//! - A rate that the pair does not use does not grow.
//! - A pair that has been idle begins again with its guarantee.
//! - Minima that are together above the line without its headroom are scaled down.

mod guarantee;
mod params;
mod partition;
mod rate;
mod settings;

use std::collections::BTreeMap;

use wayleave_scheme_api::{
    Arrivals, Bucket, ClassId, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Incoming, Limiter,
    MessageOrigin, Outgoing, Parameters, Peer, Role, Share,
};
use wayleave_sharing::DemandEstimator;
use wayleave_units::{Rate, Time};

pub use params::Params;
use rate::RateAllocation;
pub use settings::Settings;

use crate::sparse;
use crate::brokers::NoBroker;
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS, UDP};

/// Messages hold two rates, or a count and a flag.
const TWO_RATES: usize = 16;

/// Descriptor of ElasticSwitch.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "elasticswitch",
    title: "ElasticSwitch",
    roles: &[Role::Host],
    summary: "Guarantees divided among pairs, which exceed them while there is no congestion",
    citation: "L. Popa and others, \"ElasticSwitch: Practical Work-Conserving Bandwidth Guarantees for Cloud Computing\", SIGCOMM 2013, from memory",
    guarantee: "a pair with demand gets its part of the minimum rates of both ends, and more where there is no congestion",
    parameters: Settings::LIST,
};

impl Described for ElasticSwitch {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl HostScheme for ElasticSwitch {
    type Broker = NoBroker<Message>;

    fn build(setup: &mut HostSetup<'_>, settings: &Settings) -> Result<Self, HostBuildError> {
        Ok(Self::new(setup.line.transmit, settings.params()))
    }

    fn not_carried_out(_: &Settings) -> &'static [&'static str] {
        &["receive.max", "receive.weight"]
    }

    fn wire_bytes(_: &Message) -> usize {
        TWO_RATES + UDP + NETWORK_HEADERS
    }
}

/// Message between both ends of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the sender's end: the share of its hose for the pair, and the pair's demand.
    Offer {
        /// If this end alone bounded it.
        part: Rate,
        /// Of anything.
        demand: Rate,
    },
    /// The receiver's end: what it gives the pair of its hose.
    Grant {
        /// If this end alone bounded it.
        part: Rate,
    },
    /// Something of the pair was marked or lost in this period.
    Congested,
}

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Hoses are divided again.
    Partition,
    /// Rates grow; receivers report congestion.
    Rates,
}

/// An action of this host.
pub type Action = HostAction<Message, Timer>;

/// A class at this machine: its hoses, and the pairs that take part.
#[derive(Clone, Debug)]
struct Class {
    transmit: Share,
    receive: Share,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
}

impl Default for Class {
    fn default() -> Self {
        let (transmit, receive) = (Share::BEST_EFFORT, Share::BEST_EFFORT);
        Self { transmit, receive, outgoing: Vec::new(), incoming: Vec::new() }
    }
}

/// A pair that leaves here.
#[derive(Clone, Debug)]
struct SendingPair {
    class: ClassId,
    activity: Activity,
    sent: u64,
    /// `None`: it is new, and wants everything.
    demand: Option<DemandEstimator>,
    offered: Rate,
    granted: Option<Rate>,
    guarantee: Rate,
    rate: RateAllocation,
    /// As its limiter is set.
    limit: Option<Rate>,
}

/// A pair that arrives here.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    class: ClassId,
    activity: Activity,
    /// Part of its share that the sender can use.
    bound: Rate,
    congested: u64,
}

/// Activity of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Idle,
    /// It last moved something then.
    Active {
        last: Time,
    },
}

/// A periodic timer that rests while nothing takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Stopped,
    Running { since: Time },
}

/// One machine's layer of ElasticSwitch.
///
/// ```
/// use wayleave_scheme_api::{ClassId, Host, HostInput, Share};
/// use wayleave_schemes::host::elasticswitch::{ElasticSwitch, Params};
/// use wayleave_units::{Rate, Time};
/// let mut layer = ElasticSwitch::new(Rate::from_gbit(1), Params::default());
/// let hose = Share { min: Rate::from_mbit(450), ..Share::BEST_EFFORT };
/// let class = HostInput::ClassSet { class: ClassId(1), transmit: hose, receive: hose };
/// layer.on(Time::ZERO, class, &mut |_| panic!("there are no pairs yet"));
/// ```
#[derive(Clone, Debug)]
pub struct ElasticSwitch {
    params: Params,
    line: Rate,
    classes: BTreeMap<ClassId, Class>,
    sending: Vec<Option<SendingPair>>,
    receiving: Vec<Option<Receiving>>,
    partitions: Clock,
    rates: Clock,
    /// Memory of a partition.
    bounds: Vec<u64>,
    parts: Vec<u64>,
}

impl ElasticSwitch {
    /// A machine without classes; its line has the same rate in both directions.
    pub fn new(line: Rate, params: Params) -> Self {
        Self {
            params,
            line,
            classes: BTreeMap::new(),
            sending: Vec::new(),
            receiving: Vec::new(),
            partitions: Clock::Stopped,
            rates: Clock::Stopped,
            bounds: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Returns the current guarantee of a pair that leaves here; `None` if there is no such pair.
    pub fn guarantee(&self, pair: Outgoing) -> Option<Rate> {
        self.sending.get(pair.index())?.as_ref().map(|sending| sending.guarantee)
    }

    /// Timers begin when something takes part.
    fn start(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        for (clock, period, timer) in [
            (&mut self.partitions, self.params.partition_period, Timer::Partition),
            (&mut self.rates, self.params.rate_period, Timer::Rates),
        ] {
            if *clock == Clock::Stopped {
                *clock = Clock::Running { since: now };
                act(HostAction::Arm { at: now + period, timer });
            }
        }
    }

    /// Sets the limiter of a pair, if it is another than before.
    fn set_limit(&mut self, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let rate = sending.rate.rate();
        if sending.limit.replace(rate) != Some(rate) {
            let bucket = Some(Bucket { rate, burst: self.params.burst, excess: ExcessAction::Waits });
            act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket });
        }
    }

    /// Starts a pair that begins to send: it gets a part of its hose at once, and notifies the other end.
    fn begin(&mut self, now: Time, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        sending.activity = Activity::Active { last: now };
        (sending.demand, sending.granted) = (None, None);
        let class = sending.class;
        self.classes.entry(class).or_default().outgoing.push(pair);
        self.start(now, act);
        self.divide_outgoing(class);
        if let Some(Some(sending)) = self.sending.get(pair.index()) {
            let begins = RateAllocation::new(now, self.entitled(sending).weight);
            let message = Message::Offer { part: sending.offered, demand: self.line };
            if let Some(Some(sending)) = self.sending.get_mut(pair.index()) {
                sending.rate = begins;
            }
            act(HostAction::Send { to: Peer::Receiver(pair), message });
            self.set_limit(pair, act);
        }
    }

    /// Arms the timer again while any pair is active.
    fn again(&self, now: Time, period: Time, timer: Timer, act: &mut impl FnMut(Action)) -> Clock {
        if self.classes.values().all(|class| class.outgoing.is_empty() && class.incoming.is_empty()) {
            return Clock::Stopped;
        }
        act(HostAction::Arm { at: now + period, timer });
        Clock::Running { since: now }
    }

    /// Raises the rates that are used, and sends congestion reports from receivers.
    fn step_rates(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        let Clock::Running { since } = self.rates else { return };
        let elapsed = now.saturating_sub(since);
        let outgoing: Vec<Outgoing> = self.classes.values().flat_map(|class| class.outgoing.iter().copied()).collect();
        for pair in outgoing {
            let Some(Some(sending)) = self.sending.get(pair.index()) else { continue };
            // It wants more than its rate only if it has filled it.
            if sending.demand(self.line) < sending.rate.rate() {
                continue;
            }
            let (entitled, params) = (self.entitled(sending), self.params);
            if let Some(Some(sending)) = self.sending.get_mut(pair.index()) {
                sending.rate.grow(now, elapsed, entitled, &params);
            }
            self.set_limit(pair, act);
        }
        for &pair in self.classes.values().flat_map(|class| &class.incoming) {
            let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { continue };
            if std::mem::take(&mut receiving.congested) > 0 {
                act(HostAction::Send { to: Peer::Sender(pair), message: Message::Congested });
            }
        }
        self.rates = self.again(now, self.params.rate_period, Timer::Rates, act);
    }

    /// Handles a message from the other end of a pair that leaves here.
    fn on_receiver_message(&mut self, now: Time, pair: Outgoing, message: Message, act: &mut impl FnMut(Action)) {
        let line = self.line;
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        match message {
            Message::Grant { part } => {
                sending.granted = Some(part);
                sending.guarantee = sending.offered.min(part).min(sending.demand(line));
                sending.rate.guarantee(sending.guarantee);
            }
            Message::Congested => {
                let (class, params) = (sending.clone(), self.params);
                let entitled = self.entitled(&class);
                if let Some(Some(sending)) = self.sending.get_mut(pair.index()) {
                    sending.rate.reduce(now, entitled, &params);
                }
            }
            Message::Offer { .. } => {}
        }
        self.set_limit(pair, act);
    }

    /// Handles a message from the other end of a pair that arrives here, with its share.
    fn on_sender_message(&mut self, now: Time, pair: Incoming, bound: Rate, act: &mut impl FnMut(Action)) {
        let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { return };
        receiving.bound = bound;
        if std::mem::replace(&mut receiving.activity, Activity::Active { last: now }) == Activity::Idle {
            self.classes.entry(receiving.class).or_default().incoming.push(pair);
            self.start(now, act);
            self.grant(pair, act);
        }
    }

    fn close(&mut self, pair: Outgoing) {
        if let Some(sending) = self.sending.get_mut(pair.index()).and_then(Option::take) {
            self.classes.entry(sending.class).or_default().outgoing.retain(|&other| other != pair);
        }
    }

    fn close_incoming(&mut self, pair: Incoming) {
        if let Some(receiving) = self.receiving.get_mut(pair.index()).and_then(Option::take) {
            self.classes.entry(receiving.class).or_default().incoming.retain(|&other| other != pair);
        }
    }

    /// A class has other terms; its maximum is kept by a root limiter.
    fn set_class(&mut self, class: ClassId, [transmit, receive]: [Share; 2], act: &mut impl FnMut(Action)) {
        let known = self.classes.entry(class).or_default();
        let before = std::mem::replace(&mut known.transmit, transmit);
        known.receive = receive;
        if before.max != transmit.max {
            let bucket =
                transmit.max.map(|rate| Bucket { rate, burst: self.params.burst, excess: ExcessAction::Waits });
            act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket });
        }
    }
}

impl SendingPair {
    fn demand(&self, line: Rate) -> Rate {
        self.demand.as_ref().map_or(line, |estimator| estimator.demand().min(line))
    }
}

impl Host for ElasticSwitch {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: HostInput<'_, Message, Timer>, act: &mut impl FnMut(Action)) {
        match input {
            HostInput::Sent { pair, bytes, .. } => {
                let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
                sending.sent = sending.sent.saturating_add(bytes.get());
                let before = std::mem::replace(&mut sending.activity, Activity::Active { last: now });
                if before == Activity::Idle {
                    self.begin(now, pair, act);
                }
            }
            HostInput::Received { pair, arrivals: Arrivals { marked, lost, .. } } => {
                let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { return };
                receiving.congested = receiving.congested.saturating_add(marked.get().saturating_add(lost.get()));
                if let Activity::Active { last } = &mut receiving.activity {
                    *last = now;
                }
            }
            HostInput::Message { from: MessageOrigin::Receiver(pair), message } => {
                self.on_receiver_message(now, pair, message, act);
            }
            HostInput::Message { from: MessageOrigin::Sender(pair), message: Message::Offer { part, demand } } => {
                self.on_sender_message(now, pair, part.min(demand), act);
            }
            HostInput::Timer(Timer::Partition) => self.partition_all(now, act),
            HostInput::Timer(Timer::Rates) => self.step_rates(now, act),
            HostInput::ClassSet { class, transmit, receive } => self.set_class(class, [transmit, receive], act),
            HostInput::ClassGone { class } => self.set_class(class, [Share::BEST_EFFORT; 2], act),
            HostInput::Opened { pair, spec } => {
                let sending = SendingPair {
                    class: spec.class,
                    activity: Activity::Idle,
                    sent: 0,
                    demand: None,
                    offered: Rate::ZERO,
                    granted: None,
                    guarantee: Rate::ZERO,
                    rate: RateAllocation::new(now, Rate::ZERO),
                    limit: None,
                };
                self.close(pair);
                sparse::set(&mut self.sending, pair.index(), sending);
                self.begin(now, pair, act);
            }
            HostInput::IncomingOpened { pair, spec } => {
                self.close_incoming(pair);
                let activity = Activity::Idle;
                let receiving = Receiving { class: spec.class, activity, bound: Rate::ZERO, congested: 0 };
                sparse::set(&mut self.receiving, pair.index(), receiving);
            }
            HostInput::Closed { pair } => self.close(pair),
            HostInput::IncomingClosed { pair } => self.close_incoming(pair),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
