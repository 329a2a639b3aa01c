//! Checks: what is refused, and a whole one between agents that are played.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{Client, World, classed, contract, options};
use wayleave_repo_checks::TempFolder;

/// The agent of a node in a session.
struct Agent {
    client: Client,
    node: &'static str,
    epoch: u64,
}

impl Agent {
    fn begin(world: &World, node: &'static str) -> Self {
        let client = world.client.token(json!({ "role": "agent", "node": node }));
        let session = client.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json();
        Self { client, node, epoch: session["epoch"].as_u64().unwrap() }
    }

    /// Reports the agent's knowledge of checks; returns the tasks in the answer.
    fn send_report(&self, checks: Value) -> Vec<Value> {
        let report = json!({ "epoch": self.epoch, "checks": checks });
        let answer = self.client.post(&format!("/v1/agents/{}/reports", self.node), &report);
        if answer.status == 204 { Vec::new() } else { answer.is(200).json()["checks"].as_array().unwrap().clone() }
    }

    /// Asks until there is a task that is as wanted.
    fn until(&self, checks: &Value, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(task) = self.send_report(checks.clone()).into_iter().find(|task| is_wanted(task)) {
                return task;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{} is told nothing", self.node);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_check_runs_between_agents_and_names_the_place_of_loss() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let [sender, receiver, other] = ["h1", "h16", "h2"].map(|node| Agent::begin(&world, node));
    let asking = {
        let client = client.clone();
        std::thread::spawn(move || client.post("/v1/checks", &json!({ "contract": "a", "count": 3 })).is(200).json())
    };
    let task = sender.until(&json!([]), |_| true);
    assert_eq!(task["sends"], Value::Null, "the receiver does not watch yet");
    let id = task["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 16);
    assert!(other.send_report(json!([])).is_empty(), "a host between which and the others nothing goes");
    // One from a host at a time.
    let again = json!({ "from": "h1", "to": "h2" });
    client.post("/v1/checks", &again).is_problem(429, "RATE_LIMITED");
    receiver.send_report(json!([{ "id": id }]));
    let task = sender.until(&json!([{ "id": id }]), |task| task["sends"].is_object());
    assert_eq!(
        (&task["sends"]["from"], &task["sends"]["to"], &task["sends"]["count"]),
        (&json!("host:h1"), &json!("host:h16"), &json!(3))
    );
    let uplink = world_link(client, "h1");
    let seen = |leads_to: &str, is_outgoing: bool, probes: &[u32]| json!({ "interface": "p", "leadsTo": leads_to, "isOutgoing": is_outgoing, "probes": probes, "frame": "" });
    let of_sender = json!([seen("host:h1", false, &[0, 1, 2]), seen(&uplink, true, &[0, 1, 2])]);
    sender.send_report(json!([{ "id": id, "sent": 3, "seen": of_sender }]));
    receiver.send_report(json!([{ "id": id, "seen": [seen("host:h16", true, &[1])], "counted": { "delivered": 1 } }]));
    let check = asking.join().unwrap();
    assert_eq!((&check["sent"], &check["received"]), (&json!(3), &json!(1)));
    assert_eq!(check["lost"][0]["probes"], 2);
    assert!(check["lost"][0]["lastSeenAt"].as_str().unwrap().starts_with("h1, leaving by p"), "{}", check["lost"]);
    assert_eq!(check["counted"], json!([{ "node": "h16", "what": "delivered", "packets": 1 }]));
    assert!(sender.send_report(json!([{ "id": id }])).is_empty(), "it is over");
    // If one of the two hosts cannot watch, the arrivals are unknown.
    let asking = {
        let client = client.clone();
        std::thread::spawn(move || {
            let spec = json!({ "from": "h1", "to": "h16", "count": 1 });
            client.post("/v1/checks", &spec).is_problem(409, "CONFLICT")
        })
    };
    let id = receiver.until(&json!([]), |_| true)["id"].as_str().unwrap().to_owned();
    receiver.send_report(json!([{ "id": id, "trouble": "requires CAP_NET_RAW" }]));
    sender.until(&json!([{ "id": id }]), |task| task["sends"].is_object());
    sender.send_report(json!([{ "id": id, "sent": 1 }]));
    assert_eq!(asking.join().unwrap()["detail"], "h16: requires CAP_NET_RAW");
    let audit = client.get("/v1/audit").json();
    let entries = audit["items"].as_array().unwrap();
    assert!(entries.iter().any(|one| one["operation"] == "runCheck" && one["status"] == 200), "the audit names it");
}

fn world_link(client: &Client, host: &str) -> String {
    let links = client.get("/v1/links?limit=1000").is(200).json();
    let links = links["items"].as_array().unwrap();
    let name = |link: &Value| link["name"].as_str().unwrap().to_owned();
    links.iter().map(name).find(|name| name.starts_with(&format!("{host}->"))).unwrap()
}

#[test]
fn impossible_checks_are_refused_with_the_reason() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let _sender = Agent::begin(&world, "h1");
    for (spec, status, code) in [
        (json!({}), 400, "INVALID"),
        (json!({ "from": "h1" }), 400, "INVALID"),
        (json!({ "from": "h1", "to": "h1" }), 400, "INVALID"),
        (json!({ "from": "h1", "to": "h2", "count": 0 }), 400, "INVALID"),
        (json!({ "from": "h1", "to": "h2", "count": 201 }), 400, "INVALID"),
        (json!({ "from": "h1", "contract": "a" }), 400, "INVALID"),
        (json!({ "from": "h1", "to": "h2", "contract": "a" }), 404, "NOT_FOUND"),
        (json!({ "from": "h1", "to": "h2", "match": { "destinationPort": 7 } }), 400, "INVALID"),
        (json!({ "from": "h1", "to": "nobody" }), 404, "NOT_FOUND"),
        (json!({ "contract": "nothing" }), 404, "NOT_FOUND"),
        // Its agent is not there.
        (json!({ "from": "h1", "to": "h2" }), 409, "CONFLICT"),
    ] {
        let answer = client.post("/v1/checks", &spec);
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{spec}");
    }
    let tenant = client.token(json!({ "role": "tenant", "tenant": "default" }));
    tenant.post("/v1/checks", &json!({ "from": "h1", "to": "h2" })).is_problem(403, "FORBIDDEN");
}

/// A pair determines sender and receiver; of a contract with members, two are named.
#[test]
fn contracts_of_every_kind_determine_the_endpoints_of_probes() {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    options.setup = classed(EnforcedBy::Hosts);
    let world = World::of(options, scratch);
    let client = &world.client;
    let members = json!(["h1", "h5", "h9"]);
    for (name, terms) in [
        ("latency", contract("h1", "h5", "10Mbit")),
        ("pair", json!({ "bandwidth": { "from": "h1", "to": "h5", "min": "100Mbit" } })),
        ("hose", json!({ "bandwidth": { "hose": members, "min": "100Mbit" } })),
        ("objective", json!({ "objective": { "goal": "latency", "members": members, "weight": "10Mbit" } })),
        ("bulk", json!({ "bestEffort": { "members": members } })),
    ] {
        client.put(&format!("/v1/contracts/{name}"), &terms).is(201);
        let check_id = |spec: Value| client.post("/v1/checks", &spec).json()["detail"].as_str().unwrap().to_owned();
        let (alone, chosen) =
            (check_id(json!({ "contract": name })), json!({ "contract": name, "from": "h9", "to": "h5" }));
        let chosen = check_id(chosen);
        let no_agent =
            |host: &str| format!("the agent of {host} is not connected: `wayleave status` lists silent agents");
        if ["latency", "pair"].contains(&name) {
            assert_eq!(alone, no_agent("h1"), "{name}");
            assert_eq!(chosen, format!("contract: default:{name} is from h1 to h5: do not give from and to as well"));
        } else {
            assert_eq!(
                alone,
                format!("contract: default:{name} has several members: give two of them as from and to: h1, h5, h9")
            );
            assert_eq!(chosen, no_agent("h9"), "{name}");
            let outsider = check_id(json!({ "contract": name, "from": "h9", "to": "h2" }));
            assert_eq!(outsider, format!("to: h2 is not a member of default:{name}: h1, h5, h9"));
        }
    }
}
