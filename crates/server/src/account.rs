//! Who pays for what the server keeps and does for a client: a tenant with all its tokens, or one of the roles that serve all.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use wayleave_controller::Principal;

/// Who pays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Account {
    /// All operators together.
    Operators,
    /// All agents together.
    Agents,
    /// All readers of everything together.
    Readers,
    /// A tenant, with its readers.
    Tenant(String),
    /// Who has shown no token that is known.
    Nobody,
}

impl Account {
    /// That of a token.
    pub(crate) fn of(role: &Principal) -> Self {
        match role {
            Principal::Operator => Self::Operators,
            Principal::Agent { .. } => Self::Agents,
            Principal::Reader { tenant: None } => Self::Readers,
            Principal::Tenant { tenant } | Principal::Reader { tenant: Some(tenant) } => Self::Tenant(tenant.clone()),
        }
    }

    /// How much more it may have than a tenant: those who serve all tenants work for many.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Operators | Self::Agents => 4,
            Self::Readers | Self::Tenant(_) | Self::Nobody => 1,
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operators => f.write_str("operators"),
            Self::Agents => f.write_str("agents"),
            Self::Readers => f.write_str("readers of everything"),
            Self::Tenant(tenant) => write!(f, "tenant {tenant}"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

/// Bytes of requests that are being answered, by account.
#[derive(Debug, Default)]
pub(crate) struct OpenBytes {
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: usize,
    by_account: HashMap<Account, usize>,
}

/// Which limit a request would go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// That of its account.
    Account,
    /// That of all accounts together.
    All,
}

impl OpenBytes {
    /// Counts the bytes of a request until the guard is dropped.
    pub(crate) fn take(self: &Arc<Self>, account: &Account, bytes: usize, most: usize) -> Result<Held, Beyond> {
        let mut used = self.lock();
        let weight = usize::try_from(account.weight()).unwrap_or(1);
        let own = used.by_account.get(account).copied().unwrap_or(0);
        // One request is always possible, however large its limit is.
        if own > 0 && own + bytes > most * weight {
            return Err(Beyond::Account);
        }
        if own > 0 && used.all + bytes > most * 4 {
            return Err(Beyond::All);
        }
        used.all += bytes;
        *used.by_account.entry(account.clone()).or_default() += bytes;
        Ok(Held { of: self.clone(), account: account.clone(), bytes })
    }

    pub(crate) fn all(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are counted while this lives.
#[derive(Debug)]
pub(crate) struct Held {
    of: Arc<OpenBytes>,
    account: Account,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut used = self.of.lock();
        used.all -= self.bytes;
        if let Some(own) = used.by_account.get_mut(&self.account) {
            *own -= self.bytes;
            if *own == 0 {
                used.by_account.remove(&self.account);
            }
        }
    }
}
