//! L2DCT: DCTCP that becomes less aggressive the more a flow has sent.
//!
//! A. Munir et al., "Minimizing Flow Completion Times in Data Centers", INFOCOM 2013. The paper is not among the
//! sources: the formulas are those of two public implementations, for ns-2 (PIAS) and for ns-3 (FujiZ, "ns-3" below).
//!
//! The size of a flow need not be known. Its weight depends on the amount sent, as in least attained service: from
//! 2.5 for a flow that is short so far to 0.125 for a long one. Everything is DCTCP's ([`crate::transport::dctcp`])
//! except the two steps of congestion avoidance. The window grows by the weight's part of a segment in a round trip,
//! and marks take half of alpha to the power of the weight, which is less for large weights.
//!
//! | text | here |
//! |---|---|
//! | w = 2.5 up to `low` bytes sent, 0.125 from `high` on, linear in between | `weight` |
//! | congestion avoidance: k = w / 2.5 segments a round trip | `growth` |
//! | marks: `W = W (1 - b / 2)`, `b = alpha^w` | `crate::power`, [`Dctcp::follow`](crate::transport::dctcp) |
//! | slow start, losses, alpha: DCTCP's | [`Dctcp`] |
//!
//! Points that the texts leave open, and deviations:
//! - k follows ns-3. The counter of ns-2 takes two steps for each acknowledgement, so that a window grows by about
//!   two segments at any k. In SCC (2017, section VI) k is between 0.5 and 1: with 0.125 and 2.5 it is between 0.05
//!   and 1.
//! - `low` and `high` are those of ns-2, 200 KiB and 1 MiB; ns-3 has 200 and 1,000 segments.
//! - The amount sent is counted up to the highest byte that has left; retransmissions do not count twice.
//! - `b` comes from a table, within six parts of a million of `alpha^w`, and the growth by an acknowledgement is
//!   rounded to a byte.

use wayleave_scheme_api::{Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, ValueKind, params};
use wayleave_units::{Bytes, Time};

use crate::power::{ONCE, power};
use crate::transport::dctcp::Dctcp;
use crate::transports::Transport;

/// The weight of a flow that is short so far, in parts of [`ONCE`]: 2.5 (both implementations).
const HEAVIEST: u32 = 5 * ONCE / 2;

/// That of a long one: 0.125 (both implementations).
const LIGHTEST: u32 = ONCE / 8;

/// Descriptor of L2DCT.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "l2dct",
    title: "L2DCT",
    roles: &[Role::Transport],
    summary: "DCTCP that becomes less aggressive as a flow sends more, so that short flows finish first",
    citation: "A. Munir and others, \"Minimizing Flow Completion Times in Data Centers\", INFOCOM 2013, from two public implementations",
    guarantee: "nothing to a single flow; at a shared port, more bandwidth for flows that have sent little",
    parameters: Params::LIST,
};

params! {
    /// L2DCT's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Amount sent up to which a flow has the largest weight.
        pub max_weight_size: Bytes = Bytes::new(204_800), "maxWeightSize", ValueKind::BYTES, "ns-2: 200 KiB; ns-3 200 segments";
        /// Amount sent from which on a flow has the smallest weight.
        pub min_weight_size: Bytes = Bytes::new(1_048_576), "minWeightSize", ValueKind::BYTES, "ns-2: 1 MiB; ns-3 1000 segments";
    }
}

/// Congestion control of one flow by L2DCT.
///
/// ```
/// use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, RecoveryPhase};
/// use wayleave_schemes::transport::l2dct::{L2dct, Params};
/// use wayleave_units::Time;
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
/// };
/// let mut flow = L2dct::new(&start, &Params::default());
/// let marked = Ack {
///     newly: 1000, marked: 1000, acknowledged: 1000, sent: 10_000, in_flight: 9000, remaining: None,
///     round_trip: None, host_delay: None, limit: SendLimit::Window, phase: RecoveryPhase::Open, telemetry: &[],
/// };
/// // Alpha begins at 1, and so is every power of it.
/// flow.on_ack(Time::ZERO, &marked);
/// assert_eq!(flow.window(), 5000);
/// ```
// In a box, because the states of flows lie side by side and this one is more than a cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2dct(Box<State>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    dctcp: Dctcp,
    low: u64,
    high: u64,
}

impl L2dct {
    /// A flow that begins as DCTCP's does.
    pub fn new(start: &FlowStart, params: &Params) -> Self {
        Self(Box::new(State {
            dctcp: Dctcp::new(start),
            low: params.max_weight_size.get(),
            high: params.min_weight_size.get(),
        }))
    }
}

/// Returns w of a flow that has sent `sent` bytes, in parts of [`ONCE`].
fn weight(sent: u64, low: u64, high: u64) -> u32 {
    if sent <= low {
        return HEAVIEST;
    }
    if sent >= high {
        return LIGHTEST;
    }
    let lost = u128::from(HEAVIEST - LIGHTEST) * u128::from(sent - low) / u128::from(high - low);
    HEAVIEST - lost as u32
}

/// k of a flow with this weight, in parts of [`ONCE`].
fn growth(weight: u32) -> u32 {
    (u64::from(weight) * u64::from(ONCE) / u64::from(HEAVIEST)) as u32
}

impl Described for L2dct {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for L2dct {
    const ECN_CAPABLE: bool = true;

    fn begin(start: &FlowStart, params: &Params) -> Self {
        Self::new(start, params)
    }
}

impl Flow for L2dct {
    fn receives_routes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        let weight = weight(ack.sent, self.0.low, self.0.high);
        self.0.dctcp.follow(ack, |alpha, _| power(alpha, weight), growth(weight));
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.0.dctcp.on_loss(now, loss);
    }

    #[inline]
    fn window(&self) -> u64 {
        self.0.dctcp.window()
    }
}

#[cfg(test)]
mod tests;
