//! Tail loss probes: where acknowledgements stop coming, one more segment asks for one (RFC 8985, section 7).
//!
//! | text | here |
//! |---|---|
//! | 7.1: reset when recovery begins | `reset` |
//! | 7.2: TLP_calc_PTO | [`probe_timeout`]; `schedule`, `cancel` |
//! | 7.3: one probe at once, and one for each new sample of the round trip | `on_timeout`, `is_sent` |
//! | 7.4.2: TLP_process_ack | `on_answer` |
//!
//! Deviations:
//! - No probe time-out before the first sample of the round trip: it could send nothing (7.3), and would put off the
//!   retransmission time-out; TCP has a sample of its handshake then.
//! - None below two ticks of the clock (G of [`RetransmissionTimer`](super::timer::RetransmissionTimer)), as in Linux.

use super::timer::NEVER;
use crate::clock::{Instant, PS_PER_SECOND};

/// Maximum time for which a receiver may delay an acknowledgement (TLP.max_ack_delay), in ps: receivers of this
/// simulator answer at once.
pub(crate) const MAX_ACK_DELAY: Instant = 0;

/// The probe time-out before the first sample (RFC 8985, 7.2), in ps.
const FIRST: Instant = PS_PER_SECOND;

/// PTO: how long to wait for an acknowledgement before a probe. `smoothed`: SRTT, 0 before the first sample;
/// `granularity`: of the clock; `left`: until the retransmission time-out, which it never exceeds.
#[inline]
pub(crate) fn probe_timeout(
    smoothed: Instant,
    in_flight: u32,
    max_ack_delay: Instant,
    granularity: Instant,
    left: Instant,
) -> Instant {
    let timeout = match smoothed {
        0 => FIRST,
        _ => 2 * smoothed + if in_flight == 1 { max_ack_delay } else { 0 },
    };
    timeout.max(MIN_TICKS * granularity).min(left)
}

/// Minimum probe time-out, in ticks of the clock, as in Linux (`TCP_TIMEOUT_MIN`). With a usual tick of 1 ms, two
/// round trips of a datacenter are shorter than the delay of one more queue.
const MIN_TICKS: Instant = 2;

/// A probe whose effect is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// There is none.
    None,
    /// It was new data, all before `end`.
    NewData { end: u32 },
    /// It was the last segment, retransmitted; all data is before `end`.
    Again { end: u32 },
}

/// Result of an acknowledgement for a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing, or that there was no loss.
    None,
    /// The probe replaced a segment that was lost: congestion control has to be notified.
    Repaired,
}

/// Fields of an acknowledgement that matter for probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// Everything before is acknowledged.
    pub(crate) first: u32,
    /// The segment that had arrived before, if the acknowledgement reports one (D-SACK).
    pub(crate) duplicate: Option<u32>,
    /// It reports nothing new, and nothing beyond a gap.
    pub(crate) is_bare: bool,
}

/// The probes of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prober {
    /// Time at which the probe time-out expires.
    at: Instant,
    /// Since when it runs.
    since: Instant,
    pending: Pending,
    /// A round trip was measured since the latest probe.
    has_sample: bool,
}

impl Prober {
    pub(crate) fn new() -> Self {
        Self { at: NEVER, since: 0, pending: Pending::None, has_sample: false }
    }

    #[inline]
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Adds the expiry time of its time-out, relative to a time.
    pub(crate) fn add_state(&self, now: Instant, words: &mut Vec<u64>) {
        let at = if self.at == NEVER { NEVER } else { self.at - now };
        words.extend([at, now - self.since, u64::from(self.has_sample)]);
    }

    /// Returns `true` if no probe is pending.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.pending == Pending::None
    }

    #[inline]
    pub(crate) fn schedule(&mut self, now: Instant, timeout: Instant) {
        (self.at, self.since) = (now + timeout, now);
    }

    /// Returns `true` if it runs since then.
    #[inline]
    pub(crate) fn is_scheduled(&self, since: Instant) -> bool {
        self.since == since && self.at != NEVER
    }

    #[inline]
    pub(crate) fn cancel(&mut self) {
        self.at = NEVER;
    }

    /// Recovery begins.
    pub(crate) fn reset(&mut self) {
        (self.at, self.pending) = (NEVER, Pending::None);
    }

    #[inline]
    pub(crate) fn sample(&mut self) {
        self.has_sample = true;
    }

    /// Handles the expiry of its time-out. Returns `true` if a probe may be sent.
    pub(crate) fn on_timeout(&mut self) -> bool {
        self.at = NEVER;
        self.pending == Pending::None && self.has_sample
    }

    /// A probe leaves.
    pub(crate) fn is_sent(&mut self, probe: Pending) {
        (self.pending, self.has_sample) = (probe, false);
    }

    /// An acknowledgement comes while a probe is open.
    pub(crate) fn on_answer(&mut self, feedback: Feedback) -> Finding {
        let (end, is_again) = match self.pending {
            Pending::None => return Finding::None,
            Pending::NewData { end } => (end, false),
            Pending::Again { end } => (end, true),
        };
        if feedback.first < end {
            return Finding::None;
        }
        let was_there = feedback.duplicate.is_some_and(|segment| segment + 1 == end);
        let finding = match () {
            () if !is_again || was_there => Finding::None,
            () if feedback.first > end => Finding::Repaired,
            () if feedback.is_bare => Finding::None,
            // It is not known yet if the probe or the segment itself arrived.
            () => return Finding::None,
        };
        self.pending = Pending::None;
        finding
    }
}
