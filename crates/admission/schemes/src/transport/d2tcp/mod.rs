//! D2TCP: DCTCP that backs off less the closer a deadline is.
//!
//! B. Vamanan, J. Hasan, T. N. Vijaykumar, "Deadline-Aware Datacenter TCP (D2TCP)", SIGCOMM 2012. The paper is not
//! among the sources: the formulas are those of three public implementations, for ns-3 (FujiZ, "ns-3" below), for
//! ns-2 (PIAS) and for Linux (ycaoae), which agree on them.
//!
//! Everything is DCTCP's ([`crate::transport::dctcp`]) except the reduction by marks: half of `p = alpha^d` of the
//! window in place of half of alpha. `d` is the urgency of a flow: its remaining transfer time (`Tc`) over its
//! remaining time (`D`). A flow that is going to be late backs off less, and one with time to spare backs off more.
//! `d` is between 1/2 and 2.
//!
//! | text | here |
//! |---|---|
//! | `Tc = RTT B / (3/4 W)`: B bytes left, at the average window of a saw tooth of DCTCP | `urgency` |
//! | `d = Tc / D`, at least 0.5 and at most 2 | `urgency`, `MIN`, `MAX` |
//! | `p = alpha^d`, `W = W (1 - p / 2)` | `crate::power`, [`Dctcp::follow`](crate::transport::dctcp) |
//! | growth, losses, alpha: DCTCP's | [`Dctcp`] |
//!
//! Points that the texts leave open, and deviations:
//! - Without a deadline, or without a known size, d is 1: a flow behaves as DCTCP, bit for bit.
//! - The treatment of a deadline that has passed is a parameter (`missed`), since implementations differ. A flow
//!   continues as one without a deadline (Linux; the default), or backs off most (d = 0.5, so that others may be in
//!   time). It can also back off least (d = 2, the limit of the formula as D falls to 0; ns-3 in one version). ns-2
//!   and ns-3 also stop such flows; here they continue, since their data is still wanted.
//! - `p` comes from a table, as in Linux; it is within six parts of a million of `alpha^d`, and equal on every
//!   machine.
//! - RTT is the smoothed round trip with weights of 1/8 (RFC 6298, 2.3), of every sample. B is the amount not
//!   acknowledged in order, with the amount in flight.
//! - A deadline counts from when the flow receives its route, which is when it begins.

use wayleave_scheme_api::{
    Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, RouteFacts, ValueKind, params, words,
};
use wayleave_units::Time;

use crate::power::{EXPONENT_SHIFT, ONCE, power};
use crate::transport::dctcp::Dctcp;
use crate::transports::Transport;

/// No flow is less urgent, in parts of [`ONCE`].
pub(crate) const MIN: u32 = ONCE / 2;

/// No flow is more urgent.
pub(crate) const MAX: u32 = 2 * ONCE;

/// Descriptor of D2TCP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "d2tcp",
    title: "D2TCP",
    roles: &[Role::Transport],
    summary: "DCTCP that backs off less as a flow's deadline approaches",
    citation: "B. Vamanan, J. Hasan, T. N. Vijaykumar, \"Deadline-Aware Datacenter TCP (D2TCP)\", SIGCOMM 2012, from three public implementations",
    guarantee: "nothing to a single flow; at a shared port, more bandwidth for flows that would miss their deadlines",
    parameters: Params::LIST,
};

/// Urgency of a flow whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedDeadline {
    /// As one without a deadline.
    Usual,
    /// As the one with the most time.
    Least,
    /// As the one with the least time.
    Most,
}

words! {
    MissedDeadline {
        Usual = "usual", "It continues as DCTCP";
        Least = "least", "It backs off most, so that others may be in time";
        Most = "most", "It backs off least, as just before";
    }
}

params! {
    /// D2TCP's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Urgency of a flow whose deadline has passed.
        pub missed: MissedDeadline = MissedDeadline::Usual, "missed", ValueKind::Word(MissedDeadline::WORDS),
            "the implementation for Linux; ns-2 least, ns-3 least or most";
    }
}

