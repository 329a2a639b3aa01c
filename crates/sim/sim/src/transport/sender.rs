//! The sending half: transmissions and acknowledgements. Losses and timers are in [`super::recovery`].

use wayleave_scenarios::Pacing;
use wayleave_scheme_api::{Ack, Flow, FlowStart, IntHop, RecoveryPhase, RouteFacts, SendLimit};
use wayleave_schemes::transports::AnyFlow;
use wayleave_units::Time;

use super::flight::Flight;
use super::probe::{Feedback, Finding, Pending, Prober};
use super::rack::{Rack, Transmission};
use super::timer::{LONGEST, NEVER, RetransmissionTimer};
use crate::clock::{self, Instant};
use crate::packet::Block;

/// Endless flows have this many segments.
pub(super) const ENDLESS: u32 = u32::MAX;

/// Number of segments in flight for which a flow has room from the start; more on demand.
const MAX_ROOM: u32 = 64;

/// Task of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Payload; `None` never ends.
    pub(crate) size: Option<u64>,
    /// Payload of a full segment.
    pub(crate) segment: u32,
    /// In full segments.
    pub(crate) initial_window: u32,
    /// In full segments.
    pub(crate) max_window: u32,
    pub(crate) min_timeout: Time,
    /// The time-out before the first sample of the round trip.
    pub(crate) first_timeout: Time,
    pub(crate) deadline: Option<Time>,
    pub(crate) pacing: Pacing,
}

impl Setup {
    /// As congestion control sees it.
    pub(crate) fn flow_start(&self) -> FlowStart {
        FlowStart {
            segment: self.segment,
            initial_window: u64::from(self.initial_window) * u64::from(self.segment),
            max_window: u64::from(self.max_window) * u64::from(self.segment),
            size: self.size,
            deadline: self.deadline,
            weight: 1,
        }
    }
}

/// Next action of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SenderStep {
    /// It sends this segment with this payload, as a first transmission or a retransmission.
    Send { sequence: u32, bytes: u32, is_again: bool, is_partial: bool },
    /// It may not send before.
    At(Instant),
    /// It waits for acknowledgements, or has nothing to send.
    Wait,
}

/// State of loss repair, up to which segment (RecoveryPoint of RFC 6675).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    None,
    /// After later acknowledgements.
    Fast {
        until: u32,
    },
    /// After a time-out.
    Timeout {
        until: u32,
    },
}

/// Next transmission, which may ignore the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueSegment {
    /// Segments that the window permits.
    Window,
    /// The first segment that is lost, after a time-out (RFC 6298, 5.4), or when a loss is found (RFC 6675, 5, step 4.3).
    First,
    /// A tail loss probe.
    Probe,
    /// Nothing before the answer of a probe of less than a segment, or the time-out.
    Answer,
}

/// Answer to a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentReply<'a> {
    /// The segment that is answered.
    pub(crate) sequence: u32,
    /// Time at which that segment was sent.
    pub(crate) sent: Instant,
    /// Segment that the receiver expects next.
    pub(crate) expected: u32,
    /// Block around the segment, if it arrived out of order.
    pub(crate) block: Block,
    /// `true` if the segment was marked.
    pub(crate) is_marked: bool,
    /// `true` if it had arrived before (D-SACK, RFC 2883).
    pub(crate) is_duplicate: bool,
    /// `true` if it answers a probe of the sender, which carried no whole segment.
    pub(crate) is_partial: bool,
    pub(crate) telemetry: &'a [IntHop],
}

/// Result of an acknowledgement at a sender, before it is passed to congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// Payload newly acknowledged.
    pub(crate) newly: u64,
    /// Of that, marked by the network.
    pub(crate) marked: u64,
    limit: SendLimit,
    round_trip: Instant,
}

