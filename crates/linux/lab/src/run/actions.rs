//! Actions on the network during a run, and their results.

use std::collections::BTreeSet;
use std::time::Duration;

use wayleave_units::Time;

/// Something that was done to the network while contracts sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAction {
    /// A contract was given another route.
    Reroute,
    /// Contracts that were given a route may go anywhere again.
    Free,
    /// A cable was cut, and reported down.
    Cut,
    /// The action had no effect.
    Nothing,
}

/// An action and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// Kind of the action.
    pub kind: NetworkAction,
    /// The contract, or one of the links of the cable.
    pub what: String,
    /// Beginning of the action, in nanoseconds of the calendar's clock.
    pub began: u64,
    /// Consequences; the error is the reason why the action had no effect or, of any kind but
    /// [`NetworkAction::Nothing`], why its consequences are unknown.
    pub outcome: Result<ActionOutcome, String>,
}

/// Consequences of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionOutcome {
    /// Contracts that got other routes, with their bounds there.
    pub moved: Vec<(String, Time)>,
    /// Contracts that were interrupted: they were pending, and their packets went best effort.
    pub stopped: BTreeSet<String>,
    /// Contracts that were not kept then.
    pub degraded: usize,
    /// From the action until every contract was enforced again, or known not to be kept.
    pub took: Duration,
}

impl ActionResult {
    /// Returns `true` if the network was changed, and the consequences were not observed.
    pub fn is_unfinished(&self) -> bool {
        self.kind != NetworkAction::Nothing && self.outcome.is_err()
    }

    /// Returns `true` if a contract had no known promise when a packet was sent: its route was broken, it had to stop,
    /// or the consequences of the action are unknown.
    pub(super) fn breaks(&self, contract: &str, sent: u64) -> bool {
        (self.began..=self.ended()).contains(&sent) && self.interrupts(contract)
    }

    /// Returns `true` if a contract had no known promise for some time.
    pub(super) fn interrupts(&self, contract: &str) -> bool {
        let is_cut = self.kind == NetworkAction::Cut && self.promised(contract).is_some();
        let is_stopped = self.outcome.as_ref().is_ok_and(|outcome| outcome.stopped.contains(contract));
        is_cut || is_stopped || self.is_unfinished()
    }

    /// Returns the time at which every contract was enforced again, in nanoseconds of the calendar's clock; the
    /// latest possible one if that was not observed.
    pub(super) fn ended(&self) -> u64 {
        let took = |outcome: &ActionOutcome| u64::try_from(outcome.took.as_nanos()).unwrap_or(u64::MAX);
        self.outcome.as_ref().map_or(u64::MAX, |outcome| self.began.saturating_add(took(outcome)))
    }

    /// Returns the bound of a contract on its other route, if it is known to have got one.
    pub(super) fn promised(&self, contract: &str) -> Option<Time> {
        let moved = &self.outcome.as_ref().ok()?.moved;
        moved.iter().find(|(moved, _)| moved == contract).map(|&(_, bound)| bound)
    }

    pub(super) fn failed(why: String) -> Self {
        Self { kind: NetworkAction::Nothing, what: String::new(), began: 0, outcome: Err(why) }
    }
}
