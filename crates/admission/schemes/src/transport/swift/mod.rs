//! Swift: the window follows the delay, and its weighted form shares by weights.
//!
//! G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020.
//! The weighted form is called WCC in uFAB (SIGCOMM 2022, 2.2 and 5.1): Swift with weights as Seawall has them.
//! Neither text is among the sources in full. The formulas are those of notes on Swift and of three published
//! simulators, which agree on them: that of Falcon's authors ("Falcon" below, reported to have many values of Swift
//! in production), Broadcom's csg-htsim, and Vertigo's.
//!
//! A flow has a window for the fabric, which may be a part of one packet, and a second one for the receiving host;
//! the smaller counts. Each has a target for its delay. Below the target the window grows by a constant number of
//! packets a round trip. Above the target it shrinks by the excess part of the delay, at most once in a round trip.
//! The target of the fabric grows with the hops, and as the window gets smaller: many flows at one port have small
//! windows each, and need a longer queue.
//!
//! | what | here |
//! |---|---|
//! | target: `baseTarget + hops hopTarget + clamp(a / sqrt(c) + b, 0, flowScalingRange)`, a and b so that the last part is `flowScalingRange` at `flowScalingMinWindow` and 0 at `flowScalingMaxWindow` | `target` |
//! | additive increase: `ai n / c` for n packets from one packet on, `ai n` below | `Window::follow` |
//! | multiplicative decrease: by `max(1 - beta (d - D) / d, 1 - mdf)`, once a round trip | `Window::follow` |
//! | a loss takes `mdf`, once a round trip; so does a time-out; several in a row lead to the least window | `on_loss` |
//! | below one packet: one each `RTT / c`; otherwise no pacing | [`Flow::window`]; the transport applies it |
//! | two windows, the delay of the receiving host taken from the round trip | `on_ack` |
//! | WCC: a flow of weight w acts as w flows of weight 1 | `Window::follow`, `target` |
//!
//! Deviations, and points that the texts leave open:
//! - The weighted form is ours, since uFAB only names it: from w packets on the window grows by `w ai n / c`, below
//!   by `ai n`, and the target is that of `c / w`. Decreases are unchanged, so flows at one port settle at equal `c /
//!   w`. Every flow of a pair has the weight of the pair: the weight of a pair is multiplied by its number of flows.
//! - Hops are switches, as a TTL counts them; [`RouteFacts`] counts links.
//! - A window that is not used does not grow (RFC 9002, 7.8): a limiter that holds a flow back must not let its
//!   window grow without limit. The texts have such a rule for none of their senders.
//! - The longest window is the transport's, not one of Swift's own (Falcon: 256 packets), and so is the first one (32
//!   there).
//! - A loss, and a time-out, are of the fabric; the window of the receiving host follows its delay alone.
//! - The window of the receiving host begins at the fabric's window when the first such delay is reported. In the
//!   simulator hosts delay nothing, so this never happens.
//! - Falcon's first time-out in a row alone shrinks the window; here each does, since a round trip has passed.

use std::num::NonZeroU32;

use wayleave_scheme_api::{
    Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, RouteFacts, SendLimit, ValueKind, params,
};
use wayleave_units::Time;

use crate::transports::Transport;

/// Descriptor of Swift.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "swift",
    title: "Swift",
    roles: &[Role::Transport],
    summary: "Delay-based window control; with weights, the WCC of uFAB's evaluation",
    citation: "G. Kumar and others, \"Swift: Delay is Simple and Effective for Congestion Control in the Datacenter\", SIGCOMM 2020, from notes and published simulators; weights as in uFAB (SIGCOMM 2022), 2.2",
    guarantee: "nothing to a single flow; at a shared port, windows in proportion to weights and a delay near the target",
    parameters: Params::LIST,
};

