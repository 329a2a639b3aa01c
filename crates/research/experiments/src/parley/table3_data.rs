//! Measurements of Table 3.

use crate::checkpoint::stored;

use super::testbed::{MarkFeedback, RELEASED, System, THRESHOLD};

/// Loads of A and B together. The text does not state the load of the last column: B offers its maximum and more.
pub(super) const LOADS: [u64; 4] = [15, 50, 70, 110];

/// The last of them: more than the policy allows.
pub(super) const BEYOND: u64 = LOADS[3];

/// Parley as section 3.2.1 has it, as EyeQ's program has it, and without marks.
pub(super) const READINGS: [System; 3] =
    [System::Parley(MarkFeedback::Deaf), System::Parley(MarkFeedback::Printed), System::Parley(RELEASED)];

/// Without Parley: nothing, and EyeQ, which "assumes a congestion-free core" (6.3).
pub(super) const OTHERS: [System; 2] = [System::Nothing, System::Eyeq(MarkFeedback::Deaf)];

/// Controls: the effect of marks without brokers, beyond 100 %; and the effect of the released form at 70 % with the
/// threshold of Table 1 for K.
pub(super) const CONTROLS: [(System, u64); 2] =
    [(System::Eyeq(MarkFeedback::Printed), BEYOND), (System::Parley(THRESHOLD), 70)];

/// A simulated case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) system: System,
    pub(super) load: u64,
    /// Rack brokers of the receiving rack that die before anything is counted.
    pub(super) crashed: usize,
}

/// Measurements, and the bounds of equation 2 in ms.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// Each case with its runs.
    pub(super) cells: Vec<(Case, Vec<RunReadings>)>,
    /// Of A and of B, at each load.
    pub(super) bounds: [[f64; 4]; 2],
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunReadings {
    /// The percentiles of A and of B in ms; infinite where more requests were not complete at the end.
    pub(super) tails: [f64; 2],
    /// Requests of A that count.
    pub(super) requests: u64,
    /// Traffic that the rack receives, in Gbit/s.
    pub(super) received: f64,
    /// Share of packets that arrive marked, in per cent.
    pub(super) marked: f64,
}

stored!(RunReadings { tails, requests, received, marked });

impl Data {
    pub(super) fn runs(&self, system: System, load: u64, crashed: usize) -> &[RunReadings] {
        let case = Case { system, load, crashed };
        self.cells.iter().find(|(of, _)| *of == case).map_or(&[], |(_, runs)| runs)
    }

    /// Percentiles of a service, one for each run.
    pub(super) fn tails(&self, system: System, load: u64, service: usize) -> Vec<f64> {
        self.runs(system, load, 0).iter().map(|run| run.tails[service]).collect()
    }
}

/// Returns a time in ms, or a text that it exceeds the observed time.
pub(super) fn text(tail: f64) -> String {
    if tail.is_finite() { format!("{tail:.2} ms") } else { "more than the run".to_owned() }
}
