//! `/v1/contracts`.

use std::sync::Arc;

use wayleave_contracts::ContractRequest;
use wayleave_controller::{
    self as controller, AdmittedContract, Command, CommandError, Controller, Effect, Id, Mode, Principal, Reply,
};
use wayleave_formats::{Addressed, Source, VmLocations, read_order};
use wayleave_protocol::decision::{Applied, Outcome as Became};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_topology::NodeId;

use crate::access::{sees, tenant_of};
use crate::answer::{HttpReply, Outcome, fault, input_errors, invalid, no_tenant, not_found, problem};
use crate::explain::{self, Form};
use crate::handlers::change::{shown, taken, written};
use crate::http::call::AuthorizedRequest;
use crate::http::condition::Condition;
use crate::read_view::View;
use crate::render;
use crate::state::Shared;
use crate::work::{Executor, Step};

/// Number of names of VMs that are searched for a similar one.
const NAMES: usize = 1000;

/// VMs as they are on disk, as far as a client may know of them: what a tenant writes can name another one.
pub(crate) struct StoredVms<'a> {
    view: &'a View,
    tenant: &'a str,
    only: Option<&'a str>,
}

impl<'a> StoredVms<'a> {
    pub(crate) fn of(shared: &'a Shared, call: &'a AuthorizedRequest) -> Self {
        Self { view: &shared.view, tenant: call.tenant(), only: call.only_tenant() }
    }

    /// Returns the tenant whose VMs are meant, unless they do not exist for the client.
    fn meant<'b>(&'b self, tenant: Option<&'b str>) -> Option<&'b str> {
        let tenant = tenant.unwrap_or(self.tenant);
        Some(tenant).filter(|tenant| self.only.is_none_or(|only| only == *tenant))
    }
}

impl VmLocations for StoredVms<'_> {
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let id = Id::new(self.meant(tenant)?, name);
        self.view.read().vms.get(&id).map(|vm| vm.host)
    }

    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let Some(tenant) = self.meant(tenant) else { return Vec::new() };
        let tables = self.view.read();
        let vms = tables.vms_of(Some(tenant), None);
        vms.take(NAMES).map(|(id, _)| id.name.clone()).collect()
    }
}

/// The contract of the body.
fn read(shared: &Shared, call: &AuthorizedRequest, given: Addressed<'_>) -> Result<ContractRequest, Box<Problem>> {
    let tenant = call.tenant().to_owned();
    let places = StoredVms::of(shared, call);
    let source = Source::new("body", call.text()?);
    let order = read_order(&source, shared.network(), &places, given);
    let order = owned(order.map_err(|errors| input_errors(&errors))?, &tenant);
    reaches(shared, call, &order)?;
    Ok(order)
}

/// A tenant's contracts are between its VMs, or for all of its VMs on a host: a host where it has none is not its to name.
pub(crate) fn reaches(shared: &Shared, call: &AuthorizedRequest, order: &ContractRequest) -> Result<(), Box<Problem>> {
    let Principal::Tenant { tenant } = call.role() else { return Ok(()) };
    let tables = shared.view.read();
    for (field, name, host) in order.placed_members() {
        let is_vm = tables.vms.contains_key(&Id::new(tenant.as_str(), name));
        let is_there = || tables.vms_on.get(&host).is_some_and(|vms| vms.iter().any(|vm| vm.tenant == *tenant));
        if !is_vm && !is_there() {
            let detail = format!(
                "{name} is a host without VMs of tenant {tenant}: give a VM, or create one on that host (POST /v1/vms)"
            );
            return Err(invalid(field, detail));
        }
    }
    Ok(())
}

/// The tenant is always written in the contract, so that two spellings of one contract compare as equal.
pub(crate) fn owned(mut order: ContractRequest, tenant: &str) -> ContractRequest {
    order.or_tenant(tenant);
    order
}

fn id_of(order: &ContractRequest) -> Id {
    Id::new(order.tenant().unwrap_or_default(), order.name())
}

pub(crate) async fn create(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let call = Arc::new(call);
    let read_new = |shared: &Shared, call: &AuthorizedRequest| {
        read(shared, call, Addressed { tenant: call.only_tenant(), name: None })
    };
    let order = shared.parse(&call, read_new).await?;
    if !sees(call.role(), &id_of(&order)) {
        return Err(no_tenant(order.tenant().unwrap_or_default()));
    }
    write(&shared, &call, order, Condition::Absent).await
}

pub(crate) async fn put(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let id = call.id("contract")?;
    let (call, of) = (Arc::new(call), id.clone());
    let read_named = move |shared: &Shared, call: &AuthorizedRequest| {
        read(shared, call, Addressed { tenant: Some(&of.tenant), name: Some(&of.name) })
    };
    let order = shared.parse(&call, read_named).await?;
    write(&shared, &call, order, call.condition()?).await
}

/// The revision of a contract that was not deleted.
fn revision(controller: &Controller, id: &Id) -> Option<u64> {
    controller.version_of(id).map(|(_, revision)| revision)
}

