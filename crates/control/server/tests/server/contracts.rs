//! Contracts: created, changed, ended, explained, repeated.

use serde_json::json;

use crate::common::{World, contract};

#[test]
fn a_contract_is_created_read_changed_and_ended() {
    let world = World::new();
    let client = &world.client;
    let created = client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    assert_eq!(created.header("location"), Some("/v1/contracts/default:ptp"));
    let json = created.json();
    assert_eq!(
        (&json["id"], &json["rate"], &json["status"]["state"]),
        (&json!("default:ptp"), &json!("10Mbit"), &json!("admitted"))
    );
    assert!(json["status"]["boundNs"].as_u64() <= json["status"]["deadlineNs"].as_u64());
    assert_eq!(json["status"]["routes"][0]["hops"].as_array().unwrap().len(), 6);

    let read = client.get("/v1/contracts/default:ptp").is(200);
    assert_eq!((read.json(), read.header("etag")), (json, created.header("etag")));
    let etag = read.header("etag").unwrap().to_owned();
    let again = client.send("GET", "/v1/contracts/ptp", &[("if-none-match", &etag)], b"");
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(etag.as_str())));
    assert_eq!(
        client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(200).header("etag"),
        Some(etag.as_str())
    );

    let changed = client.put("/v1/contracts/ptp", &contract("h1", "h16", "20Mbit")).is(200);
    assert_ne!(changed.header("etag"), Some(etag.as_str()));
    assert_eq!(changed.json()["rate"], "20Mbit");
    let body = contract("h1", "h16", "30Mbit").to_string();
    let stale = client.send("PUT", "/v1/contracts/ptp", &[("if-match", &etag)], body.as_bytes());
    stale.is_problem(412, "PRECONDITION_FAILED");
    client
        .send("PUT", "/v1/contracts/ptp", &[("if-none-match", "*")], body.as_bytes())
        .is_problem(412, "PRECONDITION_FAILED");
    client
        .send("PUT", "/v1/contracts/new", &[("if-match", "*")], body.as_bytes())
        .is_problem(412, "PRECONDITION_FAILED");
    client.send("DELETE", "/v1/contracts/ptp", &[("if-match", &etag)], b"").is_problem(412, "PRECONDITION_FAILED");
    client.send("PUT", "/v1/contracts/ptp", &[("if-match", changed.header("etag").unwrap())], body.as_bytes()).is(200);

    client.delete("/v1/contracts/ptp").is(204);
    client.delete("/v1/contracts/ptp").is(204);
}

#[test]
fn a_refused_contract_has_a_reason() {
    let world = World::new();
    let client = &world.client;
    let refused = client.put("/v1/contracts/big", &contract("h1", "h16", "2Gbit"));
    let problem = refused.is_problem(409, "RATE");
    let number = problem["decision"].as_u64().unwrap();
    let decision = client.get(&format!("/v1/decisions/{number}")).is(200).json();
    assert_eq!(
        (&decision["verdict"], &decision["reason"], &decision["contract"]),
        (&json!("refused"), &json!("RATE"), &json!("default:big"))
    );
    assert!(decision["message"].as_str().unwrap().len() > 20, "{decision}");
    let why = client.get(&format!("/v1/decisions/{number}/explanation")).is(200).json();
    assert!(why["nearest"]["rateBps"].as_u64().unwrap() > 900_000_000, "{why}");
    client.get("/v1/contracts/big").is_problem(404, "NOT_FOUND");
    let slow = json!({ "from": "h1", "to": "h16", "rate": "1Mbit", "burst": "3000B", "deadline": "1us" });
    client.put("/v1/contracts/slow", &slow).is_problem(409, "LATENCY");
}

/// Catches: a contract with which no frame can be sent, admitted without a word.
#[test]
fn a_burst_or_a_frame_below_the_smallest_of_ethernet_is_refused_by_name() {
    let client = &World::new().client;
    for (key, size) in [("burst", "1B"), ("burst", "63B"), ("maxFrame", "1B")] {
        let mut small = contract("h1", "h16", "1Mbit");
        small[key] = size.into();
        let problem = client.put("/v1/contracts/small", &small).is_problem(400, "INVALID");
        let detail = problem.to_string();
        assert!(detail.contains(&format!("{key} is {size}, smaller than any Ethernet frame")), "{detail}");
    }
}

