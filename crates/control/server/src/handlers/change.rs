//! Common parts of all changes.

use std::sync::Arc;

use bytes::Bytes;
use wayleave_controller::{Command, CommandError, Controller, Reply};
use wayleave_protocol::decision::Outcome as Became;
use wayleave_protocol::problem::{Code, Problem};

use crate::answer::{HttpReply, Outcome, fault, problem};
use crate::http::call::AuthorizedRequest;
use crate::http::condition::is_known;
use crate::state::Shared;
use crate::trial::now;
use crate::work::Executor;

/// Has a command carried out, by the engine or by a controller for trying.
pub(crate) type Handle<'a> = dyn FnMut(&mut Controller, Command) -> Result<Reply, CommandError> + 'a;

/// Has a change made; as a dry run, in a controller that is thrown away.
pub(crate) async fn change(
    shared: &Arc<Shared>,
    call: &AuthorizedRequest,
    run: impl FnOnce(&mut Controller, &mut Handle<'_>) -> Outcome + Send + 'static,
) -> Outcome {
    if call.is_dry_run() {
        let question = |controller: &mut Controller| {
            let now = now();
            run(controller, &mut |controller, command| controller.handle(now, command))
        };
        return shared.try_out(call, question).await;
    }
    let work = move |executor: &mut Executor<'_>| {
        let now = executor.now;
        run(executor.controller, &mut |controller, command| controller.handle(now, command))
    };
    shared.submit(call, work).await
}

/// Returns the outcome for the only object of a command.
pub(crate) fn done(reply: Result<Reply, CommandError>) -> Result<Became, Box<Problem>> {
    match reply.map_err(fault)? {
        Reply::Done { outcome, .. } => Ok(outcome),
        _ => Ok(Became::Unchanged),
    }
}

/// Reports to a client that creates an existing object that the object exists, rather than a condition that the
/// client never wrote.
pub(crate) fn taken(other: Box<Problem>, call_creates: bool, what: &str, name: &str) -> Box<Problem> {
    if call_creates && other.code == Code::PreconditionFailed {
        return problem(Code::Conflict, format!("{what} {name} already exists: use PUT to change it"));
    }
    other
}

/// The answer with an object that was created or changed.
pub(crate) fn written(became: Became, answer: HttpReply, location: impl FnOnce() -> String) -> HttpReply {
    if became == Became::Created { HttpReply { status: 201, ..answer }.at(location()) } else { answer }
}

/// An object, unless the reader has it already.
pub(crate) fn shown(call: &AuthorizedRequest, revision: u64, json: impl FnOnce() -> Bytes) -> HttpReply {
    if is_known(&call.headers, revision) {
        return HttpReply { status: 304, ..HttpReply::nothing() }.tagged(revision);
    }
    HttpReply::ready(json()).tagged(revision)
}
