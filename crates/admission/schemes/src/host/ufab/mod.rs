//! uFAB: guaranteed minimum bandwidths, immediate sharing of the excess, and short queues, by an edge that reacts to the telemetry of switches.
//!
//! S. Wang et al., "Predictable vFabric on Informative Data Plane", SIGCOMM 2022. This is uFAB-E, the active edge; the informative core is
//! [`crate::switch::ufab_core`].
//!
//! A tenant (a class) has a hose at each of its hosts. Its tokens, of B_u each, are divided among the pairs of the host; probes carry a pair's tokens and window
//! along its path, and bring back what every link has: the tokens Phi and windows W of all pairs, its rate tx, its queue q, its capacity C. A pair's window is its
//! part of W, scaled by how far the load is from the capacity, at the tightest link. It takes a path on which all guarantees fit, and leaves one on which
//! they do not.
//!
//! | text | here |
//! |---|---|
//! | 3.3, equation 1: r = phi/Phi C | `admission`: `share` |
//! | 3.3, equation 2: R = min(phi/Phi R C/tx, C) | `search`: `rate` |
//! | 3.4, equation 3: w = min(phi/Phi W CT/(tx T + q), CT) | `admission`: `fair` |
//! | 3.4: two stages, Scenario-1 and -2 | `admission`: `join`, `stage` |
//! | 3.5: candidates, "qualified", 5 round trips, 30 s, freeze window, no reordering | `search`, `pair::moves` |
//! | 4.1: initial path of the path monitor | `monitor`, `pair::initial` |
//! | 3.6: probes, finish probes until they are answered | `registration` |
//! | 4.1: L_w, time-out after 8 base round trips | `pair` |
//! | 4.1: eight weighted queues, pairs of one in turn | `classWeights`, [`level`], the host's stack |
//! | E, Algorithm 1; Fig. 21; F, Algorithm 2 | `tokens` |
//!
//! # Holes of the text, and what is done about them
//! The printed form of each is a parameter of its own.
//! - **Joint starts** (`startup`). Windows grow by phi/Phi CT a round trip, but the first of N pairs sees a Phi of its own tokens only, the second one of two: together they
//!   grow by H_N CT (a harmonic number). Here a window grows by phi B_u T, so all of a qualified path together by CT at most.
//! - **Queues that only pass** (`queueEstimate`). A probe finds packets that are being forwarded at line rate, and equation 3 takes them for
//!   overload: 18 pairs of 500 Mbit/s on a line of 10 got 483. The lesser of two answers in a row counts (as in HPCC, SIGCOMM 2019), and of that what the headroom,
//!   1 - eta of the line, does not drain in a base round trip by itself.
//! - **Round trips that differ** (`windowUnit`). Windows that are shared by tokens are rates that are shared by tokens and the inverse of the round trip: of two equal pairs, one with
//!   25 us and one with 33, the second got 2.4 Gbit/s and the first 3.4. Links add up what windows carry in a time that is the same for all, which is
//!   equation 2 with windows.
//! - **The cap of equation 3** (`windowUnit`). It cuts what a link counts for a pair at the bandwidth-delay product as well, also of a pair that sends less because of another link; where that
//!   pair has 2.3 times the tokens of the other one, the other got 5.5 of the 7.0 Gbit/s that were left. What a link counts is cut at four times that here, what is in flight
//!   as printed.
//! - **Sums that follow** (`registers`): see [`crate::switch::ufab_core`]. A change is given up when switches may forget it (`dedupWindow`), and then it may be counted twice for [`Settings::pair_expiry`]: answers must
//!   not take longer. Contracts set it by their times; in a scenario with round trips above half a millisecond or long queues it has to be set.
//! - **Eight weights** (`classWeights`). On a full interface a class gets its part by a weight that is rounded to a power of two: one of 2.4 Gbit/s beside a hundred of 23 Mbit/s got
//!   0.8 Gbit/s of the 6 that they had, and a window does not help who waits for a turn. Here weights are minima.
//! - **Unused tokens** (`unusedTokens`). Algorithm 1's line 7 gives a pair what it sends; its comment and the text give it its fair part all the same.
//! - **Scenario-2 and work conservation.** A pair that sends less than r may have r T in flight. If links counted that as its window, equation 3 would
//!   give the others no more than their proportional part of a link that is not full (81 % of it beside one idle pair of the same weight). So links
//!   continue to count equation 3's window while it rests, and its true one from when it wants more; `stage` reports it again.
//!
//! # Beside other classes
//! The text knows uFAB alone on its links. Where a port reports that its queue shares a line with others ([`ClassHop`](wayleave_scheme_api::ClassHop)), a link has two
//! capacities, windows rise in steps (`windowIncrease`) and minima do not wait for answers (`fullWindowRate`): docs/theory/ufab.md, "Below latency contracts". Where hosts of a hose turn to one receiver together, each begins with all of its own hose,
//! since those that ask are not among the pairs that Algorithm 1 divides by: with `admitBeforeSend` they are, and every pair asks.
//!
//! # Deviations
//! - **Initial path** (`initial_path`). By 3.5 a pair that joins probes its candidates "to bootstrap"; by 4.1 a new pair obtains an initial path and sends at once. Both can
//!   be set, and the second is the default. Its candidates are probed beside the data. If the first answer of the initial path has no room, the
//!   pair moves to a candidate with room; see `pair::initial`. With `admit_before_send` every pair probes first.
//! - A pair rests if it has used less than half of its window since the last answer, and less than its share.
//! - Algorithm 1 measures what a pair sends in an epoch, which is less than a frame for a small guarantee. Here a pair with data is measured between two answers. A
//!   pair without data sends nothing: the other pairs of its hose have its tokens from the next division on. When it resumes after a round trip or more, it
//!   is in Scenario-2.
//! - While windows grow, a step comes with an answer, and so a pair that probes less than once a round trip grows more slowly than by one step a round trip: it does not know the pairs that have begun since.
//! - A path that does not answer is noticed by the first time-out, and left if the repeated probe stays away as well, so that a single lost probe moves nothing. Such a
//!   move waits for no freeze window.
//! - Links that a candidate has in common with the paths of a pair count it already, and not twice. An edge knows them, since it knows the topology (3.1) and chose the
//!   path; without this information from the driver, that is the last link only, and others can make a path look fuller than it is.
//! - A pair without a guarantee has one token. A hose is not scaled down if it is above the line: placement (3.1, assumption iii) sees to that.
//! - A pair's paths share its tokens before the first of them receives its part: otherwise the first would begin with all of them.
//! - **Maxima** ([`Share::max`]), which the text does not mention: a limiter of the class holds what a host sends, and limiters of its pairs what others receive. Receivers divide their
//!   maximum among the pairs that request a part of it with their probes (`maxima`).
//! - **Weights** (`excessSharing`): what is above all minima can be shared by the weights of services. A pair then has the window of its tokens, and of what equation 3 gives all
//!   pairs together beyond the tokens of all a part by weight; with weights as large as minima that is equation 3.
//! - A pair that has been idle for [`Settings::idle_rtts`] round trips leaves its paths. It begins on the path that it used last if that has room.

