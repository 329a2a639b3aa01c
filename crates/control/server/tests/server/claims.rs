//! Claims about changes and states: each is made only where the controller knows that it is true.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_repo_checks::TempFolder;

use crate::common::{World, classed, contract};
use crate::load::{Agent, counted, new_world, now_s};
use crate::restart::{session, status, world};

fn fresh(enforced_by: EnforcedBy) -> World {
    world(&Arc::default(), &Arc::new(TempFolder::new("server")), enforced_by)
}

/// Returns the names of the contracts in a list of an answer.
fn ids(answer: &Value, list: &str) -> BTreeSet<String> {
    let items = answer[list].as_array().unwrap().iter();
    items.map(|one| one["id"].as_str().unwrap().trim_start_matches("default:").to_owned()).collect()
}

fn state_of(world: &World, kind: &str, name: &str, state: &str) {
    let path = format!("/v1/{kind}/{}/state", name.replace('>', "%3E"));
    world.client.put(&path, &json!({ "state": state })).is(200);
}

/// Catches: contracts with silent agents, or with rules that an agent cannot install, that a failure "restores".
#[test]
fn only_contracts_that_a_failure_has_withdrawn_would_be_restored() {
    let world = fresh(EnforcedBy::Hosts);
    world.client.put("/v1/contracts/quiet", &contract("h1", "h16", "10Mbit")).is(201);
    world.client.put("/v1/contracts/stuck", &contract("h2", "h15", "10Mbit")).is(201);
    let [one, two] = ["h1", "h2"].map(|node| Agent::new(&world, now_s(), node));
    [&one, &two].into_iter().for_each(Agent::confirm);
    one.report(json!({ "leaves": true }));
    let serial = status(&world, "stuck")["serial"].clone();
    two.report(json!({ "contractProblems": [{ "serial": serial, "why": "no queue" }] }));
    let reasons = || ["quiet", "stuck"].map(|name| status(&world, name)["reason"].clone());
    assert_eq!(reasons(), [json!("SILENT"), json!("NOT_CARRIED_OUT")]);
    let core = |name: &str| status(&world, name)["routes"][0]["hops"][2]["link"].as_str().unwrap().to_owned();
    let fail: BTreeSet<String> = ["quiet", "stuck"].map(core).into();
    let would = world.client.post("/v1/what-if", &json!({ "fail": fail })).is(200).json();
    let both = BTreeSet::from(["quiet", "stuck"].map(str::to_owned));
    assert_eq!((ids(&would, "rerouted"), ids(&would, "restored")), (both, BTreeSet::new()), "{would}");
    fail.iter().for_each(|link| state_of(&world, "links", link, "down"));
    assert_eq!(reasons(), [json!("SILENT"), json!("NOT_CARRIED_OUT")], "as predicted");
    let would = world.client.post("/v1/what-if", &json!({ "fail": ["h16"] })).is(200).json();
    assert_eq!(ids(&would, "degraded"), BTreeSet::from(["quiet".to_owned()]), "{would}");
    state_of(&world, "nodes", "h16", "down");
    let would = world.client.post("/v1/what-if", &json!({ "restore": ["h16"] })).is(200).json();
    assert_eq!(ids(&would, "restored"), BTreeSet::from(["quiet".to_owned()]), "{would}");
}

/// Catches: contracts that agents cannot carry out, and that are "enforced" after new terms, or in an event after a restart.
#[test]
fn problems_of_agents_last_through_new_terms_and_restarts() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let first = world(&disk, &scratch, EnforcedBy::HostsAndSwitches);
    let network = classed(EnforcedBy::Nobody).network;
    let switches: Vec<&str> = network.switches().map(|switch| network.node(switch).name.as_str()).collect();
    let set_up = |world: &World, after: Option<u64>| {
        let installed = if after.is_some() { json!([[0, 1]]) } else { json!([]) };
        switches.iter().for_each(|switch| session(world, switch, after, installed.clone()));
    };
    set_up(&first, None);
    set_up(&first, Some(1));
    first.client.put("/v1/contracts/stuck", &contract("h2", "h16", "10Mbit")).is(201);
    first.client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h2", "h16"], "min": "100Mbit" } })).is(201);
    let [stuck, db] = ["stuck", "db"].map(|name| status(&first, name)["serial"].clone());
    let report = json!({ "rulesInForce": [[db, 1]],
        "contractProblems": [{ "serial": stuck, "why": "no queue" }, { "serial": db, "why": "no queue" }] });
    let reasons = |world: &World| ["stuck", "db"].map(|name| status(world, name)["reason"].clone());
    let both = [json!("NOT_CARRIED_OUT"), json!("NOT_CARRIED_OUT")];
    let enforced = |world: &World| {
        let events = world.client.get("/v1/events?limit=1000").is(200).json()["items"].as_array().unwrap().clone();
        events.iter().filter(|event| event["type"] == "enforced").count()
    };
    {
        let [agent, other] = ["h2", "h16"].map(|node| Agent::new(&first, now_s(), node));
        agent.confirm();
        other.report(json!({ "rulesInForce": [[db, 1]] }));
        agent.report(report.clone());
        assert_eq!(reasons(&first), both);
        first.client.put("/v1/contracts/stuck", &contract("h2", "h16", "5Mbit")).is(200);
        agent.confirm();
        agent.report(report.clone());
        assert_eq!(reasons(&first), both);
    }
    let before = enforced(&first);
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::HostsAndSwitches);
    set_up(&second, Some(2));
    let [agent, other] = ["h2", "h16"].map(|node| Agent::new(&second, now_s(), node));
    other.report(json!({ "rulesInForce": [[db, 1]] }));
    agent.confirm();
    agent.report(report);
    assert_eq!((reasons(&second), enforced(&second)), (both, before));
    agent.report(json!({ "rulesInForce": [[db, 1]] }));
    assert_eq!(status(&second, "db")["state"], "enforced", "{}", status(&second, "db"));
}