#[test]
fn an_explanation_adds_up() {
    let world = World::new();
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let why = world.client.get("/v1/contracts/a/explanation").is(200).json();
    assert_eq!(why["request"]["decision"].as_str().or(why["request"]["result"].as_str()), Some("admitted"), "{why}");
    assert!(!why["queues"].as_array().unwrap().is_empty());
}

#[test]
fn a_dry_run_changes_nothing() {
    let world = World::new();
    let client = &world.client;
    let before = client.get("/v1/contracts").json();
    let answer = client.put("/v1/contracts/a?dryRun=true", &contract("h1", "h16", "10Mbit")).is(200).json();
    assert_eq!(answer["outcome"], "created");
    client.put("/v1/contracts/a?dryRun=true", &contract("h1", "h16", "2Gbit")).is_problem(409, "RATE");
    let tenant = client.put("/v1/tenants/acme?dryRun=true", &json!({ "quota": { "contracts": 1 } })).is(201).json();
    assert_eq!(tenant["quota"]["contracts"], 1);
    client.put("/v1/vms/vm-1?dryRun=true", &json!({ "placement": { "host": "h3" } })).is(201);
    client.put("/v1/nodes/h1/state?dryRun=true", &json!({ "state": "down" })).is(200);
    assert_eq!(client.get("/v1/contracts").json(), before);
    client.get("/v1/tenants/acme").is_problem(404, "NOT_FOUND");
    client.get("/v1/vms/vm-1").is_problem(404, "NOT_FOUND");
    assert_eq!(client.get("/v1/nodes/h1").json()["state"], "unknown", "not down");
}

#[test]
fn a_list_is_applied_item_by_item_or_as_a_whole() {
    let world = World::new();
    let client = &world.client;
    let document = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    \
        - { name: a, from: h1, to: h16, rate: 10Mbit, burst: 3000B, deadline: 5ms }\n    \
        - { name: b, from: h2, to: h15, rate: 2Gbit, burst: 3000B, deadline: 5ms }\n";
    let yaml: &[(&str, &str)] = &[("content-type", "application/yaml")];
    let whole = client.send("POST", "/v1/apply?atomic=true", yaml, document.as_bytes());
    let problem = whole.is_problem(409, "RATE");
    assert!(problem["detail"].as_str().unwrap().contains("default:b"), "{problem}");
    assert_eq!(client.get("/v1/contracts").json()["items"], json!([]));
    let dry = client.send("POST", "/v1/apply?dryRun=true", yaml, document.as_bytes()).is(200).json();
    assert_eq!((&dry["dryRun"], &dry["done"], &dry["refused"]), (&json!(true), &json!(1), &json!(1)));
    assert_eq!(client.get("/v1/contracts").json()["items"], json!([]));
    let each = client.send("POST", "/v1/apply", yaml, document.as_bytes()).is(200).json();
    assert_eq!((&each["items"][0]["outcome"], &each["items"][1]["outcome"]), (&json!("created"), &json!("refused")));
    assert_eq!(each["items"][1]["error"]["code"], "RATE");
    assert_eq!(client.get("/v1/contracts").json()["items"].as_array().unwrap().len(), 1);
    let wrong = document.replace("rate: 2Gbit", "rte: 2Gbit");
    let problem = client.send("POST", "/v1/apply", yaml, wrong.as_bytes()).is_problem(400, "INVALID");
    assert_eq!(problem["errors"][0]["line"], 6, "{problem}");
}