async fn write(
    shared: &Arc<Shared>,
    call: &AuthorizedRequest,
    order: ContractRequest,
    condition: Condition,
) -> Outcome {
    let creates = call.operation == "createContract";
    let effect = if call.is_dry_run() { Effect::DryRun } else { Effect::Commit };
    let repeat = if call.is_dry_run() { None } else { shared.repeat(call)? };
    let role = call.role().clone();
    let work = move |executor: &mut Executor<'_>| {
        let id = id_of(&order);
        let check = condition.check(revision(executor.controller, &id)).map_err(fault);
        let check = check.map_err(|problem| taken(problem, creates, "contract", &id.to_string()))?;
        let reply = executor.handle(Command::Apply { orders: vec![(order, check)], mode: Mode::Each, effect });
        let Ok(Reply::Each(applied)) = reply else { return Err(problem(Code::Internal, "no answer")) };
        let Some(applied) = applied.into_iter().next() else { return Err(problem(Code::Internal, "no answer")) };
        if effect == Effect::DryRun {
            let item = item(executor.controller, applied, effect, &role);
            return match item.error {
                None => Ok(HttpReply::json(200, &item)),
                Some(error) => Err(Box::new(error)),
            };
        }
        let done = applied.result.map_err(fault);
        let done = done.map_err(|problem| taken(problem, creates, "contract", &id.to_string()))?;
        let Some(contract) = executor.contract(&id) else {
            return Err(problem(Code::Internal, "the contract does not exist"));
        };
        let answer = HttpReply::ready(contract.json(executor.controller.network(), tenant_of(&role)));
        // The tag of its revision would mean two documents.
        let answer = if contract.is_provisional() { answer } else { answer.tagged(contract.revision()) };
        Ok(written(done, answer, || format!("/v1/contracts/{id}")))
    };
    shared.submit_steps(call, repeat, Box::new(|executor| Step::Done(work(executor)))).await
}

pub(crate) async fn get(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let id = call.id("contract")?;
    let contract = shared.view.read().contract(&id).cloned();
    let Some(contract) = contract else { return Err(not_found("contract", &id.to_string())) };
    let json = || contract.json(shared.network(), call.only_tenant());
    // The tag of its revision would mean two documents.
    Ok(if contract.is_provisional() { HttpReply::ready(json()) } else { shown(&call, contract.revision(), json) })
}

pub(crate) async fn delete(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (id, condition) = (call.id("contract")?, call.condition()?);
    let forces = call.query.flag("force");
    if forces && *call.role() != Principal::Operator {
        return Err(problem(
            Code::Forbidden,
            "only operators may use force, which asserts that the sender has stopped",
        ));
    }
    if call.is_dry_run() {
        let current = shared.view.read().contract(&id).map(|contract| contract.revision());
        return condition.check(current).map(|_| HttpReply::nothing()).map_err(fault);
    }
    let work = move |executor: &mut Executor<'_>| {
        let check = condition.check(revision(executor.controller, &id)).map_err(fault)?;
        let reply = executor.handle(Command::Delete { ids: vec![(id.clone(), check)] });
        let Ok(Reply::Each(mut applied)) = reply else { return Err(problem(Code::Internal, "no answer")) };
        applied.pop().map_or(Ok(Became::Absent), |applied| applied.result).map_err(fault)?;
        if forces && executor.controller.grant(&id).is_some() {
            executor.handle(Command::Forget { id }).map_err(fault)?;
        }
        Ok(HttpReply::nothing())
    };
    shared.submit(&call, work).await
}

pub(crate) async fn explain(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (id, role, form) = (call.id("contract")?, call.role().clone(), Form::of(&call.headers));
    let work = move |executor: &mut Executor<'_>| {
        let grant = executor.controller.grant(&id).ok_or_else(|| not_found("contract", &id.to_string()))?;
        explain::contract(executor.controller, executor.view, grant, &role, form)
    };
    shared.read_view(&call, work).await
}

/// Returns the result for one contract of a list.
pub(crate) fn item(
    controller: &Controller,
    applied: controller::ItemResult,
    effect: Effect,
    role: &Principal,
) -> Applied {
    let controller::ItemResult { id, result, decision } = applied;
    let grant = controller.grant(&id).filter(|grant| effect == Effect::Commit && result.is_ok() && !grant.is_ended());
    let state = grant.map(|grant| grant.state);
    let bound_ns = grant.and_then(AdmittedContract::valid_bound).map(|bound| bound.as_nanos());
    let certainty = grant.and_then(AdmittedContract::valid_certainty).map(|certainty| certainty.name().to_owned());
    let (outcome, error) = match result {
        Ok(outcome) => (outcome, None),
        Err(CommandError::Refused { tenant, decision, reason }) => {
            let mut problem = *fault(CommandError::Refused { tenant, decision, reason });
            let record = controller
                .decision(&id.tenant, decision)
                .map(|record| render::decision(controller.network(), record, role));
            if let Some(message) = record.and_then(|record| record.message) {
                problem.detail = message;
            }
            (Became::Refused, Some(problem))
        }
        Err(other) => (Became::Refused, Some(*fault(other))),
    };
    Applied { id: id.to_string(), outcome, state, bound_ns, certainty, decision, error }
}
