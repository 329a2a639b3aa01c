//! What is asked for, and who is told what came of it.

use wayleave_explain::Decided;
use wayleave_formats::EventList;

use super::summary::{Released, Summary};
use crate::contracts::Contracts;
use crate::error::Error;
use crate::findings::Findings;
use crate::session::Session;

/// What is asked for.
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

/// How long what an ended contract had reserved is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseHold {
    /// For its route's bound: its packets may be in flight (design, section 4).
    #[default]
    Bound,
    /// Not at all, as in the publications.
    Nothing,
}

/// Who is told of decisions as they fall.
pub trait Sink {
    /// A contract was decided; the session holds what is admitted with it.
    ///
    /// # Errors
    /// Whatever keeps the sink from taking it: the deciding ends with that.
    fn decided(&mut self, session: &Session, decided: &Decided<'_>) -> Result<(), Error>;

    /// A contract ended.
    ///
    /// # Errors
    /// As for [`Sink::decided`].
    fn released(&mut self, released: &Released<'_>) -> Result<(), Error>;
}

impl<S: Sink> Sink for &mut S {
    fn decided(&mut self, session: &Session, decided: &Decided<'_>) -> Result<(), Error> {
        (**self).decided(session, decided)
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        (**self).released(released)
    }
}

/// What came of all requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Counts, and times of decisions.
    pub summary: Summary,
    /// What can be said against requests whatever else is admitted.
    pub findings: Findings,
    /// Whether all were decided; not if somebody has cancelled it.
    pub is_complete: bool,
}
