//! Input of a plan, and the sink that receives its decisions.

use wayleave_explain::DecidedContract;
use wayleave_formats::EventList;

use super::summary::{PlanSummary, Released};
use crate::contracts::Contracts;
use crate::error::Error;
use crate::findings::FirstFindings;
use crate::session::Session;

/// Input of a plan.
#[derive(Clone, Copy, Debug)]
pub enum PlanInput<'a> {
    /// Contracts that all come and stay.
    Contracts(&'a Contracts),
    /// Contracts that come, change and go.
    Events(&'a EventList, ReleaseHold),
}

impl<'a> From<&'a Contracts> for PlanInput<'a> {
    fn from(contracts: &'a Contracts) -> Self {
        Self::Contracts(contracts)
    }
}

/// Duration for which the reservation of an ended contract is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseHold {
    /// For its route's bound: its packets may be in flight (design, section 4).
    #[default]
    Bound,
    /// Not at all, as in the publications.
    Nothing,
}

/// A receiver of decisions as they are made.
pub trait Sink {
    /// Handles a decided contract; the session holds everything admitted up to and including it.
    ///
    /// # Errors
    /// If the sink cannot accept the decision: this error ends the planning.
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error>;

    /// A contract ended.
    ///
    /// # Errors
    /// As for [`Sink::decided`].
    fn released(&mut self, released: &Released<'_>) -> Result<(), Error>;
}

impl<S: Sink> Sink for &mut S {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        (**self).decided(session, decided)
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        (**self).released(released)
    }
}

/// Outcome of all requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanOutcome {
    /// Counts, and times of decisions.
    pub summary: PlanSummary,
    /// Problems of requests that do not depend on other admitted contracts.
    pub findings: FirstFindings,
    /// `true` if all requests were decided; `false` after a cancellation.
    pub is_complete: bool,
}
