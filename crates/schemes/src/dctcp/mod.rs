//! DCTCP: the window shrinks by as much as the network is congested.
//!
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; S. Bensley et al., RFC 8257, 2017. Switches mark packets
//! that find more than K in the queue; the receiver echoes every mark; the sender keeps an estimate alpha of the
//! fraction of marked bytes, and takes `alpha / 2` of its window away, at most once in a window of data. Everything else
//! is as in [`crate::newreno`].
//!
//! | text | here |
//! |---|---|
//! | eq. 1: `alpha <- (1 - g) alpha + g F`, once a window of data | [`Dctcp::estimate`] |
//! | eq. 2: `cwnd <- cwnd (1 - alpha / 2)` | [`Dctcp::react`] |
//! | RFC 8257, section 3.5: losses as in TCP | `on_loss` |
//! | RFC 8257, section 4.2: alpha begins at 1, g is 1/16 | [`Params`] |
//!
//! Deviation: acknowledgements echo the mark of their own packet (the paper's delayed acknowledgements with a state
//! machine of two states tell the same with fewer packets).

use wayleave_policy::{Ack, Flow, FlowStart, Loss};
use wayleave_units::Time;

use crate::newreno::NewReno;

/// DCTCP's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// g: the weight of the last window in the estimate; 1/16 (SIGCOMM 2010, section 4; RFC 8257, section 4.2).
    pub gain: f64,
    /// Alpha at the beginning; 1, so that a flow that begins in congestion yields (RFC 8257, section 4.2).
    pub initial_alpha: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0, initial_alpha: 1.0 }
    }
}

/// The window of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    reno: NewReno,
    /// In [0, 1].
    alpha: f64,
    gain: f32,
    /// Acknowledged, and of that marked, in this window of data.
    acked: u64,
    marked: u64,
    /// The window of data ends when this is acknowledged.
    ends_at: u64,
    /// What was sent before the last reduction cannot cause another one.
    reduced_at: u64,
}

impl Dctcp {
    /// In slow start.
    pub fn new(start: &FlowStart, params: Params) -> Self {
        Self {
            reno: NewReno::new(start),
            alpha: params.initial_alpha.clamp(0.0, 1.0),
            gain: params.gain as f32,
            acked: 0,
            marked: 0,
            ends_at: 0,
            reduced_at: 0,
        }
    }

    /// The estimate of the fraction of marked bytes.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Equation 1, at the end of a window of data.
    fn estimate(&mut self, ack: &Ack<'_>) {
        self.acked += ack.newly;
        self.marked += ack.marked;
        if ack.acknowledged < self.ends_at || self.acked == 0 {
            return;
        }
        let fraction = self.marked as f64 / self.acked as f64;
        let gain = f64::from(self.gain);
        self.alpha = ((1.0 - gain) * self.alpha + gain * fraction).clamp(0.0, 1.0);
        (self.acked, self.marked, self.ends_at) = (0, 0, ack.sent);
    }

    /// Equation 2, once for what was sent before.
    fn react(&mut self, ack: &Ack<'_>) {
        if ack.acknowledged > self.reduced_at || self.reduced_at == 0 {
            let window = self.reno.window() as f64 * (1.0 - self.alpha / 2.0);
            self.reno.reduce_to(window as u64);
            self.reduced_at = ack.sent.max(1);
        }
    }
}

impl Flow for Dctcp {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.estimate(ack);
        if ack.marked > 0 {
            self.react(ack);
        } else {
            self.reno.grow(ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.reno.on_loss(now, loss);
    }

    fn window(&self) -> u64 {
        self.reno.window()
    }
}

#[cfg(test)]
mod tests;
