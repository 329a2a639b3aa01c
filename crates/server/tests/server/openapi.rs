//! The document that is checked in is the one that is served.

use std::path::Path;

use serde_json::Value;

const UPDATE: &str = "WAYLEAVE_UPDATE=1 cargo test --locked -p wayleave-server openapi::";

#[test]
fn the_checked_in_document_is_that_of_this_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/openapi.json");
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

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_name() {
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