params! {
    /// Swift's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Base target delay of the fabric, without hops and scaling.
        pub base_target: Time = Time::from_micros(25), "baseTarget", ValueKind::TIME, "Falcon's simulator; htsim 20us, Vertigo 60us";
        /// Increase of the target delay for each switch on the path.
        pub hop_target: Time = Time::from_micros(1), "hopTarget", ValueKind::Time { least: Time::ZERO, most: Time::MAX },
            "Falcon's simulator";
        /// Maximum increase of the target delay for small windows.
        pub flow_scaling_range: Time = Time::from_micros(100), "flowScalingRange", ValueKind::Time { least: Time::ZERO, most: Time::MAX },
            "Falcon's simulator; htsim five times the base";
        /// Window in packets below which the target delay grows no further.
        pub flow_scaling_min_window: u8 = 10, "flowScalingMinWindow", ValueKind::Hundredths { least: 1, most: 100 }, "all three simulators";
        /// Window in packets above which the target delay is not scaled.
        pub flow_scaling_max_window: u32 = 100, "flowScalingMaxWindow", ValueKind::Count { least: 2, most: u32::MAX as u64 },
            "htsim and Vertigo; Falcon's simulator 256";
        /// Additive increase of the window in packets per round trip, for each unit of weight.
        pub additive_increase: u8 = 100, "additiveIncrease", ValueKind::Hundredths { least: 1, most: 100 }, "all three simulators: ai";
        /// Multiplicative decrease of the window, relative to the excess delay.
        pub beta: u8 = 80, "beta", ValueKind::Hundredths { least: 1, most: 100 }, "all three simulators";
        /// Maximum multiplicative decrease of the window, also used after a loss.
        pub max_decrease: u8 = 50, "maxDecrease", ValueKind::Hundredths { least: 1, most: 99 }, "all three simulators: mdf";
        /// Minimum window in packets.
        pub min_window: u8 = 1, "minWindow", ValueKind::Hundredths { least: 1, most: 100 }, "Falcon's simulator: 0.01";
        /// Target delay of the receiving host.
        pub endpoint_target: Time = Time::from_micros(100), "endpointTarget", ValueKind::TIME, "published notes on Swift (HotNets 2022)";
        /// Number of consecutive timeouts after which the window falls to its minimum.
        pub reset_timeouts: u32 = 3, "resetTimeouts", ValueKind::Count { least: 1, most: u32::MAX as u64 },
            "Falcon's simulator; htsim 5, Vertigo 12";
    }
}

/// Congestion control of one flow by Swift.
///
/// ```
/// use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, RecoveryPhase};
/// use wayleave_schemes::transport::swift::{Params, Swift};
/// use wayleave_units::Time;
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
/// };
/// let mut flow = Swift::new(&start, &Params::default());
/// let quick = Ack {
///     newly: 1000, marked: 0, acknowledged: 1000, sent: 11_000, in_flight: 9000, remaining: None,
///     round_trip: Some(Time::from_micros(20)), host_delay: None, limit: SendLimit::Window, phase: RecoveryPhase::Open, telemetry: &[],
/// };
/// flow.on_ack(Time::ZERO, &quick);
/// assert_eq!(flow.window(), 10_100);
/// ```
// In a box, because the states of flows lie side by side and this one is four cache lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Swift(Box<State>);

#[derive(Clone, Debug, PartialEq)]
struct State {
    /// Payload of a packet.
    segment: f64,
    weight: f64,
    rule: Rule,
    target: Target,
    /// Of the receiving host, in ns.
    endpoint_target: f64,
    most_timeouts: u32,
    fabric: Window,
    /// Since the receiving host's delay is known.
    endpoint: Option<Window>,
    /// The latest one.
    round_trip: Time,
    /// Time-outs since something was acknowledged.
    timeouts: u32,
}

/// The target of the fabric, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Target {
    base: f64,
    hop: f64,
    hops: f64,
    range: f64,
    /// a of the formula.
    slope: f64,
    /// b of the formula.
    offset: f64,
}

impl Target {
    fn new(params: &Params) -> Self {
        let [low, high] =
            [part(params.flow_scaling_min_window), f64::from(params.flow_scaling_max_window)].map(f64::sqrt);
        let range = nanoseconds(params.flow_scaling_range);
        let slope = range / (1.0 / low - 1.0 / high);
        let [base, hop] = [params.base_target, params.hop_target].map(nanoseconds);
        Self { base, hop, hops: 0.0, range, slope, offset: -slope / high }
    }

    /// For a window in packets.
    fn of(&self, packets: f64) -> f64 {
        let scaled = (self.slope / packets.sqrt() + self.offset).clamp(0.0, self.range);
        self.base + self.hops * self.hop + scaled
    }
}

/// Rule by which windows change.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    increase: f64,
    beta: f64,
    decrease: f64,
    /// In packets.
    least: f64,
    most: f64,
}

/// Sample of an acknowledgement for one of the windows.
struct Sample {
    /// In ns.
    delay: f64,
    target: f64,
    /// Newly acknowledged packets, if the window may grow by them.
    grows_by: f64,
    weight: f64,
    round_trip: Time,
}

/// One of the two windows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    packets: f64,
    reduced_at: Option<Time>,
}

impl Window {
    fn follow(&mut self, now: Time, sample: &Sample, rule: &Rule) {
        if sample.delay < sample.target {
            let each = if self.packets >= sample.weight { sample.weight / self.packets } else { 1.0 };
            self.packets = (self.packets + rule.increase * sample.grows_by * each).min(rule.most);
        } else {
            let excess = rule.beta * (sample.delay - sample.target) / sample.delay;
            self.reduce(now, sample.round_trip, 1.0 - excess.min(rule.decrease), rule);
        }
    }

