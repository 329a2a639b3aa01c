//! `/v1/contracts` and `/v1/apply`.

use std::sync::Arc;

use wayleave_contracts::Order;
use wayleave_controller::{
    self as controller, Check, Command, Controller, Effect, Fault, Id, Mode, Outcome as Done, Reply, Role,
};
use wayleave_formats::{Addressed, Places, Source, read_order, read_orders};
use wayleave_protocol::agent::Traffic;
use wayleave_protocol::decision::{Applied, ApplyReport, Outcome as Became};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_topology::NodeId;

use crate::access::sees;
use crate::answer::{Answer, Outcome, fault, input_errors, invalid, not_found, problem};
use crate::engine::Executor;
use crate::explain::{self, Form};
use crate::handlers::change::{shown, taken, written};
use crate::http::call::Call;
use crate::http::condition::Condition;
use crate::render;
use crate::shared::Shared;
use crate::view::View;

/// How many names of VMs are looked through for the one that was meant.
const NAMES: usize = 1000;

/// VMs as they are on disk.
struct OnDisk<'a> {
    view: &'a View,
    tenant: &'a str,
}

impl Places for OnDisk<'_> {
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let id = Id::new(tenant.unwrap_or(self.tenant), name);
        self.view.read().vms.get(&id).map(|vm| vm.host)
    }

    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let tables = self.view.read();
        let vms = tables.vms_of(Some(tenant.unwrap_or(self.tenant)), None);
        vms.take(NAMES).map(|(id, _)| id.name.clone()).collect()
    }
}

/// The contract of the body.
fn read(shared: &Shared, call: &Call, given: Addressed<'_>) -> Result<Order, Box<Problem>> {
    let tenant = call.tenant().to_owned();
    let places = OnDisk { view: &shared.view, tenant: &tenant };
    let source = Source::new("body", call.text()?);
    let order = read_order(&source, shared.network(), &places, given).map_err(|errors| input_errors(&errors))?;
    let order = owned(order, &tenant);
    reaches(shared, call, &order)?;
    Ok(order)
}

/// A tenant's contracts are between its VMs, or for all of its VMs on a host: a host where it has none is not its to name.
fn reaches(shared: &Shared, call: &Call, order: &Order) -> Result<(), Box<Problem>> {
    let Role::Tenant { tenant } = call.role() else { return Ok(()) };
    let tables = shared.view.read();
    for (field, name, host) in [("from", &order.from, order.contract.from), ("to", &order.to, order.contract.to)] {
        let is_vm = tables.vms.contains_key(&Id::new(tenant.as_str(), name.as_str()));
        let is_there = || tables.vms_on.get(&host).is_some_and(|vms| vms.iter().any(|vm| vm.tenant == *tenant));
        if !is_vm && !is_there() {
            let detail = format!(
                "{name} is a host, and tenant {tenant} has no VM there: name a VM, or put one on that host (POST /v1/vms)"
            );
            return Err(invalid(field, detail));
        }
    }
    Ok(())
}

/// The tenant is always written in the contract, so that two spellings of one contract compare as equal.
fn owned(mut order: Order, tenant: &str) -> Order {
    order.contract.tenant.get_or_insert_with(|| tenant.to_owned());
    order
}

fn id_of(order: &Order) -> Id {
    Id::new(order.contract.tenant.as_deref().unwrap_or_default(), order.contract.name.as_str())
}

pub(crate) async fn create(shared: Arc<Shared>, call: Call) -> Outcome {
    let order = read(&shared, &call, Addressed { tenant: call.only_tenant(), name: None })?;
    if !sees(call.role(), &id_of(&order)) {
        return Err(not_found("tenant", order.contract.tenant.as_deref().unwrap_or_default()));
    }
    write(&shared, &call, order, Condition::Absent).await
}

pub(crate) async fn put(shared: Arc<Shared>, call: Call) -> Outcome {
    let id = call.id("contract")?;
    let order = read(&shared, &call, Addressed { tenant: Some(&id.tenant), name: Some(&id.name) })?;
    write(&shared, &call, order, call.condition()?).await
}

