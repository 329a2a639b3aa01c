//! End of a run, and results of guarantees.

use super::operator::ReportedContract;

/// Result of a guarantee in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuaranteeResult {
    /// It was measured, was in effect until the end, and was kept.
    Kept,
    /// Packets were late, lost or too few.
    Violated,
    /// It was not measured, or was not in effect all the time, for this reason.
    Unknown(String),
}

/// Reason for which a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunCompletion {
    /// It had its whole duration, and the states of contracts at its end are known.
    Complete,
    /// The user stopped it.
    Stopped,
    /// States at its end could not be observed, for this reason.
    Unobserved(String),
}

/// Observations at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) end: RunCompletion,
    /// Contracts, or the reason for which they are unknown.
    pub(super) contracts: Result<Vec<ReportedContract>, String>,
    /// Programs of the lab that have exited.
    pub(super) exited: Vec<String>,
}

impl Ending {
    /// Returns the state of a contract, and the reason if its guarantee is not known to be in effect.
    pub(super) fn state(&self, id: &str) -> (String, Option<String>) {
        match &self.contracts {
            Err(why) => ("unknown".to_owned(), Some(format!("its state at the end is unknown: {why}"))),
            Ok(all) => match all.iter().find(|one| one.id == id) {
                None => ("released".to_owned(), Some("it was deleted during the run".to_owned())),
                Some(one) if one.is_in_effect() => (one.state.clone(), None),
                Some(one) => (one.state.clone(), Some(format!("{} at the end", one.explained()))),
            },
        }
    }
}
