//! Demand of a flow on the wire: reserved by queues and enforced by shapers.

use wayleave_units::{Bytes, Rate};

/// A token bucket in wire bytes, with the largest frame. Ledgers reserve it, and hosts shape to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketDemand {
    /// Long-term rate.
    pub rate: Rate,
    /// Wire bytes at once.
    pub burst: Bytes,
    /// The largest frame, where the contract states one.
    pub max_frame: Option<Bytes>,
}
