//! Measured load: counters of links, histories, flows, and the monthly statement.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::Options;
use wayleave_server::disk::Memory;
use wayleave_store::MemoryStore;
use wayleave_units::{Time, WallTime};

use crate::common::{Client, Scratch, World, contract, options};

const SECOND: u64 = 1_000_000_000;

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn at(seconds: u64) -> WallTime {
    WallTime::from_nanos(seconds * SECOND)
}

/// Agents count as silent only after an hour: a slow machine changes no result.
fn world(disk: &Arc<Mutex<MemoryStore>>, scratch: Arc<Scratch>, file: Option<&Path>) -> World {
    let options = options(Box::new(Memory(disk.clone())), &scratch.0, EnforcedBy::Hosts);
    let mut setup = options.setup.clone();
    setup.timing = Timeouts { silent_after: Time::from_millis(3_600_000), ..setup.timing };
    World::of(Options { setup, load_file: file.map(Path::to_owned), ..options }, scratch)
}

fn new_world() -> World {
    world(&Arc::default(), Arc::new(Scratch::new()), None)
}

fn record(world: &World, seconds: u64) {
    world.server.as_ref().unwrap().record_load(at(seconds));
}

/// An agent with a session.
struct Agent {
    client: Client,
    node: &'static str,
    epoch: u64,
}

impl Agent {
    fn new(world: &World, node: &'static str) -> Self {
        let client = world.client.token(json!({ "role": "agent", "node": node }));
        let session = client.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json();
        Self { client, node, epoch: session["epoch"].as_u64().unwrap() }
    }

    fn path(&self, what: &str) -> String {
        format!("/v1/agents/{}/{what}", self.node)
    }

    fn report(&self, more: Value) {
        let mut report = json!({ "epoch": self.epoch, "beat": true });
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.client.post(&self.path("reports"), &report).is(204);
    }

    fn links(&self, read_s: u64, counters: &[Value]) {
        self.report(json!({ "links": { "readNs": read_s * SECOND, "counters": counters } }));
    }

    /// Confirms everything that the controller asks for.
    fn confirm(&self) {
        let messages = self.client.get(&self.path("messages")).is(200).json();
        let done = messages["operations"].as_array().unwrap().iter();
        let done: Vec<Value> = done.map(|one| json!([one["serial"], one["version"]])).collect();
        self.client.post(&self.path("confirmations"), &json!({ "epoch": self.epoch, "done": done })).is(204);
    }
}

fn counter(link: &str, interface: u32, bytes: u64, dropped: u64) -> Value {
    json!({ "link": link, "interface": interface, "bytes": bytes, "packets": bytes / 1_000, "dropped": dropped })
}

fn measured(client: &Client, link: &str) -> Value {
    client.get(&format!("/v1/links/{}", link.replace('>', "%3E"))).is(200).json()["measured"].clone()
}

const OUT: &str = "h1->pod1-edge1";
const INTO: &str = "pod1-edge1->h1";

