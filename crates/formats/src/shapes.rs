//! The published JSON Schemas have exactly the keys that are read: drift fails here.

use serde_json::Value;

use crate::contracts::{CONTRACT, CONTRACTS_SPEC, ContractField};
use crate::document::{DOCUMENT, METADATA};
use crate::events::{EVENT, EVENTS_SPEC};
use crate::fields::{MAX_KEYS, Shape};
use crate::topology::{BUILDERS, DEFAULTS, LINK, NODE, QUEUE, TOPOLOGY_SPEC};

fn schema(kind: &str) -> Value {
    let path = format!("{}/../../schemas/{kind}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn keys_of(schema: &Value, pointer: &str) -> Vec<String> {
    let object = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    assert_eq!(object.get("additionalProperties"), Some(&Value::Bool(false)), "{pointer}");
    let mut keys: Vec<String> = object["properties"].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

fn assert_same_keys(schema: &Value, pointer: &str, shape: &Shape) {
    assert!(shape.keys.len() <= MAX_KEYS, "{pointer}");
    let mut known: Vec<String> = shape.keys.iter().map(|key| (*key).to_owned()).collect();
    known.sort();
    assert_eq!(keys_of(schema, pointer), known, "{pointer}: left the schema, right the reader");
}

#[test]
fn the_schemas_have_the_keys_that_are_read() {
    let (topology, contracts, events) = (schema("topology"), schema("contracts"), schema("events"));
    for schema in [&topology, &contracts, &events] {
        assert_same_keys(schema, "", &DOCUMENT);
        assert_same_keys(schema, "/properties/metadata", &METADATA);
    }
    assert_same_keys(&topology, "/properties/spec", &TOPOLOGY_SPEC);
    assert_same_keys(&contracts, "/properties/spec", &CONTRACTS_SPEC);
    assert_same_keys(&events, "/properties/spec", &EVENTS_SPEC);
    assert_same_keys(&topology, "/$defs/defaults", &DEFAULTS);
    assert_same_keys(&topology, "/$defs/node", &NODE);
    assert_same_keys(&topology, "/$defs/link", &LINK);
    assert_same_keys(&topology, "/$defs/queue", &QUEUE);
    assert_same_keys(&contracts, "/$defs/contract", &CONTRACT);
    assert_same_keys(&events, "/$defs/contract", &CONTRACT);
    assert_same_keys(&events, "/$defs/event", &EVENT);
    for (kind, shape, _) in &BUILDERS {
        assert_same_keys(&topology, &format!("/$defs/builder-{kind}"), shape);
    }
    let builders = topology["properties"]["spec"]["properties"]["builder"]["oneOf"].as_array().unwrap();
    assert_eq!(builders.len(), BUILDERS.len());
}

#[test]
fn the_schemas_require_what_the_reader_requires() {
    let required: Vec<&str> =
        ContractField::ALL.into_iter().filter(|field| field.is_required()).map(ContractField::key).collect();
    for kind in ["contracts", "events"] {
        assert_eq!(schema(kind)["$defs"]["contract"]["required"], serde_json::json!(required), "{kind}");
    }
}

#[test]
fn a_contract_has_its_fields_as_keys() {
    assert_eq!(ContractField::ALL.map(ContractField::key), CONTRACT.keys);
    for (index, field) in ContractField::ALL.into_iter().enumerate() {
        assert_eq!(field as usize, index);
    }
}
