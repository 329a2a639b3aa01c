//! Acknowledgements at a sender, their evidence of losses, and its three timers.
//!
//! | timer | of | expires | then |
//! |---|---|---|---|
//! | retransmission | RFC 6298 | when nothing was acknowledged in order for a time-out | the first segment is lost, the window starts again |
//! | probe | RFC 8985, 7 | when nothing arrived for two round trips, and nothing is known to be lost | one more segment, to get an answer |
//! | reordering | RFC 8985, 6.2 | when a late segment has become too late | it is lost |
//!
//! A loss shrinks the window once for each window of data: again if a segment, or a retransmission, is lost that was
//! sent after the window last shrank (RFC 5681, 4.3; RFC 6675, RecoveryPoint; RFC 8985, 9.3).
//!
//! If congestion control fixes the time-out (pFabric), it alone detects losses: all outstanding segments are lost
//! when it expires, and the other two timers do not run.
//!
//! Deviation: the retransmission timer runs beside the other two, whereas RFC 8985 (8) has one timer for all. A probe
//! that leaves restarts it, as the text requires (7.3). A probe time-out that may send nothing does not; otherwise an
//! application that writes now and then would defer it for ever.

use wayleave_scheme_api::{Ack, Flow, IntHop, Loss, RecoveryPhase, SendLimit};

use super::flight::LossRule;
use super::probe::{Feedback, Finding, MAX_ACK_DELAY, probe_timeout};
use super::rack::Transmission;
use super::sender::{DueSegment, Repair, Sender};
use super::timer::NEVER;
use crate::clock::{self, Instant};
use crate::packet::Block;

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

impl Sender {
    /// Returns the time at which the time-out or probe timer expires, which is usually deferred before. [`NEVER`] if
    /// none runs.
    #[inline]
    pub(crate) fn timeout_at(&self) -> Instant {
        self.timer.at().min(self.prober.at())
    }

    /// Returns the time at which the reordering timer expires; [`NEVER`] if it does not run.
    #[inline]
    pub(crate) fn judge_at(&self) -> Instant {
        self.judge_at
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

    /// Finds what is lost (RACK_detect_loss_and_arm_timer).
    fn judge(&mut self, now: Instant) {
        self.judge_at = NEVER;
        if self.timer.is_fixed() {
            return;
        }
        let Some(latest) = self.rack.latest() else { return };
        let since = self.new_episode_since();
        let rule = LossRule { latest, lost_after: self.rack.round_trip() + self.reordering_window(), since };
        let judgement = self.flight.judge(now, &rule);
        self.judge_at = judgement.again_at;
        if judgement.is_new_episode {
            self.repair = Repair::Fast { until: self.flight.next() };
            // The first one leaves at once (RFC 6675, 5, step 4.3); the others as the window lets them.
            self.due = DueSegment::First;
            self.prober.reset();
            self.notify_loss(now);
        }
    }

    fn reordering_window(&self) -> Instant {
        self.rack.window(self.repair != Repair::None, self.flight.arrived(), self.timer.smoothed())
    }

    /// The window shrinks.
    fn notify_loss(&mut self, now: Instant) {
        self.shrank_at = now;
        let in_flight = u64::from(self.flight.in_flight()) * u64::from(self.segment);
        self.control.on_loss(clock::to_time(now), Loss::Fast { in_flight });
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

    /// The probe time-out begins, unless losses are known or may be near: those are RACK's (RFC 8985, 7.2).
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        // Segments that an acknowledgement releases usually leave with it.
        if self.prober.is_scheduled(now) || self.timer.is_fixed() {
            return;
        }
        let smoothed = self.timer.smoothed();
        let is_open = self.repair == Repair::None && (self.flight.is_in_order() || self.flight.arrived() == 0);
        if smoothed > 0 && is_open {
            let left = self.timer.at().saturating_sub(now);
            let (in_flight, tick) = (self.flight.in_flight(), self.timer.granularity());
            self.prober.schedule(now, probe_timeout(smoothed, in_flight, MAX_ACK_DELAY, tick, left));
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

    /// Handles the timers that are due. Returns `true` if the retransmission timer was one.
    pub(crate) fn on_timer(&mut self, now: Instant) -> bool {
        if self.judge_at <= now {
            self.judge(now);
        }
        if self.prober.at() <= now && self.prober.on_timeout() {
            self.due = DueSegment::Probe;
            // The last resort is deferred, or it would expire together with the probe (RFC 8985, 7.3).
            self.timer.restart(now);
            return false;
        }
        let is_due = self.timer.at() <= now;
        if is_due {
            self.time_out(now);
        }
        is_due
    }

    /// Something that was sent has not left its host: neither a probe nor a time-out is due yet, as in Linux
    /// (`skb_still_in_host_queue`).
    #[cold]
    pub(crate) fn put_off_timers(&mut self, now: Instant) {
        if self.prober.at() <= now {
            self.prober.cancel();
            self.timer.restart(now);
        }
        if self.timer.at() <= now {
            self.timer.restart(now);
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298, 5.4 to 5.6; RFC 8985, 6.3).
    fn time_out(&mut self, now: Instant) {
        let in_flight = u64::from(self.flight.in_flight()) * u64::from(self.segment);
        let lost_after = if self.timer.is_fixed() { 0 } else { self.rack.round_trip() + self.reordering_window() };
        self.flight.time_out(now, lost_after);
        self.repair = Repair::Timeout { until: self.flight.next() };
        self.shrank_at = now;
        self.control.on_loss(clock::to_time(now), Loss::Timeout { in_flight });
        self.prober.reset();
        self.judge_at = NEVER;
        // The segment starts the timer when it leaves.
        self.timer.back_off();
        self.timer.stop();
        self.due = DueSegment::First;
        self.pace_at = 0;
    }
}
