//! What is asked for, and who is told what came of it.

use wayleave_explain::Decided;
use wayleave_formats::EventList;

use super::summary::{Released, Summary};
use crate::contracts::Contracts;
use crate::error::Error;
use crate::findings::Findings;
use crate::progress::{Cancel, Progress, Step};
use crate::session::Session;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// Contracts that all come and stay.
    Contracts(&'a Contracts),
    /// Contracts that come, change and go.
    Events(&'a EventList, Hold),
}

/// How long what an ended contract had reserved is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
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
pub struct Outcome {
    /// Counts, and times of decisions.
    pub summary: Summary,
    /// What can be said against requests whatever else is admitted.
    pub findings: Findings,
    /// Whether all were decided; not if somebody has cancelled it.
    pub is_complete: bool,
}

/// Who is told, and who may stop it.
pub(super) struct Watch<'a> {
    pub(super) progress: &'a mut dyn Progress,
    pub(super) cancel: &'a Cancel,
}

impl Watch<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(super) fn items(&mut self, done: usize, total: usize) {
        self.progress.step(Step::Items { done: done as u64, total: total as u64 });
    }
}
