//! Policies of services: kept, shown, changed and deleted; contracts are refused where services need the rate, and policies where contracts have it.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{World, classed, contract, options};
use wayleave_repo_checks::TempFolder;

fn begin(disk: &Memory, scratch: Arc<TempFolder>) -> World {
    let mut options = options(Box::new(disk.clone()), &scratch, EnforcedBy::Nobody);
    options.setup = classed(EnforcedBy::Nobody);
    World::of(options, scratch)
}

/// Two services at every machine, together with this minimum in each direction.
fn machines(web: &str, db: &str) -> Value {
    let service = |name: &str, port: u16, min: &str| json!({ "name": name, "match": { "protocol": "tcp", "destinationPort": port }, "min": min, "weight": 3 });
    let spec = json!({ "level": "machine", "services": [service("web", 80, web), service("db", 5432, db)] });
    json!({ "apiVersion": "wayleave/v1", "kind": "Policy", "metadata": { "name": "machines" }, "spec": spec })
}

fn pair(from: &str, min: &str) -> Value {
    json!({ "bandwidth": { "from": from, "to": "h9", "min": min } })
}

/// Of 10 Gbit/s a class is promised 5.1: machines have 3, and a contract may have 2.1 beside them.
#[test]
fn policies_and_contracts_share_one_ledger_and_survive_a_restart() {
    let disk = Memory::default();
    let world = begin(&disk, Arc::new(TempFolder::new("server")));
    let client = &world.client;
    let created = client.put("/v1/policies/machines", &machines("2Gbit", "1Gbit")).is(201).json();
    assert_eq!(
        (created["needs"].as_array().unwrap().len(), &created["needs"][0]["min"]),
        (32, &json!("3Gbit")),
        "sixteen hosts, both directions: {created}"
    );
    assert_eq!(created["spec"]["services"][0]["transmit"], json!({ "min": "2Gbit", "weight": 3 }));
    let same = client.put("/v1/policies/machines", &machines("2Gbit", "1Gbit")).is(200).json();
    assert_eq!(same, created, "nothing has changed");
    // A contract that would break it is refused; the explanation has the largest rate that fits and the holders of
    // the rest.
    let refused = client.put("/v1/contracts/copy", &pair("h1", "3Gbit")).is_problem(409, "RATE");
    let path = format!("/v1/decisions/{}/explanation", refused["decision"]);
    let why = client.get(&path).is(200).json();
    assert_eq!(why["links"][0]["holders"], json!(["policy machines"]), "{why}");
    let fits = why["nearest"]["minBps"].as_u64().unwrap();
    assert!((2_099_000_000..2_100_000_001).contains(&fits), "{why}");
    client.put("/v1/contracts/copy", &pair("h1", "2Gbit")).is(201);
    // Latency contracts leave what services need: 3 of 5.1 Gbit/s take 5.9 of the line, and 2 more beside them nearly all.
    client.put("/v1/contracts/ptp", &contract("h1", "h16", "500Mbit")).is_problem(409, "RATE");
    client.put("/v1/contracts/ptp", &contract("h2", "h16", "500Mbit")).is(201);
    // A policy that contracts do not leave room for.
    let refused = client.put("/v1/policies/machines", &machines("3Gbit", "1Gbit")).is_problem(409, "RATE");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("h1") && detail.contains("guarantees 4 Gbit/s"), "{detail}");
    assert!(detail.contains("in total would fit there"), "{detail}");
    assert_eq!(client.get("/v1/policies/machines").is(200).json(), created, "refused: as it was");
    // A dry run holds nothing, a restart loses nothing.
    let more = machines("2Gbit", "1.05Gbit");
    client.put("/v1/policies/machines?dryRun=true", &more).is(200);
    assert_eq!(client.get("/v1/policies/machines").is(200).json(), created);
    let world = begin(&disk, world.end());
    let client = &world.client;
    assert_eq!(client.get("/v1/policies/machines").is(200).json(), created);
    assert_eq!(client.get("/v1/policies").is(200).json()["items"], json!([created]));
    client.put("/v1/contracts/more", &pair("h1", "200Mbit")).is_problem(409, "RATE");
    let what_if = client.post(
        "/v1/what-if",
        &json!({ "apply": [{ "name": "q", "bandwidth": { "from": "h1", "to": "h9", "min": "200Mbit" } }] }),
    );
    assert_eq!(what_if.is(200).json()["refused"][0]["reason"], "RATE", "questions are asked beside policies, too");
    // Its share is free after it was deleted.
    client.delete("/v1/policies/machines").is(204);
    client.get("/v1/policies/machines").is_problem(404, "NOT_FOUND");
    client.put("/v1/contracts/more", &pair("h1", "200Mbit")).is(201);
    client.delete("/v1/policies/machines").is(204);
    let events = client.get("/v1/events?limit=1000").is(200).json();
    let of_policy = |event: &&Value| event["object"] == "policy machines";
    let kinds: Vec<&str> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_policy)
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["put", "deleted"]);
}

#[test]
fn errors_of_a_policy_are_reported() {
    let world = begin(&Memory::default(), Arc::new(TempFolder::new("server")));
    let client = &world.client;
    let other = client.put("/v1/policies/racks", &machines("2Gbit", "1Gbit")).is_problem(400, "INVALID");
    assert!(other["errors"][0]["detail"].as_str().unwrap().contains("the path has racks"), "{other}");
    let same_port = json!({ "apiVersion": "wayleave/v1", "kind": "Policy", "spec": { "level": "machine", "services": [
        { "name": "a", "min": "1Gbit", "match": { "protocol": "tcp" } },
        { "name": "b", "min": "1Gbit", "match": { "protocol": "tcp" } },
    ] } });
    let wrong = client.put("/v1/policies/a", &same_port).is_problem(400, "INVALID");
    assert!(wrong["errors"][0]["line"].is_u64(), "{wrong}");
    // Tenants do not see them.
    client.put("/v1/tenants/acme", &json!({})).is(201);
    let acme = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    acme.get("/v1/policies").is_problem(403, "FORBIDDEN");
    acme.put("/v1/policies/machines", &machines("2Gbit", "1Gbit")).is_problem(403, "FORBIDDEN");
    // Without classes nothing can be held.
    let plain = World::new();
    let refused = plain.client.put("/v1/policies/machines", &machines("2Gbit", "1Gbit")).is_problem(409, "POLICY");
    assert!(refused["detail"].as_str().unwrap().contains("`classes`"), "{refused}");
}
