//! DCTCP: the window shrinks in proportion to congestion.
//!
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; S. Bensley et al., "Data Center TCP (DCTCP): TCP
//! Congestion Control for Data Centers", RFC 8257 (2017).
//!
//! Ports mark packets that find more than a threshold in the queue ([`crate::switch::threshold`]). The sender keeps
//! an average, alpha, of the fraction of bytes that were marked, with one sample for each window of data. When marks
//! arrive it reduces its window by alpha / 2, at most once for each window of data: half for lasting congestion,
//! little for a queue that only touches the threshold. Growth, losses and time-outs are NewReno's
//! ([`crate::transport::newreno`]).
//!
//! | text | here |
//! |---|---|
//! | SIGCOMM (1); RFC 8257, 3.3, steps 1 to 8: `alpha = (1 - g) alpha + g M` per window | `observe` |
//! | SIGCOMM (2); RFC 8257, 3.3, step 9: `cwnd = cwnd (1 - alpha / 2)`, once per window | `reduce` |
//! | SIGCOMM 3.4; RFC 8257, 4.2: g = 1/16 | [`GAIN_SHIFT`] |
//! | RFC 8257, 3.3: alpha begins at 1 | [`Dctcp::new`] |
//! | RFC 8257, 3.5: losses as in any TCP | `on_loss` |
//! | RFC 3168, 6.1.2: marked bytes do not let the window grow; the least window is one segment | `on_ack` |
//!
//! Deviations, and points that the texts leave open:
//! - The window shrinks at the first mark, as in RFC 3168, not at the end of the window of observation (RFC 8257,
//!   3.3, step 9 follows step 8). It shrinks by the alpha of the windows before, and then not until everything sent
//!   up to now is acknowledged. If the acknowledgement with the mark ends an observation as well, alpha is updated
//!   first.
//! - Marks on packets sent before a loss was found do not shrink the window once more; a loss after marks does (RFC
//!   8257, 3.5, allows both readings).
//! - Bytes that were acknowledged selectively count when they are reported (RFC 8257, 3.3, step 1, leaves them out
//!   until they are acknowledged in order): each byte counts once in both cases.
//! - The receiver reports the marked bytes, so its state machine (RFC 8257, 3.2) is not needed.
//! - Alpha is a whole number of 2^-30; the average stops within 2^-26 of the limit of a real number.
//! - A window that is less than one segment is not used (RFC 8257 does not either).

use wayleave_scheme_api::{Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, RecoveryPhase, Role, params};
use wayleave_units::Time;

use crate::power::{FRACTION_SHIFT, ONCE, WHOLE};
use crate::transport::newreno::{NewReno, may_grow, saturate};
use crate::transports::Transport;

/// g as a power of two: 1/16 (SIGCOMM 2010, section 3.4; RFC 8257, section 4.2).
pub const GAIN_SHIFT: u32 = 4;

/// Alpha is a whole number of this part.
const ALPHA_SHIFT: u32 = FRACTION_SHIFT;

/// Alpha of 1.
const ONE: u32 = WHOLE;

/// A loss has shrunk the window; no flow is that long.
const LOST: u64 = u64::MAX;

/// Descriptor of DCTCP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "dctcp",
    title: "DCTCP",
    roles: &[Role::Transport],
    summary: "The window shrinks in proportion to the fraction of marked packets",
    citation: "M. Alizadeh and others, \"Data Center TCP (DCTCP)\", SIGCOMM 2010; S. Bensley and others, RFC 8257 (2017)",
    guarantee: "nothing to a single flow; queues near the marking threshold if all senders use it",
    parameters: Params::LIST,
};

params! {
    /// DCTCP's parameters: its texts fix all of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {}
}