/// Congestion control of one flow by D2TCP.
///
/// ```
/// use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, RecoveryPhase, RouteFacts};
/// use wayleave_schemes::transport::d2tcp::{D2tcp, Params};
/// use wayleave_units::{Rate, Time};
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: Some(90_000),
///     deadline: Some(Time::from_millis(1)), weight: 1,
/// };
/// let mut flow = D2tcp::new(&start, &Params::default());
/// let route = RouteFacts { hops: 2, round_trip: Time::from_micros(300), slowest: Rate::from_gbit(1) };
/// flow.on_route(Time::ZERO, route);
/// let marked = Ack {
///     newly: 1000, marked: 1000, acknowledged: 1000, sent: 10_000, in_flight: 9000, remaining: Some(89_000),
///     round_trip: Some(Time::from_micros(300)), host_delay: None, limit: SendLimit::Window, phase: RecoveryPhase::Open, telemetry: &[],
/// };
/// // Alpha begins at 1, and so is every power of it.
/// flow.on_ack(Time::from_micros(300), &marked);
/// assert_eq!(flow.window(), 5000);
/// ```
// In a box, because the states of flows lie side by side and this one is more than a cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct D2tcp(Box<State>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    dctcp: Dctcp,
    deadline: Deadline,
    /// SRTT; zero before the first sample.
    smoothed: Time,
    missed: MissedDeadline,
}

/// Time by which a flow has to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deadline {
    None,
    /// Time after its start.
    After(Time),
    At(Time),
}

impl D2tcp {
    /// A flow that begins as DCTCP's does.
    pub fn new(start: &FlowStart, params: &Params) -> Self {
        let deadline = start.deadline.map_or(Deadline::None, Deadline::After);
        Self(Box::new(State { dctcp: Dctcp::new(start), deadline, smoothed: Time::ZERO, missed: params.missed }))
    }
}

impl State {
    fn begin(&mut self, now: Time) {
        if let Deadline::After(left) = self.deadline {
            self.deadline = Deadline::At(now.checked_add(left).unwrap_or(Time::MAX));
        }
    }

    fn sample(&mut self, round_trip: Time) {
        self.smoothed = match self.smoothed {
            Time::ZERO => round_trip,
            smoothed => {
                Time::from_nanos((smoothed.as_nanos().saturating_mul(7).saturating_add(round_trip.as_nanos())) / 8)
            }
        };
    }
}

/// Returns d, in parts of [`ONCE`]: the urgency of a flow with these remaining bytes and remaining time, and this
/// window.
fn urgency(round_trip: Time, remaining: u64, left: Time, window: u64) -> u32 {
    let takes = u128::from(round_trip.as_nanos()) * u128::from(remaining) * 4;
    let has = u128::from(left.as_nanos()) * u128::from(window) * 3;
    let ratio = takes.saturating_mul(1 << EXPONENT_SHIFT).checked_div(has).unwrap_or(u128::MAX);
    u32::try_from(ratio).unwrap_or(MAX).clamp(MIN, MAX)
}

impl Described for D2tcp {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for D2tcp {
    const ECN_CAPABLE: bool = true;

    fn begin(start: &FlowStart, params: &Params) -> Self {
        Self::new(start, params)
    }
}

impl Flow for D2tcp {
    fn on_route(&mut self, now: Time, _route: RouteFacts) {
        self.0.begin(now);
    }

    fn receives_routes(&self) -> bool {
        matches!(self.0.deadline, Deadline::After(_))
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let State { deadline, missed, .. } = *self.0;
        if let Some(round_trip) = ack.round_trip {
            self.0.sample(round_trip);
        }
        let round_trip = self.0.smoothed;
        let penalty = |alpha, window| match (deadline, ack.remaining) {
            (Deadline::At(at), Some(_)) if at <= now => match missed {
                MissedDeadline::Usual => alpha,
                MissedDeadline::Least => power(alpha, MIN),
                MissedDeadline::Most => power(alpha, MAX),
            },
            (Deadline::At(at), Some(remaining)) => {
                power(alpha, urgency(round_trip, remaining, at.saturating_sub(now), window))
            }
            _ => alpha,
        };
        self.0.dctcp.follow(ack, penalty, ONCE);
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
