//! Underlay congestion control (III-B): one host's tunnels, as senders and as receivers.

use std::collections::BTreeMap;

use wayleave_scheme_api::{
    Arrivals, BrokerId, Bucket, ClassId, ExcessAction, Host, HostAction, HostInput, Incoming, Limiter, MessageOrigin,
    Outgoing, PairSpec, PathIndex, Peer, Weighted,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::sparse;
use super::control::{Period, TunnelControl, TunnelTerms, TunnelUse, own_period};
use super::division::Division;
use super::message::Message;
use super::params::FRAME;
use super::params::{Params, RateLaw};

/// SetWeight has 32 bits: kbit/s go up to 4.29 Tbit/s.
const KILO: u64 = 1_000;

/// Number of periods for which an idle tunnel that resumes does not yield, so that the tunnels that took its share
/// do.
const GRACE: u32 = 10;

/// Number of periods without a packet after which a tunnel counts as idle. It is much longer than the grace, or
/// becoming idle for a moment would pay.
const IDLE: u32 = 100;

/// Number of periods without a packet after which nothing is in flight any more, even without feedback.
const LANDED: u32 = 10;

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The receiver of a pair reports arrivals to its sender; the second number separates successive pairs with one
    /// number.
    Feedback(Incoming, u32),
    /// The host reports to the trackers.
    Report,
}

/// A tunnel at its sender.
#[derive(Clone, Debug)]
struct SenderTunnel {
    class: ClassId,
    control: TunnelControl,
    /// W', of its division's unit.
    reference: u64,
    /// Rate in bit/s that it needs whatever its weight.
    floor: u64,
    /// W in bit/s.
    weight: u64,
    /// Weight of its turns at the interface, if that was ever another than its weight.
    turns: Option<u32>,
    /// As its limiter is set.
    rate: u64,
    in_flight: InFlight,
    /// Unused part of its allowance, in bits.
    spare: u64,
    /// Time at which that was computed.
    counted_at: Time,
    /// Time of the last sent packet.
    sent_at: Time,
    usage: TunnelUse,
    /// Time of the first sent packet since the last feedback.
    unheard_since: Option<Time>,
    /// Time of the last feedback, or of its opening.
    received_at: Time,
}

/// Bytes in flight of a tunnel: its rate for a round trip and a period (or two round trips) at most, so that a rate which is too much fills a queue no further than that
/// (docs/theory/scc.md, "Control law"). The window itself is the stack's; here it is counted whether the tunnel has reached it, from its feedback.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Number of paths, and a round trip without queues.
    paths: u32,
    round_trip: Time,
    window: u64,
    /// Bytes sent without feedback yet.
    bytes: u64,
}

/// A tunnel at its receiver.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    /// Distinguishes this pair from an earlier one with the same number.
    epoch: u32,
    bytes: u64,
    marked: u64,
    lost: u64,
    clock: Clock,
}

/// A periodic timer that stops while there is nothing to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Stopped,
    Running,
}

/// Configuration of a host.
#[derive(Clone, Debug)]
pub(super) struct HostLocation {
    /// The rate of its line.
    pub(super) line: Rate,
    /// Its divisions, best effort among them.
    pub(super) divisions: BTreeMap<ClassId, Division>,
    /// Time of its first report, so that hosts do not report in step.
    pub(super) phase: Time,
}

/// An action of this host.
pub(super) type Action = HostAction<Message, Timer>;

/// The underlay of one host.
#[derive(Clone, Debug)]
pub struct Scc {
    params: Params,
    line: u64,
    phase: Time,
    divisions: BTreeMap<ClassId, Division>,
    /// Sum of the shares of its divisions, at least its line.
    shares: u64,
    sending: Vec<Option<SenderTunnel>>,
    receiving: Vec<Option<Receiving>>,
    epochs: u32,
    /// Time of the last mark or loss among arrivals here.
    disturbed_at: Time,
    reports: Clock,
}

impl Scc {
    /// A host without tunnels.
    pub(super) fn new(place: HostLocation, params: Params) -> Self {
        let line = place.line.bits_per_second().max(1);
        let shares = place.divisions.values().map(Division::share).fold(0, u64::saturating_add);
        Self {
            params,
            line,
            shares: shares.max(line),
            phase: place.phase,
            divisions: place.divisions,
            sending: Vec::new(),
            receiving: Vec::new(),
            epochs: 0,
            disturbed_at: Time::ZERO,
            reports: Clock::Stopped,
        }
    }

