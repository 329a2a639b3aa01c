//! Events that notify watchers of the state of a contract, of any kind.

use wayleave_protocol::contract::State;
use wayleave_scheme_api::Certainty;
use wayleave_units::{Human, WallTime};

use crate::event::EventKind;
use crate::grant::{AdmittedContract, DegradedReason, KindState, LateDelivery, ShareState};
use crate::journal::{DirtyRecord, Journal};

impl Journal {
    /// Records a new state of a contract: marks its record to be written, and notifies watchers.
    pub(crate) fn announce(&mut self, grant: &mut AdmittedContract, state: State) {
        let revision = self.next_revision_of(&grant.id.tenant);
        (grant.state, grant.revision) = (state, revision);
        grant.announced_reason = grant.reason_code();
        self.mark(DirtyRecord::Contract(grant.serial));
        self.contract_event(kind(state), &grant.id, revision, detail(grant));
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

/// Cause of the state of a contract, or its promise.
fn detail(grant: &AdmittedContract) -> String {
    match grant.state {
        State::Pending => pending(grant.waits_for(), grant.order.starts),
        State::Admitted | State::Enforced => match &grant.held {
            KindState::Latency(latency) => format!("bound {}", latency.bound.up()),
            KindState::Share(share) => promised(share),
        },
        State::Degraded => grant.degraded_reason.as_ref().map(degraded_text).unwrap_or_default(),
        State::Violated => grant.violation().map(|late| late.text()).unwrap_or_default(),
        State::Released => String::new(),
    }
}

/// Describes the certainty of a contract's promise.
fn promised(share: &ShareState) -> String {
    let word = Certainty::OF_TIMES.name();
    let within = share.within.map(|within| format!(", delivery within {} ({word})", within.up())).unwrap_or_default();
    match share.certainty {
        Some(certainty) => format!("{}{within}", certainty.name()),
        None => "no guarantee".to_owned(),
    }
}

fn pending(waits_for: usize, starts: Option<WallTime>) -> String {
    match waits_for {
        0 => starts.map_or_else(String::new, |starts| format!("starts at {starts}")),
        1 => "waits until one previous route has drained".to_owned(),
        many => format!("waits until {many} previous routes have drained"),
    }
}

fn degraded_text(degraded_reason: &DegradedReason) -> String {
    match degraded_reason {
        DegradedReason::Failed { element, why, .. } => format!("{element} is down: {why}"),
        DegradedReason::Unfit { why } => format!("re-evaluated at startup and refused: {why}"),
        DegradedReason::Unconfirmed => "a host has not confirmed its rule, or a switch its queues".to_owned(),
        DegradedReason::Silent { .. } => "the agent of one of its hosts or switches is silent".to_owned(),
        DegradedReason::NotCarriedOut { why, .. } => format!("an agent cannot carry it out: {why}"),
    }
}

impl LateDelivery {
    /// Returns a clause with the number of late packets and the slowest one.
    pub fn text(&self) -> String {
        let worst = self.worst.up();
        match self.packets {
            1 => format!("1 packet was late: it took {worst}"),
            many => format!("{many} packets were late, the slowest took {worst}"),
        }
    }
}
