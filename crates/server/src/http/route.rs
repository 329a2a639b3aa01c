//! What the table of routes is made of.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use wayleave_protocol::problem::Problem;

use crate::access::Access;
use crate::answer::Answer;
use crate::http::call::Call;
use crate::shared::Shared;

/// What is done with what the address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: ParamKind,
    pub(crate) help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamKind {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to this.
    Number(u64),
    /// Text.
    Text,
}

/// What a request may carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyDoc {
    /// The name of its schema.
    pub(crate) schema: &'static str,
    /// Whether it may be YAML.
    pub(crate) is_yaml: bool,
    /// Whether it may be as large as a list.
    pub(crate) is_large: bool,
}

/// What a route answers if it does what was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) body: Shown,
}

/// What the body of an answer is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    /// Nothing.
    Nothing,
    /// JSON of this schema.
    One(&'static str),
    /// JSON of one of these schemas: the second one for a dry run.
    Either(&'static str, &'static str),
    /// A page of a list of this schema.
    Many(&'static str),
    /// A list of events, or a stream of them.
    Events,
    /// Any JSON.
    Any,
    /// Text of this media type.
    Text(&'static str),
}

/// What a handler gives.
pub(crate) enum Reply {
    Whole(Answer),
    Stream(Body),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Whole(answer)
    }
}

pub(crate) type Handled = Pin<Box<dyn Future<Output = Result<Reply, Box<Problem>>> + Send>>;
pub(crate) type Handler = fn(Arc<Shared>, Call) -> Handled;

/// A route: one line of the table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    /// A name for programs that are generated.
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Param],
    pub(crate) body: Option<BodyDoc>,
    pub(crate) gives: &'static [Gives],
    /// Whether `If-Match` and `If-None-Match: *` count.
    pub(crate) is_conditional: bool,
    pub(crate) handler: Handler,
}

impl Row {
    pub(crate) const fn new(
        verb: Verb,
        path: &'static str,
        name: &'static str,
        access: Access,
        summary: &'static str,
        handler: Handler,
    ) -> Self {
        Self { verb, path, name, access, summary, query: &[], body: None, gives: &[], is_conditional: false, handler }
    }

    pub(crate) const fn query(self, query: &'static [Param]) -> Self {
        Self { query, ..self }
    }

    pub(crate) const fn takes(self, schema: &'static str) -> Self {
        Self { body: Some(BodyDoc { schema, is_yaml: false, is_large: false }), ..self }
    }

    pub(crate) const fn takes_yaml(self, schema: &'static str, is_large: bool) -> Self {
        Self { body: Some(BodyDoc { schema, is_yaml: true, is_large }), ..self }
    }

    pub(crate) const fn gives(self, gives: &'static [Gives]) -> Self {
        Self { gives, ..self }
    }

    pub(crate) const fn conditional(self) -> Self {
        Self { is_conditional: true, ..self }
    }
}

/// An answer with this status.
pub(crate) const fn on(status: u16, body: Shown) -> Gives {
    Gives { status, body }
}
