//! Statistics of the outcomes of a list of requests.

use std::collections::BTreeMap;

use std::time::Duration;

use wayleave_scheme_api::RefusalCode;
use wayleave_units::Time;

use crate::session::RequestOutcome;

/// A contract that ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Released<'a> {
    /// Its name.
    pub name: &'a str,
    /// Time when it ended.
    pub at: Time,
    /// Time when its reservation is freed; `None` if it had reserved nothing.
    pub held_until: Option<Time>,
}

/// Sums over all requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanSummary {
    /// Contracts that were admitted.
    pub admitted: u64,
    /// Contracts that were refused.
    pub refused: u64,
    /// `None` where nothing can be released.
    pub released: Option<u64>,
    /// Refusals by their code.
    pub by_reason: BTreeMap<&'static str, u64>,
    /// Refused contracts that other delay budgets could admit.
    pub refused_by_budgets: u64,
    /// Number of moves of admitted flows.
    pub moved: u64,
    /// ns, per decision.
    durations: Vec<u64>,
}

/// Durations of decisions, in ns.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Times {
    /// Of all.
    pub mean: u64,
    /// The median.
    pub p50: u64,
    /// Not exceeded by 99 %.
    pub p99: u64,
}

impl PlanSummary {
    /// Of events: contracts can be released.
    pub(super) fn of_events() -> Self {
        Self { released: Some(0), ..Self::default() }
    }

    /// Counts the end of a contract that was admitted.
    pub(super) fn count_release(&mut self, released: &Released<'_>) {
        *self.released.get_or_insert(0) += u64::from(released.held_until.is_some());
    }

    /// Counts one more verdict.
    pub fn count(&mut self, verdict: &RequestOutcome) {
        match &verdict.decision {
            Ok(decision) => {
                self.admitted += 1;
                self.moved += decision.moved.len() as u64;
            }
            Err(refusal) => {
                self.refused_by_budgets += u64::from(refusal.depends_on_budgets());
                self.count_refusal(refusal.reason());
            }
        }
        self.count_time(verdict.time);
    }

    /// Counts a contract of another kind than latency: admitted, or refused for a reason.
    pub fn count_share(&mut self, refused: Option<RefusalCode>, time: Duration) {
        match refused {
            None => self.admitted += 1,
            Some(reason) => self.count_refusal(reason),
        }
        self.count_time(time);
    }

    fn count_refusal(&mut self, reason: RefusalCode) {
        self.refused += 1;
        *self.by_reason.entry(reason.code()).or_default() += 1;
    }

    fn count_time(&mut self, time: Duration) {
        self.durations.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the durations of decisions; `None` if there was no decision.
    pub fn times(&self) -> Option<Times> {
        let mut sorted = self.durations.clone();
        sorted.sort_unstable();
        let percentile = |hundredths: usize| sorted.get((sorted.len() * hundredths).div_ceil(100).checked_sub(1)?);
        let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
        let mean = u64::try_from(sum / sorted.len().max(1) as u128).unwrap_or(u64::MAX);
        Some(Times { mean, p50: *percentile(50)?, p99: *percentile(99)? })
    }
}
