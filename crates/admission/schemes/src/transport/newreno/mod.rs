//! NewReno: additive increase, multiplicative decrease.
//!
//! M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681 (2009); T. Henderson et al., "The NewReno
//! Modification to TCP's Fast Recovery Algorithm", RFC 6582 (2012); M. Allman, "TCP Congestion Control with
//! Appropriate Byte Counting (ABC)", RFC 3465 (2003).
//!
//! A sender begins in slow start: acknowledged bytes are added to its window, which doubles in a round trip. At the
//! threshold it changes to congestion avoidance: one segment more for each window that is acknowledged. A loss that
//! later acknowledgements reveal halves the window. A time-out leaves one segment, and slow start leads back to half
//! of the amount outstanding before. While a loss is repaired the window stays constant, and the transport sends by
//! the amount in flight (RFC 6675). The window grows only if it limits the sender.
//!
//! | text | here |
//! |---|---|
//! | RFC 5681, 3.1, slow start; RFC 3465, 2.2 and 2.3: L = 2 SMSS, 1 SMSS after a time-out | `slow_start` |
//! | RFC 5681, 3.1, congestion avoidance, in bytes acknowledged; RFC 3465, 2.1 | `avoid_congestion` |
//! | RFC 5681, (4): ssthresh = max(FlightSize / 2, 2 SMSS) | `half_of_flight` |
//! | RFC 5681, 3.2; RFC 6582, 3.2, step 2: fast recovery | `on_loss`, [`Loss::Fast`] |
//! | RFC 5681, 3.1: a time-out; the second in a row leaves ssthresh unchanged | `on_loss`, [`Loss::Timeout`] |
//! | RFC 6582, 3.2, step 3, full acknowledgements, second option: the window is ssthresh | the same window throughout |
//!
//! Deviations:
//! - Fast recovery does not inflate the window by duplicate acknowledgements (RFC 5681, 3.2, steps 3 to 5): the
//!   transport counts the amount in flight, as RFC 6675 does, and needs no such correction.
//! - FlightSize is the amount that the latest acknowledgement left outstanding, at most the window: segments that
//!   limited transmit sends beyond that do not count (RFC 5681, 3.2, step 2).
//! - The window is not reduced after an idle period (RFC 5681, 4.1): this module does not know the retransmission
//!   time-out. An unused window at least does not grow.
//! - It does not react to congestion marks: its packets are not ECN-capable (RFC 3168).
//! - No window is above 1 GiB, even if the transport allows more: [`MAX_WINDOW`].

use wayleave_scheme_api::{
    Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, RecoveryPhase, Role, SendLimit, params,
};
use wayleave_units::Time;

use crate::power::{EXPONENT_SHIFT, ONCE};
use crate::transports::Transport;

/// No window of TCP is larger, in bytes (RFC 7323, section 2.3: 2^30). So amounts within a window take 4 B each.
pub const MAX_WINDOW: u64 = 1 << 30;

/// Maximum number of segments that one acknowledgement may add in slow start (RFC 3465, section 2.3: L).
const SLOW_START_LIMIT: u32 = 2;

/// The limit in slow start after a time-out, when an acknowledgement may cover segments that arrived long before (RFC
/// 3465, section 2.3).
const RESTART_LIMIT: u32 = 1;

/// No threshold is lower, in segments (RFC 5681, equation 4).
const MIN_THRESHOLD: u32 = 2;

/// Descriptor of NewReno.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    title: "NewReno",
    roles: &[Role::Transport],
    summary: "Additive increase, multiplicative decrease on losses",
    citation: "M. Allman, V. Paxson, E. Blanton, \"TCP Congestion Control\", RFC 5681 (2009); T. Henderson and others, \"The NewReno Modification to TCP's Fast Recovery Algorithm\", RFC 6582 (2012)",
    guarantee: "nothing to a single flow; in the long run, equal windows for flows with equal round-trip times",
    parameters: Params::LIST,
};

params! {
    /// NewReno's parameters: its texts fix all of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {}
}

/// Congestion control of one flow by NewReno.
///
/// ```
/// use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, Loss, RecoveryPhase};
/// use wayleave_schemes::transport::newreno::NewReno;
/// use wayleave_units::Time;
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
/// };
/// let mut flow = NewReno::new(&start);
/// let ack = Ack {
///     newly: 1000, marked: 0, acknowledged: 1000, sent: 11_000, in_flight: 9000, remaining: None, round_trip: None,
///     host_delay: None, limit: SendLimit::Window, phase: RecoveryPhase::Open, telemetry: &[],
/// };
/// flow.on_ack(Time::ZERO, &ack);
/// assert_eq!(flow.window(), 11_000);
/// flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 9000 });
/// assert_eq!(flow.window(), 5000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    window: u32,
    /// ssthresh.
    threshold: u32,
    max_window: u32,
    /// FlightSize after the latest acknowledgement.
    outstanding: u32,
    /// Acknowledged in congestion avoidance since the window last grew.
    counted: u32,
    segment: u32,
    history: History,
}

/// Effect of the latest time-out on the next events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Nothing: there was none, or a loss has been found otherwise since.
    Calm,
    /// Nothing has been acknowledged since.
    TimedOut,
    /// The sender starts again.
    Restarting,
}

impl History {
    /// After an acknowledgement of something new.
    #[inline]
    pub(crate) fn acknowledged(self) -> Self {
        if self == Self::TimedOut { Self::Restarting } else { self }
    }

