//! What a run says of fast-forward.

use std::collections::BTreeMap;

use crate::stats::Histogram;

/// The part that was skipped instead of simulated.
#[derive(Clone, Debug, Default)]
pub struct ForwardOutcome {
    /// The error of a completion time that was allowed, as a share of it.
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
    /// Of completed flows: a bound of the error of the completion time, in millionths of it.
    pub errors: Histogram,
}

impl ForwardOutcome {
    pub(super) fn decline(&mut self, why: &'static str) {
        *self.declined.entry(why).or_default() += 1;
    }
}
