//! EyeQ: receivers send senders a maximum rate, so that every class of a machine gets its share of the line.
//!
//! V. Jeyakumar et al., "EyeQ: Practical Network Performance Isolation at the Edge", NSDI 2013, as V. Jeyakumar et
//! al., "Flexible Network Bandwidth and Latency Provisioning in the Datacenter" (2014, here "Parley"), describes it
//! as their machine shaper. EyeQ's own paper is not among the sources; points that come from its released program are
//! marked.
//!
//! A machine's line is shared among its classes, by minimum, maximum and weight, in both directions. For the traffic
//! that a class receives, a meter computes one rate R for all senders every T, so that the class's arrivals become
//! its capacity. It counts bytes and no senders. Every 10 kB, R is sent to the sender of the packet that arrives, so
//! the largest senders get the most feedback. A sender has a limiter for each destination that sent it feedback.
//! Above these is a root limiter for the class, which exists if the class wants more than its share of the line or
//! has a maximum.
//!
//! | text | here |
//! |---|---|
//! | Parley 3.2.1: `R(t+T) = R(t) (1 - alpha (y - C) / C - 1_marked beta / 2)` | [`RateMeter::finish`] |
//! | 3.2.1: C of a meter, the class's share of the machine | `side`, `interval` |
//! | 3.2.1: one feedback every 10 kB to the packet's source; `w_sender * R` | `pairs`, [`Params::sender_weights`] |
//! | 3.2.1: feedback creates or updates a limiter to that destination | `pairs` |
//! | 3.2.1, Fig. 10: one root limiter for each class | `interval` |
//! | 3.2.2: a class that asks for less than its share is not limited | `interval` |
//! | 3.2.2: a broker sets the capacity of root limiter and meter | [`Eyeq::set_capacity`] |
//! | 3.2.1, Fig. 5: `service:user` | [`Params::parents`] |
//! | 7: configurable burst and measurement interval | [`Params`], [`Eyeq::set_interval`] |
//!
//! Deviations, and points that the texts leave open:
//! - R stays between a floor and C. Results of the printed equation below one half of R count as one half. The
//!   equation would be negative from `y = 3 C` on, and gives one half for full marking at `y = C`. The released
//!   program limits y to 3 C.
//! - Marks have two forms ([`Marks`]). The printed equation is the default: at rest it gives `y = C (1 - beta)` for
//!   alpha 0.5, at any rate. EyeQ's released program has that form too, and compiles another: an interval with marks
//!   counts as if 45 kB to 90 kB more had arrived, so that its cost is the same at any rate, and falls with T. The
//!   program counts packets; this implementation counts bytes.
//! - Beta follows the fraction of marked bytes as DCTCP's alpha does, by 1/16 per interval, and counts only in
//!   intervals with marks. The text calls it "the fraction of marked packets", and multiplies it by an indicator of
//!   marks in the interval. That indicator would have no effect if beta were the interval's own fraction.
//!   [`MeterParams::smoothing`] of 0 is that reading: R then halves with every burst. The released program uses the
//!   interval's own fraction in both forms; so does [`Marks::Released`] here.
//! - The meters share 90 % of the line, as in EyeQ's program; Parley gives no value. See [`Params::receive_percent`].
//! - C of a class is its share if it had unlimited demand while the others keep their observed demand. So a class
//!   that uses little has room to grow at once, and the sum of all C may be above the line until the others' C
//!   follow, one T later. EyeQ's program shares among all classes that are active, independent of their use.
//! - A class that fills 90 % of its C or of its limit has a demand of twice that. One that fills less has its usage
//!   as demand, and its earlier demand decays ([`Params::decay`]): [`wayleave_sharing::DemandEstimator`].
//! - Senders: on a full line, a class without limit that had data to send all the time has a demand of twice its
//!   sending rate, but no more than its receivers allow it together. Otherwise its demand is its sending rate. A
//!   limit that is the whole line is not set.
//! - A class with a maximum, or with a capacity from a broker, has a root limiter at all times. A maximum of a class
//!   that has parts is kept by the shares of its parts, so one T late.
//! - A limiter without feedback for 1 s is lifted, so that no small rate stays; EyeQ's paper halves it every 100 ms,
//!   and its program every second.
//! - In addition to the samples, R is sent to a sender with its next packet when R has become twice or half of the
//!   last value sent to it ([`Staleness`]; one number for each sender). With samples alone 80 senders of one class
//!   end up between 1 and 73 Mbit/s in place of 37, for a tenth of a second and more. EyeQ's program has two other
//!   rules. The first is a feedback after 100 us without one, to the sender of that packet. It changes nothing there,
//!   since samples come more often. The second, in its last release, is a floor of 10 Mbit/s for R. It has an effect,
//!   but with it no class can be limited below that rate for each of its senders ([`MeterParams::floor`]).
//! - If several packets are reported at once and exceed 10 kB, there is one feedback.

