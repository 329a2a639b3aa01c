//! Tokens: who may act, and as whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::{Fault, Outcome, Reply, Role};
use crate::event::EventKind;
use crate::journal::{Dirty, Journal};

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// What it is called.
    pub id: String,
    /// SHA-256 of the secret, in hexadecimal digits.
    pub hash: String,
    /// As whom its holder acts.
    #[serde(flatten)]
    pub role: Role,
    /// What it is for.
    pub label: String,
    /// Its revision.
    pub revision: u64,
}

/// All tokens, by what they are called.
#[derive(Default)]
pub(crate) struct Tokens {
    by_id: BTreeMap<String, Token>,
}

impl Tokens {
    /// Adds a token or replaces it; the tenant or node of its role is there.
    pub(crate) fn put(
        &mut self,
        journal: &mut Journal,
        id: String,
        hash: String,
        role: Role,
        label: String,
    ) -> Result<Reply, Fault> {
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "64 hexadecimal digits of a SHA-256 are expected".to_owned();
            return Err(Fault::Invalid { field: "hash", message });
        }
        let revision = journal.next_revision();
        let tenant = match &role {
            Role::Tenant { tenant } => Some(tenant.clone()),
            _ => None,
        };
        journal.event(EventKind::Put, &format!("token {id}"), tenant, revision, label.clone());
        journal.mark(Dirty::Token(id.clone()));
        let known = self.by_id.insert(id.clone(), Token { id, hash, role, label, revision });
        Ok(Reply::Done { outcome: if known.is_some() { Outcome::Changed } else { Outcome::Created }, revision })
    }

    pub(crate) fn delete(&mut self, journal: &mut Journal, id: &str) -> Reply {
        let revision = journal.next_revision();
        if self.by_id.remove(id).is_none() {
            return Reply::Done { outcome: Outcome::Absent, revision };
        }
        journal.event(EventKind::Deleted, &format!("token {id}"), None, revision, String::new());
        journal.mark(Dirty::Token(id.to_owned()));
        Reply::Done { outcome: Outcome::Deleted, revision }
    }

    /// Deletes those of a tenant: a token that outlived its tenant would give access to the next one of that name.
    pub(crate) fn delete_of_tenant(&mut self, journal: &mut Journal, name: &str) {
        let of_tenant = |role: &Role| matches!(role, Role::Tenant { tenant } | Role::Reader { tenant: Some(tenant) } if tenant == name);
        let tokens: Vec<String> =
            self.iter().filter(|token| of_tenant(&token.role)).map(|token| token.id.clone()).collect();
        for token in tokens {
            self.delete(journal, &token);
        }
    }

    /// From a record.
    pub(crate) fn insert(&mut self, id: String, token: Token) {
        self.by_id.insert(id, token);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Token> {
        self.by_id.get(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Token> {
        self.by_id.values()
    }
}
