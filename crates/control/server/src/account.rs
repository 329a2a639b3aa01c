//! Accounts that are charged for memory and work of the server: a tenant with all its tokens, or one of the roles
//! that serve all tenants.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use wayleave_controller::Principal;

/// Account that is charged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Account {
    /// All operators together.
    Operators,
    /// All agents together.
    Agents,
    /// All readers of all tenants together.
    Readers,
    /// A tenant, with its readers.
    Tenant(String),
    /// Clients without a known token.
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

    /// Returns the factor of its limits over a tenant's: accounts that serve all tenants work for many.
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
            Self::Readers => f.write_str("readers of all tenants"),
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

/// Limit that a request would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExceededLimit {
    /// That of its account.
    Account,
    /// That of all accounts together.
    All,
}

impl OpenBytes {
    /// Counts the bytes of a request until the guard is dropped.
    pub(crate) fn take(
        self: &Arc<Self>,
        account: &Account,
        bytes: usize,
        most: usize,
    ) -> Result<CountedBytes, ExceededLimit> {
        let mut used = self.lock();
        let weight = usize::try_from(account.weight()).unwrap_or(1);
        let own = used.by_account.get(account).copied().unwrap_or(0);
        // One request is always possible, however large its limit is.
        if own > 0 && own + bytes > most * weight {
            return Err(ExceededLimit::Account);
        }
        if own > 0 && used.all + bytes > most * 4 {
            return Err(ExceededLimit::All);
        }
        used.all += bytes;
        *used.by_account.entry(account.clone()).or_default() += bytes;
        Ok(CountedBytes { of: self.clone(), account: account.clone(), bytes })
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
pub(crate) struct CountedBytes {
    of: Arc<OpenBytes>,
    account: Account,
    bytes: usize,
}

impl Drop for CountedBytes {
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

/// Minimum number of streams that an account may have, independently of the limit for all.
const MIN_STREAMS: usize = 4;

/// Maximum number of event streams of an account, if `most` is the limit for all: an eighth, and four times that for
/// accounts that serve all tenants.
pub(crate) fn streams_of(account: &Account, most: usize) -> usize {
    let weight = usize::try_from(account.weight()).unwrap_or(1);
    ((most / 8).max(MIN_STREAMS) * weight).min(most.max(1))
}

/// Connections that are held open, by owner.
#[derive(Debug)]
pub(crate) struct Open<K: Eq + Hash>(Mutex<HashMap<K, usize>>);

impl<K: Eq + Hash> Default for Open<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone> Open<K> {
    /// Counts one of an owner until the guard is dropped. There may be `own` of this owner and `all` of all owners.
    pub(crate) fn take(self: &Arc<Self>, owner: &K, own: usize, all: usize) -> Result<OpenOne<K>, ExceededLimit> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(owner).is_some_and(|&count| count >= own) {
            return Err(ExceededLimit::Account);
        }
        if open.values().sum::<usize>() >= all {
            return Err(ExceededLimit::All);
        }
        *open.entry(owner.clone()).or_default() += 1;
        Ok(OpenOne { of: self.clone(), owner: owner.clone() })
    }
}

/// One that is counted while this lives.
#[derive(Debug)]
pub(crate) struct OpenOne<K: Eq + Hash> {
    of: Arc<Open<K>>,
    owner: K,
}

impl<K: Eq + Hash> Drop for OpenOne<K> {
    fn drop(&mut self) {
        let mut open = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_a_part_of_the_streams_and_operators_have_four() {
        let tenant = Account::Tenant("a".to_owned());
        let parts = |most| (streams_of(&tenant, most), streams_of(&Account::Operators, most));
        assert_eq!(parts(256), (32, 128));
        assert_eq!(parts(8), (4, 8));
        assert_eq!(parts(2), (2, 2));
        // A limit of none leaves operators one, since theirs are counted apart.
        assert_eq!(parts(0), (1, 1));
    }

    #[test]
    fn a_dropped_permit_is_free_again() {
        let open = Arc::new(Open::<&str>::default());
        let (a, second) = (open.take(&"a", 2, 3).unwrap(), open.take(&"a", 2, 3).unwrap());
        assert_eq!(open.take(&"a", 2, 3).unwrap_err(), ExceededLimit::Account);
        let b = open.take(&"b", 2, 3).unwrap();
        assert_eq!(open.take(&"b", 2, 3).unwrap_err(), ExceededLimit::All);
        drop(second);
        let again = open.take(&"b", 2, 3).unwrap();
        drop((a, b, again));
        assert!(open.0.lock().unwrap().is_empty());
    }
}
