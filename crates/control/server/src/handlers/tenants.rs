//! `/v1/tenants`.

use std::str::FromStr;
use std::sync::Arc;

use wayleave_contracts::Named;
use wayleave_controller::{Command, Controller};
use wayleave_protocol::problem::Problem;
use wayleave_protocol::tenant::{Quota, TenantSpec};
use wayleave_units::ParseUnitError;

use crate::answer::{HttpReply, Outcome, fault, invalid, not_found};
use crate::handlers::change::{Handle, change, done, shown, taken, written};
use crate::http::call::AuthorizedRequest;
use crate::http::condition::Condition;
use crate::render;
use crate::state::Shared;

pub(crate) async fn create(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let spec: TenantSpec = call.json()?;
    let Some(name) = spec.name.clone() else { return Err(invalid("name", "it is missing")) };
    write(&shared, &call, name, &spec, Condition::Absent).await
}

pub(crate) async fn put(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let spec: TenantSpec = call.json()?;
    let name = call.name().to_owned();
    if spec.name.as_ref().is_some_and(|other| *other != name) {
        return Err(invalid("name", format!("the path has {name}: omit it, or use the same name")));
    }
    write(&shared, &call, name, &spec, call.condition()?).await
}

async fn write(
    shared: &Arc<Shared>,
    call: &AuthorizedRequest,
    name: String,
    spec: &TenantSpec,
    condition: Condition,
) -> Outcome {
    Named::Tenant.check(&name).map_err(|error| invalid("name", error.to_string()))?;
    let quota = quota(&spec.quota)?;
    let creates = call.operation == "createTenant";
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let current = controller.tenant(&name).ok().map(|tenant| tenant.revision);
        let checked = condition
            .check(current)
            .and_then(|check| handle(controller, Command::PutTenant { name: name.clone(), quota, check }));
        let became = done(checked).map_err(|problem| taken(problem, creates, "tenant", &name))?;
        let tenant = controller.tenant(&name).map_err(fault)?;
        let answer = HttpReply::json(200, &render::tenant(&name, tenant)).tagged(tenant.revision);
        Ok(written(became, answer, || format!("/v1/tenants/{name}")))
    };
    change(shared, call, run).await
}

pub(crate) async fn get(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let name = call.name();
    let is_hidden = call.only_tenant().is_some_and(|tenant| tenant != name);
    let tenant = shared.view.read().tenants.get(name).filter(|_| !is_hidden).map(|tenant| tenant.object.clone());
    let Some(tenant) = tenant else { return Err(not_found("tenant", name)) };
    Ok(shown(&call, tenant.revision, || tenant.json))
}

pub(crate) async fn delete(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (name, condition) = (call.name().to_owned(), call.condition()?);
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let current = controller.tenant(&name).ok().map(|tenant| tenant.revision);
        let checked = condition.check(current);
        done(checked.and_then(|check| handle(controller, Command::DeleteTenant { name, check })))?;
        Ok(HttpReply::nothing())
    };
    change(&shared, &call, run).await
}

fn quota(quota: &Quota) -> Result<wayleave_contracts::Quota, Box<Problem>> {
    fn read<T: FromStr<Err = ParseUnitError>>(field: &str, text: Option<&String>) -> Result<Option<T>, Box<Problem>> {
        text.map(|text| text.parse().map_err(|error: ParseUnitError| invalid(field, error.to_string()))).transpose()
    }
    Ok(wayleave_contracts::Quota {
        rate: read("quota.rate", quota.rate.as_ref())?,
        burst: read("quota.burst", quota.burst.as_ref())?,
        contracts: quota.contracts,
    })
}
