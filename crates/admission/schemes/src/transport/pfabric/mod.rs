//! pFabric, the part of hosts: they send at full speed and leave the choice to ports.
//!
//! M. Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013. The paper is not among the
//! sources: this follows two public simulators, PIAS for ns-2 and YAPS, and the known parts of section 4.3.
//!
//! Ports serve the packet of the flow with the least left, and a full one drops that of the flow with the most (the
//! discipline `smallest-remaining-first`). So hosts need little: a window of one bandwidth-delay product from the
//! start, and a short time-out of a fixed length. The time-out alone detects losses, since packets are dropped all
//! the time and arrive out of order. A flow that times out repeatedly stops sending segments: a probe with one byte
//! of payload tests if anything gets through.
//!
//! | text | here |
//! |---|---|
//! | the first window is the bandwidth-delay product, and no window is larger | `on_route`, `Params::window` |
//! | no fast retransmit; a time-out of 3 round trips, which does not back off | [`Flow::fixed_timeout`] |
//! | a time-out: slow start, up to half of the window before | `on_loss`, `on_ack` |
//! | 5 time-outs in a row: probes of 1 B until an acknowledgement arrives, then slow start | [`Flow::payload`] |
//! | priority: the amount that is neither acknowledged nor selectively acknowledged | [`Flow::urgency`], and the driver's count |
//!
//! Points that the texts leave open, and deviations:
//! - The bandwidth is that of the slowest link of the route, which is that of the hosts in the paper's network. The
//!   delay is the round trip of a full packet without queues; the product is counted in payload and rounded down to
//!   whole segments. The ns-2 script has 70 packets at 10 Gbit/s and 82 us, YAPS 12 at about 15 us: this rule gives
//!   both.
//! - An acknowledgement adds a segment for each that it newly acknowledges, also out of order (YAPS: one for each
//!   that advances).
//! - Classes (`class`) are ours, so that some flows can precede all others independent of their remaining size, as in
//!   the comparison of SCC (2017, Fig. 8a): hosts may set a packet's priority freely. They need no change of ports,
//!   which a second queue would: a full port still drops the least important packet that it holds.
//! - A flow with more than 1 GiB left counts as one with 1 GiB.
//! - A full port drops nothing for a packet that is larger than the packet that it would drop: see
//!   docs/theory/simulation.md.

use wayleave_scheme_api::{
    Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, RouteFacts, SendLimit, ValueKind, params,
};
use wayleave_units::Time;

use crate::transport::newreno::saturate;
use crate::transports::Transport;

/// No threshold is lower, in segments (YAPS).
const MIN_THRESHOLD: u32 = 2;

/// Payload of a probe (pFabric, 4.3).
const PROBE: u32 = 1;

/// Maximum remaining size of a flow within its class, as a power of two: four classes fill the 32 bits of a packet's
/// priority.
const CLASS_SHIFT: u32 = 30;

/// The last class, of those that come after others.
const LAST_CLASS: u32 = 3;

/// Descriptor of pFabric.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "pfabric",
    title: "pFabric",
    roles: &[Role::Transport],
    summary: "Hosts start with a full bandwidth-delay product; ports serve the flow with the least remaining data",
    citation: "M. Alizadeh and others, \"pFabric: Minimal Near-Optimal Datacenter Transport\", SIGCOMM 2013, from two public simulators",
    guarantee: "nothing to a single flow; near-optimal completion times if ports serve the least remaining data first",
    parameters: Params::LIST,
};

params! {
    /// pFabric's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Initial and maximum window in packets; 0 is the bandwidth-delay product of the route.
        pub window: u32 = 0, "window", ValueKind::Count { least: 0, most: 1 << 20 }, "section 4.3: the bandwidth-delay product";
        /// Retransmission timeout, in round-trip times of a full packet in an empty network.
        pub timeout_rtts: u32 = 3, "timeoutRtts", ValueKind::Count { least: 1, most: 1000 }, "section 4.3; both simulators";
        /// Number of consecutive timeouts after which a flow sends probes instead of data.
        pub probe_timeouts: u32 = 5, "probeTimeouts", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "section 4.3; ns-2";
        /// Priority class: ports serve flows of lower classes first.
        pub class: u32 = 0, "class", ValueKind::Count { least: 0, most: LAST_CLASS as u64 }, "ours";
    }
}

