//! What a plan tells its reader, request by request: the values, and who writes them down.

use std::collections::BTreeMap;
use std::io::{BufWriter, StdoutLock};

use wayleave_explain::Decided;
use wayleave_units::Time;

use super::json::Document;
use super::table::RequestTable;
use crate::failure::Failure;
use crate::session::{Session, Verdict};

/// A contract that ended.
pub(crate) struct Released<'a> {
    pub(crate) name: &'a str,
    pub(crate) at: Time,
    /// When what it had reserved is free; `None` if it had reserved nothing.
    pub(crate) held_until: Option<Time>,
}

/// Sums over all requests.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    /// `None` where nothing can be released.
    pub(crate) released: Option<u64>,
    /// Refusals by their code.
    pub(crate) by_reason: BTreeMap<&'static str, u64>,
    /// How often an admitted flow was moved.
    pub(crate) moved: u64,
    /// ns, per decision.
    durations: Vec<u64>,
}

/// How long decisions took, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) mean: u64,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
}

impl Summary {
    /// Of events: contracts can be released.
    pub(crate) fn of_events() -> Self {
        Self { released: Some(0), ..Self::default() }
    }

    /// Counts the end of a contract that was admitted.
    pub(crate) fn count_release(&mut self, released: &Released<'_>) {
        *self.released.get_or_insert(0) += u64::from(released.held_until.is_some());
    }

    /// Counts one more verdict.
    pub(crate) fn count(&mut self, verdict: &Verdict) {
        match &verdict.decision {
            Ok(decision) => {
                self.admitted += 1;
                self.moved += decision.moved.len() as u64;
            }
            Err(refusal) => {
                self.refused += 1;
                *self.by_reason.entry(refusal.reason().code()).or_default() += 1;
            }
        }
        self.durations.push(u64::try_from(verdict.time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How long decisions took; `None` if there was none.
    pub(crate) fn times(&self) -> Option<Times> {
        let mut sorted = self.durations.clone();
        sorted.sort_unstable();
        let percentile = |hundredths: usize| sorted.get((sorted.len() * hundredths).div_ceil(100).checked_sub(1)?);
        let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
        let mean = u64::try_from(sum / sorted.len().max(1) as u128).unwrap_or(u64::MAX);
        Some(Times { mean, p50: *percentile(50)?, p99: *percentile(99)? })
    }
}

/// Who writes a plan down.
pub(crate) enum Writer {
    Json(Document<BufWriter<StdoutLock<'static>>>),
    Table(RequestTable),
}

impl Writer {
    pub(crate) fn request(&mut self, session: &Session, decided: &Decided<'_>) -> Result<(), Failure> {
        match self {
            Self::Json(document) => document.request(session, decided),
            Self::Table(table) => {
                table.request(session, decided);
                Ok(())
            }
        }
    }

    pub(crate) fn release(&mut self, released: &Released<'_>) -> Result<(), Failure> {
        match self {
            Self::Json(document) => document.release(released),
            Self::Table(table) => {
                table.release(released);
                Ok(())
            }
        }
    }

    pub(crate) fn end(self, session: &Session, summary: &Summary) -> Result<(), Failure> {
        match self {
            Self::Json(document) => document.end(session, summary),
            Self::Table(table) => table.end(session, summary),
        }
    }
}
