//! Report of a run on fast-forward.

use std::collections::BTreeMap;

use crate::stats::Histogram;

/// The part that was skipped instead of simulated.
#[derive(Clone, Debug, Default)]
pub struct ForwardOutcome {
    /// Maximum error of a completion time that was allowed, as a share of that time.
    pub error: f64,
    /// Reason why nothing of the scenario could be skipped, if so.
    pub refusal: Option<&'static str>,
    /// Number of times that a group of flows was skipped.
    pub skips: u64,
    /// Number of segments that were not simulated.
    pub skipped_segments: u64,
    /// Skipped time, in ps, summed over flows.
    pub skipped_flow_time: u128,
    /// Number of times that a group was inspected and not skipped, by reason.
    pub declined: BTreeMap<&'static str, u64>,
    /// Of completed flows: a bound of the error of the completion time, in millionths of that time.
    pub errors: Histogram,
}

impl ForwardOutcome {
    pub(super) fn decline(&mut self, why: &'static str) {
        *self.declined.entry(why).or_default() += 1;
    }
}
