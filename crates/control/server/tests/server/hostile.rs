//! Text and numbers of clients and agents that target others: a terminal, Prometheus, other watchers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::{Disk, Memory, Opened};
use wayleave_store::{Failure, StoreError};
use wayleave_units::is_plain;

use crate::common::{Client, World, contract};

/// A title, a colour, a bell, a forged line, a reversed and an invisible part.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[31m\n2026-11-26T00:00:00Z  op  forged\u{202e}\u{200b}\u{9b}2J";
const IN_A_PATH: &str = "x%1b%5d0%3bowned%07%0aforged%20line%e2%80%ae%e2%80%8b%c2%9b2J";

/// Every text of a document.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            found.push(key.clone());
            texts(value, found);
        }),
        _ => {}
    }
}

fn assert_plain(client: &Client, path: &str) {
    let mut found = Vec::new();
    texts(&client.get(path).is(200).json(), &mut found);
    let hostile: Vec<&String> = found.iter().filter(|text| !is_plain(text)).collect();
    assert!(hostile.is_empty(), "{path}: {hostile:?}");
}

fn with_agents() -> World {
    World::with(Box::new(Memory::default()), EnforcedBy::Hosts)
}

#[test]
fn refused_input_is_recorded_escaped_and_with_its_tenant() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/tenants/a", &json!({})).is(201);
    let tenant = client.token(json!({ "role": "tenant", "tenant": "a" }));
    client.without().put(&format!("/v1/contracts/{IN_A_PATH}"), &json!({})).is(401);
    tenant.put(&format!("/v1/contracts/{IN_A_PATH}"), &json!({})).is(400);
    tenant.put("/v1/contracts/own", &json!({})).is(400);
    tenant.put("/v1/vms/b:other", &json!({})).is(404);
    client.with("wl_0").delete(&format!("/v1/tokens/{IN_A_PATH}")).is(401);
    // Refusals go to disk within a second; a commit takes them along.
    let objects = || -> Vec<String> {
        client.put("/v1/tenants/later", &json!({}));
        let items = client.get("/v1/audit").is(200).json()["items"].clone();
        let refused = items.as_array().unwrap().iter().filter(|entry| entry["status"].as_u64().unwrap() >= 400);
        refused.map(|entry| entry["object"].as_str().unwrap().to_owned()).collect()
    };
    let found = (0..10_000).map(|_| objects()).find(|objects| objects.len() >= 5).unwrap();
    assert!(
        found.iter().any(|object| object == "a:own") && found.iter().any(|object| object == "b:other"),
        "{found:?}"
    );
    assert!(found.iter().any(|object| object.starts_with("a:x\\u001b]0;owned\\u0007\\u000a")), "{found:?}");
    assert_eq!(found.iter().filter(|object| object.starts_with("x\\u001b")).count(), 2, "{found:?}");
    assert_plain(client, "/v1/audit");
}

#[test]
fn hostile_names_labels_and_reasons_are_refused() {
    let world = World::new();
    let client = &world.client;
    for text in [
        "\u{1b}[2J",
        "two\nlines",
        "\u{7f}",
        "\u{9b}31m",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{200b}b",
        "\u{feff}a",
        "a\u{2028}b",
    ] {
        client.put("/v1/nodes/h5/state", &json!({ "state": "down", "reason": text })).is_problem(400, "INVALID");
        client.post("/v1/tokens", &json!({ "role": "reader", "label": text })).is_problem(400, "INVALID");
        client
            .post("/v1/tokens", &json!({ "role": "reader", "certificate": format!("URI:{text}") }))
            .is_problem(400, "INVALID");
        let mut named = contract("h1", "h16", "1Mbit");
        named["name"] = json!(text);
        client.post("/v1/contracts", &named).is_problem(400, "INVALID");
        let mut labelled = contract("h1", "h16", "1Mbit");
        labelled["labels"] = json!({ "app": text });
        client.put("/v1/contracts/labelled", &labelled).is_problem(400, "INVALID");
    }
}

/// A report that has the text in every field that takes one.
fn report(epoch: &Value) -> Value {
    let clock = json!({ "boot": HOSTILE, "aheadNs": 1 });
    let sent = json!([{ "serial": 1, "to": HOSTILE, "via": [HOSTILE], "boundNs": 1, "packets": [[1, 1]] }]);
    json!({ "epoch": epoch, "beat": true, "repairs": [HOSTILE], "troubles": [HOSTILE], "hearsAt": HOSTILE,
        "rulesInForce": [], "contractProblems": [{ "serial": 1, "why": HOSTILE }], "packets": { HOSTILE: 1, "spoofed": 2 },
        "samples": { "number": 0, "level": 0, "clock": clock, "sent": sent },
        "checks": [{ "id": HOSTILE, "trouble": HOSTILE, "counted": { HOSTILE: 1 },
            "seen": [{ "interface": HOSTILE, "leadsTo": HOSTILE, "isOutgoing": true, "probes": [1], "frame": HOSTILE }] }] })
}