    /// The rate and the weight of a tunnel, if there is one.
    pub fn tunnel(&self, pair: Outgoing) -> Option<(Rate, Rate)> {
        let sending = self.sending.get(pair.index())?.as_ref()?;
        Some((Rate::from_bits_per_second(sending.rate), Rate::from_bits_per_second(sending.weight)))
    }

    fn open(&mut self, now: Time, pair: Outgoing, spec: &PairSpec, act: &mut impl FnMut(Action)) {
        self.close(pair);
        let class = spec.class;
        let weight = self.divisions.get(&class).map_or(0, Division::first_weight);
        let sending = SenderTunnel {
            class,
            control: TunnelControl::new(own_period(self.params.feedback_period, weight)),
            reference: 0,
            floor: 0,
            weight,
            turns: None,
            rate: 0,
            in_flight: InFlight { paths: spec.paths, round_trip: spec.round_trip, window: u64::MAX, bytes: 0 },
            spare: 0,
            counted_at: now,
            sent_at: now,
            usage: TunnelUse::Full,
            unheard_since: None,
            received_at: now,
        };
        sparse::set(&mut self.sending, pair.index(), sending);
        self.send_weight(pair, act);
        self.set_rate(now, pair, act);
    }

    fn close(&mut self, pair: Outgoing) {
        if let Some(sending) = self.sending.get_mut(pair.index()).and_then(Option::take)
            && let Some(division) = self.divisions.get_mut(&sending.class)
        {
            division.change(sending.reference, 0);
        }
    }

    /// A tunnel would like this weight, and needs this rate whatever its weight.
    fn refer(&mut self, now: Time, pair: Outgoing, (reference, floor): (u64, u64), act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let Some(division) = self.divisions.get_mut(&sending.class) else { return };
        let is_first = division.own() == 0;
        division.change(sending.reference, reference);
        sending.reference = reference;
        let before = std::mem::replace(&mut sending.floor, floor);
        self.weigh(now, pair, act);
        if before != floor {
            self.set_turns(pair, act);
            self.set_rate(now, pair, act);
        }
        if is_first && reference > 0 {
            let class = self.sending[pair.index()].as_ref().map(|sending| sending.class);
            class.into_iter().for_each(|class| self.report(class, act));
        }
        if self.reports == Clock::Stopped && reference > 0 {
            self.reports = Clock::Running;
            act(HostAction::Arm { at: now + self.phase, timer: Timer::Report });
        }
    }

    /// Sets a tunnel's weight from the current information (equation 4).
    fn weigh(&mut self, now: Time, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let Some(division) = self.divisions.get(&sending.class) else { return };
        let Some(weight) = division.weight(sending.reference, &self.params) else { return };
        if std::mem::replace(&mut sending.weight, weight) != weight {
            self.send_weight(pair, act);
            self.set_rate(now, pair, act);
        }
    }

    fn send_weight(&mut self, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get(pair.index()) else { return };
        act(HostAction::SetWeight { of: Weighted::Pair(pair), weight: in_kbit(sending.weight) });
        self.set_turns(pair, act);
    }

    /// Sets the weight of a tunnel's turns at the interface: its weight, or enough for its floor beside all divisions of the host.
    fn set_turns(&mut self, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        if sending.floor == 0 && sending.turns.is_none() {
            return;
        }
        let enough = u128::from(sending.floor) * u128::from(self.shares) / u128::from(self.line);
        let turns = in_kbit(u64::try_from(enough).unwrap_or(u64::MAX).max(sending.weight));
        if sending.turns.replace(turns) != Some(turns) {
            act(HostAction::SetWeight { of: Weighted::Turns(pair), weight: turns });
        }
    }

