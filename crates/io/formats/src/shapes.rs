//! The published JSON Schemas have exactly the keys that are read: drift fails here.

use serde_json::Value;

use crate::agent as ag;
use crate::contracts::{BANDWIDTH, BEST_EFFORT, CONTRACT, CONTRACTS_SPEC, ContractField, MATCH, OBJECTIVE};
use crate::document::{DOCUMENT, METADATA};
use crate::events::{EVENT, EVENTS_SPEC};
use crate::fields::{MAX_KEYS, Shape};
use crate::policy as po;
use crate::scenario as sc;
use crate::tenants as te;
use crate::topology::{BUILDERS, CLASSES, DEFAULTS, LINK, NODE, QUEUE, TOPOLOGY_SPEC};

fn schema(kind: &str) -> Value {
    if kind == "scenario" {
        // With all schemes of this build.
        return serde_json::from_str(&crate::scenario_schema()).unwrap();
    }
    let path = format!("{}/../../../schemas/{kind}.schema.json", env!("CARGO_MANIFEST_DIR"));
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
    assert_same_keys(&topology, "/$defs/classes", &CLASSES);
    assert_same_keys(&topology, "/$defs/node", &NODE);
    assert_same_keys(&topology, "/$defs/link", &LINK);
    assert_same_keys(&topology, "/$defs/queue", &QUEUE);
    assert_same_keys(&contracts, "/$defs/contract", &CONTRACT);
    assert_same_keys(&events, "/$defs/contract", &CONTRACT);
    assert_same_keys(&events, "/$defs/event", &EVENT);
    for schema in [&contracts, &events] {
        assert_same_keys(schema, "/$defs/match", &MATCH);
        assert_same_keys(schema, "/$defs/bandwidth", &BANDWIDTH);
        assert_same_keys(schema, "/$defs/objective", &OBJECTIVE);
        assert_same_keys(schema, "/$defs/bestEffort", &BEST_EFFORT);
    }
    for (kind, shape, _) in &BUILDERS {
        assert_same_keys(&topology, &format!("/$defs/builder-{kind}"), shape);
    }
    let builders = topology["properties"]["spec"]["properties"]["builder"]["oneOf"].as_array().unwrap();
    assert_eq!(builders.len(), BUILDERS.len());
}

#[test]
fn the_schema_of_agents_has_the_keys_that_are_read() {
    let agent = schema("agent");
    assert_same_keys(&agent, "", &DOCUMENT);
    assert_same_keys(&agent, "/properties/spec", &ag::AGENT_SPEC);
    assert_same_keys(&agent, "/$defs/node", &ag::AGENT_NODE);
    assert_same_keys(&agent, "/$defs/endpoint", &ag::ENDPOINT);
    assert_same_keys(&agent, "/$defs/ovs", &ag::AGENT_BRIDGE);
}

#[test]
fn the_schema_of_tenants_has_the_keys_that_are_read() {
    let tenants = schema("tenants");
    assert_same_keys(&tenants, "", &DOCUMENT);
    assert_same_keys(&tenants, "/properties/metadata", &METADATA);
    assert_same_keys(&tenants, "/properties/spec", &te::TENANTS_SPEC);
    for (name, shape) in [("tenant", &te::TENANT), ("quota", &te::QUOTA), ("vm", &te::VM)] {
        assert_same_keys(&tenants, &format!("/$defs/{name}"), shape);
    }
}

#[test]
fn the_schema_of_policies_has_the_keys_that_are_read() {
    let policy = schema("policy");
    assert_same_keys(&policy, "", &DOCUMENT);
    assert_same_keys(&policy, "/properties/metadata", &METADATA);
    assert_same_keys(&policy, "/properties/spec", &po::POLICY_SPEC);
    let shapes = [("service", &po::SERVICE), ("bandwidth", &po::BANDWIDTH), ("change", &po::CHANGE), ("match", &MATCH)];
    for (name, shape) in shapes {
        assert_same_keys(&policy, &format!("/$defs/{name}"), shape);
    }
    let contracts = schema("contracts");
    for name in ["match", "instant", "rate"] {
        assert_eq!(contracts["$defs"][name], policy["$defs"][name], "{name}");
    }
}

/// A schema is self-contained: events contain a copy of the schema of contracts.
#[test]
fn contracts_inside_of_events_have_the_schema_of_contracts() {
    let (contracts, events) = (schema("contracts"), schema("events"));
    for name in ["contract", "bandwidth", "objective", "bestEffort", "match", "instant", "rate", "size", "time"] {
        assert_eq!(contracts["$defs"][name], events["$defs"][name], "{name}");
    }
}

#[test]
fn the_schemas_require_what_the_reader_requires() {
    let required: Vec<&str> =
        ContractField::ALL.into_iter().filter(|field| field.is_required()).map(ContractField::key).collect();
    for kind in ["contracts", "events"] {
        let contract = &schema(kind)["$defs"]["contract"];
        assert_eq!(contract["required"], serde_json::json!(required[..1]), "{kind}: a name, whatever the kind");
        assert_eq!(contract.pointer("/allOf/0/else/required"), Some(&serde_json::json!(required[1..])), "{kind}");
    }
}

