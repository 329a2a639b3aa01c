//! Tenants, VMs, tokens, elements.

use std::collections::BTreeSet;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;
use wayleave_store::{CommitStep, Store, StoredRecord};

use crate::common::{World, contract, options};

#[test]
fn a_tenant_has_the_limits_of_its_quota() {
    let world = World::new();
    let client = &world.client;
    let quota = json!({ "quota": { "rate": "15Mbit", "contracts": 2 } });
    client.put("/v1/tenants/acme", &quota).is(201);
    client.put("/v1/contracts/acme:a", &contract("h1", "h16", "10Mbit")).is(201);
    let problem = client.put("/v1/contracts/acme:b", &contract("h1", "h16", "10Mbit")).is_problem(409, "QUOTA");
    let decision = client.get(&format!("/v1/decisions/acme:{}", problem["decision"])).json();
    assert!(decision["message"].as_str().unwrap().contains("limited to 15 Mbit/s"), "{decision}");
    assert_eq!(
        client.get("/v1/tenants/acme").json()["usage"],
        json!({ "rate": "10Mbit", "burst": "3kB", "contracts": 1 })
    );
    client.delete("/v1/tenants/acme").is_problem(409, "CONFLICT");
    client.delete("/v1/contracts/acme:a").is(204);
    assert_eq!(client.get("/v1/tenants/acme").json()["usage"]["contracts"], 0);
    client.post("/v1/tenants", &json!({ "name": "acme" })).is_problem(409, "CONFLICT");
    client.post("/v1/tenants", &json!({ "name": "Acme" })).is_problem(400, "INVALID");
    client.put("/v1/tenants/x", &json!({ "quota": { "rate": "10mbps" } })).is_problem(400, "INVALID");
}

#[test]
fn vms_are_placed_and_contracts_join_them() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/vms/web", &json!({ "placement": { "host": "h3" } })).is(201);
    let vm = client.post("/v1/vms", &json!({ "name": "db", "placement": { "strategy": "fit" } })).is(201).json();
    let host = vm["host"].as_str().unwrap();
    assert_eq!(client.get(&format!("/v1/hosts/{host}")).json()["vms"], json!(["default:db"]));
    client.post("/v1/vms", &json!({ "name": "any", "placement": { "strategy": "random" } })).is(201);
    client.post("/v1/vms", &json!({ "name": "any" })).is_problem(409, "CONFLICT");
    client.post("/v1/vms", &json!({ "name": "h1" })).is_problem(400, "INVALID");
    client.put("/v1/vms/x", &json!({ "placement": { "host": "nowhere" } })).is_problem(404, "NOT_FOUND");
    let made = client.put("/v1/contracts/web-db", &contract("web", "db", "10Mbit")).is(201).json();
    assert_eq!((&made["from"], &made["status"]["fromHost"]), (&json!("web"), &json!("h3")));
    client.delete("/v1/vms/web").is_problem(409, "CONFLICT");
    // It moves with its contract, unless that has no place there.
    client.put("/v1/contracts/load", &contract("h5", "h9", "995Mbit")).is(201);
    let stays = client.put("/v1/vms/web", &json!({ "placement": { "host": "h5" } })).is_problem(409, "CONFLICT");
    let stays = stays["detail"].as_str().unwrap();
    assert!(stays.contains("VM default:web cannot move to h5") && stays.contains("default:web-db: "), "{stays}");
    client.put("/v1/vms/web", &json!({ "placement": { "host": "h6" } })).is(200);
    assert_eq!(client.get("/v1/contracts/web-db").json()["status"]["fromHost"], "h6");
    let typo = client.put("/v1/contracts/x", &contract("wep", "db", "10Mbit")).is_problem(400, "INVALID");
    assert!(typo["errors"][0]["detail"].as_str().unwrap().contains("web"), "{typo}");
    client.put("/v1/vms/any", &json!({ "placement": { "host": "h7" } })).is(200);
    client.delete("/v1/vms/any").is(204);
    client.delete("/v1/vms/any").is(204);
}

