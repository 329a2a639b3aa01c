//! Applies tenants and VMs of a file sequentially.

use wayleave_client::Method;
use wayleave_contracts::{Quota, Vm, VmPlacement};
use wayleave_formats::{Source, read_tenants};
use wayleave_protocol::decision::{Applied, Outcome};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::tenant::{self, Placement, Strategy, TenantSpec, VmSpec};

use super::changes::{self, FieldChange};
use super::item::Item;
use crate::client::{RequestError, Service, encode};
use crate::failure::Failure;

/// Creates and changes them.
pub(crate) fn apply(service: &Service, source: &Source, dry_run: bool) -> Result<Vec<Item>, Failure> {
    let list = read_tenants(source)?;
    let mut items = Vec::new();
    for (index, tenant) in list.tenants().enumerate() {
        let path = format!("/v1/tenants/{}", encode(&tenant.name));
        let spec = TenantSpec { name: None, quota: quota(&tenant.quota) };
        let applied = put::<tenant::Tenant>(service, &path, dry_run, &spec, |tenant| tenant.revision);
        let item = item("tenant", tenant.name.clone(), applied);
        items.push(item.map_err(|message| Failure::Problems(vec![list.tenant_finding(index, &message)]))?);
    }
    for (index, vm) in list.vms().enumerate() {
        let id = id(service, vm);
        let path = format!("/v1/vms/{}", encode(&id));
        let spec = VmSpec {
            name: None,
            tenant: None,
            placement: Some(placement(&vm.placement)),
            mac: vm.mac.map(|mac| mac.to_string()),
        };
        let item = item("vm", id, put::<tenant::Vm>(service, &path, dry_run, &spec, |vm| vm.revision));
        items.push(item.map_err(|message| Failure::Problems(vec![list.vm_finding(index, &message)]))?);
    }
    Ok(items)
}

/// Outcome of an object, and its fields that would change in a dry run.
pub(super) type AppliedObject = (Outcome, Vec<FieldChange>);

/// Sends an object and returns its outcome: it has changed if its revision has changed.
fn put<T: serde::de::DeserializeOwned + serde::Serialize>(
    service: &Service,
    path: &str,
    dry_run: bool,
    spec: &impl serde::Serialize,
    revision: impl Fn(&T) -> u64,
) -> Result<AppliedObject, RequestError> {
    let query = if dry_run { "?dryRun=true" } else { "" };
    put_by(service, path, dry_run, revision, || service.send::<T>(Method::Put, &format!("{path}{query}"), spec))
}

/// Sends an object with the given function and returns its outcome.
pub(super) fn put_by<T: serde::de::DeserializeOwned + serde::Serialize>(
    service: &Service,
    path: &str,
    dry_run: bool,
    revision: impl Fn(&T) -> u64,
    send: impl FnOnce() -> Result<(u16, T), RequestError>,
) -> Result<AppliedObject, RequestError> {
    let before = match service.get::<T>(path) {
        Ok(object) => Some(object),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let (status, after) = send()?;
    let outcome = match &before {
        _ if status == 201 => Outcome::Created,
        Some(before) if revision(before) == revision(&after) => Outcome::Unchanged,
        Some(_) => Outcome::Changed,
        None => Outcome::Created,
    };
    let changes = if dry_run { changes::of_object(before.as_ref(), &after) } else { Vec::new() };
    Ok((outcome, changes))
}

/// Returns the displayed item; an error that stops everything is a message for a position in the file.
pub(super) fn item(
    kind: &'static str,
    id: String,
    became: Result<AppliedObject, RequestError>,
) -> Result<Item, String> {
    let applied = Applied {
        id,
        outcome: Outcome::Refused,
        state: None,
        bound_ns: None,
        certainty: None,
        decision: None,
        error: None,
    };
    match became {
        Ok((outcome, changes)) => Ok(Item { kind, applied: Applied { outcome, ..applied }, changes }),
        Err(error) => match error.problem() {
            Some(problem) if stops(problem) => Err(problem.detail.clone()),
            Some(problem) => {
                Ok(Item { kind, applied: Applied { error: Some(problem.clone()), ..applied }, changes: Vec::new() })
            }
            None => Err(Failure::from(error).to_string()),
        },
    }
}

/// Returns `true` if an error makes it useless to continue with the next object.
fn stops(problem: &Problem) -> bool {
    let is_of_one = matches!(
        problem.code,
        Code::NotFound | Code::Conflict | Code::Invalid | Code::Quota | Code::Policy | Code::Rate
    );
    !is_of_one
}

fn id(service: &Service, vm: &Vm) -> String {
    match &vm.tenant {
        Some(tenant) => format!("{tenant}:{}", vm.name),
        None => service.id(&vm.name),
    }
}

fn quota(quota: &Quota) -> tenant::Quota {
    tenant::Quota {
        rate: quota.rate.map(|rate| rate.to_string()),
        burst: quota.burst.map(|burst| burst.to_string()),
        contracts: quota.contracts,
    }
}

fn placement(placement: &VmPlacement) -> Placement {
    match placement {
        VmPlacement::Host(host) => Placement { host: Some(host.clone()), strategy: None },
        VmPlacement::Random => Placement { host: None, strategy: Some(Strategy::Random) },
        VmPlacement::Fit => Placement { host: None, strategy: Some(Strategy::Fit) },
    }
}