mod class;
mod feedback;
mod interval;
mod meter;
mod pairs;
mod params;
mod settings;
mod side;

use std::collections::BTreeMap;

use wayleave_contracts::Direction;
use wayleave_scheme_api::{
    Bucket, ClassId, Demand, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Limiter, MessageOrigin,
    Outgoing, Parameters, Role, Share,
};
use wayleave_sharing::TreeError;
use wayleave_units::{Bytes, Rate, Time};

use class::{Activity, Backlog, BackloggedPairs, Class, Receive, Receiving, SendingPair, Transmit};
pub use feedback::Feedback;
pub use meter::RateMeter;
pub use params::{LineParams, Marks, MeterParams, Params, Staleness};
pub use settings::Settings;
use side::{Side, least, terms};

use crate::brokers::NoBroker;
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS};
use crate::usage_report::MeteredUsage;

/// Descriptor of EyeQ.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "eyeq",
    title: "EyeQ",
    roles: &[Role::Host],
    summary: "EyeQ's machine shaper, with the defaults of Parley's Table 1",
    citation: "V. Jeyakumar and others, \"EyeQ: Practical Network Performance Isolation at the Edge\", NSDI 2013, as Parley (2014), sections 3.2.1 and 5.1, describes it",
    guarantee: "minimum and maximum rates of services on machine links, while no other link is congested",
    parameters: Settings::LIST,
};

impl Described for Eyeq {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl HostScheme for Eyeq {
    const HAS_PARTS: bool = true;
    const HAS_INTERVAL: bool = true;
    const DIVIDES_CAPACITY: bool = true;

    type Broker = NoBroker<Feedback>;

    fn build(setup: &mut HostSetup<'_>, settings: &Settings) -> Result<Self, HostBuildError> {
        Self::new(setup.line, settings.params(setup)).map_err(HostBuildError::because)
    }

    fn set_interval(&mut self, interval: Time) {
        Self::set_interval(self, interval);
    }

    /// Rates are in IP packets of their own (Parley, 3.2.1).
    fn wire_bytes(feedback: &Feedback) -> usize {
        crate::host::parley::Message::Feedback(*feedback).encoded_len() + NETWORK_HEADERS
    }
}

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// An interval is over: meters and shares are computed.
    Interval,
    /// The limiter of a pair may be without feedback for too long.
    Silence {
        /// The pair.
        pair: Outgoing,
        /// Of all that have had this number.
        epoch: u32,
    },
}

/// Traffic of a class since the start, in wire bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassUsage {
    /// Sent from this machine.
    pub sent: Bytes,
    /// Received here.
    pub received: Bytes,
}

/// The limits of a class.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassState {
    /// The rate of its root limiter.
    pub transmit_limit: Option<Rate>,
    /// C of its meter.
    pub receive_capacity: Rate,
    /// R of its meter.
    pub sender_rate: Rate,
}

/// An action of this host.
pub type Action = HostAction<Feedback, Timer>;

/// One machine's shaper.
///
/// ```
/// use wayleave_scheme_api::{ClassId, Host, HostAction, HostInput, Share};
/// use wayleave_schemes::host::eyeq::{Eyeq, LineParams, Params};
/// use wayleave_units::{Rate, Time};
/// let mut shaper = Eyeq::new(LineParams::both(Rate::from_gbit(10)), Params::default())?;
/// let limited = Share { max: Some(Rate::from_gbit(3)), ..Share::BEST_EFFORT };
/// let (class, mut limits) = (ClassId(1), 0);
/// let terms = HostInput::ClassSet { class, transmit: limited, receive: Share::BEST_EFFORT };
/// shaper.on(Time::ZERO, terms, &mut |action| limits += matches!(action, HostAction::SetBucket { .. }) as u32);
/// assert_eq!(limits, 1);
/// # Ok::<(), wayleave_sharing::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Eyeq {
    params: Params,
    classes: Vec<Class>,
    places: BTreeMap<ClassId, usize>,
    /// The classes that are not idle.
    active: Vec<usize>,
    transmit: Side,
    receive: Side,
    sending: Vec<Option<SendingPair>>,
    receiving: Vec<Option<Receiving>>,
    /// Number of pairs that have left here so far.
    epochs: u32,
    clock: Clock,
}

/// The timer of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// Every class is idle.
    Stopped,
    /// An interval has begun, and a timer will end it.
    Running { since: Time },
}

