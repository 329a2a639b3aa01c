//! Contracts that are not in force claim neither a bound nor the confirmation of a rule.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_repo_checks::TempFolder;

use crate::common::{Client, World, contract};
use crate::load::{Agent, new_world, now_s};
use crate::restart::{status, world};

fn down(world: &World, node: &str, reason: &str) {
    let state = json!({ "state": "down", "reason": reason });
    world.client.put(&format!("/v1/nodes/{node}/state"), &state).is(200);
}

/// Catches: a bound, or a minimum, that is "proven" for a contract that a failure keeps from sending.
#[test]
fn a_contract_that_has_failed_has_neither_a_bound_nor_a_certainty() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let world = world(&disk, &scratch, EnforcedBy::Hosts);
    world.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    world.client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h1", "h16"], "min": "100Mbit" } })).is(201);
    // The claims of each document: REST, a list, health and CSV.
    let claims = || {
        let get = |path: &str| world.client.get(path).is(200);
        let of = |document: &Value| (document.get("boundNs").is_some(), document.get("certainty").is_some());
        let [listed, health] = ["/v1/contracts", "/v1/health"].map(|path| get(path).json()["items"].clone());
        let csv = String::from_utf8(get("/v1/contracts?format=csv").body).unwrap();
        let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let column = |name: &str| head.iter().position(|one| one == name).unwrap();
        let (name, bound, certainty) = (column("name"), column("boundNs"), column("certainty"));
        let rows: Vec<Vec<String>> = lines.collect();
        let find = |items: &Value, name: &str| {
            items.as_array().unwrap().iter().find(|one| one["id"] == format!("default:{name}")).unwrap().clone()
        };
        ["ptp", "db"].map(|contract| {
            let row = rows.iter().find(|row| row[name] == contract).unwrap();
            let csv = (!row[bound].is_empty(), !row[certainty].is_empty());
            [of(&status(&world, contract)), of(&find(&listed, contract)["status"]), of(&find(&health, contract)), csv]
        })
    };
    assert_eq!(claims(), [[(true, false); 4], [(false, true); 4]]);
    down(&world, "h1", "power");
    assert_eq!(status(&world, "ptp")["reason"], "FAILURE");
    assert_eq!(claims(), [[(false, false); 4]; 2]);
    world.client.put("/v1/nodes/h1/state", &json!({ "state": "up" })).is(200);
    assert_eq!(claims(), [[(true, false); 4], [(false, true); 4]]);
}

/// Catches: an effective version in documents of contracts whose agents are silent, or have not connected since the start.
#[test]
fn a_rule_is_effective_only_while_its_agent_is_connected() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let first = world(&disk, &scratch, EnforcedBy::Hosts);
    first.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let serial = status(&first, "ptp")["serial"].clone();
    let shown = |world: &World| {
        let status = status(world, "ptp");
        (status["state"].as_str().unwrap().to_owned(), status["effective"].as_u64())
    };
    {
        let [sender, receiver] = ["h1", "h16"].map(|node| Agent::new(&first, now_s(), node));
        sender.confirm();
        receiver
            .report(json!({ "measured": [{ "serial": serial, "packets": 5, "late": 1, "worstNs": 1_000_000_000 }] }));
        assert_eq!(shown(&first), ("violated".to_owned(), Some(1)));
    }
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::Hosts);
    assert_eq!(shown(&second), ("violated".to_owned(), None));
    assert_eq!(status(&second, "ptp")["reason"], "LATE_PACKETS");
    let token = second.client.token(json!({ "role": "agent", "node": "h1" }));
    let begun = token.post("/v1/agents/h1/session", &json!({ "after": 1, "installed": [[serial, 1]] })).is(200).json();
    assert_eq!(shown(&second), ("violated".to_owned(), Some(1)));
    token.post("/v1/agents/h1/reports", &json!({ "epoch": begun["epoch"], "beat": true, "leaves": true })).is(204);
    assert_eq!(shown(&second), ("degraded".to_owned(), None));
    assert_eq!(status(&second, "ptp")["reason"], "SILENT");
}

/// Catches: a contract that is "pending" without a reason.
#[test]
fn a_contract_that_waits_for_switches_names_them() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let world = world(&disk, &scratch, EnforcedBy::HostsAndSwitches);
    world.client.put("/v1/contracts/ptp", &contract("h1", "h2", "10Mbit")).is(201);
    let shown = status(&world, "ptp");
    assert_eq!((&shown["state"], &shown["reason"]), (&json!("pending"), &json!("WAITS")), "{shown}");
    let message = "waits until each switch on its links has confirmed its queues (pod1-edge1)";
    assert_eq!(shown["message"], message);
}

/// Catches: an operator's words about a host that reach every tenant with a VM on it.
#[test]
fn tenants_do_not_read_why_a_host_is_down() {
    let world = new_world(now_s());
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    operator.put("/v1/vms/acme:web", &json!({ "placement": { "host": "h1" } })).is(201);
    down(&world, "h1", "the neighbour is investigated");
    let tenant = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    let shown = |client: &Client| {
        let hosts = client.get("/v1/hosts").is(200).json()["items"].clone();
        hosts.as_array().unwrap().iter().find(|host| host["name"] == "h1").unwrap().clone()
    };
    assert_eq!(shown(operator)["reason"], "the neighbour is investigated");
    let seen = shown(&tenant);
    assert_eq!((&seen["state"], seen.get("reason")), (&json!("down"), None), "{seen}");
}