#[test]
fn a_link_has_the_rate_of_its_sender_and_wrong_counters_are_unknown_and_named() {
    let world = new_world();
    let client = &world.client;
    assert_eq!(measured(client, OUT), Value::Null);
    let agent = Agent::new(&world, "h1");
    // An agent without counters of links, as of an earlier version.
    agent.report(json!({}));
    agent.links(100, &[counter(OUT, 3, 1_000_000, 1), counter(INTO, 3, 0, 0)]);
    assert_eq!(measured(client, OUT), Value::Null, "one reading is no rate");
    agent.links(101, &[counter(OUT, 3, 1_125_000, 3), counter(INTO, 3, 250_000, 0)]);
    let known = measured(client, OUT);
    assert_eq!(
        (&known["rateBps"], &known["source"], &known["dropped"]),
        (&json!(1_000_000), &json!("sender"), &json!(2))
    );
    let known = measured(client, INTO);
    assert_eq!((&known["rateBps"], &known["source"]), (&json!(2_000_000), &json!("receiver")));
    let listed = client.get("/v1/links?limit=1000").is(200).json();
    let listed = listed["items"].as_array().unwrap().iter().find(|link| link["name"] == OUT).unwrap().clone();
    assert_eq!(listed["measured"]["rateBps"], 1_000_000);
    // A counter that goes back, a replaced interface, and a long silence leave the interval unknown.
    for (read, interface, bytes) in [(102, 3, 5_000), (103, 4, 90_000), (110, 4, 95_000)] {
        agent.links(read, &[counter(OUT, interface, bytes, 0)]);
        assert_eq!(measured(client, OUT), Value::Null, "{read}");
    }
    agent.links(111, &[counter(OUT, 4, 220_000, 0)]);
    assert_eq!(measured(client, OUT)["rateBps"], 1_000_000);
    // A clock that goes back.
    agent.links(50, &[counter(OUT, 4, 345_000, 0)]);
    assert_eq!(measured(client, OUT), Value::Null);
    // Forged counters: too large, of no link, of a link elsewhere.
    agent.links(51, &[counter(OUT, 4, u64::MAX, 0)]);
    assert_eq!(measured(client, OUT), Value::Null);
    let problems = |client: &Client| client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(
        problems(client).contains("h1: the counters of link h1->pod1-edge1 show more than 10 times"),
        "{}",
        problems(client)
    );
    agent.links(52, &[counter("no such\u{202e}link", 1, 5, 0), counter("h2->pod1-edge1", 1, 9_000, 0)]);
    agent.links(53, &[counter("no such link", 1, 9, 0), counter("h2->pod1-edge1", 1, 99_000, 0)]);
    assert_eq!(measured(client, "h2->pod1-edge1"), Value::Null);
    let named = "h1: counters of no such link, h2->pod1-edge1 are ignored";
    assert!(problems(client).contains(named), "{}", problems(client));
    agent.links(54, &[]);
    assert!(!problems(client).contains("counters of"), "{}", problems(client));
    // A tenant is shown neither links nor problems of nodes.
    client.put("/v1/tenants/shop", &json!({})).is(201);
    let tenant = client.token(json!({ "role": "tenant", "tenant": "shop" }));
    tenant.get("/v1/links/h1-%3Epod1-edge1/history").is_problem(403, "FORBIDDEN");
    agent.client.get("/v1/links/h1-%3Epod1-edge1/history").is_problem(403, "FORBIDDEN");
}

/// Points of a history, as their means.
fn means(history: &Value) -> Vec<Value> {
    history["points"].as_array().unwrap().iter().map(|point| point["meanBps"].clone()).collect()
}

#[test]
fn histories_survive_a_restart_with_a_gap_and_have_null_where_nothing_was_observed() {
    let (disk, scratch) = (Arc::default(), Arc::new(Scratch::new()));
    let file = scratch.0.join("ledger.db-load");
    let first = world(&disk, scratch.clone(), Some(&file));
    let base = now_s() / 600 * 600 - 1_200;
    let path = |from: u64, to: u64, step: u64| {
        format!("/v1/links/h1-%3Epod1-edge1/history?from={}&to={}&step={step}", at(from), at(to))
    };
    {
        // The engine computes reservations while it is idle.
        while first.client.get("/v1/links/h1-%3Epod1-edge1").is(200).json()["capacity"].is_null() {}
        let agent = Agent::new(&first, "h1");
        agent.links(0, &[counter(OUT, 3, 0, 0)]);
        // Two minutes at 1 Mbit/s, with 2 Mbit/s in one of the seconds of each slot.
        let mut bytes = 0;
        for slot in 1..=12 {
            for second in 0..10 {
                bytes += if second == 3 { 250_000 } else { 125_000 };
                agent.links(slot * 10 + second - 9, &[counter(OUT, 3, bytes, 0)]);
            }
            record(&first, base + slot * 10);
        }
        let fine = first.client.get(&path(base, base + 150, 10)).is(200).json();
        let mut expected = vec![json!(1_100_000); 12];
        expected.extend([Value::Null, Value::Null, Value::Null]);
        assert_eq!(means(&fine), expected, "{fine}");
        let point = &fine["points"][0];
        assert_eq!((&point["maxBps"], &point["at"]), (&json!(2_000_000), &json!(at(base).to_string())));
        assert_eq!((&point["reservedBps"], &point["unreported"]), (&json!(0), &json!(0)));
        assert_eq!(fine["since"], at(base).to_string());
    }
    first.end();
    let second = world(&disk, scratch.clone(), Some(&file));
    record(&second, base + 200);
    let coarse = second.client.get(&path(base, base + 240, 60)).is(200).json();
    assert_eq!(means(&coarse), [json!(1_100_000), json!(1_100_000), Value::Null, Value::Null], "{coarse}");
    assert_eq!(coarse["points"][0]["maxBps"], 2_000_000);
    // Without a step, older minutes are found, too.
    let chosen = format!("/v1/links/h1-%3Epod1-edge1/history?from={}&to={}", at(base), at(base + 240));
    assert_eq!(second.client.get(&chosen).is(200).json(), coarse);
    let csv = second.client.get(&format!("{}&format=csv", path(base, base + 180, 60))).is(200);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let text = String::from_utf8(csv.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, "at,meanBps,maxBps,reservedBps,unreported"));
    assert!(lines[1].ends_with("Z,1100000,2000000,0,0") && lines[3].ends_with("Z,,,,0"), "{text}");
    for wrong in ["step=15", "format=xml", "from=yesterday", "from=2030-01-01T00:00:00Z", "stp=60"] {
        second.client.get(&format!("/v1/links/h1-%3Epod1-edge1/history?{wrong}")).is_problem(400, "INVALID");
    }
    second.end();
    // A damaged file: the controller decides contracts, the past is unknown, and the problem is listed.
    std::fs::write(&file, "no database".repeat(1_000)).unwrap();
    let third = world(&disk, scratch.clone(), Some(&file));
    third.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    assert_eq!(means(&third.client.get(&path(base, base + 120, 60)).is(200).json()), [Value::Null, Value::Null]);
    let problems = third.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("begin anew") && problems.contains("ledger.db-load-damaged"), "{problems}");
    third.end();
    // A place that cannot be written.
    let fourth = world(&disk, scratch.clone(), Some(&scratch.0));
    fourth.client.put("/v1/contracts/b", &contract("h1", "h16", "10Mbit")).is(201);
    fourth.client.get("/v1/tenants/default/statement").is_problem(503, "UNAVAILABLE");
    let problems = fourth.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("measured load") && problems.contains("unknown"), "{problems}");
    record(&fourth, base + 400);
    fourth.client.put("/v1/contracts/c", &contract("h1", "h16", "10Mbit")).is(201);
}

