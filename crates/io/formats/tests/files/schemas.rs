//! The published JSON Schemas accept the published examples, and refuse what the readers refuse.

use serde_json::{Value, json};

fn folder() -> String {
    format!("{}/../../../schemas", env!("CARGO_MANIFEST_DIR"))
}

fn validator(kind: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(format!("{}/{kind}.schema.json", folder())).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn example(name: &str) -> Value {
    let text = std::fs::read_to_string(format!("{}/examples/{name}.yaml", folder())).unwrap();
    serde_norway::from_str(&text).unwrap()
}

#[test]
fn the_examples_validate_against_their_schemas() {
    for (name, kind) in [
        ("topology-builder", "topology"),
        ("topology-links", "topology"),
        ("topology-classes", "topology"),
        ("contracts", "contracts"),
        ("contracts-controller", "contracts"),
        ("contracts-kinds", "contracts"),
        ("tenants", "tenants"),
        ("agent", "agent"),
        ("policy", "policy"),
        ("events", "events"),
        ("scenario", "scenario"),
        ("scenario-short", "scenario"),
    ] {
        let errors: Vec<String> = validator(kind).iter_errors(&example(name)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schemas_are_schemas() {
    for kind in ["topology", "contracts", "events", "scenario", "tenants", "agent", "policy"] {
        let text = std::fs::read_to_string(format!("{}/{kind}.schema.json", folder())).unwrap();
        assert!(jsonschema::meta::is_valid(&serde_json::from_str(&text).unwrap()), "{kind}");
    }
}

#[test]
fn a_schema_refuses_what_its_reader_refuses() {
    let contracts = validator("contracts");
    let with = |key: &str, value: Value| {
        let mut document = example("contracts");
        document["spec"]["contracts"][0][key] = value;
        contracts.is_valid(&document)
    };
    assert!(with("rate", json!("1.5Gbit/s")) && with("burst", json!("64KiB")) && with("deadline", json!("2 ms")));
    assert!(!with("rate", json!("10mbps")) && !with("rate", json!(10)) && !with("burst", json!("1500")));
    assert!(!with("burts", json!("1500B")) && !with("minFrame", json!("64B")) && !with("accounting", json!("frame")));

    assert!(with("priority", json!(0)) && !with("priority", json!(101)));
    assert!(with("starts", json!("2026-11-21T08:00:00Z")) && !with("starts", json!("2026-11-21T08:00:00")));
    assert!(with("match", json!({ "protocol": "udp", "sourcePort": 53 })));
    assert!(with("match", json!({ "protocol": 47, "destinationAddress": "::1" })));
    assert!(!with("match", json!({})) && !with("match", json!({ "sourcePort": 53 })));
    assert!(!with("match", json!({ "protocol": "udp", "port": 53 })));

    assert!(with("excess", json!("demote")) && !with("excess", json!("keep")));
    assert!(!with("bandwidth", json!({ "from": "h1", "to": "h2", "min": "1Gbit" })), "beside a deadline");
    let kind = |index: usize, key: &str, value: Value| {
        let mut document = example("contracts-kinds");
        document["spec"]["contracts"][index][key] = value;
        contracts.is_valid(&document)
    };
    assert!(kind(1, "bandwidth", json!({ "hose": ["h1", "h2"], "min": "1Gbit" })));
    assert!(!kind(1, "bandwidth", json!({ "hose": ["h1", "h2"], "from": "h1", "min": "1Gbit" })));
    assert!(!kind(1, "bandwidth", json!({ "hose": ["h1"], "min": "1Gbit" })));
    assert!(!kind(1, "bandwidth", json!({ "from": "h1", "to": "h2" })), "without a minimum");
    assert!(
        !kind(1, "objective", json!({ "goal": "latency", "members": ["h1", "h2"], "weight": "1Mbit" })),
        "two kinds"
    );
    assert!(!kind(3, "objective", json!({ "members": ["h1", "h2"], "weight": "1Mbit" })), "without a goal");
    assert!(!kind(3, "rate", json!("1Mbit")), "which is a term of latency contracts");

    let tenants = validator("tenants");
    let with = |pointer: &str, value: Value| {
        let mut document = example("tenants");
        *document.pointer_mut(pointer).unwrap() = value;
        tenants.is_valid(&document)
    };
    assert!(with("/spec/vms/0", json!({ "name": "a", "host": "h1" })));
    assert!(!with("/spec/vms/0", json!({ "name": "a", "host": "h1", "placement": "fit" })));
    assert!(!with("/spec/vms/0", json!({ "name": "a" })));
    assert!(!with("/spec/tenants/0/name", json!("ACME")));
    assert!(!with("/spec/tenants/0/quota/rate", json!("10mbps")));

    let topology = validator("topology");
    let with = |pointer: &str, value: Value| {
        let mut document = example("topology-links");
        *document.pointer_mut(pointer).unwrap() = value;
        topology.is_valid(&document)
    };
    assert!(with("/spec/links/0", json!({ "between": ["a", "b"] })));
    assert!(!with("/spec/links/0", json!({ "between": ["a", "b"], "to": "c" })));
    assert!(!with("/spec/links/0", json!({ "from": "a" })));
    assert!(!with("/spec/nodes/0/kind", json!("router")));

    let events = validator("events");
    let mut document = example("events");
    document["spec"]["events"][2]["add"] = document["spec"]["events"][0]["add"].clone();
    assert!(!events.is_valid(&document), "an event is one thing");
}

#[test]
fn the_schema_of_scenarios_refuses_what_its_reader_refuses() {
    let scenario = validator("scenario");
    let with = |pointer: &str, value: Value| {
        let mut document = example("scenario-short");
        *document.pointer_mut(pointer).unwrap() = value;
        scenario.is_valid(&document)
    };
    let traffic = |value: Value| with("/spec/traffic/0", value);
    assert!(traffic(json!({ "name": "a", "load": 0.5, "sizes": "1MB" })));
    assert!(traffic(json!({ "name": "a", "sizes": "endless" })));
    assert!(traffic(json!({ "name": "a", "poisson": "1Mbit", "frame": "100B" })));
    assert!(!traffic(json!({ "name": "a" })), "it does not define what is sent");
    assert!(!traffic(json!({ "name": "a", "load": 0.5, "poisson": "1Mbit", "sizes": "1MB" })), "one thing");
    assert!(!traffic(json!({ "name": "a", "load": 11, "sizes": "1MB" })), "more than ten times the links");
    assert!(!traffic(json!({ "name": "a", "sizes": "web-serch" })));
    assert!(!traffic(json!({ "sizes": "1MB" })), "a name is needed");
    assert!(with("/spec/topology", json!({ "hpcc": "topology.txt", "defaults": { "queues": 4 } })));
    assert!(with("/spec/topology", json!({ "nodes": [], "links": [] })));
    assert!(!with("/spec/topology", json!({ "hpcc": "a", "htsim": "b" })));
    assert!(with("/spec/duration", json!("2ms")) && !with("/spec/duration", json!(2)));
    let add = |key: &str, value: Value| {
        let mut document = example("scenario-short");
        document["spec"][key] = value;
        scenario.is_valid(&document)
    };
    let ports = |key: &str, value: Value| add("switches", json!({ key: value }));
    assert!(ports("discipline", json!({ "strict": 2, "weighted": [2, 1] })));
    assert!(!ports("discipline", json!({ "strict": 2 })) && !ports("discipline", json!({ "weighted": [1] })));
    assert!(!ports("discipline", json!({ "strict": 2, "deficitRoundRobin": [1] })) && !ports("discipline", json!({})));
    assert!(ports("ecn", json!("none")) && ports("ecn", json!(["none", "97kB"])) && !ports("ecn", json!(["never"])));
    let outage = |value: Value| add("outages", json!([value]));
    assert!(outage(json!({ "at": "1ms", "fail": "s1", "undetected": true })));
    assert!(
        !outage(json!({ "at": "1ms", "repair": "s1", "undetected": true })),
        "a repair is no more silent than its failure"
    );
}