/// One flow at its sender.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) control: AnyFlow,
    pub(super) flight: Flight,
    pub(super) timer: RetransmissionTimer,
    pub(super) rack: Rack,
    pub(super) prober: Prober,
    /// Time of the next judgement of losses (RACK's reordering timer).
    pub(super) judge_at: Instant,
    pub(super) repair: Repair,
    /// Time at which the window last shrank for a loss.
    pub(super) shrank_at: Instant,
    pub(super) due: DueSegment,
    pub(super) segments: u32,
    /// Segments that the application has written; usually all.
    pub(super) available: u32,
    pub(super) segment: u32,
    last_bytes: u32,
    max_window: u32,
    pacing: Pacing,
    /// Paced flows send nothing before.
    pub(super) pace_at: Instant,
}

impl Sender {
    pub(crate) fn new(setup: &Setup, control: AnyFlow) -> Self {
        let segment = setup.segment.max(1);
        let (segments, last_bytes) = match setup.size {
            None => (ENDLESS, segment),
            Some(size) => {
                let full = size.div_ceil(u64::from(segment)).clamp(1, u64::from(ENDLESS - 1));
                let last = size.saturating_sub((full - 1) * u64::from(segment)).clamp(1, u64::from(segment));
                (full as u32, last as u32)
            }
        };
        let timeouts = [setup.min_timeout, setup.first_timeout].map(clock::from_time);
        Self {
            control,
            flight: Flight::new(segments.min(setup.initial_window).min(MAX_ROOM)),
            timer: RetransmissionTimer::new(timeouts[0], timeouts[1]),
            rack: Rack::new(),
            prober: Prober::new(),
            judge_at: NEVER,
            repair: Repair::None,
            shrank_at: 0,
            due: DueSegment::Window,
            segments,
            available: segments,
            segment,
            last_bytes,
            max_window: setup.max_window,
            pacing: setup.pacing,
            pace_at: 0,
        }
    }

