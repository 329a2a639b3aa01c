//! Types of the table of routes: the description of a route, and its handler.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use utoipa::ToSchema;
use wayleave_protocol::problem::Problem;

use crate::access::RouteAccess;
use crate::answer::{HttpReply, Outcome};
use crate::http::call::AuthorizedRequest;
use crate::http::operation::{BodyDoc, Document, Param, RequestBody, SuccessResponse, Typed, Verb};
use crate::state::Shared;

/// Result of a handler.
pub(crate) enum Reply {
    Whole(HttpReply),
    Stream(Body),
}

impl From<HttpReply> for Reply {
    fn from(answer: HttpReply) -> Self {
        Self::Whole(answer)
    }
}

pub(crate) type HandlerResult = Pin<Box<dyn Future<Output = Result<Reply, Box<Problem>>> + Send>>;

/// Handler of a request: at once, or in the turn of its account.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// By the thread that has received it: it takes a fraction of a millisecond, or waits.
    AtOnce(fn(Arc<Shared>, AuthorizedRequest) -> HandlerResult),
    /// By the thread that has received it, also that of `/healthz`: it waits for no other thread and no lock of the view.
    Alone(fn(&Arc<Shared>, &AuthorizedRequest) -> Outcome),
    /// By a reader thread, in the turn of the client's account (`reads`): its time grows with the number of objects.
    InTurn(fn(&Arc<Shared>, &AuthorizedRequest) -> Outcome),
}

impl Handler {
    /// Carries a request out.
    pub(crate) async fn handle(self, shared: Arc<Shared>, call: AuthorizedRequest) -> Result<Reply, Box<Problem>> {
        match self {
            Self::AtOnce(handle) => handle(shared, call).await,
            Self::Alone(answer) => answer(&shared, &call).map(Reply::from),
            Self::InTurn(read) => shared.clone().read(call, read).await.map(Reply::from),
        }
    }
}

/// A route: one line of the table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    /// A name for programs that are generated.
    pub(crate) name: &'static str,
    pub(crate) access: RouteAccess,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Param],
    pub(crate) body: Option<BodyDoc>,
    pub(crate) gives: &'static [SuccessResponse],
    /// `true` if `If-Match` and `If-None-Match: *` are evaluated.
    pub(crate) is_conditional: bool,
    /// An earlier name of another route, answered for one release.
    pub(crate) is_deprecated: bool,
    /// `true` if the answer is made of agents' reports, which only the leader receives.
    pub(crate) needs_reports: bool,
    pub(crate) handler: Handler,
}

impl Row {
    pub(crate) const fn new(
        verb: Verb,
        path: &'static str,
        name: &'static str,
        access: RouteAccess,
        summary: &'static str,
        handler: Handler,
    ) -> Self {
        let (is_conditional, is_deprecated, needs_reports) = (false, false, false);
        Self {
            verb,
            path,
            name,
            access,
            summary,
            query: &[],
            body: None,
            gives: &[],
            is_conditional,
            is_deprecated,
            needs_reports,
            handler,
        }
    }

    pub(crate) const fn query(self, query: &'static [Param]) -> Self {
        Self { query, ..self }
    }

    pub(crate) const fn takes<T: ToSchema>(self) -> Self {
        Self {
            body: Some(BodyDoc { is: RequestBody::Typed(Typed::of::<T>()), is_yaml: false, is_large: false }),
            ..self
        }
    }

    pub(crate) const fn takes_yaml<T: ToSchema>(self) -> Self {
        Self {
            body: Some(BodyDoc { is: RequestBody::Typed(Typed::of::<T>()), is_yaml: true, is_large: false }),
            ..self
        }
    }

    pub(crate) const fn takes_document(self, document: Document, is_large: bool) -> Self {
        Self { body: Some(BodyDoc { is: RequestBody::Document(document), is_yaml: true, is_large }), ..self }
    }

    pub(crate) const fn gives(self, gives: &'static [SuccessResponse]) -> Self {
        Self { gives, ..self }
    }

    pub(crate) const fn conditional(self) -> Self {
        Self { is_conditional: true, ..self }
    }

    pub(crate) const fn of_reports(self) -> Self {
        Self { needs_reports: true, ..self }
    }

    pub(crate) const fn deprecated(self) -> Self {
        Self { is_deprecated: true, ..self }
    }
}
