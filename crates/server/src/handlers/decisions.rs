//! `/v1/decisions`.

use std::sync::Arc;

use wayleave_controller::{DecisionRecord, Role};
use wayleave_protocol::problem::Problem;

use crate::access::sees;
use crate::answer::{Answer, Outcome, not_found};
use crate::explain::{self, Form};
use crate::http::call::Call;
use crate::http::page::Page;
use crate::render;
use crate::shared::Shared;
use crate::work::Executor;

pub(crate) async fn list(shared: Arc<Shared>, call: Call) -> Outcome {
    let (page, role) = (Page::read(&call.query)?, call.role().clone());
    let before = page.after_number()?;
    let work = move |executor: &mut Executor<'_>| {
        let controller = &*executor.controller;
        let wanted =
            |record: &&DecisionRecord| sees(&role, &record.id) && before.is_none_or(|before| record.number < before);
        let shown = controller.decisions().rev().filter(wanted).map(|record| {
            let json = serde_json::to_vec(&render::decision(controller.network(), record, &role)).unwrap_or_default();
            (record.number, json.into())
        });
        Ok(page.of(shown))
    };
    shared.look_up(&call, work).await
}

/// A decision that the sender may know of.
fn find(executor: &Executor<'_>, text: &str, role: &Role) -> Result<DecisionRecord, Box<Problem>> {
    let number = text.parse().ok();
    let record = number.and_then(|number| executor.controller.decision(number)).filter(|record| sees(role, &record.id));
    record.cloned().ok_or_else(|| not_found("decision", text))
}

pub(crate) async fn get(shared: Arc<Shared>, call: Call) -> Outcome {
    let (number, role) = (call.name().to_owned(), call.role().clone());
    let work = move |executor: &mut Executor<'_>| {
        let record = find(executor, &number, &role)?;
        Ok(Answer::json(200, &render::decision(executor.controller.network(), &record, &role)))
    };
    shared.look_up(&call, work).await
}

pub(crate) async fn explain(shared: Arc<Shared>, call: Call) -> Outcome {
    let (number, role, form) = (call.name().to_owned(), call.role().clone(), Form::of(&call.headers));
    let work = move |executor: &mut Executor<'_>| {
        let record = find(executor, &number, &role)?;
        explain::decision(executor.controller, &record, &role, form)
    };
    shared.look_up(&call, work).await
}
