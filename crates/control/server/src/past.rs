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
use wayleave_protocol::timeline::{PastContract, PastContracts, UnknownPast};
use wayleave_units::WallTime;

use crate::log::{Entry, Log};

/// A contract that a commit creates, changes or deletes, with its previous order.
#[derive(Clone, Debug)]
pub(crate) struct ChangedContract {
    pub(crate) id: Id,
    /// `None` if there was none.
    pub(crate) before: Option<ContractSpec>,
}

/// Changes of a commit to the contracts of a tenant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UndoRecord {
    /// Among those of all tenants.
    pub(crate) number: u64,
    /// Time in ns.
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
pub(crate) struct KnownSince {
    pub(crate) event: u64,
    pub(crate) at: u64,
}

/// The time that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Directly after the commit that published this event, by its number among all.
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
    fn is_within(self, since: KnownSince) -> bool {
        match self {
            Self::Event(number) => number >= since.event,
            Self::Time(time) => time.as_nanos() >= since.at,
        }
    }
}

/// Undo records of a tenant, the latest first.
pub(crate) struct TenantUndoLog {
    tenant: String,
    records: Vec<Arc<Entry>>,
    /// One before them was forgotten.
    is_shortened: bool,
    since: KnownSince,
}

impl TenantUndoLog {
    /// Of a tenant. Records are read later, without the view: there may be many.
    pub(crate) fn of(undo: &Log, since: KnownSince, tenant: String) -> Self {
        let records = undo.before(Some(&tenant), u64::MAX).cloned().collect();
        let is_shortened = undo.misses(Some(&tenant), 0);
        Self { tenant, records, is_shortened, since }
    }

    /// Adds the contracts that were different, or the tenant to those of which that is not known.
    pub(crate) fn undo(self, target: Target, past: &mut PastContracts) {
        match self.contracts(target) {
            Ok(contracts) => past.contracts.extend(contracts.into_iter().map(|(name, spec)| {
                let id = Id::new(self.tenant.as_str(), name).to_string();
                PastContract { id, spec }
            })),
            Err(since) => {
                let since = since.map(|since| WallTime::from_nanos(since).to_string());
                past.unknown.push(UnknownPast { tenant: self.tenant, since });
            }
        }
    }

    /// Contracts that were changed since, by name, as they were; or the time from which on they are known, if that is
    /// not only now.
    fn contracts(&self, target: Target) -> Result<BTreeMap<String, Option<ContractSpec>>, Option<u64>> {
        // Records from before may be there, and changes of a version between that keeps none.
        if !target.is_within(self.since) {
            return Err(self.known_since());
        }
        let (mut contracts, mut oldest) = (BTreeMap::new(), None);
        for entry in &self.records {
            // A record that cannot be read is not known, and nothing before it.
            let Ok(record) = serde_json::from_slice::<UndoRecord>(&entry.json(None)) else { return Err(oldest) };
            if !target.is_before(&record) {
                return Ok(contracts);
            }
            oldest = Some(record.at);
            contracts.extend(record.created.into_iter().map(|name| (name, None)));
            contracts.extend(record.before.into_iter().map(|spec| (spec.name.clone().unwrap_or_default(), Some(spec))));
        }
        if self.is_shortened { Err(self.known_since()) } else { Ok(contracts) }
    }

    /// The time from which on no record is missing, if that is not only now.
    fn known_since(&self) -> Option<u64> {
        if !self.is_shortened {
            return Some(self.since.at);
        }
        let first = serde_json::from_slice::<UndoRecord>(&self.records.last()?.json(None)).ok()?;
        Some(first.at.max(self.since.at))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    fn kept(records: &[UndoRecord], is_shortened: bool) -> TenantUndoLog {
        let entry = |record: &UndoRecord| {
            Arc::new(Entry::new(record.number, record.number, None, serde_json::to_vec(record).unwrap().into()))
        };
        let since = KnownSince { event: 5, at: 50 };
        TenantUndoLog {
            tenant: "t".to_owned(),
            records: records.iter().rev().map(entry).collect(),
            is_shortened,
            since,
        }
    }

    fn record(number: u64, after: u64, rate: Option<&str>) -> UndoRecord {
        let spec =
            |rate: &str| ContractSpec { name: Some("a".into()), rate: Some(rate.into()), ..ContractSpec::default() };
        let created = if rate.is_none() { vec!["a".to_owned()] } else { Vec::new() };
        UndoRecord { number, at: 10 * after, after, created, before: rate.map(spec).into_iter().collect() }
    }

    /// The rate of contract a, or `-` if there was none, or nothing if it is as it is now.
    fn rate(kept: &TenantUndoLog, target: Target) -> Result<Option<String>, Option<u64>> {
        let contracts = kept.contracts(target)?;
        Ok(contracts.get("a").map(|spec| spec.as_ref().map_or("-".to_owned(), |spec| spec.rate.clone().unwrap())))
    }

    #[test]
    fn the_earliest_change_after_the_target_gives_the_state_at_the_target() {
        let records = [record(1, 6, None), record(2, 7, Some("1bit")), record(3, 9, Some("2bit"))];
        let kept = kept(&records, false);
        let then = |target| rate(&kept, target).unwrap();
        for (event, expected) in
            [(5, Some("-")), (6, Some("-")), (7, Some("1bit")), (8, Some("2bit")), (9, Some("2bit"))]
        {
            assert_eq!(then(Target::Event(event)).as_deref(), expected, "{event}");
        }
        assert_eq!(then(Target::Event(10)), None, "as it is now");
        // At the time of a commit it is done.
        for (time, expected) in
            [(59, Some("-")), (60, Some("1bit")), (70, Some("2bit")), (89, Some("2bit")), (90, None)]
        {
            assert_eq!(then(Target::Time(WallTime::from_nanos(time))).as_deref(), expected, "{time}");
        }
    }

    #[test]
    fn states_before_the_first_record_or_a_dropped_one_are_unknown() {
        let records = [record(1, 6, None), record(2, 7, Some("1bit"))];
        for (shortened, since) in [(false, 50), (true, 60)] {
            assert_eq!(rate(&kept(&records, shortened), Target::Event(4)), Err(Some(since)));
            assert_eq!(rate(&kept(&records, shortened), Target::Time(WallTime::from_nanos(49))), Err(Some(since)));
        }
        assert_eq!(rate(&kept(&[], false), Target::Event(4)), Err(Some(50)));
        // A version that keeps no records has run behind the first one.
        let before = [record(1, 2, None), record(2, 7, Some("1bit"))];
        assert_eq!(rate(&kept(&before, false), Target::Event(4)), Err(Some(50)));
        assert_eq!(rate(&kept(&before, true), Target::Event(4)), Err(Some(50)));
        assert_eq!(rate(&kept(&before, true), Target::Event(5)), Ok(Some("1bit".to_owned())));
        assert_eq!(rate(&kept(&records, true), Target::Event(6)), Err(Some(60)), "known from the first record on");
        assert_eq!(rate(&kept(&records, true), Target::Event(7)), Ok(Some("1bit".to_owned())));
        assert_eq!(rate(&kept(&[], true), Target::Event(9)), Err(None), "all of it was forgotten");
    }
}