/// Congestion control of one flow by DCTCP.
///
/// ```
/// use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, RecoveryPhase};
/// use wayleave_schemes::transport::dctcp::Dctcp;
/// use wayleave_units::Time;
///
/// let start = FlowStart {
///     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
/// };
/// let mut flow = Dctcp::new(&start);
/// let marked = Ack {
///     newly: 1000, marked: 1000, acknowledged: 1000, sent: 10_000, in_flight: 9000, remaining: None,
///     round_trip: None, host_delay: None, limit: SendLimit::Window, phase: RecoveryPhase::Open, telemetry: &[],
/// };
/// flow.on_ack(Time::ZERO, &marked);
/// assert_eq!((flow.alpha(), flow.window()), (1.0, 5000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    base: NewReno,
    /// The average fraction of marked bytes, in parts of [`ONE`].
    alpha: u32,
    /// Acknowledged in this window of observation.
    acknowledged: u32,
    /// Of these, marked.
    marked: u32,
    /// The observation ends when more than this is acknowledged.
    observed_until: u64,
    /// Marks do not shrink the window until more than this is acknowledged: it has shrunk for them. [`LOST`] until
    /// the acknowledgement after a loss reports the amount sent.
    reduced_until: u64,
}

impl Dctcp {
    /// A flow that begins with its initial window, in slow start, and takes the worst for granted: alpha is 1.
    pub fn new(start: &FlowStart) -> Self {
        let base = NewReno::new(start);
        Self { base, alpha: ONE, acknowledged: 0, marked: 0, observed_until: 0, reduced_until: 0 }
    }

