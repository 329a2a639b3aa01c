//! Tenants and their quotas.

use wayleave_contracts::{Named, Quota};

use crate::command::{Check, Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty};
use crate::event::EventKind;
use crate::quota::Usage;
use crate::tokens::Role;
use wayleave_protocol::DEFAULT_TENANT;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantState {
    /// What it may have at most.
    pub quota: Quota,
    /// What it has.
    pub usage: Usage,
    /// Its revision.
    pub revision: u64,
}

impl Controller {
    pub(crate) fn put_tenant(&mut self, name: String, quota: Quota, check: Check) -> Result<Reply, Fault> {
        let wrong = |error: wayleave_contracts::NameError| Fault::Invalid { field: "name", message: error.to_string() };
        Named::Tenant.check(&name).map_err(wrong)?;
        let known = self.tenants.get(&name);
        check.hold(known.map(|tenant| tenant.revision))?;
        if let Some(same) = known.filter(|tenant| tenant.quota == quota) {
            return Ok(Reply::Done { outcome: Outcome::Unchanged, revision: same.revision });
        }
        let (usage, outcome) = known.map_or((Usage::default(), Outcome::Created), |old| (old.usage, Outcome::Changed));
        let revision = self.next_revision();
        self.event(EventKind::Put, &format!("tenant {name}"), Some(name.clone()), revision, String::new());
        self.mark(Dirty::Tenant(name.clone()));
        self.tenants.insert(name, TenantState { quota, usage, revision });
        Ok(Reply::Done { outcome, revision })
    }

    pub(crate) fn delete_tenant(&mut self, name: &str, check: Check) -> Result<Reply, Fault> {
        let known = self.tenants.get(name);
        check.hold(known.map(|tenant| tenant.revision))?;
        let revision = self.counters.revision;
        if known.is_none() {
            return Ok(Reply::Done { outcome: Outcome::Absent, revision });
        }
        if name == DEFAULT_TENANT {
            return Err(Fault::Forbidden { message: format!("tenant {DEFAULT_TENANT} is always there") });
        }
        let in_use = |by: String| Err(Fault::InUse { what: format!("tenant {name}"), by });
        if let Some(id) = self.grants.values().map(|grant| &grant.id).find(|id| id.tenant == name) {
            return in_use(format!("contract {id}"));
        }
        if let Some(id) = self.vms.keys().find(|id| id.tenant == name) {
            return in_use(format!("VM {id}"));
        }
        // A token that outlived its tenant would open the next one of that name.
        let of_tenant = |role: &Role| matches!(role, Role::Tenant { tenant } | Role::Reader { tenant: Some(tenant) } if tenant == name);
        let tokens: Vec<String> =
            self.tokens.values().filter(|token| of_tenant(&token.role)).map(|token| token.id.clone()).collect();
        for token in tokens {
            self.delete_token(&token);
        }
        self.tenants.remove(name);
        let revision = self.next_revision();
        self.event(EventKind::Deleted, &format!("tenant {name}"), Some(name.to_owned()), revision, String::new());
        self.mark(Dirty::Tenant(name.to_owned()));
        Ok(Reply::Done { outcome: Outcome::Deleted, revision })
    }

    /// All tenants, by name.
    pub fn tenants(&self) -> impl Iterator<Item = (&str, &TenantState)> {
        self.tenants.iter().map(|(name, tenant)| (name.as_str(), tenant))
    }

    /// A tenant.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn tenant(&self, name: &str) -> Result<&TenantState, Fault> {
        self.tenants.get(name).ok_or_else(|| Fault::NotFound { what: "tenant", name: name.to_owned() })
    }
}

impl Check {
    /// Whether an object of this revision, or none, may be changed.
    pub(crate) fn hold(self, revision: Option<u64>) -> Result<(), Fault> {
        let holds = match self {
            Self::None => true,
            Self::Absent => revision.is_none(),
            Self::Present => revision.is_some(),
            Self::Revision(asked) => revision == Some(asked),
        };
        if holds { Ok(()) } else { Err(Fault::Precondition { revision }) }
    }
}