#[test]
fn contracts_and_tenants_have_a_history_of_what_their_hosts_report() {
    let world = new_world();
    let client = &world.client;
    client.put("/v1/tenants/brief", &json!({})).is(201);
    client.put("/v1/tenants/shop", &json!({})).is(201);
    client.put("/v1/contracts/shop:web", &contract("h1", "h16", "10Mbit")).is(201);
    client.put("/v1/contracts/shop:dark", &contract("h2", "h16", "10Mbit")).is(201);
    let serial = client.get("/v1/contracts/shop:web").is(200).json()["status"]["serial"].clone();
    let agent = Agent::new(&world, "h1");
    let base = now_s() / 60 * 60 - 120;
    record(&world, base);
    for second in 0..=10 {
        let traffic = json!([{ "serial": serial, "packets": second, "bytes": 125_000 * second, "delayed": 0, "waiting": 0,
            "queueFull": 0, "oversized": 0, "waitedNs": 0, "waits": [] }]);
        agent.report(json!({ "traffic": traffic, "links": { "readNs": (second + 1) * SECOND, "counters": [] } }));
    }
    // Rates of flows are those of the last five seconds.
    let flows = client.get("/v1/flows").is(200).json();
    record(&world, base + 10);
    record(&world, base + 20);
    let history = |what: &str| {
        let path = format!("/v1/{what}/history?from={}&to={}&step=10", at(base), at(base + 20));
        client.get(&path).is(200).json()["points"].clone()
    };
    let point = |seconds: u64, mean: Value, reserved: u64, unreported: u64| {
        let time = at(base + seconds).to_string();
        json!({ "at": time, "meanBps": mean, "maxBps": mean, "reservedBps": reserved, "unreported": unreported })
    };
    let reserved = history("contracts/shop:web")[0]["reservedBps"].as_u64().unwrap();
    assert!(reserved >= 10_000_000);
    let web = json!([point(0, json!(1_000_000), reserved, 0), point(10, Value::Null, reserved, 1)]);
    assert_eq!(history("contracts/shop:web"), web);
    let shop = json!([point(0, json!(1_000_000), 2 * reserved, 1), point(10, Value::Null, 2 * reserved, 2)]);
    assert_eq!(history("tenants/shop"), shop);
    assert_eq!(history("tenants/default")[0], point(0, json!(0), 0, 0), "without contracts nothing is sent");
    assert_eq!(history("contracts/shop:dark")[0]["meanBps"], Value::Null);

    assert_eq!((&flows["contracts"], &flows["measured"], &flows["omitted"]), (&json!(2), &json!(1), &json!(0)));
    let edges = flows["edges"].as_array().unwrap();
    let sum = |from: &str, key: &str| -> u64 {
        edges.iter().filter(|edge| edge["from"]["kind"] == from).filter_map(|edge| edge[key].as_u64()).sum()
    };
    // Everything that leaves a tenant enters a host.
    for key in ["rateBps", "reservedBps"] {
        assert_eq!(sum("tenant", key), sum("link", key), "{key}: {flows}");
    }
    assert_eq!(sum("tenant", "reservedBps"), 2 * reserved);
    assert!(edges.iter().all(|edge| edge["to"]["kind"] != "host" || edge["to"]["name"] == "h16"), "{flows}");
    let one = client.get("/v1/flows?limit=1").is(200).json();
    assert!(one["edges"].as_array().unwrap().len() == 2 || one["omitted"] == 0, "{one}");

    // A tenant sees its own, without names of links; another tenant's is hidden.
    let own = client.token(json!({ "role": "tenant", "tenant": "shop" }));
    let other = client.token(json!({ "role": "tenant", "tenant": "default" }));
    let reader = client.token(json!({ "role": "reader" }));
    for path in ["/v1/contracts/shop:web/history", "/v1/tenants/shop/history", "/v1/tenants/shop/statement"] {
        own.get(path).is(200);
        reader.get(path).is(200);
        other.get(path).is_problem(404, "NOT_FOUND");
        agent.client.get(path).is_problem(403, "FORBIDDEN");
    }
    client.get("/v1/tenants/none/history").is_problem(404, "NOT_FOUND");
    assert!(!own.get("/v1/flows").is(200).json().to_string().contains("->"));
    assert_eq!(other.get("/v1/flows").is(200).json()["contracts"], 0);
    assert_eq!(other.get("/v1/flows?tenant=shop").is(200).json()["edges"], json!([]));
    // Nothing is left of a tenant that was deleted, when another one gets its name.
    assert_eq!(history("tenants/brief")[0]["meanBps"], 0);
    client.delete("/v1/tenants/brief").is(204);
    client.put("/v1/tenants/brief", &json!({})).is(201);
    assert_eq!(history("tenants/brief")[0]["meanBps"], Value::Null);
}