mod admission;
mod hose;
mod maxima;
mod monitor;
mod pair;
mod path;
mod registration;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod timer;
mod tokens;

use std::collections::BTreeMap;
use std::convert::Infallible;

use wayleave_scheme_api::{
    Bucket, ClassId, Demand, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Incoming, Limiter,
    MaxGrant, Outgoing, Parameters, PathsChange, Probe, ProbeAnswer, ProbeKind, Role, Share, Weighted,
};
use wayleave_units::{Bytes, Rate, Time};

pub use settings::{
    ClassWeights, ExcessSharing, FullWindowRate, InitialPath, QueueEstimate, Settings, UnusedTokens, WindowGrowth,
    WindowIncrease, WindowUnit,
};
pub use timer::{Action, Timer};

use crate::sparse;
use crate::brokers::NoBroker;
use crate::hosts::{HostBuildError, HostScheme, HostSetup};
use crate::random::SplitMix;
use crate::switches::Ecn;
use hose::Hose;
use maxima::Ledger;
use monitor::PathMonitor;
use pair::{PairContext, SendingPair};
use search::{round_trips, tokens_of};
use tokens::SenderDemand;

/// Descriptor of uFAB.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "ufab",
    title: "uFAB",
    roles: &[Role::Host],
    summary: "Windows from the tokens and load that every link reports, on paths that can serve all guarantees",
    citation: "S. Wang and others, \"Predictable vFabric on Informative Data Plane\", SIGCOMM 2022",
    guarantee: "a tenant that wants it gets its minimum at once, if its placement is feasible; what is left over is shared by minima; queues stay short",
    parameters: Settings::LIST,
};

