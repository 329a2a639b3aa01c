//! Numbers of contracts by state, kind and reason.

use std::collections::BTreeMap;

use wayleave_controller::{DegradedReason, State};
use wayleave_protocol::contract::Kind;

use crate::rendered::ContractObject;

/// Numbers of a tenant's contracts by state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) states: [u64; State::ALL.len()],
    /// By state as it is recorded, without caveats.
    recorded: [u64; State::ALL.len()],
    pub(crate) kinds: [u64; Kind::ALL.len()],
    pub(crate) configured: u64,
    pub(crate) effective: u64,
    pub(crate) late: u64,
    /// Protected contracts of which some disjoint routes are cut.
    pub(crate) unprotected: u64,
    /// Degraded contracts, by the code of their reason.
    pub(crate) degraded: [u64; DegradedReason::CODES.len()],
}

impl Counts {
    pub(crate) fn count(&mut self, contract: &ContractObject, by: impl Fn(u64) -> u64) {
        for (counts, of) in [(&mut self.states, contract), (&mut self.recorded, contract.recorded())] {
            let at = State::ALL.iter().position(|state| *state == of.state()).unwrap_or(0);
            counts[at] = by(counts[at]);
        }
        let at = Kind::ALL.iter().position(|kind| *kind == contract.kind()).unwrap_or(0);
        self.kinds[at] = by(self.kinds[at]);
        let reason = contract.grant().degraded_reason.as_ref().filter(|_| contract.state() == State::Degraded);
        if let Some(at) = reason.and_then(|reason| DegradedReason::CODES.iter().position(|code| *code == reason.code()))
        {
            self.degraded[at] = by(self.degraded[at]);
        }
        for (count, counts) in [
            (&mut self.configured, contract.is_configured()),
            (&mut self.effective, contract.is_effective()),
            (&mut self.late, contract.is_late()),
            (&mut self.unprotected, contract.grant().cut_routes() > 0),
        ] {
            if counts {
                *count = by(*count);
            }
        }
    }

    /// By the name of the state.
    pub(crate) fn by_state(&self) -> BTreeMap<String, u64> {
        by_name(self.states)
    }

    /// Returns the numbers by name of the recorded state, as events have it.
    pub(crate) fn by_recorded_state(&self) -> BTreeMap<String, u64> {
        by_name(self.recorded)
    }

    /// Returns the numbers by name of the promise.
    pub(crate) fn by_kind(&self) -> BTreeMap<String, u64> {
        Kind::ALL.iter().zip(self.kinds).map(|(kind, count)| (kind.name().to_owned(), count)).collect()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.kinds.iter_mut().zip(other.kinds).for_each(|(one, other)| *one += other);
        self.states.iter_mut().zip(other.states).for_each(|(one, other)| *one += other);
        self.recorded.iter_mut().zip(other.recorded).for_each(|(one, other)| *one += other);
        self.degraded.iter_mut().zip(other.degraded).for_each(|(one, other)| *one += other);
        self.configured += other.configured;
        self.effective += other.effective;
        self.late += other.late;
        self.unprotected += other.unprotected;
    }
}

fn by_name(counts: [u64; State::ALL.len()]) -> BTreeMap<String, u64> {
    State::ALL.iter().zip(counts).map(|(state, count)| (state.name().to_owned(), count)).collect()
}