/// A flow at a pFabric host.
///
/// ```
/// use wayleave_scheme_api::{Flow, FlowStart, Loss, RouteFacts};
/// use wayleave_schemes::transport::pfabric::{Params, Pfabric};
/// use wayleave_units::{Rate, Time};
///
/// let start = FlowStart {
///     segment: 1460, initial_window: 14_600, max_window: 14_600_000, size: Some(100_000), deadline: None, weight: 1,
/// };
/// let mut flow = Pfabric::new(&start, &Params::default());
/// let route = RouteFacts { hops: 4, round_trip: Time::from_micros(82), slowest: Rate::from_gbit(10) };
/// flow.on_route(Time::ZERO, route);
/// assert_eq!(flow.window(), 70 * 1460);
/// assert_eq!(flow.fixed_timeout(), Some(Time::from_micros(246)));
/// for _ in 0..5 {
///     flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 0 });
/// }
/// assert_eq!(flow.payload(1460), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfabric {
    window: u32,
    /// ssthresh.
    threshold: u32,
    /// The bandwidth-delay product, or the given window.
    largest: u32,
    segment: u32,
    /// Acknowledged in congestion avoidance since the window last grew.
    counted: u32,
    /// In a row.
    timeouts: u32,
    probes_after: u32,
    timeout_round_trips: u32,
    class: u32,
    /// `true` if `largest` was given.
    has_window: bool,
    timeout: Time,
}

impl Pfabric {
    /// Creates a flow. Without a given window, its window is one segment until it knows its route.
    pub fn new(start: &FlowStart, params: &Params) -> Self {
        let segment = saturate(u64::from(start.segment)).max(1);
        let largest = saturate(u64::from(params.window) * u64::from(segment)).max(segment);
        Self {
            window: largest,
            threshold: largest,
            largest,
            segment,
            counted: 0,
            timeouts: 0,
            probes_after: params.probe_timeouts.max(1),
            timeout_round_trips: params.timeout_rtts.max(1),
            class: params.class.min(LAST_CLASS),
            has_window: params.window > 0,
            timeout: Time::ZERO,
        }
    }

    fn grow(&mut self, acknowledged: u32) {
        if self.window < self.threshold {
            self.window += acknowledged.min(self.largest);
        } else {
            self.counted += acknowledged;
            if self.counted >= self.window {
                self.counted -= self.window;
                self.window += self.segment;
            }
        }
        self.window = self.window.min(self.largest);
    }
}

/// The bandwidth-delay product of a route in whole segments of payload, at least one.
fn product(route: &RouteFacts, segment: u32) -> u32 {
    let bits = u128::from(route.slowest.bits_per_second()) * u128::from(route.round_trip.as_nanos()) / 1_000_000_000;
    let segments = (bits / 8 / u128::from(segment)).max(1);
    saturate(u64::try_from(segments).unwrap_or(u64::MAX).saturating_mul(u64::from(segment)))
}

impl Described for Pfabric {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for Pfabric {
    fn begin(start: &FlowStart, params: &Params) -> Self {
        Self::new(start, params)
    }
}

impl Flow for Pfabric {
    fn on_route(&mut self, _now: Time, route: RouteFacts) {
        let is_first = self.timeout == Time::ZERO;
        let timeout = route.round_trip.as_nanos().saturating_mul(u64::from(self.timeout_round_trips));
        self.timeout = Time::from_nanos(timeout.max(1));
        if !self.has_window {
            self.largest = product(&route, self.segment);
            self.window = if is_first { self.largest } else { self.window.min(self.largest) };
            self.threshold = if is_first { self.largest } else { self.threshold.min(self.largest) };
        }
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.timeouts = 0;
        if ack.limit == SendLimit::Window {
            self.grow(saturate(ack.newly).min(self.window));
        }
    }

    fn on_loss(&mut self, _now: Time, loss: Loss) {
        // Nothing else finds a loss where the driver keeps to the fixed time-out.
        if !matches!(loss, Loss::Timeout { .. }) {
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        self.threshold = (self.window / 2).max(MIN_THRESHOLD * self.segment);
        self.window = self.segment;
        self.counted = 0;
    }

    #[inline]
    fn window(&self) -> u64 {
        u64::from(self.window)
    }

    fn fixed_timeout(&self) -> Option<Time> {
        Some(self.timeout).filter(|&timeout| timeout > Time::ZERO)
    }

    #[inline]
    fn payload(&self, segment: u32) -> u32 {
        if self.timeouts >= self.probes_after { PROBE } else { segment }
    }

    #[inline]
    fn urgency(&self, remaining: u64) -> u64 {
        (u64::from(self.class) << CLASS_SHIFT) + remaining.min((1 << CLASS_SHIFT) - 1)
    }
}

#[cfg(test)]
mod tests;