impl Eyeq {
    /// A machine without classes.
    ///
    /// # Errors
    /// Never; the type is that of trees of shares.
    pub fn new(line: LineParams, params: Params) -> Result<Self, TreeError> {
        let receive = line.receive.bits_per_second() / 100 * u64::from(params.receive_percent);
        Ok(Self {
            transmit: Side::new(line.transmit)?,
            receive: Side::new(Rate::from_bits_per_second(receive))?,
            params,
            classes: Vec::new(),
            places: BTreeMap::new(),
            active: Vec::new(),
            sending: Vec::new(),
            receiving: Vec::new(),
            epochs: 0,
            clock: Clock::Stopped,
        })
    }

    /// Returns the traffic of a class; `None` if the class has never been here.
    pub fn usage(&self, class: ClassId) -> Option<ClassUsage> {
        let class = &self.classes[*self.places.get(&class)?];
        Some(ClassUsage { sent: class.transmit.total, received: class.receive.total })
    }

    /// Returns the limits and rates of a class; `None` if the class has never been here.
    #[cfg(test)]
    pub(crate) fn class_state(&self, class: ClassId) -> Option<ClassState> {
        let class = &self.classes[*self.places.get(&class)?];
        Some(ClassState {
            transmit_limit: class.transmit.bucket.map(|bucket| bucket.rate),
            receive_capacity: class.receive.meter.capacity(),
            sender_rate: class.receive.meter.rate(),
        })
    }

    /// Returns the counters of a class's meter; `None` if the class has never been here.
    pub fn metered(&self, class: ClassId) -> Option<MeteredUsage> {
        Some(self.classes[*self.places.get(&class)?].receive.metered)
    }

    /// All classes that have been here.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.places.keys().copied()
    }

    /// T, from the end of the present interval on (Parley, Fig. 12 and section 7).
    pub fn set_interval(&mut self, interval: Time) {
        self.params.interval = interval;
    }

    /// Changes the line's capacity from the end of the present interval on, when other traffic takes more or less.
    pub fn set_line(&mut self, line: LineParams) {
        let receive = line.receive.bits_per_second() / 100 * u64::from(self.params.receive_percent);
        self.transmit.set_capacity(line.transmit);
        self.receive.set_capacity(Rate::from_bits_per_second(receive));
    }

    /// Sets the rate that a broker allows a class in one direction from now on; `None` leaves the machine's own
    /// policy alone. It applies together with the class's own maximum. The root limiter and C are set at once.
    pub fn set_capacity(
        &mut self,
        class: ClassId,
        direction: Direction,
        capacity: Option<Rate>,
        act: &mut impl FnMut(Action),
    ) {
        let place = self.place(class);
        let class = &mut self.classes[place];
        let allowed = match direction {
            Direction::Transmit => &mut class.transmit.allowed,
            Direction::Receive => &mut class.receive.allowed,
        };
        if std::mem::replace(allowed, capacity) != capacity {
            self.change_terms(place, act);
        }
    }

    /// Returns the index of a class. A class without configuration has the default terms.
    fn place(&mut self, class: ClassId) -> usize {
        if let Some(&place) = self.places.get(&class) {
            return place;
        }
        let place = self.classes.len();
        let demand = self.params.estimator();
        self.classes.push(Class {
            id: class,
            activity: Activity::Idle,
            transmit: Transmit {
                terms: Share::BEST_EFFORT,
                allowed: None,
                total: Bytes::ZERO,
                sent: 0,
                demand: demand.clone(),
                limit: None,
                bucket: None,
                waiting: BackloggedPairs::default(),
            },
            receive: Receive {
                terms: Share::BEST_EFFORT,
                allowed: None,
                total: Bytes::ZERO,
                unsampled: 0,
                last_sent_at: Time::ZERO,
                meter: RateMeter::new(self.receive.capacity(), self.params.meter),
                metered: MeteredUsage::default(),
                demand,
            },
        });
        self.places.insert(class, place);
        self.rebuild();
        self.begin_anew(place);
        place
    }

    /// A class that is idle will begin with all that it would get.
    fn begin_anew(&mut self, place: usize) {
        if self.classes[place].activity == Activity::Idle {
            let capacity = self.receive.potential(place);
            self.classes[place].receive.meter.reset(capacity);
        }
    }

    /// The trees follow the terms.
    fn rebuild(&mut self) {
        let of = |terms_of: fn(&Class) -> wayleave_sharing::ServiceTerms| -> Vec<_> {
            self.classes.iter().map(|class| (class.id, terms_of(class))).collect()
        };
        let transmit = of(|class| terms(class.transmit.terms, class.transmit.allowed));
        let receive = of(|class| terms(class.receive.terms, class.receive.allowed));
        self.transmit.rebuild(&transmit, &self.params.parents);
        self.receive.rebuild(&receive, &self.params.parents);
        for &place in &self.active {
            self.transmit.want(place, self.classes[place].transmit.demand.demand());
            self.receive.want(place, self.classes[place].receive.demand.demand());
        }
        for at in 0..self.active.len() {
            let place = self.active[at];
            let capacity = self.receive.potential(place);
            self.classes[place].receive.meter.set_capacity(capacity);
        }
    }

    /// A class has other terms.
    fn change_terms(&mut self, place: usize, act: &mut impl FnMut(Action)) {
        self.rebuild();
        self.begin_anew(place);
        self.set_root(place, act);
    }

    /// Sets the root limiter of a class, if it is another than before.
    fn set_root(&mut self, place: usize, act: &mut impl FnMut(Action)) {
        let class = &mut self.classes[place];
        let rate = least(class.transmit.limit, least(class.transmit.terms.max, class.transmit.allowed));
        let burst = self.params.burst_of(class.id);
        let bucket = rate.map(|rate| Bucket { rate, burst, excess: ExcessAction::Waits });
        if std::mem::replace(&mut class.transmit.bucket, bucket) != bucket {
            act(HostAction::SetBucket { limiter: Limiter::Class(class.id), bucket });
        }
    }

    /// A class moves something: it takes part from now on, and intervals begin if none was running.
    #[inline]
    fn wake(&mut self, now: Time, place: usize, act: &mut impl FnMut(Action)) {
        if self.classes[place].activity == Activity::Idle {
            self.activate(now, place, act);
        }
    }

    #[cold]
    fn activate(&mut self, now: Time, place: usize, act: &mut impl FnMut(Action)) {
        self.begin_anew(place);
        self.classes[place].activity = Activity::Active { last: now };
        self.active.push(place);
        if self.clock == Clock::Stopped {
            self.clock = Clock::Running { since: now };
            act(HostAction::Arm { at: now + self.params.interval, timer: Timer::Interval });
        }
    }
}

