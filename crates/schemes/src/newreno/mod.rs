//! NewReno: additive increase, half the window after a loss.
//!
//! M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681, 2009; S. Floyd et al., "The NewReno
//! Modification to TCP's Fast Recovery Algorithm", RFC 6582, 2012; M. Allman, "TCP Congestion Control with Appropriate
//! Byte Counting", RFC 3465, 2003. What is lost and what is sent again is the transport's business (RFC 6675).
//!
//! | text | here |
//! |---|---|
//! | RFC 5681, eq. 2, with RFC 3465, 2.2: slow start | [`NewReno::grow`] below the threshold |
//! | RFC 3465, 2.1: a segment for each window that is acknowledged | [`NewReno::grow`] above it |
//! | RFC 5681, eq. 4: half, at least two segments | `on_loss` |
//! | RFC 5681, section 3.1: one segment after a time-out | `on_loss` |
//! | RFC 7661's concern: no growth while the window is not used | [`NewReno::grow`], by [`Limit`] |
//!
//! Deviations:
//! - The threshold is half the window, not half of what is in flight (as Linux does): the window does not grow while it
//!   is not used, so the two are close, and what is lost needs no guess.
//! - L of RFC 3465 stays at two segments after a time-out, where the RFC advises one.
//! - The window is not inflated during recovery: the transport counts what is in flight exactly.

use wayleave_policy::{Ack, Flow, FlowStart, Limit, Loss, Phase};
use wayleave_units::Time;

/// The window of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    segment: u64,
    window: u64,
    threshold: u64,
    max_window: u64,
    /// Acknowledged since the window last grew above the threshold.
    counted: u64,
}

impl NewReno {
    /// In slow start.
    pub fn new(start: &FlowStart) -> Self {
        let segment = u64::from(start.segment.max(1));
        let max_window = start.max_window.max(segment);
        Self {
            segment,
            window: start.initial_window.clamp(segment, max_window),
            threshold: u64::MAX,
            max_window,
            counted: 0,
        }
    }

    /// What an acknowledgement adds; nothing during recovery, or while something else than the window holds the flow
    /// back.
    pub fn grow(&mut self, ack: &Ack<'_>) {
        if ack.phase == Phase::Recovery || ack.limit == Limit::Application {
            return;
        }
        if self.window < self.threshold {
            self.window += ack.newly.min(2 * self.segment);
        } else {
            self.counted += ack.newly;
            if self.counted >= self.window {
                self.counted -= self.window;
                self.window += self.segment;
            }
        }
        self.window = self.window.min(self.max_window);
    }

    /// The window becomes this, and slow start is over.
    pub(crate) fn reduce_to(&mut self, window: u64) {
        self.window = window.clamp(self.segment, self.max_window);
        self.threshold = self.window.max(2 * self.segment);
        self.counted = 0;
    }
}

impl Flow for NewReno {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.grow(ack);
    }

    fn on_loss(&mut self, _now: Time, loss: Loss) {
        self.threshold = (self.window / 2).max(2 * self.segment);
        self.counted = 0;
        self.window = match loss {
            Loss::Fast { .. } => self.threshold.min(self.max_window),
            Loss::Timeout { .. } => self.segment,
        };
    }

    fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests;