/// A class at this host.
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

/// A pair that arrives here.
#[derive(Clone, Debug)]
struct Receiving {
    class: ClassId,
    /// Rate that its sender gives it, in bit/s, and the time of that report; `None`: it takes no part.
    given: Option<(u64, Time)>,
    /// Rate and time for a pair that probes candidates and is about to begin. It counts until the pair begins, or
    /// until its answers are lost.
    asked: Option<(u64, Time)>,
    /// Time for which `asked` counts.
    waits: Time,
    /// Its part of this host's maximum, and the time for which it is granted.
    ledger: Ledger,
    lease: Time,
}

impl Receiving {
    /// Returns the rate with which it takes part. Returns `None` if it takes no part, or has been silent for the
    /// switches' cleaning time.
    fn takes_part(&self, now: Time, silent: Time) -> Option<u64> {
        let within = |stated: Option<(u64, Time)>, time| {
            stated.filter(|&(_, at)| now.saturating_sub(at) < time).map(|(given, _)| given)
        };
        within(self.given, silent).or_else(|| within(self.asked, self.waits))
    }
}

/// One machine's edge.
///
/// ```
/// use wayleave_scheme_api::{ClassId, Host, HostInput, Share};
/// use wayleave_schemes::host::ufab::{Settings, Ufab};
/// use wayleave_units::{Rate, Time};
/// let mut edge = Ufab::new(Rate::from_gbit(10), Settings::default(), 1);
/// let hose = Share { min: Rate::from_gbit(2), ..Share::BEST_EFFORT };
/// let mut actions = 0;
/// edge.on(Time::ZERO, HostInput::ClassSet { class: ClassId(1), transmit: hose, receive: hose }, &mut |_| actions += 1);
/// assert_eq!(actions, 1, "its weighted queue");
/// ```
#[derive(Clone, Debug)]
pub struct Ufab {
    settings: Settings,
    line: Rate,
    classes: BTreeMap<ClassId, Class>,
    sending: Vec<Option<SendingPair>>,
    receiving: Vec<Option<Receiving>>,
    random: SplitMix,
    /// No pair is moved before, but from a path that is dead.
    frozen_until: Time,
    monitor: PathMonitor,
    divides: bool,
    is_alive: bool,
    /// Memory of a division.
    demands: Vec<SenderDemand>,
    parts: Vec<u64>,
}