/// The revision of a contract that was not deleted.
fn revision(controller: &Controller, id: &Id) -> Option<u64> {
    controller.grant(id).filter(|grant| !grant.is_ended()).map(|grant| grant.revision)
}

async fn write(shared: &Arc<Shared>, call: &Call, order: Order, condition: Condition) -> Outcome {
    let creates = call.operation == "createContract";
    let effect = if call.is_dry_run() { Effect::DryRun } else { Effect::Commit };
    let repeat = if call.is_dry_run() { None } else { call.repeat()? };
    let work = move |executor: &mut Executor<'_>| {
        let id = id_of(&order);
        let check = condition.check(revision(executor.controller, &id)).map_err(fault);
        let check = check.map_err(|problem| taken(problem, creates, "contract", &id.to_string()))?;
        let reply = executor.handle(Command::Apply { orders: vec![(order, check)], mode: Mode::Each, effect });
        let Ok(Reply::Each(applied)) = reply else { return Err(problem(Code::Internal, "no answer")) };
        let Some(applied) = applied.into_iter().next() else { return Err(problem(Code::Internal, "no answer")) };
        if effect == Effect::DryRun {
            let item = item(executor.controller, applied, effect);
            return match item.error {
                None => Ok(Answer::json(200, &item)),
                Some(error) => Err(Box::new(error)),
            };
        }
        let done = applied.result.map_err(fault);
        let done = done.map_err(|problem| taken(problem, creates, "contract", &id.to_string()))?;
        let Some(grant) = executor.controller.grant(&id) else {
            return Err(problem(Code::Internal, "the contract is not there"));
        };
        let answer = Answer::json(200, &render::contract(executor.controller, grant)).tagged(grant.revision);
        Ok(written(done, answer, || format!("/v1/contracts/{id}")))
    };
    shared.submit(repeat, work).await
}

pub(crate) async fn get(shared: Arc<Shared>, call: Call) -> Outcome {
    let id = call.id("contract")?;
    let contract = shared.view.read().contracts.get(&id).map(|contract| contract.object.clone());
    let Some(contract) = contract else { return Err(not_found("contract", &id.to_string())) };
    Ok(shown(&call, contract.revision, contract.json))
}

pub(crate) async fn delete(shared: Arc<Shared>, call: Call) -> Outcome {
    let (id, condition) = (call.id("contract")?, call.condition()?);
    let forces = call.query.flag("force");
    if forces && *call.role() != Role::Operator {
        return Err(problem(Code::Forbidden, "only operators may say that a sender has certainly stopped (force)"));
    }
    if call.is_dry_run() {
        let current = shared.view.read().contracts.get(&id).map(|contract| contract.object.revision);
        return condition.check(current).map(|_| Answer::nothing()).map_err(fault);
    }
    let work = move |executor: &mut Executor<'_>| {
        let check = condition.check(revision(executor.controller, &id)).map_err(fault)?;
        let reply = executor.handle(Command::Delete { ids: vec![(id.clone(), check)] });
        let Ok(Reply::Each(mut applied)) = reply else { return Err(problem(Code::Internal, "no answer")) };
        applied.pop().map_or(Ok(Done::Absent), |applied| applied.result).map_err(fault)?;
        if forces && executor.controller.grant(&id).is_some() {
            executor.handle(Command::Forget { id }).map_err(fault)?;
        }
        Ok(Answer::nothing())
    };
    shared.submit(call.repeat()?, work).await
}

pub(crate) async fn explain(shared: Arc<Shared>, call: Call) -> Outcome {
    let (id, role, form) = (call.id("contract")?, call.role().clone(), Form::of(&call.headers));
    let work = move |executor: &mut Executor<'_>| {
        let Some(grant) = executor.controller.grant(&id).cloned() else {
            return Err(not_found("contract", &id.to_string()));
        };
        explain::contract(executor.controller, &grant, &role, form)
    };
    shared.submit(None, work).await
}

pub(crate) async fn traffic(shared: Arc<Shared>, call: Call) -> Outcome {
    let (id, counted) = (call.id("contract")?, shared.counted.clone());
    let work = move |executor: &mut Executor<'_>| {
        let Some(grant) = executor.controller.grant(&id) else { return Err(not_found("contract", &id.to_string())) };
        let host = &executor.controller.network().node(grant.sender()).name;
        let none = Traffic { serial: grant.serial, ..Traffic::default() };
        Ok(Answer::json(200, &counted.of(host, grant.serial).unwrap_or(none)))
    };
    shared.submit(None, work).await
}

