//! `/v1/vms`.

use std::sync::Arc;

use wayleave_contracts::{Named, vm_mac};
use wayleave_controller::{Command, Controller, Id, VmRequest};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::tenant::{Placement, Strategy, VmSpec};

use crate::access::sees;
use crate::answer::{HttpReply, Outcome, invalid, no_tenant, not_found, problem};
use crate::handlers::change::{Handle, change, done, shown, taken, written};
use crate::http::call::AuthorizedRequest;
use crate::http::condition::Condition;
use crate::metrics::Limit;
use crate::render;
use crate::state::Shared;

pub(crate) async fn create(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let spec: VmSpec = call.json()?;
    let Some(name) = &spec.name else { return Err(invalid("name", "it is missing")) };
    let tenant = spec.tenant.as_deref().unwrap_or(call.tenant());
    Named::Tenant.check(tenant).map_err(|error| invalid("tenant", error.to_string()))?;
    Named::Vm.check(name).map_err(|error| invalid("name", error.to_string()))?;
    let id = Id::new(tenant, name.as_str());
    if !sees(call.role(), &id) {
        return Err(no_tenant(tenant));
    }
    write(&shared, &call, id, &spec, Condition::Absent).await
}

pub(crate) async fn put(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (id, spec): (Id, VmSpec) = (call.id("vm")?, call.json()?);
    for (field, given, address) in [("name", &spec.name, &id.name), ("tenant", &spec.tenant, &id.tenant)] {
        if given.as_ref().is_some_and(|given| given != address) {
            return Err(invalid(field, format!("the path has {address}: omit it, or use the same name")));
        }
    }
    write(&shared, &call, id, &spec, call.condition()?).await
}

fn requested_placement(placement: Option<&Placement>) -> Result<VmRequest, Box<Problem>> {
    match placement {
        None | Some(Placement { host: None, strategy: None | Some(Strategy::Fit) }) => Ok(VmRequest::Fit),
        Some(Placement { host: Some(host), strategy: None }) => Ok(VmRequest::On(host.clone())),
        Some(Placement { host: None, strategy: Some(Strategy::Random) }) => {
            let random = |_| problem(Code::Unavailable, "no random numbers from the operating system");
            getrandom::u64().map(VmRequest::Random).map_err(random)
        }
        Some(Placement { host: Some(_), strategy: Some(_) }) => {
            Err(invalid("placement", "give either a host or a strategy"))
        }
    }
}

async fn write(shared: &Arc<Shared>, call: &AuthorizedRequest, id: Id, spec: &VmSpec, condition: Condition) -> Outcome {
    let placement = requested_placement(spec.placement.as_ref())?;
    let mac = spec.mac.as_deref().map(vm_mac).transpose();
    let mac = mac.map_err(|error| invalid("mac", error.to_string()))?;
    check_count(shared, call, &id)?;
    let creates = call.operation == "createVm";
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let checked = condition.check(controller.vm(&id).map(|vm| vm.revision));
        let reply =
            checked.and_then(|check| handle(controller, Command::PutVm { id: id.clone(), placement, mac, check }));
        let became = done(reply).map_err(|problem| taken(problem, creates, "VM", &id.to_string()))?;
        let Some(vm) = controller.vm(&id) else { return Err(problem(Code::Internal, "the VM does not exist")) };
        let answer = HttpReply::json(200, &render::vm(controller.network(), &id, vm)).tagged(vm.revision);
        Ok(written(became, answer, || format!("/v1/vms/{id}")))
    };
    change(shared, call, run).await
}

/// A tenant that makes VMs without end makes the controller keep them. Operators answer for themselves.
fn check_count(shared: &Shared, call: &AuthorizedRequest, id: &Id) -> Result<(), Box<Problem>> {
    let most = shared.limits.vms;
    let tables = shared.view.read();
    let is_one_more = call.only_tenant().is_some() && !tables.vms.contains_key(id);
    if is_one_more && tables.vms_of(call.only_tenant(), None).nth(most.saturating_sub(1)).is_some() {
        shared.metrics.limited(Limit::Vms);
        return Err(problem(Code::Quota, format!("tenant {} has {most} VMs, the maximum", id.tenant)));
    }
    Ok(())
}

pub(crate) async fn get(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let id = call.id("vm")?;
    let vm = shared.view.read().vms.get(&id).map(|vm| vm.object.clone());
    let Some(vm) = vm else { return Err(not_found("vm", &id.to_string())) };
    Ok(shown(&call, vm.revision, || vm.json))
}

pub(crate) async fn delete(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (id, condition) = (call.id("vm")?, call.condition()?);
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let checked = condition.check(controller.vm(&id).map(|vm| vm.revision));
        done(checked.and_then(|check| handle(controller, Command::DeleteVm { id, check })))?;
        Ok(HttpReply::nothing())
    };
    change(&shared, &call, run).await
}
