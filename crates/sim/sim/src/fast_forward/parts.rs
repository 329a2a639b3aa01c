//! Parts of the engine for the inspection of groups, and known data of flows.

use crate::clock::Instant;
use crate::fabric::NetworkState;
use crate::flows::Flows;
use crate::interfaces::Interfaces;
use crate::run_stats::RunStats;

/// Minimum interval between inspections: below a round trip of a rack.
pub(crate) const MIN_LOOK: Instant = 1_000_000;

/// Parts of the engine for the inspection of groups.
pub(crate) struct Parts<'a> {
    pub(crate) fabric: &'a mut NetworkState,
    pub(crate) flows: &'a mut Flows,
    pub(crate) interfaces: &'a mut Interfaces,
    pub(crate) stats: &'a mut RunStats,
}

/// Known data of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowSnapshot {
    /// Time at which it was opened: with its slot, this identifies the flow.
    pub(super) opened: Instant,
    /// Links of its segments and acknowledgements, each once.
    pub(super) links: Vec<u32>,
    pub(super) is_parked: bool,
}