pub(crate) async fn apply(shared: Arc<Shared>, call: Call) -> Outcome {
    let orders = list(&shared, &call)?;
    let effect = if call.is_dry_run() { Effect::DryRun } else { Effect::Commit };
    let repeat = if call.is_dry_run() { None } else { call.repeat()? };
    let mode = if call.query.flag("atomic") { Mode::AllOrNothing } else { Mode::Each };
    let work = move |executor: &mut Executor<'_>| {
        let orders = orders.into_iter().map(|order| (order, Check::None)).collect();
        let Ok(Reply::Each(applied)) = executor.handle(Command::Apply { orders, mode, effect }) else {
            return Err(problem(Code::Internal, "no answer"));
        };
        let items: Vec<Applied> = applied.into_iter().map(|one| item(executor.controller, one, effect)).collect();
        let refused = items.iter().filter(|item| item.error.is_some()).count();
        if mode == Mode::AllOrNothing
            && let Some(first) = items.iter().find(|item| is_cause(item))
        {
            return Err(none_done(first, items.len()));
        }
        let report = ApplyReport { dry_run: effect == Effect::DryRun, done: items.len() - refused, refused, items };
        Ok(Answer::json(200, &report))
    };
    shared.submit(repeat, work).await
}

/// The contracts of a document, all of them the sender's.
fn list(shared: &Shared, call: &Call) -> Result<Vec<Order>, Box<Problem>> {
    let tenant = call.tenant();
    let places = OnDisk { view: &shared.view, tenant };
    let source = Source::new("body", call.text()?);
    let given = Addressed { tenant: call.only_tenant(), name: None };
    let list = read_orders(&source, shared.network(), &places, given).map_err(|errors| input_errors(&errors))?;
    let orders: Vec<Order> = list.into_orders().into_iter().map(|order| owned(order, tenant)).collect();
    if orders.is_empty() {
        return Err(invalid("spec.contracts", "the list is empty"));
    }
    orders.iter().try_for_each(|order| reaches(shared, call, order))?;
    Ok(orders)
}

/// Whether a contract is why the others of its list were not done.
fn is_cause(item: &Applied) -> bool {
    item.error.as_ref().is_some_and(|error| error.code != Code::WithOthers)
}

fn none_done(first: &Applied, count: usize) -> Box<Problem> {
    let mut problem = first.error.clone().unwrap_or_else(|| Problem::new(Code::Internal, ""));
    problem.detail =
        format!("none of the {count} contracts was changed, since {} was not: {}", first.id, problem.detail);
    Box::new(problem)
}

/// What became of one contract of a list.
fn item(controller: &Controller, applied: controller::Applied, effect: Effect) -> Applied {
    // Only the message of a refusal is shown of the decision, and it names no other contract.
    let role = &Role::Operator;
    let controller::Applied { id, result, decision } = applied;
    let grant = controller.grant(&id).filter(|_| effect == Effect::Commit && result.is_ok());
    let (state, bound_ns) = grant.map(|grant| (grant.state, grant.bound.as_nanos())).unzip();
    let (outcome, error) = match result {
        Ok(done) => (became(done), None),
        Err(Fault::Refused { decision, reason }) => {
            let mut problem = *fault(Fault::Refused { decision, reason });
            let record =
                controller.decision(decision).map(|record| render::decision(controller.network(), record, role));
            if let Some(message) = record.and_then(|record| record.message) {
                problem.detail = message;
            }
            (Became::Refused, Some(problem))
        }
        Err(other) => (Became::Refused, Some(*fault(other))),
    };
    Applied { id: id.to_string(), outcome, state, bound_ns, decision, error }
}

fn became(done: Done) -> Became {
    match done {
        Done::Created => Became::Created,
        Done::Changed => Became::Changed,
        Done::Unchanged => Became::Unchanged,
        Done::Deleted => Became::Deleted,
        Done::Absent => Became::Absent,
    }
}
