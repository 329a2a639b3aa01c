//! What was decided, remembered for explanations.

use std::collections::VecDeque;

use wayleave_contracts::AnyOrder;
use wayleave_roles::{Certainty, Decision, Refusal, ShareRefusal};
use wayleave_topology::Route;
use wayleave_units::{Time, WallTime};

use wayleave_protocol::Id;

/// How many decisions are remembered. They are for people who ask soon; what was admitted is explained from the contract.
const MEMORY: usize = 10_000;

/// A decision.
#[derive(Clone, Debug)]
pub struct DecisionRecord {
    /// Its place among the decisions of all tenants.
    pub sequence: u64,
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub at: WallTime,
    /// For which contract.
    pub id: Id,
    /// What was asked.
    pub order: AnyOrder,
    /// What was decided.
    pub decided: Decided,
}

/// What was decided.
#[derive(Clone, Debug)]
pub enum Decided {
    /// Yes.
    Admitted {
        /// No packet takes longer.
        bound: Time,
        /// The contracts that were moved to admit it.
        moved: Vec<Id>,
    },
    /// Yes, a contract of another kind than latency.
    AdmittedShare {
        /// How much is known of what is promised; nothing is to best effort.
        certainty: Option<Certainty>,
        /// The minimum is there so soon after there is something to send, if that was asked for.
        within: Option<Time>,
    },
    /// No: a promise would break.
    Refused(Refusal),
    /// No, to a contract of another kind than latency: a promise would break.
    RefusedShare(ShareRefusal),
    /// No: the tenant has as much as it may have.
    Quota(QuotaShort),
}

impl Decided {
    /// The stable code of a refusal.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Admitted { .. } | Self::AdmittedShare { .. } => None,
            Self::RefusedShare(refusal) => Some(refusal.reason().code()),
            Self::Refused(refusal) => Some(refusal.reason().code()),
            Self::Quota(_) => Some(wayleave_roles::Reason::Quota.code()),
        }
    }
}

/// What a quota does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaShort {
    /// `rate` (bit/s), `burst` (bytes) or `contracts`.
    pub what: &'static str,
    /// What the tenant would have.
    pub asked: u128,
    /// What it may have.
    pub most: u64,
}

/// The last decisions.
#[derive(Default)]
pub(crate) struct Decisions {
    ring: VecDeque<DecisionRecord>,
}

impl Decisions {
    pub(crate) fn push(&mut self, decision: DecisionRecord) {
        if self.ring.len() == MEMORY {
            self.ring.pop_front();
        }
        self.ring.push_back(decision);
    }

    pub(crate) fn find(&self, number: u64) -> Option<&DecisionRecord> {
        let at = self.ring.binary_search_by_key(&number, |decision| decision.number).ok()?;
        self.ring.get(at)
    }

    /// The latest last.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &DecisionRecord> {
        self.ring.iter()
    }
}

/// All routes of a decision.
pub(crate) fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}