    /// L: how many segments one acknowledgement may add in slow start.
    #[inline]
    pub(crate) fn slow_start_limit(self) -> u32 {
        if self == Self::Calm { SLOW_START_LIMIT } else { RESTART_LIMIT }
    }
}

impl NewReno {
    /// A flow that begins with its initial window, in slow start (RFC 5681, 3.1: ssthresh as high as possible).
    pub fn new(start: &FlowStart) -> Self {
        let limits = Limits::new(start);
        Self {
            window: limits.initial,
            threshold: limits.max_window,
            max_window: limits.max_window,
            outstanding: 0,
            counted: 0,
            segment: limits.segment,
            history: History::Calm,
        }
    }

    /// From where on growth is linear (ssthresh), in bytes.
    pub fn threshold(&self) -> u64 {
        u64::from(self.threshold)
    }

    /// Bytes sent and not acknowledged after the latest acknowledgement.
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Takes notice of an acknowledgement, whether or not the window may grow.
    #[inline]
    pub(crate) fn grow_window(&mut self, ack: &Ack<'_>) {
        self.outstanding = saturate(ack.sent.saturating_sub(ack.acknowledged));
        self.history = self.history.acknowledged();
    }

    /// Grows the window for acknowledged bytes.
    #[inline]
    pub(crate) fn grow(&mut self, acknowledged: u64) {
        self.grow_slowly(acknowledged, ONCE);
    }

    /// Grows the window for acknowledged bytes; in congestion avoidance by `growth` parts of [`ONCE`] of the usual
    /// growth, at most 1.
    #[inline]
    pub(crate) fn grow_slowly(&mut self, acknowledged: u64, growth: u32) {
        // No acknowledgement covers more than a window; one that seems to counts for a window.
        let acknowledged = saturate(acknowledged).min(self.window);
        let window = if self.window < self.threshold {
            self.slow_start(acknowledged)
        } else {
            self.avoid_congestion(
                ((u64::from(acknowledged) * u64::from(growth) + u64::from(ONCE / 2)) >> EXPONENT_SHIFT) as u32,
            )
        };
        self.window = window.min(self.max_window);
    }

    fn slow_start(&self, acknowledged: u32) -> u32 {
        self.window + acknowledged.min(self.history.slow_start_limit() * self.segment)
    }

    fn avoid_congestion(&mut self, acknowledged: u32) -> u32 {
        self.counted += acknowledged;
        if self.counted < self.window {
            return self.window;
        }
        self.counted -= self.window;
        self.window + self.segment
    }

    /// Congestion that is no loss: this window, but at least one segment, and linear growth from there.
    pub(crate) fn reduce_to(&mut self, window: u64) {
        self.window = saturate(window).max(self.segment).min(self.max_window);
        self.threshold = self.window.max(self.least_threshold());
        self.counted = 0;
    }

    fn half_of_flight(&self, in_flight: u64) -> u32 {
        (flight(self.outstanding, in_flight, self.window) / 2).max(self.least_threshold())
    }

    fn least_threshold(&self) -> u32 {
        (MIN_THRESHOLD * self.segment).min(self.max_window)
    }
}

impl Described for NewReno {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for NewReno {
    fn begin(start: &FlowStart, _: &Params) -> Self {
        Self::new(start)
    }
}

impl Flow for NewReno {
    #[inline]
    fn receives_routes(&self) -> bool {
        false
    }

    #[inline]
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.grow_window(ack);
        if may_grow(ack) {
            self.grow(ack.newly);
        }
    }

    fn on_loss(&mut self, _now: Time, loss: Loss) {
        self.counted = 0;
        match loss {
            Loss::Fast { in_flight } => {
                self.threshold = self.half_of_flight(in_flight);
                self.window = self.threshold;
                self.history = History::Calm;
            }
            Loss::Timeout { in_flight } => {
                if self.history != History::TimedOut {
                    self.threshold = self.half_of_flight(in_flight);
                }
                self.window = self.segment.min(self.max_window);
                self.history = History::TimedOut;
            }
        }
    }

    #[inline]
    fn window(&self) -> u64 {
        u64::from(self.window)
    }
}

/// Returns `true` if an acknowledgement may let a window grow: nothing is being repaired, and the window limits the
/// sender.
#[inline]
pub(crate) fn may_grow(ack: &Ack<'_>) -> bool {
    ack.phase == RecoveryPhase::Open && ack.limit == SendLimit::Window
}

/// FlightSize: what is outstanding, at most the window; before the first acknowledgement what the transport counts.
pub(crate) fn flight(outstanding: u32, in_flight: u64, window: u32) -> u32 {
    outstanding.max(saturate(in_flight)).min(window)
}

/// An amount within a window.
#[inline]
pub(crate) fn saturate(bytes: u64) -> u32 {
    bytes.min(MAX_WINDOW) as u32
}

/// Limits of a flow, in amounts within a window; none of them is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) segment: u32,
    pub(crate) initial: u32,
    pub(crate) max_window: u32,
}

impl Limits {
    pub(crate) fn new(start: &FlowStart) -> Self {
        let segment = saturate(u64::from(start.segment)).max(1);
        let max_window = saturate(start.max_window).max(1);
        let initial = if start.initial_window == 0 { segment } else { saturate(start.initial_window) };
        Self { segment, initial: initial.min(max_window), max_window }
    }
}

#[cfg(test)]
mod tests;
