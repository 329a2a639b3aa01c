//! Contracts as they were: what commits have changed, undone from the last one backwards.
//!
//! A contract is changed if it is created, changed or deleted. Of one that is changed or deleted, what was asked for before is kept, so that the past
//! follows from the present: no entry has to be there from before the time that is asked for, and all of them since. Priorities, labels and times
//! of a contract can change without a decision, so that decisions alone would not do.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wayleave_controller::Id;
use wayleave_protocol::contract::ContractSpec;
use wayleave_protocol::timeline::{Past, PastContract, UnknownPast};
use wayleave_units::WallTime;

use crate::log::Entry;
use crate::view::Tables;

/// A contract that a commit creates, changes or deletes, with what was asked for before.
#[derive(Clone, Debug)]
pub(crate) struct ChangedContract {
    pub(crate) id: Id,
    /// `None` if there was none.
    pub(crate) before: Option<ContractSpec>,
}

/// What a commit has changed of the contracts of a tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UndoRecord {
    /// Among those of all tenants.
    pub(crate) number: u64,
    /// When, in ns.
    pub(crate) at: u64,
    /// The number of the last event before the commit.
    pub(crate) after: u64,
    /// Names of contracts that were created.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) created: Vec<String>,
    /// Contracts that were changed or deleted, as they were.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) before: Vec<ContractSpec>,
}

/// From where on something is known: behind this event, and from this time on in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Since {
    pub(crate) event: u64,
    pub(crate) at: u64,
}

/// The time that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Right after the commit that has told this event, by its number among all.
    Event(u64),
    /// This time.
    Time(WallTime),
}

impl Target {
    /// Returns `true` if a commit came later.
    fn is_before(self, record: &UndoRecord) -> bool {
        match self {
            Self::Event(number) => record.after >= number,
            Self::Time(time) => record.at > time.as_nanos(),
        }
    }

    /// Returns `true` if records from here on are all that is needed.
    fn is_within(self, since: Since) -> bool {
        match self {
            Self::Event(number) => number >= since.event,
            Self::Time(time) => time.as_nanos() >= since.at,
        }
    }
}

/// What is kept of a tenant: its undo records, the latest first.
pub(crate) struct Kept {
    tenant: String,
    records: Vec<Arc<Entry>>,
    /// Whether one before them was forgotten.
    is_shortened: bool,
    since: Since,
}

impl Kept {
    /// Of a tenant. Records are read later, without the view: there may be many.
    pub(crate) fn of(tables: &Tables, tenant: String) -> Self {
        let records = tables.undo.before(Some(&tenant), u64::MAX).cloned().collect();
        let is_shortened = tables.undo.misses(Some(&tenant), 0);
        Self { tenant, records, is_shortened, since: tables.undo_since }
    }

    /// Adds the contracts that were different, or the tenant to those of which that is not known.
    pub(crate) fn undo(self, target: Target, past: &mut Past) {
        match self.contracts(target) {
            Ok(contracts) => past.contracts.extend(contracts.into_iter().map(|(name, spec)| {
                let id = Id::new(self.tenant.as_str(), name).to_string();
                PastContract { id, spec }
            })),
            Err(since) => {
                let since = WallTime::from_nanos(since).to_string();
                past.unknown.push(UnknownPast { tenant: self.tenant, since });
            }
        }
    }

    /// Contracts that were changed since, by name, as they were; or the time from which on they are known.
    fn contracts(&self, target: Target) -> Result<BTreeMap<String, Option<ContractSpec>>, u64> {
        if !target.is_within(self.since) {
            return Err(self.since.at);
        }
        let (mut contracts, mut oldest) = (BTreeMap::new(), self.since.at);
        for entry in &self.records {
            // A record that cannot be read is not known, and nothing before it.
            let Ok(record) = serde_json::from_slice::<UndoRecord>(&entry.json(None)) else { return Err(oldest) };
            if !target.is_before(&record) {
                return Ok(contracts);
            }
            oldest = record.at;
            contracts.extend(record.created.into_iter().map(|name| (name, None)));
            contracts.extend(record.before.into_iter().map(|spec| (spec.name.clone().unwrap_or_default(), Some(spec))));
        }
        if self.is_shortened { Err(oldest) } else { Ok(contracts) }
    }
}
