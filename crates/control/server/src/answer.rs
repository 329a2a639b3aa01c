//! Answers, before they are converted to HTTP.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use wayleave_controller::{CommandError, DEFAULT_TENANT, UnmovableVm};
use wayleave_explain::sentences;
use wayleave_formats::InputErrors;
use wayleave_protocol::problem::{Code, FieldError, MEDIA_TYPE, Problem};
use wayleave_units::WallTime;

use crate::audit::Note;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    /// The revision of the object.
    pub(crate) etag: Option<u64>,
    pub(crate) location: Option<String>,
    pub(crate) media: &'static str,
    /// For `Retry-After`.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Bytes,
    /// Text stored in place of a long body for repeated requests.
    pub(crate) shortened: Option<Bytes>,
    /// Code of a refusal, or outcome of a list: for the audit.
    pub(crate) detail: Option<Box<str>>,
}

/// Result of a handler.
pub(crate) type Outcome = Result<HttpReply, Box<Problem>>;

const JSON: &str = "application/json";

impl HttpReply {
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self::of(status, JSON, body)
    }

    /// Documents of crate `explain`, with the names of the interface.
    pub(crate) fn explained(value: &impl Serialize) -> Self {
        let text = serde_json::to_string(value).unwrap_or_default();
        Self::of(200, JSON, wayleave_explain::camel_case(&text))
    }

    pub(crate) fn of(status: u16, media: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            etag: None,
            location: None,
            media,
            retry_after: None,
            body: body.into(),
            shortened: None,
            detail: None,
        }
    }

    pub(crate) fn ready(body: Bytes) -> Self {
        Self::of(200, JSON, body)
    }

    pub(crate) fn nothing() -> Self {
        Self::of(204, JSON, Bytes::new())
    }

    pub(crate) fn tagged(self, revision: u64) -> Self {
        Self { etag: Some(revision), ..self }
    }

    /// Returns the audit note of a request with this answer: an object that the request created is known only now.
    pub(crate) fn noted(&self, mut note: Note, at: WallTime) -> Note {
        if let Some(name) = self.location.as_ref().and_then(|location| location.rsplit('/').next()) {
            name.clone_into(&mut note.entry.object);
        }
        note.answered(at, self.status, self.detail.as_deref().unwrap_or_default())
    }

    pub(crate) fn at(self, location: String) -> Self {
        Self { location: Some(location), ..self }
    }
}

