//! Tenants, their quotas and their usage.

use std::collections::BTreeMap;

use wayleave_contracts::{Named, Quota};
use wayleave_protocol::DEFAULT_TENANT;

use crate::command::{CommandError, Outcome, Precondition, Reply};
use crate::decision::QuotaShort;
use crate::event::EventKind;
use crate::journal::{DirtyRecord, Journal};
use crate::quota::QuotaUsage;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantState {
    /// Maximum usage.
    pub quota: Quota,
    /// Present usage.
    pub usage: QuotaUsage,
    /// Its revision.
    pub revision: u64,
    /// The last serial number before its creation: contracts up to it are of earlier tenants with this name. 0 if it was
    /// created by a version without this number.
    pub created_after: u64,
}

/// All tenants, by name.
#[derive(Clone, Default)]
pub(crate) struct Tenants {
    by_name: BTreeMap<String, TenantState>,
}

impl Tenants {
    pub(crate) fn put(
        &mut self,
        journal: &mut Journal,
        name: String,
        quota: Quota,
        check: Precondition,
    ) -> Result<Reply, CommandError> {
        Named::Tenant.check(&name).map_err(|error| CommandError::wrong_name(&error))?;
        let known = self.get(&name);
        check.hold(known.map(|tenant| tenant.revision))?;
        if let Some(same) = known.filter(|tenant| tenant.quota == quota) {
            return Ok(Reply::Done { outcome: Outcome::Unchanged, revision: same.revision });
        }
        let (usage, created_after, outcome) = match known {
            Some(old) => (old.usage, old.created_after, Outcome::Changed),
            None => (QuotaUsage::default(), journal.counters().serial, Outcome::Created),
        };
        let revision = journal.next_revision_of(&name);
        journal.event(EventKind::Put, &format!("tenant {name}"), Some(name.clone()), revision, String::new());
        journal.mark(DirtyRecord::Tenant(name.clone()));
        self.by_name.insert(name, TenantState { quota, usage, revision, created_after });
        Ok(Reply::Done { outcome, revision })
    }

    /// Ends a tenant that has nothing left.
    pub(crate) fn remove(&mut self, journal: &mut Journal, name: &str) -> Reply {
        self.by_name.remove(name);
        let revision = journal.next_revision_of(name);
        journal.forget_own(name);
        journal.event(EventKind::Deleted, &format!("tenant {name}"), Some(name.to_owned()), revision, String::new());
        journal.mark(DirtyRecord::Tenant(name.to_owned()));
        Reply::Done { outcome: Outcome::Deleted, revision }
    }

    /// The tenant of contracts that name none, if it is not there yet.
    pub(crate) fn insert_default(&mut self, journal: &mut Journal) {
        if self.get(DEFAULT_TENANT).is_none() {
            let revision = journal.next_revision_of(DEFAULT_TENANT);
            self.insert(DEFAULT_TENANT.to_owned(), Quota::default(), revision, 0);
            journal.mark(DirtyRecord::Tenant(DEFAULT_TENANT.to_owned()));
        }
    }

    /// From a record; what it uses follows from its contracts.
    pub(crate) fn insert(&mut self, name: String, quota: Quota, revision: u64, created_after: u64) {
        let usage = QuotaUsage::default();
        self.by_name.insert(name, TenantState { quota, usage, revision, created_after });
    }

    /// The same for a tenant that may be there with its contracts, which stay.
    pub(crate) fn replace(&mut self, name: &str, quota: Quota, revision: u64, created_after: u64) {
        let usage = self.get(name).map_or_else(QuotaUsage::default, |tenant| tenant.usage);
        self.by_name.insert(name.to_owned(), TenantState { quota, usage, revision, created_after });
    }

    /// Forgets a tenant whose record was deleted.
    pub(crate) fn forget(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&TenantState> {
        self.by_name.get(name)
    }

    /// The tenant of this name, or the fault that there is none.
    pub(crate) fn find(&self, name: &str) -> Result<&TenantState, CommandError> {
        self.get(name).ok_or_else(|| CommandError::NotFound { what: "tenant", name: name.to_owned() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &TenantState)> {
        self.by_name.iter().map(|(name, tenant)| (name.as_str(), tenant))
    }

    /// Charges a tenant for a contract, in place of its old usage, if the quota allows it.
    pub(crate) fn charge(&mut self, tenant: &str, old: Option<QuotaUsage>, new: QuotaUsage) -> Result<(), QuotaShort> {
        let Some(tenant) = self.by_name.get_mut(tenant) else { return Ok(()) };
        let before = tenant.usage;
        if let Some(old) = old {
            tenant.usage.subtract(old);
        }
        tenant.usage.add(new);
        let grows = tenant.usage.rate > before.rate || tenant.usage.burst > before.burst || old.is_none();
        // A quota that was lowered below the usage does not keep a tenant from asking for less.
        if let Some(short) = tenant.usage.beyond(&tenant.quota).filter(|_| grows) {
            tenant.usage = before;
            return Err(short);
        }
        Ok(())
    }

    /// Takes [`Tenants::charge`] back.
    pub(crate) fn uncharge(&mut self, tenant: &str, old: Option<QuotaUsage>, new: QuotaUsage) {
        let Some(tenant) = self.by_name.get_mut(tenant) else { return };
        tenant.usage.subtract(new);
        if let Some(old) = old {
            tenant.usage.add(old);
        }
    }

    /// Counts a contract that was admitted before; whether its tenant is there.
    pub(crate) fn count(&mut self, tenant: &str, contract: QuotaUsage) -> bool {
        let tenant = self.by_name.get_mut(tenant);
        tenant.map(|tenant| tenant.usage.add(contract)).is_some()
    }

    /// A contract of a tenant has ended.
    pub(crate) fn subtract(&mut self, tenant: &str, contract: QuotaUsage) {
        if let Some(tenant) = self.by_name.get_mut(tenant) {
            tenant.usage.subtract(contract);
        }
    }
}
