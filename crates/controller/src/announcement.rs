//! What watchers are told of the state of a contract, of whatever kind.

use wayleave_protocol::Id;
use wayleave_protocol::contract::State;
use wayleave_roles::Certainty;
use wayleave_units::WallTime;

use crate::event::EventKind;
use crate::grant::{Grant, Trouble, Violation};
use crate::journal::{Dirty, Journal};
use crate::shared::SharedGrant;

/// A contract whose state is announced when it changes.
pub(crate) trait Announced {
    fn id(&self) -> &Id;

    /// Its record.
    fn record(&self) -> Dirty;

    /// It is in this state from now on, which is this revision of it.
    fn enter(&mut self, state: State, revision: u64);

    /// Why it is in its state, or what it is promised there.
    fn detail(&self) -> String;
}

impl Journal {
    /// A contract is in another state: its record is to be written, and watchers are told.
    pub(crate) fn announce(&mut self, contract: &mut impl Announced, state: State) {
        let revision = self.next_revision_of(&contract.id().tenant);
        contract.enter(state, revision);
        self.mark(contract.record());
        self.contract_event(kind(state), contract.id(), revision, contract.detail());
    }
}

const fn kind(state: State) -> EventKind {
    match state {
        State::Pending => EventKind::Pending,
        State::Admitted => EventKind::Admitted,
        State::Enforced => EventKind::Enforced,
        State::Degraded => EventKind::Degraded,
        State::Violated => EventKind::Violated,
        State::Released => EventKind::Released,
    }
}

impl Announced for Grant {
    fn id(&self) -> &Id {
        &self.id
    }

    fn record(&self) -> Dirty {
        Dirty::Contract(self.serial)
    }

    fn enter(&mut self, state: State, revision: u64) {
        (self.state, self.revision) = (state, revision);
    }

    fn detail(&self) -> String {
        match self.state {
            State::Pending => pending(self.waits_for(), self.order.starts),
            State::Admitted | State::Enforced => format!("bound {}", self.bound),
            State::Degraded => self.trouble.as_ref().map(trouble).unwrap_or_default(),
            State::Violated => self.violation.map(violation).unwrap_or_default(),
            State::Released => String::new(),
        }
    }
}

impl Announced for SharedGrant {
    fn id(&self) -> &Id {
        &self.id
    }

    fn record(&self) -> Dirty {
        Dirty::Shared(self.serial)
    }

    fn enter(&mut self, state: State, revision: u64) {
        (self.state, self.revision) = (state, revision);
    }

    fn detail(&self) -> String {
        match self.state {
            State::Pending => pending(self.waits_for(), self.order.starts),
            State::Admitted | State::Enforced => promised(self),
            State::Degraded => self.trouble.as_ref().map(trouble).unwrap_or_default(),
            State::Violated | State::Released => String::new(),
        }
    }
}

/// How much is known of what a contract is promised.
fn promised(grant: &SharedGrant) -> String {
    let word = Certainty::OF_TIMES.name();
    let within = grant.within.map(|within| format!(", there within {within} ({word})")).unwrap_or_default();
    match grant.certainty {
        Some(certainty) => format!("{}{within}", certainty.name()),
        None => "nothing is promised".to_owned(),
    }
}

fn pending(waits_for: usize, starts: Option<WallTime>) -> String {
    match waits_for {
        0 => starts.map_or_else(String::new, |starts| format!("starts at {starts}")),
        1 => "a route that was left has to be empty first".to_owned(),
        many => format!("{many} routes that were left have to be empty first"),
    }
}

fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Failed { element, why, .. } => format!("{element} is down: {why}"),
        Trouble::Unfit { why } => format!("it does not fit by the rules of this version: {why}"),
        Trouble::Unconfirmed => "its host has not confirmed its rule in time".to_owned(),
        Trouble::Silent => "the agent of its host has not been heard of for too long".to_owned(),
    }
}

fn violation(violation: Violation) -> String {
    format!("{} packets came too late, the latest after {}", violation.packets, violation.worst)
}