    /// Everything was acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.flight.first() == self.segments
    }

    /// Payload of a full segment.
    pub(crate) fn segment(&self) -> u32 {
        self.segment
    }

    /// Returns the number of segments; `None` if without end.
    pub(crate) fn segments(&self) -> Option<u32> {
        Some(self.segments).filter(|&segments| segments != ENDLESS)
    }

    /// Sets the number of segments available now. It is at least the number already sent.
    pub(crate) fn make_available(&mut self, segments: u32) {
        self.available = segments.clamp(self.flight.next(), self.segments);
    }

    /// Returns the number of segments in this payload: whole ones, and the last one as soon as it is complete.
    pub(crate) fn whole_segments(&self, bytes: u64) -> u32 {
        let whole = bytes / u64::from(self.segment);
        if self.segments != ENDLESS && bytes >= self.bytes_until(self.segments) {
            return self.segments;
        }
        u32::try_from(whole).unwrap_or(ENDLESS).min(self.segments.saturating_sub(1))
    }

    /// Returns the payload of the first `segments` segments, more than zero.
    fn bytes_until(&self, segments: u32) -> u64 {
        u64::from(segments - 1) * u64::from(self.segment) + u64::from(self.bytes_of(segments - 1))
    }

    /// Returns the payload that is needed before the next segment can be sent for the first time, if the sender waits
    /// for that.
    pub(crate) fn starved_of(&self) -> Option<u64> {
        let next = self.flight.next();
        (next == self.available && self.available < self.segments).then(|| self.bytes_until(next + 1))
    }

    /// Returns the bytes that were written and not sent yet, with this overhead for each segment.
    pub(crate) fn unsent(&self, overhead: u32) -> u64 {
        let count = u64::from(self.available.saturating_sub(self.flight.next()));
        match self.available.checked_sub(1) {
            Some(last) if count > 0 => {
                (count - 1) * u64::from(self.segment) + u64::from(self.bytes_of(last)) + count * u64::from(overhead)
            }
            _ => 0,
        }
    }

    /// Left to send or to be acknowledged.
    #[inline]
    pub(crate) fn remaining(&self) -> u64 {
        if self.segments == ENDLESS {
            return u64::from(u32::MAX);
        }
        match self.segments - self.flight.first() {
            0 => 0,
            left => u64::from(left - 1) * u64::from(self.segment) + u64::from(self.last_bytes),
        }
    }

    /// Payload that was never sent, if it is known.
    pub(crate) fn unsent_payload(&self) -> Option<u64> {
        let all = self.segments()?;
        let sent = self.flight.next();
        Some(if sent >= all { 0 } else { self.bytes_until(all) - u64::from(sent) * u64::from(self.segment) })
    }

    /// Returns the urgency of the next segment: from the payload not known to have arrived (pFabric, SIGCOMM 2013).
    #[inline]
    pub(crate) fn urgency(&self) -> u64 {
        let arrived = u64::from(self.flight.arrived()) * u64::from(self.segment);
        self.control.urgency(self.remaining().saturating_sub(arrived))
    }

    fn bytes_of(&self, sequence: u32) -> u32 {
        if sequence + 1 == self.segments { self.last_bytes } else { self.segment }
    }

    /// Returns `true` if the window is open; below one segment, one at a time.
    #[inline]
    pub(super) fn has_window(&self) -> bool {
        let in_flight = self.flight.in_flight();
        let after = (u64::from(in_flight) + 1) * u64::from(self.segment);
        after <= self.control.window() || in_flight == 0
    }

    #[inline]
    fn may_send(&self) -> bool {
        match self.due {
            DueSegment::Window => self.has_window(),
            DueSegment::First | DueSegment::Probe => true,
            DueSegment::Answer => false,
        }
    }

    #[inline]
    fn has_to_send(&self) -> bool {
        self.flight.next() < self.available || self.flight.has_to_send_again() || self.due == DueSegment::Probe
    }

    /// Returns the next action; a segment that is returned counts as sent.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> SenderStep {
        if !self.has_to_send() || !self.may_send() {
            return SenderStep::Wait;
        }
        if self.pace_at > now {
            return SenderStep::At(self.pace_at);
        }
        let payload = self.control.payload(self.segment);
        if payload < self.segment {
            return self.probe(now, payload.max(1));
        }
        let (sequence, is_again) = match self.take_due() {
            DueSegment::Probe => self.tail_probe(now),
            DueSegment::Window if self.flight.is_in_order() => (self.flight.send(now), false),
            DueSegment::Window | DueSegment::First | DueSegment::Answer => match self.flight.send_again(now) {
                Some(sequence) => (sequence, true),
                None if self.flight.next() < self.available => (self.flight.send(now), false),
                None => return SenderStep::Wait,
            },
        };
        let bytes = self.bytes_of(sequence);
        self.pace_at = self.earliest_after(now, bytes);
        if is_again && sequence == self.flight.first() {
            // The "more careful variant" of RFC 6675, section 6, for the segment that the timer waits for.
            self.timer.restart(now);
        } else {
            self.timer.start(now);
        }
        if !is_again {
            self.schedule_probe(now);
        }
        self.control.on_send(clock::to_time(now), bytes);
        SenderStep::Send { sequence, bytes, is_again, is_partial: false }
    }

    #[inline]
    fn take_due(&mut self) -> DueSegment {
        std::mem::replace(&mut self.due, DueSegment::Window)
    }

    /// A tail loss probe: new data if the receiver has room for it, or the last segment again (RFC 8985, 7.3).
    #[cold]
    fn tail_probe(&mut self, now: Instant) -> (u32, bool) {
        let next = self.flight.next();
        if next < self.available && next - self.flight.first() < self.max_window {
            self.prober.is_sent(Pending::NewData { end: next + 1 });
            return (self.flight.send(now), false);
        }
        self.prober.is_sent(Pending::Again { end: next });
        (self.flight.send_last_again(now), true)
    }

    /// Sends a part of the first segment that is missing, to learn whether anything gets through (pFabric, SIGCOMM 2013,
    /// section 4.3). The segment itself counts as not sent.
    #[cold]
    fn probe(&mut self, now: Instant, payload: u32) -> SenderStep {
        self.due = DueSegment::Answer;
        self.timer.restart(now);
        self.control.on_send(clock::to_time(now), payload);
        SenderStep::Send { sequence: self.flight.first(), bytes: payload, is_again: true, is_partial: true }
    }

    /// Its pair has another weight.
    pub(crate) fn set_weight(&mut self, now: Instant, weight: u32) {
        self.control.on_weight(clock::to_time(now), weight);
    }

    /// Its packets take this route from now on.
    pub(crate) fn set_route(&mut self, now: Instant, route: RouteFacts) {
        self.control.on_route(clock::to_time(now), route);
        self.timer.fix(self.control.fixed_timeout().map(clock::from_time));
    }

    /// Returns `true` if congestion control has to be notified of routes.
    pub(crate) fn receives_routes(&self) -> bool {
        self.control.receives_routes()
    }

    /// Returns the payload that [`Self::poll`] sends next, or more: a retransmission counts as a full segment.
    pub(crate) fn next_bytes(&self) -> u32 {
        let next = self.flight.next();
        let is_again = self.flight.has_to_send_again() || self.due == DueSegment::Probe;
        if is_again || next >= self.segments { self.segment } else { self.bytes_of(next) }
    }

    /// Returns `true` if [`Self::poll`] would send now.
    #[inline]
    pub(crate) fn can_send(&self, now: Instant) -> bool {
        self.wants_to_send() && self.pace_at <= now
    }

    /// Returns `true` if it would send without pacing.
    #[inline]
    pub(crate) fn wants_to_send(&self) -> bool {
        self.may_send() && self.has_to_send()
    }

    /// Returns the time from which pacing permits the next segment.
    #[inline]
    pub(crate) fn paced_until(&self) -> Instant {
        self.pace_at
    }

    /// Returns the time from which a paced sender may send the next segment; also for one whose window is below one
    /// segment.
    #[inline]
    fn earliest_after(&self, now: Instant, bytes: u32) -> Instant {
        if let Some(rate) = self.control.pacing() {
            return now + clock::transmission(u64::from(bytes), rate);
        }
        let window = self.control.window().max(1);
        let smoothed = self.timer.smoothed();
        let share = |bytes: u32| (smoothed.saturating_mul(u64::from(bytes)) / window).min(LONGEST);
        if window < u64::from(self.segment) && smoothed > 0 {
            return now + share(self.segment);
        }
        match self.pacing {
            Pacing::Off => 0,
            // RFC 9002, section 7.7: 1.25 windows in a round trip.
            Pacing::Window => now + share(bytes) / 5 * 4,
        }
    }

    /// Processes an acknowledgement. `remark` receives the newly acknowledged payload, its part that the network
    /// marked, and the remaining payload. It returns the amount that counts as marked. Returns the newly acknowledged
    /// payload.
    #[inline]
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        answer: &SegmentReply<'_>,
        remark: impl FnOnce(u64, u64, u64) -> u64,
    ) -> u64 {
        let account = self.account_for(now, answer);
        if account.newly > 0 || answer.is_partial {
            let marked = remark(account.newly, account.marked, self.remaining());
            self.conclude(now, answer, account, marked);
        }
        account.newly
    }

    /// Processes the first half of an acknowledgement: its information on segments and losses. [`Self::conclude`]
    /// follows.
    #[inline]
    pub(crate) fn account_for(&mut self, now: Instant, answer: &SegmentReply<'_>) -> Account {
        let limit = if self.has_window() && self.due != DueSegment::Answer {
            SendLimit::Application
        } else {
            SendLimit::Window
        };
        let round_trip = now - answer.sent;
        self.timer.sample(round_trip);
        self.rack.sample(now, round_trip);
        self.prober.sample();
        if answer.is_partial {
            self.due = DueSegment::Window;
            // Earlier segments usually count as lost; the next transmission restarts the timer.
            if self.flight.in_flight() == 0 {
                self.timer.stop()
            } else {
                self.timer.restart(now)
            }
            return Account { newly: 0, marked: 0, limit, round_trip };
        }
        let newly = match self.is_usual(answer) {
            true => self.account_in_order(now, answer),
            false => self.account_out_of_order(now, answer),
        };
        let newly = u64::from(newly) * u64::from(self.segment);
        Account { newly, marked: if answer.is_marked { newly } else { 0 }, limit, round_trip }
    }

    /// Returns `true` if everything is in order, before and after: no loss is likely, and no probe is open.
    #[inline]
    fn is_usual(&self, answer: &SegmentReply<'_>) -> bool {
        self.flight.is_in_order()
            && answer.block.end <= answer.expected
            && !answer.is_duplicate
            && self.repair == Repair::None
            && self.prober.is_idle()
    }

    #[inline]
    fn account_in_order(&mut self, now: Instant, answer: &SegmentReply<'_>) -> u32 {
        let first = self.flight.first();
        let Some(latest) = self.flight.advance_in_order(answer.expected) else { return 0 };
        self.rack.update_in_order(now, latest);
        self.timer.end_backoff();
        self.set_timers(now, true);
        self.flight.first() - first
    }

    fn account_out_of_order(&mut self, now: Instant, answer: &SegmentReply<'_>) -> u32 {
        let first = self.flight.first();
        let newly = self.acknowledge(now, answer);
        if answer.is_duplicate {
            self.rack.on_duplicate(self.flight.first(), self.flight.next());
        }
        let has_advanced = self.flight.first() > first;
        let is_bare = newly == 0 && answer.block.end <= answer.expected;
        let duplicate = answer.is_duplicate.then_some(answer.sequence);
        if self.prober.on_answer(Feedback { first: answer.expected, duplicate, is_bare }) == Finding::Repaired {
            self.notify_loss(now);
        }
        if let Repair::Fast { until } | Repair::Timeout { until } = self.repair
            && self.flight.first() >= until
        {
            self.repair = Repair::None;
            self.rack.on_recovered();
        }
        self.judge(now);
        if newly > 0 {
            self.timer.end_backoff();
            self.set_timers(now, has_advanced);
        }
        newly
    }

    /// Processes the acknowledgement's information on segments; returns the number of newly acknowledged ones.
    fn acknowledge(&mut self, now: Instant, answer: &SegmentReply<'_>) -> u32 {
        let mut latest: Option<Transmission> = None;
        let rack = &mut self.rack;
        let newly = self.flight.acknowledge(answer.expected, answer.block, |transmission, is_again| {
            if rack.on_delivered(now, answer.sent, transmission, is_again) {
                latest = latest.max(Some(transmission));
            }
        });
        if let Some(latest) = latest {
            rack.update(now, latest);
        }
        newly
    }

    /// After an acknowledgement of something new; `has_advanced`: in order.
    #[inline]
    fn set_timers(&mut self, now: Instant, has_advanced: bool) {
        if self.flight.in_flight() == 0 {
            // There is nothing to wait for (RFC 6298, 5.2); what is sent next starts it anew.
            self.timer.stop();
        } else if has_advanced {
            self.timer.restart(now);
        }
        if has_advanced && self.due == DueSegment::First || self.due == DueSegment::Probe {
            self.due = DueSegment::Window;
        }
        self.prober.cancel();
        if has_advanced && self.flight.in_flight() > 0 {
            self.schedule_probe(now);
        }
    }

    /// Processes the second half: congestion control receives the newly acknowledged amount, `marked` bytes with a
    /// mark.
    #[inline]
    pub(crate) fn conclude(&mut self, now: Instant, answer: &SegmentReply<'_>, account: Account, marked: u64) {
        if account.newly == 0 && !answer.is_partial {
            return;
        }
        let segment = u64::from(self.segment);
        self.control.on_ack(
            clock::to_time(now),
            &Ack {
                newly: account.newly,
                marked,
                acknowledged: u64::from(self.flight.first()) * segment,
                sent: u64::from(self.flight.next()) * segment,
                in_flight: u64::from(self.flight.in_flight()) * segment,
                remaining: self.segments().map(|_| self.remaining()),
                round_trip: Some(clock::to_time(account.round_trip)),
                host_delay: None,
                limit: account.limit,
                phase: if matches!(self.repair, Repair::Fast { .. }) {
                    RecoveryPhase::Recovery
                } else {
                    RecoveryPhase::Open
                },
                telemetry: answer.telemetry,
            },
        );
    }
}