    /// Sets the limiter of a tunnel, if its rate is another than before.
    fn set_rate(&mut self, now: Time, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let rate = sending.control.rate(sending.terms(self.line, &self.params), &self.params);
        if sending.rate != rate {
            sending.settle(now, self.params.feedback_period);
            sending.rate = rate;
            if self.params.rate_law == RateLaw::Weighted {
                let window = sending.in_flight.set_window(rate, &self.params);
                for path in (0..sending.in_flight.paths).map(PathIndex) {
                    act(HostAction::SetWindow { pair, path, window: Some(window) });
                }
            }
            let rate = Rate::from_bits_per_second(rate);
            let bucket = Some(Bucket { rate, burst: self.params.burst, excess: ExcessAction::Waits });
            act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket });
        }
    }

    fn on_sent(&mut self, now: Time, pair: Outgoing, bytes: Bytes, act: &mut impl FnMut(Action)) {
        let period = self.params.feedback_period;
        let periods = |count: u32| Time::from_nanos(period.as_nanos().saturating_mul(count.into()));
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        if sending.settle(now, period) == TunnelUse::Partial && now.saturating_sub(sending.sent_at) > periods(IDLE) {
            sending.control.wake(GRACE);
        }
        sending.spare = sending.spare.saturating_sub(bytes.get().saturating_mul(8));
        if now.saturating_sub(sending.sent_at) > periods(LANDED) {
            sending.in_flight.bytes = 0;
        }
        sending.in_flight.bytes = sending.in_flight.bytes.saturating_add(bytes.get());
        sending.sent_at = now;
        let since = *sending.unheard_since.get_or_insert(now);
        if now.saturating_sub(since) > periods(self.params.feedback_timeout) {
            sending.unheard_since = Some(now);
            sending.control.give_up_half(sending.terms(self.line, &self.params));
            self.set_rate(now, pair, act);
        }
    }

    /// Handles feedback on arrivals from the other end of a tunnel.
    fn on_feedback(
        &mut self,
        now: Time,
        pair: Outgoing,
        (arrived, clear): ((u64, u64, u64), Time),
        act: &mut impl FnMut(Action),
    ) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let span = sending.in_flight.span(self.params.feedback_period);
        let Some(period) = Period::of(arrived, clear.as_nanos() / span.as_nanos().max(1)) else { return };
        let terms = sending.terms(self.line, &self.params);
        sending.unheard_since = None;
        let elapsed = now.saturating_sub(std::mem::replace(&mut sending.received_at, now));
        sending.in_flight.on_acknowledged(period.bytes());
        let usage = match std::mem::replace(&mut sending.usage, TunnelUse::Full) {
            // Packets that its window holds back count as used.
            TunnelUse::Partial if !sending.in_flight.is_full() => TunnelUse::Partial,
            _ => TunnelUse::Full,
        };
        sending.control.on_period(period, elapsed, usage, terms, &self.params);
        self.set_rate(now, pair, act);
    }

    fn on_received(&mut self, now: Time, pair: Incoming, arrivals: Arrivals, act: &mut impl FnMut(Action)) {
        let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { return };
        receiving.bytes = receiving.bytes.saturating_add(arrivals.bytes.get());
        receiving.marked = receiving.marked.saturating_add(arrivals.marked.get());
        receiving.lost = receiving.lost.saturating_add(arrivals.lost.get());
        if arrivals.marked.get() > 0 || arrivals.lost.get() > 0 {
            self.disturbed_at = now;
        }
        if receiving.clock == Clock::Stopped {
            receiving.clock = Clock::Running;
            let timer = Timer::Feedback(pair, receiving.epoch);
            act(HostAction::Arm { at: now + self.params.feedback_period, timer });
        }
    }

    fn feed_back(&mut self, now: Time, pair: Incoming, epoch: u32, act: &mut impl FnMut(Action)) {
        let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { return };
        if receiving.epoch != epoch {
            return;
        }
        let Receiving { bytes, marked, lost, .. } = *receiving;
        if bytes == 0 {
            receiving.clock = Clock::Stopped;
            return;
        }
        (receiving.bytes, receiving.marked, receiving.lost) = (0, 0, 0);
        let clear = now.saturating_sub(self.disturbed_at);
        act(HostAction::Send { to: Peer::Sender(pair), message: Message::Feedback { bytes, marked, lost, clear } });
        act(HostAction::Arm { at: now + self.params.feedback_period, timer: Timer::Feedback(pair, epoch) });
    }

    /// Reports the sum of the reference weights of a division's tunnels here to its trackers.
    fn report(&mut self, class: ClassId, act: &mut impl FnMut(Action)) {
        let Some(division) = self.divisions.get_mut(&class) else { return };
        let sum = division.own();
        for (tracker, answer) in division.report(&self.params) {
            let message = Message::Report { division: class, sum, answer };
            act(HostAction::Send { to: Peer::Broker(tracker), message });
        }
    }

    fn report_all(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        let due: Vec<ClassId> =
            self.divisions.iter().filter(|(_, division)| division.has_report()).map(|(&class, _)| class).collect();
        if due.is_empty() {
            self.reports = Clock::Stopped;
            return;
        }
        due.into_iter().for_each(|class| self.report(class, act));
        act(HostAction::Arm { at: now + self.params.report_interval, timer: Timer::Report });
    }

    /// Handles a tracker's scale of a division: its tunnels here get new weights.
    fn on_scale(
        &mut self,
        now: Time,
        (from, class): (BrokerId, ClassId),
        feedback: (u64, u64, u64),
        act: &mut impl FnMut(Action),
    ) {
        let Some(division) = self.divisions.get_mut(&class) else { return };
        division.on_scale(from, feedback);
        for index in 0..self.sending.len() {
            if self.sending[index].as_ref().is_some_and(|sending| sending.class == class) {
                self.weigh(now, Outgoing(index as u32), act);
            }
        }
    }
}

