//! The sending half: what to send next, what was acknowledged, what was lost.

use wayleave_roles::{Ack, Flow, FlowStart, IntHop, Limit, Loss, Phase, RouteFacts};
use wayleave_scenarios::Pacing;
use wayleave_schemes::transports::AnyFlow;
use wayleave_units::Time;

use super::scoreboard::{Change, Scoreboard};
use crate::clock::{self, Instant, PS_PER_SECOND};
use crate::packet::Block;

/// Endless flows have this many segments.
const ENDLESS: u32 = u32::MAX;

/// The time-out before the first sample of the round trip (RFC 6298, section 2.1), in ps.
const FIRST_TIMEOUT: Instant = PS_PER_SECOND;

/// No time-out is longer (RFC 6298, section 2.5: at least 60 s), in ps.
const LONGEST_TIMEOUT: Instant = 60 * PS_PER_SECOND;

/// What a sender has to do.
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

/// What comes back for a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    /// The segment that is answered.
    pub(crate) sequence: u32,
    /// When that was sent.
    pub(crate) sent: Instant,
    /// What the receiver expects next.
    pub(crate) expected: u32,
    /// What arrived around the segment, if out of order.
    pub(crate) block: Block,
    /// Whether the segment was marked.
    pub(crate) is_marked: bool,
    /// Whether it answers a probe of the sender, which carried no whole segment.
    pub(crate) is_partial: bool,
    pub(crate) telemetry: &'a [IntHop],
}

/// What a sender does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It sends this segment with so much payload, for the first time or again.
    Send { sequence: u32, bytes: u32, is_again: bool, is_partial: bool },
    /// It may not send before.
    At(Instant),
    /// It waits for acknowledgements, or has nothing to send.
    Wait,
}

/// Whether losses are being repaired, up to which segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
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

/// One flow at its sender.
#[derive(Debug)]
pub(crate) struct Sender {
    control: AnyFlow,
    /// The first segment that has not been acknowledged.
    unacknowledged: u32,
    /// The first that was never sent.
    next: u32,
    /// Sent, neither acknowledged nor taken for lost.
    in_flight: u32,
    segments: u32,
    segment: u32,
    last_bytes: u32,
    repair: Repair,
    /// When the time-out strikes, if nothing happens.
    timeout_at: Instant,
    /// Paced flows send nothing before.
    pace_at: Instant,
    smoothed: Instant,
    variation: Instant,
    min_timeout: Instant,
    backoff: u32,
    pacing: Pacing,
    /// A probe of less than a segment is out: nothing else is sent before its answer, or the time-out.
    is_probing: bool,
    /// Only while something arrives out of order.
    scoreboard: Option<Box<Scoreboard>>,
}

/// What an acknowledgement told a sender, between being accounted for and being told to congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// Payload newly acknowledged.
    pub(crate) newly: u64,
    /// Of that, marked by the network.
    pub(crate) marked: u64,
    limit: Limit,
    round_trip: Instant,
}

