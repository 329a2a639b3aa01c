//! `/v1/decisions`.

use std::sync::Arc;

use wayleave_controller::Id;
use wayleave_protocol::problem::{Code, Problem};

use crate::answer::{HttpReply, Outcome, not_found, problem};
use crate::explain::{self, Form};
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::log::Entry;
use crate::state::Shared;
use crate::work::Executor;

pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, only) = (Page::read(&call.query)?, call.only_tenant());
    let before = page.after_number()?.unwrap_or(u64::MAX);
    let tables = shared.view.read();
    let shown = tables.decisions.before(only, before);
    Ok(page.of(shown.map(|entry| (entry.number_for(only), entry.json(only)))))
}

/// A decision that the sender may know of.
fn find(shared: &Shared, call: &AuthorizedRequest) -> Result<Arc<Entry>, Box<Problem>> {
    let id = call.id("decision")?;
    let number = id.name.parse().ok();
    let tables = shared.view.read();
    let known = number.and_then(|number| tables.decisions.get(Some(&id.tenant), number)).cloned();
    known.ok_or_else(|| not_found("decision", call.name()))
}

pub(crate) async fn get(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let decision = find(&shared, &call)?;
    Ok(HttpReply::ready(decision.json(call.only_tenant())))
}

pub(crate) async fn explain(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let decision = find(&shared, &call)?;
    let (role, form) = (call.role().clone(), Form::of(&call.headers));
    let work = move |executor: &mut Executor<'_>| {
        let id = decision.object.parse::<Id>().map_err(|error| problem(Code::Internal, error.to_string()))?;
        if let Some(record) = executor.controller.decision(&id.tenant, decision.own).cloned() {
            return explain::decision(executor.controller, executor.view, &record, &role, form);
        }
        match explain::admitted_contract(executor.controller, executor.view, &id, decision.own, &role, form) {
            Some(explained) => explained,
            None => {
                let detail = "its reasons are no longer available: the decision is old, or older than the last start of the server. Repeat the request with dryRun=true for a decision under present conditions";
                Err(problem(Code::Conflict, detail))
            }
        }
    };
    shared.read_view(&call, work).await
}