#[test]
fn a_token_is_shown_once_and_expires() {
    let world = World::new();
    let client = &world.client;
    let made = client.post("/v1/tokens", &json!({ "role": "reader", "label": "grafana" })).is(201).json();
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(secret.starts_with("wl_") && secret.len() == 67);
    let reader = client.with(secret);
    assert_eq!(reader.get("/v1").is(200).json()["role"], "reader");
    assert!(!String::from_utf8_lossy(&client.get("/v1/tokens").body).contains(&secret[3..]));
    client.delete(&format!("/v1/tokens/{id}")).is(204);
    reader.get("/v1").is_problem(401, "UNAUTHORIZED");
    let only = client.get("/v1/tokens").json()["items"][0]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/v1/tokens/{only}")).is_problem(409, "CONFLICT");
    client.post("/v1/tokens", &json!({ "role": "tenant" })).is_problem(400, "INVALID");
    client.post("/v1/tokens", &json!({ "role": "agent", "node": "nowhere" })).is_problem(404, "NOT_FOUND");
    client.post("/v1/tokens", &json!({ "role": "king" })).is_problem(400, "INVALID");
}

#[test]
fn a_failed_element_moves_contracts_and_can_be_restored() {
    let world = World::new();
    let client = &world.client;
    let made = client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201).json();
    let hops = made["status"]["routes"][0]["hops"].clone();
    let (uplink, core) = (hops[0]["link"].as_str().unwrap(), hops[2]["link"].as_str().unwrap());
    let state = |link: &str| format!("/v1/links/{}/state", link.replace('>', "%3E"));
    let came = client.put(&state(core), &json!({ "state": "down", "reason": "cut" })).is(200).json();
    assert_eq!(came["rerouted"], json!(["default:a"]));
    assert_eq!(client.get(&format!("/v1/links/{}", core.replace('>', "%3E"))).json()["downReason"], "cut");
    let came = client.put(&state(uplink), &json!({ "state": "down" })).is(200).json();
    assert_eq!(came["degraded"], json!(["default:a"]));
    let status = client.get("/v1/contracts/a").json()["status"].clone();
    assert_eq!((&status["state"], &status["reason"]), (&json!("degraded"), &json!("FAILURE")), "{status}");
    assert!(status["message"].as_str().unwrap().contains(uplink), "{status}");
    let listed = client.get("/v1/contracts?state=degraded").is(200).json();
    let ids: Vec<_> = listed["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["default:a"], "{listed}");
    assert_eq!(client.get("/v1/contracts?state=admitted").is(200).json()["items"], json!([]));
    let whole = client.get("/v1/status").json();
    assert_eq!((&whole["contracts"]["degraded"], &whole["down"]), (&json!(1), &json!(2)), "{whole}");
    assert_eq!(client.put(&state(uplink), &json!({ "state": "up" })).is(200).json()["restored"], json!(["default:a"]));
    client.put("/v1/links/h1-%3Enowhere/state", &json!({ "state": "up" })).is_problem(404, "NOT_FOUND");
    assert_eq!(client.get("/v1/topology").json()["down"].as_array().unwrap().len(), 1);
}

#[test]
fn an_address_belongs_to_one_vm() {
    let world = World::new();
    let client = &world.client;
    let on = |mac: &str| json!({ "placement": { "host": "h3" }, "mac": mac });
    let made = client.put("/v1/vms/made", &json!({ "placement": { "host": "h3" } })).is(201).json();
    let default = made["mac"].as_str().unwrap().to_owned();
    assert!(default.starts_with("02:"), "{default}");
    assert_eq!(client.put("/v1/vms/web", &on("02:00:5E:10:00:01")).is(201).json()["mac"], "02:00:5e:10:00:01");
    for taken in ["02:00:5e:10:00:01", default.as_str()] {
        let problem = client.put("/v1/vms/db", &on(taken)).is_problem(409, "CONFLICT");
        assert!(problem["detail"].as_str().unwrap().contains("choose another"), "{problem}");
        assert_eq!(problem["errors"][0]["field"], "mac");
    }
    for wrong in ["01:00:5e:10:00:01", "00:00:00:00:00:00", "02:00:5e:10:00", "web"] {
        client.put("/v1/vms/db", &on(wrong)).is_problem(400, "INVALID");
    }
    // Absent fields stay unchanged; fields that a contract needs cannot change.
    let unchanged = client.put("/v1/vms/web", &json!({ "placement": { "host": "h3" } })).is(200).json();
    assert_eq!(unchanged["mac"], "02:00:5e:10:00:01");
    client.put("/v1/contracts/a", &contract("web", "h16", "1Mbit")).is(201);
    client.put("/v1/vms/web", &on("02:00:5e:10:00:02")).is_problem(409, "CONFLICT");
    // An address is free again with its VM.
    client.delete("/v1/vms/made").is(204);
    client.put("/v1/vms/db", &on(&default)).is(201);
    // A VM that names none gets another then.
    let made = client.put("/v1/vms/made", &json!({ "placement": { "host": "h3" } })).is(201).json();
    assert_ne!(made["mac"], default);
}

