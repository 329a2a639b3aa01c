//! Who may act, and as whom.

use serde::{Deserialize, Serialize};

use crate::command::{Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty};
use crate::event::EventKind;

/// As whom the holder of a token acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "role")]
pub enum Role {
    /// Everything.
    Operator,
    /// Everything of one tenant, and nothing of others.
    Tenant {
        /// Which.
        tenant: String,
    },
    /// The node that it runs on: its operations, confirmations and reports.
    Agent {
        /// The host or switch.
        node: String,
    },
    /// Reads; everything, or what is of one tenant.
    Reader {
        /// Which.
        tenant: Option<String>,
    },
}

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

impl Controller {
    pub(crate) fn put_token(&mut self, id: String, hash: String, role: Role, label: String) -> Result<Reply, Fault> {
        match &role {
            Role::Tenant { tenant } | Role::Reader { tenant: Some(tenant) } => drop(self.tenant(tenant)?),
            Role::Agent { node } => drop(self.node(node)?),
            Role::Operator | Role::Reader { tenant: None } => {}
        }
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "64 hexadecimal digits of a SHA-256 are expected".to_owned();
            return Err(Fault::Invalid { field: "hash", message });
        }
        let revision = self.next_revision();
        let tenant = match &role {
            Role::Tenant { tenant } => Some(tenant.clone()),
            _ => None,
        };
        self.event(EventKind::Put, &format!("token {id}"), tenant, revision, label.clone());
        self.mark(Dirty::Token(id.clone()));
        let known = self.tokens.insert(id.clone(), Token { id, hash, role, label, revision });
        Ok(Reply::Done { outcome: if known.is_some() { Outcome::Changed } else { Outcome::Created }, revision })
    }

    pub(crate) fn delete_token(&mut self, id: &str) -> Reply {
        let revision = self.next_revision();
        if self.tokens.remove(id).is_none() {
            return Reply::Done { outcome: Outcome::Absent, revision };
        }
        self.event(EventKind::Deleted, &format!("token {id}"), None, revision, String::new());
        self.mark(Dirty::Token(id.to_owned()));
        Reply::Done { outcome: Outcome::Deleted, revision }
    }

    /// All tokens, by what they are called.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.values()
    }
}