#[test]
fn a_contract_has_its_fields_as_keys() {
    assert_eq!(ContractField::ALL.map(ContractField::key), CONTRACT.keys);
    for (index, field) in ContractField::ALL.into_iter().enumerate() {
        assert_eq!(field as usize, index);
    }
}

#[test]
fn the_schema_of_scenarios_has_the_keys_that_are_read() {
    let scenario = schema("scenario");
    assert_same_keys(&scenario, "", &DOCUMENT);
    assert_same_keys(&scenario, "/properties/metadata", &METADATA);
    assert_same_keys(&scenario, "/properties/spec", &sc::SCENARIO_SPEC);
    for (name, shape) in [
        ("topology", &sc::TOPOLOGY),
        ("ports", &sc::PORTS),
        ("weighted", &sc::WEIGHTED),
        ("shared-buffer", &sc::SHARED_BUFFER),
        ("marking", sc::MARKING.shape()),
        ("shared-service", &sc::SERVICE),
        ("routing", sc::ROUTING.shape()),
        ("transport", &sc::TRANSPORT),
        ("fixed-window", sc::CONGESTION.shape()),
        ("vm", &sc::VM),
        ("traffic", &sc::TRAFFIC),
        ("distribution", &sc::SIZES),
        ("deadline", &sc::DEADLINE),
        ("exponential-deadline", &sc::EXPONENTIAL_DEADLINE),
        ("token-bucket", &sc::TOKEN_BUCKET),
        ("constant-rate", &sc::CONSTANT_RATE),
        ("on-off", &sc::ON_OFF),
        ("send-schedule", &sc::SEND_SCHEDULE),
        ("period", &sc::PERIOD),
        ("rpc", &sc::RPC),
        ("job", &sc::JOB),
        ("uniform", &sc::UNIFORM),
        ("sharing", &sc::SHARING),
        ("scheme", sc::SCHEME.shape()),
        ("message-faults", &sc::FAULTS),
        ("further-scheme", &sc::OTHER_SCHEME),
        ("sharing-event", &sc::EVENT),
        ("policy", &po::POLICY_SPEC),
        ("flow", &sc::LISTED_FLOW),
        ("flow-file", &sc::IMPORT),
        ("outage", &sc::OUTAGE),
        ("record", &sc::RECORD),
        ("fastForward", &sc::FAST_FORWARD),
        ("reserved-link", &sc::RESERVED),
        ("sweep", &sc::SWEEP),
    ] {
        assert_same_keys(&scenario, &format!("/$defs/{name}"), shape);
    }
}

#[test]
fn the_schema_of_scenarios_has_the_parameters_of_host_and_marking_schemes() {
    let scenario = schema("scenario");
    let with_several = |scheme: &&&wayleave_scheme_api::Descriptor| scheme.parameters.len() > 1;
    for scheme in sc::SCHEME.all.iter().chain(sc::MARKING.all).filter(with_several) {
        assert_same_keys(&scenario, &format!("/$defs/{}", scheme.name), sc::scheme_shape(scheme));
    }
}

/// A schema is self-contained: scenarios contain a copy of the schema of policies.
#[test]
fn policies_inside_of_scenarios_have_the_schema_of_policies() {
    let (scenario, policy) = (schema("scenario"), schema("policy"));
    for (name, definition) in policy["$defs"].as_object().unwrap() {
        assert_eq!(&scenario["$defs"][name], definition, "{name}");
    }
    assert_eq!(scenario.pointer("/$defs/policy/properties"), policy.pointer("/properties/spec/properties"));
}

#[test]
fn the_schema_of_scenarios_has_the_published_distributions() {
    let scenario = schema("scenario");
    let names: Vec<&str> = wayleave_scenarios::PUBLISHED.iter().map(|(name, _)| *name).collect();
    for pointer in ["/$defs/sizes/oneOf/1/enum", "/$defs/traffic/properties/sizes/oneOf/2/enum"] {
        assert_eq!(scenario.pointer(pointer), Some(&serde_json::json!(names)), "{pointer}");
    }
}

/// A schema is self-contained, so that an editor needs no other: shared parts are copies.
#[test]
fn topologies_inside_of_scenarios_have_the_schema_of_topologies() {
    let (scenario, topology) = (schema("scenario"), schema("topology"));
    for (name, definition) in topology["$defs"].as_object().unwrap() {
        assert_eq!(&scenario["$defs"][name], definition, "{name}");
    }
    for key in ["builder", "nodes", "links", "defaults", "classes"] {
        let inside = scenario.pointer(&format!("/$defs/topology/properties/{key}"));
        assert_eq!(inside, topology.pointer(&format!("/properties/spec/properties/{key}")), "{key}");
    }
}
