//! The switch role: what a port does with packets beside queueing them.
//!
//! One value for each queue of a port. Which packet is next, and which one a full port drops, is the port's discipline (pFabric's
//! among them) and no part of this role; so are the counters of in-band telemetry, which every port has.
//!
//! | system | when a packet comes | when one with telemetry leaves |
//! |---|---|---|
//! | DCTCP, RED | marks | |
//! | HPCC, Clove-INT | | the record stays as the port wrote it |
//! | uFAB-C, 3.6 and 4.2 | | adds tokens and windows of a new pair, takes off those that end, writes both sums |

use wayleave_units::{Bytes, Time};

use crate::telemetry::{IntHop, ProbeAt};

/// A queue as a packet finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Held, without the packet.
    pub queued: Bytes,
    /// When it was last empty and nothing was being sent; `None` while it is not.
    pub idle_since: Option<Time>,
}

/// Whether a packet gets a congestion mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It does not.
    No,
    /// It does, if its transport understands marks.
    Congestion,
}

/// What one queue of a port does beside queueing.
///
/// There are no timers: what a port forgets after a while (uFAB-C, 4.2: pairs without a probe for 10 s) shows only in a
/// later probe, so it is forgotten then.
pub trait Switch {
    /// A packet of `bytes` on the wire arrives at a queue.
    fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark;

    /// A packet with telemetry leaves; `probe` is what it says to this port if it is a probe (w of uFAB, 3.6). The port has filled its record
    /// but for what schemes keep: tokens, windows, rate and period.
    ///
    /// Only such packets are told about: a hook on every departure would cost ports that need none an event for each
    /// packet, and no scheme marks when packets leave.
    fn on_telemetry(&mut self, _now: Time, _probe: Option<&ProbeAt>, _hop: &mut IntHop) {}
}
