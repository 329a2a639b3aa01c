//! Agents: sessions, operations, confirmations, reports.

use serde_json::json;
use wayleave_controller::Southbound;
use wayleave_server::disk::Memory;

use crate::common::{World, contract};

#[test]
fn a_contract_is_enforced_when_its_host_says_so() {
    let world = World::with(Box::new(Memory::default()), Southbound::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    agent.get("/v1/agents/h1/messages").is_problem(409, "STALE_EPOCH");
    let session = agent.post("/v1/agents/h1/session", &json!({ "installed": [] })).is(200).json();
    let epoch = session["epoch"].as_u64().unwrap();
    assert_eq!(agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}")).is(200).json()["operations"], json!([]));

    // What comes while it waits ends the waiting.
    let waiting = {
        let agent = agent.clone();
        std::thread::spawn(move || agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}&wait=60")).is(200).json())
    };
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    assert_eq!(client.get("/v1/contracts/a").json()["status"]["state"], "admitted");
    let messages = waiting.join().unwrap();
    let operation = &messages["operations"][0];
    assert_eq!((&operation["do"], &operation["rule"]["id"]), (&json!("install"), &json!("default:a")), "{messages}");
    assert!(operation["rule"]["rateBps"].as_u64().unwrap() >= 10_000_000);
    let done = json!({ "epoch": epoch, "done": [[operation["serial"], operation["version"]]] });
    agent.post("/v1/agents/h1/confirmations", &done).is(204);
    let status = client.get("/v1/contracts/a").json()["status"].clone();
    assert_eq!((&status["state"], &status["configured"]), (&json!("enforced"), &status["effective"]));
    assert_eq!(client.get("/v1/nodes/h1").json()["agent"]["open"], true);

    let receiver = client.token(json!({ "role": "agent", "node": "h16" }));
    let other = receiver.post("/v1/agents/h16/session", &json!({})).is(200).json()["epoch"].as_u64().unwrap();
    let late = json!({ "epoch": other, "measured": [{ "serial": operation["serial"], "packets": 10, "late": 1, "worstNs": 9_000_000 }] });
    receiver.post("/v1/agents/h16/reports", &late).is(204);
    let status = client.get("/v1/contracts/a").json()["status"].clone();
    assert_eq!((&status["state"], &status["measured"]["worstNs"]), (&json!("violated"), &json!(9_000_000)), "{status}");

    let again = agent.post(
        "/v1/agents/h1/session",
        &json!({ "after": epoch, "installed": [[operation["serial"], operation["version"]]] }),
    );
    assert!(again.is(200).json()["epoch"].as_u64().unwrap() > epoch);
    agent.post("/v1/agents/h1/confirmations", &done).is_problem(409, "STALE_EPOCH");
    agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}")).is_problem(409, "STALE_EPOCH");
    receiver.get("/v1/agents/h1/messages").is_problem(404, "NOT_FOUND");

    client.delete("/v1/contracts/a").is(204);
    assert_eq!(client.get("/v1/contracts/a").json()["status"]["state"], "released");
    let tenant = client.token(json!({ "role": "tenant", "tenant": "default" }));
    tenant.delete("/v1/contracts/a?force=true").is_problem(403, "FORBIDDEN");
    client.delete("/v1/contracts/a?force=true").is(204);
}