impl Host for Eyeq {
    type Message = Feedback;
    type Timer = Timer;

    #[inline]
    fn on(&mut self, now: Time, input: HostInput<'_, Feedback, Timer>, act: &mut impl FnMut(Action)) {
        match input {
            HostInput::Received { pair, arrivals } => self.receive(now, pair, arrivals, act),
            HostInput::Sent { pair, bytes, .. } => {
                let Some(&Some(SendingPair { class: place, .. })) = self.sending.get(pair.index()) else { return };
                self.wake(now, place, act);
                let transmit = &mut self.classes[place].transmit;
                transmit.total += bytes;
                transmit.sent = transmit.sent.saturating_add(bytes.get());
            }
            HostInput::Message { from: MessageOrigin::Receiver(pair), message } => {
                self.on_feedback(now, pair, message.rate, act)
            }
            HostInput::Timer(Timer::Interval) => self.interval(now, act),
            HostInput::Timer(Timer::Silence { pair, epoch }) => self.silence(now, pair, epoch, act),
            HostInput::ClassSet { class, transmit, receive } => {
                let place = self.place(class);
                self.classes[place].transmit.terms = transmit;
                self.classes[place].receive.terms = receive;
                self.change_terms(place, act);
            }
            HostInput::ClassGone { class } => {
                let place = self.place(class);
                self.active.retain(|&active| active != place);
                let class = &mut self.classes[place];
                (class.transmit.terms, class.receive.terms) = (Share::BEST_EFFORT, Share::BEST_EFFORT);
                (class.transmit.allowed, class.receive.allowed) = (None, None);
                self.rest(place, act);
                self.rebuild();
            }
            HostInput::Opened { pair, spec } => self.open(now, pair, &spec),
            HostInput::Closed { pair } => {
                self.set_backlog(pair, Backlog::Nothing);
                if let Some(sending) = self.sending.get_mut(pair.index()) {
                    *sending = None;
                }
            }
            HostInput::Demand { pair, demand: Demand::Begins } => self.set_backlog(pair, Backlog::Something),
            HostInput::Demand { pair, demand: Demand::Ends } => self.set_backlog(pair, Backlog::Nothing),
            HostInput::IncomingOpened { pair, spec } => self.open_incoming(pair, &spec),
            HostInput::IncomingClosed { pair } => {
                if let Some(receiving) = self.receiving.get_mut(pair.index()) {
                    *receiving = None;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
