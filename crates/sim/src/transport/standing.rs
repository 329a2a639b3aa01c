//! Where a sender stands, for whoever looks whether it is steady; and the segments that it need not send.

use wayleave_roles::Flow;
use wayleave_schemes::transports::AnyFlow;

use super::sender::{ENDLESS, Sender};
use crate::clock::Instant;

/// Where a sender stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Segments that are acknowledged without a gap.
    pub(crate) acknowledged: u32,
    /// When the latest of them was, by the sender's clock.
    pub(crate) at: Instant,
    /// Segments under way.
    pub(crate) in_flight: u32,
    /// What congestion control lets be under way, in bytes, also where less is.
    pub(crate) window: u64,
    /// What it remembers of marks: alpha of DCTCP, which goes on to change where the window does not.
    pub(crate) memory: f64,
    /// Segments that were never sent; `None` without end.
    pub(crate) unsent: Option<u32>,
    /// The smoothed round trip, 0 before the first sample.
    pub(crate) round_trip: Instant,
}

impl Sender {
    pub(crate) fn standing(&self) -> Standing {
        Standing {
            acknowledged: self.flight.first(),
            at: self.rack.heard_at(),
            in_flight: self.flight.in_flight(),
            window: self.control.window(),
            memory: if let AnyFlow::Dctcp(flow) = &self.control { flow.alpha() } else { 0.0 },
            unsent: self.segments().map(|segments| segments.saturating_sub(self.flight.next())),
            round_trip: self.timer.smoothed(),
        }
    }

    /// So many segments, fewer than are unsent, count as sent and acknowledged. Numbers on the way stay what they are: there are fewer
    /// segments behind them.
    pub(crate) fn skip(&mut self, segments: u32) {
        if self.segments != ENDLESS {
            let is_all = self.available == self.segments;
            self.segments -= segments.min(self.segments - self.flight.next());
            self.available = if is_all { self.segments } else { self.available.min(self.segments) };
        }
    }
}
