//! CUBIC: the window grows as a cubic function of the time since the last loss.
//!
//! L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, "CUBIC for Fast and Long-Distance Networks", RFC 9438, 2023.
//!
//! | text | here |
//! |---|---|
//! | eq. 1: `W(t) = C (t - K)^3 + W_max` | [`Epoch::cubic`] |
//! | eq. 2: `K = cbrt((W_max - cwnd_epoch) / C)` | [`Epoch::new`] |
//! | section 4.3, eq. 4: the window that Reno would have | [`Epoch::reno`] |
//! | sections 4.4, 4.5: concave and convex growth towards the window one round trip ahead, at most half more | [`Cubic::grow`] |
//! | section 4.6: beta 0.7 | [`BETA`] |
//! | section 4.7: fast convergence | [`Cubic::remember`] |
//! | section 4.8: time-out | `on_loss` |
//! | section 5.8: time in which the application limits the flow does not count | [`Cubic::grow`] |
//!
//! Windows are kept in segments as real numbers, as the text has them; time is exact.
//!
//! Deviations: no HyStart++ (section 4.10 leaves slow start open; RFC 5681's is used), no spurious-loss detection
//! (section 4.9).

use wayleave_policy::{Ack, Flow, FlowStart, Limit, Loss, Phase};
use wayleave_units::Time;

/// C: how fast the window grows far from the last loss, in segments per cubic second (section 5).
pub const C: f64 = 0.4;

/// What is left of the window after a loss (section 4.6).
pub const BETA: f64 = 0.7;

/// The window of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    segment: u32,
    /// In segments, as all windows here.
    max_window: f32,
    window: f64,
    threshold: f64,
    /// W_max: where the last loss was.
    last_peak: f64,
    epoch: Option<Epoch>,
}

/// A period of growth after a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// When it began, moved on by the time that does not count.
    began: Time,
    last_ack: Time,
    /// When the window is back at the last peak, in seconds after the beginning.
    k: f64,
    /// W_est: the window of Reno.
    reno: f64,
}

impl Epoch {
    fn new(now: Time, window: f64, last_peak: f64) -> Self {
        Self { began: now, last_ack: now, k: ((last_peak - window).max(0.0) / C).cbrt(), reno: window }
    }

    /// Equation 1, this long after the beginning.
    fn cubic(&self, seconds: f64, last_peak: f64) -> f64 {
        C * (seconds - self.k).powi(3) + last_peak
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

impl Cubic {
    /// In slow start.
    pub fn new(start: &FlowStart) -> Self {
        let segment = start.segment.max(1);
        let in_segments = |bytes: u64| bytes as f64 / f64::from(segment);
        let max_window = in_segments(start.max_window).max(1.0);
        Self {
            segment,
            max_window: max_window as f32,
            window: in_segments(start.initial_window).clamp(1.0, max_window),
            threshold: f64::INFINITY,
            last_peak: 0.0,
            epoch: None,
        }
    }

    /// Section 4.2: one acknowledgement in congestion avoidance.
    fn grow(&mut self, now: Time, acked: f64, ack: &Ack<'_>) {
        let (window, peak) = (self.window, self.last_peak.max(self.window));
        if self.epoch.is_none() {
            self.last_peak = peak;
        }
        let peak = self.last_peak;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, window, peak));
        let idle = now.saturating_sub(epoch.last_ack);
        epoch.last_ack = now;
        if ack.limit == Limit::Application {
            epoch.began += idle;
            return;
        }
        let elapsed = seconds(now.saturating_sub(epoch.began));
        let round_trip = ack.round_trip.map_or(0.0, seconds);
        let target = epoch.cubic(elapsed + round_trip, peak).clamp(window, 1.5 * window);
        // Until Reno is back at the peak it gains less, because it lost less (section 4.3).
        let gain = if epoch.reno < peak { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.reno += gain * acked / window;
        self.window = if epoch.cubic(elapsed, peak) < epoch.reno {
            epoch.reno.max(window)
        } else {
            window + (target - window) / window * acked
        };
    }

    /// Section 4.7: a peak below the last one means that others came, so room is left for them.
    fn remember(&mut self) {
        let gives_way = self.window < self.last_peak;
        self.last_peak = if gives_way { self.window * (1.0 + BETA) / 2.0 } else { self.window };
    }
}

impl Flow for Cubic {
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        if ack.phase == Phase::Recovery {
            return;
        }
        let acked = ack.newly as f64 / f64::from(self.segment);
        if self.window >= self.threshold {
            self.grow(now, acked, ack);
        } else if ack.limit == Limit::Window {
            self.window += acked.min(2.0);
        }
        self.window = self.window.min(f64::from(self.max_window));
    }

    fn on_loss(&mut self, _now: Time, loss: Loss) {
        self.remember();
        self.threshold = (self.window * BETA).max(2.0);
        self.epoch = None;
        self.window = match loss {
            Loss::Fast { .. } => self.threshold.min(f64::from(self.max_window)),
            Loss::Timeout { .. } => 1.0,
        };
    }

    fn window(&self) -> u64 {
        (self.window * f64::from(self.segment)) as u64
    }
}

#[cfg(test)]
mod tests;