    /// The average fraction of bytes that are marked, from 0 to 1.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha) / f64::from(ONE)
    }

    /// Returns `true` if a mark on the next acknowledgement would shrink the window.
    pub fn may_shrink(&self, acknowledged: u64) -> bool {
        self.reduced_until != LOST && acknowledged >= self.reduced_until
    }

    /// Returns the flow after `count` more acknowledgements, none of which carries a mark or lets the window grow.
    /// `acknowledged` is the amount acknowledged now. Each acknowledges `segment` bytes, and leaves the same amount
    /// outstanding as the latest one.
    ///
    /// ```
    /// # use wayleave_scheme_api::{Ack, Flow, FlowStart, SendLimit, RecoveryPhase};
    /// # use wayleave_schemes::transport::dctcp::Dctcp;
    /// # use wayleave_units::Time;
    /// # let start = FlowStart {
    /// #     segment: 1000, initial_window: 10_000, max_window: 1_000_000, size: None, deadline: None, weight: 1,
    /// # };
    /// let mut flow = Dctcp::new(&start);
    /// let acknowledge = |flow: &mut Dctcp, acknowledged| {
    ///     flow.on_ack(Time::ZERO, &Ack {
    ///         newly: 1000, marked: 0, acknowledged, sent: acknowledged + 9000, in_flight: 9000, remaining: None,
    ///         round_trip: None, host_delay: None, limit: SendLimit::Application, phase: RecoveryPhase::Open, telemetry: &[],
    ///     });
    /// };
    /// acknowledge(&mut flow, 1000);
    /// let later = flow.after_unmarked(1000, 1000, 25);
    /// (2..=26).for_each(|segments| acknowledge(&mut flow, segments * 1000));
    /// assert_eq!(later, flow);
    /// ```
    #[must_use]
    pub fn after_unmarked(mut self, acknowledged: u64, segment: u64, count: u64) -> Self {
        let segment = segment.max(1);
        let outstanding = u64::from(self.base.outstanding());
        let (mut acknowledged, mut left) = (acknowledged, count);
        while left > 0 {
            // One more than those that only reach the end of the observation.
            let round = self.observed_until.saturating_sub(acknowledged) / segment + 1;
            let some = round.min(left);
            acknowledged += some * segment;
            left -= some;
            self.acknowledged = self.acknowledged.saturating_add(saturate(some * segment));
            if some == round {
                self.alpha = average(self.alpha, self.marked, self.acknowledged);
                (self.acknowledged, self.marked) = (0, 0);
                self.observed_until = acknowledged + outstanding;
            }
        }
        self
    }

    /// Counts acknowledgements from a later byte.
    pub fn renumber(&mut self, by: u64) {
        self.observed_until = self.observed_until.saturating_sub(by);
    }

    /// Sets alpha, for tests of derived schemes.
    #[cfg(test)]
    pub(crate) fn set_alpha(&mut self, alpha: f64) {
        self.alpha = (alpha * f64::from(ONE)) as u32;
    }

    /// Lets the observation last until more than this is acknowledged, for tests of derived schemes.
    #[cfg(test)]
    pub(crate) fn observe_until(&mut self, acknowledged: u64) {
        self.observed_until = acknowledged;
    }

    /// Counts what was marked; at the end of a window of data, alpha follows.
    #[inline]
    fn observe(&mut self, ack: &Ack<'_>) {
        self.acknowledged = self.acknowledged.saturating_add(saturate(ack.newly));
        self.marked = self.marked.saturating_add(saturate(ack.marked.min(ack.newly)));
        if ack.acknowledged <= self.observed_until {
            return;
        }
        self.alpha = average(self.alpha, self.marked, self.acknowledged);
        (self.acknowledged, self.marked) = (0, 0);
        self.observed_until = ack.sent;
    }

    /// Returns `true` if marks concern packets sent since the window last shrank.
    #[inline]
    fn is_news(&mut self, ack: &Ack<'_>) -> bool {
        if self.reduced_until == LOST {
            self.reduced_until = ack.sent;
        }
        ack.acknowledged > self.reduced_until || self.reduced_until == 0
    }

    /// Processes an acknowledgement, for DCTCP and for derived schemes. Marks take half of the fraction that
    /// `penalty` computes from alpha and the window. In congestion avoidance the window grows by `growth` (in parts
    /// of [`ONCE`]) of a segment per round trip.
    #[inline]
    pub(crate) fn follow(&mut self, ack: &Ack<'_>, penalty: impl FnOnce(u32, u64) -> u32, growth: u32) {
        self.base.grow_window(ack);
        self.observe(ack);
        let is_news = self.is_news(ack);
        if ack.marked > 0 && is_news && ack.phase == RecoveryPhase::Open {
            self.reduce(ack, penalty(self.alpha, self.base.window()));
        } else if may_grow(ack) {
            self.base.grow_slowly(ack.newly.saturating_sub(ack.marked), growth);
        }
    }

    /// Shrinks the window for marks, by half of this fraction.
    fn reduce(&mut self, ack: &Ack<'_>, fraction: u32) {
        let window = self.base.window();
        let less = (window * u64::from(fraction)) >> (ALPHA_SHIFT + 1);
        self.base.reduce_to(window - less);
        self.reduced_until = ack.sent;
    }
}

/// Alpha after a window in which `marked` of `acknowledged` bytes were marked.
fn average(alpha: u32, marked: u32, acknowledged: u32) -> u32 {
    let Some(sample) = (u64::from(marked) << ALPHA_SHIFT).checked_div(u64::from(acknowledged)) else { return alpha };
    let step = (sample as i64 - i64::from(alpha)) >> GAIN_SHIFT;
    (i64::from(alpha) + step).clamp(0, i64::from(ONE)) as u32
}

impl Described for Dctcp {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for Dctcp {
    const ECN_CAPABLE: bool = true;

    fn begin(start: &FlowStart, _: &Params) -> Self {
        Self::new(start)
    }
}

impl Flow for Dctcp {
    #[inline]
    fn receives_routes(&self) -> bool {
        false
    }

    #[inline]
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.follow(ack, |alpha, _| alpha, ONCE);
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.base.on_loss(now, loss);
        self.reduced_until = LOST;
    }

    #[inline]
    fn window(&self) -> u64 {
        self.base.window()
    }
}

#[cfg(test)]
mod tests;
