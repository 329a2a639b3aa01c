//! A request as handlers see it.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use wayleave_controller::{DEFAULT_TENANT, Id, Principal};
use wayleave_protocol::problem::{Code, FieldError, Problem};

use crate::access::{sees, tenant_of};
use crate::account::Account;
use crate::answer::{invalid, not_found, problem};
use crate::audit::{Note, is_noted};
use crate::http::condition::Condition;
use crate::http::connection_limit::{LongPollGuard, RequestGuard};
use crate::http::operation::Verb;
use crate::http::peer::Peer;
use crate::http::query::Query;
use crate::metrics::{Limit, Metrics};
use crate::read_view::Holder;
use crate::secret::hex;
use crate::work::Repeat;

/// The longest `Idempotency-Key`.
pub(crate) const LONGEST_KEY: usize = 200;

/// The object of a request as the audit names it: `tenant:name` of a contract or VM, also of a name that is refused; otherwise the name as it is.
pub(crate) fn object_of(operation: &str, name: &str, tenant: &str) -> String {
    let is_of_tenant = operation.ends_with("Contract") || operation.ends_with("Vm");
    if !is_of_tenant || name.is_empty() || name.contains(':') {
        return name.to_owned();
    }
    format!("{tenant}:{name}")
}

/// A request whose sender may make it.
pub(crate) struct AuthorizedRequest {
    pub(crate) verb: Verb,
    /// Name of the route.
    pub(crate) operation: &'static str,
    /// Absent only where no token is needed.
    pub(crate) who: Option<Arc<Holder>>,
    /// The certificate that was shown in place of a secret.
    pub(crate) certificate: Option<Arc<Peer>>,
    /// The values of the parameters in the path.
    pub(crate) path: Vec<String>,
    pub(crate) query: Query,
    /// Path and query as they were sent.
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The connection, if there is one.
    pub(crate) request_guard: Option<Arc<RequestGuard>>,
    /// Identifier of the request in the answer and the log.
    pub(crate) request: String,
}

impl AuthorizedRequest {
    pub(crate) fn role(&self) -> &Principal {
        // A request without a token belongs to no tenant; no tenant has such a name.
        static NOBODY: Principal = Principal::Reader { tenant: Some(String::new()) };
        self.who.as_ref().map_or(&NOBODY, |who| &who.role)
    }

    /// The only tenant whose objects the sender may know of.
    pub(crate) fn only_tenant(&self) -> Option<&str> {
        tenant_of(self.role())
    }

    /// Returns the tenant that owns an object by default.
    pub(crate) fn tenant(&self) -> &str {
        self.only_tenant().unwrap_or(DEFAULT_TENANT)
    }

    /// The value of the first parameter in the path.
    pub(crate) fn name(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The same as the name of a contract or VM that the sender may know of.
    pub(crate) fn id(&self, what: &str) -> Result<Id, Box<Problem>> {
        let id = Id::parse(self.name(), self.tenant()).map_err(|error| invalid(what, error.to_string()))?;
        if sees(self.role(), &id) { Ok(id) } else { Err(not_found(what, &id.to_string())) }
    }

    /// Returns the audit note of the request if it is executed; `None` for requests that change nothing.
    pub(crate) fn note(&self) -> Option<Note> {
        if !is_noted(self.verb, self.operation) || self.is_dry_run() {
            return None;
        }
        let from = self.request_guard.as_ref().map(|request_guard| request_guard.address);
        let object = object_of(self.operation, self.name(), self.tenant());
        Some(Note::new(self.who.as_deref(), from, self.operation, &object, &self.request))
    }

    pub(crate) fn condition(&self) -> Result<Condition, Box<Problem>> {
        Condition::read(&self.headers)
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.flag("dryRun")
    }

    /// The body as UTF-8.
    pub(crate) fn text(&self) -> Result<&str, Box<Problem>> {
        std::str::from_utf8(&self.body).map_err(|error| {
            let at = error.valid_up_to();
            invalid("body", format!("byte {} is not valid UTF-8", at + 1))
        })
    }

    /// The body as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Box<Problem>> {
        let text = self.text()?;
        let text = if text.trim().is_empty() { "{}" } else { text };
        // A list would be taken for the values of an object, key by key.
        if text.trim_start().starts_with('[') {
            return Err(invalid("body", "expected a JSON object, found a list".to_owned()));
        }
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            // serde_json appends the position to the message; here the position has fields of its own.
            let detail = message.split(" at line ").next().unwrap_or(&message).to_owned();
            let (line, column) = (Some(error.line()), Some(error.column()));
            let place = format!("line {}, column {}: {detail}", error.line(), error.column());
            let mut problem = Problem::new(Code::Invalid, place);
            problem.errors.push(FieldError { line, column, field: None, detail });
            Box::new(problem)
        })
    }

    /// Counts the connection with those that wait, until the guard is dropped.
    pub(crate) fn wait(&self, metrics: &Metrics) -> Result<Option<LongPollGuard>, Box<Problem>> {
        let Some(request_guard) = &self.request_guard else { return Ok(None) };
        let wait = request_guard.wait().ok_or_else(|| {
            metrics.limited(Limit::Connections);
            problem(Code::Unavailable, "too many requests of agents and watchers are waiting: retry")
        })?;
        Ok(Some(wait))
    }

    /// Returns the key that makes the request repeatable, if it has one. The answers of a tenant may take at most
    /// `most` bytes.
    pub(crate) fn repeat(&self, most: u64) -> Result<Option<Repeat>, Box<Problem>> {
        let Some(key) = self.headers.get("idempotency-key") else { return Ok(None) };
        let key = key.to_str().unwrap_or_default().trim();
        if !(1..=LONGEST_KEY).contains(&key.len()) {
            let detail = format!("expected 1 to {LONGEST_KEY} visible ASCII characters");
            return Err(invalid("Idempotency-Key", detail));
        }
        let who = self.who.as_ref().map_or("", |who| who.id.as_str());
        let mut hash = Sha256::new();
        for part in [self.verb.name().as_bytes(), self.uri.as_bytes(), &self.body] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let account = Account::of(self.role());
        Ok(Some(Repeat {
            key: format!("{who}/{key}"),
            fingerprint: hex(&hash.finalize()),
            most: most.saturating_mul(account.weight()),
            account: account.to_string().into(),
        }))
    }
}
