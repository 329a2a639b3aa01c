//! Tokens: credentials, and the principals as which their holders act.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wayleave_units::WallTime;

use crate::command::{CommandError, Outcome, Principal, Reply};
use crate::event::EventKind;
use crate::journal::{DirtyRecord, Journal};

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Name of the token.
    pub id: String,
    /// SHA-256 of the secret, or of the text that represents a certificate's name, in hexadecimal digits.
    pub hash: String,
    /// Principal as which its holder acts.
    #[serde(flatten)]
    pub role: Principal,
    /// Purpose of the token.
    pub label: String,
    /// Time at which it expires.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "expires")]
    pub expires: Option<WallTime>,
    /// The name of the certificate that acts as it in place of a secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<String>,
    /// `true` if it was deleted: the secret of an operator may still be in a file, which must not restore the token.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_revoked: bool,
    /// Its revision.
    pub revision: u64,
}

/// Times on disk: ns since 1970.
mod expires {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use wayleave_units::WallTime;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(time: &Option<WallTime>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(WallTime::as_nanos).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WallTime>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(WallTime::from_nanos))
    }
}

/// All tokens, by name.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    by_id: BTreeMap<String, Token>,
}

impl Tokens {
    /// Adds a token or replaces it; the tenant or node of its role is there.
    pub(crate) fn put(&mut self, journal: &mut Journal, mut token: Token) -> Result<Reply, CommandError> {
        if token.hash.len() != 64 || !token.hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "expected a SHA-256 of 64 hexadecimal digits".to_owned();
            return Err(CommandError::Invalid { field: "hash", message });
        }
        if let Some(name) = &token.certificate
            && let Some(other) = self.iter().find(|other| other.id != token.id && other.hash == token.hash)
        {
            let (what, of) = (format!("certificate {name}"), format!("token {}", other.id));
            return Err(CommandError::Taken { what, of, field: "certificate" });
        }
        let tenant = match &token.role {
            Principal::Tenant { tenant } => Some(tenant.clone()),
            _ => None,
        };
        // The tenant can watch this change.
        token.revision = match &tenant {
            Some(tenant) => journal.next_revision_of(tenant),
            None => journal.next_revision(),
        };
        let (id, revision) = (token.id.clone(), token.revision);
        journal.event(EventKind::Put, &format!("token {id}"), tenant, revision, token.label.clone());
        journal.mark(DirtyRecord::Token(id.clone()));
        let known = self.by_id.insert(id, token);
        Ok(Reply::Done { outcome: if known.is_some() { Outcome::Changed } else { Outcome::Created }, revision })
    }

    pub(crate) fn delete(&mut self, journal: &mut Journal, id: &str) -> Reply {
        let revision = journal.next_revision();
        let Some(token) = self.by_id.get_mut(id).filter(|token| !token.is_revoked) else {
            return Reply::Done { outcome: Outcome::Absent, revision };
        };
        if token.role == Principal::Operator {
            token.is_revoked = true;
        } else {
            self.by_id.remove(id);
        }
        journal.event(EventKind::Deleted, &format!("token {id}"), None, revision, String::new());
        journal.mark(DirtyRecord::Token(id.to_owned()));
        Reply::Done { outcome: Outcome::Deleted, revision }
    }

    /// Returns `true` if an operator's token with this hash was deleted.
    pub(crate) fn is_revoked(&self, hash: &str) -> bool {
        self.by_id.values().any(|token| token.is_revoked && token.hash == hash)
    }

    /// Deletes those of a tenant: a token that outlived its tenant would give access to the next one of that name.
    pub(crate) fn delete_of_tenant(&mut self, journal: &mut Journal, name: &str) {
        let of_tenant = |role: &Principal| matches!(role, Principal::Tenant { tenant } | Principal::Reader { tenant: Some(tenant) } if tenant == name);
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

    /// Forgets a token whose record was deleted.
    pub(crate) fn forget(&mut self, id: &str) {
        self.by_id.remove(id);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Token> {
        self.by_id.get(id)
    }

    /// Returns the tokens that were not deleted; they may have expired.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Token> {
        self.by_id.values().filter(|token| !token.is_revoked)
    }

    /// Returns the tokens that have a record.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Token> {
        self.by_id.values()
    }
}
