//! Losses at a sender: their detection, and its three timers.
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

use wayleave_scheme_api::{Flow, Loss};

use super::flight::LossRule;
use super::probe::{MAX_ACK_DELAY, probe_timeout};
use super::rack::Transmission;
use super::sender::{DueSegment, Repair, Sender};
use super::timer::NEVER;
use crate::clock::{self, Instant};

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

    /// Finds what is lost (RACK_detect_loss_and_arm_timer).
    pub(super) fn judge(&mut self, now: Instant) {
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
    pub(super) fn notify_loss(&mut self, now: Instant) {
        self.shrank_at = now;
        let in_flight = u64::from(self.flight.in_flight()) * u64::from(self.segment);
        self.control.on_loss(clock::to_time(now), Loss::Fast { in_flight });
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

    /// Returns the start of a new episode of losses: transmissions by their numbers, retransmissions by their times.
    pub(super) fn new_episode_since(&self) -> Transmission {
        match self.repair {
            Repair::None => (0, 0),
            Repair::Fast { until } | Repair::Timeout { until } => (self.shrank_at, until),
        }
    }
}