/// Catches: a new contract with the packets of a lost one, whose serial number it has.
#[test]
fn counters_of_another_contract_with_the_same_serial_number_are_ignored() {
    let world = fresh(EnforcedBy::Hosts);
    world.client.put("/v1/contracts/new", &contract("h1", "h16", "10Mbit")).is(201);
    let agent = Agent::new(&world, now_s(), "h1");
    agent.confirm();
    let serial = status(&world, "new")["serial"].clone();
    let sent = |contract: &str| {
        let mut counters = counted(&serial, 5_000);
        counters["contract"] = json!(contract);
        agent.report(json!({ "traffic": [counters] }));
        world.client.get("/v1/contracts/new/traffic").is(200).json()["traffic"]["packets"].clone()
    };
    assert_eq!([sent("acme:lost"), sent("default:new")], [Value::Null, json!(5)]);
}

/// Catches: "no route has enough room left after existing reservations" where a link is down.
#[test]
fn tenants_read_that_something_is_down_and_not_what() {
    let world = new_world(now_s());
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    for (vm, host) in [("a", "h1"), ("b", "h16")] {
        operator.put(&format!("/v1/vms/acme:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    state_of(&world, "links", "h16->pod4-edge2", "down");
    let tenant = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    let asked = contract("a", "b", "1Mbit");
    let text = |answer: crate::common::Answer| String::from_utf8(answer.body).unwrap();
    let document = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    \
                    - { name: ab, from: a, to: b, rate: 1Mbit, burst: 3000B, deadline: 5ms }\n";
    let yaml = &[("content-type", "application/yaml")][..];
    let apply = |path: &str| text(tenant.send("POST", path, yaml, document.as_bytes()));
    let number = tenant.put("/v1/contracts/acme:ab", &asked).json()["decision"].clone();
    let texts = [
        text(tenant.get(&format!("/v1/decisions/acme:{number}"))),
        text(tenant.get(&format!("/v1/decisions/acme:{number}/explanation"))),
        text(tenant.put("/v1/contracts/acme:ab?dryRun=true", &asked)),
        apply("/v1/apply"),
        apply("/v1/apply?dryRun=true"),
    ];
    for text in texts {
        assert!(text.contains("No route from h1 to h16 is usable: a link or node is down"), "{text}");
        assert!(!text.contains("reservations") && !text.contains("pod4-edge2"), "{text}");
    }
    let text = text(operator.get(&format!("/v1/decisions/acme:{number}")));
    assert!(text.contains("pod4-edge2->h16 is down"), "{text}");
}

/// Catches: a bound of a deleted contract, and a proof of it.
#[test]
fn a_deleted_contract_has_neither_a_bound_nor_a_proof() {
    let world = fresh(EnforcedBy::Hosts);
    world.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let agent = Agent::new(&world, now_s(), "h1");
    agent.confirm();
    assert!(status(&world, "ptp")["boundNs"].is_u64());
    world.client.delete("/v1/contracts/ptp").is(204);
    let shown = status(&world, "ptp");
    assert_eq!((&shown["state"], shown.get("boundNs")), (&json!("released"), None), "{shown}");
    let answer = world.client.get("/v1/contracts/ptp/explanation").is_problem(409, "CONFLICT");
    assert!(answer["detail"].as_str().unwrap().contains("default:ptp is deleted"), "{answer}");
}

/// Catches: "delivery within 9 ms" for a minimum that a failure has withdrawn.
#[test]
fn a_withdrawn_minimum_has_no_delivery_time() {
    let world = fresh(EnforcedBy::Hosts);
    let asked = json!({ "bandwidth": { "from": "h1", "to": "h9", "min": "1Gbit", "within": "9ms" } });
    world.client.put("/v1/contracts/copy", &asked).is(201);
    assert!(status(&world, "copy")["withinNs"].is_u64());
    state_of(&world, "nodes", "h9", "down");
    let shown = status(&world, "copy");
    assert_eq!((&shown["reason"], shown.get("withinNs")), (&json!("FAILURE"), None), "{shown}");
}

/// Catches: "its rules may no longer be in force" for a contract that has not started, which never had a rule.
#[test]
fn a_silent_agent_is_no_evidence_that_a_rule_was_in_force() {
    let world = fresh(EnforcedBy::Hosts);
    let mut asked = contract("h1", "h16", "10Mbit");
    asked["starts"] = json!("2199-01-01T00:00:00Z");
    world.client.put("/v1/contracts/later", &asked).is(201);
    Agent::new(&world, now_s(), "h1").report(json!({ "leaves": true }));
    let shown = status(&world, "later");
    assert_eq!(shown["reason"], "SILENT", "{shown}");
    let message = shown["message"].as_str().unwrap();
    assert!(message.ends_with("whether its rules and queues are in force is unknown"), "{message}");
}

/// Catches: "delete it first" for a contract that is deleted already.
#[test]
fn a_deleted_contract_blocks_its_vms_and_its_tenant_until_its_packets_have_left() {
    let world = fresh(EnforcedBy::Hosts);
    let client = &world.client;
    client.put("/v1/tenants/acme", &json!({})).is(201);
    for (vm, host) in [("a", "h1"), ("b", "h16")] {
        client.put(&format!("/v1/vms/acme:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    client.put("/v1/contracts/acme:ab", &contract("a", "b", "10Mbit")).is(201);
    let agent = Agent::new(&world, now_s(), "h1");
    agent.confirm();
    let answer = client.delete("/v1/tenants/acme").is_problem(409, "CONFLICT");
    assert!(answer["detail"].as_str().unwrap().contains("delete contract acme:ab first"), "{answer}");
    client.delete("/v1/contracts/acme:ab").is(204);
    let moved = client.put("/v1/vms/acme:a", &json!({ "placement": { "host": "h2" } }));
    for answer in [moved, client.delete("/v1/vms/acme:a"), client.delete("/v1/tenants/acme")] {
        let answer = answer.is_problem(409, "CONFLICT");
        let detail = answer["detail"].as_str().unwrap();
        assert!(detail.contains("contract acme:ab, which is deleted") && detail.ends_with("retry later"), "{detail}");
    }
}

/// Catches: a contract that "was not confirmed in time" when it is a moment old.
#[test]
fn a_new_contract_without_confirmations_is_not_called_late() {
    let world = fresh(EnforcedBy::HostsAndSwitches);
    world.client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h1", "h16"], "min": "100Mbit" } })).is(201);
    let shown = status(&world, "db");
    assert_eq!(shown["reason"], "UNCONFIRMED", "{shown}");
    let events = world.client.get("/v1/events").is(200).json();
    let details: Vec<&str> =
        events["items"].as_array().unwrap().iter().filter_map(|one| one["detail"].as_str()).collect();
    assert!(details.iter().any(|detail| detail.contains("has not confirmed its rule")), "{details:?}");
    for text in details.into_iter().chain(shown["message"].as_str()) {
        assert!(!text.contains("in time"), "{text}");
    }
}

/// Catches: groups of links of which none is down, and none is known.
#[test]
fn links_that_nobody_observes_are_counted_as_unknown() {
    let world = fresh(EnforcedBy::HostsAndSwitches);
    let sums = || {
        let summary = world.client.get("/v1/topology/summary").is(200).json();
        let groups = summary["linkGroups"].as_array().unwrap().clone();
        let sum = |key: &str| groups.iter().map(|group| group[key].as_u64().unwrap()).sum::<u64>();
        [sum("links"), sum("unknown"), sum("down")]
    };
    let [links, unknown, down] = sums();
    assert_eq!((unknown, down), (links, 0));
    let agent = Agent::new(&world, now_s(), "h1");
    agent.report(json!({ "withoutCarrier": [] }));
    assert_eq!(sums(), [links, links - 2, 0]);
    agent.report(json!({ "withoutCarrier": ["h1->pod1-edge1"] }));
    assert_eq!(sums(), [links, links - 2, 2]);
    // A new session has not repeated the report, and the agent at the other end cannot refute it.
    let _again = Agent::new(&world, now_s(), "h1");
    assert_eq!(sums(), [links, links, 0]);
    Agent::new(&world, now_s(), "pod1-edge1").report(json!({ "withoutCarrier": [] }));
    assert_eq!(sums(), [links, links - 8 + 2, 0]);
}