    /// Returns `true` if nothing was taken away for a round trip.
    fn may_shrink(&self, now: Time, round_trip: Time) -> bool {
        self.reduced_at.is_none_or(|at| now.saturating_sub(at) >= round_trip)
    }

    /// Keeps this part, if nothing was taken away for a round trip.
    fn reduce(&mut self, now: Time, round_trip: Time, part: f64, rule: &Rule) {
        if self.may_shrink(now, round_trip) {
            self.reduced_at = Some(now);
            self.packets = (self.packets * part).max(rule.least);
        }
    }
}

fn part(hundredths: u8) -> f64 {
    f64::from(hundredths) / 100.0
}

/// Exact up to 104 days.
fn nanoseconds(time: Time) -> f64 {
    time.as_nanos() as f64
}

impl Swift {
    /// A flow that begins with its initial window.
    pub fn new(start: &FlowStart, params: &Params) -> Self {
        let segment = f64::from(start.segment.max(1));
        let rule = Rule {
            increase: part(params.additive_increase),
            beta: part(params.beta),
            decrease: part(params.max_decrease),
            least: part(params.min_window),
            most: (start.max_window as f64 / segment).max(1.0),
        };
        let packets = (start.initial_window as f64 / segment).clamp(rule.least, rule.most);
        Self(Box::new(State {
            segment,
            weight: weight(start.weight),
            rule,
            target: Target::new(params),
            endpoint_target: nanoseconds(params.endpoint_target),
            most_timeouts: params.reset_timeouts,
            fabric: Window { packets, reduced_at: None },
            endpoint: None,
            round_trip: Time::ZERO,
            timeouts: 0,
        }))
    }

    /// Returns `true` if the next acknowledgement that is late would shrink its windows.
    pub fn may_shrink(&self, now: Time) -> bool {
        let mut windows = std::iter::once(&self.0.fabric).chain(&self.0.endpoint);
        windows.all(|window| window.may_shrink(now, self.0.round_trip))
    }

    /// Accounts for time that its clock did not count: windows shrank that much earlier.
    pub fn pass(&mut self, by: Time) {
        for window in std::iter::once(&mut self.0.fabric).chain(&mut self.0.endpoint) {
            window.reduced_at = window.reduced_at.and_then(|at| at.checked_sub(by));
        }
    }

    /// The target of the fabric now.
    pub fn target(&self) -> Time {
        Time::from_nanos(self.0.target() as u64)
    }
}

/// 0 counts as 1.
fn weight(weight: u32) -> f64 {
    NonZeroU32::new(weight).map_or(1.0, |weight| f64::from(weight.get()))
}

impl State {
    fn target(&self) -> f64 {
        self.target.of(self.fabric.packets / self.weight)
    }

    /// In packets.
    fn window(&self) -> f64 {
        self.endpoint.map_or(self.fabric.packets, |endpoint| endpoint.packets.min(self.fabric.packets))
    }
}

impl Described for Swift {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for Swift {
    const MARKS_OPTIONAL: bool = true;

    fn begin(start: &FlowStart, params: &Params) -> Self {
        Self::new(start, params)
    }
}

impl Flow for Swift {
    fn on_route(&mut self, _now: Time, route: RouteFacts) {
        self.0.target.hops = f64::from(route.hops.saturating_sub(1));
    }

    fn on_weight(&mut self, _now: Time, new: u32) {
        self.0.weight = weight(new);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let state = &mut *self.0;
        state.timeouts = 0;
        let Some(round_trip) = ack.round_trip else { return };
        state.round_trip = round_trip;
        let fabric_delay = round_trip.saturating_sub(ack.host_delay.unwrap_or_default());
        let grows_by = if ack.limit == SendLimit::Window { ack.newly as f64 / state.segment } else { 0.0 };
        let sample = Sample {
            delay: nanoseconds(fabric_delay),
            target: state.target(),
            grows_by,
            weight: state.weight,
            round_trip,
        };
        if let Some(delay) = ack.host_delay {
            let sample = Sample { delay: nanoseconds(delay), target: state.endpoint_target, ..sample };
            state.endpoint.get_or_insert(state.fabric).follow(now, &sample, &state.rule);
        }
        state.fabric.follow(now, &sample, &state.rule);
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        let state = &mut *self.0;
        if matches!(loss, Loss::Timeout { .. }) {
            state.timeouts = state.timeouts.saturating_add(1);
        }
        if state.timeouts >= state.most_timeouts {
            state.fabric = Window { packets: state.rule.least, reduced_at: Some(now) };
        } else {
            state.fabric.reduce(now, state.round_trip, 1.0 - state.rule.decrease, &state.rule);
        }
    }

    #[inline]
    fn window(&self) -> u64 {
        (self.0.window() * self.0.segment) as u64
    }
}

#[cfg(test)]
mod tests;
