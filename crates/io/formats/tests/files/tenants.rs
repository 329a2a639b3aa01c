//! Tenants and VMs: their meaning, and error messages.

use crate::common::assert_problems;
use wayleave_contracts::{Quota, VmPlacement};
use wayleave_formats::ProblemKind::{
    BadValue, DuplicateName, Impossible, MissingKey, UnknownKey, WrongKind, WrongType,
};
use wayleave_formats::{DocumentKind, InputErrors, Source, TenantList, kind_of, read_tenants};
use wayleave_units::{Bytes, Rate};

/// A document with this spec, which begins on line 4.
fn read(spec: &str) -> Result<TenantList, InputErrors> {
    read_tenants(&Source::new("t.yaml", format!("apiVersion: wayleave/v1\nkind: Tenants\nspec:\n{spec}\n")))
}

#[test]
fn the_example_has_the_documented_values() {
    let path = format!("{}/../../../schemas/examples/tenants.yaml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(path).unwrap();
    assert_eq!(kind_of(&source), Some(DocumentKind::Tenants));
    let list = read_tenants(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let quotas: Vec<Quota> = list.tenants().map(|tenant| tenant.quota).collect();
    let acme = Quota { rate: Some(Rate::from_gbit(10)), burst: Some(Bytes::new(1_000_000)), contracts: Some(1000) };
    assert_eq!(quotas, [acme, Quota::default()]);
    let vms: Vec<_> = list.vms().map(|vm| (vm.name.as_str(), vm.tenant.as_deref(), vm.placement.clone())).collect();
    assert_eq!(
        vms,
        [
            ("web-1", Some("acme"), VmPlacement::Host("h1".into())),
            ("db-1", Some("acme"), VmPlacement::Fit),
            ("probe", None, VmPlacement::Random),
        ]
    );
    assert_eq!(list.name(), "plant");
    assert!(list.tenant_finding(0, "").to_string().contains("tenants.yaml:7:15: "));
    let finding = list.vm_finding(0, "there is no host h1").to_string();
    assert!(
        finding.contains("tenants.yaml:10:15: there is no host h1") && finding.contains("VM \"web-1\""),
        "{finding}"
    );
}

#[test]
fn lists_may_be_absent() {
    assert_eq!(read("  vms: []").unwrap().tenants().len(), 0);
    assert_eq!(read("  tenants: [ { name: a } ]").unwrap().vms().len(), 0);
}

#[test]
fn errors_are_reported_at_their_place() {
    assert_problems(read("  tenants: [ { name: ACME } ]"), &[(BadValue, "4:22", "[a-z0-9-]")]);
    assert_problems(read("  tenants: [ { quota: {} } ]"), &[(MissingKey, "4:14", "needs the key \"name\"")]);
    assert_problems(read("  tenants: [ { name: a, quota: { rat: 1Gbit } } ]"), &[(UnknownKey, "4:34", "\"rate\"")]);
    assert_problems(
        read("  tenants: [ { name: a, quota: { rate: 1, burst: 3s, contracts: -1 } } ]"),
        &[(BadValue, "4:40", "no unit"), (BadValue, "4:50", "a size"), (BadValue, "4:65", "whole number")],
    );
    assert_problems(read("  vms: [ { name: a } ]"), &[(MissingKey, "4:10", "\"host\" and \"placement\"")]);
    assert_problems(
        read("  vms: [ { name: a, host: h1, placement: fit } ]"),
        &[(Impossible, "4:31", "leave out host, or leave out placement")],
    );
    assert_problems(read("  vms: [ { name: a, placement: randm } ]"), &[(BadValue, "4:32", "did you mean \"random\"")]);
    assert_problems(read("  vms: 3"), &[(WrongType, "4:8", "a list of vms")]);
    let topology = Source::new("t.yaml", "apiVersion: wayleave/v1\nkind: Topology\nspec: {}\n");
    assert_problems(read_tenants(&topology), &[(WrongKind, "2:7", "expected kind Tenants")]);
}

#[test]
fn names_are_unique_among_tenants_and_among_the_vms_of_a_tenant() {
    assert_problems(
        read("  tenants:\n    - { name: a }\n    - { name: a }"),
        &[(DuplicateName, "6:15", "is already used on line 5")],
    );
    let vms = "  vms:\n    - { name: a, host: h1 }\n    - { name: a, host: h1, tenant: b }";
    assert_eq!(read(vms).unwrap().vms().len(), 2);
    let again = format!("{vms}\n    - {{ name: a, placement: fit, tenant: default }}");
    assert_problems(read(&again), &[(DuplicateName, "7:15", "is already used on line 5")]);
}

#[test]
fn a_problem_names_its_tenant_or_vm() {
    let errors = read("  vms: [ { name: a, host: h1 }, { name: b } ]").unwrap_err();
    assert_eq!(errors.problems()[0].context(), Some("VM 2"));
}
