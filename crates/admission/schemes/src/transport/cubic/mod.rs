//! CUBIC: growth by a cubic function of the time since the last reduction.
//!
//! L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert (ed.), "CUBIC for Fast and Long-Distance Networks", RFC 9438 (2023).
//!
//! After a loss the window is 0.7 of its value before. It returns on a curve that is steep at first, flat at the
//! window of the loss (W_max), and steep again beyond. Growth depends on time and not on round trips, which avoids a
//! disadvantage of long paths. If additive increase would be faster, at small windows and short round trips, that is
//! used instead (W_est). A flow that lost at a smaller window than before gives up more (fast convergence).
//!
//! | text | here |
//! |---|---|
//! | 4.2, (1): `W_cubic(t) = C (t - K)^3 + W_max`; (2): K | [`Curve`] |
//! | 4.3, (4): W_est, alpha_cubic = 3 (1 - beta) / (1 + beta), 1 from cwnd_prior on | `estimate` |
//! | 4.2, 4.4, 4.5: target in [cwnd, 1.5 cwnd], (target - cwnd) / cwnd per segment | `avoid_congestion` |
//! | 4.6: ssthresh = 0.7 flight size, at least 2 segments | `reduced` |
//! | 4.7: fast convergence | `remember` |
//! | 4.8: time-out: slow start, then K = 0 and W_max = cwnd | `on_loss`, `begin` |
//! | 5.8: time in which the application had nothing to send does not count | `Stage::Paused` |
//! | RFC 3465, 2.2 and 2.3: slow start in bytes | `slow_start` |
//!
//! Deviations:
//! - No HyStart++ (4.10, SHOULD): slow start ends by a loss, as in RFC 5681.
//! - Nothing is undone when a loss turns out to be none (4.9): the transport does not report this.
//! - It does not react to congestion marks (4.6): its packets are not ECN-capable.
//! - One acknowledgement of several segments counts once for each segment, each at the same window and target (the
//!   text of 4.4 is "for each received ACK", which delayed acknowledgements would halve).
//! - An acknowledgement without a round trip aims at `W_cubic(t)` instead of `W_cubic(t + RTT)`.
//! - Windows are real numbers of segments, as in the text. Only the four operations are used, also for the cube root,
//!   so that every machine computes equal values.
//! - No window is above 1 GiB ([`MAX_WINDOW`](crate::transport::newreno::MAX_WINDOW)).

mod curve;

use wayleave_scheme_api::{Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, params};
use wayleave_units::Time;

use crate::transports::Transport;

pub use curve::{BETA, Curve, SCALE};

use crate::transport::newreno::{History, Limits, flight, may_grow, saturate};

/// alpha_cubic: what additive increase adds per round trip so that it is as fast as NewReno's, in segments (4.3).
const FRIENDLY_INCREASE: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// No target is more than this times the window (4.2).
const STEEPEST: f64 = 1.5;

/// No threshold is lower, in segments (4.6; RFC 5681, equation 4).
const MIN_THRESHOLD: f64 = 2.0;

/// Descriptor of CUBIC.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    title: "CUBIC",
    roles: &[Role::Transport],
    summary: "Growth by a cubic function of the time since the last loss",
    citation: "L. Xu and others, \"CUBIC for Fast and Long-Distance Networks\", RFC 9438 (2023)",
    guarantee: "nothing to a single flow; shares depend less on round-trip times than with NewReno",
    parameters: Params::LIST,
};

params! {
    /// CUBIC's parameters: its texts fix all of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {}
}

/// Congestion control of one flow by CUBIC.
///
/// ```
/// use wayleave_scheme_api::{Flow, FlowStart, Loss};
/// use wayleave_schemes::transport::cubic::Cubic;
/// use wayleave_units::Time;
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 100_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
/// };
/// let mut flow = Cubic::new(&start);
/// flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 100_000 });
/// assert_eq!(flow.window(), 70_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    stage: Stage,
    /// cwnd, in segments.
    window: f64,
    /// W_est, in segments.
    estimate: f64,
    /// K, in s.
    plateau_after: f64,
    /// W_max, in bytes; 0 if the next curve begins with its plateau.
    plateau: u32,
    /// cwnd_prior, in bytes.
    prior: u32,
    /// ssthresh, in bytes.
    threshold: u32,
    max_window: u32,
    /// FlightSize after the latest acknowledgement, in bytes.
    outstanding: u32,
    segment: u32,
}

/// Position of a flow on its curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// On none: slow start, or a curve begins with the next growth.
    Off(History),
    /// On a curve that began then.
    On {
        /// `t` is 0.
        since: Time,
    },
    /// The application has nothing to send: time does not count.
    Paused {
        /// `t`.
        at: Time,
    },
}

impl Cubic {
    /// A flow that begins with its initial window, in slow start.
    pub fn new(start: &FlowStart) -> Self {
        let limits = Limits::new(start);
        let window = f64::from(limits.initial) / f64::from(limits.segment);
        Self {
            stage: Stage::Off(History::Calm),
            window,
            estimate: window,
            plateau_after: 0.0,
            plateau: 0,
            prior: 0,
            threshold: limits.max_window,
            max_window: limits.max_window,
            outstanding: 0,
            segment: limits.segment,
        }
    }