fn minutes(statement: &Value) -> [u64; 3] {
    ["kept", "broken", "unknown"].map(|key| statement["minutes"][key].as_u64().unwrap())
}

#[test]
fn a_statement_counts_kept_broken_and_unknown_minutes_of_each_contract() {
    let (disk, scratch) = (Arc::default(), Arc::new(Scratch::new()));
    let file = scratch.0.join("load");
    let world = self::world(&disk, scratch.clone(), Some(&file));
    let client = &world.client;
    let (sender, receiver) = (Agent::new(&world, "h1"), Agent::new(&world, "h16"));
    client.put("/v1/tenants/shop", &json!({})).is(201);
    client.put("/v1/contracts/shop:web", &contract("h1", "h16", "10Mbit")).is(201);
    sender.report(json!({}));
    receiver.report(json!({}));
    sender.confirm();
    assert_eq!(client.get("/v1/contracts/shop:web").json()["status"]["state"], "enforced");
    let base = now_s() / 60 * 60 + 60;
    let month = at(base).to_string()[..7].to_owned();
    let path = format!("/v1/tenants/shop/statement?month={month}");
    let minute = |number: u64| record(&world, base + 60 * number);
    (0..3).for_each(minute);
    let before = client.get(&path).is(200).json();
    assert_eq!(minutes(&before)[1], 0);
    let since = |statement: &Value| {
        let (now, before) = (minutes(statement), minutes(&before));
        [0, 1, 2].map(|at| now[at] - before[at])
    };
    // Two kept minutes, in parts of ten seconds.
    (3..5).for_each(|number| (0..6).for_each(|part| record(&world, base + 60 * number + 10 * part)));
    let kept = client.get(&path).is(200).json();
    assert_eq!((since(&kept), &kept["until"]), ([2, 0, 0], &json!(at(base + 240).to_string())), "{kept}");
    // A link of its route fails for a moment: the minute is broken.
    client.put("/v1/links/h1-%3Epod1-edge1/state", &json!({ "state": "down", "reason": "cut" })).is(200);
    assert_eq!(client.get("/v1/contracts/shop:web").json()["status"]["state"], "degraded");
    client.put("/v1/links/h1-%3Epod1-edge1/state", &json!({ "state": "up" })).is(200);
    sender.confirm();
    assert_eq!(client.get("/v1/contracts/shop:web").json()["status"]["state"], "enforced");
    minute(5);
    // A minute without a recording is unknown, as is the one that began unobserved.
    minute(7);
    minute(8);
    minute(9);
    let broken = client.get(&path).is(200).json();
    assert_eq!(since(&broken), [3, 1, 3], "{broken}");
    let events = broken["contracts"][0]["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["degraded", "admitted", "enforced"], "{broken}");
    assert!(events[0]["text"].as_str().unwrap().contains("h1->pod1-edge1"), "{broken}");
    // The receiver's agent leaves: nothing is observed any more.
    receiver.report(json!({ "leaves": true }));
    minute(10);
    minute(11);
    let silent = client.get(&path).is(200).json();
    assert_eq!(since(&silent), [3, 1, 5], "{silent}");
    assert_eq!(minutes(&silent), minutes(&silent["contracts"][0]));
    let csv = String::from_utf8(client.get(&format!("{path}&format=csv")).is(200).body).unwrap();
    let [kept, broken, unknown] = minutes(&silent);
    assert_eq!(
        csv,
        format!(
            "contract,kept,broken,unknown\r\nshop:web,{kept},{broken},{unknown}\r\nshop,{kept},{broken},{unknown}\r\n"
        )
    );
    client.get("/v1/tenants/shop/statement?month=2026-13").is_problem(400, "INVALID");
    // The time in which the controller was down is unknown.
    world.end();
    let again = self::world(&disk, scratch, Some(&file));
    let later = again.client.get(&path).is(200).json();
    assert_eq!(since(&later), [3, 1, 5], "{later}");
    record(&again, base + 60 * 20);
    // The minute that this controller began in was recorded before.
    let problems = again.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("behind the last recorded minute"), "{problems}");
    record(&again, base + 60 * 21);
    let later = again.client.get(&path).is(200).json();
    assert_eq!(since(&later), [3, 1, 15], "{later}");
    // Statements of a deleted contract stay.
    again.client.delete("/v1/contracts/shop:web?force=true").is(204);
    record(&again, base + 60 * 22);
    let ended = again.client.get(&path).is(200).json();
    assert_eq!(ended["contracts"][0]["contract"], "shop:web");
}

