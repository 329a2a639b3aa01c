//! Past decisions, remembered for explanations.

use std::collections::BTreeMap;

use wayleave_contracts::ContractRequest;
use wayleave_scheme_api::{Certainty, Decision, Refusal};
use wayleave_topology::Route;
use wayleave_units::{Time, WallTime};

use wayleave_protocol::Id;

/// Memory for the decisions of each tenant, in bytes: some 1,000 decisions about latency. They serve questions soon
/// after the decision; an admitted contract is explained from the contract itself.
const MEMORY: usize = 1 << 20;

/// A decision.
#[derive(Clone, Debug)]
pub struct DecisionRecord {
    /// Its place among the decisions of all tenants.
    pub sequence: u64,
    /// Its number among those of its tenant.
    pub number: u64,
    /// Time of the decision.
    pub at: WallTime,
    /// For which contract.
    pub id: Id,
    /// The order.
    pub order: ContractRequest,
    /// Outcome of the order.
    pub decided: Decided,
}

/// Outcome of an order.
#[derive(Clone, Debug)]
pub enum Decided {
    /// Admitted with this promise.
    Admitted(ContractPromise),
    /// Refused: a promise would break.
    Refused(Refusal),
    /// Refused: the tenant has as much as it may have.
    Quota(QuotaShort),
}

/// Promise that was given when a contract was admitted.
#[derive(Clone, Debug)]
pub enum ContractPromise {
    /// To a latency contract.
    Delay {
        /// No packet takes longer.
        bound: Time,
        /// Contracts that were moved to admit it.
        moved: Vec<Id>,
    },
    /// To a contract of another kind.
    Share {
        /// Certainty of the promise; `None` for best effort, which has none.
        certainty: Option<Certainty>,
        /// Time after which a minimum is there, if that was asked for.
        within: Option<Time>,
    },
}

impl Decided {
    /// The stable code of a refusal.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Admitted(_) => None,
            Self::Refused(refusal) => Some(refusal.reason().code()),
            Self::Quota(_) => Some(wayleave_scheme_api::RefusalCode::Quota.code()),
        }
    }
}

/// Quota that an order exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaShort {
    /// `rate` (bit/s), `burst` (bytes) or `contracts`.
    pub what: &'static str,
    /// Use of the tenant with the order.
    pub asked: u128,
    /// Maximum use of the tenant.
    pub most: u64,
}

/// The last decisions of each tenant.
#[derive(Default)]
pub(crate) struct Decisions {
    all: BTreeMap<u64, DecisionRecord>,
    of: BTreeMap<String, Own>,
}

/// Decisions of a tenant, by their own numbers, with their positions among all decisions.
#[derive(Default)]
struct Own {
    places: BTreeMap<u64, u64>,
    bytes: usize,
}

impl DecisionRecord {
    /// Returns the approximate size in memory: an order can have many members.
    fn bytes(&self) -> usize {
        let members = self.order.members.len();
        size_of::<Self>() + 512 + 64 * members
    }
}

impl Decisions {
    pub(crate) fn push(&mut self, decision: DecisionRecord) {
        let own = self.of.entry(decision.id.tenant.clone()).or_default();
        own.bytes += decision.bytes();
        own.places.insert(decision.number, decision.sequence);
        self.all.insert(decision.sequence, decision);
        while own.bytes > MEMORY && own.places.len() > 1 {
            let Some(old) = own.places.pop_first().and_then(|(_, place)| self.all.remove(&place)) else { return };
            own.bytes -= old.bytes();
        }
    }

    pub(crate) fn find(&self, tenant: &str, number: u64) -> Option<&DecisionRecord> {
        self.all.get(self.of.get(tenant)?.places.get(&number)?)
    }

    /// The latest last.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &DecisionRecord> {
        self.all.values()
    }
}

/// All routes of a decision.
pub(crate) fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}
