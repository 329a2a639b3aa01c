//! The switch role: operations of a port on packets beside queueing.
//!
//! One value for each queue of a port. The choice of the next packet, and of the packet that a full port drops, is
//! the port's discipline (pFabric's among them) and no part of this role. Neither are the counters of in-band
//! telemetry, which every port has.
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
    /// Time at which it was last empty and nothing was being sent; `None` while it is not.
    pub idle_since: Option<Time>,
}

/// Congestion mark of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It does not.
    No,
    /// It does, if its transport understands marks.
    Congestion,
}

/// Operations of one queue of a port beside queueing.
///
/// There are no timers: if a port forgets after some time (uFAB-C, 4.2: pairs without a probe for 10 s), this shows
/// only in a later probe, so it is forgotten then.
pub trait Switch {
    /// A packet of `bytes` on the wire arrives at a queue.
    fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark;

    /// A packet with telemetry leaves; `probe` is its part for this port if it is a probe (w of uFAB, 3.6). The port
    /// has filled its record but for the fields that schemes keep: tokens, windows, rate and period.
    ///
    /// It is called only for such packets: a hook on every departure would cost ports that need none an event for
    /// each packet, and no scheme marks when packets leave.
    fn on_telemetry(&mut self, _now: Time, _probe: Option<&ProbeAt>, _hop: &mut IntHop) {}
}