impl Ufab {
    /// A machine without classes. Machines should not share a seed.
    pub fn new(line: Rate, settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            line,
            classes: BTreeMap::new(),
            sending: Vec::new(),
            receiving: Vec::new(),
            random: SplitMix::new(seed),
            frozen_until: Time::ZERO,
            monitor: PathMonitor::default(),
            divides: false,
            is_alive: false,
            demands: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Calls `work` with a pair and its context.
    fn with(
        &mut self,
        now: Time,
        pair: Outgoing,
        key: Option<u64>,
        work: impl FnOnce(&mut SendingPair, &mut PairContext<'_>),
    ) {
        let Self { settings, random, frozen_until, monitor, sending, .. } = self;
        let Some(Some(sending)) = sending.get_mut(pair.index()) else { return };
        if key.is_some_and(|key| key != sending.spec.key) {
            return;
        }
        work(sending, &mut PairContext { now, pair, settings, random, frozen_until, monitor });
    }

    /// The hose of a class is divided among its pairs (E, Algorithm 1).
    fn divide(&mut self, class: ClassId, act: &mut dyn FnMut(Action)) {
        let Self { settings, classes, sending, demands, parts, .. } = self;
        let Some(class) = classes.get(&class) else { return };
        let state = |pair: &Outgoing| sending.get(pair.index()).and_then(Option::as_ref);
        let active = || class.outgoing.iter().filter(|pair| state(pair).is_some_and(SendingPair::is_active));
        demands.clear();
        demands.extend(
            active().filter_map(state).map(|pair| SenderDemand { sends: pair.sends_less(), admitted: pair.admitted() }),
        );
        tokens::assign(class.transmit.min.bits_per_second(), demands, settings.unused_tokens, parts);
        let pairs: Vec<Outgoing> = active().copied().collect();
        let hose = Hose { transmit: class.transmit, receive: class.receive };
        let level = class.transmit.max.map(|max| {
            let mut demands: Vec<u64> = active().filter_map(state).map(SendingPair::demand).collect();
            maxima::level(max.bits_per_second(), &mut demands)
        });
        for (number, &part) in pairs.into_iter().zip(&*parts) {
            if let Some(Some(pair)) = sending.get_mut(number.index()) {
                pair.belongs_to(hose);
                pair.give(part);
                pair.level(level);
                pair.limit(number, act);
            }
        }
    }

    /// All hoses are, every so often while anything is sent.
    fn divide_all(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        self.divides = self.sending.iter().flatten().any(SendingPair::is_active);
        if !self.divides {
            return;
        }
        let classes: Vec<ClassId> = self.classes.keys().copied().collect();
        classes.into_iter().for_each(|class| self.divide(class, act));
        for pair in (0..self.sending.len() as u32).map(Outgoing) {
            if !self.sending[pair.index()].as_ref().is_some_and(SendingPair::is_limited) {
                continue;
            }
            self.with(now, pair, None, |pair, around| pair.renew(around, act));
        }
        act(HostAction::Arm { at: now + self.settings.token_period, timer: Timer::Tokens });
    }

    fn class_of(&self, pair: Outgoing) -> Option<ClassId> {
        Some(self.sending.get(pair.index())?.as_ref()?.spec.class)
    }

    /// Handles a pair that begins or resumes sending.
    fn begins(&mut self, now: Time, pair: Outgoing, is_new: bool, act: &mut dyn FnMut(Action)) {
        if let Some(class) = self.class_of(pair) {
            self.with(now, pair, None, |pair, around| pair.wakes(around, act));
            self.divide(class, act);
        }
        self.with(now, pair, None, |pair, around| match is_new {
            true => pair.open(around, act),
            false => pair.begins(around, act),
        });
        if !std::mem::replace(&mut self.divides, true) {
            act(HostAction::Arm { at: now + self.settings.token_period, timer: Timer::Tokens });
        }
        if !std::mem::replace(&mut self.is_alive, true) {
            act(HostAction::Arm { at: now + self.keep_alive(), timer: Timer::Alive });
        }
    }

    fn keep_alive(&self) -> Time {
        Time::from_nanos((self.settings.pair_expiry.as_nanos() / 4).max(1))
    }

    fn on_timer(&mut self, now: Time, timer: Timer, act: &mut dyn FnMut(Action)) {
        match timer {
            Timer::Lost { pair, key, path, change } => {
                self.with(now, pair, Some(key), |pair, around| pair.lost(path, change, around, act));
            }
            Timer::Search { pair, key, serial } => {
                self.with(now, pair, Some(key), |pair, around| pair.searched(serial, around, act));
            }
            Timer::Idle { pair, key } => self.with(now, pair, Some(key), |pair, around| pair.idle(around, act)),
            Timer::Better { pair, key, path } => {
                self.with(now, pair, Some(key), |pair, around| pair.compare(path, around, act));
            }
            Timer::Tokens => self.divide_all(now, act),
            Timer::Alive => {
                let every = self.keep_alive();
                let pairs: Vec<Outgoing> = (0..self.sending.len() as u32).map(Outgoing).collect();
                for pair in pairs {
                    self.with(now, pair, None, |pair, around| pair.keep_alive(every, around, act));
                }
                self.is_alive = self.sending.iter().flatten().any(SendingPair::is_active);
                if self.is_alive {
                    act(HostAction::Arm { at: now + every, timer: Timer::Alive });
                }
            }
        }
    }

    /// Grants a pair its part of the class's receiving maximum here; `None` if there is no maximum.
    fn grant(&mut self, now: Time, pair: Incoming, probe: &Probe) -> Option<MaxGrant> {
        let state = self.receiving.get_mut(pair.index())?.as_mut()?;
        state.ledger.request(now, &probe.request, state.lease);
        let class = self.classes.get(&state.class)?;
        let max = class.receive.max?.bits_per_second();
        let ledger = |other: &Incoming| Some(&self.receiving.get(other.index())?.as_ref()?.ledger);
        let mut demands: Vec<u64> = class.incoming.iter().filter_map(ledger).map(|other| other.wanted(now)).collect();
        let others = class.incoming.iter().filter(|&&other| other != pair).filter_map(ledger);
        let left = max.saturating_sub(others.map(|other| other.held(now)).fold(0, u64::saturating_add));
        let level = maxima::level(max, &mut demands);
        Some(self.receiving.get_mut(pair.index())?.as_mut()?.ledger.grant(level, left))
    }

    fn close(&mut self, pair: Outgoing) {
        let Some(closed) = self.sending.get_mut(pair.index()).and_then(Option::take) else { return };
        if let Some(class) = self.classes.get_mut(&closed.spec.class) {
            class.outgoing.retain(|&other| other != pair);
        }
    }
}

/// The weighted queue of a class, of eight (4.1): 7 for half of the line and more, each below for half as much.
pub fn level(min: Rate, line: Rate) -> u32 {
    let halves =
        line.bits_per_second().checked_div(min.bits_per_second()).map_or(u32::MAX, |times| times.max(1).ilog2());
    7_u32.saturating_sub(halves.saturating_sub(1))
}

/// The weight of a class at the interface of its host.
fn weight(min: Rate, line: Rate, turns: ClassWeights) -> u32 {
    match turns {
        ClassWeights::Minimum => u32::try_from(min.bits_per_second().div_ceil(1_000)).unwrap_or(u32::MAX).max(1),
        ClassWeights::AsPrinted => 1 << level(min, line),
    }
}

impl Described for Ufab {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl HostScheme for Ufab {
    type Broker = NoBroker<Infallible>;

    fn build(setup: &mut HostSetup<'_>, settings: &Settings) -> Result<Self, HostBuildError> {
        let seed = (setup.phase)(Time::MAX).as_nanos();
        Ok(Self::new(setup.line.transmit, settings.clone(), seed))
    }

    fn core(settings: &Settings) -> Option<Ecn> {
        Some(Ecn::UfabCore(settings.core()))
    }

    fn not_carried_out(settings: &Settings) -> &'static [&'static str] {
        match settings.excess_sharing {
            ExcessSharing::Minima => &["transmit.weight", "receive.weight"],
            ExcessSharing::Weights => &["receive.weight"],
        }
    }

    fn wire_bytes(message: &Infallible) -> usize {
        match *message {}
    }
}

/// Of a limiter: two packets, so that what waits for a turn at the line is not lost.
const BURST: Bytes = Bytes::new(3_000);

fn bucket(rate: Rate) -> Bucket {
    Bucket { rate, burst: BURST, excess: ExcessAction::Waits }
}

impl Host for Ufab {
    type Message = Infallible;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: HostInput<'_, Infallible, Timer>, act: &mut impl FnMut(Action)) {
        match input {
            HostInput::ClassSet { class, transmit, receive } => {
                let state = self.classes.entry(class).or_default();
                let was_limited = state.transmit.max.is_some();
                (state.transmit, state.receive) = (transmit, receive);
                if was_limited || transmit.max.is_some() {
                    act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket: transmit.max.map(bucket) });
                }
                let weight = weight(transmit.min, self.line, self.settings.class_weights);
                act(HostAction::SetWeight { of: Weighted::Class(class), weight });
                self.divide(class, act);
            }
            HostInput::ClassGone { class } => {
                self.classes.remove(&class);
            }
            HostInput::Opened { pair, spec } => {
                self.classes.entry(spec.class).or_default().outgoing.push(pair);
                sparse::set(&mut self.sending, pair.index(), SendingPair::new(spec));
                self.begins(now, pair, true, act);
            }
            HostInput::Closed { pair } => self.close(pair),
            HostInput::Demand { pair, demand: Demand::Begins } => self.begins(now, pair, false, act),
            HostInput::Demand { pair, demand: Demand::Ends } => {
                self.with(now, pair, None, |pair, around| pair.ends(around, act));
            }
            HostInput::Sent { pair, path, bytes } => {
                self.with(now, pair, None, |pair, around| pair.sent(path, bytes.get(), around, act));
            }
            HostInput::ProbeReturned { pair, path, probe, outcome, hops, round_trip } => {
                self.with(now, pair, Some(probe.pair), |pair, around| {
                    pair.measured(path, round_trip);
                    pair.returned((path, &probe, outcome), hops, around, act);
                });
            }
            HostInput::PathsChanged { pair, paths, change } => {
                self.with(now, pair, None, |pair, around| match change {
                    PathsChange::Added => pair.spec.paths = paths,
                    PathsChange::Replaced => pair.replaced(paths, around, act),
                })
            }
            HostInput::IncomingOpened { pair, spec } => {
                self.classes.entry(spec.class).or_default().incoming.push(pair);
                let waits = round_trips(spec.round_trip, self.settings.probe_timeout_rtts);
                let lease = maxima::lease(spec.round_trip, &self.settings);
                let (class, ledger) = (spec.class, Ledger::default());
                let receiving = Receiving { class, given: None, asked: None, waits, ledger, lease };
                sparse::set(&mut self.receiving, pair.index(), receiving);
            }
            HostInput::IncomingClosed { pair } => {
                let closed = self.receiving.get_mut(pair.index()).and_then(Option::take);
                if let Some(class) = closed.and_then(|closed| self.classes.get_mut(&closed.class)) {
                    class.incoming.retain(|&other| other != pair);
                }
            }
            HostInput::Timer(timer) => self.on_timer(now, timer, act),
            HostInput::Started
            | HostInput::Received { .. }
            | HostInput::ReferenceWeight { .. }
            | HostInput::Message { .. } => {}
        }
    }

    /// Returns the receiver's side of Algorithm 1: the admitted part of the rate that the sender gives.
    fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
        let unit = self.settings.unit_bandwidth.bits_per_second();
        let given = probe.tokens.saturating_mul(unit);
        let Some(Some(state)) = self.receiving.get_mut(pair.index()) else { return ProbeAnswer::default() };
        match probe.kind {
            ProbeKind::Active => (state.given, state.asked) = (Some((given, now)), None),
            ProbeKind::Finish => (state.given, state.asked) = (None, None),
            ProbeKind::Candidate if self.settings.admit_before_send => state.asked = Some((given, now)),
            ProbeKind::Candidate => {}
        }
        let class = state.class;
        let grant = self.grant(now, pair, probe);
        let Some(class) = self.classes.get(&class) else { return ProbeAnswer::default() };
        let hose = class.receive.min.bits_per_second();
        if hose == 0 || probe.kind == ProbeKind::Finish {
            return ProbeAnswer { tokens: None, grant };
        }
        let silent = self.settings.pair_expiry;
        let received = |other: &&Incoming| {
            let state = self.receiving.get(other.index())?.as_ref()?;
            state.takes_part(now, silent).filter(|_| **other != pair)
        };
        let mut all = vec![given];
        all.extend(class.incoming.iter().filter_map(|other| received(&other)));
        let admitted = tokens::admit(hose, &all).first().copied().flatten();
        ProbeAnswer { tokens: admitted.map(|admitted| tokens_of(admitted, self.settings.unit_bandwidth)), grant }
    }
}
