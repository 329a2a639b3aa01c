//! What a run says of fast-forward.

use std::collections::BTreeMap;

use crate::stats::Histogram;

/// What was skipped instead of simulated, and what that may have cost.
#[derive(Clone, Debug, Default)]
pub struct ForwardOutcome {
    /// What was asked for: the estimated error of a completion time, as a share of it.
    pub error: f64,
    /// Why nothing of the scenario could be skipped, if that is so.
    pub refusal: Option<&'static str>,
    /// How often a group of flows was skipped.
    pub skips: u64,
    /// Segments that nobody simulated.
    pub skipped_segments: u64,
    /// For how long, in ps, summed over flows.
    pub skipped_flow_time: u128,
    /// How often a group was looked at and not skipped, by what was wrong.
    pub declined: BTreeMap<&'static str, u64>,
    /// Of completed flows: how much of the completion time the estimated error is, in millionths.
    pub errors: Histogram,
}

impl ForwardOutcome {
    pub(super) fn decline(&mut self, why: &'static str) {
        *self.declined.entry(why).or_default() += 1;
    }
}