#[test]
fn a_reason_has_no_terminal_control_sequences() {
    let world = World::new();
    let client = &world.client;
    for reason in ["\u{1b}[2J", "two\nlines", "bell\u{7}", "\u{9b}31m", "a\u{202e}b", "zero\u{200b}width", "\u{feff}"] {
        let down = json!({ "state": "down", "reason": reason });
        client.put("/v1/nodes/h5/state", &down).is_problem(400, "INVALID");
    }
    client.put("/v1/nodes/h5/state", &json!({ "state": "down", "reason": "Kabel gezogen: \u{e4}" })).is(200);
}

#[test]
fn an_older_token_that_no_certificate_can_use_is_named() {
    let memory = Memory::default();
    let world = World::with(Box::new(memory.clone()), EnforcedBy::Nobody);
    let make = |name: &str| {
        let spec = json!({ "role": "reader", "label": "dashboards", "certificate": format!("DNS:{name}") });
        let made = world.client.post("/v1/tokens", &spec).is(201).json();
        assert!(made.get("warning").is_none(), "{made}");
        made["id"].as_str().unwrap().to_owned()
    };
    let (wildcard, invalid, fine) = (make("wild.example"), make("dots.example"), make("fine.example"));
    let scratch = world.end();
    // As versions wrote them that accepted such names.
    let mut store = memory.0.lock().unwrap();
    let as_written = |name: &str| match name {
        "wild" => "*",
        _ => "a..b",
    };
    let changes: Vec<CommitStep> = store
        .load()
        .into_iter()
        .filter(|record| *record.kind == *"token")
        .flat_map(|record| {
            ["wild", "dots"].map(|name| {
                let (kind, key) = (record.kind.clone(), record.key.clone());
                let old =
                    record.body.replace(&format!("DNS:{name}.example"), &format!("DNS:{}.example", as_written(name)));
                (*old != *record.body).then(|| CommitStep::Put(StoredRecord::new(kind, key, old)))
            })
        })
        .flatten()
        .collect();
    assert_eq!(changes.len(), 2);
    store.commit(&changes).unwrap();
    drop(store);
    let world = World::of(options(Box::new(memory), &scratch, EnforcedBy::Nobody), scratch);
    let shown = world.client.get("/v1/tokens").is(200).json();
    let warning = |id: &str| {
        let of = shown["items"].as_array().unwrap().iter().find(|token| token["id"] == id).unwrap();
        of.get("warning").map(|warning| warning.as_str().unwrap().to_owned())
    };
    let answer = warning(&wildcard).unwrap();
    assert!(
        answer.contains("DNS:*.example") && answer.contains("wildcard") && answer.contains("delete this token"),
        "{answer}"
    );
    assert!(warning(&invalid).unwrap().contains("DNS:a..b.example"));
    assert_eq!(warning(&fine), None);
    let problems = world.client.get("/v1/status").is(200).json()["problems"].clone();
    let expected: BTreeSet<String> =
        [&wildcard, &invalid].map(|id| format!("token {id}: {}", warning(id).unwrap())).into();
    let problems: BTreeSet<String> = serde_json::from_value(problems).unwrap();
    assert_eq!(problems, expected);
    // Tenants see no tokens.
    world.client.put("/v1/tenants/a", &json!({})).is(201);
    let tenant = world.client.token(json!({ "role": "tenant", "tenant": "a" }));
    assert!(tenant.get("/v1/status").is(200).json()["problems"].as_array().is_none_or(Vec::is_empty));
}
