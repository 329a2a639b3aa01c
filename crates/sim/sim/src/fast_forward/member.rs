//! Flows of groups.

use crate::clock::Instant;
use crate::flows::FlowSlot;

/// One flow of a group: its place, and when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) slot: FlowSlot,
    pub(super) opened: Instant,
}