/// No time-out is pending.
pub(crate) const NEVER: Instant = Instant::MAX;

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
        Self {
            control,
            unacknowledged: 0,
            next: 0,
            in_flight: 0,
            segments,
            segment,
            last_bytes,
            repair: Repair::None,
            timeout_at: NEVER,
            pace_at: 0,
            smoothed: 0,
            variation: 0,
            min_timeout: clock::from_time(setup.min_timeout),
            backoff: 0,
            pacing: setup.pacing,
            is_probing: false,
            scoreboard: None,
        }
    }

    /// Everything was acknowledged.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.unacknowledged == self.segments
    }

    /// Payload of a full segment.
    pub(crate) fn segment(&self) -> u32 {
        self.segment
    }

    /// How many segments there are; `None` if without end.
    pub(crate) fn segments(&self) -> Option<u32> {
        Some(self.segments).filter(|&segments| segments != ENDLESS)
    }

    /// When it has to be woken: for a time-out, [`NEVER`] if none is pending.
    #[inline]
    pub(crate) fn timeout_at(&self) -> Instant {
        self.timeout_at
    }

    /// Left to send or to be acknowledged.
    #[inline]
    pub(crate) fn remaining(&self) -> u64 {
        if self.segments == ENDLESS {
            return u64::from(u32::MAX);
        }
        match self.segments - self.unacknowledged {
            0 => 0,
            left => u64::from(left - 1) * u64::from(self.segment) + u64::from(self.last_bytes),
        }
    }

    /// How urgent the next segment is.
    #[inline]
    pub(crate) fn urgency(&self) -> u64 {
        self.control.urgency(self.remaining())
    }

    fn bytes_of(&self, sequence: u32) -> u32 {
        if sequence + 1 == self.segments { self.last_bytes } else { self.segment }
    }

    /// Whether the window is open; below one segment, one at a time.
    #[inline]
    fn has_window(&self) -> bool {
        let after = (u64::from(self.in_flight) + 1) * u64::from(self.segment);
        (after <= self.control.window() || self.in_flight == 0) && !self.is_probing
    }

    fn has_to_send(&self) -> bool {
        self.next < self.segments || self.scoreboard.as_ref().is_some_and(|board| board.has_to_send_again())
    }

    /// What to do now; a segment that is returned counts as sent.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Next {
        if !self.has_to_send() || !self.has_window() {
            return Next::Wait;
        }
        if self.pace_at > now {
            return Next::At(self.pace_at);
        }
        let payload = self.control.payload(self.segment);
        if payload < self.segment {
            return self.probe(now, payload.max(1));
        }
        let again = self.scoreboard.as_mut().and_then(|board| board.send_again());
        let (sequence, is_again) = match again {
            Some(sequence) => (sequence, true),
            None if self.next < self.segments => {
                self.next += 1;
                (self.next - 1, false)
            }
            None => return Next::Wait,
        };
        let bytes = self.bytes_of(sequence);
        self.in_flight += 1;
        self.pace_at = self.earliest_after(now, bytes);
        if self.timeout_at == NEVER {
            self.timeout_at = now + self.timeout();
        }
        self.control.on_send(clock::to_time(now), bytes);
        Next::Send { sequence, bytes, is_again, is_partial: false }
    }

    /// Sends a part of the first segment that is missing, to learn whether anything gets through (pFabric, SIGCOMM 2013,
    /// section 4.3). The segment itself counts as not sent.
    #[cold]
    fn probe(&mut self, now: Instant, payload: u32) -> Next {
        self.is_probing = true;
        self.timeout_at = now + self.timeout();
        self.control.on_send(clock::to_time(now), payload);
        Next::Send { sequence: self.unacknowledged, bytes: payload, is_again: true, is_partial: true }
    }

    /// Its pair has another weight.
    pub(crate) fn set_weight(&mut self, now: Instant, weight: u32) {
        self.control.on_weight(clock::to_time(now), weight);
    }

    /// Its packets take this route from now on.
    pub(crate) fn set_route(&mut self, now: Instant, route: RouteFacts) {
        self.control.on_route(clock::to_time(now), route);
    }

    /// Whether congestion control has to hear of routes.
    pub(crate) fn hears_routes(&self) -> bool {
        self.control.hears_routes()
    }

    /// Payload of what [`Self::poll`] sends next, or more: what is sent again counts as a full segment.
    pub(crate) fn next_bytes(&self) -> u32 {
        let is_again = self.scoreboard.as_ref().is_some_and(|board| board.has_to_send_again());
        if is_again || self.next >= self.segments { self.segment } else { self.bytes_of(self.next) }
    }

    /// Whether [`Self::poll`] would send now.
    #[inline]
    pub(crate) fn can_send(&self, now: Instant) -> bool {
        self.wants_to_send() && self.pace_at <= now
    }

    /// Whether it would send if time were no matter.
    #[inline]
    pub(crate) fn wants_to_send(&self) -> bool {
        self.has_window() && self.has_to_send()
    }

    /// When pacing lets the next segment go.
    #[inline]
    pub(crate) fn paced_until(&self) -> Instant {
        self.pace_at
    }

    /// When a paced sender may send the next segment; also one whose window is below one segment.
    #[inline]
    fn earliest_after(&self, now: Instant, bytes: u32) -> Instant {
        if let Some(rate) = self.control.pacing() {
            return now + clock::transmission(u64::from(bytes), rate);
        }
        let window = self.control.window().max(1);
        let share = |bytes: u32| (self.smoothed.saturating_mul(u64::from(bytes)) / window).min(LONGEST_TIMEOUT);
        if window < u64::from(self.segment) && self.smoothed > 0 {
            return now + share(self.segment);
        }
        match self.pacing {
            Pacing::Off => 0,
            // RFC 9002, section 7.7: 1.25 windows in a round trip.
            Pacing::Window => now + share(bytes) / 5 * 4,
        }
    }

    /// An acknowledgement. `remark` is told how much payload is newly acknowledged, how much of it the network marked, and
    /// what is left, and says how much counts as marked. Returns what is newly acknowledged.
    #[inline]
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        answer: &Answer<'_>,
        remark: impl FnOnce(u64, u64, u64) -> u64,
    ) -> u64 {
        let account = self.account_for(now, answer);
        if account.newly > 0 || answer.is_partial {
            let marked = remark(account.newly, account.marked, self.remaining());
            self.conclude(now, answer, account, marked);
        }
        account.newly
    }

    /// The first half of an acknowledgement: what it says about segments and losses. [`Self::conclude`] follows.
    #[inline]
    pub(crate) fn account_for(&mut self, now: Instant, answer: &Answer<'_>) -> Account {
        let limit = if self.has_window() { Limit::Application } else { Limit::Window };
        let round_trip = now - answer.sent;
        self.sample(round_trip);
        if answer.is_partial {
            self.is_probing = false;
            self.timeout_at = NEVER;
            return Account { newly: 0, marked: 0, limit, round_trip };
        }
        let change = self.account(answer);
        self.in_flight -= change.left_flight.min(self.in_flight);
        if change.newly_lost > 0 && self.repair == Repair::None {
            self.repair = Repair::Fast { until: self.next };
            let in_flight = u64::from(self.in_flight) * u64::from(self.segment);
            self.control.on_loss(clock::to_time(now), Loss::Fast { in_flight });
        }
        if let Repair::Fast { until } | Repair::Timeout { until } = self.repair
            && self.unacknowledged >= until
        {
            self.repair = Repair::None;
        }
        if change.newly > 0 {
            self.backoff = 0;
            // Without anything in flight there is nothing to wait for (RFC 6298, 5.2); the next segment sets it anew.
            self.timeout_at = if self.in_flight == 0 { NEVER } else { now + self.timeout() };
        }
        let newly = u64::from(change.newly) * u64::from(self.segment);
        Account { newly, marked: if answer.is_marked { newly } else { 0 }, limit, round_trip }
    }

    /// The second half: congestion control hears of what is new, `marked` of it with a mark.
    #[inline]
    pub(crate) fn conclude(&mut self, now: Instant, answer: &Answer<'_>, account: Account, marked: u64) {
        if account.newly == 0 && !answer.is_partial {
            return;
        }
        let segment = u64::from(self.segment);
        self.control.on_ack(
            clock::to_time(now),
            &Ack {
                newly: account.newly,
                marked,
                acknowledged: u64::from(self.unacknowledged) * segment,
                sent: u64::from(self.next) * segment,
                in_flight: u64::from(self.in_flight) * segment,
                remaining: (self.segments != ENDLESS).then(|| self.remaining()),
                round_trip: Some(clock::to_time(account.round_trip)),
                host_delay: None,
                limit: account.limit,
                phase: if matches!(self.repair, Repair::Fast { .. }) { Phase::Recovery } else { Phase::Open },
                telemetry: answer.telemetry,
            },
        );
    }

    /// What the acknowledgement says about segments.
    #[inline]
    fn account(&mut self, answer: &Answer<'_>) -> Change {
        let Some(board) = &mut self.scoreboard else {
            if answer.block.end <= answer.expected.max(self.unacknowledged) {
                let newly = answer.expected.saturating_sub(self.unacknowledged);
                self.unacknowledged += newly;
                return Change { newly, left_flight: newly, newly_lost: 0 };
            }
            self.scoreboard = Some(Box::new(Scoreboard::new(self.unacknowledged)));
            return self.account(answer);
        };
        self.unacknowledged = self.unacknowledged.max(answer.expected);
        let change = board.acknowledge(self.unacknowledged, answer.sequence, answer.block);
        if board.is_clear() {
            self.scoreboard = None;
        }
        change
    }

    /// RFC 6298, section 2: alpha 1/8, beta 1/4.
    #[inline]
    fn sample(&mut self, round_trip: Instant) {
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (round_trip.max(1), round_trip / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(round_trip)) / 4;
            self.smoothed = (7 * self.smoothed + round_trip) / 8;
        }
    }

    fn timeout(&self) -> Instant {
        let base = if self.smoothed == 0 {
            FIRST_TIMEOUT.min(self.min_timeout.saturating_mul(10))
        } else {
            self.smoothed + 4 * self.variation
        };
        let base = base.max(self.min_timeout);
        base.checked_shl(self.backoff.min(20)).map_or(LONGEST_TIMEOUT, |timeout| timeout.min(LONGEST_TIMEOUT))
    }

    /// The time-out strikes, if it is due; whether it did.
    pub(crate) fn on_timer(&mut self, now: Instant) -> bool {
        if now < self.timeout_at {
            return false;
        }
        let in_flight = u64::from(self.in_flight) * u64::from(self.segment);
        let board = self.scoreboard.get_or_insert_with(|| Box::new(Scoreboard::new(self.unacknowledged)));
        board.lose_all(self.next);
        self.in_flight = 0;
        self.is_probing = false;
        self.repair = Repair::Timeout { until: self.next };
        self.control.on_loss(clock::to_time(now), Loss::Timeout { in_flight });
        self.backoff += 1;
        self.pace_at = 0;
        self.timeout_at = NEVER;
        true
    }
}