    /// From where on growth is cubic (ssthresh), in bytes.
    pub fn threshold(&self) -> u64 {
        u64::from(self.threshold)
    }

    /// The curve that the flow is on, or was on last.
    pub fn curve(&self) -> Curve {
        Curve { plateau: self.in_segments(self.plateau), plateau_after: self.plateau_after }
    }

    fn in_segments(&self, bytes: u32) -> f64 {
        f64::from(bytes) / f64::from(self.segment)
    }

    /// To the nearest byte, so that bytes come back as they were.
    fn in_bytes(&self, segments: f64) -> u32 {
        ((segments * f64::from(self.segment) + 0.5) as u32).clamp(1, self.max_window)
    }

    fn grow(&mut self, now: Time, ack: &Ack<'_>) {
        // No acknowledgement covers more than a window; one that seems to counts for a window.
        let segments = self.in_segments(saturate(ack.newly)).min(self.window);
        let window = if self.in_bytes(self.window) < self.threshold {
            self.slow_start(segments)
        } else {
            let elapsed = self.elapsed(now);
            self.avoid_congestion(elapsed, ack.round_trip.unwrap_or(Time::ZERO), segments)
        };
        self.window = window.min(self.in_segments(self.max_window));
    }

    fn slow_start(&self, segments: f64) -> f64 {
        let history = if let Stage::Off(history) = self.stage { history } else { History::Calm };
        self.window + segments.min(f64::from(history.slow_start_limit()))
    }

    /// Returns `t`; starts a curve if there is none, and resumes a paused one.
    fn elapsed(&mut self, now: Time) -> Time {
        let since = match self.stage {
            Stage::On { since } => since,
            Stage::Paused { at } => now.saturating_sub(at),
            Stage::Off(_) => {
                self.begin();
                now
            }
        };
        self.stage = Stage::On { since };
        now.saturating_sub(since)
    }

    /// A curve from this window to the plateau; without one above it begins flat.
    fn begin(&mut self) {
        let window = self.in_bytes(self.window);
        self.plateau = self.plateau.max(window);
        self.plateau_after = if self.plateau == window {
            0.0
        } else {
            Curve::from_window(self.window, self.in_segments(self.plateau)).plateau_after
        };
        self.estimate = self.window;
    }

    fn avoid_congestion(&mut self, elapsed: Time, round_trip: Time, segments: f64) -> f64 {
        self.estimate(segments);
        let curve = self.curve();
        if curve.at(elapsed) < self.estimate {
            return self.window.max(self.estimate);
        }
        let target = curve.at(elapsed + round_trip).clamp(self.window, STEEPEST * self.window);
        self.window + (target - self.window) / self.window * segments
    }

    /// Additive increase, as if there were no curve.
    fn estimate(&mut self, segments: f64) {
        let increase = if self.estimate < self.in_segments(self.prior) { FRIENDLY_INCREASE } else { 1.0 };
        self.estimate += increase * segments / self.window;
    }

    /// The threshold after a loss, in bytes.
    fn reduced(&self, in_flight: u64) -> u32 {
        let flight = flight(self.outstanding, in_flight, self.in_bytes(self.window));
        self.in_bytes((self.in_segments(flight) * BETA).max(MIN_THRESHOLD))
    }

    /// Records the window of the loss. A flow that did not reach its previous window leaves room for others.
    fn remember(&mut self) {
        self.prior = self.in_bytes(self.window);
        let yields = self.prior < self.plateau;
        self.plateau = if yields { self.in_bytes(self.window * (1.0 + BETA) / 2.0) } else { self.prior };
    }
}

impl Described for Cubic {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for Cubic {
    fn begin(start: &FlowStart, _: &Params) -> Self {
        Self::new(start)
    }
}

impl Flow for Cubic {
    #[inline]
    fn receives_routes(&self) -> bool {
        false
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.outstanding = saturate(ack.sent.saturating_sub(ack.acknowledged));
        if let Stage::Off(history) = self.stage {
            self.stage = Stage::Off(history.acknowledged());
        }
        if may_grow(ack) {
            self.grow(now, ack);
        } else if let Stage::On { since } = self.stage {
            self.stage = Stage::Paused { at: now.saturating_sub(since) };
        }
    }

    fn on_loss(&mut self, _now: Time, loss: Loss) {
        match loss {
            Loss::Fast { in_flight } => {
                self.threshold = self.reduced(in_flight);
                self.remember();
                self.window = self.in_segments(self.threshold);
                self.stage = Stage::Off(History::Calm);
            }
            Loss::Timeout { in_flight } => {
                if self.stage != Stage::Off(History::TimedOut) {
                    self.threshold = self.reduced(in_flight);
                    self.prior = self.in_bytes(self.window);
                }
                self.plateau = 0;
                self.window = self.in_segments(self.segment.min(self.max_window));
                self.stage = Stage::Off(History::TimedOut);
            }
        }
    }

    #[inline]
    fn window(&self) -> u64 {
        u64::from(self.in_bytes(self.window))
    }
}

#[cfg(test)]
mod tests;