impl SenderTunnel {
    fn terms(&self, line: u64, params: &Params) -> TunnelTerms {
        TunnelTerms {
            weight: self.weight,
            floor: params.min_rate.bits_per_second(),
            needed: self.floor.min(line),
            line,
        }
    }

    /// Counts what it could have sent since it was last counted. A tunnel that leaves more than two periods and two frames unused does not
    /// fill its rate.
    fn settle(&mut self, now: Time, period: Time) -> TunnelUse {
        let bits = |time: Time| {
            let bits = u128::from(self.rate) * u128::from(time.as_nanos()) / 1_000_000_000;
            u64::try_from(bits).unwrap_or(u64::MAX)
        };
        let most = bits(period).saturating_mul(2).saturating_add(2 * 8 * FRAME);
        let could = self.spare.saturating_add(bits(now.saturating_sub(self.counted_at)));
        (self.spare, self.counted_at) = (could.min(most), now);
        if could < most {
            return TunnelUse::Full;
        }
        self.usage = TunnelUse::Partial;
        TunnelUse::Partial
    }
}

impl InFlight {
    /// A period, or a round trip if that is longer: sooner nothing shows what became of a rate.
    fn span(&self, period: Time) -> Time {
        period.max(self.round_trip)
    }

    /// Sets and returns the window at a rate. Each of several paths may carry the whole window: successive packets
    /// take one path for a long time.
    fn set_window(&mut self, rate: u64, params: &Params) -> Bytes {
        let time = u128::from(self.round_trip.as_nanos())
            + u128::from(params.in_flight_periods) * u128::from(self.span(params.feedback_period).as_nanos());
        let window = u128::from(rate) * time / 8_000_000_000;
        self.window = u64::try_from(window).unwrap_or(u64::MAX).max(FRAME);
        Bytes::new(self.window)
    }

    /// Subtracts bytes that arrived or were lost. Bytes without feedback are at most the window.
    fn on_acknowledged(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes).min(self.window);
    }

    /// Returns `true` if the next packets may have to wait for the window.
    fn is_full(&self) -> bool {
        self.bytes.saturating_add(2 * FRAME) > self.window
    }
}

/// As weights are set.
fn in_kbit(weight: u64) -> u32 {
    u32::try_from(weight / KILO).unwrap_or(u32::MAX).max(1)
}

impl Host for Scc {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: HostInput<'_, Message, Timer>, act: &mut impl FnMut(Action)) {
        match input {
            HostInput::Sent { pair, bytes, .. } => self.on_sent(now, pair, bytes, act),
            HostInput::Received { pair, arrivals } => self.on_received(now, pair, arrivals, act),
            HostInput::Message {
                from: MessageOrigin::Receiver(pair),
                message: Message::Feedback { bytes, marked, lost, clear },
            } => {
                self.on_feedback(now, pair, ((bytes, marked, lost), clear), act);
            }
            HostInput::Message {
                from: MessageOrigin::Broker(from),
                message: Message::Scale { division, share, sum, own },
            } => {
                self.on_scale(now, (from, division), (share, sum, own), act);
            }
            HostInput::Timer(Timer::Feedback(pair, epoch)) => self.feed_back(now, pair, epoch, act),
            HostInput::Timer(Timer::Report) => self.report_all(now, act),
            HostInput::ReferenceWeight { pair, weight, floor } => {
                self.refer(now, pair, (weight, floor.bits_per_second()), act);
            }
            HostInput::Opened { pair, spec } => self.open(now, pair, &spec, act),
            HostInput::Closed { pair } => self.close(pair),
            HostInput::IncomingOpened { pair, .. } => {
                self.epochs = self.epochs.wrapping_add(1);
                let epoch = self.epochs;
                let receiving = Receiving { epoch, bytes: 0, marked: 0, lost: 0, clock: Clock::Stopped };
                sparse::set(&mut self.receiving, pair.index(), receiving);
            }
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
