//! A contract of any kind that was decided.

use wayleave_scheme_api::Refusal;
use wayleave_units::Time;

use crate::event::RequestEvent;
use crate::request::DecidedFlow;
use crate::share::DecidedShare;

/// A contract that was decided, of any kind.
#[derive(Clone, Copy)]
pub enum DecidedContract<'a> {
    /// About latency: it has a flow.
    Flow(DecidedFlow<'a>),
    /// Of another kind: it has a share of classes, or nothing if it is best effort.
    Share(DecidedShare<'a>),
}

impl DecidedContract<'_> {
    /// Name of the contract.
    pub fn name(&self) -> &str {
        match self {
            Self::Flow(decided) => &decided.contract.name,
            Self::Share(decided) => decided.contract.name(),
        }
    }

    /// Event that asked for it, and its time.
    pub const fn event(&self) -> Option<(RequestEvent, Time)> {
        match self {
            Self::Flow(decided) => decided.event,
            Self::Share(decided) => decided.event,
        }
    }

    /// Reason of its refusal, if it was refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Flow(decided) => decided.decision.as_ref().err(),
            Self::Share(decided) => decided.decision.as_ref().err(),
        }
    }
}
