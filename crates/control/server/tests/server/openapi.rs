//! The document that is checked in is the one that is served.

use std::path::Path;

use serde_json::Value;
use wayleave_contracts::Named;

const UPDATE: &str = "WAYLEAVE_UPDATE=1 cargo test --locked -p wayleave-server openapi::";

#[test]
fn the_checked_in_document_is_that_of_this_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/api/openapi.json");
    let made = wayleave_server::openapi();
    if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == made, "docs/api/openapi.json is old: run `{UPDATE}`, look at the difference, and commit it");
}

/// All references of a document.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                found.push(reference.clone());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Returns `true` for `boundNs`, and `false` for `bound_ns` and `Bound`.
pub(crate) fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The names of all members and parameters that a document describes, with the place of each.
fn names(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
            found.extend(properties.map(|(name, _)| (place.to_owned(), name.clone())));
            // Names of headers are those of HTTP.
            if let (Some(Value::String(kind)), Some(Value::String(name))) = (map.get("in"), map.get("name"))
                && kind != "header"
            {
                found.push((place.to_owned(), name.clone()));
            }
            map.iter().for_each(|(key, value)| names(value, &format!("{place}/{key}"), found));
        }
        Value::Array(list) => list.iter().for_each(|value| names(value, place, found)),
        _ => {}
    }
}

/// There is one vocabulary, without exceptions.
#[test]
fn every_name_of_the_interface_is_in_camel_case() {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let mut found = Vec::new();
    names(&document, "", &mut found);
    for known in ["boundNs", "dryRun", "leaseRemainingMs", "contract"] {
        assert!(found.iter().any(|(_, name)| name == known), "{known} is not found");
    }
    found.retain(|(_, name)| !is_camel_case(name));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_reference_resolves_and_every_operation_has_its_own_name() {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let mut names: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn keys_without_a_value_are_absent_from_answers_and_null_is_accepted() {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let may_be_null = |schema: &str, key: &str| {
        let property = &document["components"]["schemas"][schema]["properties"][key];
        assert!(property.is_object(), "{schema}.{key}");
        property.to_string().contains("\"null\"")
    };
    let answers = [("Contract", "name"), ("ContractStatus", "measured"), ("Decision", "message"), ("Token", "expires")];
    for (schema, key) in answers.into_iter().chain([("ContractSpec", "bandwidth"), ("BandwidthSpec", "max")]) {
        // A contract that is asked for is one of several kinds.
        let schema = if schema == "ContractSpec" { "BandwidthContractSpec" } else { schema };
        assert!(!may_be_null(schema, key), "{schema}.{key}");
    }
    for (schema, key) in [("TokenSpec", "expires"), ("VmSpec", "placement"), ("Quota", "rate")] {
        assert!(may_be_null(schema, key), "{schema}.{key}");
    }
}

#[test]
fn names_in_the_document_are_those_that_the_server_accepts() {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let of = |path: &str, method: &str, name: &str| {
        let all = document["paths"][path][method]["parameters"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["schema"].clone()
    };
    let in_object = |schema: &str| document["components"]["schemas"][schema]["properties"]["name"].clone();
    let schemas = [
        (Named::Tenant, of("/v1/tenants/{tenant}", "put", "tenant")),
        (Named::Tenant, in_object("TenantSpec")),
        (Named::Contract, of("/v1/contracts/{contract}", "put", "contract")),
        (Named::Contract, in_object("Contract")),
        (Named::Vm, of("/v1/vms/{vm}", "put", "vm")),
        (Named::Vm, in_object("VmSpec")),
    ];
    let (most, tenant) = ("x".repeat(100), "x".repeat(63));
    let (longer, longest) = (format!("{most}x"), format!("{tenant}x"));
    for (named, schema) in schemas {
        let validator = jsonschema::validator_for(&schema).unwrap();
        for name in ["", "a", "A", "a b", "a.b_c-9", "\u{e4}", "a/b", "x\n", &most, &longer, &tenant, &longest] {
            let is_valid = validator.is_valid(&Value::String(name.to_owned()));
            assert_eq!(is_valid, named.check(name).is_ok(), "{named:?} {name:?}: {schema}");
        }
    }
}