#[test]
fn texts_of_agents_are_escaped_wherever_they_appear() {
    let world = with_agents();
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].clone();
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    agent.post("/v1/agents/h1/reports", &report(&epoch)).is(204);
    let paths = [
        "/v1/status",
        "/v1/events",
        "/v1/agents",
        "/v1/contracts",
        "/v1/contracts/a",
        "/v1/hosts",
        "/v1/audit",
        "/v1/health",
    ];
    for path in paths {
        assert_plain(client, path);
    }
    // They are there, as JSON would escape them.
    let shown = "x\\u001b]0;owned\\u0007\\u001b[31m\\u000a2026-11-26T00:00:00Z  op  forged\\u202e\\u200b\\u009b2J";
    let status = client.get("/v1/status").json();
    let foreign = "h1: its report has sampled packets of contract default:a with another sender, receiver or bound than the contract's: they are ignored; restart its agent, or upgrade it";
    assert_eq!(status["problems"], json!([format!("h1: {shown}"), foreign]), "{status}");
    let events = client.get("/v1/events").json().to_string();
    assert!(events.contains(&json!(shown).to_string()[1..]), "{events}");
}

#[test]
fn sentences_and_counters_of_an_agent_are_bounded_with_a_count_of_the_rest() {
    let world = with_agents();
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].clone();
    let report = |count: u32, round: u32| {
        let packets: BTreeMap<String, u32> = (0..count).map(|at| (format!("c{round}-{at}"), at)).collect();
        let troubles: Vec<String> = (0..count).map(|at| format!("{at} {}", "t".repeat(20))).collect();
        let received = json!({ "epoch": epoch, "beat": true, "contractProblems": [], "packets": packets, "troubles": troubles, "repairs": ["r".repeat(5_000)] });
        agent.post("/v1/agents/h1/reports", &received).is(204);
    };
    let metrics = || String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    for round in 0..3 {
        report(10_000, round);
        let text = metrics();
        let lines = text.lines().filter(|line| line.starts_with("wayleave_host_packets_total{")).count();
        assert_eq!(lines, 48, "those of earlier reports are gone");
        assert!(text.contains("wayleave_host_counters_left_out{node=\"h1\"} 9952\n"), "{text}");
    }
    let problems = client.get("/v1/status").json()["problems"].clone();
    let problems = problems.as_array().unwrap();
    assert_eq!(problems.len(), 65);
    assert_eq!(problems[64], "h1: 9936 more problems omitted: a report has at most 64");
    let events = client.get("/v1/events").json();
    let longest =
        events["items"].as_array().unwrap().iter().filter_map(|event| Some(event["detail"].as_str()?.len())).max();
    assert_eq!(longest, Some(503));
    // Names that are no labels, and then none too many: nothing is left out.
    let packets = json!({ "spoofed": 1, "Upper": 1, "": 1, "a b": 1 });
    agent.post("/v1/agents/h1/reports", &json!({ "epoch": epoch, "packets": packets })).is(204);
    assert!(metrics().contains("wayleave_host_counters_left_out{node=\"h1\"} 3\n"));
    agent.post("/v1/agents/h1/reports", &json!({ "epoch": epoch, "packets": { "spoofed": 1 } })).is(204);
    assert!(!metrics().contains("wayleave_host_counters_left_out{"));
}

/// A ledger that cannot be opened any more once it is broken.
struct Breaking {
    memory: Memory,
    is_broken: Arc<AtomicBool>,
}

impl Disk for Breaking {
    fn open(&mut self) -> Result<Opened, StoreError> {
        match self.is_broken.load(Ordering::SeqCst) {
            true => Err(StoreError::Missing { path: "/secret/ledger.db".into() }),
            false => self.memory.open(),
        }
    }

    fn name(&self) -> String {
        "/secret/ledger.db".to_owned()
    }
}

#[test]
fn the_cause_of_a_ledger_write_error_is_shown_to_operators_only() {
    let (memory, is_broken) = (Memory::default(), Arc::new(AtomicBool::new(false)));
    let store = memory.0.clone();
    let world = World::with(Box::new(Breaking { memory, is_broken: is_broken.clone() }), EnforcedBy::Hosts);
    let client = &world.client;
    client.put("/v1/tenants/a", &json!({})).is(201);
    let others = [
        client.token(json!({ "role": "tenant", "tenant": "a" })),
        client.token(json!({ "role": "reader", "tenant": "a" })),
        client.token(json!({ "role": "agent", "node": "h1" })),
        client.without(),
    ];
    is_broken.store(true, Ordering::SeqCst);
    store.lock().unwrap().fail_next(Failure::Before);
    client.put("/v1/tenants/b", &json!({})).is_problem(503, "UNAVAILABLE");
    // The commit has failed, and then the ledger cannot be opened: the reason is that of the second.
    let detail = || client.get("/v1/contracts").is_problem(503, "UNAVAILABLE")["detail"].as_str().unwrap().to_owned();
    let detail = (0..1_000_000).map(|_| detail()).find(|detail| detail.contains("/secret/")).unwrap();
    assert!(detail.starts_with("the ledger cannot be written"), "{detail}");
    for other in &others {
        for path in [
            "/v1/contracts",
            "/v1/vms",
            "/v1/status",
            "/v1/topology",
            "/v1/agents/h1/neighbours",
            "/readyz",
            "/healthz",
            "/v1",
        ] {
            let answer = other.get(path);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!text.contains("secret"), "{path}: {text}");
        }
    }
    let received = others[0].get("/v1/contracts").is_problem(503, "UNAVAILABLE");
    assert_eq!(
        received["detail"],
        "the ledger cannot be written; operators find the reason in /v1/status and in the log"
    );
    is_broken.store(false, Ordering::SeqCst);
}
