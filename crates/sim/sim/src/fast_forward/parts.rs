//! What groups are looked at with, and what is known of flows.

use crate::clock::Instant;
use crate::fabric::NetworkState;
use crate::flows::Flows;
use crate::interfaces::Interfaces;
use crate::run_stats::RunStats;

/// Nobody looks more often: below a round trip of a rack.
pub(crate) const MIN_LOOK: Instant = 1_000_000;

/// What groups are looked at with.
pub(crate) struct Parts<'a> {
    pub(crate) fabric: &'a mut NetworkState,
    pub(crate) flows: &'a mut Flows,
    pub(crate) interfaces: &'a mut Interfaces,
    pub(crate) stats: &'a mut RunStats,
}

/// What is known of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowSnapshot {
    /// When it was opened: with its place, which flow it is.
    pub(super) opened: Instant,
    /// Those that its segments and acknowledgements take, each once.
    pub(super) links: Vec<u32>,
    pub(super) is_parked: bool,
}