impl From<Box<Problem>> for HttpReply {
    fn from(problem: Box<Problem>) -> Self {
        let retry_after = match problem.code {
            Code::Unavailable | Code::RateLimited => Some(1),
            _ => None,
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let detail = Some(problem.code.text().into());
        Self { retry_after, detail, ..Self::of(problem.status, MEDIA_TYPE, body) }
    }
}

/// An answer as it is kept for a request that is repeated.
#[derive(Serialize, Deserialize)]
struct Kept {
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    etag: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    location: Option<String>,
    body: String,
}

impl HttpReply {
    /// As text to keep.
    pub(crate) fn keep(&self) -> String {
        let body = String::from_utf8_lossy(self.shortened.as_ref().unwrap_or(&self.body)).into_owned();
        let kept = Kept { status: self.status, etag: self.etag, location: self.location.clone(), body };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// From the text that was kept.
    pub(crate) fn kept(text: &str) -> Option<Self> {
        let Kept { status, etag, location, body } = serde_json::from_str(text).ok()?;
        let media = if status >= 400 { MEDIA_TYPE } else { JSON };
        Some(Self { etag, location, ..Self::of(status, media, body.into_bytes()) })
    }
}

/// Something that was not done.
pub(crate) fn problem(code: Code, detail: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::new(code, detail))
}

/// There is no such thing, or it is not the asker's.
pub(crate) fn not_found(what: &str, name: &str) -> Box<Problem> {
    problem(Code::NotFound, format!("no {what} {name}, or you have no access to it"))
}

/// Returns the problem of a name that does not exist, with the known names that were probably meant. Only for clients
/// that may know all names of the kind.
pub(crate) fn unknown_name<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Box<Problem> {
    const SHOWN: usize = 3;
    // Longer names of other objects do not exist, and a distance to each would take long.
    const LONGEST: usize = 200;
    let name: String = name.chars().take(LONGEST).collect();
    let near = sentences::nearest_names(&name, known, SHOWN);
    let hint = match near.as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    problem(Code::NotFound, format!("no such {what} `{name}`{hint}"))
}

/// Returns the "not found" problem for a tenant, with the command that creates tenants.
pub(crate) fn no_tenant(name: &str) -> Box<Problem> {
    let detail = format!(
        "no tenant {name}, or you have no access to it: operators create tenants with a document of kind Tenants (`wayleave apply -f`)"
    );
    problem(Code::NotFound, detail)
}

/// One field that is wrong.
pub(crate) fn invalid(field: &str, detail: impl Into<String>) -> Box<Problem> {
    let detail = detail.into();
    let error = FieldError { line: None, column: None, field: Some(field.to_owned()), detail: detail.clone() };
    let mut problem = Problem::new(Code::Invalid, format!("{field}: {detail}"));
    problem.errors.push(error);
    Box::new(problem)
}

/// Returns the problem for a failed command of the controller.
pub(crate) fn fault(fault: CommandError) -> Box<Problem> {
    match fault {
        CommandError::NotFound { what, name } => not_found(what, &name),
        CommandError::Precondition { revision } => {
            let detail = match revision {
                Some(revision) => format!("its revision is now {revision}: read it again, then retry"),
                None => "it does not exist".to_owned(),
            };
            let mut problem = Problem::new(Code::PreconditionFailed, detail);
            problem.revision = revision;
            Box::new(problem)
        }
        CommandError::Invalid { field, message } => invalid(field, message),
        CommandError::Draining { what, contract } => {
            let until = "until its host has stopped sending and its last packets have left: retry later";
            problem(Code::Conflict, format!("{what} is used by contract {contract}, which is deleted, {until}"))
        }
        CommandError::InUse { what, by } => {
            problem(Code::Conflict, format!("{what} is used by {by}: delete {by} first"))
        }
        CommandError::CannotMove(unmovable) => {
            let UnmovableVm { vm, host, refused, others } = *unmovable;
            let refused = refused.iter().map(|(id, why)| format!("{id}: {}", sentences::refusal_clause(why)));
            let refused: Vec<String> = refused.collect();
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            let more = if others.is_empty() {
                String::new()
            } else {
                format!("; {} would have to move as well", others.join(", "))
            };
            let detail = format!(
                "VM {vm} cannot move to {host}: contracts that would have to move with it are refused there ({}{more}). Delete the refused contracts, or choose another host",
                refused.join("; ")
            );
            problem(Code::Conflict, detail)
        }
        CommandError::Taken { what, of, field } => {
            let mut problem = *invalid(field, format!("{what} is in use by {of}: choose another"));
            let errors = std::mem::take(&mut problem.errors);
            Box::new(Problem { errors, ..Problem::new(Code::Conflict, problem.detail) })
        }
        CommandError::Forbidden { message } => problem(Code::Forbidden, message),
        CommandError::Refused { tenant, decision, reason } => {
            let code = Code::of(reason).unwrap_or(Code::Policy);
            let whose = if tenant == DEFAULT_TENANT { String::new() } else { format!("{tenant}:") };
            let detail = format!(
                "the contract was refused; for the reasons see GET /v1/decisions/{whose}{decision}/explanation"
            );
            let mut problem = Problem::new(code, detail);
            problem.decision = Some(decision);
            Box::new(problem)
        }
        CommandError::PolicyRefused(short) => problem(Code::Rate, short.to_string()),
        CommandError::NoClasses => {
            problem(Code::Policy, "minima of services are reserved in traffic classes: the topology needs `classes`")
        }
        CommandError::WithOthers => {
            problem(Code::WithOthers, "another contract in the list was refused, so none was changed")
        }
        CommandError::StaleEpoch { current } => {
            let detail = match current {
                Some(epoch) => format!("the node's last session is {epoch}: open one with a higher number"),
                None => "the node has no open session: open one first".to_owned(),
            };
            let mut problem = Problem::new(Code::StaleEpoch, detail);
            problem.epoch = current;
            Box::new(problem)
        }
    }
}

/// Everything that is wrong with a text, with its places.
pub(crate) fn input_errors(errors: &InputErrors) -> Box<Problem> {
    let field = |problem: &wayleave_formats::Problem| {
        let hint = problem.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        let context = problem.context().map(|context| format!(" ({context})")).unwrap_or_default();
        let (line, column) = problem.location().map(|location| (location.line, location.column)).unzip();
        FieldError { line, column, field: None, detail: format!("{}{hint}{context}", problem.message()) }
    };
    let listed: Vec<FieldError> = errors.problems().iter().map(field).collect();
    let more = errors.more() + listed.len().saturating_sub(1);
    let first = listed.first();
    let place = first.and_then(|one| Some(format!("line {}, column {}: ", one.line?, one.column?))).unwrap_or_default();
    let detail = first.map(|one| one.detail.clone()).unwrap_or_default();
    let others = match more {
        0 => String::new(),
        1 => " (one more error follows)".to_owned(),
        many => format!(" ({many} more errors follow)"),
    };
    let mut problem = Problem::new(Code::Invalid, format!("{place}{detail}{others}"));
    problem.errors = listed;
    Box::new(problem)
}

/// Returns the problem of a controller that does not lead.
pub(crate) fn not_leader(leader: Option<&str>) -> Box<Problem> {
    let detail = match leader {
        Some(leader) => format!("this controller is a follower: send the request to the leader, {leader}"),
        None => "this controller is a follower, and there is no leader now: retry later".to_owned(),
    };
    let mut problem = problem(Code::NotLeader, detail);
    problem.leader = leader.map(str::to_owned);
    problem
}

/// Returns the problem of a leader whose lease was not renewed in time.
pub(crate) fn lease_overdue() -> Box<Problem> {
    problem(Code::NotLeader, format!("{OVERDUE}; nothing was done: retry later"))
}

/// Message of a leader whose lease was not renewed in time.
pub(crate) const OVERDUE: &str =
    "the leader lease of this controller was not renewed in time: another one may be the leader";

pub(crate) fn unavailable() -> HttpReply {
    let detail = "the ledger cannot be written now, and the request may or may not have been carried out: retry with the same Idempotency-Key, or read the state";
    problem(Code::Unavailable, detail).into()
}
