//! `/v1/policies`.

use std::sync::Arc;

use wayleave_contracts::Named;
use wayleave_controller::{Command, Controller};
use wayleave_formats::{Source, read_policy};

use crate::answer::{HttpReply, Outcome, input_errors, invalid, not_found};
use crate::handlers::change::{Handle, change, done, shown, written};
use crate::http::call::AuthorizedRequest;
use crate::render;
use crate::state::Shared;

pub(crate) async fn put(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let name = call.name().to_owned();
    Named::Policy.check(&name).map_err(|error| invalid("name", error.to_string()))?;
    // A document without a name is called as its source is, without a suffix.
    let source = Source::new(&format!("{name}.yaml"), call.text()?);
    let file = read_policy(&source, shared.network()).map_err(|errors| input_errors(&errors))?;
    let policy = Box::new(file.policy);
    if policy.name() != name {
        let detail = format!("it is {}, but the path has {name}: omit it, or use the same name", policy.name());
        return Err(invalid("metadata.name", detail));
    }
    let condition = call.condition()?;
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let current = controller.policy(&name).map(|state| state.revision);
        let checked =
            condition.check(current).and_then(|check| handle(controller, Command::PutPolicy { policy, check }));
        let became = done(checked)?;
        let Some(state) = controller.policy(&name) else { return Err(not_found("policy", &name)) };
        let answer = HttpReply::json(200, &render::policy(controller.network(), state)).tagged(state.revision);
        Ok(written(became, answer, || format!("/v1/policies/{name}")))
    };
    change(&shared, &call, run).await
}

pub(crate) async fn get(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let name = call.name();
    let policy = shared.view.read().policies.get(name).cloned();
    let Some(policy) = policy else { return Err(not_found("policy", name)) };
    Ok(shown(&call, policy.revision, || policy.json))
}

pub(crate) async fn delete(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (name, condition) = (call.name().to_owned(), call.condition()?);
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let current = controller.policy(&name).map(|state| state.revision);
        let checked = condition.check(current);
        done(checked.and_then(|check| handle(controller, Command::DeletePolicy { name, check })))?;
        Ok(HttpReply::nothing())
    };
    change(&shared, &call, run).await
}