/// Catches: sums of forged counters that overflow, and rates that no host sends. Two agents report the highest counters, and
/// installed rules of the highest version.
#[test]
fn forged_counters_of_contracts_stop_nothing_and_have_no_rate() {
    let world = new_world();
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    world.client.put("/v1/contracts/b", &contract("h2", "h16", "10Mbit")).is(201);
    let agents = [Agent::new(&world, "h1"), Agent::new(&world, "h2")];
    let counters = |serial: usize, count: u64| {
        let mut traffic = json!({ "serial": serial, "waitedNs": count, "waits": [count, count] });
        for name in ["packets", "bytes", "delayed", "waiting", "queueFull", "oversized"] {
            traffic[name] = json!(count);
        }
        json!({ "beat": true, "traffic": [traffic] })
    };
    for count in [0, u64::MAX] {
        agents.iter().enumerate().for_each(|(at, agent)| agent.report(counters(at + 1, count)));
        for path in ["/metrics", "/v1/traffic", "/v1/flows", "/v1/contracts?sort=measured", "/v1/contracts/a/traffic"] {
            world.client.get(path).is(200);
        }
    }
    let counted = world.client.get("/v1/contracts/a/traffic").is(200).json();
    assert_eq!((&counted["rateBps"], &counted["traffic"]["bytes"]), (&Value::Null, &json!(u64::MAX)));
    let again = json!({ "after": agents[0].epoch, "installed": [[99, u64::MAX]] });
    agents[0].client.post(&agents[0].path("session"), &again).is(400);
    let again = json!({ "after": agents[0].epoch, "installed": [[99, u64::MAX >> 1]] });
    agents[0].client.post(&agents[0].path("session"), &again).is(200);
}