#[test]
fn a_repeated_request_is_applied_once() {
    let world = World::new();
    let client = &world.client;
    let key: &[(&str, &str)] = &[("idempotency-key", "one")];
    let mut body = contract("h1", "h16", "10Mbit");
    body["name"] = json!("a");
    let first = client.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is(201);
    let second = client.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is(201);
    assert_eq!(
        (&first.body, first.header("etag"), first.header("location")),
        (&second.body, second.header("etag"), second.header("location"))
    );
    client.post("/v1/contracts", &body).is_problem(409, "CONFLICT");
    body["rate"] = json!("20Mbit");
    client.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is_problem(422, "IDEMPOTENCY_MISMATCH");
    let other = client.token(json!({ "role": "operator" }));
    body["name"] = json!("b");
    other.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is(201);
}

#[test]
fn pages_are_consecutive() {
    let world = World::new();
    let client = &world.client;
    for at in 0..7 {
        client.put(&format!("/v1/contracts/c{at}"), &contract("h1", "h16", "1Mbit")).is(201);
    }
    let (mut names, mut path) = (Vec::new(), "/v1/contracts?limit=3".to_owned());
    loop {
        let page = client.get(&path).is(200).json();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/contracts?limit=3&after={next}");
    }
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]);
    assert_eq!(client.get("/v1/contracts?state=admitted&tenant=default").json()["items"].as_array().unwrap().len(), 7);
    assert_eq!(client.get("/v1/contracts?state=degraded").json()["items"].as_array().unwrap().len(), 0);
    let queues = client.get("/v1/queues?limit=1000").json()["items"].as_array().unwrap().len();
    let mut seen = 0;
    let mut path = "/v1/queues?limit=50".to_owned();
    loop {
        let page = client.get(&path).is(200).json();
        seen += page["items"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/queues?limit=50&after={}", next.replace('>', "%3E"));
    }
    assert_eq!(seen, queues);
}

#[test]
fn what_if_answers_and_changes_nothing() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/vms/a", &json!({ "placement": { "host": "h1" } })).is(201);
    client.put("/v1/vms/b", &json!({ "placement": { "host": "h16" } })).is(201);
    let contract = client.put("/v1/contracts/ab", &contract("a", "b", "10Mbit")).is(201).json();
    let core = contract["status"]["routes"][0]["hops"][2]["link"].as_str().unwrap();
    let prospect = client.post("/v1/what-if", &json!({ "fail": [core] })).is(200).json();
    assert_eq!(prospect["rerouted"][0]["id"], "default:ab", "{prospect}");
    let prospect = client.post("/v1/what-if", &json!({ "drain": ["h1"] })).is(200).json();
    assert_eq!((&prospect["placed"][0]["id"], &prospect["placed"][0]["from"]), (&json!("default:a"), &json!("h1")));
    let more = json!({ "apply": [{ "name": "x", "from": "a", "to": "b", "rate": "2Gbit", "burst": "3000B", "deadline": "5ms" }] });
    let prospect = client.post("/v1/what-if", &more).is(200).json();
    assert_eq!(prospect["refused"][0]["reason"], "RATE", "{prospect}");
    client.post("/v1/what-if", &json!({ "fail": ["nowhere"] })).is_problem(404, "NOT_FOUND");
    assert_eq!(client.get("/v1/contracts/ab").json(), contract);
}

/// Catches: a burst above the smallest accepted size and below the smallest frame, without a word.
#[test]
fn a_contract_to_which_no_packet_conforms_names_the_smallest_frame() {
    let world = World::new();
    for (burst, is_named) in [("83B", true), ("84B", false)] {
        let spec = json!({ "from": "h1", "to": "h16", "rate": "1Mbit", "burst": burst, "deadline": "5ms" });
        let path = format!("/v1/contracts/a{burst}");
        let created = world.client.put(&path, &spec).is(201).json();
        for shown in [created, world.client.get(&path).is(200).json()] {
            let message = shown["status"]["message"].as_str().unwrap();
            assert!(message.contains("this controller has no agents"), "{message}");
            let named = "; the burst, 83B, is below the smallest frame, 84B on the wire: none of the packets conforms";
            assert_eq!(message.ends_with(named), is_named, "{message}");
        }
    }
}
