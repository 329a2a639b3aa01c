//! The admission test of one port: does every queue keep its delay budget and its buffer?
//!
//! Two exact kernels, all in `i128`: rates are below 2^44 bit/s (10 Tbit/s), budgets below 2^34 ns (10 s) and the
//! amounts that can pass below 2^76 nanobits ([`AMOUNT_LIMIT`]), so no product exceeds 2^124. The one sum without such
//! a bound, the line rates of many inputs, saturates towards refusal.
//!
//! - [`fast`]: where every input link is at least as fast as the output, the horizontal and vertical deviations have a
//!   closed form in three numbers per queue, and the service left for the next queue is one line;
//! - [`lines`]: everywhere else, curves as integer lines (sums of token buckets and of line rates are integers).

pub(crate) mod fast;
pub(crate) mod lines;

use wayleave_units::{Bytes, Rate, Time};

/// Larger bursts at one queue are refused outright (9.4 TB; a queue below 7.5 Tbit/s could not serve them within
/// [`wayleave_topology::MAX_BUDGET`] anyhow).
pub(crate) const AMOUNT_LIMIT: i128 = 1 << 76;

/// Reason for which a flow does not fit into a queue: the first promise that it would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The queue whose promise breaks: the one that the flow would enter, or one below it.
    pub queue: u8,
    /// The limit.
    pub limit: QueueLimitKind,
}

/// A promise that would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueLimitKind {
    /// The link is closed ([`Ledger::close`](crate::Ledger::close)).
    Closed,
    /// The long-term rate of the queue would exceed what the queues above leave.
    Rate {
        /// Rate that the queue would carry.
        asked: Rate,
        /// Rate that the queues above leave of the line.
        left: Rate,
    },
    /// The delay bound would exceed the budget.
    Delay {
        /// The bound, rounded up.
        bound: Time,
        /// The budget.
        budget: Time,
    },
    /// The backlog bound would exceed the buffer.
    Buffer {
        /// The bound, rounded up.
        backlog: Bytes,
        /// The buffer.
        buffer: Bytes,
    },
}
